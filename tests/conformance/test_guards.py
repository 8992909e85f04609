"""Which types can stand on the surface, and which events do."""

import pytest

from dsh_session import is_surface_eligible_type, is_surface_event

from .vectors import Record, records


@pytest.mark.parametrize("record", records("guards"))
def test_eligibility_by_type_is_as_recorded(record: Record) -> None:
    for case in record["types"]:
        assert is_surface_eligible_type(case["type"]) is case["eligible"], case


@pytest.mark.parametrize("record", records("guards"))
def test_a_surface_event_is_known_by_its_marker(record: Record) -> None:
    for case in record["events"]:
        assert is_surface_event(case["event"]) is case["surface"], case
