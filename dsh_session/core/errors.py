"""One tree of errors, each with a code.

::

    SessionError                 everything this package raises on purpose
    ├── JsonValueError           NOT_JSON, NOT_JSON_METADATA
    │   └── JsonTextError        NOT_JSON, for text that is no JSON at all
    ├── PayloadError             PAYLOAD_INVALID
    ├── SurfaceError             SURFACE_*, BAD_*, RANGE_*, PROVENANCE_*, LOG_NOT_CONTIGUOUS
    ├── SeedError                SEED_*, MISSING_ROUTE, LEGACY_HEADER
    ├── HeaderError              HEADER_*
    ├── LogFileError             JSONL_*
    ├── PersistenceError         SESSION_STORED, SESSION_NOT_STORED, SESSION_AMBIGUOUS, …
    │   └── SessionLockedError   SESSION_LOCKED
    ├── VocabularyError          VOCABULARY_CONFLICT
    ├── AppendError              APPEND_REENTERED, BAD_CLOCK
    ├── ContextError             CONTEXT_CLOSED, CONTEXT_ASYNC, UNKNOWN_EVENT
    ├── StoreError               SESSION_EXISTS, ALREADY_ATTACHED, ALREADY_ANNOUNCED, NOT_LIVE
    ├── SessionForkError         SESSION_ALREADY_EXISTS, SESSION_NOT_FOUND, SESSION_NOT_LIVE,
    │                            INVALID_BOUNDARY, OPEN_TURN
    ├── InvariantError           INVARIANT
    ├── RecordError              RECORD_*
    ├── PairingError             PAIRING_ORPHAN_RESULT, PAIRING_SEQ_NOT_FOUND
    └── CompactionError          COMPACTION_*, REGION_*, SUMMARY_*

Catch a class for a kind of fault, read ``error.code`` for the exact rule.
"""

from typing import Any


class SessionError(Exception):
    """A refusal: what is wrong, where, and what to do.

    Attributes:
        code: The rule that was broken, such as ``"RANGE_NOT_FOUND"``.
        message: The text without the code.
        index: The 0-based index of the faulty event in a seed, if one is to blame.
        line: The 1-based line of the faulty text in a log file, if one is to blame.
        column: The 1-based column (in characters) where the text stops being JSON, if known.
        offset: The byte offset of that line in the file, if known.

    Example:
        >>> error = SessionError("RANGE_NOT_FOUND", "seq 9 is not on the surface")
        >>> error.code, str(error)
        ('RANGE_NOT_FOUND', 'RANGE_NOT_FOUND: seq 9 is not on the surface')
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        index: int | None = None,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
    ) -> None:
        """Take the rule's code, the text for a person, and the place."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.index = index
        self.line = line
        self.column = column
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts, so that an error survives a process pool."""
        return (_rebuild, (type(self), self.code, self.message, self._parts()))

    def _parts(self) -> dict[str, Any]:
        return {"index": self.index, "line": self.line, "column": self.column, "offset": self.offset}

    def at(
        self,
        *,
        index: int | None = None,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
        where: str | None = None,
    ) -> "SessionError":
        """Give the same refusal with its place added, as a new error of the same class."""
        message = self.message if where is None else f"{where}: {self.message}"
        added = {"index": index, "line": line, "column": column, "offset": offset}
        parts = self._parts() | {name: value for name, value in added.items() if value is not None}
        return type(self)(self.code, message, **parts)


def _rebuild(kind: type[SessionError], code: str, message: str, parts: dict[str, Any]) -> SessionError:
    return kind(code, message, **parts)


class JsonValueError(SessionError):
    """A value that JSON cannot hold without loss (``NOT_JSON``, ``NOT_JSON_METADATA``)."""


class JsonTextError(JsonValueError):
    """Text that does not parse as JSON; `column` says where it stops."""


class PayloadError(SessionError):
    """A payload that does not have its event type's shape (``PAYLOAD_INVALID``)."""


class SurfaceError(SessionError):
    """A surface rule that an event would break."""


class SeedError(SessionError):
    """An event that no log may start from: envelope, legacy vocabulary, route or contiguity."""


class HeaderError(SessionError):
    """Creation metadata that is no session header (``HEADER_*``)."""


class LogFileError(SessionError):
    """A log file that cannot be read (``JSONL_*``)."""


class PersistenceError(SessionError):
    """A stored session that cannot be made, found or continued.

    ``SESSION_STORED``
        Another log is stored under the id.
    ``SESSION_NOT_STORED``, ``SESSION_AMBIGUOUS``
        No log, or more than one, is stored under the id.
    ``LOG_CHANGED``
        Somebody else changed, moved or deleted a log while it was being written.
    ``APPEND_GAP``
        The events to store do not go on where the stored log ends.
    ``EMPTY_SEGMENT``, ``OUTSIDE_ROOT``
        An id that has no file name; a symbolic link that leads out of the root.
    ``COMPRESSED_LOG``
        A compressed log cannot be continued, or the library that reads it is missing.
    ``NOT_A_DATABASE``, ``SCHEMA_NEWER``
        A file that is no database of sessions, or one of a later version of this package.
    ``NO_PERSISTENCE``
        Nothing that stores sessions is plugged into the context.
    """


class SessionLockedError(PersistenceError):
    """A session that somebody else is writing (``SESSION_LOCKED``).

    Attributes:
        pid: The process that holds the lock; None where it could not be learnt.
    """

    def __init__(self, code: str, message: str, *, pid: int | None = None, **place: Any) -> None:
        """Take what `SessionError` takes, and the holder's process id."""
        super().__init__(code, message, **place)
        self.pid = pid

    def _parts(self) -> dict[str, Any]:
        return super()._parts() | {"pid": self.pid}


class VocabularyError(SessionError):
    """Two plugins that claim one name with different shapes (``VOCABULARY_CONFLICT``)."""


class AppendError(SessionError):
    """An append at the wrong moment: re-entered, or with a clock that gives no time."""


class InvariantError(SessionError):
    """An event that breaks a rule between events (``INVARIANT``); nothing was logged.

    Attributes:
        seq: The seq that the event would have had.
        rule: The rule's short name, as in `dsh_session.Violation`.
        expected: The value that the rule asks for.
        actual: The value that the event has.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        seq: int | None = None,
        rule: str = "",
        expected: Any = None,
        actual: Any = None,
        **place: Any,
    ) -> None:
        """Take what `SessionError` takes, and the rule with both values."""
        super().__init__(code, message, **place)
        self.seq = seq
        self.rule = rule
        self.expected = expected
        self.actual = actual

    def _parts(self) -> dict[str, Any]:
        own = {"seq": self.seq, "rule": self.rule, "expected": self.expected, "actual": self.actual}
        return super()._parts() | own


class RecordError(SessionError):
    """A `dsh_session.Recorder` that was used at the wrong moment (``RECORD_*``)."""


class PairingError(SessionError):
    """A question about tool calls and results that the surface does not answer (``PAIRING_*``)."""


class CompactionError(SessionError):
    """A compaction that cannot be begun or finished, or a summary that cannot be had; the surface is as before."""


class ContextError(SessionError):
    """A context used where it cannot be: closed, or with a coroutine and no loop to run it."""


class StoreError(SessionError):
    """A session that cannot enter a store or be announced there, or is not live in it."""


class SessionForkError(SessionError):
    """A fork that is not possible."""
