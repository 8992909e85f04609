"""What the basic policy compacts, for given sizes of nodes."""

import pytest

from dsh_session import Session, SessionError
from dsh_session.compaction import Basic, Compact, Leave, TokenMeter
from dsh_session.core.event import SessionEvent

from .vectors import Clock, Record, code_of, records

FIELDS = {"id", "kind", "note", "events", "nodes", "tokens", "cases"}


class GivenTokens(TokenMeter):
    """Says of each node what a record says."""

    def __init__(self, tokens: dict[int, int]) -> None:
        super().__init__(prefer_recorded=False)
        self._tokens = tokens

    def estimate_event(self, event: SessionEvent) -> int:
        return self._tokens.get(event.seq, 0)


@pytest.mark.parametrize("record", records("region"))
def test_the_range_before_every_retained_tail_is_the_recorded_one(record: Record) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    session = Session("region", seed=record["events"], clock=Clock(0))
    assert list(session.surface.nodes) == record["nodes"]
    meter = GivenTokens(dict(zip(record["nodes"], record["tokens"], strict=True)))
    for case in record["cases"]:
        # A window that is over its threshold whatever is retained.
        policy = Basic(context_window=10**6, threshold_ratio=0.5, retain_tokens=case["retain"])
        measured = meter.measure(session)._replace(total=10**6)
        try:
            decision = policy.plan(measured)
        except SessionError as error:
            assert not case["ok"], f"retain {case['retain']} gave {case.get('range')}, ours says {error}"
            assert code_of(error) == case["error"]["code"]
            continue
        assert case["ok"], f"retain {case['retain']} was refused with {case['error']}"
        if case["range"] is None:
            assert isinstance(decision, Leave)
            assert not decision.is_satisfied
        else:
            assert isinstance(decision, Compact)
            assert {"start": decision.start, "end": decision.end} == case["range"]
