"""Which part of a long list is shown, and what is said about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dsh_session.core.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Gap", "ViewError", "choose"]


class ViewError(SessionError, ValueError):
    """A view that was asked for something that is not there: a window beyond the log, a negative count.

    Its codes: `VIEW_SEQ` (a seq that the log does not have), `VIEW_SESSION` (a session that is not live),
    `VIEW_WINDOW` (a size that is none), `VIEW_THEME` (colours that are neither light nor dark).
    """


class Gap(NamedTuple):
    """A run of positions that are left out.

    Attributes:
        start: The first position.
        stop: The position after the last one.
    """

    start: int
    stop: int


def choose(
    count: int, *, first: int, last: int, around: int | None = None, span: int = 0, also: Iterable[int] = ()
) -> list[int | Gap]:
    """Choose positions of a list: some at its beginning, some at its end, some around one of them.

    A gap never hides a single item, which takes no more room than the words that say it is missing.

    Args:
        count: How many items there are.
        first: How many are shown at the beginning.
        last: How many are shown at the end.
        around: A position that is shown in any case, with its neighbours.
        span: So many neighbours of it on either side.
        also: Further positions that are shown in any case.

    Returns:
        Positions and gaps in order; together they are all positions from 0 to `count`, each once.

    Example:
        >>> choose(20, first=2, last=1)
        [0, 1, Gap(start=2, stop=19), 19]
        >>> choose(20, first=1, last=1, around=5, span=1)
        [0, Gap(start=1, stop=4), 4, 5, 6, Gap(start=7, stop=19), 19]
        >>> choose(3, first=1, last=1)
        [0, 1, 2]
    """
    parts = [(0, min(first, count)), (max(count - last, 0), count)]
    if around is not None:
        parts.append((max(around - span, 0), min(around + span + 1, count)))
    parts.extend((position, position + 1) for position in also)
    result: list[int | Gap] = []
    at = 0
    for start, stop in [*sorted(parts), (count, count)]:
        if start - at == 1:
            result.append(at)
        elif start > at:
            result.append(Gap(at, start))
        result.extend(range(max(start, at), stop))
        at = max(at, start, stop)
    return result
