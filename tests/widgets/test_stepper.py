"""The stepper's traits and answers, without a browser."""

from __future__ import annotations

import gc
import json
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances
from traitlets import TraitError, link

from dsh_session import Context, Session, SessionEvent, SurfaceHistory
from dsh_session.core.errors import SurfaceError
from dsh_session.views.diagram import Diagram
from dsh_session.widgets.stepper import Stepper
from tests.browser.stepped import many, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAID: Any = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}


@pytest.fixture(autouse=True)
def no_widget_is_left() -> Iterator[None]:
    yield
    Widget.close_all()


def ask(stepper: Stepper, **question: Any) -> dict[str, Any]:
    """Ask as a page does, and give what would go over the wire."""
    sent: list[Any] = []
    stepper.send = lambda content, buffers=None: sent.append((content, buffers))  # type: ignore[method-assign]
    message = {"method": "custom", "content": {"type": "window", "view": "v", "id": 7, **question}}
    stepper._handle_msg({"content": {"data": message}, "buffers": []})
    [(answer, buffers)] = sent
    assert buffers is None
    assert (answer["type"], answer["view"], answer["id"], answer["what"]) == ("window", "v", 7, question["what"])
    return dict(json.loads(json.dumps(answer)))


# ---------------------------------------------------------------------------------------------------------- the traits


def test_it_begins_at_the_end_or_where_it_is_told() -> None:
    session = short()
    assert Stepper(session).moment == 15
    assert Stepper(session, moment=-1).moment == -1
    assert Stepper(session, moment=12).surface == (12, 9)
    assert Stepper([]).moment == -1


@pytest.mark.parametrize("moment", [16, -2])
def test_a_moment_that_is_not_in_the_log_is_refused(moment: int) -> None:
    stepper = Stepper(short(), moment=3)
    with pytest.raises(TraitError, match=f"moment={moment}: the log has seqs 0 to 15; -1 is its beginning"):
        stepper.moment = moment
    assert stepper.moment == 3
    with pytest.raises(TraitError, match="the log has no events yet"):
        Stepper([], moment=0)


def test_true_is_a_moment_as_it_is_elsewhere_in_python() -> None:
    stepper = Stepper(short())
    stepper.moment = True
    assert (stepper.moment, type(stepper.moment)) == (1, int)
    assert stepper.surface == (1,)


@pytest.mark.parametrize("source", [None, 7, "log.jsonl", b"", {}])
def test_what_is_no_log_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match="give a Session, a SurfaceHistory, or events from seq 0 on, not "):
        Stepper(source)


def test_it_takes_a_session_a_history_events_and_wire_dicts() -> None:
    session = short()
    wires = [event.to_dict() for event in session.events]
    answers = []
    for source in (session, SurfaceHistory(session), list(session.events), iter(wires), SurfaceHistory(wires)):
        stepper = Stepper(source, moment=12)
        answers.append((ask(stepper, what="log", **{"from": 0, "to": 99}), stepper.surface))
        assert stepper.session_id == ("session" if stepper.source is None else "fix-the-tests")
    assert all(answer == answers[0] for answer in answers)
    assert Stepper(SurfaceHistory(session)).source is session


def test_a_log_that_breaks_a_surface_rule_is_refused() -> None:
    with pytest.raises(SurfaceError, match="needs surface_op"):
        Stepper([{"type": "user/message", "seq": 0, "time": 0, "data": SAID}])


def test_a_selection_is_a_range_on_the_surface_in_its_order() -> None:
    stepper = Stepper(short())
    stepper.selection = [13, 12]
    assert stepper.selection == [12, 13]
    assert stepper.selected == (12, 9, 13)
    for wrong, why in [([12], "first and the last"), ([1, 9], "1 is not on the surface"), ([0, 9], "0 is not on")]:
        with pytest.raises(TraitError, match=why):
            stepper.selection = wrong
    with pytest.raises(TraitError, match="99 is not on the surface after event 15"):
        stepper.selection = [9, 99]
    assert stepper.selection == [12, 13]
    stepper.moment = 11
    assert stepper.selection == []
    stepper.selection = [1, 9]
    stepper.moment = 10  # there they are as well
    assert stepper.selection == [1, 9]


def test_a_moment_and_a_selection_may_come_together() -> None:
    stepper = Stepper(short())
    stepper.set_state({"moment": 11, "selection": [5, 9]})
    assert (stepper.moment, stepper.selection) == (11, [5, 9])


def test_marks_are_seqs_with_reasons() -> None:
    stepper = Stepper(short())
    stepper.marked = [9, (12, "because\nof this"), [13, ""]]
    assert stepper.marked == [[9, ""], [12, "because of this"], [13, ""]]
    for wrong in (["9"], [(9, None)], [(True, "")], [(1, "a", 2)], [None]):
        with pytest.raises(TraitError, match="neither a seq nor a pair"):
            stepper.marked = wrong


