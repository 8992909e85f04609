"""The surface as a picture: a linked list, and behind each summary what it took the place of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.drawing import label
from dsh_session.views.diagrams.layout import arrange
from dsh_session.views.diagrams.measure import fit, width, wrap
from dsh_session.views.diagrams.moment import check_window, ends_of, moment_of, surface_seq
from dsh_session.views.diagrams.selection import DEEPEST, Selection, Window
from dsh_session.views.diagrams.sheet import (
    SMALL,
    TITLE,
    WIDTH,
    Sheet,
    ThemeName,
    listed,
    origin,
    plural,
    session_name,
    tooltip,
)
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import graphviz

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.diagrams.layout import Block, Path, Placed, Point
    from dsh_session.views.diagrams.moment import Moment, Source
    from dsh_session.views.diagrams.selection import Frame

__all__ = ["surface"]


def surface(
    session: Source,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    inside: int = 3,
    levels: int | None = None,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw the surface: what the model sees, in its order, as the linked list that it is.

    The list runs from head to tail, in rows that are read like a text. Behind each replacement stands a frame with the
    nodes that it took the place of; a replacement among them has its own frame inside. Dashed arrows lead from a
    replacement to what it stands for and to the log-only events that it cites. Everything else in the log is counted.
    What is left out of a long list is a dotted node that says how many of what it hides.

    Args:
        session: A session, live or loaded, or a `SurfaceHistory`.
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
    moment = moment_of(session, at)
    check_window(0, first=first, last=last, levels=levels)
    check_window(2, inside=inside)
    if levels is not None and levels > DEEPEST:
        raise ViewError("VIEW_WINDOW", f"levels={levels}: at most {DEEPEST} frames have room inside each other")
    chosen = surface_seq(moment.events, around)
    window = Window(*ends_of(first, last, (3, 12) if chosen is None else (1, 1)), inside, levels, chosen)
    picture = _Picture(moment, Selection(moment.events, moment.folds, window), theme)
    return Diagram(picture.sheet.graph, picture.description, engine=engine)


class _Picture:
    """One drawing of a selection: its cells are arranged, then everything is drawn in its place."""

    def __init__(self, moment: Moment, selection: Selection, theme: ThemeName) -> None:
        self.name = session_name(moment.name)
        self.selection = selection
        self.events = selection.events
        self.folds = selection.folds
        self.sheet = Sheet("surface", theme)
        block = arrange(selection.cells, WIDTH)
        self._title()
        self._block(block, TITLE, shadowed=False, into=None)
        self._ends(block)
        below = TITLE + max(block.height, 24.0) + 18
        aside = self._aside()
        for at, line in enumerate(aside):
            self.sheet.line(f"log-only-{at}" if at else "log-only", line, 0, below + 13 * at, WIDTH, markup=False)
        legend.draw(self.sheet, self._key(), below + 13 * len(aside) + 4, WIDTH)

    @property
    def description(self) -> str:
        """What is to be seen, in a line."""
        after = f" after seq {len(self.events) - 1}" if self.events else ""
        return f"surface of {self.name}{after}: {self._counts()}"

    def _counts(self) -> str:
        folds = self.folds
        return f"{plural(len(folds.nodes), 'node')}, {plural(len(folds.shadowed), 'replacement')}"

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
        counts = describe.kinds([event for event in self.events if event.surface_op is None])
        if not counts:
            return []
        words = f"Aside, in the log only: {describe.count_kinds(counts)}."
        return wrap(words, (WIDTH - 20) / SMALL, 3)

    def _title(self) -> None:
        count = len(self.folds.nodes)
        moment = f"after seq {len(self.events) - 1:,}: {self._counts()}" if self.events else "of an empty log"
        said = f"What the model sees, from head to tail. {plural(len(self.events), 'event')} in the log"
        shown = self.selection.shown
        said += f"; {shown:,} of {plural(count, 'node')} shown." if shown < count else "."
        self.sheet.title(self.name, f"surface {moment}", said)

    def _ends(self, block: Block) -> None:
        """The words `head` and `tail`, and their arrows; of an empty list nothing but these."""
        middle = TITLE + 12
        head_y = TITLE + block.first.y if block.first else middle
        self._end("head", 13, head_y)
        if block.first is None or block.last is None:
            self._end("tail", 80, middle)
            self.sheet.edge("head", "tail", [(27, middle), (66, middle)], classes="e-end")
            return
        start = block.first.x - block.first.width / 2
        self.sheet.edge("head", block.first.name, [(27, head_y), (start, head_y)], classes="e-end")
        end, y = block.last.x + block.last.width / 2, TITLE + block.last.y
        self._end("tail", end + 31, y)
        self.sheet.edge(block.last.name, "tail", [(end, y), (end + 18, y)], classes="e-end")

    def _end(self, name: str, x: float, y: float) -> None:
        text = label(name)
        self.sheet.node(
            name, (x, y), (27, 14), text, classes="muted", shape="plaintext", style="", fontcolor=self.sheet.theme.muted
        )

    def _block(self, block: Block, y: float, *, shadowed: bool, into: graphviz.Digraph | None) -> None:
        for placed in block.nodes:
            self._node(placed, y, shadowed=shadowed, into=into)
        for box in block.boxes:
            frame = self.selection.frames[box.owner]
            behind = self.folds.shadowed[frame.owner]
            cluster = self.sheet.frame(
                str(frame.owner),
                (box.x, box.y + y),
                (box.width, box.height),
                _frame_line(frame, behind, box.width),
                f"{plural(len(behind), 'node')} shadowed by {frame.owner}: {listed(behind)}",
            )
            self._block(box.block, y, shadowed=True, into=cluster)
            self.sheet.close(cluster, into)
        for path in block.paths:
            self._edge(path, y, shadowed=shadowed)

    def _edge(self, path: Path, y: float, *, shadowed: bool) -> None:
        points = [(px, py + y) for px, py in path.points]
        theme, missing = self.sheet.theme, self.selection.missing
        if path.role == "stands-for":
            frame = self.selection.frames[path.tail]
            self.sheet.edge(
                *(path.tail, path.head, points),
                classes="e-stands-for",
                id=f"stands-for-{self.selection.seqs[path.tail]}",
                color=theme.stands_for,
                style="dotted" if frame.skipped else "dashed",
                penwidth="1.6",
                lhead=f"cluster_{frame.owner}",
            )
        elif path.role == "cites":
            self.sheet.edge(
                *(path.tail, path.head, points),
                classes="e-stands-for",
                id=f"cites-{self.selection.seqs[path.tail]}-{path.head}",
                color=theme.stands_for,
                style="dashed",
            )
        else:
            style = "dotted" if path.tail in missing or path.head in missing else "solid"
            self.sheet.edge(
                *(path.tail, path.head, points),
                classes="e-shadowed" if shadowed else "e-next",
                both=not shadowed,
                id=f"{path.tail}-{path.head}",
                color=theme.border_shadowed if shadowed else theme.border,
                style=style,
            )

    def _node(self, placed: Placed, y: float, *, shadowed: bool, into: graphviz.Digraph | None) -> None:
        place, size = (placed.x, placed.y + y), (placed.width, placed.height)
        missing = self.selection.missing.get(placed.name)
        if missing is not None:
            self.sheet.more(placed.name, self.events, missing, place, size, into=into)
            return
        event = self.events[self.selection.seqs[placed.name]]
        if placed.name in self.selection.notes:
            self._note(placed, event, place, size)
            return
        originals = self.folds.originals.get(event.seq)
        self.sheet.event(
            placed.name,
            event,
            place,
            size,
            look="shadowed" if shadowed else "live",
            note="" if originals is None else f"stands for {plural(originals, 'original')}",
            tip=origin(event, self.folds),
            folded=self.selection.is_folded(placed.name),
            chosen=event.seq == self.selection.window.chosen,
            into=into,
        )

    def _note(self, placed: Placed, event: SessionEvent, place: Point, size: tuple[float, float]) -> None:
        """A small node for an event that is cited only."""
        number = str(event.seq)
        said = fit(describe.headline(event, 60), (placed.width - 12) / 8.5 - 1.1 * width(f"{number}  "))
        self.sheet.node(
            *(placed.name, place, size),
            label(said, bold=number),
            classes="boxed centred log-only",
            tooltip=tooltip(event, origin(event, self.folds)),
            style="filled,dotted",
            color=self.sheet.theme.border_shadowed,
            fontcolor=self.sheet.theme.muted,
            fontsize="8.5",
        )


def _frame_line(frame: Frame, behind: Sequence[int], across: float) -> str:
    """The line at the edge of a frame, as markup, as long as its width lets it be."""
    down = f"{plural(frame.skipped, 'level')} further down, " if frame.skipped else ""
    first, last = behind[0], behind[-1]
    where = f": {first} … {last}" if len(behind) > 1 else f": {first}"
    count = f", {plural(len(behind), 'node')}" if across > 200 else ""
    return f"{down}shadowed by <b>{frame.owner}</b>{where}{count}"
