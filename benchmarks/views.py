"""The rows about looking back and about views; `benchmarks.rows` says how a row is written.

pandas and what draws are imported before the stopwatch starts: a program pays for that once.
"""

from functools import cache
from typing import NamedTuple

from benchmarks.inputs import Operation, conversation
from benchmarks.measure import Inputs, Stopwatch
from benchmarks.rows import TABLE, _require, filled
from dsh_session import Replace, Session, SurfaceHistory
from dsh_session.views import diagrams, frames
from dsh_session.views.page import page

__all__ = ["TABLE", "Compacted", "compacted", "travel"]

SUMMARY = {"content": [{"type": "text", "text": "in short"}], "source": {"kind": "user"}}
BETWEEN = 7
"""After so many turns a long conversation is compacted: 21 messages have come since."""


class Compacted(NamedTuple):
    """A conversation whose history is kept at a thousand messages, by summaries of summaries.

    Attributes:
        operations: What to append: 13 events per turn, and a replacement after every seventh turn, once there are
            more than a thousand messages. Each replaces the one before it as well, so that they are nested as deep
            as there are many.
        moments: Seqs all over the log, from the first thousand messages on.
        surfaces: The surface after each of them, by a list that was cut and joined by hand.
    """

    operations: list[Operation]
    moments: list[int]
    surfaces: list[tuple[int, ...]]


def compacted(turns: int, *, keep: int = 1_000, moments: int = 200) -> Compacted:
    """Write a conversation that is compacted again and again, and what its surface was at some moments."""
    operations: list[Operation] = []
    nodes: list[int] = []
    surfaces: dict[int, tuple[int, ...]] = {}
    wanted = 13 * turns // moments
    replaced = 0
    for operation in conversation(turns):
        sources = operation.sources and [seq + replaced for seq in operation.sources]
        if operation.surface_op is not None:
            nodes.append(len(operations))
        operations.append(operation._replace(sources=sources))
        if len(nodes) >= keep and len(operations) % wanted == 0:
            surfaces[len(operations) - 1] = tuple(nodes)
        turn = operation.data["turn"] if operation.type == "turn/end" else 1
        if turn % BETWEEN == 0 and len(nodes) > keep:
            shadowed = nodes[: len(nodes) - keep + 1]
            nodes[: len(shadowed)] = [len(operations)]
            operations.append(Operation("user/message", SUMMARY, Replace(shadowed[0], shadowed[-1]), shadowed))
            replaced += 1
    return Compacted(operations, list(surfaces), list(surfaces.values()))


def travel(session: Session, made: Compacted) -> float:
    """Seconds per call of `at`, over all the moments of a compacted conversation, after the one pass."""
    history, watch = SurfaceHistory(session), Stopwatch()
    history.at(0)
    for moment, surface in zip(made.moments, made.surfaces, strict=True):
        with watch:
            nodes = history.at(moment)
        _require(nodes == surface)
    return watch.seconds / len(made.moments)


@TABLE.row(
    "t",
    "the surface at any seq of 100,035 events: 1,000 nodes, 1,040 replacements, all nested",
    bound=1.0,
    unit="ms",
)
def at(given: Inputs) -> float:  # noqa: ARG001 - its log is a different one
    """Ask for the surface at moments all over a long log."""
    return travel(*_compacted())


@TABLE.row("p", "the frame of 99,996 events, pandas imported already", bound=0.8)
def frame(given: Inputs) -> float:
    """Tabulate what was appended."""
    session = filled(given.conversation)
    with Stopwatch() as watch:
        table = frames.events(session)
    _require(len(table) == session.seq and int(table["on_surface"].sum()) == len(session.surface))
    return watch.seconds


@TABLE.row("v", "the surface diagram of 99,996 events, 23,076 nodes, in a window, drawn", bound=2.0, unit="s")
def diagram(given: Inputs) -> float:
    """Draw the surface of what was appended."""
    session = filled(given.conversation)
    with Stopwatch() as watch:
        svg = diagrams.surface(session).svg
    _require(f">{session.surface.head}<" in svg and f">{session.surface.tail}<" in svg)
    return watch.seconds


@TABLE.row("v'", "the page of the same session, that diagram included", bound=2.0, unit="s")
def report(given: Inputs) -> float:
    """Write the page about what was appended."""
    session = filled(given.conversation)
    with Stopwatch() as watch:
        html = page(session)
    _require(html.rstrip().endswith("</html>") and "<svg" in html)
    return watch.seconds


@cache
def _compacted() -> tuple[Session, Compacted]:
    made = compacted(7_615)
    return filled(made.operations), made
