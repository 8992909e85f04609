"""The chart of prefix reuse: how much of each request the model had just read."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.charts.chart import drawn_on
from dsh_session.views.charts.parts import breaks, columns, finish, legend, mark, request_axis, say, unmarked
from dsh_session.views.charts.style import FILLS, LINE
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.requests import requests
from dsh_session.views.palette import LIGHT, Theme, ThemeName, theme_of
from dsh_session.views.payload import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dsh_session.views.frames.log import Logged
    from dsh_session.views.frames.requests import Request

__all__ = ["prefix_reuse"]


def prefix_reuse(
    session: Logged, *, ax: Axes | None = None, theme: Theme | ThemeName = LIGHT, meter: TokenMeter | None = None
) -> Figure:
    """Draw how much of each request begins as the request before did, and so can come from a cache.

    Where a replacement broke the prefix stands a dashed line, where a request header did, a triangle.

    Args:
        session: Any session, or a history of one.
        ax: Axes to draw on; without them it is a chart of its own.
        theme: `light` or `dark`, or colours of your own.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        The figure: a `Chart`, or the one that `ax` stands in.

    Example:
        >>> from dsh_session import samples
        >>> prefix_reuse(samples.load("pi-compacted-twice"))
        <Chart: pi-compacted-twice: how much of each request begins as the one before, 484 requests>
    """
    theme = theme_of(theme)
    found = requests(log_of(session), meter or TokenMeter())
    with drawn_on(ax, theme, size=(9.0, 3.2)) as (axes, figure):
        share = columns(len(found))
        if len(found) < 2:
            say(axes, "it takes two answered requests to compare", theme)
        else:
            _area(axes, found, share)
        axes.set_ylim(0, 1.3)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_ylabel("kept prefix (share of tokens)")
        axes.grid(axis="y", color=theme.muted, alpha=0.25, linewidth=0.6)
        request_axis(axes, len(found), share, "the least")
        title = f"how much of each request begins as the one before, {counted(len(found), 'request')}"
        marks = breaks(found)
        note = "estimated from the log; what a provider really cached may differ"
        note = "\n".join(filter(None, (note, unmarked(marks, "surface change"))))
        finish(axes, figure, session, title, note, theme)
        _headers(axes, found, theme)
        mark(axes, marks, theme)
    return figure


def _area(axes: Axes, found: Sequence[Request], share: int) -> None:
    shares = [1.0 if one.before is None or not one.total else one.kept / one.total for one in found]
    shares[0] = np.nan
    least = np.array([np.nanmin([*shares[at : at + share], 1.0]) for at in range(0, len(found), share)])
    if share == 1:
        least[0] = np.nan
    edges = np.append(np.arange(len(least)) * share, len(found)) + 0.5
    fill = FILLS["user"]
    axes.stairs(least, edges, fill=True, facecolor=fill.colour, edgecolor=LINE, linewidth=0.6, zorder=2)


def _headers(axes: Axes, found: Sequence[Request], theme: Theme) -> None:
    """Mark the requests whose header is another one, and broke the prefix."""
    pairs = pairwise(found)
    places = [after.request for before, after in pairs if after.header != before.header and after.kept < before.total]
    if places:
        style: dict[str, Any] = {"marker": "v", "color": theme.error_text, "linestyle": "none", "markersize": 6}
        axes.plot(places, [1.06] * len(places), zorder=5, **style)
        legend(axes, [Line2D([], [], label="another header", **style)], theme)
