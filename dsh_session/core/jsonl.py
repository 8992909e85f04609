"""Reading a version-0 log: a header line, then one event per line.

Reading changes nothing. What a crash leaves at the end of a file, a line without its line break
or lines that are damaged after the last ``turn/end``, is left out and reported in
`Session.findings`. Damage before that is an error that names line, column and byte offset.

There is one reader, `read_prefix`. It cuts text into lines, decides where the valid prefix ends, and
holds a megabyte at a time; what becomes of a line is its caller's business.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from dsh_session.core.admission import LineReader
from dsh_session.core.errors import HeaderError, JsonTextError, LogFileError, SeedError, SessionError
from dsh_session.core.header import SessionHeader
from dsh_session.core.lossless import decode_strictly
from dsh_session.core.session import Finding, Session
from dsh_session.core.shapes import name_of
from dsh_session.core.source import CHUNK, DamagedSourceError, TornSourceError, read_pieces

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Taker(Protocol):
    """What becomes of the event lines of a log.

    Attributes:
        taken: How many were taken, which is the seq that the next one must have.
    """

    taken: int

    def take(self, lines: Iterable[bytes], text: bytes) -> None:
        """Take lines that were cut from a text; raise `SessionError` at the first that no log may hold there."""


class Prefix(NamedTuple):
    """How much of a log file is valid.

    Attributes:
        events: The number of events.
        committed: The byte offset where the next event must be written.
    """

    events: int
    committed: int


def load(path: str | Path) -> Session:
    """Read a version-0 log file.

    Args:
        path: The file; plain text or zstd frames.

    Returns:
        A `Session` with the longest valid prefix; `Session.findings` says what was left out. It
        takes the memory of its text once.

    Raises:
        LogFileError: ``JSONL_NO_HEADER``, ``JSONL_BAD_HEADER``, ``JSONL_CORRUPT`` or ``JSONL_GAP``.
        SessionError: For an event that no log may hold, by its own code. Every error carries
            `line` (1-based) and `offset` (bytes of text).
        OSError: When the file cannot be opened.
    """
    path = Path(path)
    try:
        return read_session(read_pieces(path))[0]
    except SessionError as error:
        raise error.at(where=str(path)) from None


def loads(text: bytes) -> Session:
    r"""Read a version-0 log from bytes; see `load`.

    Example:
        >>> log = b'{"type":"session","version":0,"id":"s","createdAt":5}\n{"type":"turn/st'
        >>> session = loads(log)
        >>> session.id, session.seq, session.findings[0].code
        ('s', 0, 'TORN_TAIL')
    """
    if not isinstance(text, (bytes, bytearray, memoryview)):
        raise TypeError(f"a log is read from bytes, not {type(text).__name__}; encode it, or load(path)")
    text = bytes(text)
    return read_session(text[at : at + CHUNK] for at in range(0, len(text), CHUNK))[0]


def read_session(pieces: Iterable[bytes]) -> tuple[Session, Prefix]:
    """Read a session from its text, and say where the valid prefix ends; see `load`."""
    findings: list[Finding] = []
    made: list[tuple[Session, SessionHeader, bytes]] = []

    def begin(line: bytes) -> Taker:
        header = read_header(line, findings)
        session = Session(header.id)
        made.append((session, header, line))
        return LineReader(session._links, session._log.append)

    prefix = read_prefix(pieces, begin, findings)
    session, header, line = made[0]
    session._adopt(header, line, findings)
    return session, prefix


def scan(pieces: Iterable[bytes]) -> tuple[dict[str, Any], Prefix]:
    r"""Find out how much of a log's text is valid, looking at nothing but JSON and seqs.

    Args:
        pieces: The text.

    Returns:
        The header's known fields, of any version, and the prefix.

    Raises:
        LogFileError: As `load`.

    Example:
        >>> scan([b'{"type":"session","version":0,"id":"s","createdAt":5}\n{"seq":0}\n'])
        ({'version': 0, 'id': 's', 'createdAt': 5}, Prefix(events=1, committed=64))
    """
    found: dict[str, Any] = {}

    def begin(line: bytes) -> Taker:
        meta = header_fields(line)
        if meta is None:
            raise LogFileError("JSONL_BAD_HEADER", "line 1: no session header", line=1, offset=0)
        found.update(meta)
        return _FrameReader()

    return found, read_prefix(pieces, begin, [])


def header_fields(line: bytes) -> dict[str, Any] | None:
    """Give the known fields of a header line of any version, or None when it is no header line."""
    try:
        wire = decode_strictly(line)
    except SessionError:
        return None
    if not isinstance(wire, dict) or wire.get("type") != "session" or type(wire.get("id")) is not str:
        return None
    if not {type(wire.get("version")), type(wire.get("createdAt"))} <= {int, float}:
        return None
    names = ("version", "id", "createdAt", "cwd", "parentSession", "seedLength")
    return {name: wire[name] for name in names if name in wire}


def first_line(path: Path) -> bytes:
    """Read a log file's first line, or as much of it as there is."""
    parts = []
    with suppress(TornSourceError, DamagedSourceError):
        for piece in read_pieces(path):
            line, end, _ = piece.partition(b"\n")
            parts.append(line)
            if end or len(parts) > 16:  # no header is that long: this file is something else
                break
    return b"".join(parts).removeprefix(BYTE_ORDER_MARK)


