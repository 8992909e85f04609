"""Sessions as files of JSON lines under one folder, in the layout of the original."""

# ruff: noqa: A001, A002 (`id` is the field's name)

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Final

from dsh_session.core.errors import PersistenceError, SessionError, SessionLockedError
from dsh_session.core.event import SessionEvent
from dsh_session.core.header import SessionHeader
from dsh_session.core.jsonl import first_line, header_fields, load, loads, read_session, scan
from dsh_session.core.lossless import encode
from dsh_session.core.session import Session
from dsh_session.core.source import is_compressed, read_pieces
from dsh_session.persistence.behind import PersistencePlugin
from dsh_session.persistence.disk import Disk
from dsh_session.persistence.lock import SessionLock
from dsh_session.persistence.logfile import LogFile, Names
from dsh_session.persistence.naming import file_stem, folder_name, log_path
from dsh_session.persistence.protocol import Cwd, StoredSession

EXTENSIONS: Final = (".jsonl", ".jsonl.zstd", ".jsonl.zst")
"""What the names of logs end in; the compressed ones are read and not written."""


class JsonlPersistence(PersistencePlugin):
    """Keeps each session as a file of its own: a header line, then one event per line.

    A session's log is ``<root>/cwd-<hash>/<id>.jsonl``, or in ``<root>/_no-cwd/`` without a working
    directory; beside it, while it is being written, the lock's ``<id>.lock``. See the seeds' "Extension points".

    Attributes:
        root: The folder of all sessions; made when the first is stored.

    Example:
        >>> import tempfile
        >>> from dsh_session import Context
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = JsonlPersistence(folder.name)
        >>> with Context(clock=lambda: 0) as ctx:
        ...     plugged = ctx.plugin(store)
        ...     event = ctx.sessions.create("tour").append("todo/write", {"todos": []})
        >>> store.load("tour").seq, [stored.id for stored in store.list()]
        (1, ['tour'])
        >>> folder.cleanup()
    """

    def __init__(self, root: str | Path, *, disk: Disk | None = None) -> None:
        """Take the folder.

        Args:
            root: The folder of all sessions; it need not exist yet.
            disk: What files are written through, for tests.
        """
        self.root = Path(root).absolute()
        self._disk = disk or Disk()
        self._names = Names(self._disk)
        self._logs: dict[str, LogFile] = {}
        self._lock = RLock()

    # Reading.

    def locate(self, id: str, cwd: str | None = None) -> Path:
        """Give the file that a session is in, or would be in.

        Args:
            id: Its id.
            cwd: Its header's working directory.

        Raises:
            PersistenceError: ``EMPTY_SEGMENT`` for an empty id.
        """
        log = self._logs.get(id)
        return log_path(self.root, id, cwd) if log is None else log.path

    def load(self, id: str, *, cwd: Cwd = ...) -> Session:
        """Read a stored session; see `SessionPersistence.load`."""
        path = self._find(id, cwd)
        session = load(path)
        _require_same(session.id, id, path)
        return session

    def list(self) -> "list[StoredSession]":
        """List what is stored, by path; see `SessionPersistence.list`. Reads the first line of each file."""
        return [stored_at(path) for folder in self._folders() for path in _logs_in(folder)]

    def _folders(self) -> Iterator[Path]:
        try:
            entries = sorted(self.root.iterdir())
        except FileNotFoundError:
            return
        for entry in entries:
            if entry.is_dir() and self._is_inside(entry):
                yield entry

    def _find(self, id: str, cwd: Cwd) -> Path:
        stem = file_stem(id)
        folders = list(self._folders()) if cwd is ... else [self.root / folder_name(cwd)]
        names = [folder / f"{stem}{extension}" for folder in folders for extension in EXTENSIONS]
        found = [path for path in names if os.path.lexists(path)]
        if not found:
            raise PersistenceError("SESSION_NOT_STORED", f"no session {id!r} is stored under {self.root}")
        if len(found) > 1:
            paths = ", ".join(map(str, found))
            raise PersistenceError("SESSION_AMBIGUOUS", f"several logs are stored as {id!r}: {paths}; say which cwd")
        return self._real(found[0])

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root.resolve())

    def _real(self, path: Path) -> Path:
        """Give a path without symbolic links, which must not lead out of the root."""
        if not self._is_inside(path):
            raise PersistenceError("OUTSIDE_ROOT", f"{path} leads to {path.resolve()}, which is not in {self.root}")
        return path.resolve()

    # Writing.

    def create(self, header: SessionHeader, events: Sequence[SessionEvent] = (), *, line: bytes | None = None) -> int:
        """Store a new session; see `SessionPersistence.create`."""
        path = log_path(self.root, header.id, header.cwd)
        with self._lock:
            self._require_free(header.id)
            self._disk.make_folders(path.parent)
            path = self._real(path.parent) / path.name
            log = self._open(header.id, path)
            try:
                for extension in EXTENSIONS:
                    self._require_nothing_at(header.id, path.with_suffix(extension))
                try:
                    durable = log.create(line or encode({"type": "session", **header.to_dict()}), events)
                except FileExistsError:
                    self._require_nothing_at(header.id, path)
                    raise
            except BaseException:
                log.close()
                raise
            self._logs[header.id] = log
            return durable

    def append(self, id: str, events: Sequence[SessionEvent], *, sync: bool = True) -> int:
        """Extend a stored session; see `SessionPersistence.append`."""
        log = self._logs.get(id)
        if log is None:
            log = self._continue(id)
        return log.append(events, sync=sync)

    def claim(self, id: str, *, cwd: Cwd = ...) -> Session:
        """Take a stored session over for writing, and read it; see `SessionPersistence.claim`."""
        with self._lock:
            log, path = self._take(id, cwd)
            try:
                pieces = _Counted(path)
                try:
                    session, prefix = read_session(pieces)
                except SessionError as error:
                    raise error.at(where=str(path)) from None
                _require_same(session.id, id, path)
                log.open(prefix.committed, prefix.events, pieces.size)
            except BaseException:
                log.close()
                raise
            self._logs[id] = log
            return session

    def _continue(self, id: str) -> LogFile:
        """Take a stored session over for writing without reading what its events hold."""
        with self._lock:
            log, path = self._take(id, ...)
            try:
                pieces = _Counted(path)
                try:
                    meta, prefix = scan(pieces)
                    loads(first_line(path) + b"\n")  # scan lets headers of other versions through
                except SessionError as error:
                    raise error.at(where=str(path)) from None
                _require_same(meta["id"], id, path)
                log.open(prefix.committed, prefix.events, pieces.size)
            except BaseException:
                log.close()
                raise
            self._logs[id] = log
            return log

    def _take(self, id: str, cwd: Cwd) -> tuple[LogFile, Path]:
        self._require_free(id)
        path = self._find(id, cwd)
        if is_compressed(path):
            raise PersistenceError(
                "COMPRESSED_LOG",
                f"{path} is compressed: it can be read, not continued; decompress it first (zstd -d --rm)",
            )
        return self._open(id, path), path

    def release(self, id: str) -> None:
        """Let a session go; see `SessionPersistence.release`."""
        with self._lock:
            log = self._logs.pop(id, None)
            if log is not None:
                log.close()

    def _open(self, id: str, path: Path) -> LogFile:
        return LogFile(path, SessionLock(path.with_suffix(".lock"), id), self._names)

    def _require_free(self, id: str) -> None:
        if id in self._logs:
            message = f"session {id!r} is being written through this very object already; release it there first"
            raise SessionLockedError("SESSION_LOCKED", message, pid=os.getpid())

    def _require_nothing_at(self, id: str, path: Path) -> None:
        if not os.path.lexists(path):
            return
        held = ""
        with suppress(SessionError, OSError):
            fields = header_fields(first_line(path)) or {}
            other = fields.get("id", id)
            if other != id:
                held = f", the log of session {other!r}: this file system does not tell the two names apart"
        raise PersistenceError("SESSION_STORED", f"session {id!r} cannot be made: {path} is there already{held}")

    def __repr__(self) -> str:
        """Name the folder."""
        return f"JsonlPersistence({str(self.root)!r})"


class _Counted:
    """The pieces of a file, and how many bytes they were."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in read_pieces(self._path):
            self.size += len(piece)
            yield piece


def _logs_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.endswith(EXTENSIONS) and not path.is_dir():
            yield path


def stored_at(path: Path) -> StoredSession:
    """Describe a log file by its first line; what is wrong with it is told, not raised."""
    header: SessionHeader | None = None
    error: SessionError | OSError | None = None
    id = path.name.removesuffix(".zstd").removesuffix(".zst").removesuffix(".jsonl")
    size = modified = None
    try:
        status = path.stat()
        size, modified = status.st_size, status.st_mtime_ns // 1_000_000
        line = first_line(path)
        id = (header_fields(line) or {}).get("id", id)
        header = loads(line + b"\n").header
    except (SessionError, OSError) as caught:
        error = caught
    return StoredSession(id, header, path, size=size, modified=modified, error=error)


def _require_same(found: str, id: str, path: Path) -> None:
    if found != id:
        raise PersistenceError("SESSION_NOT_STORED", f"{path} holds session {found!r}, not {id!r}")
