"""How charts look: a colour and a hatch for each kind, one font, light and dark.

The colours are those of Okabe and Ito at full strength, because an area carries no text; each has a hatch as well, so
that charts can be read in grey.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dsh_session.views.escape import cut, one_line
from dsh_session.views.palette import LIGHT, Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["FILLS", "LINE", "RC", "Fill", "label", "tick", "tokens", "wear"]


class Fill(NamedTuple):
    """How an area is filled.

    Attributes:
        colour: Its colour, as `#RRGGBB`.
        hatch: Its hatch, by matplotlib's name.
    """

    colour: str
    hatch: str


FILLS: Final[Mapping[str, Fill]] = {
    "system": Fill("#D9D9D9", "---"),
    "tools": Fill("#D9D9D9", "+++"),
    "prefix": Fill("#D9D9D9", "oo"),
    "summary": Fill("#F0E442", "|||"),
    "context": Fill("#4A7FC1", "xxx"),
    "user": Fill("#56B4E9", "///"),
    "steering": Fill("#CC79A7", "\\\\\\"),
    "assistant": Fill("#F2B441", ""),
    "tool result": Fill("#4DB592", "..."),
    # What a request can have of a text.
    "not yet": Fill("#EDEDED", ""),
    "verbatim": Fill("#56B4E9", ""),
    "in a summary": Fill("#F0E442", "|||"),
    "gone": Fill("#D55E00", "xxx"),
}
"""The fill of everything that has an area, in the order in which areas are stacked."""

LINE: Final = "#1A1A1A"
"""Outlines and hatches of areas, on every page: all fills are light enough for it."""

RC: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same widths on every machine
    "font.size": 10.0,
    "hatch.linewidth": 0.6,
    "path.simplify": True,
    "svg.fonttype": "path",  # text as it was measured, whatever fonts the reader has
    "svg.hashsalt": "dsh_session",  # the same ids, and so the same bytes, each time
    "text.usetex": False,
}
"""Settings under which a chart is drawn, whatever a user's own are."""

_LONGEST: Final = 60
# What follows a mark and another mark.
_PILE: Final = re.compile(
    r"(?<=[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff]{2})[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff]+"
)


def label(text: str) -> str:
    r"""A text from a log, fit to be a word in a chart.

    Args:
        text: Any string.

    Returns:
        One line of at most 60 characters, without a dollar sign that would start a formula.

    Example:
        >>> label("cost\n$x$")
        'cost \\$x\\$'
    """
    # Accents pile up without end, and would push the chart out of its figure.
    flat = _PILE.sub("", unicodedata.normalize("NFC", one_line(text[: 4 * _LONGEST])))
    return cut(flat, _LONGEST).replace("$", r"\$")


def tokens(value: float, _: object = None) -> str:
    """A number of tokens, in short.

    Args:
        value: The number.

    Returns:
        A few characters.

    Example:
        >>> tokens(950), tokens(26_400), tokens(1_250_000)
        ('950', '26 k', '1.25 M')
    """
    size = abs(value)
    if size < 1_000:
        return f"{value:.0f}"
    if size < 10_000:
        return f"{value / 1_000:.1f}".removesuffix(".0") + " k"
    if size < 999_500:
        return f"{value / 1_000:.0f} k"
    return f"{value / 1_000_000:.2f}".rstrip("0").rstrip(".") + " M"


def tick(value: float, _: object = None) -> str:
    """A number of tokens beside a tick of an axis: short, and exact.

    Args:
        value: The number.

    Returns:
        A few characters.

    Example:
        >>> tick(950), tick(12_500), tick(1_250_000)
        ('950', '12.5 k', '1.25 M')
    """
    if abs(value) < 1_000:
        return f"{value:g}"
    return f"{value / 1_000:g} k" if abs(value) < 1_000_000 else f"{value / 1_000_000:g} M"


def wear(ax: Axes, theme: Theme = LIGHT) -> None:
    """Dress axes in the colours of a theme: open at the top and the right, a quiet grid behind.

    Args:
        ax: The axes.
        theme: Light or dark.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> wear(axes)
        >>> axes.spines["top"].get_visible()
        False
    """
    ax.set_facecolor(theme.page)
    for side, spine in ax.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(theme.muted)
    ax.tick_params(colors=theme.muted, labelcolor=theme.ink)
    ax.xaxis.label.set_color(theme.ink)
    ax.yaxis.label.set_color(theme.ink)
    ax.set_axisbelow(True)
