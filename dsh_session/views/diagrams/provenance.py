"""Where a message comes from: the events that it cites, what those cite, and so on down to the chunks."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.columns import stand
from dsh_session.views.diagrams.layout import Cell
from dsh_session.views.diagrams.moment import check_seq, check_window, moment_of
from dsh_session.views.diagrams.selection import DEEPEST, HEIGHT, HEIGHT_BEHIND
from dsh_session.views.diagrams.sheet import TITLE, WIDTH, Sheet, ThemeName, listed, plural, session_name
from dsh_session.views.window import Gap, ViewError, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    import graphviz

    from dsh_session.views.diagrams.columns import Column
    from dsh_session.views.diagrams.layout import Placed
    from dsh_session.views.diagrams.moment import Moment, Source
    from dsh_session.views.diagrams.sheet import Look

__all__ = ["provenance"]

_KEEP = 3
"""So many replacements are shown, wherever on the surface they stand."""


def provenance(
    session: Source,
    seq: int | None = None,
    *,
    at: int | None = None,
    first: int = 1,
    last: int = 4,
    inside: int = 5,
    levels: int = 3,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw which events a message comes from: its `sourceEventSeqs`, theirs, and so on, column by column.

    Chunks that follow each other are one dotted node with their number. What comes from something but is not opened
    (because it is opened elsewhere in the picture, or too far down) has a dotted outline.

    Args:
        session: A session, or a `SurfaceHistory`.
        seq: The event to be explained; None for the messages of the surface.
        at: Show the surface as it was right after the event of this seq; None for now.
        first: How many nodes of the surface are shown from the head on, where `seq` is None.
        last: How many nodes of it are shown at the tail.
        inside: How many sources of a message are shown, at least 2; a run of chunks counts as one.
        levels: How many levels of sources are opened.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. Its nodes are named `n<seq>` (`n<seq>-of-<owner>` where one is cited again), a run of chunks
        `chunks-<seq>`, its frames `sources-of-<seq>`, what is left out `more-<seq>`.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> for sources in (None, [0]):
        ...     event = session.append("user/message", said, surface_op="append", source_event_seqs=sources)
        >>> provenance(session, 1)
        <Diagram: where 1 of tour comes from: 1 event>

    See the seeds' "Session events" (`sourceEventSeqs`).
    """
    check_window(0, first=first, last=last, levels=levels)
    check_window(2, inside=inside)
    if levels > DEEPEST:
        raise ViewError("VIEW_WINDOW", f"levels={levels}: at most {DEEPEST} columns have room beside each other")
    moment = moment_of(session, at)
    if seq is not None:
        check_seq("seq", seq, len(moment.events))
    return _Sources(moment, _Limits(first, last, inside, levels), seq, theme).diagram(engine)


class _Limits(NamedTuple):
    first: int
    last: int
    inside: int
    levels: int


