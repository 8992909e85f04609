"""Sessions of a store that the invariants plugin guards."""

from typing import Any

import pytest

from dsh_session import Context, InvariantError, Session, SessionError, check_invariants, invariants

from .vectors import Clock, Record, given, passes_null, records

FIELDS = {"id", "kind", "note", "clock", "ops", "results", "length"}


def outcomes(record: Record, session: Session, clock: Clock) -> list[Record]:
    """Replay a script and give what came of each append."""
    found = []
    for op in record["ops"]:
        if op["op"] == "clock":
            clock.now = op["now"]
            found.append({"ok": True})
            continue
        assert op["op"] == "append"
        options = given(op, "opts")[1] or {}
        assert not passes_null(options, "surfaceOp", "sourceEventSeqs")
        names = (("surface_op", "surfaceOp"), ("source_event_seqs", "sourceEventSeqs"))
        keywords = {ours: options[theirs] for ours, theirs in names if theirs in options}
        before = session.to_jsonl()
        try:
            session.append(op["type"], given(op, "data")[1], **keywords)
        except SessionError as error:
            typed = {"typed": True} if isinstance(error, InvariantError) else {}
            found.append({"ok": False, "error": {"code": error.code, **typed}})
            assert session.to_jsonl() == before
        else:
            found.append({"ok": True})
    return found


@pytest.mark.parametrize("verify_history", [False, True])
@pytest.mark.parametrize("record", records("invariants"))
def test_a_guarded_session_refuses_what_was_refused(record: Record, verify_history: bool) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    clock = Clock(record.get("clock", 0))
    with Context(clock=clock, check_payloads=False) as ctx:
        ctx.plugin(invariants(verify_history=verify_history))
        session = ctx.sessions.create("guarded")
        assert outcomes(record, session, clock) == record["results"]
        assert session.seq == record["length"]
        assert check_invariants(session.events, verify_history=verify_history) == []


@pytest.mark.parametrize("record", records("invariants"))
def test_a_log_that_nobody_guarded_shows_the_same_faults_and_no_others(record: Record) -> None:
    unguarded = [
        (op, result)
        for op, result in zip(record["ops"], record["results"], strict=True)
        if op["op"] == "append" and (result["ok"] or result["error"]["code"] == "INVARIANT")
    ]
    log: list[Any] = []
    for seq, (op, _) in enumerate(unguarded):
        marks = {"surfaceOp": "append"} if "opts" in op else {}
        log.append({"type": op["type"], "seq": seq, "time": 0, "data": given(op, "data")[1], **marks})
    refused = [seq for seq, (_, result) in enumerate(unguarded) if not result["ok"]]
    assert sorted({violation.seq for violation in check_invariants(log)}) == refused
