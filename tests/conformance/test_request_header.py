"""The fold of request headers, and their canonical form."""

import pytest

from dsh_session import Session, canonical_header, fold_request_header

from .vectors import Clock, Record, assert_equal, passes_null, records

FIELDS = {"id", "kind", "note", "cases", "canonical"}


@pytest.mark.parametrize("record", records("request-header"))
def test_headers_fold_as_recorded(record: Record) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    for case in record.get("cases", []):
        assert not passes_null(case, "from")
        initial = case.get("from")
        folded = fold_request_header(case["events"], initial)
        assert_equal(folded, case["folded"])
        if initial is not None and not any(event["type"] == "request/header" for event in case["events"]):
            assert folded is initial


@pytest.mark.parametrize("record", records("request-header"))
def test_a_session_made_from_the_events_shows_the_same_header(record: Record) -> None:
    for case in record.get("cases", []):
        if "from" not in case:
            assert_equal(Session("s", seed=case["events"], clock=Clock(0)).request_header(), case["folded"])


@pytest.mark.parametrize("record", records("request-header"))
def test_the_canonical_form_is_the_recorded_one(record: Record) -> None:
    for case in record.get("canonical", []):
        assert_equal(canonical_header(case["header"]), case["canonical"])
        assert_equal(canonical_header(case["canonical"]), case["canonical"])