class _Sources:
    def __init__(self, moment: Moment, limits: _Limits, seq: int | None, theme: ThemeName) -> None:
        self.moment = moment
        self.limits = limits
        self.chosen = seq
        self.name = session_name(moment.name)
        self.on_surface = frozenset(moment.folds.nodes)
        self.seqs: dict[str, int] = {}
        self.missing: dict[str, Sequence[int]] = {}
        self.chunks: dict[str, Sequence[int]] = {}
        self.closed: set[str] = set()
        self._opened: set[int] = set()
        self.sheet = Sheet("provenance", theme)
        roots = self._roots()
        self._open_all(roots)
        placed = stand(roots)
        self._title()
        for frame in placed.frames:
            self._frame(frame)
        for path in placed.joints:
            self.sheet.edge(
                path.tail,
                path.head,
                [(x, y + TITLE) for x, y in path.points],
                classes="e-comes-from",
                id=f"comes-from-{path.tail}",
                color=self.sheet.theme.stands_for,
                style="dashed",
                penwidth="1.6",
            )
        legend.draw(self.sheet, self._key(), TITLE + placed.height + 14, max(WIDTH, placed.width))

    def diagram(self, engine: str | None) -> Diagram:
        if self.chosen is None:
            after = f" after seq {len(self.moment.events) - 1}" if self.moment.events else ""
            words = f"where the surface of {self.name}{after} comes from"
        else:
            count = plural(len(self._behind(self.chosen)), "event")
            words = f"where {self.chosen} of {self.name} comes from: {count}"
        return Diagram(self.sheet.graph, words, engine=engine)

    def _title(self) -> None:
        nodes = self.moment.folds.nodes
        said = "Right of a message: the events that it cites as its sources (sourceEventSeqs), and theirs."
        if self.chosen is None:
            if self._roots_shown < len(nodes):
                said += f" {self._roots_shown:,} of {plural(len(nodes), 'node')} shown."
            self.sheet.title(self.name, "where the surface comes from", said)
        else:
            count = plural(len(self._behind(self.chosen)), "event")
            self.sheet.title(self.name, f"where event {self.chosen} comes from: {count}", said)

    def _roots(self) -> list[Cell]:
        nodes = self.moment.folds.nodes if self.chosen is None else [self.chosen]
        kept = [at for at, seq in enumerate(nodes) if seq in self.moment.folds.shadowed][:_KEEP]
        cells: list[Cell] = []
        first = self.limits.first if self.chosen is None else 1
        for part in choose(len(nodes), first=first, last=self.limits.last, also=kept):
            if isinstance(part, Gap):
                cells.append(self._gap(nodes[part.start : part.stop], HEIGHT))
            else:
                cells.append(self._cell(nodes[part], HEIGHT, 0))
        self._roots_shown = sum(cell.name in self.seqs for cell in cells)
        return cells

    def _gap(self, seqs: Sequence[int], height: float) -> Cell:
        name = self._free(f"more-{seqs[0]}")
        self.missing[name] = seqs
        return Cell(name, height)

    def _cell(self, seq: int, height: float, owner: int) -> Cell:
        name = f"n{seq}"
        if name in self.seqs:
            name = self._free(f"n{seq}-of-{owner}")
        self.seqs[name] = seq
        return Cell(name, height)

    def _free(self, name: str) -> str:
        """The name, or one like it that is not taken yet."""
        taken, at, tried = {**self.seqs, **self.missing, **self.chunks}, 2, name
        while tried in taken:
            tried, at = f"{name}-{at}", at + 1
        return tried

    def _open_all(self, roots: list[Cell]) -> None:
        """Put behind each cell what it cites, level by level, so that an event is opened where it is nearest."""
        row = roots
        for level in range(self.limits.levels + 1):
            following: list[Cell] = []
            for cell in row:
                seq = self.seqs.get(cell.name)
                if seq is None or not self._cited(seq):
                    continue
                if level == self.limits.levels or seq in self._opened:
                    self.closed.add(cell.name)
                    continue
                self._opened.add(seq)
                cell.behind = self._sources(seq)
                following += cell.behind
            row = following

    def _cited(self, seq: int) -> list[int]:
        """The sources of an event that lie before it, which all do in a sound log."""
        return [source for source in self.moment.events[seq].source_event_seqs or () if 0 <= source < seq]

    def _behind(self, seq: int) -> set[int]:
        """All that an event comes from, through all levels."""
        found: set[int] = set()
        waiting = [seq]
        while waiting:
            for source in self._cited(waiting.pop()):
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        return found

    def _sources(self, owner: int) -> list[Cell]:
        runs = [
            [seq for _, seq in group]
            for _, group in groupby(enumerate(self._cited(owner)), lambda item: self._run_of(*item))
        ]
        last = max(self.limits.inside // 3, 1)
        cells: list[Cell] = []
        for part in choose(len(runs), first=self.limits.inside - last, last=last):
            if isinstance(part, Gap):
                cells.append(self._gap([seq for run in runs[part.start : part.stop] for seq in run], HEIGHT_BEHIND))
            elif len(runs[part]) > 1:
                name = self._free(f"chunks-{runs[part][0]}")
                self.chunks[name] = runs[part]
                cells.append(Cell(name, HEIGHT_BEHIND))
            else:
                cells.append(self._cell(runs[part][0], HEIGHT_BEHIND, owner))
        return cells

    def _run_of(self, at: int, seq: int) -> tuple[str, int]:
        """The same for neighbours that are chunks, different for everything else."""
        is_chunk = self.moment.events[seq].type == "assistant/chunk"
        return ("chunk", 0) if is_chunk else ("", at)

    def _look(self, seq: int) -> Look:
        if seq in self.on_surface:
            return "live"
        return "shadowed" if seq in self.moment.folds.shadowed_by else "log-only"

    def _frame(self, frame: Column) -> None:
        x, y = frame.corner
        theme = self.sheet.theme
        if frame.owner:
            seq = self.seqs[frame.owner]
            cited = self._cited(seq)
            kinds = describe.count_kinds(Counter(describe.kind(self.moment.events[source]) for source in cited))
            name, head = f"sources-of-{seq}", f"{len(cited):,} cited by <b>{seq}</b>"
            tip = f"{plural(len(cited), 'source')} of {seq}: {listed(cited)}\n{kinds}"
        else:
            name, tip = "messages", "what is explained"
            head = "<b>surface</b>, head to tail" if self.chosen is None else "asked for"
        cluster = self.sheet.frame(
            name,
            (x, y + TITLE),
            frame.size,
            head,
            tip,
            ident=name,
            classes="frame column",
            style="rounded",
            color=theme.border,
            penwidth="1" if frame.owner else "1.4",
        )
        for node in frame.nodes:
            self._node(node, cluster)
        self.sheet.close(cluster)

    def _node(self, node: Placed, into: graphviz.Digraph) -> None:
        place, size = (node.x, node.y + TITLE), (node.width, node.height)
        events = self.moment.events
        if node.name in self.missing:
            self.sheet.more(node.name, events, self.missing[node.name], place, size, into=into)
        elif node.name in self.chunks:
            seqs = self.chunks[node.name]
            self.sheet.more(node.name, events, seqs, place, size, head=plural(len(seqs), "chunk"), into=into)
        else:
            event = events[self.seqs[node.name]]
            cited = self._cited(event.seq)
            self.sheet.event(
                node.name,
                event,
                place,
                size,
                look=self._look(event.seq),
                note="cites nothing" if not cited and size[1] > HEIGHT_BEHIND else "",
                tip=f"comes from {plural(len(cited), 'event')}: {listed(cited)}" if cited else "cites no event",
                folded=node.name in self.closed,
                chosen=event.seq == self.chosen,
                into=into,
            )

    def _key(self) -> list[legend.Entry]:
        looks = {self._look(seq) for seq in self.seqs.values()}
        kinds = {describe.kind(self.moment.events[seq]) for seq in self.seqs.values()}
        result = legend.of_kinds(kinds)
        if self._opened:
            result.append(legend.Entry("comes-from", "comes from all in the frame", shape=False))
        if "shadowed" in looks:
            result.append(legend.Entry("shadowed", "grey, dashed: shadowed", shape=False))
        if "log-only" in looks:
            result.append(legend.Entry("log-only", "thin: in the log only", shape=False))
        if self.missing or self.chunks or self.closed:
            result.append(legend.Entry("more", "dotted: counted or not opened", shape=False))
        if self.chosen is not None:
            result.append(legend.Entry("chosen", "thick: asked for", shape=False))
        return result