# ------------------------------------------------------------------------------------------------ the one reader


class Lines:
    """The lines of a text that comes in pieces.

    Attributes:
        offset: Where the line begins that is read next.
        text: What the lines of the last batch were cut from.
        tail: What follows the last line break.
        torn: Why the text ends in the middle, where its source said so.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """Take the pieces; they may be cut anywhere."""
        self._pieces = pieces
        self.offset = 0
        self.text = b""
        self.tail = b""
        self.torn: str | None = None

    def batches(self) -> Iterator[list[bytes]]:
        """Give the lines that end in each piece, without their line breaks; `offset` is then the batch's own."""
        parts: list[bytes] = []  # of a line that is not over, joined once
        try:
            for piece in self._pieces:
                if b"\n" not in piece:
                    parts.append(piece)
                    continue
                self.text = text = b"".join((*parts, piece)) if parts else piece
                lines = text.split(b"\n")
                rest = lines.pop()
                parts = [rest] if rest else []
                yield lines
                self.offset += len(text) - len(rest)
        except TornSourceError as error:
            self.torn = str(error)
        self.tail = b"".join(parts)


def read_prefix(pieces: Iterable[bytes], begin: Callable[[bytes], Taker], findings: list[Finding]) -> Prefix:
    """Read the lines of a log up to where its valid prefix ends.

    Args:
        pieces: The text.
        begin: Called with the header line; gives what takes the event lines.
        findings: What is left out is reported here.

    Raises:
        SessionError: For damage at or before the last ``turn/end``, and for lines that no crash leaves behind.
    """
    lines = Lines(pieces)
    batches = lines.batches()
    taken = 0
    try:
        batch, start = first_batch(next(batches, None), lines, findings)
        taker = begin(batch[0])
        first = 1  # which line of the batch is the event that comes next
        while batch:
            try:
                taker.take(batch[1:] if first else batch, lines.text)
                taken = taker.taken
            except SessionError as error:
                at = taker.taken - taken + first
                offset = lines.offset + start + sum(len(line) + 1 for line in batch[:at])
                _judge(error, taker.taken, offset, batch[at:], batches, findings)
                return Prefix(taker.taken, offset)
            batch = next(batches, [])
            first = start = 0
    except DamagedSourceError as error:
        message = f"line {taken + 2}: {error}; more follows, so nothing may be cut here"
        raise LogFileError("JSONL_CORRUPT", message, line=taken + 2, offset=lines.offset) from None
    if lines.tail or lines.torn:
        what = lines.torn or f"line {taken + 2} has no line break"
        message = f"{what} ({len(lines.tail)} bytes); it was left out"
        findings.append(Finding("TORN_TAIL", message, taken + 2, lines.offset))
    return Prefix(taken, lines.offset)


def first_batch(batch: list[bytes] | None, lines: Lines, findings: list[Finding]) -> tuple[list[bytes], int]:
    """Give the first batch without its byte order mark, and the mark's length."""
    start = lines.tail if batch is None else batch[0]
    mark = len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0
    if batch is None:
        what = "the first line has no line break, so it may be cut off" if lines.tail[mark:] else "the file is empty"
        raise LogFileError("JSONL_NO_HEADER", f"line 1: {what}", line=1, offset=0)
    if mark:
        findings.append(Finding("BYTE_ORDER_MARK", "a byte order mark at the start of the file was left out", 1, 0))
        batch[0] = batch[0][mark:]
    return batch, mark


