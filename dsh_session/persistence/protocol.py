"""What a place for sessions can do: the one protocol that every backend speaks."""

# ruff: noqa: A002 (`id` is the field's name)

from collections.abc import Sequence
from pathlib import Path
from types import EllipsisType
from typing import NamedTuple, Protocol

from dsh_session.core.errors import SessionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.header import SessionHeader
from dsh_session.core.session import Session

Cwd = str | None | EllipsisType
"""A working directory, None for sessions without one, or ``...`` for wherever it is."""


class StoredSession(NamedTuple):
    """One session in a list of what is stored.

    Attributes:
        id: The session's id; for a log that does not tell, its file's name.
        header: Its header, or None where it cannot be read.
        path: The file that it is in.
        size: The bytes of its file; None where it shares one with others.
        events: How many events it has; None where that takes reading it all.
        modified: When it last grew, in epoch milliseconds; None where that is not known.
        error: Why the header cannot be read, or None.
    """

    id: str
    header: SessionHeader | None
    path: Path
    size: int | None = None
    events: int | None = None
    modified: int | None = None
    error: SessionError | OSError | None = None


class SessionPersistence(Protocol):
    """A place where sessions are kept (the seeds' "Durability contract").

    Every event is stored verbatim, in order, from seq 0. A session that was created or claimed
    belongs to its writer until it is released: nobody else can create, append to or claim it.

    One backend of one's own that speaks it, together with `PersistencePlugin`, is as good as those of this package;
    ``tests/persistence/contract.py`` holds the tests that each of them passes.
    """

    def locate(self, id: str, cwd: str | None = None) -> Path:
        """Give the file that a session is in, or would be in."""

    def create(self, header: SessionHeader, events: Sequence[SessionEvent] = (), *, line: bytes | None = None) -> int:
        """Store a new session; it appears whole or not at all.

        Args:
            header: The session's header.
            events: Its events, from seq 0.
            line: The header's text where it was read from a file, to be kept verbatim.

        Returns:
            The number of events that are durable.

        Raises:
            PersistenceError: ``SESSION_STORED`` when something is stored under its id, ``SESSION_LOCKED``
                when somebody is writing it.
            OSError: When it could not be made durable. Either nothing is stored, or all of it is.
        """

    def append(self, id: str, events: Sequence[SessionEvent], *, sync: bool = True) -> int:
        """Extend a stored session.

        Args:
            id: Its id.
            events: What goes on where the stored log ends, or earlier; what is stored is skipped.
            sync: Whether to return when everything is durable. Without it a backend may hand the
                events to the operating system, or do nothing.

        Returns:
            The number of events that are durable.

        Raises:
            PersistenceError: ``SESSION_NOT_STORED``, ``SESSION_LOCKED``, ``APPEND_GAP`` or ``LOG_CHANGED``.
            OSError: When it could not be done. What is not durable must be given again.
        """

    def load(self, id: str, *, cwd: Cwd = ...) -> Session:
        """Read a stored session; nothing is changed and nobody is kept out.

        Raises:
            PersistenceError: ``SESSION_NOT_STORED`` or ``SESSION_AMBIGUOUS``.
            SessionError: As `dsh_session.load`.
        """

    def list(self) -> "list[StoredSession]":
        """List what is stored, by path; what cannot be read is listed with its error."""

    def claim(self, id: str, *, cwd: Cwd = ...) -> Session:
        """Take a stored session over for writing, and read it; nothing is changed yet.

        What lies beyond its valid prefix is taken away by the next `append`.

        Raises:
            PersistenceError: ``SESSION_LOCKED`` when somebody is writing it; as `load`.
        """

    def release(self, id: str) -> None:
        """Let a session go that was created, appended to or claimed; one that was not is fine."""
