"""Where a log stands, one event at a time."""

from typing import Any

import pytest

from dsh_session import Session
from dsh_session.core.turns import Place, TurnState, place_for, place_of, whole

from .payloads import payload, wire_event


def place(turn: Any = None, step: Any = None, call: Any = None, *, seq: int = 0, synthetic: bool = False) -> Place:
    return Place(seq, turn, step, call, synthetic)


def at(turn: int | None, step: int | None, last_turn: int, last_step: int, *calls: str) -> TurnState:
    state = TurnState(turn, step, last_turn, last_step)
    state.calls = dict.fromkeys(calls, 0)
    return state


PLACED = ("assistant/chunk", "assistant/message", "tool/call")

LEGAL: list[tuple[TurnState, str, Place, TurnState]] = [
    (at(None, None, 0, 0), "turn/start", place(1), at(1, None, 1, 0)),
    (at(None, None, 4, 3), "turn/start", place(5), at(5, None, 5, 0)),
    (at(None, None, 4, 3), "turn/start", place(5.0), at(5, None, 5, 0)),
    (at(2, None, 2, 3), "turn/end", place(2), at(None, None, 2, 3)),
    (at(2, None, 2, 0), "step/start", place(2, 1), at(2, 1, 2, 1)),
    (at(2, None, 2, 3), "step/start", place(2, 4), at(2, 4, 2, 4)),
    (at(2, 4, 2, 4, "a"), "step/end", place(2, 4), at(2, None, 2, 4)),
    (at(2, 4, 2, 4), "assistant/chunk", place(2, 4), at(2, 4, 2, 4)),
    (at(2, 4, 2, 4), "assistant/message", place(2, 4), at(2, 4, 2, 4)),
    (at(2, 4, 2, 4), "tool/call", place(2, 4, "a"), at(2, 4, 2, 4, "a")),
    (at(2, 4, 2, 4), "tool/call", place(2, 4, None), at(2, 4, 2, 4)),
    (at(2, 4, 2, 4, "a"), "tool/call", place(2, 4, "a"), at(2, 4, 2, 4, "a")),
    (at(2, 4, 2, 4, "a", "b"), "tool/result", place(2, 4, "a"), at(2, 4, 2, 4, "b")),
    (at(2, 4, 2, 4, "b"), "tool/result", place(2, 4, "a", synthetic=True), at(2, 4, 2, 4, "b")),
    (at(2, 4, 2, 4, "a"), "tool/result", place(2, 4, "a", synthetic=True), at(2, 4, 2, 4)),
    (at(2, 4, 2, 4, "a"), "tool/result", place(2, 4, ["a"], synthetic=True), at(2, 4, 2, 4, "a")),
    (at(2, None, 2, 4), "user/message", place(), at(2, None, 2, 4)),
    (at(2, 4, 2, 4), "plugin/own", place(), at(2, 4, 2, 4)),
]

BROKEN: list[tuple[TurnState, str, Place, list[tuple[str, Any, Any]]]] = [
    (at(None, None, 0, 0), "turn/start", place(2), [("turn-number", 1, 2)]),
    (at(None, None, 0, 0), "turn/start", place(0), [("turn-number", 1, 0)]),
    (at(None, None, 0, 0), "turn/start", place(), [("turn-number", 1, None)]),
    (at(None, None, 0, 0), "turn/start", place("1"), [("turn-number", 1, "1")]),
    (at(None, None, 0, 0), "turn/start", place(True), [("turn-number", 1, True)]),
    (at(None, None, 1, 0), "turn/start", place(1), [("turn-number", 2, 1)]),
    (at(1, None, 1, 0), "turn/start", place(2), [("turn-nesting", None, 1)]),
    (at(1, None, 1, 0), "turn/start", place(1), [("turn-nesting", None, 1), ("turn-number", 2, 1)]),
    (at(None, None, 1, 0), "turn/end", place(1), [("turn-end", None, 1)]),
    (at(2, None, 2, 0), "turn/end", place(1), [("turn-end", 2, 1)]),
    (at(2, None, 2, 0), "turn/end", place([2]), [("turn-end", 2, [2])]),
    (at(2, 1, 2, 1), "turn/end", place(2), [("step-left-open", None, 1)]),
    (at(None, None, 2, 1), "step/start", place(2, 2), [("turn", None, 2)]),
    (at(2, None, 2, 1), "step/start", place(1, 2), [("turn", 2, 1)]),
    (at(2, None, 2, 1), "step/start", place(2, 3), [("step-number", 2, 3)]),
    (at(2, None, 2, 1), "step/start", place(2, {}), [("step-number", 2, {})]),
    (at(2, 1, 2, 1), "step/start", place(2, 2), [("step-nesting", None, 1)]),
    (at(2, None, 2, 1), "step/end", place(2, 1), [("step-end", None, 1)]),
    (at(2, 2, 2, 2), "step/end", place(2, 1), [("step-end", 2, 1)]),
    (at(2, 2, 2, 2), "step/end", place(1, 2), [("turn", 2, 1)]),
    *((at(2, 2, 2, 2), kind, place(2, 1, "a"), [("step", 2, 1)]) for kind in PLACED),
    *((at(2, 2, 2, 2), kind, place(1, 2, "a"), [("turn", 2, 1)]) for kind in PLACED),
    *((at(2, None, 2, 2), kind, place(2, 2, "a"), [("step", None, 2)]) for kind in PLACED),
    *((at(None, None, 2, 2), kind, place(2, 2, "a"), [("turn", None, 2)]) for kind in PLACED),
    (at(2, 2, 2, 2, "a", "b"), "tool/result", place(2, 2, "c"), [("result", ["a", "b"], "c")]),
    (at(2, 2, 2, 2, "a"), "tool/result", place(2, 2, ["a"]), [("result", ["a"], ["a"])]),
    (at(2, 2, 2, 2), "tool/result", place(2, 2), [("result", [], None)]),
    (at(2, 2, 2, 2, "a"), "tool/result", place(2, 1, "a", synthetic=True), [("step", 2, 1)]),
    (at(None, None, 2, 2), "user/message", place(), [("enclosure", "an open turn", None)]),
    (at(None, None, 2, 2), "plugin/own", place(), [("enclosure", "an open turn", None)]),
]


