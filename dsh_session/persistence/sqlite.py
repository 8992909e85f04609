"""Sessions in one SQLite database: a row per event."""

# ruff: noqa: A001, A002 (`id` is the field's name)

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, Final
from urllib.parse import quote

from dsh_session.core.errors import PersistenceError, SessionError, SessionLockedError
from dsh_session.core.event import SessionEvent
from dsh_session.core.header import SessionHeader
from dsh_session.core.jsonl import Prefix, loads, read_session
from dsh_session.core.lossless import encode
from dsh_session.core.session import Session
from dsh_session.persistence.behind import PersistencePlugin
from dsh_session.persistence.disk import Disk
from dsh_session.persistence.lock import SessionLock
from dsh_session.persistence.logfile import continuing
from dsh_session.persistence.protocol import Cwd, StoredSession
from dsh_session.persistence.rows import Row, line_of, row_of, text_in, text_out

SCHEMA: Final = 1
"""The version of the tables, kept in the database's ``user_version``."""

MAGIC: Final = b"SQLite format 3\x00"
"""What a database begins with."""

_APPLICATION: Final = 0x64736873  # "dshs", so that `file` and others can tell whose database it is

_TABLES: Final = """
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    header TEXT NOT NULL      -- the header line, verbatim
);
CREATE TABLE events (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    time INTEGER NOT NULL,    -- epoch milliseconds
    data TEXT NOT NULL,       -- JSON, verbatim
    source_event_seqs TEXT,   -- JSON, or NULL where absent
    surface_op TEXT,          -- JSON, or NULL where absent
    PRIMARY KEY (session_id, seq)
);
CREATE TABLE spellings (      -- lines from elsewhere that are spelt otherwise than their row
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
);
"""

_FAILURES: Final = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
}


class _Writing:
    """A session that is being written here: its lock, and how far its log is durable."""

    def __init__(self, lock: SessionLock, seq: int) -> None:
        self.lock = lock
        self.seq = seq
        self.uncertain = True  # whether anything may lie beyond


