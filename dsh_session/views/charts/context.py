"""The chart of context sizes: what each request held, and where compactions gave room back."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.charts.chart import drawn_on
from dsh_session.views.charts.parts import Mark, columns, finish, legend, mark, patch, request_axis, say, unmarked
from dsh_session.views.charts.style import FILLS, LINE, tick, tokens
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.requests import KINDS_SENT, requests
from dsh_session.views.palette import LIGHT, Theme, ThemeName, theme_of
from dsh_session.views.payload import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dsh_session.views.frames.log import Logged
    from dsh_session.views.frames.requests import Request

__all__ = ["context"]

_HEADER: Final = ("system", "tools", "prefix")


def context(
    session: Logged, *, ax: Axes | None = None, theme: Theme | ThemeName = LIGHT, meter: TokenMeter | None = None
) -> Figure:
    """Draw the size of the context over the requests, by kind, with the replacements of the surface marked.

    Areas are estimates. Where the log has what the provider counted, and that can be true, a line shows it.

    Args:
        session: Any session, or a history of one.
        ax: Axes to draw on; without them it is a chart of its own.
        theme: `light` or `dark`, or colours of your own.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        The figure: a `Chart`, or the one that `ax` stands in.

    Example:
        >>> from dsh_session import samples
        >>> context(samples.load("pi-compacted-twice"))
        <Chart: pi-compacted-twice: tokens in each of 484 requests, by kind>
    """
    theme = theme_of(theme)
    found = requests(log_of(session), meter or TokenMeter())
    with drawn_on(ax, theme) as (axes, figure):
        share = columns(len(found))
        shown = [max(found[at : at + share], key=lambda one: one.total) for at in range(0, len(found), share)]
        if not found:
            say(axes, "no request was answered yet", theme)
        handles: list[object] = [patch(name) for name in _stack(axes, shown, share, len(found))]
        line = _recorded(axes, shown, share, theme)
        top = max((max(one.total, (_read(one) or 0) if line else 0) for one in shown), default=1)
        axes.set_ylim(0, max(top, 1) * (1.22 if any(one.replacements for one in found) else 1.05))
        axes.yaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_ylabel("tokens sent")
        axes.grid(axis="y", color=theme.muted, alpha=0.25, linewidth=0.6)
        request_axis(axes, len(found), share, "the largest")
        legend(axes, [*([line] if line else ()), *reversed(handles)], theme)
        title = f"tokens in each of {counted(len(found), 'request')}, by kind"
        marks = _marks(found)
        note = "\n".join(filter(None, (_note(found, is_drawn=line is not None), unmarked(marks, "surface change"))))
        finish(axes, figure, session, title, note, theme)
        mark(axes, marks, theme)
    return figure


def _stack(axes: Axes, shown: Sequence[Request], share: int, count: int) -> list[str]:
    """Pile up the areas; gives the names of those that are there, from the bottom up."""
    edges = np.append(np.arange(len(shown)) * share, count) + 0.5
    floor = np.zeros(len(shown))
    names = []
    for name, fill in FILLS.items():
        if name in _HEADER:
            sizes = np.array([getattr(one, name) for one in shown], dtype=float)
        elif name in KINDS_SENT:
            sizes = np.array([one.kinds[name] for one in shown], dtype=float)
        else:
            continue
        if not sizes.any():
            continue
        names.append(name)
        # The limits are set by hand; `axes.stairs` would look for them in every corner.
        axes.add_artist(
            StepPatch(
                floor + sizes,
                edges,
                baseline=floor,  # type: ignore[arg-type]  # an array, as its documentation says
                fill=True,
                facecolor=fill.colour,
                edgecolor=LINE,
                linewidth=0.5,
                hatch=fill.hatch,
                zorder=2,
            )
        )
        floor = floor + sizes
    return names


def _read(request: Request) -> int | None:
    return request.usage.total_input if request.usage is not None and request.sanity == "ok" else None


def _note(found: Sequence[Request], *, is_drawn: bool) -> str:
    recorded = sum(request.usage is not None for request in found)
    doubted = sum(request.sanity not in {None, "ok"} for request in found)
    note = "areas: estimated from the texts in the log"
    if is_drawn:
        note += "; line: input tokens as recorded"
    if doubted:
        note += f"; {doubted:,} of {recorded:,} recorded sizes cannot be true and are left out"
    return note


def _recorded(axes: Axes, shown: Sequence[Request], share: int, theme: Theme) -> Line2D | None:
    """Draw what providers counted, with gaps where they did not."""
    sizes = [_read(one) for one in shown]
    # Where most records are of something else, the few that fit do so by chance.
    if sum(size is not None for size in sizes) * 2 <= sum(one.usage is not None for one in shown):
        return None
    places = np.arange(len(shown)) * share + (share + 1) / 2
    heights = np.array([np.nan if size is None else size for size in sizes])
    casing = [withStroke(linewidth=3.4, foreground=theme.page)]
    lonely = len(shown) < 30
    axes.plot(
        places,
        heights,
        color=theme.ink,
        linewidth=1.6,
        marker="o" if lonely else None,
        markersize=4,
        drawstyle="steps-mid",
        path_effects=casing,
        zorder=3,
    )
    return Line2D(
        [], [], color=theme.ink, linewidth=1.6, marker="o" if lonely else None, markersize=4, label="recorded"
    )


def _marks(found: Sequence[Request]) -> list[Mark]:
    marks = []
    number = 0
    for before, after in pairwise(found):
        if after.replacements:
            number += after.summaries
            what = f"compaction {number}" if after.summaries else counted(after.replacements, "replacement")
            text = f"{what}\n{tokens(before.total)} → {tokens(after.total)}"
            marks.append(Mark(after.request - 0.5, text, abs(before.total - after.total)))
    return marks
