"""Where things stand: a linked list set in rows like a text, and beneath each row the frames that belong to it.

Graphviz's own layouts make one long strip of a list. Here the places are computed, in one pass, and handed to
Graphviz to be drawn (`layout=nop2`), so that they are the same in every engine.

Lengths are points, x to the right and y down, from the upper left corner of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

__all__ = ["CELL", "CELL_BEHIND", "RAIL", "Block", "Box", "Cell", "Path", "Placed", "Point", "arrange"]

CELL: Final = 136.0
"""The width of a node of the list itself."""
CELL_BEHIND: Final = 124.0
"""The width of a node in a frame: four fit beside each other, three frames deep."""
_GAP: Final = 22.0
_GAP_BEHIND: Final = 18.0
RAIL: Final = 44.0
"""On either side of the outermost list: room for `head`, `tail` and the lines that lead from row to row."""
_INNER_RAIL: Final = 15.0
_ROW_GAP: Final = 24.0
_SHELF_GAP: Final = 26.0
_FRAME_TOP: Final = 24.0
_FRAME_BOTTOM: Final = 12.0
_FRAME_GAP: Final = 12.0
_NOTE_HEIGHT: Final = 18.0
_NOTE_WIDTH: Final = 160.0
_NOTE_GAP: Final = 8.0

Point: TypeAlias = tuple[float, float]


@dataclass(slots=True)
class Cell:
    """What is to be placed: one node of a list.

    Attributes:
        name: Its name in the DOT text.
        height: The height of its outline, in points.
        behind: The list that it took the place of, if it is shown.
        notes: Names of small nodes that stand beneath it, which it cites.
    """

    name: str
    height: float
    behind: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Placed(NamedTuple):
    """A node in its place: the middle of its outline, and its size."""

    name: str
    x: float
    y: float
    width: float
    height: float


class Path(NamedTuple):
    """A line from node to node, along its corners."""

    tail: str
    head: str
    role: str
    points: list[Point]


class Box(NamedTuple):
    """A frame with all that is in it, placed in its parent."""

    owner: str
    x: float
    y: float
    width: float
    height: float
    block: Block


@dataclass(slots=True)
class Block:
    """A list that has been set.

    Attributes:
        width: The room it takes.
        height: The same, downwards.
        nodes: The nodes of the list, row by row, and the notes beneath them.
        paths: All lines but those inside frames.
        boxes: The frames, each with a block of its own.
        first: The first node of the list, if there is one.
        last: Its last node.
    """

    width: float = 0.0
    height: float = 0.0
    nodes: list[Placed] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    first: Placed | None = None
    last: Placed | None = None


@dataclass(slots=True)
class _Hanging:
    """A frame and the notes of one node, not yet placed."""

    cell: Cell
    frame: Block | None
    width: float
    height: float


def arrange(cells: list[Cell], width: float, *, behind: bool = False) -> Block:
    """Set a list in rows, everything behind its nodes included.

    Args:
        cells: The nodes from head to tail.
        width: The width that must not be exceeded, in points; one node per row fits in any case.
        behind: Whether the list stands in a frame: smaller, and without room for `head` and `tail`.

    Returns:
        The block: nodes, frames and lines.

    Example:
        >>> block = arrange([Cell(f"n{seq}", 40.0) for seq in range(3)], 400.0)
        >>> [(node.name, node.x, node.y) for node in block.nodes]
        [('n0', 112.0, 20.0), ('n1', 270.0, 20.0), ('n2', 112.0, 84.0)]
    """
    rail, cell, gap = (_INNER_RAIL, CELL_BEHIND, _GAP_BEHIND) if behind else (RAIL, CELL, _GAP)
    per_row = max(1, int((width - 2 * rail + gap) // (cell + gap)))
    hangings = [_hang(each, width - 2 * rail) for each in cells]
    block = Block()
    right = 0.0
    y = 0.0
    for row in _rows(hangings, per_row, width - 2 * rail):
        if block.nodes:
            y += _ROW_GAP
        height = max(hanging.cell.height for hanging in row)
        placed = [
            Placed(hanging.cell.name, rail + at * (cell + gap) + cell / 2, y + height / 2, cell, hanging.cell.height)
            for at, hanging in enumerate(row)
        ]
        if block.last:
            block.paths.append(_turn(block.last, placed[0], width, rail, y - _ROW_GAP / 2))
        block.paths.extend(_step(left, next_) for left, next_ in pairwise(placed))
        block.first = block.first or placed[0]
        block.last = placed[-1]
        block.nodes.extend(placed)
        right = max(right, placed[-1].x + cell / 2)
        y += height
        shelf = [(node, hanging) for node, hanging in zip(placed, row, strict=True) if hanging.width]
        if shelf:
            right = max(right, _shelve(block, shelf, rail, width - rail, y + _SHELF_GAP))
            y += _SHELF_GAP + max(hanging.height for _, hanging in shelf)
    # A single row needs no room for lines that turn.
    several = any(path.role == "turn" for path in block.paths)
    block.width = width if several else min(width, right + rail)
    block.height = y
    return block


def _hang(cell: Cell, room: float) -> _Hanging:
    notes_width = len(cell.notes) * (_NOTE_WIDTH + _NOTE_GAP) + 20 if cell.notes else 0.0
    notes_height = _NOTE_HEIGHT + _NOTE_GAP if cell.notes else 0.0
    if not cell.behind:
        return _Hanging(cell, None, notes_width, notes_height)
    frame = arrange(cell.behind, room, behind=True)
    return _Hanging(
        cell, frame, max(frame.width, notes_width), notes_height + _FRAME_TOP + frame.height + _FRAME_BOTTOM
    )


def _rows(hangings: list[_Hanging], per_row: int, room: float) -> list[list[_Hanging]]:
    """Break the list where a row is full, or where what hangs beneath it would not fit side by side."""
    rows: list[list[_Hanging]] = []
    used = 0.0
    for hanging in hangings:
        more = hanging.width + _FRAME_GAP if hanging.width else 0.0
        if not rows or len(rows[-1]) == per_row or (used and more and used + more > room + _FRAME_GAP):
            rows.append([])
            used = 0.0
        rows[-1].append(hanging)
        used += more
    return rows


def _shelve(block: Block, shelf: list[tuple[Placed, _Hanging]], left: float, right: float, y: float) -> float:
    """Place frames side by side, each as near to its node as the others let it be."""
    xs: list[float] = []
    at = left
    for node, hanging in shelf:
        at = max(at, node.x - node.width / 2 if len(shelf) > 1 or hanging.width < 2 * CELL else left)
        xs.append(at)
        at += hanging.width + _FRAME_GAP
    limit = right
    for index in range(len(shelf) - 1, -1, -1):
        xs[index] = max(min(xs[index], limit - shelf[index][1].width), left)
        limit = xs[index] - _FRAME_GAP
    for x, (node, hanging) in zip(xs, shelf, strict=True):
        _place_hanging(block, node, hanging, x, y)
    return max(x + hanging.width for x, (_, hanging) in zip(xs, shelf, strict=True))


def _place_hanging(block: Block, node: Placed, hanging: _Hanging, x: float, y: float) -> None:
    bottom = node.y + node.height / 2
    across = hanging.frame.width if hanging.frame else hanging.width
    drop = min(max(node.x, x + 14), x + across - 14)
    if hanging.cell.notes:
        # Notes stand to the right of the line that goes down to the frame.
        start = min(max(drop + 12, x), x + hanging.width - len(hanging.cell.notes) * (_NOTE_WIDTH + _NOTE_GAP))
        for at, name in enumerate(hanging.cell.notes):
            note = Placed(
                name,
                start + at * (_NOTE_WIDTH + _NOTE_GAP) + _NOTE_WIDTH / 2,
                y + _NOTE_HEIGHT / 2,
                _NOTE_WIDTH,
                _NOTE_HEIGHT,
            )
            block.nodes.append(note)
            leave = min(node.x + 16 + 14 * at, node.x + node.width / 2 - 6)
            block.paths.append(Path(node.name, name, "cites", [(leave, bottom), (note.x, note.y - _NOTE_HEIGHT / 2)]))
        y += _NOTE_HEIGHT + _NOTE_GAP
    frame = hanging.frame
    if frame is None or frame.first is None:
        return
    height = _FRAME_TOP + frame.height + _FRAME_BOTTOM
    block.boxes.append(Box(hanging.cell.name, x, y, frame.width, height, _moved(frame, x, y + _FRAME_TOP)))
    # Straight down where it can be; a frame that had to move aside is reached from the nearest point of the node.
    leave = min(max(drop, node.x - node.width / 3), node.x + node.width / 3)
    block.paths.append(Path(node.name, frame.first.name, "stands-for", [(leave, bottom), (drop, y)]))


def _moved(block: Block, x: float, y: float) -> Block:
    """The same block elsewhere."""
    return Block(
        block.width,
        block.height,
        [_beside(node, x, y) for node in block.nodes],
        [path._replace(points=[(px + x, py + y) for px, py in path.points]) for path in block.paths],
        [box._replace(x=box.x + x, y=box.y + y, block=_moved(box.block, x, y)) for box in block.boxes],
        block.first and _beside(block.first, x, y),
        block.last and _beside(block.last, x, y),
    )


def _beside(node: Placed, x: float, y: float) -> Placed:
    return node._replace(x=node.x + x, y=node.y + y)


def _step(left: Placed, right: Placed) -> Path:
    """From a node to its neighbour in the row."""
    start, end = left.x + left.width / 2, right.x - right.width / 2
    return Path(left.name, right.name, "step", [(start, left.y), (end, right.y)])


def _turn(last: Placed, first: Placed, width: float, rail: float, y: float) -> Path:
    """From the end of a row around to the beginning of the next."""
    far, near = width - rail / 2, rail / 2
    return Path(
        last.name,
        first.name,
        "turn",
        [
            (last.x + last.width / 2, last.y),
            (far, last.y),
            (far, y),
            (near, y),
            (near, first.y),
            (first.x - first.width / 2, first.y),
        ],
    )
