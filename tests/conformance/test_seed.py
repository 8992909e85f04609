"""Seeds: what is accepted, what is refused, and at which event."""

import pytest

from dsh_session import Session, SessionError

from .vectors import Clock, Record, StateReader, assert_equal, build, given, passes_null, records, wire


@pytest.mark.parametrize("check_payloads", [True, False])
@pytest.mark.parametrize("record", records("seed"))
def test_a_seed_is_taken_or_refused_as_recorded(record: Record, check_payloads: bool) -> None:
    script, result = record["session"], record["result"]
    if passes_null(script, "header"):
        assert not result["ok"]
        return
    _, seed = given(script, "seed")
    try:
        session = build(script, Clock(record["clock"]), check_payloads=check_payloads)
    except SessionError as error:
        assert not result["ok"], f"the seed was accepted, ours says {error.code}: {error}"
        recorded = result["error"]
        if recorded["code"] == "HOST_TYPE_ERROR":  # the original trips over a null event
            assert error.code == "SEED_ENVELOPE"
            assert error.index == seed.index(None)
        else:
            assert error.code == recorded["code"]
            assert error.index == recorded.get("seedIndex")
    else:
        assert result["ok"], f"the seed was refused with {result['error']}"
        assert_equal(session.header.to_dict(), result["header"])
        StateReader(result["state"]).assert_shown_by(session)
        assert_equal(wire(session.events), seed or [])


@pytest.mark.parametrize("record", records("seed"))
def test_an_accepted_seed_is_accepted_again_as_events(record: Record) -> None:
    if not record["result"]["ok"]:
        return
    first = build(record["session"], Clock(record["clock"]))
    again = Session("again", seed=first.events, clock=Clock(0))
    StateReader(record["result"]["state"]).assert_shown_by(again)
    assert wire(again.events) == wire(first.events)
