"""One compaction, from its start to its end."""

import asyncio
from typing import Any

import pytest

from dsh_session import Session
from dsh_session.compaction import Summary, TokenMeter, acompact_region, begin_compaction, compact_region
from dsh_session.core.event import SessionEvent
from dsh_session.core.lossless import snapshot_json_value

from .vectors import Clock, Record, StateReader, assert_equal, code_of, records, wire

FIELDS = {"id", "kind", "note", "clock", "events", "spec", "transcript", "result", "appended", "state"}
SPEC = {"start", "end", "summary", "summaryTokens", "tokens", "fail", "appendDuring", "maxTokens"}


class GivenTokens(TokenMeter):
    """Says of each node, and of the summary in its frame, what a script says."""

    def __init__(self, spec: Record) -> None:
        super().__init__(prefer_recorded=False)
        self._tokens = {int(seq): tokens for seq, tokens in spec["tokens"].items()}
        self._summary = spec["summaryTokens"]

    def estimate_event(self, event: SessionEvent) -> int:
        return int(self._tokens.get(event.seq, 10))

    def estimate_message(self, message: Any) -> int:
        assert message["content"]
        return int(self._summary)


class Planted(Exception):  # noqa: N818 (it is no error of ours)
    code = "SCRIPT_THROW"


class Script:
    """One script: its session, and a summariser that does what it says."""

    def __init__(self, record: Record) -> None:
        self.spec = record["spec"]
        self.session = Session("compact", seed=record["events"], clock=Clock(record["clock"]))
        self.meter = GivenTokens(self.spec)
        self.seen: str | None = None

    def summarise(self, transcript: str) -> Summary:
        assert self.seen is None
        self.seen = str(transcript)
        if self.spec.get("appendDuring"):
            self.session.append("todo/write", {"todos": []})
        if self.spec.get("fail"):
            raise Planted("the script says so")
        return Summary(self.spec["summary"], "mock", "m1", self.spec.get("maxTokens"))

    async def summarise_later(self, transcript: str) -> Summary:
        await asyncio.sleep(0)
        return self.summarise(transcript)

    def by_function(self) -> Any:
        spec = self.spec
        return compact_region(self.session, spec["start"], spec["end"], self.summarise, meter=self.meter)

    def by_coroutine(self) -> Any:
        spec = self.spec
        return asyncio.run(
            acompact_region(self.session, spec["start"], spec["end"], self.summarise_later, meter=self.meter)
        )

    def by_hand(self) -> Any:
        spec = self.spec
        with begin_compaction(self.session, spec["start"], spec["end"], meter=self.meter) as bracket:
            told = self.summarise(bracket.transcript)
            return bracket.commit(
                told.content, provider=told.provider, model=told.model, max_tokens=spec.get("maxTokens")
            )


@pytest.mark.parametrize("way", ["by_function", "by_coroutine", "by_hand"])
@pytest.mark.parametrize("record", records("compact"))
def test_a_compaction_leaves_what_was_recorded(record: Record, way: str) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    assert record["spec"].keys() <= SPEC
    script = Script(record)
    result = record["result"]
    try:
        made = getattr(script, way)()
    except Exception as error:  # noqa: BLE001 (the script's own, or one of ours)
        code = error.code if isinstance(error, Planted) else code_of(error)
        assert not result["ok"], f"it was accepted, ours says {error}"
        assert code == result["error"]["code"]
    else:
        assert result["ok"], f"it was refused with {result['error']}"
        start, end = made.shadowed_range
        ours = {
            "startSeq": made.start_seq,
            "summarySeq": made.summary_seq,
            "endSeq": made.end_seq,
            "summary": made.summary,
            "shadowedRange": {"start": start, "end": end},
            "shadowedSeqs": list(made.shadowed_seqs),
            "shadowedTokenCount": made.shadowed_token_count,
        }
        assert_equal(snapshot_json_value(ours), result["value"])
    assert script.seen == record["transcript"]
    assert_equal(wire(script.session.events[len(record["events"]) :]), record["appended"])
    StateReader(record["state"]).assert_shown_by(script.session)
