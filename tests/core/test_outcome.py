"""Why a turn ended."""

import asyncio
from itertools import permutations
from typing import Any

import pytest

from dsh_session import SessionError
from dsh_session.core.outcome import Outcome, finish_of

DISPOSED = {"kind": "disposed"}
ABORTED = {"kind": "aborted", "reason": "user"}
FAILED = {"kind": "error", "step": 1, "message": "no"}
OWN = {"kind": "paused", "until": "tomorrow"}
CUT = {"kind": "max-tokens"}
COMPLETED = {"kind": "completed"}
BY_RANK = [DISPOSED, ABORTED, FAILED, OWN, CUT, COMPLETED]


@pytest.mark.parametrize("first", range(len(BY_RANK)))
def test_the_strongest_reason_counts_in_whatever_order_things_happened(first: int) -> None:
    for order in permutations(BY_RANK[first:]):
        outcome = Outcome()
        for reason in order:
            outcome.note(reason)
        assert outcome.reason() == BY_RANK[first]


def test_of_two_alike_the_first_counts() -> None:
    outcome = Outcome()
    outcome.note(FAILED)
    outcome.note({**FAILED, "step": 2})
    assert outcome.reason() == FAILED


def test_nothing_happened_means_completed_unless_there_is_something_better() -> None:
    assert Outcome().reason() == COMPLETED
    assert Outcome().reason({"kind": "rejected", "reason": "policy"}) == {"kind": "rejected", "reason": "policy"}


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", COMPLETED),
        ("tool-calls", COMPLETED),
        ("max-tokens", CUT),
        ("aborted", {"kind": "aborted"}),
        ("error", {"kind": "error", "step": 3, "message": "the model reported a failure"}),
        ({"kind": "error", "message": "busy"}, {"kind": "error", "step": 3, "message": "busy"}),
        (
            {"kind": "error", "message": "busy", "code": "429"},
            {"kind": "error", "step": 3, "message": "busy", "code": "429"},
        ),
        ({"kind": "safety", "own": 1}, COMPLETED),
    ],
)
def test_how_a_model_call_finished_tells(finish: Any, reason: Any) -> None:
    outcome = Outcome()
    outcome.note_finish(finish_of(finish), step=3)
    assert outcome.reason() == reason


class Odd(Exception):  # noqa: N818 (an odd one)
    def __init__(self, text: Any, code: Any) -> None:
        super().__init__()
        self.text = text
        self.code = code

    def __str__(self) -> Any:
        return self.text


class Words(str):
    __slots__ = ()


class Unreadable(Exception):  # noqa: N818 (an odd one)
    @property
    def code(self) -> str:
        raise RuntimeError("no code today")

    def __str__(self) -> str:
        raise RuntimeError("no words either")


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (ValueError("no such file"), "no such file", None),
        (ValueError(), "ValueError", None),
        (SessionError("RANGE_NOT_FOUND", "gone"), "RANGE_NOT_FOUND: gone", "RANGE_NOT_FOUND"),
        (Odd("x", 7), "x", None),
        (Odd("x", ""), "x", None),
        (Odd("x", "E"), "x", "E"),
        (Odd(Words("x"), Words("E")), "x", None),
        (Odd(5, None), "Odd", None),
        (Unreadable(), "Unreadable", None),
    ],
)
def test_an_exception_is_an_error_of_the_step(error: Exception, message: str, code: str | None) -> None:
    outcome = Outcome()
    outcome.note_exception(error, step=2)
    reason = outcome.reason()
    assert reason == {"kind": "error", "step": 2, "message": message, **({} if code is None else {"code": code})}
    assert type(reason["message"]) is str


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
        (asyncio.CancelledError("timed out"), "timed out"),
        (GeneratorExit(), "GeneratorExit"),
        (SystemExit(3), "3"),
    ],
)
def test_a_stop_from_outside_aborts(error: BaseException, reason: str) -> None:
    outcome = Outcome()
    outcome.note_exception(error, step=2)
    assert outcome.reason() == {"kind": "aborted", "reason": reason}


@pytest.mark.parametrize(
    "reason", [{}, {"kind": None}, {"kind": []}, {"kind": "aborted", "reason": 5}, {"kind": "error"}, "rejected"]
)
def test_what_is_no_end_reason_is_refused_at_once(reason: Any) -> None:
    outcome = Outcome()
    with pytest.raises(SessionError) as caught:
        outcome.note(reason)
    assert caught.value.code == "PAYLOAD_INVALID"
    assert outcome.reason() == COMPLETED


@pytest.mark.parametrize(("finish", "code"), [({}, "PAYLOAD_INVALID"), ({"kind": "error", "message": b""}, "NOT_JSON")])
def test_what_is_no_finish_reason_is_refused_at_once(finish: Any, code: str) -> None:
    with pytest.raises(SessionError) as caught:
        finish_of(finish)
    assert caught.value.code == code


def test_a_reason_is_copied() -> None:
    mine: dict[str, Any] = {"kind": "paused", "until": ["tomorrow"]}
    outcome = Outcome()
    outcome.note(mine)
    mine["until"].append("later")
    assert outcome.reason() == {"kind": "paused", "until": ["tomorrow"]}
