"""A session as it would be had nobody compacted it."""

from pathlib import Path

import pytest

from dsh_session import Session, load
from dsh_session.compaction import begin_compaction, without_compactions
from dsh_session.core.invariants import check_invariants

from .sessions import Weights, close_turn, say, talked

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_everything_that_was_said_is_on_the_surface_in_its_order(path: Path) -> None:
    log = load(path)
    whole = without_compactions(log)
    appended = [event for event in log.events if event.surface_op == "append"]
    assert [whole.events[seq].data for seq in whole.surface.nodes] == [event.data for event in appended]
    assert whole.surface.replace_generation == 0
    assert not any(event.type.startswith("compact/") for event in whole.events)
    kept = [
        event
        for event in log.events
        if not event.type.startswith("compact/") and not isinstance(event.surface_op, dict)
    ]
    assert [(event.type, event.time, event.data) for event in whole.events] == [
        (event.type, event.time, event.data) for event in kept
    ]
    assert len(check_invariants(whole.events)) == len(check_invariants(log.events))
    assert (whole.id, whole.header.created_at) == (log.id, log.header.created_at)


def test_a_log_without_compactions_stays_as_it_is() -> None:
    log = talked(2)
    assert list(without_compactions(log).events) == list(log.events)


def test_citations_follow_and_those_of_what_is_gone_are_left_out() -> None:
    log = talked(2)
    with begin_compaction(log, 1, 8, meter=Weights()) as bracket:
        result = bracket.commit("said")
    cited = [[result.replacement_seq], [result.replacement_seq, 12], []]
    for sources in cited:
        data = {"turn": 3, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}}
        log.append("assistant/message", data, surface_op="append", source_event_seqs=sources)  # type: ignore[arg-type]
    say(log, "after")
    close_turn(log)
    whole = without_compactions(log)
    assert [event.source_event_seqs for event in list(whole.events)[-5:-2]] == [None, [12], []]
    again = Session("again", seed=whole.events, clock=lambda: 0)
    assert again.derive_messages() == whole.derive_messages()
