"""What several charts have in common: titles, legends, and the marks of compactions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dsh_session.core.session import Session
from dsh_session.views.charts.chart import Chart
from dsh_session.views.charts.style import FILLS, LINE, label, tokens, wear
from dsh_session.views.payload import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from dsh_session.views.frames.log import Logged
    from dsh_session.views.frames.requests import Request
    from dsh_session.views.palette import Theme

__all__ = [
    "MARKED",
    "MOST_COLUMNS",
    "Mark",
    "breaks",
    "columns",
    "finish",
    "legend",
    "mark",
    "patch",
    "request_axis",
    "say",
    "unmarked",
]

MOST_COLUMNS: Final = 500
"""More columns than these are narrower than a line; several requests then share one."""

MARKED: Final = 150
"""So many marks are drawn by default; more would lie upon each other."""

_LABELLED: Final = 4
# So wide, as a part of the axes, is a label.
_WIDTH: Final = 0.24


class Mark(NamedTuple):
    """A place on the horizontal axis where the surface was replaced.

    Attributes:
        at: The place.
        text: What to write there, in one or two lines.
        weight: How much it matters; only the heaviest marks are labelled.
    """

    at: float
    text: str
    weight: float


def mark(ax: Axes, marks: Sequence[Mark], theme: Theme, *, most: int | None = MARKED) -> None:
    """Draw a dashed line at each mark, with labels at the heaviest ones.

    Args:
        ax: The axes; its limits are set already.
        marks: The marks, from left to right.
        theme: Light or dark.
        most: How many are drawn, the heaviest ones; all with `None`. `unmarked` has the words for the others.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from dsh_session.views.palette import LIGHT
        >>> axes = Figure().subplots()
        >>> mark(axes, [Mark(0.5, "compaction 1", 1.0)], LIGHT)
        >>> [text.get_text() for text in axes.texts]
        ['compaction 1']
    """
    left, right = ax.get_xlim()
    thin = len(marks) > 2 * _LABELLED
    # Of many that weigh the same, those that are drawn lie all over the axis: multiples of the golden ratio do.
    heaviest = sorted(range(len(marks)), key=lambda at: (-marks[at].weight, at * 0.6180339887 % 1))
    drawn = heaviest[:most]
    for at in sorted(drawn):
        ax.axvline(
            marks[at].at,
            color=theme.stands_for,
            linewidth=0.8 if thin else 1.8,
            linestyle=(0, (5, 3)),
            zorder=4,
            alpha=0.7 if len(drawn) >= MARKED else 1.0,
        )
    taken: list[tuple[float, int]] = []
    for at in sorted(drawn[:_LABELLED]):
        place = (marks[at].at - left) / (right - left)
        is_right = place > 0.78
        begin = place - _WIDTH if is_right else place
        # A label that would cover another one goes below it, and is left out where there is no room either.
        row = next(
            (row for row in range(3) if all(abs(begin - other) > _WIDTH for other, its in taken if its == row)), None
        )
        if row is None:
            continue
        taken.append((begin, row))
        ax.annotate(
            marks[at].text,
            (marks[at].at, 0.985),
            (-5 if is_right else 5, -28 * row),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if is_right else "left",
            va="top",
            fontsize=9,
            color=theme.stands_for,
            bbox={"facecolor": theme.page, "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
            zorder=6,
        )


def unmarked(marks: Sequence[Mark], noun: str, *, most: int | None = MARKED) -> str:
    """What a note says about marks that `mark` does not draw.

    Args:
        marks: The marks.
        noun: What one of them stands for.
        most: How many are drawn; all with `None`.

    Returns:
        A line, or nothing where all are drawn.

    Example:
        >>> unmarked([Mark(at, "", 1.0) for at in range(3_000)], "replacement")
        'dashed lines mark 150 of 3,000 replacements, spread over all of them'
        >>> unmarked([], "replacement")
        ''
    """
    if most is None or len(marks) <= most:
        return ""
    if not most:
        return f"none of {counted(len(marks), noun)} is marked"
    lines = "a dashed line marks" if most == 1 else "dashed lines mark"
    which = "the largest" if len({one.weight for one in marks}) > 1 else "spread over all of them"
    return f"{lines} {most:,} of {counted(len(marks), noun)}, {which}"


def breaks(requests: Sequence[Request], scale: float = 1.0) -> list[Mark]:
    """The marks of the replacements between requests.

    Args:
        requests: The requests of a log.
        scale: How many requests share a column.

    Returns:
        One mark for each request before which something was replaced.

    Example:
        >>> breaks([])
        []
    """
    found = []
    for before, after in pairwise(requests):
        if after.replacements:
            lost = before.total - after.kept
            text = f"{counted(after.replacements, 'replacement')}\nprefix kept: {tokens(after.kept)} tokens"
            found.append(Mark((after.request - 1) / scale + 0.5, text, lost))
    return found


def columns(count: int) -> int:
    """How many requests share a column, so that there are not too many.

    Args:
        count: The number of requests.

    Returns:
        1 or more.

    Example:
        >>> columns(484), columns(7692)
        (1, 16)
    """
    return max(1, -(-count // MOST_COLUMNS))


def request_axis(ax: Axes, count: int, share: int, note: str = "") -> None:
    """Make the horizontal axis one of requests.

    Args:
        ax: The axes.
        count: The number of requests.
        share: How many share a column.
        note: What a column shows, where several share one.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> request_axis(axes, 484, 1)
        >>> axes.get_xlabel()
        'request (number)'
    """
    ax.set_xlim(0.5, max(count, 1) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("request (number)" + (f"; a column shows {note} of {share} requests" if share > 1 else ""))


def patch(name: str, text: str | None = None) -> Patch:
    """The key of a fill in a legend.

    Args:
        name: One of `FILLS`.
        text: What it is called; its name by default.

    Returns:
        A patch.

    Example:
        >>> patch("user").get_label()
        'user'
    """
    fill = FILLS[name]
    return Patch(facecolor=fill.colour, hatch=fill.hatch * 2, edgecolor=LINE, linewidth=0.8, label=text or name)


def legend(ax: Axes, handles: Iterable[object], theme: Theme) -> None:
    """Put a legend to the right of the axes.

    Args:
        ax: The axes.
        handles: What is in it, from top to bottom.
        theme: Light or dark.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from dsh_session.views.palette import LIGHT
        >>> axes = Figure().subplots()
        >>> legend(axes, [patch("user")], LIGHT)
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['user']
    """
    ax.legend(
        handles=list(handles),
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        labelcolor=theme.ink,
        handlelength=2.2,
        handleheight=1.2,
        fontsize=9,
    )


def say(ax: Axes, text: str, theme: Theme) -> None:
    """Write into axes that have nothing to show.

    Args:
        ax: The axes.
        text: Why.
        theme: Light or dark.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from dsh_session.views.palette import LIGHT
        >>> axes = Figure().subplots()
        >>> say(axes, "no requests", LIGHT)
        >>> axes.texts[0].get_text()
        'no requests'
    """
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=theme.muted)


def finish(ax: Axes, figure: Figure, session: Logged, title: str, note: str, theme: Theme) -> None:
    """Give axes their title and their colours.

    Args:
        ax: The axes.
        figure: Their figure; one of ours gets the title as its description.
        session: What is shown; a session's id stands before the title.
        title: What is to be seen; nothing in it comes from a log.
        note: How to read it, in a line or two below.
        theme: Light or dark.

    Example:
        >>> from dsh_session import Session
        >>> from dsh_session.views.palette import LIGHT
        >>> figure = Chart()
        >>> finish(figure.subplots(), figure, Session("tour"), "nothing", "", LIGHT)
        >>> figure
        <Chart: tour: nothing>
    """
    whole = f"{session.id}: {title}" if isinstance(session, Session) else title
    shown = f"{label(session.id)}: {title}" if isinstance(session, Session) else title
    ax.set_title(shown, loc="left", fontsize=12, color=theme.ink, pad=10 + (14 if note else 0) + 12 * note.count("\n"))
    if note:
        ax.annotate(
            note,
            (0, 1),
            (0, 8),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=9,
            color=theme.muted,
            annotation_clip=False,
        )
    wear(ax, theme)
    if isinstance(figure, Chart):
        figure.description = whole[:1000]
