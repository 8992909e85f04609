"""A log that is a tree of entries: the path that is in force, and the branches that were left.

Entries point to the entry before them. The path from the root to the active leaf becomes the session,
and every other leaf a fork of the path that it left, with the entries that both have in common.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

ROOT: Final = -1
"""The parent of an entry that has none."""

MOST_BRANCHES: Final = 500
"""How many branches of one log become sessions; a log with more is damaged, or made to be."""


class Path(NamedTuple):
    """One path of a tree.

    Attributes:
        parent: The number of the path that it left; None for the active path.
        shared: How many leading entries it has in common with that path.
        entries: All its entries from the root on, by their numbers in the file.
    """

    parent: int | None
    shared: int
    entries: list[int]


class Paths(NamedTuple):
    """All paths of a tree.

    Attributes:
        paths: The active path, then the branches, in the order of their leaves in the file.
        aside: Entries on no path: loose ends that hold nothing a model would see.
        left_out: Entries of branches beyond `MOST_BRANCHES`.
    """

    paths: list[Path]
    aside: list[int]
    left_out: list[int]


def find_paths(parents: Sequence[int], leaf: int, matters: Callable[[int], bool]) -> Paths:
    """Take a tree apart into paths.

    Args:
        parents: For each entry the number of the one before it, which is smaller, or `ROOT`.
        leaf: The active leaf; `ROOT` for an empty path.
        matters: Tells of an entry whether a branch that holds it is worth a session.

    Example:
        >>> found = find_paths([ROOT, 0, 1, 1, 3], leaf=4, matters=lambda entry: True)
        >>> [(path.parent, path.shared, path.entries) for path in found.paths]
        [(None, 0, [0, 1, 3, 4]), (0, 2, [0, 1, 2])]
    """
    trunk = _way_up(parents, leaf, {})
    trunk.reverse()
    places = {entry: (0, at) for at, entry in enumerate(trunk)}
    paths = [Path(None, 0, trunk)]
    barren: set[int] = set()
    loose = []
    with_children = set(parents)
    for entry in range(len(parents)):
        if entry in with_children or entry in places:
            continue
        tail = [] if len(paths) > MOST_BRANCHES else _worthwhile(parents, entry, places, barren, matters)
        if not tail:
            loose.append(entry)
            continue
        joint = parents[tail[0]]
        parent, at = places[joint] if joint != ROOT else (0, -1)
        places.update({inner: (len(paths), at + 1 + more) for more, inner in enumerate(tail)})
        paths.append(Path(parent, at + 1, paths[parent].entries[: at + 1] + tail))
    aside: list[int] = []
    left_out: list[int] = []
    for entry in loose:
        for inner in reversed(_way_up(parents, entry, places)):
            places[inner] = (0, 0)
            (left_out if matters(inner) else aside).append(inner)
    return Paths(paths, sorted(aside), sorted(left_out))


def _worthwhile(
    parents: Sequence[int],
    entry: int,
    known: dict[int, tuple[int, int]],
    barren: set[int],
    matters: Callable[[int], bool],
) -> list[int]:
    """Give the entries from the first that is unknown down to a leaf; none when none of them matters."""
    way: list[int] = []
    found = False
    while entry != ROOT and entry not in known:
        if not found and entry in barren:
            break
        way.append(entry)
        found = found or matters(entry)
        entry = parents[entry]
    if not found:
        barren.update(way)
        return []
    way.reverse()
    return way


def _way_up(parents: Sequence[int], entry: int, known: dict[int, tuple[int, int]]) -> list[int]:
    """Give the entries from one up to the root, or up to the first that is known, which is left out."""
    way = []
    while entry != ROOT and entry not in known:
        way.append(entry)
        entry = parents[entry]
    return way


class Boundary(NamedTuple):
    """A place where a session may be forked: a turn has ended, and no other has begun.

    Attributes:
        position: How many entries of the path went into the events before it.
        length: How many events there are before it.
        state: What the writer knew there.
    """

    position: int
    length: int
    state: Any


class Boundaries:
    """The boundaries of one path, in order.

    Example:
        >>> boundaries = Boundaries(Boundary(0, 0, None))
        >>> boundaries.note(Boundary(4, 9, None))
        >>> boundaries.before(3).length, boundaries.before(4).length
        (0, 9)
    """

    def __init__(self, first: Boundary) -> None:
        """Take the beginning: of the log, or of what a fork does not share."""
        self._all = [first]

    def note(self, boundary: Boundary) -> None:
        """Add a boundary; positions and lengths rise."""
        self._all.append(boundary)

    def before(self, shared: int) -> Boundary:
        """Give the last boundary that needs no more than so many leading entries."""
        at = bisect_right(self._all, shared, key=lambda boundary: boundary.position)
        return self._all[max(at - 1, 0)]
