"""Closing what a crash left open."""

import copy
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session, check_invariants, interrupted_turn_closers, load
from dsh_session.core.repair import INTERRUPTED_TEXT
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import place_for
from dsh_session.core.view import FixedView

from .payloads import ROUTE, payload, text, wire_event

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
STEP = {"turn": 1, "step": 1}
SMALL = 200


def says(seq: int, *calls: str, turn: Any = 1, step: Any = 1) -> Any:
    content = [{"type": "tool-call", "id": call, "name": "read", "arguments": "{}"} for call in calls]
    data = {"turn": turn, "step": step, "content": content, "provenance": ROUTE}
    return wire_event("assistant/message", seq, data=data)


def calls(seq: int, call: Any) -> Any:
    return wire_event("tool/call", seq, data={**payload("tool/call"), "callId": call})


def answers(seq: int, call: Any) -> Any:
    return wire_event("tool/result", seq, data={**payload("tool/result"), "callId": call})


def result(seq: int, time: int, call: str, *, step: int = 1, cites: int | None = None) -> Any:
    event = {
        "type": "tool/result",
        "seq": seq,
        "time": time,
        "data": {
            "turn": 1,
            "step": step,
            "callId": call,
            "content": [text("Tool call interrupted by a crash; no result was recorded.")],
            "isError": True,
            "error": {"name": "InterruptedError", "code": "interrupted"},
        },
        "surfaceOp": "append",
    }
    return event if cites is None else {**event, "sourceEventSeqs": [cites]}


OPEN = (wire_event("turn/start", 0), wire_event("step/start", 1))


def closed_calls(*events: Any) -> list[tuple[str, int, Any]]:
    """The results among the closers: call, step, citation."""
    closers = interrupted_turn_closers([*OPEN, *events])
    results = [closer for closer in closers if closer["type"] == "tool/result"]
    return [(one["data"]["callId"], one["data"]["step"], one.get("sourceEventSeqs")) for one in results]


def test_a_turn_is_closed_completely() -> None:
    log = [*OPEN, says(2, "a", "b"), calls(3, "a")]
    closers = interrupted_turn_closers(log)
    assert closers == [
        result(4, 1003, "a", cites=3),
        result(5, 1003, "b"),
        {"type": "step/end", "seq": 6, "time": 1003, "data": STEP},
        {"type": "turn/end", "seq": 7, "time": 1003, "data": {"turn": 1, "reason": {"kind": "interrupted"}}},
    ]
    assert [list(closer) for closer in closers[:2]] == [
        ["type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs"],
        ["type", "seq", "time", "data", "surfaceOp"],
    ]
    assert closers[0]["data"]["content"][0]["text"] == INTERRUPTED_TEXT


@pytest.mark.parametrize(
    "log",
    [
        [],
        [wire_event("user/message", 0)],
        [says(0, "a")],
        [wire_event("step/start", 0)],
        [*OPEN, wire_event("step/end", 2), wire_event("turn/end", 3)],
        [*OPEN, says(2, "a"), wire_event("turn/end", 3)],
        [*OPEN, wire_event("turn/end", 2, data={"turn": 9, "reason": {"kind": "completed"}})],
        [*OPEN, wire_event("turn/end", 2), wire_event("user/message", 3), says(4, "a")],
    ],
)
def test_a_log_without_an_open_turn_needs_nothing(log: list[Any]) -> None:
    assert interrupted_turn_closers(log) == []


def test_each_turn_has_closers_of_its_own() -> None:
    closers = interrupted_turn_closers([*OPEN, says(2, "a")])
    closers[0]["data"]["content"][0]["text"] = "edited"
    assert interrupted_turn_closers([*OPEN, says(2, "a")])[0]["data"]["content"][0]["text"] == INTERRUPTED_TEXT


