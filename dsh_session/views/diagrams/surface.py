"""The surface as a picture: a linked list, and behind each summary what it took the place of."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.drawing import Drawing, label, left
from dsh_session.views.diagrams.folds import fold
from dsh_session.views.diagrams.layout import arrange
from dsh_session.views.diagrams.measure import fit, width, wrap
from dsh_session.views.diagrams.selection import DEEPEST, HEIGHT, Selection, Window
from dsh_session.views.escape import cut, dot_html, one_line
from dsh_session.views.palette import DARK, LIGHT, fill_of, shape_of
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import graphviz

    from dsh_session.core.event import SessionEvent
    from dsh_session.core.session import Session
    from dsh_session.views.diagrams.layout import Block, Path, Placed
    from dsh_session.views.diagrams.selection import Frame
    from dsh_session.views.palette import Theme

__all__ = ["surface"]

_WIDTH: Final = 730.0
_TITLE: Final = 40.0
_TIP: Final = 600
"""So many characters of a text stand in a tooltip."""

# How much of a node's width its lines of text may take: a hexagon is narrow at its corners, a pentagon at its tip.
_ROOM: Final = {"hexagon": 0.64, "cds": 0.82}
_SMALL: Final = 9.0


def surface(
    session: Session,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    inside: int = 3,
    levels: int | None = None,
    theme: Literal["light", "dark"] = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw the surface: what the model sees, in its order, as the linked list that it is.

    The list runs from head to tail, in rows that are read like a text. Behind each replacement stands a frame with the
    nodes that it took the place of; a replacement among them has its own frame inside. Dashed arrows lead from a
    replacement to what it stands for and to the log-only events that it cites. Everything else in the log is counted.
    What is left out of a long list is a dotted node that says how many of what it hides.

    Args:
        session: A session, live or loaded.
        at: Show the surface as it was right after the event of this seq; None for now.
        around: A seq that must be in the picture, with its neighbours; frames are opened down to it. Where it is
            log-only, the surface event before it is meant.
        first: How many nodes are shown from the head on; 3, or 1 with `around`.
        last: How many nodes are shown at the tail; 12, or 1 with `around`.
        inside: How many nodes are shown of what a replacement shadows, at least 2.
        levels: How many levels of frames are opened; 0 shows the list alone. None opens three, or one where more than
            four of the nodes that are shown are replacements. A replacement that stays folded has a dotted outline.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. Its nodes are named `n<seq>`, its frames `shadowed-by-<seq>`, what is left out `more-<seq>` after
        the first seq that is missing.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Replace, Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", said, surface_op="append")
        >>> event = session.append("user/message", said, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> surface(session)
        <Diagram: surface of tour after seq 3: 2 nodes, 1 replacement>

    See the seeds' "Surface types".
    """
    events = _until(session, at)
    for name, value, least in (("first", first, 0), ("last", last, 0), ("inside", inside, 2), ("levels", levels, 0)):
        if value is not None and (type(value) is not int or value < least):
            raise ViewError("VIEW_WINDOW", f"{name}={value!r}: give a whole number from {least} on")
    if levels is not None and levels > DEEPEST:
        raise ViewError("VIEW_WINDOW", f"levels={levels}: at most {DEEPEST} frames have room inside each other")
    chosen = None if around is None else _surface_seq(events, around)
    usual = (3, 12) if chosen is None else (1, 1)
    window = Window(usual[0] if first is None else first, usual[1] if last is None else last, inside, levels, chosen)
    picture = _Picture(session.id, Selection(events, fold(events), window), DARK if theme == "dark" else LIGHT)
    return Diagram(picture.drawing.graph, picture.description, engine=engine)


def _until(session: Session, at: int | None) -> Sequence[SessionEvent]:
    if at is None:
        return session.events
    _check_seq("at", at, len(session.events))
    return session.events[: at + 1]


