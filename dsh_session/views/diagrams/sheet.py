"""A drawing that knows what an event looks like: the parts that the diagrams of a log have in common."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dsh_session.views import describe
from dsh_session.views.diagrams.drawing import Drawing, label, left
from dsh_session.views.diagrams.measure import fit, width, wrap
from dsh_session.views.escape import cut, dot_html, one_line
from dsh_session.views.palette import ThemeName, fill_of, shape_of, theme_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import graphviz

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.diagrams.folds import Folds
    from dsh_session.views.diagrams.layout import Point

__all__ = [
    "SMALL",
    "TITLE",
    "WIDTH",
    "Look",
    "Sheet",
    "ThemeName",
    "listed",
    "origin",
    "plural",
    "room",
    "seqs_line",
    "session_name",
    "tooltip",
]

WIDTH: Final = 730.0
"""The width of a diagram, in points."""
TITLE: Final = 40.0
"""The room that the title takes, in points."""
_TIP: Final = 600
"""So many characters of a text stand in a tooltip."""
_HEAD: Final = 10.0
SMALL: Final = 9.0
"""The size of the font of all lines but the first, in points."""

# How much of a node's width its lines of text may take: a hexagon is narrow at its corners, a pentagon at its tip.
_ROOM: Final = {"hexagon": 0.64, "cds": 0.82, "octagon": 0.9}

Look: TypeAlias = Literal["live", "shadowed", "log-only"]
"""Whether a node is on the surface, was there, or never was."""


class Sheet(Drawing):
    """A drawing of a log. It grows downwards from y = 0, so that its height need not be known before.

    Example:
        >>> sheet = Sheet("log", "light")
        >>> sheet.title("tour", "the log", "Nothing yet.")
        >>> "the log" in sheet.graph.source
        True
    """

    def __init__(self, name: str, theme: ThemeName) -> None:
        """Start an empty sheet.

        Args:
            name: The graph's name in the DOT text.
            theme: `light` or `dark`.
        """
        super().__init__(name, 0.0, theme_of(theme))

    def title(self, name: str, said: str, subtitle: str) -> None:
        """Write the two lines at the top.

        Args:
            name: The session's name, on one line.
            said: What is to be seen, with its counts.
            subtitle: How to read it, and what is left out.
        """
        head = f"<b>{dot_html(fit(name, 26))}</b>  {dot_html(said)}"
        self.line("title", head, 0, 8, WIDTH, size=12, markup=True)
        self.line("subtitle", dot_html(subtitle), 0, 24, WIDTH)

    def line(
        self,
        name: str,
        text: str,
        x: float,
        y: float,
        across: float,
        *,
        size: float = SMALL,
        markup: bool = True,
        classes: str = "",
        into: graphviz.Digraph | None = None,
    ) -> None:
        """Write a line of text.

        Args:
            name: The name of its node.
            text: The text: HTML-like markup, or plain.
            x: Its left edge.
            y: Its middle.
            across: The room it has.
            size: The size of its font; a large one is in ink, a small one muted.
            markup: Whether the text is escaped already.
            classes: What it is, for style sheets; `title` and `muted` by its size.
            into: The frame that it stands in.
        """
        colour = self.theme.ink if size > _HEAD else self.theme.muted
        inner = text if markup else dot_html(text)
        self.node(
            name,
            (x + across / 2, y),
            (across, size + 4),
            left(f'<font point-size="{size:g}" color="{colour}">{inner}</font>', across, size + 4),
            classes=classes or ("title" if size > _HEAD else "muted"),
            into=into,
            shape="plaintext",
            style="",
        )

    def event(
        self,
        name: str,
        event: SessionEvent,
        place: Point,
        size: tuple[float, float],
        *,
        look: Look = "live",
        note: str = "",
        tip: str = "",
        folded: bool = False,
        chosen: bool = False,
        into: graphviz.Digraph | None = None,
    ) -> None:
        """Draw an event as a node: its seq and kind, and as many lines of what it says as there is room for.

        Args:
            name: Its name, which is its id too.
            event: The event.
            place: The middle of its outline.
            size: Width and height of its outline, in points.
            look: How it stands to the surface.
            note: A line that comes before what it says.
            tip: A line that stands in its tooltip, before its text.
            folded: Whether what lies behind it is not shown.
            chosen: Whether it is the one that was asked for.
            into: The frame that it stands in.
        """
        kind = describe.kind(event)
        error = describe.is_error(event)
        shape, style = shape_of(kind)
        # A call is never on the surface, but half of what happened.
        aside = look == "log-only" and kind != "tool call"
        quiet = aside or look == "shadowed"
        fill = fill_of("shadowed" if look == "shadowed" else kind, error=error and not quiet)
        colours = self.theme.variables()
        border = colours.get(f"border-{'shadowed' if aside else fill}", self.theme.border)
        dashes = "dotted" if folded else "dashed" if look == "shadowed" else ""
        count = max(int((size[1] - 16) // 11), 0)
        said = describe.headline(event, 120).removeprefix("error: ")
        lines = [fit(note, room(size[0], shape))] if note else []
        lines = (lines + wrap(said, room(size[0], shape), max(count - len(lines), 1)))[:count]
        number = str(event.seq)
        space = room(size[0], shape) * SMALL / _HEAD - 1.1 * width(number) - 0.7
        head = f"{kind}, error" if error else event.type if kind in _BY_TYPE else kind
        if error and width(head) > space:
            head = "result, error"
        self.node(
            name,
            place,
            size,
            label(fit(one_line(head[:200]), space), lines, bold=number),
            classes=f"boxed centred {'log-only' if aside else f'k-{fill}'}{' chosen' if chosen else ''}",
            tooltip=tooltip(event, tip),
            into=into,
            shape=shape,
            style=",".join(part for part in ("filled", style, dashes) if part),
            fillcolor=colours["fill-plain" if aside else f"fill-{fill}"],
            color=self.theme.selection if chosen else border,
            fontcolor=self.theme.muted if quiet else self.theme.ink,
            penwidth="3" if chosen else "0.9" if aside else "1.2",
        )

    def more(
        self,
        name: str,
        events: Sequence[SessionEvent],
        seqs: Sequence[int],
        place: Point,
        size: tuple[float, float],
        *,
        head: str = "",
        into: graphviz.Digraph | None = None,
    ) -> None:
        """Draw a dotted node that stands for events that are not shown.

        Args:
            name: Its name, which is its id too.
            events: The whole log.
            seqs: The seqs that it stands for, at least one.
            place: The middle of its outline.
            size: Width and height of its outline, in points.
            head: Its first line, if that is not `… n more`; after one that starts otherwise stands from where to where
                the seqs reach, else their kinds.
            into: The frame that it stands in.
        """
        kinds = describe.count_kinds(describe.kinds(_some(events, seqs)))
        count = max(int((size[1] - 16) // 11), 0)
        below = kinds if not head or head.startswith("…") else seqs_line(seqs)
        self.dotted(
            name,
            head or f"… {len(seqs):,} more",
            wrap(below, room(size[0], "box"), count) if count else [],
            f"{plural(len(seqs), 'event')}, {listed(seqs)}\n{kinds}",
            place,
            size,
            into=into,
        )

    def dotted(
        self,
        name: str,
        head: str,
        lines: Sequence[str],
        tip: str,
        place: Point,
        size: tuple[float, float],
        *,
        into: graphviz.Digraph | None = None,
    ) -> None:
        """Draw a dotted node.

        Args:
            name: Its name, which is its id too.
            head: Its first line, plain text.
            lines: The smaller ones below, plain text that fits.
            tip: Its tooltip.
            place: The middle of its outline.
            size: Width and height of its outline, in points.
            into: The frame that it stands in.
        """
        self.node(
            name,
            place,
            size,
            label(fit(head, room(size[0], "box") * SMALL / _HEAD), lines),
            classes="boxed centred more",
            tooltip=tip,
            into=into,
            style="rounded,dotted",
            color=self.theme.border_shadowed,
            fontcolor=self.theme.muted,
        )

    def marked(
        self, name: str, head: str, place: Point, size: tuple[float, float], *, into: graphviz.Digraph | None = None
    ) -> None:
        """Draw an octagon in the place of something that is missing.

        Args:
            name: Its name, which is its id too.
            head: What is missing, plain text that fits.
            place: The middle of its outline.
            size: Width and height of its outline, in points.
            into: The frame that it stands in.
        """
        self.node(
            name,
            place,
            size,
            label(head),
            classes="boxed centred mark",
            into=into,
            shape="octagon",
            fontsize="9",
            color=self.theme.error_text,
            fontcolor=self.theme.error_text,
        )


# Of these the type says more than the kind.
_BY_TYPE: Final = frozenset(
    {"header", "todo", "compaction", "hook", "blocked prompt", "turn", "step", "other", "chunk"}
)


def tooltip(event: SessionEvent, more: str = "") -> str:
    """The whole text of an event within bounds, below its seq, its type and a line more if there is one."""
    lines = [f"{event.seq} {cut(one_line(event.type[:200]), 60)}", *([more] if more else [])]
    return "\n".join([*lines, describe.text(event, _TIP)])


def origin(event: SessionEvent, folds: Folds) -> str:
    """Where an event comes from, in a line; empty where the log does not say."""
    behind = folds.shadowed.get(event.seq)
    if behind is not None:
        stands = plural(folds.originals[event.seq], "original")
        return f"took the place of {plural(len(behind), 'node')} ({listed(behind)}), stands for {stands}"
    sources = event.source_event_seqs
    return f"from {plural(len(sources), 'event')}: {listed(sources)}" if sources else ""


def room(across: float, shape: str) -> float:
    """How wide a line in a node of this width may be, in ems of the small font."""
    return (across - 8) * _ROOM.get(shape, 1.0) / SMALL


def plural(count: int, what: str) -> str:
    """A number and its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _some(events: Sequence[SessionEvent], seqs: Sequence[int]) -> Sequence[SessionEvent]:
    """The events of these seqs; a run of them is cut out at once."""
    is_run = isinstance(seqs, range) and seqs.step == 1
    return events[seqs[0] : seqs[-1] + 1] if is_run else [events[seq] for seq in seqs]


def listed(seqs: Iterable[int]) -> str:
    """The first of many seqs."""
    shown = list(islice(seqs, 13))
    return ", ".join(map(str, shown[:12])) + (", …" if len(shown) > 12 else "")


def seqs_line(seqs: Sequence[int]) -> str:
    """From where to where seqs reach."""
    return f"{seqs[0]} … {seqs[-1]}" if len(seqs) > 1 else str(seqs[0]) if seqs else ""


def session_name(name: str) -> str:
    """A session's id, fit to stand in a title."""
    return cut(one_line(name[:400]), 60) or "session"