CALLS: dict[str, tuple[Sequence[Any], list[tuple[str, int, Any]]]] = {
    "an answered call": ([says(2, "a"), calls(3, "a"), answers(4, "a")], []),
    "a call without a tool/call": ([says(2, "a")], [("a", 1, None)]),
    "a tool/call that no message made": ([calls(2, "a")], []),
    "a tool/call before its message": ([calls(2, "a"), says(3, "a")], [("a", 1, None)]),
    "the last of two tool/calls": ([says(2, "a"), calls(3, "a"), calls(4, "a")], [("a", 1, [4])]),
    "calls in transcript order": (
        [says(2, "b", "a"), says(3, "c"), calls(4, "a")],
        [("b", 1, None), ("a", 1, [4]), ("c", 1, None)],
    ),
    "an id that comes again": (
        [says(2, "a", "b"), calls(3, "a"), calls(4, "b"), says(5, "a", step=2)],
        [("a", 2, None), ("b", 1, [4])],
    ),
    "an id that comes again after its result": (
        [says(2, "a", "b"), answers(3, "a"), says(4, "a")],
        [("b", 1, None), ("a", 1, None)],
    ),
    "an id twice in one message": ([says(2, "a", "a")], [("a", 1, None)]),
    "calls of an ended step": ([says(2, "a"), wire_event("step/end", 3), says(4, "b")], [("b", 1, None)]),
    "calls before a step/start": ([says(2, "a"), wire_event("step/start", 3)], [("a", 1, None)]),
    "a result of another turn": ([says(2, "a"), {**answers(3, "a"), "data": {"callId": "a"}}], []),
    "a result that replaces": ([says(2, "a"), {**answers(3, "a"), "surfaceOp": {"op": "replace"}}], []),
}


@pytest.mark.parametrize(("events", "expected"), CALLS.values(), ids=CALLS)
def test_which_calls_get_a_result(events: Sequence[Any], expected: list[tuple[str, int, Any]]) -> None:
    assert closed_calls(*events) == expected


@pytest.mark.parametrize(
    ("events", "ends"),
    [
        ([], [("step/end", STEP), ("turn/end", 1)]),
        ([wire_event("step/end", 2)], [("turn/end", 1)]),
        ([wire_event("step/end", 2, data={"turn": 9, "step": 9})], [("turn/end", 1)]),
        (
            [wire_event("step/start", 2, data={"turn": 5, "step": 4})],
            [("step/end", {"turn": 1, "step": 4}), ("turn/end", 1)],
        ),
        (
            [wire_event("step/start", 2, data={"turn": 1.0, "step": 2.0})],
            [("step/end", {"turn": 1, "step": 2}), ("turn/end", 1)],
        ),
        ([wire_event("turn/start", 2, data={"turn": 2})], [("turn/end", 2)]),
    ],
)
def test_what_is_open_is_closed(events: list[Any], ends: list[tuple[str, Any]]) -> None:
    closers = interrupted_turn_closers([*OPEN, *events])
    assert [(one["type"], one["data"] if one["type"] == "step/end" else one["data"]["turn"]) for one in closers] == ends


@pytest.mark.parametrize("junk", [None, 1, "x", [], {}, {"turn": None, "step": None}, {"turn": "1", "step": True}])
def test_a_number_that_is_missing_is_the_one_that_comes_next(junk: Any) -> None:
    log = [*OPEN, wire_event("step/end", 2), wire_event("turn/end", 3), wire_event("turn/start", 4, data=junk)]
    assert [one["data"]["turn"] for one in interrupted_turn_closers(log)] == [2]
    log += [wire_event("step/start", 5, data=junk), {**says(6, "a", turn=None, step=None)}]
    answer, step_end, turn_end = interrupted_turn_closers(log)
    assert (answer["data"]["turn"], answer["data"]["step"]) == (2, 1)
    assert step_end["data"] == {"turn": 2, "step": 1}
    assert turn_end["data"]["turn"] == 2


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"content": None},
        {"content": "x"},
        {
            "content": [
                None,
                5,
                [],
                {},
                {"type": "tool-call"},
                {"type": "tool-call", "id": [1]},
                {"type": "tool-call", "id": 3},
            ]
        },
    ],
)
def test_a_message_that_is_malformed_made_no_call(data: Any) -> None:
    assert closed_calls(wire_event("assistant/message", 2, data=data)) == []


@pytest.mark.parametrize("junk", [None, 3, {}, {"callId": ["a"]}, {"callId": None}])
def test_a_call_or_a_result_that_is_malformed_concerns_nobody(junk: Any) -> None:
    events = [says(2, "a"), wire_event("tool/call", 3, data=junk), wire_event("tool/result", 4, data=junk)]
    assert closed_calls(*events) == [("a", 1, None)]


def test_a_call_without_a_step_gets_a_result_all_the_same() -> None:
    assert closed_calls(wire_event("step/start", 2, data={"turn": 1, "step": 2}), says(3, "a", step="x")) == [
        ("a", 2, None)
    ]
    closers = interrupted_turn_closers([wire_event("turn/start", 0), says(1, "a", step=None)])
    assert [(one["type"], one["data"].get("step")) for one in closers] == [("tool/result", 1), ("turn/end", None)]


