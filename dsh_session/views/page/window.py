"""Which part of a long list is shown, and what is said about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["window"]

T = TypeVar("T")


def window(length: int, limit: int, *, marks: Collection[int] = (), around: int = 6) -> list[range]:
    """The places of a list that are shown: its beginning, its end, and the surroundings of what matters.

    A quarter of the room goes to the beginning, a quarter to the surroundings of marked places, the rest to the end,
    where a reader looks first.

    Args:
        length: How long the list is.
        limit: How many places may be shown.
        marks: Places that matter, in rising order; where there are too many, the latest count.
        around: How many places are shown on either side of a mark.

    Returns:
        Ranges in rising order that do not touch; between two of them lies a gap. Together they hold at most `limit`
        places, and all of the list if it is short enough.

    Example:
        >>> window(5, 10)
        [range(0, 5)]
        >>> window(100, 8, marks=[50], around=0)
        [range(0, 2), range(50, 51), range(95, 100)]
    """
    if length <= limit:
        return [range(length)] if length else []
    head = limit // 4
    room = limit // 4
    shown = set(range(head))
    for mark in reversed(list(marks)):
        new = [place for place in range(max(mark - around, 0), min(mark + around + 1, length)) if place not in shown]
        if len(new) > room:
            break
        room -= len(new)
        shown.update(new)
    last = length
    while len(shown) < limit:
        last -= 1
        shown.add(last)
    return _runs(sorted(shown))


def _runs(places: Sequence[int]) -> list[range]:
    runs: list[range] = []
    for place in places:
        if runs and runs[-1].stop == place:
            runs[-1] = range(runs[-1].start, place + 1)
        else:
            runs.append(range(place, place + 1))
    return runs
