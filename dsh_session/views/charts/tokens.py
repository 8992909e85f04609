"""The chart of tokens by kind: what the context is made of, and what is shadowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.charts.chart import drawn_on
from dsh_session.views.charts.parts import finish, legend, say
from dsh_session.views.charts.style import FILLS, LINE, tick
from dsh_session.views.charts.style import tokens as short
from dsh_session.views.describe import kind
from dsh_session.views.frames.headers import parts_of
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import tokens_of
from dsh_session.views.palette import LIGHT, Theme, ThemeName, theme_of
from dsh_session.views.payload import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dsh_session.views.frames.log import Log, Logged

__all__ = ["tokens"]


class _Share(NamedTuple):
    """The tokens of a kind, and the messages that they stand in."""

    there: int = 0
    shadowed: int = 0
    messages: int = 0
    messages_shadowed: int = 0


def tokens(
    session: Logged, *, ax: Axes | None = None, theme: Theme | ThemeName = LIGHT, meter: TokenMeter | None = None
) -> Figure:
    """Draw the tokens of the context by kind, and beside them those that replacements took off the surface.

    Args:
        session: Any session, or a history of one.
        ax: Axes to draw on; without them it is a chart of its own.
        theme: `light` or `dark`, or colours of your own.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        The figure: a `Chart`, or the one that `ax` stands in.

    Example:
        >>> from dsh_session import samples
        >>> tokens(samples.load("pi-compacted-twice"))
        <Chart: pi-compacted-twice: tokens by kind, ... now in the context and ... shadowed>
    """
    theme = theme_of(theme)
    shares = _shares(log_of(session), meter or TokenMeter())
    there, shadowed = sum(one.there for one in shares.values()), sum(one.shadowed for one in shares.values())
    with drawn_on(ax, theme, size=(9.0, 0.42 * max(len(shares), 3) + 1.5)) as (axes, figure):
        longest = max((one.there + one.shadowed for one in shares.values()), default=1) or 1
        for row, (name, one) in enumerate(shares.items()):
            fill = FILLS[name]
            axes.barh(row, one.there, 0.7, color=fill.colour, hatch=fill.hatch, edgecolor=LINE, linewidth=0.8, zorder=2)
            axes.barh(
                row,
                one.shadowed,
                0.7,
                left=one.there,
                color=theme.fill_shadowed,
                edgecolor=theme.border_shadowed,
                linestyle="--",
                linewidth=0.8 if one.shadowed else 0,
                zorder=2,
            )
            axes.text(
                one.there + one.shadowed + longest * 0.01,
                row,
                _words(name, one),
                va="center",
                fontsize=9,
                color=theme.ink,
            )
        if not shares:
            say(axes, "nothing is in the context yet", theme)
        axes.set_xlim(0, longest * 1.5)
        axes.set_ylim(max(len(shares), 1) - 0.4, -0.6)
        axes.set_yticks(range(len(shares)), list(shares))
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_xlabel("tokens (estimated)")
        axes.set_ylabel("kind")
        axes.grid(axis="x", color=theme.muted, alpha=0.25, linewidth=0.6)
        now = Patch(facecolor=FILLS["user"].colour, edgecolor=LINE, linewidth=0.8, label="in the context now (filled)")
        gone = Patch(
            facecolor=theme.fill_shadowed,
            edgecolor=theme.border_shadowed,
            linestyle="--",
            label="shadowed (dashed)",
        )
        title = f"tokens by kind, {short(there)} now in the context and {short(shadowed)} shadowed"
        finish(axes, figure, session, title, "", theme)
        if shadowed:
            legend(axes, [now, gone], theme)
    return figure


def _shares(log: Log, meter: TokenMeter) -> dict[str, _Share]:
    surface = frozenset(log.nodes)
    found: dict[str, _Share] = {}
    header = {}
    for event in log.events:
        if event.type == "request/header":
            header = parts_of(event)
        elif event.surface_op is not None:
            name, size = kind(event), tokens_of(event, meter)
            one = found.get(name, _Share())
            if event.seq in surface:
                one = one._replace(there=one.there + size, messages=one.messages + 1)
            else:
                one = one._replace(shadowed=one.shadowed + size, messages_shadowed=one.messages_shadowed + 1)
            found[name] = one
    for name, key in (("system", "system"), ("tools", "tools"), ("prefix", "messagePrefix")):
        if key in header:
            found[name] = _Share(meter.estimate_header({key: header[key]}))
    return {name: found[name] for name in FILLS if name in found}


def _words(name: str, one: _Share) -> str:
    if name in {"system", "tools", "prefix"}:
        return short(one.there)
    words = f"{short(one.there)} in {counted(one.messages, 'message')}"
    return f"{words}; {short(one.shadowed)} in {one.messages_shadowed:,} shadowed" if one.messages_shadowed else words
