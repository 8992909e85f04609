from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traitlets

from dsh_session import Context, Recorder, Session
from dsh_session.widgets import ForkForm
from tests.compaction.sessions import close_turn, talked
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def opened() -> Iterator[Any]:
    """Makes forms, and closes them."""
    forms = []

    def make(*args: Any, **options: Any) -> ForkForm:
        forms.append(ForkForm(*args, **options))
        return forms[-1]

    yield make
    for form in forms:
        form.close()


def said(form: ForkForm) -> str:
    return str(form._notice.text)


def test_it_leaves_the_child_that_code_would_make(ctx: Context, opened: Any) -> None:
    session = talked(2, into=ctx.sessions.create("parent"))
    form = opened(session, boundary=10)
    form.name = "by hand"
    child = form.fork()
    other = ctx.sessions.fork(session, 10, "by code")
    assert child.to_jsonl().replace(b"by hand", b"by code") == other.to_jsonl()
    assert ctx.sessions.get("by hand") is child
    assert form.child_id == "by hand"
    assert said(form) == "Made by hand: it shares the first 11 events."


def test_the_child_belongs_to_the_context_and_stays_when_the_form_is_closed(ctx: Context) -> None:
    session = talked(1, into=ctx.sessions.create("parent"))
    form = ForkForm(session)
    child = form.fork()
    form.close()
    assert child is not None
    assert ctx.sessions.get(child.id) is child
    assert child.id == "session-1", "the next free id, where none is given"


def test_the_ends_of_turns_are_offered_and_the_last_one_is_chosen(ctx: Context, opened: Any) -> None:
    session = talked(3, into=ctx.sessions.create())
    form = opened(session)
    assert form.ends == (10, 21, 32)
    assert form.boundary == 32
    offered = controls(form)["Fork after"]
    assert [value for _, value in offered.options] == [10, 21, 32]
    assert offered.options[0][0].startswith("event 10: turn 1 ends")
    offered.value = 21
    assert form.boundary == 21


def test_a_new_turn_end_is_chosen_where_the_last_one_was(ctx: Context, opened: Any) -> None:
    session = talked(2, into=ctx.sessions.create())
    following, staying = opened(session), opened(session, boundary=10)
    close_turn(session)
    assert following.boundary == session.seq - 1
    assert staying.boundary == 10


def test_a_boundary_that_is_no_turn_end_is_refused(ctx: Context, opened: Any) -> None:
    form = opened(talked(2, into=ctx.sessions.create()))
    with pytest.raises(traitlets.TraitError, match="boundary=3: a fork is made at a turn/end; the last is 21"):
        form.boundary = 3


@pytest.mark.parametrize(("moment", "boundary"), [(-1, 10), (4, 10), (10, 10), (20, 10), (21, 21), (22, 21)])
def test_a_moment_chooses_the_turn_that_ended_before_it(ctx: Context, opened: Any, moment: int, boundary: int) -> None:
    form = opened(talked(2, into=ctx.sessions.create()))
    form.choose_near(moment)
    assert form.boundary == boundary


def test_a_name_that_is_taken_is_refused_and_kept(ctx: Context, opened: Any) -> None:
    session = talked(1, into=ctx.sessions.create("parent"))
    form = opened(session)
    form.name = "parent"
    assert form.fork() is None
    assert said(form).startswith("SESSION_ALREADY_EXISTS: ")
    assert form.name == "parent"


def test_what_a_listener_raises_is_shown(ctx: Context, opened: Any) -> None:
    session = talked(1, into=ctx.sessions.create("parent"))
    ctx.on("session/created", lambda _: 1 / 0)
    form = opened(session)
    assert form.fork() is None
    assert said(form) == "ZeroDivisionError: division by zero"


def test_a_session_without_a_store_or_a_turn_says_why_it_cannot_be_forked(ctx: Context, opened: Any) -> None:
    alone = opened(talked())
    assert controls(alone)["Fork"].disabled
    assert "no store" in said(alone)
    assert alone.fork() is None
    session = ctx.sessions.create()
    fresh = opened(session)
    assert controls(fresh)["Fork"].disabled
    assert said(fresh).startswith("No turn has ended yet")
    with Recorder(session).turn("Hello."):
        pass
    assert not controls(fresh)["Fork"].disabled
    assert said(fresh) == ""


def test_of_very_many_turns_the_latest_are_offered_and_any_can_be_chosen(opened: Any) -> None:
    session = Session("s", clock=lambda: 0)
    record = Recorder(session)
    for _ in range(300):
        with record.turn("Hello."):
            pass
    form = opened(session)
    assert len(controls(form)["Fork after"].options) == 200
    form.boundary = 2
    assert controls(form)["Fork after"].value == 2


def test_who_wants_to_know_is_told_of_each_child(ctx: Context, opened: Any) -> None:
    heard: list[Any] = []
    form = opened(talked(1, into=ctx.sessions.create()))
    form.on_fork(heard.append)
    controls(form)["Fork"].click()
    assert [child.id for child in heard] == [form.child_id]
