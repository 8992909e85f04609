"""Where a forest of sessions stands: levels side by side, siblings one beneath another, parents amid their children.

A store may hold ten thousand sessions, or one chain of as many forks. So first a part is chosen that fits on a page, by
a budget of rows and a number of levels, and what is left out is counted in its place. Then places are computed, in one
pass, and handed to Graphviz to be drawn.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Branch", "Spot", "Window", "place", "prune", "size_of", "walk"]

T = TypeVar("T")

_LAST: Final = 1
"""So many of the last siblings are shown where not all are."""


@dataclass(slots=True)
class Branch(Generic[T]):
    """A thing of a forest, or so many that are left out.

    Attributes:
        item: The thing; None for a branch that stands for others.
        children: What hangs from it.
        left_out: How many things it stands for, all levels counted; 0 for a thing that is shown.
    """

    item: T | None
    children: list[Branch[T]] = field(default_factory=list)
    left_out: int = 0


class Window(NamedTuple):
    """How much of a forest is shown.

    Attributes:
        rows: How many rows at most.
        levels: How many levels at most.
    """

    rows: int
    levels: int


class Spot(NamedTuple, Generic[T]):
    """A branch in its place.

    Attributes:
        branch: The branch.
        level: Its column, from 0 on.
        row: Its row, from 0 on; a parent may stand between two rows.
        parent: The place of its parent in the list of spots; None for a root.
    """

    branch: Branch[T]
    level: int
    row: float
    parent: int | None


def size_of(branches: Sequence[Branch[T]]) -> dict[int, int]:
    """How many things there are in each branch, itself included.

    Args:
        branches: The roots.

    Returns:
        The counts by the `id` of the branches.

    Example:
        >>> root = Branch("a", [Branch("b"), Branch("c")])
        >>> size_of([root])[id(root)]
        3
    """
    order: list[Branch[T]] = []
    waiting = list(branches)
    while waiting:
        branch = waiting.pop()
        order.append(branch)
        waiting.extend(branch.children)
    sizes: dict[int, int] = {}
    # Children come after their parents, so backwards each finds its children counted.
    for branch in reversed(order):
        sizes[id(branch)] = 1 + sum(sizes[id(child)] for child in branch.children)
    return sizes


def prune(roots: Sequence[Branch[T]], window: Window, path: Sequence[Branch[T]] = ()) -> list[Branch[T]]:
    """Choose the part of a forest that is shown.

    The roots come first, then level by level what hangs from them, as far as the rows reach. Where siblings do not fit,
    the first ones and the last one are shown. What is left out is counted: between siblings in a branch of its own, or
    to the right of a branch whose children are not shown.

    Args:
        roots: The whole forest; it is not changed.
        window: How much is shown.
        path: A way from a root down to a branch that must be in the picture, within the levels.

    Returns:
        Roots of a smaller forest over the same items.

    Example:
        >>> many = [Branch(number) for number in range(9)]
        >>> [(branch.item, branch.left_out) for branch in prune(many, Window(rows=4, levels=2))]
        [(0, 0), (1, 0), (None, 6), (8, 0)]
    """
    sizes = size_of(roots)
    wanted = {id(branch) for branch in path}
    budget = window.rows
    # Where there is something below the roots, half of the rows are for that.
    nested = any(branch.children for branch in roots)
    shown, used = _siblings(roots, budget // 2 if nested else budget, wanted, sizes)
    budget -= used
    top = [copy for copy, _ in shown]
    # Breadth first, so that what is near the roots is seen; the wanted path before all others.
    waiting = deque(sorted(((copy, whole, 1) for copy, whole in shown), key=lambda each: id(each[1]) not in wanted))
    while waiting:
        copy, whole, level = waiting.popleft()
        if whole is None or not whole.children:
            continue
        must = any(id(child) in wanted for child in whole.children)
        if level >= window.levels or (budget <= 0 and len(whole.children) > 1 and not must):
            copy.children = [Branch(None, left_out=sizes[id(whole)] - 1)]
            continue
        # The first child takes its parent's row, so that it costs none.
        shown, used = _siblings(whole.children, budget + 1, wanted, sizes)
        budget -= used - 1
        copy.children = [child for child, _ in shown]
        further = [(child, origin, level + 1) for child, origin in shown]
        if must:
            waiting.extendleft(each for each in further if id(each[1]) in wanted)
            further = [each for each in further if id(each[1]) not in wanted]
        waiting.extend(further)
    return top


def _siblings(
    siblings: Sequence[Branch[T]], rows: int, wanted: set[int], sizes: Mapping[int, int]
) -> tuple[list[tuple[Branch[T], Branch[T] | None]], int]:
    """As many siblings as there are rows for, each with its origin, and the rows that they take."""
    around = next((at for at, branch in enumerate(siblings) if id(branch) in wanted), None)
    first = len(siblings)
    if first > rows:
        # A row for the words that say how many are missing, one for the last, and maybe two for the wanted one.
        first = max(rows - _LAST - 1 - (2 if around is not None else 0), 1)
    chosen = choose(len(siblings), first=first, last=_LAST if rows > 2 else 0, around=around)
    result: list[tuple[Branch[T], Branch[T] | None]] = []
    for each in chosen:
        if isinstance(each, Gap):
            missing = sum(sizes[id(branch)] for branch in siblings[each.start : each.stop])
            result.append((Branch(None, left_out=missing), None))
        else:
            result.append((Branch(siblings[each].item), siblings[each]))
    return result, len(result)


def place(roots: Sequence[Branch[T]]) -> list[Spot[T]]:
    """Give every branch its column and its row.

    Args:
        roots: A forest that was pruned: as many levels as a picture has.

    Returns:
        The spots, each after its parent, from above.

    Example:
        >>> spots = place([Branch("a", [Branch("b"), Branch("c")]), Branch("d")])
        >>> [(spot.branch.item, spot.level, spot.row, spot.parent) for spot in spots]
        [('a', 0, 0.5, None), ('b', 1, 0, 0), ('c', 1, 1, 0), ('d', 0, 2, None)]
    """
    found: list[tuple[Branch[T], int, int | None]] = []
    waiting: list[tuple[Branch[T], int, int | None]] = [(root, 0, None) for root in reversed(roots)]
    while waiting:
        branch, level, parent = waiting.pop()
        waiting.extend((child, level + 1, len(found)) for child in reversed(branch.children))
        found.append((branch, level, parent))
    rows: list[float] = [0.0] * len(found)
    leaves = 0
    reach: dict[int, tuple[float, float]] = {}
    for at, (branch, _, _) in enumerate(found):
        if not branch.children:
            rows[at] = leaves
            leaves += 1
    # Backwards, so that the rows of all children are known before their parent's.
    for at in range(len(found) - 1, -1, -1):
        if at in reach:
            rows[at] = sum(reach[at]) / 2
        parent = found[at][2]
        if parent is not None:
            low, high = reach.get(parent, (rows[at], rows[at]))
            reach[parent] = min(low, rows[at]), max(high, rows[at])
    return [Spot(branch, level, row, parent) for (branch, level, parent), row in zip(found, rows, strict=True)]


def walk(branches: Sequence[Branch[T]]) -> Iterator[Branch[T]]:
    """Every branch, each before its children, without recursion: a chain of forks is as long as it likes."""
    waiting = list(reversed(branches))
    while waiting:
        branch = waiting.pop()
        yield branch
        waiting.extend(reversed(branch.children))
