"""Following a log, well-formed or not."""

from collections.abc import Sequence
from typing import Any

import pytest

from dsh_session import Session, SessionEvent
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import TurnState, place_for

from .payloads import payload

Told = tuple[str, dict[str, Any]]
"""A type and the payload's place."""


def start(turn: int) -> Told:
    return "turn/start", {"turn": turn}


def end(turn: int) -> Told:
    return "turn/end", {"turn": turn}


def opens(turn: int, step: int) -> Told:
    return "step/start", {"turn": turn, "step": step}


def closes(turn: int, step: int) -> Told:
    return "step/end", {"turn": turn, "step": step}


def chunk(turn: int, step: int) -> Told:
    return "assistant/chunk", {"turn": turn, "step": step}


def call(turn: int, step: int, name: str = "a") -> Told:
    return "tool/call", {"turn": turn, "step": step, "callId": name}


def result(turn: int, step: int, name: str = "a") -> Told:
    return "tool/result", {"turn": turn, "step": step, "callId": name}


USER: Told = ("user/message", {})


def rules(*log: Told) -> list[tuple[int, str]]:
    tracker = TurnTracker()
    found = []
    for seq, (kind, data) in enumerate(log):
        place = place_for(kind, {"seq": seq, "data": data})
        expected = tracker.faults(kind, place)
        faults = tracker.take(kind, place)
        assert faults == expected  # asking before says what taking says
        found += [(seq, fault.rule) for fault in faults]
    return found


TURN = (start(1), USER, opens(1, 1), chunk(1, 1), call(1, 1), result(1, 1), closes(1, 1), end(1))
NEXT = (start(2), USER, opens(2, 1), chunk(2, 1), call(2, 1), result(2, 1), closes(2, 1), end(2))


def test_well_formed_turns_have_no_faults() -> None:
    assert rules(*TURN, *NEXT) == []


ONE_FAULT: dict[str, tuple[Sequence[Told], list[tuple[int, str]]]] = {
    "a turn number is left out": (
        (*TURN, start(3), USER, opens(3, 1), closes(3, 1), end(3), start(4)),
        [(8, "turn-number")],
    ),
    "numbering starts again": ((*TURN, *TURN, *NEXT), [(8, "turn-number")]),
    "a turn/end is missing": ((*TURN[:-1], *NEXT, start(3)), [(7, "turn-nesting")]),
    "a turn/end is missing, and a step/end": ((*TURN[:-2], *NEXT, start(3)), [(6, "turn-nesting")]),
    "a step/end is missing": ((*TURN[:-2], end(1), *NEXT), [(6, "step-left-open")]),
    "a step/end is missing between steps": (
        (*TURN[:6], opens(1, 2), chunk(1, 2), closes(1, 2), end(1), *NEXT),
        [(6, "step-nesting")],
    ),
    "a step/start is missing": ((*TURN[:2], *TURN[3:], *NEXT), [(2, "step")]),
    "a step/start is missing before a call": (
        (start(1), call(1, 1), result(1, 1), closes(1, 1), end(1)),
        [(1, "step")],
    ),
    "a step/start is missing before a step/end": ((start(1), closes(1, 1), opens(1, 2)), [(1, "step-end")]),
    "a turn/start is missing before a step": ((*TURN, *NEXT[2:], start(3)), [(8, "turn")]),
    "a turn/start is missing before a turn/end": ((*TURN, end(2), start(3)), [(8, "turn-end")]),
    "a stray turn/start": ((*TURN[:5], start(9), *TURN[5:], *NEXT), [(5, "turn-nesting"), (5, "turn-number")]),
    "a stray turn/end": ((*TURN[:5], end(9), *TURN[5:], *NEXT), [(5, "turn-end"), (5, "step-left-open")]),
    "a stray turn/end before a message": ((start(1), end(9), USER, end(1), *NEXT), [(1, "turn-end")]),
    "a stray step/start": ((*TURN[:5], opens(1, 9), *TURN[5:], *NEXT), [(5, "step-nesting"), (5, "step-number")]),
    "a stray step/start of the same number": (
        (*TURN[:5], opens(1, 1), *TURN[5:], *NEXT),
        [(5, "step-nesting"), (5, "step-number")],
    ),
    "a stray step/start between calls": (
        (*TURN[:5], opens(1, 1), call(1, 1, "b"), result(1, 1), result(1, 1, "b"), *TURN[6:], *NEXT),
        [(5, "step-nesting"), (5, "step-number")],
    ),
    "strays of a later step of the next turn": (
        (*TURN, chunk(2, 2), chunk(2, 2), *NEXT),
        [(8, "turn"), (9, "turn")],
    ),
    "a stray step/end": ((*TURN[:5], closes(1, 9), *TURN[5:], *NEXT), [(5, "step-end")]),
    "a stray chunk": ((*TURN[:5], chunk(9, 9), *TURN[5:], *NEXT), [(5, "turn")]),
    "two strays": ((*TURN[:5], chunk(9, 9), closes(1, 9), *TURN[5:]), [(5, "turn"), (6, "step-end")]),
    "a message between turns": ((*TURN, USER, *NEXT), [(8, "enclosure")]),
    "a message after a turn that left its step open": (
        (*TURN[:6], end(1), USER, *NEXT),
        [(6, "step-left-open"), (7, "enclosure")],
    ),
    "a second result": ((*TURN[:6], result(1, 1), *TURN[6:], *NEXT), [(6, "result")]),
    "a result in the next step": (
        (*TURN[:5], closes(1, 1), opens(1, 2), result(1, 2), closes(1, 2), end(1)),
        [(7, "result")],
    ),
}


