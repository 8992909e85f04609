"""What a step is: the laws it keeps on any log."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Session, SurfaceHistory, fold_surface
from dsh_session.widgets.moments import Moments
from tests.browser.stepped import short
from tests.views.logs import sessions


@settings(max_examples=40)
@given(sessions(), st.randoms(use_true_random=False))
def test_a_step_is_what_the_fold_says_in_whatever_order_moments_are_looked_at(
    session: Session, order: random.Random
) -> None:
    moments = Moments(session)
    walk = [*range(-1, session.seq), *reversed(range(-1, session.seq))]
    jumps = [order.randrange(-1, session.seq) for _ in range(10)] if session.seq else [-1]
    for moment in (*walk, *jumps):
        step = moments.step(moment)
        fold = fold_surface(session.events[: moment + 1])
        before = fold_surface(session.events[: max(moment, 0)])
        assert list(step.nodes) == fold.nodes
        assert step.before == len(before.nodes)
        assert [step.before_at(at) for at in range(step.before)] == before.nodes
        entered = set(fold.nodes) - set(before.nodes)
        assert entered == ({step.nodes[step.at]} if step.at >= 0 else set())
        assert set(step.shadowed) == set(before.nodes) - set(fold.nodes)
        assert ("log-only" in moments.sentence(moment)) == (moment >= 0 and not entered)
        assert "\n" not in moments.sentence(moment)


@settings(max_examples=40)
@given(sessions())
def test_positions_are_found_for_nodes_on_the_surface_and_for_no_others(session: Session) -> None:
    moments = Moments(session)
    for moment in range(-1, session.seq):
        step = moments.step(moment)
        for seq in range(session.seq):
            found = step.positions(seq, seq, moments.rank) if moments.is_node(seq) else None
            there = list(step.nodes).index(seq) if seq in step.nodes else None
            assert found == (None if there is None else (there, there))


def test_a_sentence_says_what_happened_to_the_surface() -> None:
    moments = Moments(short())
    assert moments.sentence(-1) == "before the first event: the surface is empty"
    assert moments.sentence(0) == "turn, log-only: the surface keeps its 0 nodes"
    assert moments.sentence(1) == "user enters at the tail: the surface grows from 0 nodes to 1"
    assert moments.sentence(12) == ("summary takes the place of 3 nodes (1 … 7): the surface shrinks from 4 nodes to 2")
    session = short()
    data = {"content": [], "source": {"kind": "user"}}
    session.append("user/message", data, surface_op={"op": "replace", "start": 9, "end": 9}, source_event_seqs=[9])
    assert Moments(session).sentence(16) == "summary takes the place of node 9: the surface keeps its 4 nodes"


def test_a_live_log_is_taken_in_when_asked() -> None:
    session = short()
    moments = Moments(session)
    assert moments.step(15).nodes == (12, 9, 13, 14)
    assert not moments.take_in()
    session.append("user/message", {"content": [], "source": {"kind": "user"}}, surface_op="append")
    assert moments.length == 16
    assert moments.take_in()
    assert (moments.length, moments.step(16).nodes) == (17, (12, 9, 13, 14, 16))
    assert moments.left(1) == 12
    assert moments.left(12) is None
    assert tuple(moments.behind(12)) == (1, 5, 7)


def test_wire_forms_are_made_into_events_when_they_are_looked_at() -> None:
    session = short()
    moments = Moments(SurfaceHistory([event.to_dict() for event in session.events]))
    assert moments.name == "session"
    assert [moments.event(seq) for seq in range(16)] == list(session.events)
    assert moments.type_of(0) == "turn/start"
