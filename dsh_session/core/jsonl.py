"""Reading a version-0 log: a header line, then one event per line.

Reading changes nothing. What a crash leaves at the end of a file, a line without its line break
or lines that are damaged after the last ``turn/end``, is left out and reported in
`Session.findings`. Damage before that is an error that names line, column and byte offset.
"""

from pathlib import Path
from typing import Any, NamedTuple

from dsh_session.core.admission import LineReader
from dsh_session.core.errors import HeaderError, JsonTextError, LogFileError, SeedError, SessionError
from dsh_session.core.header import SessionHeader
from dsh_session.core.lossless import decode_strictly
from dsh_session.core.session import Finding, Session
from dsh_session.core.shapes import name_of

_BOM = b"\xef\xbb\xbf"


class _Fault(NamedTuple):
    code: str
    error: SessionError
    line: int
    offset: int


def load(path: str | Path) -> Session:
    """Read a version-0 log file.

    Args:
        path: The file.

    Returns:
        A `Session` with the longest valid prefix; `Session.findings` says what was left out.

    Raises:
        LogFileError: ``JSONL_NO_HEADER``, ``JSONL_BAD_HEADER``, ``JSONL_CORRUPT`` or ``JSONL_GAP``.
        SessionError: For an event that no log may hold, by its own code. Every error carries
            `line` (1-based) and `offset` (bytes).
        OSError: When the file cannot be opened.
    """
    path = Path(path)
    try:
        return loads(path.read_bytes())
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
    findings: list[Finding] = []
    start = 0
    if text.startswith(_BOM):
        start = len(_BOM)
        findings.append(Finding("BYTE_ORDER_MARK", "a byte order mark at the start of the file was left out", 1, 0))
    *lines, tail = text[start:].split(b"\n")
    if not lines:
        what = "the file is empty" if not tail else "the first line has no line break, so it may be cut off"
        raise LogFileError("JSONL_NO_HEADER", f"line 1: {what}", line=1, offset=0)
    header = _header(lines[0], findings)
    session = Session(header.id)
    fault = _read_events(session, lines, start)
    if fault is not None:
        _judge(fault, lines[fault.line - 1 :])
        message = f"from line {fault.line} on, damaged after the last turn/end, nothing was read: {fault.error.message}"
        findings.append(Finding("TORN_TAIL", message, fault.line, fault.offset))
    elif tail:
        offset = len(text) - len(tail)
        message = f"line {len(lines) + 1} has no line break ({len(tail)} bytes); it was left out"
        findings.append(Finding("TORN_TAIL", message, len(lines) + 1, offset))
    session._adopt(header, lines[0], findings)
    return session


def _header(line: bytes, findings: list[Finding]) -> SessionHeader:
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


def _read_events(session: Session, lines: list[bytes], start: int) -> _Fault | None:
    """Read events until the end or the first fault."""
    log, admit = session._log, LineReader(session._links).admit
    seq = 0
    try:
        for seq in range(len(lines) - 1):
            log.append(admit(lines[seq + 1], seq))
    except SessionError as error:
        offset = start + sum(len(line) + 1 for line in lines[: seq + 1])
        return _Fault(_code_of(error, lines[seq + 1], seq), error, seq + 2, offset)
    return None


def _code_of(error: SessionError, line: bytes, seq: int) -> str:
    """Tell damage (text that is no JSON, a gap) from an event that no log may hold."""
    if isinstance(error, JsonTextError):
        return "JSONL_CORRUPT"
    if isinstance(error, SeedError):
        wire = decode_strictly(line)
        own = wire.get("seq") if isinstance(wire, dict) else None
        if type(own) is bool or own != seq:
            return "JSONL_GAP"
    return error.code


def _judge(fault: _Fault, rest: list[bytes]) -> None:
    """Raise for a fault that is no torn tail."""
    code, error, line, offset = fault
    place: dict[str, Any] = {"line": line, "column": error.column, "offset": offset}
    if code not in ("JSONL_CORRUPT", "JSONL_GAP"):
        raise error.at(line=line, offset=offset, where=f"line {line}") from None
    if any(_is_turn_end(text) for text in rest):
        raise LogFileError(
            code, f"line {line}: {error.message}; a turn/end follows, so nothing may be cut here", **place
        )


def _is_turn_end(line: bytes) -> bool:
    if b"turn/end" not in line:
        return False
    try:
        wire = decode_strictly(line)
    except SessionError:
        return False
    return isinstance(wire, dict) and wire.get("type") == "turn/end"
