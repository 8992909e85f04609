"""Where the events of a step stand: in rows that are read like a text, each call with its result beside it.

Lengths are points, x to the right and y down, from the upper left corner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views.diagrams.layout import Path, Placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.views.diagrams.layout import Point

__all__ = ["Flow", "Item", "flow"]

_GAP: Final = 22.0
_CALL_GAP: Final = 52.0
"""Between a call and its result, where the time stands that it took."""
_ROW_GAP: Final = 14.0
_STACK_GAP: Final = 8.0
RAIL: Final = 14.0
"""On either side: room for the lines that lead from row to row."""


class Item(NamedTuple):
    """What is to be placed: a node, or a call with what came of it.

    Attributes:
        name: Its name in the DOT text.
        width: The width of its outline.
        answer: The name of the result, or of what says that there is none; empty for a node that is no call.
        answer_width: The width of that one's outline.
    """

    name: str
    width: float
    answer: str = ""
    answer_width: float = 0.0


@dataclass(slots=True)
class Flow:
    """Items that have been placed.

    Attributes:
        width: The room they take, rails included.
        height: The same, downwards.
        nodes: The nodes in their places.
        paths: The lines; their roles are `order` and `call`.
    """

    width: float = 0.0
    height: float = 0.0
    nodes: list[Placed] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)


def flow(items: Sequence[Item], width: float, height: float) -> Flow:
    """Set items in rows.

    Args:
        items: In log order. Calls that follow each other stand beneath each other, as they run beside each other.
        width: The width that must not be exceeded; one item per row fits in any case.
        height: The height of every outline.

    Returns:
        The flow.

    Example:
        >>> placed = flow([Item("n1", 80), Item("n2", 80, "n3", 80)], 400, 30)
        >>> [(node.name, node.x, node.y) for node in placed.nodes]
        [('n1', 54.0, 15.0), ('n2', 156.0, 15.0), ('n3', 288.0, 15.0)]
    """
    result = Flow()
    x, y = RAIL, height / 2
    before: Placed | None = None  # what the next item follows
    source: Placed | None = None  # what the calls of a stack follow
    stack = -1.0
    for item in items:
        across = item.width + (_CALL_GAP + item.answer_width if item.answer else 0.0)
        if item.answer and stack >= 0:
            y += height + _STACK_GAP
            place = Placed(item.name, stack + item.width / 2, y, item.width, height)
            if source is not None:
                result.paths.append(_fan(source, place))
        else:
            if before is not None and (stack >= 0 or x + across > width - RAIL):
                x, y = RAIL, y + height + _ROW_GAP
            stack = x if item.answer else -1.0
            source = before
            place = Placed(item.name, x + item.width / 2, y, item.width, height)
            if before is not None:
                result.paths.append(_step(before, place, height))
        result.nodes.append(place)
        before = place
        if item.answer:
            start = place.x + place.width / 2 + _CALL_GAP
            before = Placed(item.answer, start + item.answer_width / 2, y, item.answer_width, height)
            result.nodes.append(before)
            result.paths.append(Path(place.name, before.name, "call", [_right(place), _left(before)]))
        x = before.x + before.width / 2 + _GAP
        result.width = max(result.width, x - _GAP + RAIL)
    result.height = y + height / 2 if result.nodes else 0.0
    return result


def _right(node: Placed) -> Point:
    return node.x + node.width / 2, node.y


def _left(node: Placed) -> Point:
    return node.x - node.width / 2, node.y


def _step(before: Placed, place: Placed, height: float) -> Path:
    """To the neighbour in the row, or around to the beginning of the next one."""
    start, end = _right(before), _left(place)
    if before.y == place.y:
        return Path(before.name, place.name, "order", [start, end])
    far, near, middle = start[0] + RAIL / 2, RAIL / 2, place.y - height / 2 - _ROW_GAP / 2
    return Path(
        before.name, place.name, "order", [start, (far, start[1]), (far, middle), (near, middle), (near, end[1]), end]
    )


def _fan(source: Placed, place: Placed) -> Path:
    """To a call that stands beneath the first one."""
    end = _left(place)
    if source.x < place.x:
        lane, start = end[0] - _GAP / 2, _right(source)
        return Path(source.name, place.name, "order", [start, (lane, start[1]), (lane, end[1]), end])
    # The line to the first call came around from the row above, and goes on downwards.
    lane = RAIL / 2
    above = place.y - place.height - _STACK_GAP
    return Path(source.name, place.name, "order", [(lane, above), (lane, end[1]), end])
