"""The chart of a trace: a strip that shows how each request had a text."""

from __future__ import annotations

from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dsh_session.core.history import SurfaceHistory
from dsh_session.views.charts.chart import drawn_on
from dsh_session.views.charts.parts import Mark, finish, legend, mark, patch, request_axis, say, unmarked
from dsh_session.views.charts.style import FILLS, LINE, label
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import passing
from dsh_session.views.palette import LIGHT, Theme, ThemeName, theme_of
from dsh_session.views.payload import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dsh_session.core.trace import TracePoint
    from dsh_session.views.frames.log import Logged

__all__ = ["trace"]

_NAMES: Final = {"not yet": "not yet", "verbatim": "verbatim", "summary": "in a summary", "gone": "gone"}


def trace(session: Logged, text: str, *, ax: Axes | None = None, theme: Theme | ThemeName = LIGHT) -> Figure:
    """Draw how each request had a text: verbatim, only in a summary's words, no longer at all, or not yet.

    Args:
        session: Any session, or a history of one.
        text: What to look for, exactly; it must not be empty.
        ax: Axes to draw on; without them it is a chart of its own.
        theme: `light` or `dark`, or colours of your own.

    Returns:
        The figure: a `Chart`, or the one that `ax` stands in.

    Raises:
        ValueError: For an empty text.

    Example:
        >>> from dsh_session import samples
        >>> trace(samples.load("pi-compacted-twice"), "tui-renderer.ts")
        <Chart: pi-compacted-twice: what 484 requests had of “tui-renderer.ts”>
    """
    theme = theme_of(theme)
    points = SurfaceHistory(map(passing, log_of(session).events)).trace(text)
    with drawn_on(ax, theme, size=(9.0, 2.3)) as (axes, figure):
        there = {_NAMES[point.presence] for point in points}
        at = 0
        for presence, group in groupby(points, attrgetter("presence")):
            fill = FILLS[_NAMES[presence]]
            width = len(list(group))
            axes.broken_barh(
                [(at + 0.5, width)], (0, 1), facecolor=fill.colour, hatch=fill.hatch, edgecolor=LINE, linewidth=0.8
            )
            at += width
        if not points:
            say(axes, "no request was answered yet", theme)
        request_axis(axes, len(points), 1)
        axes.set_ylim(0, 1.75)
        axes.set_yticks([0.5], ["the text"])
        axes.tick_params(axis="y", length=0)
        legend(axes, [patch(name) for name in _NAMES.values() if name in there], theme)
        title = f"what {counted(len(points), 'request')} had of “{label(text)}”"
        marks = _marks(points)
        finish(axes, figure, session, title, unmarked(marks, "removal"), theme)
        mark(axes, marks, theme)
    return figure


def _marks(points: Sequence[TracePoint]) -> list[Mark]:
    """Where the last original was taken away, and by what."""
    marks = []
    for number, (before, after) in enumerate(pairwise(points), 2):
        if after.taken_by is not None and after.taken_by != before.taken_by:
            marks.append(Mark(number - 0.5, f"taken by seq {after.taken_by:,}", 1.0))
    return marks
