from __future__ import annotations

import pytest

from dsh_session import Recorder, Session, SessionError, samples
from dsh_session.compaction import begin_compaction, tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.widgets.cuts import snap, why_not
from tests.compaction.sessions import call, close_turn, open_turn, say, session, talked, text


def test_a_balanced_range_stays_as_it_is() -> None:
    assert snap(talked(), 1, 8) == (1, 8, (1, 3, 5, 8), ())


def test_the_ends_may_be_given_in_either_order() -> None:
    assert snap(talked(), 8, 1)[:2] == (1, 8)


@pytest.mark.parametrize(
    ("start", "end", "snapped", "reason"),
    [
        (5, 8, (3, 8), "The first node moved from 5 to 3: a call of 3 is answered by 5, and the two go together."),
        (1, 3, (1, 5), "The last node moved from 3 to 5: a call of 3 is answered by 5, and the two go together."),
        (5, 5, (3, 5), "The first node moved from 5 to 3: a call of 3 is answered by 5, and the two go together."),
    ],
)
def test_an_edge_that_splits_a_call_from_its_result_moves_outwards_and_says_why(
    start: int, end: int, snapped: tuple[int, int], reason: str
) -> None:
    found = snap(talked(), start, end)
    assert (found.start, found.end) == snapped
    assert found.reasons == (reason,)


def test_an_edge_without_a_result_to_take_in_moves_inwards() -> None:
    log = session()
    open_turn(log)
    first = say(log, "one").seq
    open_call = say(
        log, "", "assistant/message", turn=1, step=1, provenance={"provider": "p", "model": "m"}, content=[call("bash")]
    ).seq
    found = snap(log, first, open_call)
    assert (found.start, found.end) == (first, first)
    assert found.reasons == (f"The last node moved from {open_call} to {first}: a tool call there has no result yet.",)
    with pytest.raises(SessionError, match="REGION_UNBALANCED"):
        snap(log, open_call, open_call)


def test_nodes_that_are_not_on_the_surface_are_refused() -> None:
    with pytest.raises(SessionError, match="REGION_NOT_FOUND: 2 is not on the surface"):
        snap(talked(), 1, 2)


def test_a_result_without_a_call_lets_nothing_be_cut() -> None:
    log = session(check_payloads=False)
    open_turn(log)
    log.append("tool/result", {"callId": "c", "content": [text("?")]}, surface_op="append")
    with pytest.raises(SessionError, match="PAIRING_ORPHAN_RESULT"):
        snap(log, 1, 1)


def test_whatever_is_chosen_in_a_recorded_session_a_bracket_takes_what_it_snaps_to() -> None:
    recorded = samples.load("pi-compacted-twice")
    log = Session("s", seed=recorded.events, clock=lambda: 0)
    open_turn(log)
    nodes = log.surface.nodes
    for at in range(0, len(nodes) - 9, 7):
        found = snap(log, nodes[at], nodes[at + 8])
        assert tool_pairing_balanced_before(log, found.start)
        assert tool_pairing_balanced_after(log, found.end)
        assert {nodes[at], nodes[at + 8]} <= set(found.nodes)
        with begin_compaction(log, found.start, found.end):
            pass


def test_what_forbids_a_compaction_is_known_before() -> None:
    log = talked(1)
    assert why_not(log) is None
    bracket = begin_compaction(log, 1, 1)
    with bracket:
        refusal = why_not(log)
        assert refusal is not None
        assert refusal.code == "COMPACTION_IN_PROGRESS"
    close_turn(log)
    refusal = why_not(log)
    assert refusal is not None
    assert refusal.code == "COMPACTION_NO_TURN"
    with Recorder(log).turn("Go on."):
        assert why_not(log) is None
