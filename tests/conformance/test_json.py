"""Lossless JSON: which texts hold a value that is kept as it is."""

import pytest

from dsh_session import Session, SessionError, is_json_value, snapshot_json_value

from .vectors import Clock, Record, assert_equal, parse, records

FIELDS = {"text", "lossless", "canonical"}


@pytest.mark.parametrize("record", records("json"))
def test_a_value_is_lossless_as_recorded(record: Record) -> None:
    for case in record["cases"]:
        assert case.keys() <= FIELDS  # a field that nobody reads would go untested
        assert is_json_value(parse(case["text"])) is case["lossless"], case


@pytest.mark.parametrize("record", records("json"))
def test_a_snapshot_is_the_canonical_value(record: Record) -> None:
    for case in record["cases"]:
        value = parse(case["text"])
        if case["lossless"]:
            assert_equal(snapshot_json_value(value), parse(case["canonical"]))
        else:
            with pytest.raises(SessionError) as caught:
                snapshot_json_value(value)
            assert caught.value.code == "NOT_JSON"


@pytest.mark.parametrize("record", records("json"))
def test_an_append_takes_what_is_lossless_and_nothing_else(record: Record) -> None:
    for case in record["cases"]:
        session = Session("json", clock=Clock(0))
        if case["lossless"]:
            event = session.append("plugin/value", parse(case["text"]))
            assert_equal(event.data, parse(case["canonical"]))
        else:
            with pytest.raises(SessionError) as caught:
                session.append("plugin/value", parse(case["text"]))
            assert caught.value.code == "NOT_JSON"
            assert session.seq == 0
