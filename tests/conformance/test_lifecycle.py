"""The life of a session in a store: who hears of it, in which order, and what a failing listener breaks."""

import pytest

from .stage import assert_replayed_in_a_loop, assert_replayed_without_a_loop, needs_a_loop
from .vectors import Record, records


@pytest.mark.parametrize("record", records("lifecycle"))
def test_every_step_of_a_life_is_the_recorded_one(record: Record) -> None:
    assert_replayed_in_a_loop(record)


@pytest.mark.parametrize("record", [each for each in records("lifecycle") if not needs_a_loop(each.values[0])])
def test_every_step_of_a_life_is_the_same_where_no_loop_runs(record: Record) -> None:
    assert_replayed_without_a_loop(record)
