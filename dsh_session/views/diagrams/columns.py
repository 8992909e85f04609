"""Where things stand when one level stands beside the other: a list in a column, right of it what lies behind it.

Places are computed in one pass. The frame behind a node stands as near to it as the frames above it let it be, in
the next column; since frames keep the order of their owners, no two lines cross.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views.diagrams.layout import Path, Placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.views.diagrams.layout import Cell, Point

__all__ = ["CELL", "Column", "Columns", "stand"]

CELL: Final = 132.0
"""The width of a node, in points: four columns are as wide as a page."""
_PAD: Final = 10.0
_GUTTER: Final = 38.0
_PITCH: Final = CELL + 2 * _PAD + _GUTTER
_TOP: Final = 24.0
_BOTTOM: Final = 10.0
_GAP: Final = 16.0
_FRAME_GAP: Final = 14.0


class Column(NamedTuple):
    """A frame with a list in it.

    Attributes:
        owner: The name of the node that it hangs from; empty for the first.
        corner: Its upper left corner.
        size: Its width and height.
        nodes: What stands in it, from above.
        steps: The lines from each to the next.
    """

    owner: str
    corner: Point
    size: tuple[float, float]
    nodes: list[Placed]
    steps: list[Path]


@dataclass(slots=True)
class Columns:
    """Lists that have been placed.

    Attributes:
        width: The room they take.
        height: The same, downwards.
        frames: The frames, each after the one that it hangs from.
        joints: The lines from a node to its frame.
    """

    width: float = 0.0
    height: float = 0.0
    frames: list[Column] = field(default_factory=list)
    joints: list[Path] = field(default_factory=list)


def stand(cells: Sequence[Cell]) -> Columns:
    """Place a list and, level by level, what lies behind its nodes.

    Args:
        cells: The nodes from head to tail.

    Returns:
        The columns, from the upper left corner on.

    Example:
        >>> from dsh_session.views.diagrams.layout import Cell
        >>> placed = stand([Cell("n3", 40.0, behind=[Cell("n0", 40.0), Cell("n1", 40.0)])])
        >>> [(frame.owner, frame.corner) for frame in placed.frames]
        [('', (0.0, 0.0)), ('n3', (190.0, 0.0))]
    """
    result = Columns()
    below: list[float] = []
    joints: list[list[tuple[Placed, Column]]] = []
    # A stack instead of recursion: a hostile log nests as deep as it likes.
    waiting: list[tuple[Placed | None, Sequence[Cell], int]] = [(None, cells, 0)]
    while waiting:
        owner, chain, level = waiting.pop()
        if level == len(below):
            below.append(-_FRAME_GAP)
            joints.append([])
        wanted = 0.0 if owner is None else owner.y - owner.height / 2 - _TOP
        top = max(wanted, below[level] + _FRAME_GAP, 0.0)
        column = _column(owner.name if owner else "", chain, level * _PITCH, top)
        below[level] = top + column.size[1]
        result.frames.append(column)
        result.width = max(result.width, column.corner[0] + column.size[0])
        result.height = max(result.height, below[level])
        if owner is not None:
            joints[level].append((owner, column))
        hanging = [
            (node, cell.behind, level + 1) for node, cell in zip(column.nodes, chain, strict=True) if cell.behind
        ]
        waiting.extend(reversed(hanging))
    for between in joints:
        result.joints.extend(_joints(between))
    return result


def _column(owner: str, chain: Sequence[Cell], x: float, top: float) -> Column:
    nodes: list[Placed] = []
    y = top + _TOP
    for cell in chain:
        nodes.append(Placed(cell.name, x + _PAD + CELL / 2, y + cell.height / 2, CELL, cell.height))
        y += cell.height + _GAP
    height = y - _GAP + _BOTTOM - top if chain else _TOP + _BOTTOM
    steps = [
        Path(a.name, b.name, "step", [(a.x, a.y + a.height / 2), (b.x, b.y - b.height / 2)]) for a, b in pairwise(nodes)
    ]
    return Column(owner, (x, top), (CELL + 2 * _PAD, height), nodes, steps)


def _joints(level: list[tuple[Placed, Column]]) -> list[Path]:
    """The lines into the frames of a column; each that must go down has a lane of its own, the lower the more left."""
    paths: list[Path] = []
    lanes = max(len(level), 1)
    for at, (owner, column) in enumerate(level):
        start = (owner.x + owner.width / 2, owner.y)
        left, top = column.corner
        y = min(max(owner.y, top + 12), top + column.size[1] - 8)
        lane = start[0] + _PAD + 4 + (_GUTTER - 18) * (lanes - at - 0.5) / lanes
        points = [start, (left, y)] if y == owner.y else [start, (lane, owner.y), (lane, y), (left, y)]
        paths.append(Path(owner.name, column.nodes[0].name, "joint", points))
    return paths
