"""What stands for what: the replacement forest, the surface at the left and level by level what lies behind it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.columns import stand
from dsh_session.views.diagrams.moment import check_window, ends_of, moment_of, surface_seq
from dsh_session.views.diagrams.selection import DEEPEST, Selection, Window
from dsh_session.views.diagrams.sheet import (
    TITLE,
    WIDTH,
    Sheet,
    ThemeName,
    listed,
    origin,
    plural,
    session_name,
)
from dsh_session.views.escape import dot_html
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    import graphviz

    from dsh_session.views.diagrams.columns import Column
    from dsh_session.views.diagrams.folds import Folds
    from dsh_session.views.diagrams.layout import Placed
    from dsh_session.views.diagrams.moment import Moment, Source

__all__ = ["replacements"]

_KEEP = 10
"""So many replacements of a list are shown, wherever they stand in it."""


def replacements(
    session: Source,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    inside: int = 5,
    levels: int | None = None,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw the replacement forest: what each node of the surface stands for, down to the original events.

    The surface is the left column, from head to tail. Right of a replacement stands a frame with what it took the
    place of; a replacement in there has its own frame further right, level by level. A long list is cut, and a
    dotted node counts what is missing; replacements are kept in it as long as there are few.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show the forest as it was right after the event of this seq; None for now.
        around: A seq that must be in the picture; frames are opened down to it. Where it is log-only, the surface
            event before it is meant.
        first: How many nodes of the surface are shown from the head on; 3, or 1 with `around`.
        last: How many nodes of it are shown at the tail; 5, or 1 with `around`.
        inside: How many nodes are shown of what a replacement shadows, at least 2.
        levels: How many levels of frames are opened. None opens three, or one where more than four replacements
            are on the surface. A replacement that stays folded has a dotted outline.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. Its nodes are named `n<seq>`, its frames `surface` and `shadowed-by-<seq>`, what is left out
        `more-<seq>` after the first seq that is missing.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Replace, Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", said, surface_op="append")
        >>> event = session.append("user/message", said, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> replacements(session)
        <Diagram: what stands for what in tour after seq 3: 2 surface nodes for 3 originals, 1 replacement, 1 level>

    See the seeds' "Surface types".
    """
    check_window(0, first=first, last=last, levels=levels)
    check_window(2, inside=inside)
    if levels is not None and levels > DEEPEST:
        raise ViewError("VIEW_WINDOW", f"levels={levels}: at most {DEEPEST} columns have room beside each other")
    moment = moment_of(session, at)
    chosen = surface_seq(moment.events, around)
    ends = ends_of(first, last, (3, 5) if chosen is None else (1, 1))
    window = Window(*ends, inside, levels, chosen, keep=_KEEP if chosen is None else 0, cited=False)
    return _Forest(moment, Selection(moment.events, moment.folds, window), theme).diagram(engine)


