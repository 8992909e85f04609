"""Messages as plain text."""

import pytest

from dsh_session import Session
from dsh_session.compaction import render_transcript

from .vectors import Clock, Record, records

FIELDS = {"id", "kind", "note", "events", "seqs", "text"}


@pytest.mark.parametrize("record", records("transcript"))
def test_the_transcript_is_the_recorded_one(record: Record) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    session = Session("transcript", seed=record["events"], clock=Clock(0))
    for source in (session, session.events, record["events"]):
        assert render_transcript(source, record["seqs"]) == record["text"]
