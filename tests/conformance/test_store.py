"""Stores: creation, look-up, forks, boundaries."""

import pytest

from .stage import assert_replayed_in_a_loop, assert_replayed_without_a_loop
from .vectors import Record, records


@pytest.mark.parametrize("record", records("store"))
def test_every_outcome_in_a_store_is_the_recorded_one(record: Record) -> None:
    assert_replayed_in_a_loop(record)


@pytest.mark.parametrize("record", records("store"))
def test_every_outcome_in_a_store_is_the_same_where_no_loop_runs(record: Record) -> None:
    assert_replayed_without_a_loop(record)