def _check_seq(name: str, seq: int, count: int) -> None:
    if type(seq) is not int or not 0 <= seq < count:
        there = f"seqs 0 to {count - 1}" if count else "no events yet"
        raise ViewError("VIEW_SEQ", f"{name}={seq!r}: the log has {there}")


def _surface_seq(events: Sequence[SessionEvent], around: int) -> int | None:
    """The surface event at or before a seq."""
    _check_seq("around", around, len(events))
    return next((seq for seq in range(around, -1, -1) if events[seq].surface_op is not None), None)


class _Picture:
    """One drawing of a selection: its cells are arranged, then everything is drawn in its place."""

    def __init__(self, name: str, selection: Selection, theme: Theme) -> None:
        self.name = cut(one_line(name[:400]), 60) or "session"
        self.selection = selection
        self.events = selection.events
        self.folds = selection.folds
        self.theme = theme
        block = arrange(selection.cells, _WIDTH)
        aside = self._aside()
        key = self._key()
        below = _TITLE + max(block.height, 24.0) + 18
        key_y = below + 13 * len(aside) + 4
        self.drawing = Drawing("surface", key_y + legend.height(key, _WIDTH), theme)
        self._title()
        self._block(block, _TITLE, shadowed=False, into=None)
        self._ends(block)
        for at, line in enumerate(aside):
            self._text(f"log-only-{at}" if at else "log-only", line, below + 13 * at, 9, "muted")
        legend.draw(self.drawing, key, key_y, _WIDTH)

    @property
    def description(self) -> str:
        """What is to be seen, in a line."""
        after = f" after seq {len(self.events) - 1}" if self.events else ""
        return f"surface of {self.name}{after}: {self._counts()}"

    def _counts(self) -> str:
        folds = self.folds
        return f"{_plural(len(folds.nodes), 'node')}, {_plural(len(folds.shadowed), 'replacement')}"

    def _key(self) -> list[legend.Entry]:
        chosen = self.selection
        nodes = {name: seq for name, seq in chosen.seqs.items() if name not in chosen.notes}
        skipped = any(frame.skipped for frame in chosen.frames.values())
        left_out = bool(chosen.missing) or skipped or any(map(chosen.is_folded, nodes))
        kinds = {describe.kind(self.events[seq]) for seq in nodes.values()}
        asked = chosen.window.chosen is not None
        return legend.entries(kinds, folded=left_out, replaced=bool(chosen.frames), chosen=asked)

    def _aside(self) -> list[str]:
        """What lies in the log and not on the surface, in words."""
        counts = Counter(describe.kind(event) for event in self.events if event.surface_op is None)
        if not counts:
            return []
        words = f"Aside, in the log only: {describe.count_kinds(counts)}."
        return wrap(words, (_WIDTH - 20) / _SMALL, 3)

    def _title(self) -> None:
        count = len(self.folds.nodes)
        moment = f"after seq {len(self.events) - 1:,}: {self._counts()}" if self.events else "of an empty log"
        name = fit(self.name, 26)
        self._text("title", f"<b>{dot_html(name)}</b>  surface {dot_html(moment)}", 8, 12, "title", markup=True)
        said = f"What the model sees, from head to tail. {_plural(len(self.events), 'event')} in the log"
        shown = self.selection.shown
        said += f"; {shown:,} of {_plural(count, 'node')} shown." if shown < count else "."
        self._text("subtitle", said, 24, 9, "muted")

    def _text(self, name: str, text: str, y: float, size: int, classes: str, *, markup: bool = False) -> None:
        colour = self.theme.ink if classes == "title" else self.theme.muted
        inner = text if markup else dot_html(text)
        self.drawing.node(
            name,
            (_WIDTH / 2, y),
            (_WIDTH, size + 4),
            left(f'<font point-size="{size}" color="{colour}">{inner}</font>', _WIDTH, size + 4),
            classes=classes,
            shape="plaintext",
            style="",
        )

    def _ends(self, block: Block) -> None:
        """The words `head` and `tail`, and their arrows; of an empty list nothing but these."""
        middle = _TITLE + 12
        head_y = _TITLE + block.first.y if block.first else middle
        self._end("head", 13, head_y)
        if block.first is None or block.last is None:
            self._end("tail", 80, middle)
            self.drawing.edge("head", "tail", [(27, middle), (66, middle)], classes="e-end")
            return
        start = block.first.x - block.first.width / 2
        self.drawing.edge("head", block.first.name, [(27, head_y), (start, head_y)], classes="e-end")
        end, y = block.last.x + block.last.width / 2, _TITLE + block.last.y
        self._end("tail", end + 31, y)
        self.drawing.edge(block.last.name, "tail", [(end, y), (end + 18, y)], classes="e-end")

    def _end(self, name: str, x: float, y: float) -> None:
        text = label(name)
        self.drawing.node(
            name, (x, y), (27, 14), text, classes="muted", shape="plaintext", style="", fontcolor=self.theme.muted
        )

    def _block(self, block: Block, y: float, *, shadowed: bool, into: graphviz.Digraph | None) -> None:
        for placed in block.nodes:
            self._node(placed, y, shadowed=shadowed, into=into)
        for box in block.boxes:
            frame = self.selection.frames[box.owner]
            behind = self.folds.shadowed[frame.owner]
            cluster = self.drawing.frame(
                str(frame.owner),
                (box.x, box.y + y),
                (box.width, box.height),
                _frame_line(frame, behind, box.width),
                f"{_plural(len(behind), 'node')} shadowed by {frame.owner}: {_listed(behind)}",
            )
            self._block(box.block, y, shadowed=True, into=cluster)
            self.drawing.close(cluster, into)
        for path in block.paths:
            self._edge(path, y, shadowed=shadowed)

    def _edge(self, path: Path, y: float, *, shadowed: bool) -> None:
        points = [(px, py + y) for px, py in path.points]
        theme, missing = self.theme, self.selection.missing
        if path.role == "stands-for":
            frame = self.selection.frames[path.tail]
            self.drawing.edge(
                *(path.tail, path.head, points),
                classes="e-stands-for",
                id=f"stands-for-{self.selection.seqs[path.tail]}",
                color=theme.stands_for,
                style="dotted" if frame.skipped else "dashed",
                penwidth="1.6",
                lhead=f"cluster_{frame.owner}",
            )
        elif path.role == "cites":
            self.drawing.edge(
                *(path.tail, path.head, points),
                classes="e-stands-for",
                id=f"cites-{self.selection.seqs[path.tail]}-{path.head}",
                color=theme.stands_for,
                style="dashed",
            )
        else:
            style = "dotted" if path.tail in missing or path.head in missing else "solid"
            self.drawing.edge(
                *(path.tail, path.head, points),
                classes="e-shadowed" if shadowed else "e-next",
                both=not shadowed,
                id=f"{path.tail}-{path.head}",
                color=theme.border_shadowed if shadowed else theme.border,
                style=style,
            )

    def _node(self, placed: Placed, y: float, *, shadowed: bool, into: graphviz.Digraph | None) -> None:
        place, size = (placed.x, placed.y + y), (placed.width, placed.height)
        if placed.name in self.selection.missing:
            self._more(placed, place, into)
            return
        seq = self.selection.seqs[placed.name]
        event = self.events[seq]
        kind = describe.kind(event)
        if placed.name in self.selection.notes:
            number = f"{seq}  "
            said = fit(describe.headline(event, 60), (placed.width - 12) / 8.5 - 1.1 * width(number))
            self.drawing.node(
                *(placed.name, place, size),
                label(said, bold=str(seq)),
                classes="boxed centred log-only",
                tooltip=self._tip(event),
                style="filled,dotted",
                color=self.theme.border_shadowed,
                fontcolor=self.theme.muted,
                fontsize="8.5",
            )
            return
        error = describe.is_error(event)
        shape, style = shape_of(kind)
        fill = fill_of("shadowed" if shadowed else kind, error=error and not shadowed)
        colours = self.theme.variables()
        line = "dotted" if self.selection.is_folded(placed.name) else "dashed" if shadowed else ""
        chosen = seq == self.selection.window.chosen
        self.drawing.node(
            *(placed.name, place, size),
            label(
                f"{kind}, error" if error else kind,
                self._lines(event, placed.width, shape, shadowed=shadowed),
                bold=str(seq),
            ),
            classes=f"boxed centred k-{fill}{' chosen' if chosen else ''}",
            tooltip=self._tip(event),
            into=into,
            shape=shape,
            style=",".join(part for part in ("filled", style, line) if part),
            fillcolor=colours[f"fill-{fill}"],
            color=self.theme.selection if chosen else colours[f"border-{fill}"],
            fontcolor=self.theme.muted if shadowed else self.theme.ink,
            penwidth="3" if chosen else "1.2",
        )

    def _lines(self, event: SessionEvent, across: float, shape: str, *, shadowed: bool) -> list[str]:
        """What is written beneath the kind: what a replacement stands for, then what the event says."""
        room = _room(across, shape)
        said = describe.headline(event, 120).removeprefix("error: ")
        originals = self.folds.originals.get(event.seq)
        if originals is not None:
            stands = f"stands for {_plural(originals, 'original')}"
            return [stands] if shadowed else [stands, fit(said, room)]
        return wrap(said, room, 1 if shadowed else 2)

    def _more(self, placed: Placed, place: tuple[float, float], into: graphviz.Digraph | None) -> None:
        seqs = self.selection.missing[placed.name]
        kinds = describe.count_kinds(Counter(describe.kind(self.events[seq]) for seq in seqs))
        small = placed.name in self.selection.notes
        lines = [] if small else wrap(kinds, _room(placed.width, "box"), 2 if placed.height >= HEIGHT else 1)
        self.drawing.node(
            *(placed.name, place, (placed.width, placed.height)),
            label(f"… {len(seqs):,} more", lines),
            classes="boxed centred more",
            tooltip=f"{len(seqs):,} more, {_listed(seqs)}\n{kinds}",
            into=into,
            style="rounded,dotted",
            color=self.theme.border_shadowed,
            fontcolor=self.theme.muted,
        )

    def _tip(self, event: SessionEvent) -> str:
        """The whole text of an event within bounds, and where it comes from."""
        lines = [f"{event.seq} {cut(one_line(event.type[:200]), 60)}"]
        behind = self.folds.shadowed.get(event.seq)
        if behind is not None:
            lines.append(
                f"took the place of {_plural(len(behind), 'node')} ({_listed(behind)}), "
                f"stands for {_plural(self.folds.originals[event.seq], 'original')}"
            )
        elif event.source_event_seqs:
            lines.append(f"from {_plural(len(event.source_event_seqs), 'event')}: {_listed(event.source_event_seqs)}")
        lines.append(describe.text(event, _TIP))
        return "\n".join(lines)


def _frame_line(frame: Frame, behind: Sequence[int], across: float) -> str:
    """The line at the edge of a frame, as markup, as long as its width lets it be."""
    down = f"{_plural(frame.skipped, 'level')} further down, " if frame.skipped else ""
    first, last = behind[0], behind[-1]
    where = f": {first} … {last}" if len(behind) > 1 else f": {first}"
    count = f", {_plural(len(behind), 'node')}" if across > 200 else ""
    return f"{down}shadowed by <b>{frame.owner}</b>{where}{count}"


def _room(across: float, shape: str) -> float:
    """How wide a line in a node of this width may be, in ems of the small font."""
    return (across - 8) * _ROOM.get(shape, 1.0) / _SMALL


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _listed(seqs: Iterable[int]) -> str:
    shown = list(islice(seqs, 13))
    return ", ".join(map(str, shown[:12])) + (", …" if len(shown) > 12 else "")