def test_other_themes_and_other_names_are_refused() -> None:
    with pytest.raises(TraitError, match="give 'auto', 'light' or 'dark'"):
        Stepper([], theme="blue")
    stepper = Stepper([])
    with pytest.raises(TraitError, match="session_id"):
        stepper.session_id = "other"


def test_its_traits_can_be_linked() -> None:
    session = short()
    first, second = Stepper(session), Stepper(session)
    link((first, "moment"), (second, "moment"))
    first.moment = 4
    assert second.moment == 4


def test_what_a_page_says_wrongly_is_taken_back() -> None:
    stepper = Stepper(short(), moment=12)
    sent: list[Any] = []
    stepper.send_state = sent.append  # type: ignore[method-assign]
    for wrong in ({"moment": 99}, {"selection": [1, 5]}, {"theme": "blue"}, {"moment": "x"}):
        stepper.set_state(wrong)
    assert [each for each in sent if each] == [["moment"], ["selection"], ["theme"], ["moment"]]
    assert (stepper.moment, stepper.selection, stepper.theme) == (12, [], "auto")


# ----------------------------------------------------------------------------------------------------- text and picture


def test_its_text_says_what_it_shows_without_an_address() -> None:
    stepper = Stepper(short(), moment=12)
    assert repr(stepper) == "<Stepper of fix-the-tests: event 12 of 0 to 15, 2 nodes>"
    stepper.selection = [9, 9]
    assert repr(stepper) == "<Stepper of fix-the-tests: event 12 of 0 to 15, 2 nodes, selected 9 … 9>"
    bundle: Any = stepper._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == repr(stepper)
    assert repr(Stepper([])) == "<Stepper of session: before the first event, 0 nodes>"


def test_its_snapshot_is_the_surface_at_the_moment() -> None:
    stepper = Stepper(short(), moment=12)
    picture = stepper.snapshot()
    assert isinstance(picture, Diagram)
    assert picture.description == "surface of fix-the-tests after seq 12: 2 nodes, 1 replacement"
    stepper.moment = 11
    assert stepper.snapshot().description == "surface of fix-the-tests after seq 11: 4 nodes, 0 replacements"
    stepper.moment = -1
    assert stepper.snapshot().description.endswith("0 nodes, 0 replacements")
    assert Stepper([]).snapshot().inline


def test_a_session_with_any_name_can_be_sent() -> None:
    stepper = Stepper(Session("a\ud83d\x00<b>\n" + "W" * 10_000))
    state = stepper.get_state(["session_id"])
    assert json.dumps(state, ensure_ascii=False).encode()
    assert len(state["session_id"]) <= 200
    assert "\x00" not in repr(stepper)
    assert stepper.session_id.startswith("a\ud83d")


# --------------------------------------------------------------------------------------------------------------- living


def test_it_takes_in_what_was_appended_and_follows_the_end() -> None:
    session = short()
    stepper = Stepper(session)
    stepper.selection = [9, 13]
    stepper.refresh()
    assert (stepper.length, stepper.moment) == (16, 15)
    session.append("user/message", SAID, surface_op="append")
    assert stepper.length == 16
    stepper.refresh()
    assert (stepper.length, stepper.moment, stepper.surface) == (17, 16, (12, 9, 13, 14, 16))
    assert stepper.selection == [9, 13]
    stepper.moment = 3
    session.append("user/message", SAID, surface_op="append")
    stepper.refresh()
    assert (stepper.length, stepper.moment) == (18, 3)


def test_what_was_appended_and_not_taken_in_yet_is_not_told_of() -> None:
    session = short()
    stepper = Stepper(session, moment=12)
    op: Any = {"op": "replace", "start": 12, "end": 9}
    for _ in range(300):
        session.append("user/message", SAID, surface_op="append")
    session.append("user/message", SAID, surface_op=op, source_event_seqs=[12, 9])
    assert len(stepper._moments.history) == 317  # it knows already
    window = {"from": 0, "to": 999}
    assert len(ask(stepper, what="log", **window)["rows"]) == 16
    assert sum(ask(stepper, what="overview")["nodes"]) == 7
    assert ask(stepper, what="change", moment=15, by=1)["moment"] == 15
    assert ask(stepper, what="change", moment=999, by=-1)["moment"] == 14
    assert [row["seq"] for row in ask(stepper, what="surface", moment=15, **window)["rows"]] == [12, 9, 13, 14]
    stepper.refresh()
    assert (stepper.length, stepper.moment) == (317, 12)
    assert sum(ask(stepper, what="overview")["nodes"]) == 308


def test_it_takes_in_what_somebody_else_who_reads_along_took_in_first() -> None:
    session = short()
    stepper = Stepper(session)
    session.append("user/message", SAID, surface_op="append")
    stepper._moments.take_in()
    stepper.refresh()
    assert (stepper.length, stepper.moment) == (17, 16)