class _Forest:
    def __init__(self, moment: Moment, selection: Selection, theme: ThemeName) -> None:
        self.moment = moment
        self.selection = selection
        self.name = session_name(moment.name)
        self.sheet = Sheet("replacements", theme)
        placed = stand(selection.cells)
        shown = sum(selection.seqs.get(cell.name) is not None for cell in selection.cells)
        count = len(moment.folds.nodes)
        left_out = f", {shown:,} of its {count:,} nodes" if shown < count else ""
        after = f"after seq {len(moment.events) - 1:,}" if moment.events else "of an empty log"
        self.sheet.title(
            self.name,
            f"what stands for what: {self.counts()}",
            f"Left: the surface {after}{left_out}. Right of a replacement: what it took the place of, level by level.",
        )
        for frame in placed.frames:
            self._frame(frame)
        for path in placed.joints:
            seq = selection.seqs[path.tail]
            self.sheet.edge(
                path.tail,
                path.head,
                [(x, y + TITLE) for x, y in path.points],
                classes="e-stands-for",
                id=f"stands-for-{seq}",
                color=self.sheet.theme.stands_for,
                style="dotted" if selection.frames[path.tail].skipped else "dashed",
                penwidth="1.6",
            )
        legend.draw(self.sheet, self._key(), TITLE + placed.height + 14, max(WIDTH, placed.width))

    def diagram(self, engine: str | None) -> Diagram:
        after = f" after seq {len(self.moment.events) - 1}" if self.moment.events else ""
        return Diagram(self.sheet.graph, f"what stands for what in {self.name}{after}: {self.counts()}", engine=engine)

    def counts(self) -> str:
        folds = self.moment.folds
        originals = sum(folds.originals.get(seq, 1) for seq in folds.nodes)
        return (
            f"{plural(len(folds.nodes), 'surface node')} for {plural(originals, 'original')}, "
            f"{plural(len(folds.shadowed), 'replacement')}, {plural(_levels(folds), 'level')}"
        )

    def _frame(self, frame: Column) -> None:
        x, y = frame.corner
        corner, theme = (x, y + TITLE), self.sheet.theme
        if not frame.owner:
            cluster = self.sheet.frame(
                "surface",
                corner,
                frame.size,
                "<b>surface</b>, head to tail" if frame.nodes else "<b>surface</b>: empty",
                "the surface",
                ident="surface",
                classes="frame column",
                style="rounded",
                color=theme.border,
                penwidth="1.4",
            )
        else:
            owner = self.selection.frames[frame.owner]
            behind = self.moment.folds.shadowed[owner.owner]
            down = f"{owner.skipped} levels down, " if owner.skipped else ""
            cluster = self.sheet.frame(
                str(owner.owner),
                corner,
                frame.size,
                f"{dot_html(down)}{len(behind):,} shadowed by <b>{owner.owner}</b>",
                f"{plural(len(behind), 'node')} shadowed by {owner.owner}: {listed(behind)}",
            )
        for node in frame.nodes:
            self._node(node, live=not frame.owner, into=cluster)
        self.sheet.close(cluster)
        for path in frame.steps:
            missing = path.tail in self.selection.missing or path.head in self.selection.missing
            self.sheet.edge(
                path.tail,
                path.head,
                [(px, py + TITLE) for px, py in path.points],
                classes="e-shadowed" if frame.owner else "e-next",
                id=f"{path.tail}-{path.head}",
                color=theme.border_shadowed if frame.owner else theme.border,
                style="dotted" if missing else "solid",
            )

    def _node(self, node: Placed, *, live: bool, into: graphviz.Digraph) -> None:
        place, size = (node.x, node.y + TITLE), (node.width, node.height)
        events, folds = self.moment.events, self.moment.folds
        if node.name in self.selection.missing:
            self.sheet.more(node.name, events, self.selection.missing[node.name], place, size, into=into)
            return
        event = events[self.selection.seqs[node.name]]
        originals = folds.originals.get(event.seq)
        self.sheet.event(
            node.name,
            event,
            place,
            size,
            look="live" if live else "shadowed",
            note=f"stands for {plural(originals, 'original')}" if originals is not None else "",
            tip=origin(event, folds),
            folded=self.selection.is_folded(node.name),
            chosen=event.seq == self.selection.window.chosen,
            into=into,
        )

    def _key(self) -> list[legend.Entry]:
        chosen = self.selection
        kinds = Counter(describe.kind(self.moment.events[seq]) for seq in chosen.seqs.values())
        skipped = any(frame.skipped for frame in chosen.frames.values())
        return [
            *legend.of_kinds(kinds),
            legend.Entry("order", "next in the list", shape=False),
            *([legend.Entry("stands-for", "stands for all in the frame", shape=False)] if chosen.frames else []),
            *([legend.Entry("shadowed", "grey, dashed: shadowed", shape=False)] if chosen.frames else []),
            *(
                [legend.Entry("more", "dotted: left out or folded", shape=False)]
                if chosen.missing or skipped or any(map(chosen.is_folded, chosen.seqs))
                else []
            ),
            *([legend.Entry("chosen", "thick: asked for", shape=False)] if chosen.window.chosen is not None else []),
        ]


def _levels(folds: Folds) -> int:
    """How many replacements stand above each other, at most."""
    depths: dict[int, int] = {}
    for seq, behind in folds.shadowed.items():  # in log order: what is behind comes first
        depths[seq] = 1 + max((depths.get(node, 0) for node in behind), default=0)
    return max(depths.values(), default=0)
