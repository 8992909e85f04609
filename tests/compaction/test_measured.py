"""What a policy may ask a measured surface."""

from dsh_session import Session, samples
from dsh_session.compaction import TokenMeter, begin_compaction
from dsh_session.core.history import SurfaceHistory

from .sessions import Weights, talked


def compact(log: Session, start: int, stop: int) -> int:
    nodes = list(log.surface.nodes)
    with begin_compaction(log, nodes[start], nodes[stop], meter=Weights()) as bracket:
        return bracket.commit("in short").replacement_seq


def test_the_tail_is_cut_where_no_call_is_open() -> None:
    surface = Weights([10] * 8).measure(talked(2))
    # Prompt, call, result, answer; twice.
    assert [surface.tail_cut(retain) for retain in (0, 10, 11, 20, 21, 30, 31, 41, 70, 71, 80, 1000)] == [
        7, 7, 5, 5, 5, 5, 4, 3, 1, 0, 0, 0,
    ]  # fmt: skip


def test_a_cut_does_not_go_before_the_position_that_it_is_given() -> None:
    surface = Weights([10] * 8).measure(talked(2))
    assert [surface.tail_cut(1000, first=first) for first in (0, 3, 7, 8)] == [0, 3, 7, 8]
    assert surface.tail_cut(10, first=3) == 7


def test_an_empty_surface_has_nothing_to_cut() -> None:
    assert TokenMeter().measure(Session("s")).tail_cut(10) == 0


def test_levels_count_summaries_of_summaries() -> None:
    log = talked(4)
    first = compact(log, 0, 3)
    second = compact(log, 1, 4)
    both = compact(log, 0, 1)
    again = compact(log, 0, 1)
    surface = Weights().measure(log)
    assert [surface.level(seq) for seq in (1, first, second, both, again)] == [0, 1, 1, 2, 3]
    assert [surface.originals(seq) for seq in (1, first, second, both, again)] == [1, 4, 4, 8, 9]


def test_what_a_node_stands_for_agrees_with_the_history_of_the_surface() -> None:
    log = samples.load("pi-compacted-twice")
    history, surface = SurfaceHistory(log), TokenMeter().measure(log)
    for replacement in history.replacements:
        assert surface.originals(replacement.seq) == len(history.originals(replacement.seq))
        assert surface.level(replacement.seq) == history.depth(replacement.seq)


def test_a_surface_tells_its_nodes_events_and_edges() -> None:
    log = talked(1)
    surface = TokenMeter().measure(log)
    assert [surface.event(seq).seq for seq in surface.nodes] == list(log.surface.nodes)
    assert [surface.balanced_before(seq) for seq in surface.nodes] == [True, True, False, True]
    assert [surface.balanced_after(seq) for seq in surface.nodes] == [True, False, True, True]
    assert surface.estimate([{"type": "text", "text": "four"}]) == 5