def read_header(line: bytes, findings: list[Finding]) -> SessionHeader:
    """Read the header line of a recorded log.

    Raises:
        LogFileError: ``JSONL_BAD_HEADER``.
    """
    try:
        wire = decode_strictly(line)
        if not isinstance(wire, dict) or wire.get("type") != "session":
            raise HeaderError(
                "HEADER_NOT_RECORD", f'the first line must be {{"type": "session", …}}, not {name_of(wire)}'
            )
        header = SessionHeader({key: value for key, value in wire.items() if key != "type"}, recorded=True)
    except SessionError as error:
        message = f"line 1: no session header: {error.message} ({error.code})"
        raise LogFileError("JSONL_BAD_HEADER", message, line=1, column=error.column, offset=0) from None
    if header.cwd is not None and not header.cwd.startswith("/"):
        findings.append(Finding("HEADER_CWD_RELATIVE", f"cwd {header.cwd!r} is not absolute; it was kept", 1, 0))
    return header


class _Frame(msgspec.Struct, gc=False):
    seq: Any = None


_read_frame = msgspec.json.Decoder(_Frame).decode


class _FrameReader:
    """Asks no more of lines than that they are JSON and carry their seqs."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, lines: Iterable[bytes], text: bytes) -> None:  # noqa: ARG002 (a `Taker`'s)
        for line in lines:
            _require_frame(line, self.taken)
            self.taken += 1


def _require_frame(line: bytes, seq: int) -> None:
    try:
        own = _read_frame(line).seq
    except (msgspec.MsgspecError, RecursionError):
        wire = decode_strictly(line)
        own = wire.get("seq") if isinstance(wire, dict) else None
        if wire is None:
            raise SeedError("SEED_ENVELOPE", "an event must be an object, not null") from None
    if type(own) is bool or own != seq:
        raise LogFileError("JSONL_GAP", f"$.seq is {name_of(own)} where {seq} comes next")


# ------------------------------------------------------------------------------------- damage, or what a crash left


def _judge(
    error: SessionError,
    seq: int,
    offset: int,
    batch: list[bytes],
    batches: Iterator[list[bytes]],
    findings: list[Finding],
) -> None:
    """Report a torn tail, or raise for what is none: the rest of the log decides."""
    line = seq + 2
    code = damage_code(error, batch[0], seq)
    if code is None:
        raise error.at(line=line, offset=offset, where=f"line {line}") from None
    if any(map(is_turn_end, batch)) or any(is_turn_end(text) for later in batches for text in later):
        message = f"line {line}: {error.message}; a turn/end follows, so nothing may be cut here"
        raise LogFileError(code, message, line=line, column=error.column, offset=offset) from None
    message = f"from line {line} on, damaged after the last turn/end, nothing was read: {error.message}"
    findings.append(Finding("TORN_TAIL", message, line, offset))


def damage_code(error: SessionError, line: bytes, seq: int) -> str | None:
    """Tell damage (text that is no JSON, a gap), by its code, from an event that no log may hold: None."""
    if isinstance(error, JsonTextError):
        return "JSONL_CORRUPT"
    if isinstance(error, LogFileError):
        return error.code
    if isinstance(error, SeedError):
        wire = decode_strictly(line)
        own = wire.get("seq") if isinstance(wire, dict) else None
        # Nothing that is cut off or lost leaves a null behind.
        if wire is not None and (type(own) is bool or own != seq):
            return "JSONL_GAP"
    return None


class _Type(msgspec.Struct, gc=False):
    type: Any = None


_read_type = msgspec.json.Decoder(_Type).decode


def is_turn_end(line: bytes) -> bool:
    """Tell whether a line is JSON that says it is a ``turn/end``, however it is spelt and whatever else it holds."""
    try:
        return bool(_read_type(line).type == "turn/end")
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        wire = decode_strictly(line)
    except SessionError:
        return False
    return isinstance(wire, dict) and wire.get("type") == "turn/end"