def test_ten_thousand_appends_and_one_refresh_are_one_message() -> None:
    session = Session("s")
    stepper = Stepper(session)
    sent: list[Any] = []
    stepper.send_state = lambda key=None: sent.append(set(key))  # type: ignore[method-assign]
    for _ in range(10_000):
        session.append("user/message", SAID, surface_op="append")
    stepper.refresh()
    assert sent == [{"length", "moment"}]


def test_a_feed_tells_it_of_appends_until_it_is_closed() -> None:
    with Context(clock=lambda: 0) as ctx:
        session = ctx.sessions.create("live")
        heard: list[int] = []

        def feed(refresh: Callable[[], object]) -> Callable[[], object]:
            def listener(_session: Session, event: SessionEvent) -> None:
                heard.append(event.seq)
                refresh()

            return ctx.on("session/event", listener)

        stepper = Stepper(session, feed=feed)
        session.append("user/message", SAID, surface_op="append")
        assert (stepper.length, stepper.moment) == (1, 0)
        stepper.close()
        session.append("user/message", SAID, surface_op="append")
        assert heard == [0]
        stepper.close()  # twice does no harm


def test_closing_leaves_no_comm_and_nothing_that_holds_it() -> None:
    before = dict(_instances)
    stepper = Stepper(short())
    assert stepper.comm is not None
    layout = stepper.layout
    stepper.close()
    assert stepper.comm is None
    assert layout.comm is None
    assert _instances == before
    gone = weakref.ref(stepper)
    del stepper, layout
    gc.collect()
    assert gone() is None


def test_it_never_appends() -> None:
    session = short()
    before = session.to_jsonl()
    stepper = Stepper(session)
    for moment in range(-1, stepper.length):
        stepper.moment = moment
        ask(stepper, what="surface", moment=moment, **{"from": 0, "to": 50})
    stepper.snapshot()
    stepper.close()
    assert session.to_jsonl() == before


def test_another_log_may_take_its_place() -> None:
    stepper = Stepper(short(), moment=12)
    stepper.selection, stepper.marked, stepper.notice, stepper.playing = [9, 9], [9], "x", True
    sent: list[Any] = []
    stepper.send = lambda content, buffers=None: sent.append((content, buffers))  # type: ignore[method-assign]
    assert stepper.show(many(3), moment=1) is stepper
    assert (stepper.session_id, stepper.length, stepper.moment, stepper.surface) == ("many", 3, 1, (0, 1))
    assert (stepper.selection, stepper.marked, stepper.notice, stepper.playing) == ([], [], "", False)
    assert sent == [({"type": "renewed"}, None)]
    stepper.show(short())
    assert (stepper.length, stepper.moment) == (16, 15)


# -------------------------------------------------------------------------------------------------------------- answers


def test_a_page_gets_windows_and_never_the_whole() -> None:
    stepper = Stepper(many(2000))
    answer = ask(stepper, what="log", **{"from": 0, "to": 10**9})
    assert len(answer["rows"]) == 512
    answer = ask(stepper, what="surface", moment=1999, **{"from": -50, "to": 10**9})
    assert (answer["from"], len(answer["rows"]), answer["count"]) == (0, 512, 2000)
    state = stepper.get_state([name for name in stepper.traits(sync=True) if not name.startswith("_")])
    assert len(json.dumps({name: value for name, value in state.items() if name != "layout"})) < 500


def test_the_selection_is_told_by_where_it_stands() -> None:
    stepper = Stepper(short())
    window = {"from": 0, "to": 10}
    assert ask(stepper, what="surface", moment=15, **window)["selected"] is None
    stepper.selection = [9, 13]
    ends = [{"seq": 9, "rank": 9, "at": 1}, {"seq": 13, "rank": 13, "at": 2}]
    assert ask(stepper, what="surface", moment=15, **window)["selected"] == ends
    assert ask(stepper, what="surface", moment=11, **window)["selected"] is None


@pytest.mark.parametrize(
    "question",
    [
        {"what": "surface", "moment": 99, "from": 0, "to": 5},
        {"what": "surface", "moment": None, "from": 0, "to": 5},
        {"what": "surface", "from": 0, "to": 5},
        {"what": "log", "from": "x", "to": 5},
        {"what": "log", "from": float("inf"), "to": 5},
        {"what": "everything", "from": 0, "to": 5},
        {"what": None, "from": 0, "to": 5},
        {"what": ["log"], "from": 0, "to": 5},
        {"what": "change", "moment": {}, "by": 1},
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_an_error(question: dict[str, Any]) -> None:
    answer = ask(Stepper(short()), **question)
    assert isinstance(answer["error"], str)
    assert len(answer["error"]) <= 300


def test_messages_of_another_kind_are_left_alone() -> None:
    stepper = Stepper(short())
    sent: list[Any] = []
    stepper.send = lambda content, buffers=None: sent.append((content, buffers))  # type: ignore[method-assign]
    for content in (None, [], "window", {}, {"type": "other"}):
        stepper._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    assert sent == []
