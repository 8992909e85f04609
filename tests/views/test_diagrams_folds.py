from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session
from dsh_session.views.diagrams.folds import Folds, fold

SAID = {"content": [], "source": {"kind": "user"}}


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    session = Session("random", clock=lambda: 0)
    for _ in range(draw(st.integers(0, 30))):
        nodes = list(session.surface.nodes)
        if nodes and draw(st.booleans()):
            start = draw(st.integers(0, len(nodes) - 1))
            range_ = nodes[start : draw(st.integers(start + 1, len(nodes)))]
            op = Replace(range_[0], range_[-1])
            session.append("user/message", SAID, surface_op=op, source_event_seqs=range_)  # type: ignore[arg-type]
        else:
            session.append("user/message", SAID, surface_op="append")  # type: ignore[arg-type]
    return session


def originals(folds: Folds, seq: int) -> list[int]:
    """Everything that a node stands for, by walking down."""
    behind = folds.shadowed.get(seq)
    return [seq] if behind is None else [first for inner in behind for first in originals(folds, inner)]


@given(sessions())
def test_opening_every_fold_gives_back_what_was_appended_in_order(session: Session) -> None:
    folds = fold(session.events)
    opened = [first for seq in folds.nodes for first in originals(folds, seq)]
    assert opened == [event.seq for event in session.events if event.surface_op == "append"]


@given(sessions())
def test_a_replacement_counts_what_it_stands_for(session: Session) -> None:
    folds = fold(session.events)
    assert folds.originals == {seq: len(originals(folds, seq)) for seq in folds.shadowed}
    assert list(folds.nodes) == list(session.surface.nodes)


@given(sessions())
def test_the_way_to_a_node_starts_on_the_surface_and_each_step_is_behind_the_one_before(session: Session) -> None:
    folds = fold(session.events)
    for event in session.events:
        way = folds.path(event.seq)
        assert way[0] in folds.nodes
        assert way[-1] == event.seq
        assert all(below in folds.shadowed[above] for above, below in pairwise(way))
