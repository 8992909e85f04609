"""Session headers given to the constructor. (Those that a store prepares belong to the store's module.)"""

import pytest

from dsh_session import Session, SessionError

from .vectors import Clock, Record, assert_equal, given, passes_null, records


@pytest.mark.parametrize("record", records("header"))
def test_a_header_is_taken_or_refused_as_recorded(record: Record) -> None:
    for case, result in zip(record["cases"], record["results"], strict=True):
        if case["via"] != "constructor":
            assert case["via"] == "prepare"
            continue
        if passes_null(case, "header"):
            assert not result["ok"]
            continue
        present, header = given(case, "header")
        arguments = {"header": header} if present else {}
        try:
            session = Session(case["id"], **arguments, clock=Clock(record["clock"]))
        except SessionError as error:
            assert not result["ok"], f"{case} was accepted, ours says {error.code}: {error}"
            assert error.code == result["error"]["code"]
        else:
            assert result["ok"], f"{case} was refused with {result['error']}"
            assert_equal(session.header.to_dict(), result["header"])
            assert session.id == result["id"]
