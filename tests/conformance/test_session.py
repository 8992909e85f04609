"""Bare sessions: appends, valid and invalid, with the state after each."""

from typing import Any

import pytest

from dsh_session import Session, SessionError, fold_surface, loads

from .vectors import Clock, Record, StateReader, assert_equal, build, code_of, given, passes_null, records, wire

BEFORE_THE_CLOCK = {"NOT_JSON", "LEGACY_HEADER", "NOT_JSON_METADATA"}
OURS_WITH_CHECKS = {"PAYLOAD_INVALID", "MISSING_ROUTE"}


class Replay:
    """One script, replayed as far as this package follows it."""

    def __init__(self, record: Record, *, check_payloads: bool) -> None:
        self.record = record
        self.clock = Clock(record["clock"])
        self.session = build(record["session"], self.clock, check_payloads=check_payloads)
        self.recorded = StateReader(record["start"])
        self.finished = False

    def run(self, *, may_stop_with: frozenset[str] | set[str] = frozenset(), read_state: bool = True) -> None:
        """Apply the operations; leave off where a difference on purpose makes the rest another script."""
        if read_state:
            self.recorded.assert_shown_by(self.session)
        for op, result in zip(self.record["ops"], self.record["results"], strict=True):
            if op["op"] == "clock":
                self.clock.now = op["now"]
                continue
            if not self._append(op, result, may_stop_with):
                self.recorded.assert_shown_by(self.session)
                return
            if result["ok"]:
                self.recorded.advance(result["state"])
            if read_state:
                self.recorded.assert_shown_by(self.session)
        self.recorded.assert_shown_by(self.session)
        self.finished = True

    def _append(self, op: Record, result: Record, may_stop_with: frozenset[str] | set[str]) -> bool:
        """Append as the script does and compare; False when the script ends here for us."""
        assert op["op"] == "append"
        _, data = given(op, "data")
        options = given(op, "opts")[1] or {}
        if passes_null(options, "surfaceOp", "sourceEventSeqs"):
            assert not result["ok"]  # leaving it out changes nothing
            return True
        keywords = {
            ours: options[theirs]
            for ours, theirs in (("surface_op", "surfaceOp"), ("source_event_seqs", "sourceEventSeqs"))
            if theirs in options
        }
        try:
            event = self.session.append(op["type"], data, **keywords)
        except SessionError as error:
            if self.clock.refused and result.get("error", {}).get("code") not in BEFORE_THE_CLOCK:
                assert error.code == "BAD_CLOCK"
                return False
            if result["ok"] and error.code in may_stop_with:
                return False
            assert not result["ok"], f"{op} was accepted, ours says {error.code}: {error}"
            assert error.code == result["error"]["code"]
        else:
            assert result["ok"], f"{op} was refused with {result['error']}"
            assert_equal(event.to_dict(), result["event"])
            assert event is self.session.events[-1]
        return True


@pytest.mark.parametrize("record", records("session"))
def test_every_outcome_and_every_state_is_the_recorded_one(record: Record) -> None:
    replay = Replay(record, check_payloads=False)
    replay.run()
    _assert_final(replay)


@pytest.mark.parametrize("record", records("session"))
def test_the_end_is_the_same_when_nobody_looks_before_it(record: Record) -> None:
    replay = Replay(record, check_payloads=False)
    replay.run(read_state=False)
    _assert_final(replay)


@pytest.mark.parametrize("record", records("session"))
def test_with_payload_checks_only_a_payload_or_a_route_is_refused_besides(record: Record) -> None:
    replay = Replay(record, check_payloads=True)
    replay.run(may_stop_with=OURS_WITH_CHECKS)
    if replay.finished:
        _assert_final(replay)


def _assert_final(replay: Replay) -> None:
    session, final = replay.session, replay.record["final"]
    if not replay.finished:
        return
    for events in (session.events, wire(session.events)):
        fold = fold_surface(events)
        assert_equal(list(fold.nodes), final["fold"]["nodes"])
        assert_equal(
            [
                {"seq": r.seq, "start": r.start, "end": r.end, "shadowedSeqs": list(r.shadowed_seqs)}
                for r in fold.replacements
            ],
            final["fold"]["replacements"],
        )
    for seed in (session.events, wire(session.events)):
        _assert_replay(session, seed, final["replay"])
    if final["replay"]["ok"]:
        assert loads(session.to_jsonl()).derive_messages() == session.derive_messages()


def _assert_replay(session: Session, seed: Any, recorded: Record) -> None:
    try:
        again = Session("replay", seed=seed, clock=Clock(0))
    except SessionError as error:
        assert not recorded["ok"], f"the log is an acceptable seed, ours says {error}"
        assert code_of(error) == recorded["error"]["code"]
        assert error.index == recorded["error"].get("seedIndex")
    else:
        assert recorded["ok"], f"the log is no acceptable seed: {recorded['error']}"
        assert again.derive_messages() == session.derive_messages()
        assert again.request_header() == session.request_header()
        assert list(again.surface.nodes) == list(session.surface.nodes)
        assert wire(again.events) == wire(session.events)
