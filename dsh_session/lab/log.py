"""Which log the tour is about."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dsh_session import load, samples
from dsh_session.importers.registry import recognise
from dsh_session.lab.choice import choose, listed

if TYPE_CHECKING:
    from dsh_session.core.session import Session

__all__ = ["LOG_VARIABLE", "SAMPLE", "SESSION_VARIABLE", "open_log", "sessions_of"]

LOG_VARIABLE: Final = "DSH_SESSION_LOG"
"""The environment variable through which `dsh-session lab LOG` hands the path to the notebook."""

SESSION_VARIABLE: Final = "DSH_SESSION_CHOICE"
"""The environment variable that says which session of that log is meant: its number from 1 on, or its id."""

SAMPLE: Final = "pi-compacted-twice"
"""The sample that everything shows when no log is named."""


def sessions_of(log: Path | None) -> tuple[Session, ...]:
    """Read all sessions of a log.

    Args:
        log: Any agent's log; the packaged sample by default.

    Returns:
        The main session, then its forks, its sub-agents, and further sessions of the same log.

    Raises:
        SessionError: The log cannot be read; the message names the place.
        OSError: The file cannot be opened.

    Example:
        >>> [session.id for session in sessions_of(None)]
        ['pi-compacted-twice']
    """
    if log is None:
        return (samples.load(SAMPLE),)
    # What can be read only once, such as a pipe, is not looked at first: it must be a version-0 log.
    importer = None if log.exists() and not (log.is_file() or log.is_dir()) else recognise(log)
    # Version 0 is read strictly; what nobody knows is refused in the words of that reader.
    if importer is None or importer.name == "dsh":
        return (load(log),)
    return importer.read(log).sessions


def open_log(session: str | int | None = None) -> Session:
    """The log that `dsh-session lab LOG` was started with, else the packaged sample.

    Where a log holds several sessions, a line says so, and which of them this is.

    Args:
        session: Which session of the log: its number from 1 on, or its id. By default the one that `lab --session`
            named, else the main one.

    Returns:
        A new session over the log's events.

    Raises:
        SessionError: The log cannot be read, or has no such session; the message names the place.
        OSError: The file cannot be opened.

    Example:
        >>> import os
        >>> _ = os.environ.pop("DSH_SESSION_LOG", None)
        >>> open_log().id
        'pi-compacted-twice'
    """
    path = os.environ.get(LOG_VARIABLE)
    sessions = sessions_of(Path(path) if path else None)
    at = choose(sessions, os.environ.get(SESSION_VARIABLE) or None if session is None else str(session))
    if len(sessions) > 1:
        sys.stdout.write(
            f"Session {at + 1} of {len(sessions):,} in this log. "
            f"open_log(NUMBER or ID) opens another one: {listed(sessions)}\n"
        )
    return sessions[at]