@pytest.mark.parametrize(("log", "found"), ONE_FAULT.values(), ids=ONE_FAULT)
def test_a_fault_is_reported_where_it_is_and_not_again(log: Sequence[Told], found: list[tuple[int, str]]) -> None:
    assert rules(*log) == found


def test_every_stray_is_reported() -> None:
    strays = (chunk(1, 1), opens(1, 2), closes(1, 1), end(1), chunk(9, 9))
    assert rules(*TURN, *strays, *NEXT) == [(8, "turn"), (9, "turn"), (10, "turn"), (11, "turn-end"), (12, "turn")]


def test_both_readings_are_kept_only_as_long_as_they_differ() -> None:
    tracker = TurnTracker()
    for seq, (kind, data) in enumerate((*TURN[:4], opens(1, 1), closes(1, 1))):
        tracker.take(kind, place_for(kind, {"seq": seq, "data": data}))
    assert tracker._other is None


def guarded(log: Session) -> TurnState:
    tracker = TurnTracker()
    for event in log.events:
        tracker.take(event.type, place_for(event.type, event))
    return tracker.state


def growing() -> Session:
    log = Session("s", clock=lambda: 0)
    for kind in ("turn/start", "step/start", "tool/call"):
        log.append(kind, payload(kind))
    return log


def test_catching_up_reads_each_event_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log, tracker = growing(), TurnTracker()
    read: list[int] = []
    reading = tracker.reading

    def counted(event: SessionEvent, events: Any) -> Any:
        read.append(event.seq)
        return reading(event, events)

    monkeypatch.setattr(tracker, "reading", counted)
    assert tracker.catch_up(log.events) == guarded(log)
    assert tracker.state.calls == {"c1": 2}
    log.append("tool/result", payload("tool/result"), surface_op="append")
    tracker.catch_up(log.events)
    assert tracker.catch_up(log.events) == guarded(log)
    assert read == [0, 1, 2, 3]


@pytest.mark.parametrize("interrupted_at", range(3))
def test_catching_up_starts_again_after_an_interruption(monkeypatch: pytest.MonkeyPatch, interrupted_at: int) -> None:
    log, tracker = growing(), TurnTracker()
    wanted = interrupted_at
    broken: list[Any] = []

    def interrupted(kind: str, place: Any) -> None:
        broken.extend(TurnTracker.take(tracker, kind, place))
        if place.seq == wanted:
            raise KeyboardInterrupt

    monkeypatch.setattr(tracker, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tracker.catch_up(log.events)
    wanted = -1
    assert tracker.catch_up(log.events) == guarded(log)
    assert broken == []  # nothing was taken in twice


def test_another_log_is_followed_from_its_start() -> None:
    tracker = TurnTracker()
    tracker.catch_up(growing().events)
    shorter = Session("t", clock=lambda: 0)
    assert tracker.catch_up(shorter.events) == TurnState()
