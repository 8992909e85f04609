"""The log that looking back is measured on is what it says."""

from benchmarks.rows import filled
from benchmarks.views import compacted, travel
from dsh_session import SurfaceHistory, fold_surface


def test_a_compacted_conversation_has_the_surfaces_that_it_says() -> None:
    made = compacted(70, keep=60, moments=100)
    events = filled(made.operations).events
    assert len(made.moments) > 50
    for moment, surface in zip(made.moments, made.surfaces, strict=True):
        assert tuple(fold_surface(events[: moment + 1]).nodes) == surface


def test_its_summaries_are_nested_as_deep_as_there_are_many() -> None:
    session = filled(compacted(70, keep=60).operations)
    history = SurfaceHistory(session)
    assert history.depth(session.surface.nodes[0]) == len(history.replacements) == 8


def test_looking_back_is_checked_while_it_is_measured() -> None:
    made = compacted(70, keep=60, moments=100)
    assert travel(filled(made.operations), made) > 0.0