def test_seqs_and_times_go_on_where_the_log_ends() -> None:
    log = [{**wire_event("turn/start", 0), "seq": 40, "time": 5.0}]
    (closer,) = interrupted_turn_closers(log)
    assert (closer["seq"], closer["time"]) == (41, 5)
    (closer,) = interrupted_turn_closers([{"type": "turn/start", "data": {"turn": 1}}])
    assert (closer["seq"], closer["time"]) == (1, 0)


class Watched(Sequence[Any]):
    """A log that counts how often it is looked at."""

    def __init__(self, events: Sequence[Any]) -> None:
        self.events = events
        self.looks = 0

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, at: Any) -> Any:
        self.looks += len(range(len(self))[at]) if isinstance(at, slice) else 1
        return self.events[at]


def test_what_lies_before_the_last_turn_boundary_is_not_read() -> None:
    tail = [wire_event("turn/start", 0), wire_event("step/start", 0), says(0, "a"), calls(0, "a")]
    log = Watched([wire_event("todo/write", 0)] * 10_000 + tail)
    assert len(interrupted_turn_closers(log)) == 3
    assert log.looks < 10 * len(tail)


# Laws.


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_prefix_of_a_recorded_log_can_be_closed(path: Path) -> None:
    """The prefix is taken in once; a twin that shares its events takes the closers in as a seed does."""
    events = list(load(path).events)
    prefix, tracker = Session("prefix", clock=lambda: 0), TurnTracker()
    for length in range(len(events) + 1):
        twin, follower = Session("twin", clock=lambda: 0), copy.deepcopy(tracker)
        prefix._forked(twin, length - 1)
        for closer in interrupted_turn_closers(FixedView(events, length)):
            twin._log.append(twin._seeded(closer, twin.seq))
            assert follower.take(closer["type"], place_for(closer["type"], closer)) == []
        assert follower.state.turn is None
        assert follower.state.step is None
        if length < len(events):
            event = events[length]
            prefix._log.append(prefix._seeded(event, length))
            assert tracker.take(event.type, place_for(event.type, event)) == []
    assert prefix.derive_messages() == load(path).derive_messages()


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_closed_prefix_is_a_seed_that_breaks_no_rule(path: Path) -> None:
    """Every prefix of a small log; of a large one those at the end, and each that ends near a turn boundary."""
    events = load(path).events
    lengths: Any = range(len(events) + 1)
    if len(events) > SMALL:
        ends = [event.seq for event in events if event.type in {"turn/start", "turn/end"}][-25:]
        lengths = sorted({end + near for end in ends for near in (0, 1)} | set(lengths[-10:]))
    for length in lengths:
        prefix = events[:length]
        session = Session("closed", seed=[*prefix, *interrupted_turn_closers(prefix)], clock=lambda: 0)
        assert check_invariants(session.events) == []
        assert interrupted_turn_closers(session.events) == []


KINDS = (
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "tool/call",
    "tool/result",
    "assistant/message",
    "todo/write",
)


@st.composite
def logs(draw: st.DrawFn) -> list[Any]:
    small = st.integers(1, 2)
    log = []
    for seq, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=14))):
        turn, step, call = draw(small), draw(small), draw(st.sampled_from("ab"))
        data = {**payload(kind), "turn": turn, "step": step, "callId": call}
        if kind == "assistant/message":
            data = says(seq, *draw(st.lists(st.sampled_from("ab"), max_size=3)), turn=turn, step=step)["data"]
        log.append(wire_event(kind, seq, data=data))
    return log


@given(logs())
def test_what_is_closed_is_balanced_and_pairs_every_call_of_the_open_step(log: list[Any]) -> None:
    closers = interrupted_turn_closers(log)
    closed = [*log, *closers]
    assert [event["seq"] for event in closed] == list(range(len(closed)))
    assert interrupted_turn_closers(closed) == []
    session = Session("s", seed=log, clock=lambda: 0)
    assert interrupted_turn_closers(session.events) == closers
    Session("s", seed=closed, clock=lambda: 0)
    named = [closer["data"]["callId"] for closer in closers if closer["type"] == "tool/result"]
    assert len(named) == len(set(named))
    if closers:
        assert closers[-1]["type"] == "turn/end"
        assert sum(closer["type"] == "step/end" for closer in closers) <= 1
    if not check_invariants(log):
        assert check_invariants(closed) == []


def test_a_log_may_be_kept_in_a_queue() -> None:
    unnumbered = [wire_event("turn/start", 0, data={}), wire_event("step/start", 1, data={}), says(2, "a")]
    for log in ([*OPEN, says(2, "a"), calls(2, "a")], unnumbered):
        assert interrupted_turn_closers(deque(log)) == interrupted_turn_closers(log)
        assert len(interrupted_turn_closers(log)) == 3
