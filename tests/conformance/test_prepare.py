"""Session headers that a store makes from metadata."""

import pytest

from dsh_session import Context, SessionError

from .vectors import Clock, Record, assert_equal, records

PREPARED = [each for each in records("header") if any(case["via"] == "prepare" for case in each.values[0]["cases"])]


@pytest.mark.parametrize("record", PREPARED)
def test_a_prepared_session_has_the_recorded_header(record: Record) -> None:
    with Context(clock=Clock(record["clock"]), check_payloads=False) as ctx:
        for case, result in zip(record["cases"], record["results"], strict=True):
            if case["via"] != "prepare":
                continue
            arguments = {"meta": case["meta"]} if "meta" in case else {}
            try:
                session = ctx.sessions.prepare(case.get("id"), **arguments)
            except SessionError as error:
                assert not result["ok"], f"{case} was accepted, ours says {error.code}: {error}"
                assert error.code == result["error"]["code"]
            else:
                assert result["ok"], f"{case} was refused with {result['error']}"
                assert_equal(session.header.to_dict(), result["header"])
                assert session.id == result["id"]
        assert ctx.sessions.list() == []


def test_there_are_prepared_headers_on_record() -> None:
    assert PREPARED