class SqlitePersistence(PersistencePlugin):
    """Keeps all sessions in one database of the standard library's SQLite, a row per event.

    The tables are for reading with other tools as well: ``events`` has the columns ``session_id``,
    ``seq``, ``type``, ``time``, ``data``, ``source_event_seqs`` and ``surface_op``, the last three as JSON text. A log
    comes back byte for byte. The journal is a write-ahead log, synced with every commit.

    Attributes:
        path: The database's file; made when the first session is stored.

    Example:
        >>> import tempfile
        >>> from dsh_session import Context
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = SqlitePersistence(f"{folder.name}/sessions.db")
        >>> with Context(clock=lambda: 0) as ctx:
        ...     plugged = ctx.plugin(store)
        ...     event = ctx.sessions.create("tour").append("todo/write", {"todos": []})
        >>> store.load("tour").events[0].to_dict()
        {'type': 'todo/write', 'seq': 0, 'time': 0, 'data': {'todos': []}}
        >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        """Take the database's path; it need not exist yet."""
        self.path = Path(path).absolute()
        self._writing: dict[str, _Writing] = {}
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._lock = RLock()

    # Reading.

    def locate(self, id: str, cwd: str | None = None) -> Path:  # noqa: ARG002 (the protocol's)
        """Give the database's file, which all sessions share."""
        return self.path

    def load(self, id: str, *, cwd: Cwd = ...) -> Session:  # noqa: ARG002 (the protocol's)
        """Read a stored session; see `SessionPersistence.load`. An id is stored once, whatever its `cwd`."""
        with self._reading() as connection:
            return self._read(connection, id)[0]

    def list(self) -> "list[StoredSession]":
        """List what is stored, by id; see `SessionPersistence.list`."""
        try:
            with self._reading() as connection:
                rows = connection.execute(
                    "SELECT session_id, header,"
                    " (SELECT max(seq) FROM events WHERE events.session_id = sessions.session_id)"
                    " FROM sessions ORDER BY session_id"
                ).fetchall()
                return [self._listed(connection, *row) for row in rows]
        except PersistenceError as error:
            if error.code == "SESSION_NOT_STORED":  # there is no database yet, or an empty one
                return []
            raise

    def _listed(self, connection: sqlite3.Connection, key: Any, line: Any, last: int | None) -> StoredSession:
        header: SessionHeader | None = None
        error: SessionError | None = None
        try:
            header = loads(text_out(line).encode() + b"\n").header
        except SessionError as caught:
            error = caught
        found = connection.execute("SELECT time FROM events WHERE session_id = ? AND seq = ?", (key, last)).fetchone()
        events = 0 if last is None else last + 1
        modified = None if found is None else found[0]
        return StoredSession(text_out(key), header, self.path, events=events, modified=modified, error=error)

    def _read(self, connection: sqlite3.Connection, id: str) -> tuple[Session, Prefix]:
        try:
            return read_session(stored_pieces(connection, self._header_of(connection, id), id))
        except PersistenceError:
            raise
        except SessionError as error:
            raise error.at(where=f"{self.path}, session {id!r}") from None

    def _header_of(self, connection: sqlite3.Connection, id: str) -> bytes:
        found = connection.execute("SELECT header FROM sessions WHERE session_id = ?", (text_in(id),)).fetchone()
        if found is None:
            raise PersistenceError("SESSION_NOT_STORED", f"no session {id!r} is stored in {self.path}")
        return text_out(found[0]).encode()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise PersistenceError("SESSION_NOT_STORED", f"there is no database {self.path}")
        with told(self.path):
            connection = open_for_reading(self.path)
            try:
                yield connection
            finally:
                connection.close()

    # Writing.

    def create(self, header: SessionHeader, events: Sequence[SessionEvent] = (), *, line: bytes | None = None) -> int:
        """Store a new session; see `SessionPersistence.create`."""
        id = header.id
        text = (line or encode({"type": "session", **header.to_dict()})).decode()
        with self._lock, told(self.path):
            writing = self._begin(id)
            try:
                with self._transaction() as connection:
                    self._require_new(connection, id)
                    connection.execute("INSERT INTO sessions VALUES (?, ?)", (text_in(id), text))
                    _insert(connection, id, events)
                writing.seq, writing.uncertain = len(events), False
            except BaseException:
                self.release(id)
                raise
            return writing.seq

    def append(self, id: str, events: Sequence[SessionEvent], *, sync: bool = True) -> int:
        """Extend a stored session; see `SessionPersistence.append`. Without `sync` nothing is done."""
        with self._lock, told(self.path):
            writing = self._writing.get(id)
            if writing is None:
                self.claim(id)
                writing = self._writing[id]
            writing.lock.require_own()
            fresh = continuing(events, writing.seq)
            if not sync or not (fresh or writing.uncertain):
                return writing.seq
            with self._transaction() as connection:
                self._require_unchanged(connection, id, writing)
                _insert(connection, id, fresh)
                writing.uncertain = True
            writing.seq += len(fresh)
            writing.uncertain = False
            return writing.seq

    def claim(self, id: str, *, cwd: Cwd = ...) -> Session:  # noqa: ARG002 (the protocol's)
        """Take a stored session over for writing, and read it; see `SessionPersistence.claim`."""
        with self._lock, told(self.path):
            with self._reading() as connection:  # before anything is locked, which leaves a trace
                self._header_of(connection, id)
            writing = self._begin(id)
            try:
                session, prefix = self._read(self._connected(), id)
            except BaseException:
                self.release(id)
                raise
            writing.seq = prefix.events
            return session

    def release(self, id: str) -> None:
        """Let a session go; see `SessionPersistence.release`. With the last one the database is closed."""
        with self._lock:
            writing = self._writing.pop(id, None)
            if writing is not None:
                writing.lock.release()
            if not self._writing and self._connection is not None and self._pid == os.getpid():
                self._connection.close()
                self._connection = None

    def _begin(self, id: str) -> _Writing:
        if id in self._writing:
            message = f"session {id!r} is being written through this very object already; release it there first"
            raise SessionLockedError("SESSION_LOCKED", message, pid=os.getpid())
        Disk().make_folders(self.path.parent)
        name = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        lock = SessionLock(self.path.with_name(f"{self.path.name}-{name}.lock"), id)
        writing = self._writing[id] = _Writing(lock, 0)
        return writing

    def _require_new(self, connection: sqlite3.Connection, id: str) -> None:
        if connection.execute("SELECT 1 FROM sessions WHERE session_id = ?", (text_in(id),)).fetchone():
            raise PersistenceError("SESSION_STORED", f"session {id!r} is stored in {self.path} already")

    def _require_unchanged(self, connection: sqlite3.Connection, id: str, writing: _Writing) -> None:
        if writing.uncertain:
            for table in ("events", "spellings"):
                connection.execute(f"DELETE FROM {table} WHERE session_id = ? AND seq >= ?", (text_in(id), writing.seq))  # noqa: S608 (a constant)
        found = connection.execute("SELECT max(seq) FROM events WHERE session_id = ?", (text_in(id),)).fetchone()[0]
        if (-1 if found is None else found) != writing.seq - 1:
            raise PersistenceError(
                "LOG_CHANGED",
                f"session {id!r} in {self.path} ends at seq {found}, where {writing.seq} events were written:"
                " something else changed it, so nothing was written; look at it first",
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid != os.getpid():
            _abandoned.append(self._connection)  # SQLite's connections do not survive a fork, not even to be closed
            self._connection = None
        if self._connection is None:
            connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA synchronous = FULL")
                _require_schema(connection, self.path, make=True)
            except BaseException:
                connection.close()
                raise
            self._connection, self._pid = connection, os.getpid()
        return self._connection

    def __del__(self) -> None:
        """Close the database."""
        for id in list(getattr(self, "_writing", ())):
            self.release(id)

    def __repr__(self) -> str:
        """Name the file."""
        return f"SqlitePersistence({str(self.path)!r})"


_abandoned: list[sqlite3.Connection] = []


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Tell SQLite's failures as what they are: the operating system's, or a file that is no database of sessions.

    Raises:
        OSError: For a disk that is full, broken, locked or not ours.
        PersistenceError: ``NOT_A_DATABASE``.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        code = _FAILURES.get(error.sqlite_errorcode & 0xFF)
        if code is None:
            raise
        raise OSError(code, f"{os.strerror(code)} ({error})", str(path)) from error
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
            raise
        raise PersistenceError("NOT_A_DATABASE", f"{path} is no readable database: {error}") from error


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a database of sessions so that nothing in it can change.

    Raises:
        PersistenceError: ``NOT_A_DATABASE``, ``SCHEMA_NEWER``, or ``SESSION_NOT_STORED`` for an empty one.
        sqlite3.Error: When it cannot be opened.
    """
    # Opened for writing, SQLite tidies the journal away when it is done; so that is tried first. In a folder that
    # is read-only, a database without a journal is read as it lies there.
    options = ["mode=rw", "mode=ro"]
    if not path.with_name(f"{path.name}-wal").exists():
        options.append("mode=ro&immutable=1")
    for option in options:
        connection = sqlite3.connect(f"file:{quote(str(path))}?{option}", uri=True, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only = ON")
            _require_schema(connection, path, make=False)
        except BaseException as error:
            connection.close()
            if not isinstance(error, sqlite3.OperationalError) or option == options[-1]:
                raise
        else:
            break
    return connection


def stored_pieces(connection: sqlite3.Connection, header: bytes, id: str) -> Iterator[bytes]:
    """Give a stored log's text, piece by piece, as a file would have it."""
    yield header + b"\n"
    rows = connection.execute(
        "SELECT seq, type, time, data, source_event_seqs, surface_op, line"
        " FROM events LEFT JOIN spellings USING (session_id, seq) WHERE session_id = ? ORDER BY seq",
        (text_in(id),),
    )
    while batch := rows.fetchmany(500):
        yield b"".join(
            (line_of(Row(*fields)) if line is None else text_out(line).encode()) + b"\n" for *fields, line in batch
        )


def _insert(connection: sqlite3.Connection, id: str, events: Sequence[SessionEvent]) -> None:
    key = text_in(id)
    rows, spellings = [], []
    for event in events:
        row, line = row_of(event)
        rows.append((key, *row))
        if line is not None:
            spellings.append((key, row.seq, line))
    connection.executemany(
        "INSERT INTO events (session_id, seq, type, time, data, source_event_seqs, surface_op)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.executemany("INSERT INTO spellings VALUES (?, ?, ?)", spellings)


def _require_schema(connection: sqlite3.Connection, path: Path, *, make: bool) -> None:
    """Check that a database is one of ours, of a version that is known; an empty one is set up."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA:
        raise PersistenceError(
            "SCHEMA_NEWER",
            f"{path} has tables of version {version}, and this package knows them up to {SCHEMA}: update dsh_session",
        )
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if version == SCHEMA and application == _APPLICATION:
        return
    if version or application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise PersistenceError("NOT_A_DATABASE", f"{path} is a database of something else; choose another file")
    if not make:
        raise PersistenceError("SESSION_NOT_STORED", f"the database {path} is empty")
    connection.execute("PRAGMA journal_mode = WAL")
    # One transaction, taken before looking again: two processes may both have found the file empty.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
