"""Where a surface may be cut."""

from typing import Any

import pytest

from dsh_session import Session, SessionError
from dsh_session.compaction import tool_pairing_balanced_after, tool_pairing_balanced_before

from .vectors import Clock, Record, code_of, records

FIELDS = {"id", "kind", "note", "events", "nodes", "balance", "unknownSeq", "unknown"}
QUESTIONS = (tool_pairing_balanced_before, tool_pairing_balanced_after)


def answers(session: Session, seq: Any) -> list[Any]:
    """Ask both questions about a seq; an error's answer is the code it has."""
    found: list[Any] = []
    for question in QUESTIONS:
        try:
            found.append(question(session, seq))
        except SessionError as error:
            found.append({"code": code_of(error)})
    return found


def recorded(pair: Any) -> list[Any]:
    """Give what was recorded for a node: a pair of answers, or the error that both questions gave."""
    if isinstance(pair, list):
        return [answer.get("error", answer) if isinstance(answer, dict) else answer for answer in pair]
    return [pair.get("error", pair)] * 2


@pytest.mark.parametrize("record", records("pairing"))
def test_every_cut_is_as_balanced_as_recorded(record: Record) -> None:
    assert record.keys() <= FIELDS  # a field that nobody reads would go untested
    session = Session("pairing", seed=record["events"], clock=Clock(0))
    assert list(session.surface.nodes) == record["nodes"]
    assert [answers(session, seq) for seq in record["nodes"]] == [recorded(pair) for pair in record["balance"]]
    assert answers(session, record["unknownSeq"]) == record["unknown"]


@pytest.mark.parametrize("record", records("pairing"))
def test_following_a_log_event_by_event_gives_the_same_answers(record: Record) -> None:
    events = record["events"]
    followed = Session("pairing", clock=Clock(0), check_payloads=False)
    for length, event in enumerate(events):
        followed.append(
            event["type"],
            event["data"],
            surface_op=event.get("surfaceOp"),
            source_event_seqs=event.get("sourceEventSeqs"),
        )
        anew = Session("pairing", seed=events[: length + 1], clock=Clock(0))
        for seq in anew.surface.nodes:
            assert answers(followed, seq) == answers(anew, seq)
