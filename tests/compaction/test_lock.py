"""The lock that a bracket is: who holds it, and who left it behind."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session.compaction import compactions_left_open
from dsh_session.compaction.lock import lock_of

from .sessions import close_turn, open_turn, session


def state(log: Any) -> tuple[int | None, int | None, list[int]]:
    lock = lock_of(log)
    return lock.turn, lock.holder, lock.left_open


def test_a_bracket_is_held_from_its_start_to_its_end() -> None:
    log = session()
    assert state(log) == (None, None, [])
    open_turn(log)
    assert state(log) == (1, None, [])
    log.append("compact/start", {"turn": 1})
    assert state(log) == (1, 1, [])
    log.append("compact/end", {"turn": 1})
    assert state(log) == (1, None, [])


@pytest.mark.parametrize("boundary", ["turn/start", "turn/end"])
def test_a_turn_boundary_releases_what_was_left_open(boundary: str) -> None:
    log = session()
    open_turn(log)
    log.append("compact/start", {"turn": 1})
    if boundary == "turn/end":
        close_turn(log, "interrupted")
    else:
        open_turn(log)
    assert state(log)[1:] == (None, [1])
    assert compactions_left_open(log) == [1]


def test_a_second_start_takes_over_from_the_first() -> None:
    log = session()
    open_turn(log)
    for _ in range(2):
        log.append("compact/start", {"turn": 1})
    assert state(log) == (1, 2, [1])
    log.append("compact/end", {"turn": 1})
    assert state(log) == (1, None, [1])


def test_a_turn_without_a_number_is_counted() -> None:
    log = session(check_payloads=False)
    for data in ({"turn": 7}, {"turn": "one"}, None, {"turn": 9.0}):
        log.append("turn/start", data)
    turns = []
    for length in range(1, 5):
        part = session(check_payloads=False, seed=log.events[:length])
        turns.append(lock_of(part).turn)
    assert turns == [7, 2, 3, 9]


@given(st.lists(st.sampled_from(["turn/start", "turn/end", "compact/start", "compact/end", "todo/write"]), max_size=12))
def test_who_holds_it_is_what_a_walk_back_from_the_end_finds(kinds: list[Any]) -> None:
    log = session(check_payloads=False)
    for kind in kinds:
        log.append(kind, {"turn": 1})
        found = None
        for event in reversed(log.events):
            if event.type == "compact/start":
                found = event.seq
            if event.type in ("compact/start", "compact/end", "turn/start", "turn/end"):
                break
        assert lock_of(log).holder == found
    bracketing = [event for event in log.events if event.type != "todo/write"]
    ended = {one.seq for one, after in pairwise(bracketing) if after.type == "compact/end"}
    starts = {event.seq for event in log.events if event.type == "compact/start"}
    assert compactions_left_open(log) == sorted(starts - ended - {lock_of(log).holder})
