"""Closing an interrupted turn, for every prefix of every recorded log."""

from typing import Any

import pytest

from dsh_session import Session, SessionError, interrupted_turn_closers

from .vectors import Clock, Record, assert_equal, records

FIELDS = {"id", "kind", "note", "events", "closers", "seedablePrefixes"}


@pytest.mark.parametrize("record", records("repair"))
def test_the_closers_of_every_prefix_are_the_recorded_ones(record: Record) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    assert len(record["closers"]) == len(record["events"]) + 1
    for length, closers in enumerate(record["closers"]):
        assert_equal(interrupted_turn_closers(record["events"][:length]), closers)


@pytest.mark.parametrize("record", records("repair"))
def test_as_many_repaired_prefixes_are_seeds_as_recorded(record: Record) -> None:
    repaired = [[*record["events"][:length], *closers] for length, closers in enumerate(record["closers"])]
    assert sum(map(_is_seed, repaired)) == record["seedablePrefixes"]


@pytest.mark.parametrize("record", records("repair"))
def test_events_give_the_closers_that_their_wire_forms_give(record: Record) -> None:
    for length, closers in enumerate(record["closers"]):
        if _is_seed(record["events"][:length]):
            session = Session("repair", seed=record["events"][:length], clock=Clock(0))
            assert_equal(interrupted_turn_closers(session.events), closers)


def _is_seed(events: list[Any]) -> bool:
    try:
        Session("repair", seed=events, clock=Clock(0))
    except SessionError:
        return False
    return True
