"""The chart of lifetimes: when each node of the surface came, and what took it away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.collections import PolyCollection
from matplotlib.ticker import MaxNLocator

from dsh_session.views.charts.chart import drawn_on
from dsh_session.views.charts.parts import MARKED, Mark, finish, mark, say, unmarked
from dsh_session.views.charts.style import FILLS, LINE
from dsh_session.views.describe import kind
from dsh_session.views.frames.log import log_of
from dsh_session.views.palette import LIGHT, Theme, ThemeName, theme_of
from dsh_session.views.payload import counted
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dsh_session.views.frames.log import Log, Logged

__all__ = ["lifetimes"]

_LANES: Final = ("summary", "user", "context", "steering", "assistant", "tool result")
# A lane with more nodes than this is drawn as areas; bars would be thinner than their outlines.
_BARS: Final = 40
# The edge of an area has so many corners at the most; more are finer than a pixel.
_CORNERS: Final = 400
# A lane of more shapes than this shows one node of several; the rest would be thinner than a pixel.
_SHAPES: Final = 1_000
_GAP: Final = 0.35
_INCHES: Final = 0.62  # of a chart, for each unit of its lanes

_Point = tuple[float, float]


class _Life(NamedTuple):
    """From the seq at which a node entered to the one that shadowed it, or to the end of the log."""

    entered: int
    left: int
    stays: bool


def lifetimes(
    session: Logged,
    *,
    window: tuple[int, int] | None = None,
    marks: int | None = MARKED,
    ax: Axes | None = None,
    theme: Theme | ThemeName = LIGHT,
) -> Figure:
    """Draw a bar for each node of the surface, from its entry to the replacement that shadowed it.

    Each kind has its lane, nodes in it come in the order of their entry. In a lane of very many nodes, bars that end
    together grow into one area. One look shows what each compaction swallowed.

    Args:
        session: Any session, or a history of one.
        window: The events that are shown, from the first seq up to and without the second; all by default. Nodes
            that were on the surface meanwhile are shown, and replacements that happened then.
        marks: How many replacements a dashed line marks: the largest, and a note says so; all with `None`.
        ax: Axes to draw on; without them it is a chart of its own.
        theme: `light` or `dark`, or colours of your own.

    Returns:
        The figure: a `Chart`, or the one that `ax` stands in.

    Raises:
        ViewError: `VIEW_WINDOW` when the window is none, or the number of marks is negative; `VIEW_SEQ` when the
            log has no such events.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> lifetimes(session)
        <Chart: pi-compacted-twice: lifetimes of 998 surface nodes over 2,540 events, 2 replacements>
        >>> lifetimes(session, window=(0, 1000))
        <Chart: pi-compacted-twice: lifetimes of 397 surface nodes over seq 0 to 999, 1 replacement>
    """
    theme = theme_of(theme)
    log = log_of(session)
    start, stop = _window(window, len(log.events))
    if marks is not None and marks < 0:
        raise ViewError("VIEW_WINDOW", f"{marks} marks cannot be drawn; give a number from 0, or None for all")
    lanes = _lives(log, start, stop)
    replaced = [one for one in _marks(log) if start <= one.at < stop]
    count = sum(map(len, lanes.values()))
    # Lanes grow with the root of what is in them, so that a lane of three stays visible beside one of thousands.
    heights = {name: max(0.55, len(lives) ** 0.5 / max(count, 1) ** 0.5 * 6) for name, lives in lanes.items()}
    with drawn_on(ax, theme, size=(9.0, max(2.8, 1.6 + _INCHES * sum(heights.values())))) as (axes, figure):
        axes.set_xlim(start, stop + 0.005 * (stop - start))
        floor = 0.0
        middles = []
        left_out = 1
        for name, lives in lanes.items():
            left_out = max(left_out, _stride(lives))
            _lane(axes, name, lives, floor, heights[name], theme)
            middles.append(floor + heights[name] / 2)
            floor += heights[name] + _GAP
            axes.axhline(floor - _GAP / 2, color=theme.muted, alpha=0.35, linewidth=0.6, zorder=1)
        if not count:
            say(axes, "nothing has been on the surface yet" if window is None else "the surface was empty then", theme)
        head = 0.9 if replaced else 0.1
        axes.set_ylim(max(floor, 1.0), -head)
        axes.set_yticks(middles, [f"{name}\n{len(lives):,}" for name, lives in lanes.items()])
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("log position (seq)")
        axes.set_ylabel("nodes by kind, in order of entry")
        events, further = counted(len(log.events), "event"), []
        if window is not None:
            events = f"seq {start:,} to {stop - 1:,}"
            further.append(f"{counted(stop - start, 'event')} of {len(log.events):,}")
        if left_out > 1:
            further.append(f"crowded lanes show one node of {left_out} or fewer")
        further.append(unmarked(replaced, "replacement", most=marks))
        title = f"lifetimes of {counted(count, 'surface node')} over {events}, {counted(len(replaced), 'replacement')}"
        note = "from entry to shadowing; thick right edge: still there; lanes are not to one scale"
        note = "\n".join(filter(None, (note, "; ".join(filter(None, further)))))
        finish(axes, figure, session, title, note, theme)
        mark(axes, replaced, theme, most=marks)
    return figure


def _window(window: tuple[int, int] | None, count: int) -> tuple[int, int]:
    """From which seq to which; an empty log has room for one event."""
    if window is None:
        return 0, max(count, 1)
    start, stop = window
    if start >= stop:
        raise ViewError("VIEW_WINDOW", f"no event is in the window from seq {start} up to {stop}; give (start, stop)")
    if start < 0 or stop > count:
        raise ViewError(
            "VIEW_SEQ", f"the window from seq {start} up to {stop} is not within the log, which has {count} events"
        )
    return start, stop


def _lives(log: Log, start: int, stop: int) -> dict[str, list[_Life]]:
    """The lives of the nodes that were there meanwhile, by kind, in order of entry."""
    left = {seq: replacement.seq for replacement in log.replacements for seq in replacement.shadowed_seqs}
    end = len(log.events)
    lanes: dict[str, list[_Life]] = {name: [] for name in _LANES}
    for event in log.events:
        if event.surface_op is not None:
            gone = left.get(event.seq)
            if event.seq >= stop or (gone is not None and gone <= start):
                continue
            lanes[kind(event)].append(_Life(event.seq, end if gone is None else gone, gone is None))
    return {name: lives for name, lives in lanes.items() if lives}


def _lane(axes: Axes, name: str, lives: Sequence[_Life], floor: float, height: float, theme: Theme) -> None:
    fill = FILLS[name]
    lives = lives[:: _stride(lives)]
    unit = height / len(lives)
    shapes: list[list[_Point]] = []
    edges: list[list[_Point]] = []
    for first, stop in _runs(lives):
        run = lives[first:stop]
        top, bottom = floor + first * unit, floor + stop * unit
        shapes.append([*_entries(run, top, unit), (run[0].left, bottom), (run[0].left, top)])
        if run[0].stays:
            edges.append([(run[0].left, top), (run[0].left, bottom)])
    # An outline takes a fifth of a thin bar at most, or the lane would have its colour.
    outline = min(0.7, 0.2 * _INCHES * 72 * height / len(shapes))
    areas = PolyCollection(shapes, facecolors=fill.colour, edgecolors=LINE, linewidths=outline, zorder=2)
    areas.set_hatch(fill.hatch)
    axes.add_collection(areas, autolim=False)
    for edge in edges if len(edges) < 400 else [[edges[0][0], edges[-1][1]]]:
        (x, top), (_, bottom) = edge
        axes.plot([x, x], [top, bottom], color=theme.ink, linewidth=3.5, solid_capstyle="butt", zorder=3)


def _stride(lives: Sequence[_Life]) -> int:
    """One node of so many is shown."""
    return max(1, -(-sum(1 for _ in _runs(lives)) // _SHAPES))


def _runs(lives: Sequence[_Life]) -> Iterator[tuple[int, int]]:
    """Stretches of nodes that make one shape: one each, or those that end together."""
    if len(lives) <= _BARS:
        yield from ((at, at + 1) for at in range(len(lives)))
        return
    first = 0
    for at in range(1, len(lives) + 1):
        if at == len(lives) or lives[at].left != lives[first].left:
            yield first, at
            first = at


def _entries(run: Sequence[_Life], top: float, unit: float) -> list[_Point]:
    """The left edge of a run, from the top down: a stair for each node, or for each few."""
    stride = max(1, -(-len(run) // _CORNERS))
    corners: list[_Point] = []
    for at in range(0, len(run), stride):
        corners.append((run[at].entered, top + at * unit))
        corners.append((run[at].entered, top + min(at + stride, len(run)) * unit))
    return corners


def _marks(log: Log) -> list[Mark]:
    marks = []
    nodes = 0
    changes = {replacement.seq: replacement for replacement in log.replacements}
    for event in log.events if changes else ():
        if event.surface_op is None:
            continue
        change = changes.get(event.seq)
        if change is not None:
            after = nodes - len(change.shadowed_seqs)
            text = f"seq {event.seq:,}: {counted(len(change.shadowed_seqs), 'node')}\nshadowed, {after:,} kept"
            marks.append(Mark(event.seq, text, len(change.shadowed_seqs)))
            nodes = after
        nodes += 1
    return marks
