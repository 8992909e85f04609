"""What a picture of a surface shows of it: which nodes, which frames, and what is counted instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views.diagrams.layout import Cell
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.diagrams.folds import Folds

__all__ = ["DEEPEST", "HEIGHT", "HEIGHT_BEHIND", "Frame", "Selection", "Window"]

HEIGHT: Final = 46.0
"""The height of a node of the list itself, in points."""
HEIGHT_BEHIND: Final = 34.0
"""The height of a node in a frame."""
DEEPEST: Final = 12
"""More levels than these have no room inside each other."""

_SPAN: Final = 3
_MANY = 4
# On the way down to a chosen node so many levels are opened, then the last one.
_WAY: Final = 4
_NOTES: Final = 2


class Window(NamedTuple):
    """How much is to be shown.

    Attributes:
        first: So many nodes from the head on.
        last: So many nodes at the tail.
        inside: So many nodes in a frame.
        levels: So many levels of frames; None for as many as are easy to look through.
        chosen: A seq that must be there.
        keep: So many replacements of a list are shown wherever they stand in it.
        cited: Whether events that are cited only stand beneath the replacement.
    """

    first: int
    last: int
    inside: int
    levels: int | None
    chosen: int | None
    keep: int = 0
    cited: bool = True


class Frame(NamedTuple):
    """A frame that is open.

    Attributes:
        owner: The replacement whose nodes stand in it.
        skipped: How many levels lie between it and the node that it hangs from.
    """

    owner: int
    skipped: int


@dataclass(slots=True)
class Selection:
    """The nodes to be drawn, and by their names what each one is.

    Attributes:
        events: The log, up to the moment that is shown.
        folds: Its surface and what lies behind it.
        window: How much is to be shown.
        cells: The list, what stands behind its nodes included.
        seqs: The seq of each node that is an event.
        missing: The seqs that a dotted node stands for.
        notes: The nodes that are cited only.
        frames: The open frame behind a node.
    """

    events: Sequence[SessionEvent]
    folds: Folds
    window: Window
    cells: list[Cell] = field(init=False)
    seqs: dict[str, int] = field(init=False, default_factory=dict)
    missing: dict[str, Sequence[int]] = field(init=False, default_factory=dict)
    notes: set[str] = field(init=False, default_factory=set)
    frames: dict[str, Frame] = field(init=False, default_factory=dict)
    _way: list[int] = field(init=False, default_factory=list)
    _levels: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        window = self.window
        if window.chosen is not None:
            self._way = self.folds.path(window.chosen)
        parts = self._parts(self.folds.nodes, window.first, window.last, _SPAN)
        replaced = sum(type(part) is int and self.folds.nodes[part] in self.folds.shadowed for part in parts)
        # Many frames above each other are easier to look through where each of them is small.
        self._levels = (3 if replaced <= _MANY else 1) if window.levels is None else window.levels
        self.cells = self._chain(self.folds.nodes, parts, level=0)

    @property
    def shown(self) -> int:
        """How many nodes of the surface itself are shown."""
        return sum(cell.name in self.seqs for cell in self.cells)

    def is_folded(self, name: str) -> bool:
        """Whether a node is a replacement whose frame is not open."""
        return self.seqs.get(name) in self.folds.shadowed and name not in self.frames and name not in self.notes

    def _parts(self, seqs: Sequence[int], first: int, last: int, span: int) -> list[int | Gap]:
        way = set(self._way)
        around = next((at for at, seq in enumerate(seqs) if seq in way), None) if way else None
        kept = (at for at, seq in enumerate(seqs) if seq in self.folds.shadowed)
        also = islice(kept, self.window.keep)
        return choose(len(seqs), first=first, last=last, around=around, span=span, also=also)

    def _chain(self, seqs: Sequence[int], parts: list[int | Gap], *, level: int) -> list[Cell]:
        return [
            self._gap(seqs[part.start : part.stop], level) if isinstance(part, Gap) else self._cell(seqs[part], level)
            for part in parts
        ]

    def _gap(self, seqs: Sequence[int], level: int) -> Cell:
        name = f"more-{seqs[0]}"
        self.missing[name] = seqs
        return Cell(name, HEIGHT_BEHIND if level else HEIGHT)

    def _cell(self, seq: int, level: int) -> Cell:
        name = f"n{seq}"
        self.seqs[name] = seq
        cell = Cell(name, HEIGHT_BEHIND if level else HEIGHT)
        frame = self._frame(seq, level)
        if frame is not None:
            self.frames[name] = frame
            seqs = self.folds.shadowed[frame.owner]
            last = max(self.window.inside // 3, 1)
            parts = self._parts(seqs, self.window.inside - last, last, 1)
            cell.behind = self._chain(seqs, parts, level=level + 1)
            if self.window.cited:
                cell.notes = self._cited(seq)
        return cell

    def _frame(self, seq: int, level: int) -> Frame | None:
        """The frame that is opened behind a node at a level, if one is."""
        if seq not in self.folds.shadowed:
            return None
        if seq in self._way[:-1]:
            skipped = len(self._way) - 2 - self._way.index(seq)
            if level >= _WAY and skipped > 0:
                return Frame(self._way[-2], skipped)
            return Frame(seq, 0)
        return Frame(seq, 0) if level < self._levels else None

    def _cited(self, seq: int) -> list[str]:
        """The events that a replacement cites besides what it shadows, as names of small nodes."""
        shadowed = set(self.folds.shadowed[seq])
        others = [source for source in self.events[seq].source_event_seqs or () if source not in shadowed]
        names = []
        for source in others[:_NOTES]:
            # A node of the surface has its name already, or will have it; so has an event that is cited twice.
            own = self.events[source].surface_op is None and f"n{source}" not in self.seqs
            name = f"n{source}" if own else f"n{source}-of-{seq}"
            self.seqs[name] = source
            names.append(name)
        if len(others) > _NOTES:
            name = f"more-sources-{seq}"
            self.missing[name] = others[_NOTES:]
            names.append(name)
        self.notes.update(names)
        return names
