"""One widget for a session: its parts agree, it follows what happens, and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING, Any

import pytest
import traitlets

import dsh_session
from dsh_session import Context, Recorder, Session, SurfaceHistory, explore, samples
from dsh_session.compaction import Basic, SlidingWindow, begin_compaction
from dsh_session.widgets import Explorer
from tests.compaction.sessions import close_turn, talked
from tests.core.stores import context
from tests.views.hostile import HOSTILE, hostile_session
from tests.widgets.ears import listeners, widgets_alive
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.widgets.ears import Wire

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def opened() -> Iterator[Any]:
    """Makes explorers, and closes them."""
    explorers = []

    def make(*args: Any, **options: Any) -> Explorer:
        explorers.append(explore(*args, **options))
        return explorers[-1]

    yield make
    for explorer in explorers:
        explorer.close()


def shown_buttons(explorer: Explorer) -> list[str]:
    if explorer._actions._bar.layout.display == "none":
        return []
    return [name for name, button in explorer._actions.buttons.items() if button.layout.display != "none"]


# ------------------------------------------------------------------------------------------------------- what it shows


def test_the_parts_agree_on_the_moment_and_the_selection(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.moment = 10
    assert explorer.stepper.moment == explorer.panels.moment == 10
    explorer.stepper.moment = 8
    assert explorer.moment == explorer.panels.moment == 8
    explorer.selection = [8, 3]
    assert explorer.selection == explorer.stepper.selection == explorer.panels.selection == [3, 8], "in surface order"
    explorer.stepper.selection = []
    assert explorer.selection == explorer.panels.selection == []


def test_a_selection_that_the_moment_does_not_have_is_dropped(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.selection = [12, 14]
    explorer.moment = 10
    assert explorer.selection == explorer.panels.selection == []


def test_what_is_not_there_is_refused_and_nothing_changes(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.selection = [1, 3]
    with pytest.raises(traitlets.TraitError, match="moment=99"):
        explorer.moment = 99
    with pytest.raises(traitlets.TraitError, match="2 is not on the surface"):
        explorer.selection = [2, 3]
    with pytest.raises(traitlets.TraitError, match="there is no such live session here"):
        explorer.session_id = "nobody"
    assert (explorer.moment, explorer.selection, explorer.session_id) == (22, [1, 3], "session-1")


def test_a_moment_is_a_number_and_nothing_is_stuck_after_true(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.moment = True
    assert (type(explorer.moment), type(explorer.panels.moment), explorer.panels.moment) == (int, int, 1)
    explorer.selection = [1, 1]
    assert explorer.selection == [1, 1]


def test_the_forms_of_an_empty_store_say_what_is_missing(ctx: Context, opened: Any) -> None:
    explorer = opened(ctx)
    with pytest.raises(RuntimeError, match="a form is for a session, and there is none in this store yet"):
        explorer.append_form  # noqa: B018


def test_what_cannot_be_opened_is_refused_and_nothing_is_open(ctx: Context, opened: Any) -> None:
    alone, history, empty = opened(Session("alone")), opened(SurfaceHistory([])), opened(ctx)
    for explorer, action in [(alone, "Sessions"), (history, "Append"), (history, "Sessions"), (empty, "Compact")]:
        with pytest.raises(traitlets.TraitError, match=f"action='{action}': "):
            explorer.action = action
        assert explorer.action == explorer._actions.action == ""
    alone.action = "Append"
    empty.action = "Sessions"
    assert (alone._actions.action, empty._actions.action) == ("Append", "Sessions")


def test_the_traits_can_be_linked(ctx: Context, opened: Any) -> None:
    session = talked(2, into=ctx.sessions.create())
    one, other = opened(session), opened(session)
    for name in ("moment", "selection", "session_id", "policy"):
        traitlets.link((one, name), (other, name))
    one.moment = 10
    one.selection = [1, 3]
    one.policy = Basic(1000)
    assert (other.moment, other.selection, other.policy) == (10, [1, 3], Basic(1000))
    assert other.stepper.selection == [1, 3]


def test_the_snapshot_holds_the_surface_and_the_panel(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create("tour")))
    explorer.panels.panel = "Messages"
    explorer.selection = [1, 3]
    html = explorer.snapshot()._repr_html_()
    assert "<svg" in html
    assert "Question 2?" in html
    assert "<script" not in html
    assert repr(explorer.snapshot()) == "<Snapshot: of tour: event 22 of 22, 8 nodes, selected 1 … 3, panel Messages>"


def test_its_text_says_what_it_shows(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(1, into=ctx.sessions.create("tour")))
    assert repr(explorer) == "<Explorer of tour: event 11 of 11, 4 nodes, panel Event>"
    explorer.close()
    assert repr(explorer) == "<Explorer, closed>"


# -------------------------------------------------------------------------------------------------- what may be written


def test_a_live_session_has_every_form_and_the_log_is_the_one_that_code_would_leave(ctx: Context, opened: Any) -> None:
    session = talked(2, into=ctx.sessions.create("by hand"))
    by_code = talked(2, into=ctx.sessions.create("by code"))
    explorer = opened(session)
    assert shown_buttons(explorer) == ["Append", "Compact", "Fork", "Sessions"]
    explorer.selection = [1, 5]
    explorer._actions.buttons["Compact"].click()
    assert explorer.action == "Compact"
    explorer.compact_form.summary = "README.md was found."
    explorer.compact_form._button.click()
    with begin_compaction(by_code, 1, 5) as bracket:
        bracket.commit("README.md was found.")
    explorer._actions.buttons["Append"].click()
    explorer.append_form.event_type = "turn/end"
    controls(explorer.append_form)["Append"].click()
    close_turn(by_code)
    explorer._actions.buttons["Fork"].click()
    explorer.fork_form.name = "child"
    controls(explorer.fork_form)["Fork"].click()
    assert session.to_jsonl() == by_code.to_jsonl().replace(b"by code", b"by hand")
    child = ctx.sessions.get("child")
    assert child is not None
    assert list(child.events) == list(session.events)
    assert explorer.moment == session.seq - 1
    assert explorer.selection == []


def test_a_session_alone_has_no_forks(opened: Any) -> None:
    session = talked(2)
    explorer = opened(session)
    assert shown_buttons(explorer) == ["Append", "Compact", "Fork"]
    assert explorer._actions.buttons["Fork"].disabled
    explorer.append_form.event_type = "turn/end"
    explorer.append_form.append()
    explorer.refresh()
    assert explorer.moment == session.seq - 1


def test_a_loaded_log_is_read_only_and_says_why(opened: Any) -> None:
    explorer = opened(samples.load("pi-compacted-twice"))
    assert shown_buttons(explorer) == []
    assert "ctx.sessions.enter(session)" in explorer._actions._read_only.text


def test_a_history_is_read_only_and_says_why(opened: Any) -> None:
    explorer = opened(SurfaceHistory(talked().events))
    assert shown_buttons(explorer) == []
    assert "read-only" in explorer._actions._read_only.text
    with pytest.raises(RuntimeError, match="a history of bare events has no forms"):
        _ = explorer.append_form
    explorer.selection = [1, 8]
    explorer.panels.panel = "Stands for"
    assert "Node 3" in explorer.panels.html


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="give a Session, a SessionStore, a Context or a SurfaceHistory, not 'list'"):
        explore([])  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------- sessions


def test_one_switches_between_the_sessions_of_a_store(ctx: Context, opened: Any) -> None:
    first, second = talked(1, into=ctx.sessions.create("first")), talked(3, into=ctx.sessions.create("second"))
    explorer = opened(ctx)
    assert explorer.session is first
    explorer.append_form.event_type = "user/message"
    controls(explorer.append_form._payload)["content[0].text"].value = "half a sent"
    controls(explorer)["Session"].value = "second"
    assert explorer.session is second
    assert (explorer.session_id, explorer.moment) == ("second", second.seq - 1)
    assert explorer.append_form.session is second
    explorer.session_id = "first"
    assert explorer.append_form.payload["content"][0]["text"] == "half a sent", "nothing that was typed is lost"


def test_choosing_in_the_lineage_shows_the_session(ctx: Context, opened: Any) -> None:
    session = talked(1, into=ctx.sessions.create("parent"))
    explorer = opened(session)
    explorer.action = "Sessions"
    child = ctx.sessions.fork(session, 10, "child")
    controls(explorer.lineage)["Session"].value = "child"
    assert explorer.session is child
    assert explorer.lineage.compared_id == "parent"
    explorer.session_id = "parent"
    assert explorer.lineage.session_id == "parent"


def test_a_store_without_sessions_shows_the_first_that_comes(ctx: Context, opened: Any) -> None:
    explorer = opened(ctx)
    assert explorer._actions._read_only.text == "There is no session here yet."
    session = ctx.sessions.create("first")
    assert explorer.session is session
    assert explorer._actions._read_only.text == ""


def test_a_session_that_leaves_its_store_is_still_shown(opened: Any) -> None:
    with context() as ctx:
        explorer = opened(talked(1, into=ctx.sessions.create("guest")))
        explorer.action = "Append"
    assert explorer.session.id == "guest"
    assert controls(explorer)["Session"].options[0][0] == "not live any more"
    explorer.close()


# ---------------------------------------------------------------------------------------------------------- the range


def test_the_range_that_goes_along_is_pointed_out_on_the_surface(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.action = "Compact"
    explorer.selection = [1, 3]
    assert explorer.stepper.marked == [[5, "goes with the range"]]
    assert explorer.stepper.notice.startswith("The last node moved from 3 to 5")
    explorer.action = ""
    assert explorer.stepper.marked == []
    assert explorer.stepper.notice == ""


def test_the_buttons_say_what_they_would_do_and_what_is_open(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()))
    explorer.selection = [1, 5]
    assert explorer._actions.buttons["Compact"].description == "▸ Compact 3 nodes"
    explorer.action = "Compact"
    assert explorer._actions.buttons["Compact"].description == "▾ Compact 3 nodes"


def test_the_policy_is_that_of_the_form(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(2, into=ctx.sessions.create()), policy=Basic(1000))
    assert explorer.compact_form.policy == Basic(1000)
    explorer.policy = SlidingWindow(2000)
    assert explorer.compact_form.policy == SlidingWindow(2000)
    controls(explorer.compact_form)["context window"].value = 3000
    assert explorer.policy == SlidingWindow(3000)
    explorer.selection = [1, 5]
    assert explorer.policy is None, "who selects nodes wants these compacted"


def test_the_fork_is_offered_where_one_stands(ctx: Context, opened: Any) -> None:
    explorer = opened(talked(3, into=ctx.sessions.create()))
    explorer.moment = 21
    explorer.action = "Fork"
    assert explorer.fork_form.boundary == 21


def test_the_end_of_a_turn_is_picked_by_going_there_while_the_form_is_open(ctx: Context, opened: Any) -> None:
    session = talked(3, into=ctx.sessions.create())
    first, second, third = (event.seq for event in session.events if event.type == "turn/end")
    explorer = opened(session)
    explorer.action = "Fork"
    form = explorer.fork_form
    assert form.boundary == third
    explorer.stepper.moment = second  # as by a click on the strip
    assert form.boundary == second
    explorer.moment = first + 1  # what is no end picks none
    assert form.boundary == second
    explorer.moment = session.seq - 1
    form.boundary = first
    close_turn(session)
    explorer.take_in()
    assert explorer.moment == session.seq - 1
    assert form.boundary == first, "a log that grows takes nobody's choice away"
    explorer.moment = 3
    talked(1, into=session)
    explorer.moment = third
    assert form.boundary == third
    form.boundary = first
    explorer.action = ""
    explorer.moment = second
    assert form.boundary == first


# --------------------------------------------------------------------------------------------------------------- live


def test_appends_by_code_appear_and_one_who_looks_back_stays(ctx: Context, opened: Any) -> None:
    session = talked(1, into=ctx.sessions.create())
    close_turn(session)
    following, staying = opened(session), opened(session, moment=3)
    talked(1, into=session)
    assert (following.moment, staying.moment) == (session.seq - 1, 3)
    assert staying.stepper.length == session.seq


def test_ten_thousand_appends_in_a_cell_are_a_few_messages(ctx: Context, wire: Wire) -> None:
    session = talked(1, into=ctx.sessions.create())
    chunk: Any = {"turn": 2, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "a"}}

    async def cell() -> tuple[int, int]:
        explorer = explore(session)
        explorer.action = "Append"
        before = len(wire.sent)
        for _ in range(10_000):
            session.append("assistant/chunk", chunk)
        during = len(wire.sent) - before
        await asyncio.sleep(0.3)
        assert explorer.stepper.length == session.seq
        after = len(wire.sent) - before
        explorer.close()
        return during, after

    during, after = asyncio.run(cell())
    assert during < 250
    assert after < 300


def test_whoever_looks_in_the_same_cell_sees_what_was_just_appended(ctx: Context) -> None:
    session = ctx.sessions.create("tour")

    async def cell() -> None:
        explorer = explore(session)
        talked(2, into=session)
        assert repr(explorer).startswith(f"<Explorer of tour: event {session.seq - 1} of {session.seq - 1}")
        close_turn(session)
        explorer.moment = session.seq - 1
        explorer.selection = [session.surface.tail, session.surface.tail]
        explorer.close()

    asyncio.run(cell())


def test_closing_leaves_no_listener_no_comm_and_no_reference(ctx: Context, wire: Wire) -> None:
    session = talked(2, into=ctx.sessions.create())
    before = (listeners(ctx), repr(ctx), widgets_alive(), len(wire.open))
    explorer = explore(session)
    explorer.selection = [1, 3]
    for action in ("Append", "Compact", "Fork", "Sessions"):
        explorer.action = action
    for event_type in ("user/message", "tool/result", "request/header"):
        explorer.append_form.event_type = event_type
    explorer.append_form.is_json = True
    explorer.compact_form.policy = Basic(1000)
    explorer.fork_form.fork()
    explorer.session_id = explorer.fork_form.child_id
    explorer.action = "Append"
    assert listeners(ctx) > before[0]
    assert len(wire.open) > before[3]
    explorer.close()
    explorer.close()
    assert (listeners(ctx), repr(ctx).replace("2 effects", "1 effects"), widgets_alive(), len(wire.open)) == before
    gone = weakref.ref(explorer)
    del explorer
    gc.collect()
    assert gone() is None


def test_a_context_that_is_closed_first_leaves_a_widget_that_can_be_closed() -> None:
    ctx = context()
    explorer = explore(talked(1, into=ctx.sessions.create()))
    explorer.action = "Compact"
    ctx.close()
    explorer.close()
    assert listeners(ctx) == 0


# -------------------------------------------------------------------------------------------------------------- hostile


def test_a_hostile_log_can_be_explored(opened: Any, wire: Wire) -> None:
    session = hostile_session(lambda at: HOSTILE[at % 22])
    with Context(check_payloads=False) as ctx:
        ctx.sessions.enter(session)
        explorer = opened(session)
        for action in ("Append", "Compact", "Fork", "Sessions"):
            explorer.action = action
        for event_type in dsh_session.VOCABULARY.event_types:
            explorer.append_form.event_type = event_type
        for moment in range(0, session.seq, 9):
            explorer.moment = moment
        explorer.snapshot()._repr_html_().encode()
        explorer.close()
    for _, data in wire.sent:
        str(data).encode()


# ---------------------------------------------------------------------------------------------------------- the package


def test_the_widgets_are_loaded_by_the_first_that_is_shown() -> None:
    code = """
import sys
import dsh_session
assert not {"ipywidgets", "anywidget", "dsh_session.widgets"} & set(sys.modules)
explorer = dsh_session.explore(dsh_session.Session("s"))
assert "ipywidgets" in sys.modules
print(explorer)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "<Explorer of s: before the first event, 0 nodes, panel Event>\n"
    assert done.stderr == ""


def test_a_turn_that_is_recorded_while_it_is_shown_ends_where_it_should(ctx: Context, opened: Any) -> None:
    session = ctx.sessions.create()
    explorer = opened(session)
    with Recorder(session).turn("Hello.") as turn, turn.step() as step:
        step.assistant("Hi.")
    assert explorer.moment == session.seq - 1 == 5


def test_a_session_that_is_not_in_the_store_cannot_be_chosen() -> None:
    explorer = explore(Session("alone"))
    with pytest.raises(traitlets.TraitError):
        explorer.session_id = "other"
    with pytest.raises(RuntimeError, match="this session is in none"):
        _ = explorer.lineage
    explorer.close()
