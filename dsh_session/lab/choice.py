"""Which session of a log is meant, where it holds several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsh_session.core.errors import SessionError
from dsh_session.views.escape import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.session import Session

__all__ = ["choose", "listed"]

_LISTED: Final = 10  # more than these make a line that nobody reads


def choose(sessions: Sequence[Session], wanted: str | None) -> int:
    """Find a session by its number or its id.

    Args:
        sessions: The sessions of a log, the main one first.
        wanted: A number from 1 on, or else an id; None for the main one.

    Returns:
        Its position, from 0 on.

    Raises:
        SessionError: `NO_SUCH_SESSION` when there is none, or several, of that id.

    Example:
        >>> from dsh_session import Session
        >>> sessions = [Session("a"), Session("b")]
        >>> choose(sessions, None), choose(sessions, "2"), choose(sessions, "a")
        (0, 1, 0)
    """
    if wanted is None:
        return 0
    # Not every character that counts as a digit does so for `int`, and nobody has so many sessions.
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and 1 <= int(wanted) <= len(sessions):
        return int(wanted) - 1
    found = [at for at, session in enumerate(sessions) if session.id == wanted]
    if len(found) == 1:
        return found[0]
    told = f"{len(found)} sessions have" if found else "there is no session with"
    count = "one session" if len(sessions) == 1 else f"{len(sessions):,} sessions"
    shown = cut(one_line(wanted[:400]), 80)
    raise SessionError(
        "NO_SUCH_SESSION", f"{told} the number or id {shown!r}; the log holds {count}: {listed(sessions)}"
    )


def listed(sessions: Sequence[Session]) -> str:
    """Name sessions by number and id, in a line.

    Args:
        sessions: The sessions of a log.

    Returns:
        The first of them, and how many more there are.

    Example:
        >>> from dsh_session import Session
        >>> listed([Session("a"), Session("b")])
        '1 = a, 2 = b'
    """
    names = [f"{at} = {cut(one_line(session.id[:400]), 60)}" for at, session in enumerate(sessions[:_LISTED], 1)]
    if len(sessions) > _LISTED:
        names.append(f"… and {len(sessions) - _LISTED:,} more")
    return ", ".join(names)