@pytest.mark.parametrize(("state", "kind", "where", "after"), LEGAL)
def test_a_legal_event_moves_the_log_on(state: TurnState, kind: str, where: Place, after: TurnState) -> None:
    assert state.faults(kind, where) == []
    state.advance(kind, where)
    assert state == after


@pytest.mark.parametrize(("state", "kind", "where", "broken"), BROKEN)
def test_an_illegal_event_breaks_a_rule_that_names_both_values(
    state: TurnState, kind: str, where: Place, broken: list[tuple[str, Any, Any]]
) -> None:
    found = state.faults(kind, where)
    assert [(fault.rule, fault.expected, fault.actual) for fault in found] == broken
    assert all(fault.message for fault in found)


def test_the_message_says_where_the_log_stands_and_what_to_do() -> None:
    (fault,) = at(2, 3, 2, 3).faults("turn/end", place(2))
    assert fault.message == "a turn/end while step 3 is open; append its step/end first"
    (fault,) = at(2, 1, 2, 1, *"abcdef").faults("tool/result", place(2, 1, "x\x1b[31m"))
    assert "waiting: 'a', 'b', 'c', 'd', 'e', …" in fault.message
    assert "\x1b" not in fault.message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"turn": 1, "step": 2, "callId": "c"}, Place(7, 1, 2, "c", synthetic=False)),
        ({"turn": 1, "isError": True, "error": {"code": "interrupted"}}, Place(7, 1, None, None, synthetic=True)),
        ({"turn": 1, "isError": False, "error": {"code": "interrupted"}}, Place(7, 1, None, None, synthetic=False)),
        ({"turn": 1, "isError": 1, "error": {"code": "interrupted"}}, Place(7, 1, None, None, synthetic=False)),
        ({"turn": 1, "isError": True, "error": {"code": "timeout"}}, Place(7, 1, None, None, synthetic=False)),
        ({"turn": 1, "isError": True, "error": "interrupted"}, Place(7, 1, None, None, synthetic=False)),
        ({"turn": "\ud800", "step": 2}, Place(7, "\ud800", 2, None, synthetic=False)),
        (None, Place(7, None, None, None, synthetic=False)),
        ([1, 2], Place(7, None, None, None, synthetic=False)),
        ("text", Place(7, None, None, None, synthetic=False)),
    ],
)
def test_an_event_and_its_wire_form_say_the_same_of_their_place(data: Any, expected: Place) -> None:
    filler = [wire_event("plugin/own", seq, data=None) for seq in range(7)]
    wire = wire_event("tool/call", 7, data=data)
    event = Session("s", seed=[*filler, wire]).events[7]
    assert place_of(wire) == place_of(event) == expected


def test_a_type_that_names_no_place_is_not_read() -> None:
    wire = wire_event("user/message", 3, data={**payload("user/message"), "turn": 9})
    assert place_for("user/message", wire) == Place(None, None, None, None, synthetic=False)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (3.0, 3),
        (-1, -1),
        (2**53 - 1, 2**53 - 1),
        (2**53, None),
        (1.5, None),
        (True, None),
        ("3", None),
        (None, None),
        (float("inf"), None),
        (float("nan"), None),
    ],
)
def test_what_counts_as_a_number(value: Any, number: int | None) -> None:
    assert whole(value) == number
    assert type(whole(value)) is type(number)
