"""A third backend: sessions in a dictionary that several objects may share, as files are shared."""

# ruff: noqa: A001, A002, ARG002 (the protocol's names)

import os
from collections.abc import Sequence
from pathlib import Path

from dsh_session import Session, SessionEvent, SessionHeader
from dsh_session.core.jsonl import read_session
from dsh_session.core.lossless import encode
from dsh_session.persistence import (
    PersistenceError,
    PersistencePlugin,
    SessionLockedError,
    StoredSession,
)
from dsh_session.persistence.protocol import Cwd

Lines = list[bytes]


class Shelf:
    """What several backends share: the lines of each session, and who writes it."""

    def __init__(self) -> None:
        self.logs: dict[str, Lines] = {}
        self.writers: dict[str, object] = {}


class MemoryPersistence(PersistencePlugin):
    """Speaks the protocol, without a disk."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def locate(self, id: str, cwd: str | None = None) -> Path:
        return Path("/memory") / id.encode("utf-8", "surrogatepass").hex()

    def create(self, header: SessionHeader, events: Sequence[SessionEvent] = (), *, line: bytes | None = None) -> int:
        if header.id in self._shelf.logs:
            raise PersistenceError("SESSION_STORED", f"session {header.id!r} is there already")
        self._lock(header.id)
        text = line or encode({"type": "session", **header.to_dict()})
        self._shelf.logs[header.id] = [text, *(event._line for event in events)]
        return len(events)

    def append(self, id: str, events: Sequence[SessionEvent], *, sync: bool = True) -> int:
        lines = self._lines(id)
        if self._shelf.writers.get(id) is not self:
            self._lock(id)
        if events:
            known = len(lines) - 1 - events[0].seq
            if not 0 <= known <= len(events):
                raise PersistenceError("APPEND_GAP", f"{len(lines) - 1} comes next, not {events[0].seq}")
            lines += [event._line for event in events[known:]]
        return len(lines) - 1

    def load(self, id: str, *, cwd: Cwd = ...) -> Session:
        return read_session([line + b"\n" for line in self._lines(id)])[0]

    def list(self) -> "list[StoredSession]":
        return [
            StoredSession(id, self.load(id).header, self.locate(id), events=len(lines) - 1)
            for id, lines in sorted(self._shelf.logs.items())
        ]

    def claim(self, id: str, *, cwd: Cwd = ...) -> Session:
        self._lines(id)
        self._lock(id)
        return self.load(id)

    def release(self, id: str) -> None:
        if self._shelf.writers.get(id) is self:
            del self._shelf.writers[id]

    def _lines(self, id: str) -> Lines:
        if id not in self._shelf.logs:
            raise PersistenceError("SESSION_NOT_STORED", f"no session {id!r}")
        return self._shelf.logs[id]

    def _lock(self, id: str) -> None:
        if id in self._shelf.writers:
            raise SessionLockedError("SESSION_LOCKED", f"session {id!r} is being written", pid=os.getpid())
        self._shelf.writers[id] = self
