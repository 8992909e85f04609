"""Everything that is wrong with a log file, not only the first thing.

`load` stops at what it cannot read. `validate_log` goes on: every line is judged by itself as far as that
is possible, and what one faulty line explains is not reported again with the lines after it. It holds
a megabyte of text at a time, and of what it has read only the links of the surface and what tool
results are beside their content.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.core.admission import LineReader, check_wire
from dsh_session.core.errors import JsonTextError, LogFileError, SessionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.invariants import _REWRITE, _is_rewrite
from dsh_session.core.jsonl import Lines, damage_code, first_batch, is_turn_end, read_header
from dsh_session.core.lossless import MAX_SAFE_INTEGER, decode, decode_strictly, encode
from dsh_session.core.messages import check_projectable
from dsh_session.core.session import Finding
from dsh_session.core.shapes import name_of
from dsh_session.core.source import DamagedSourceError, read_pieces
from dsh_session.core.surface import UNSET, Links, is_seq
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import place_for
from dsh_session.core.vocabulary import VOCABULARY

UNREADABLE: Final = frozenset({"JSONL_NO_HEADER", "JSONL_BAD_HEADER"})
"""Findings after which nothing else can be said about a file."""

_RULES: Final = (
    ("JSONL_GAP", "contiguity"),
    ("JSONL_CORRUPT", "json"),
    ("JSONL_", "header"),
    ("HEADER_", "header"),
    ("NOT_JSON", "json"),
    ("SEED_ENVELOPE", "envelope"),
    ("LEGACY_HEADER", "legacy"),
    ("MISSING_ROUTE", "route"),
    ("PROVENANCE_", "provenance"),
    ("PAYLOAD_INVALID", "payload"),
    ("TORN_TAIL", "tail"),
    ("BYTE_ORDER_MARK", "text"),
    ("", "surface"),
)
_OF_THE_PAYLOAD: Final = frozenset({"LEGACY_HEADER", "MISSING_ROUTE", "PAYLOAD_INVALID"})
_FAR: Final = 1_000_000  # a seq that is so far ahead is a mistake, and would cost memory to take seriously
_LONG_NUMBER = re.compile(rb"[0-9]{16}")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class LogFinding(NamedTuple):
    """One thing that is wrong with a log.

    Attributes:
        file: The file, as it was named.
        line: The 1-based line.
        offset: The byte offset of that line; in a compressed log, in its text.
        seq: The seq of the event in that line, or the one it should have; None for the header.
        rule: The kind of rule: ``json``, ``contiguity``, ``envelope``, ``legacy``, ``route``, ``surface``,
            ``provenance``, ``payload``, ``header``, ``text``, ``tail``, or the short name of an
            invariant; see `dsh_session.check_invariants`.
        code: The rule's exact code, as an error carries it.
        message: What is wrong.
    """

    file: str
    line: int
    offset: int
    seq: int | None
    rule: str
    code: str
    message: str


class _Told(NamedTuple):
    code: str
    message: str
    rule: str = ""


def validate_log(path: str | Path) -> Iterator[LogFinding]:
    """List everything that is wrong with a log file.

    Args:
        path: The file; plain text or zstd frames.

    Yields:
        A finding at a time, by line. Findings after the last ``turn/end`` that a load leaves out begin with one whose
        code is ``TORN_TAIL``. One of `UNREADABLE` is the last.

    Raises:
        OSError: When it cannot be read.
        PersistenceError: ``COMPRESSED_LOG`` when the library that reads it is missing.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     size = file.write(b'{"type":"session","version":0,"id":"s","createdAt":5}' + bytes([10]))
        ...     size = file.write(b'{"type":"todo/write","seq":0,"time":1,"data":{}}' + bytes([10]))
        ...     file.flush()
        ...     for finding in validate_log(file.name):
        ...         print(finding.line, finding.rule, finding.code)
        2 payload PAYLOAD_INVALID
        2 enclosure INVARIANT
    """
    return validate_pieces(read_pieces(Path(path)), str(path))


def validate_pieces(pieces: Iterable[bytes], file: str) -> Iterator[LogFinding]:
    """List everything that is wrong with a log's text; see `validate_log`."""
    # Both register the shapes of their payloads.
    import dsh_session.compaction.events
    import dsh_session.hooks  # noqa: F401

    lines = Lines(pieces)
    batches = lines.batches()
    found: list[Finding] = []
    try:
        batch, start = first_batch(next(batches, None), lines, found)
        head = batch[0]
        read_header(head, found)
    except LogFileError as error:
        yield from (_of_load(file, finding) for finding in found)
        yield LogFinding(file, 1, 0, None, "header", error.code, error.message)
        return
    except DamagedSourceError as error:
        yield LogFinding(file, 1, 0, None, "json", "JSONL_CORRUPT", str(error))
        return
    yield from (_of_load(file, finding) for finding in found)
    for told in _text_faults(head, decode(head)):
        yield LogFinding(file, 1, 0, None, told.rule, told.code, told.message)
    yield from _Judge(file).findings(lines, batches, batch[1:], start + len(head) + 1)


def _of_load(file: str, finding: Finding) -> LogFinding:
    return LogFinding(
        file, finding.line or 1, finding.offset or 0, None, _rule(finding.code), finding.code, finding.message
    )


def _rule(code: str) -> str:
    return next(rule for start, rule in _RULES if code.startswith(start))


class _Judge:
    """Goes through the events of a log, judging each."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._links = Links()
        self._events: list[SessionEvent] = []  # the one that was just read
        self._reader = LineReader(self._links, self._events.append)
        self._tracker = TurnTracker()
        self._results: dict[int, bytes] = {}  # what a rewrite of a tool result is compared with
        self._seq = 0  # that comes next
        self._slack = False  # whether the line before was no event, and may have stood for one or for none

    def findings(
        self, lines: Lines, batches: Iterator[list[bytes]], first: list[bytes], offset: int
    ) -> Iterator[LogFinding]:
        """Judge every line; what a load would cut off is held back until that is known."""
        number = 1
        held: list[LogFinding] = []
        try:
            batch: list[bytes] | None = first
            while batch is not None:
                for line in batch:
                    number += 1
                    seq, told = self._judge(line)
                    for code, message, rule in told:
                        finding = LogFinding(self._file, number, offset, seq, rule or _rule(code), code, message)
                        if held or code in ("JSONL_CORRUPT", "JSONL_GAP"):
                            held.append(finding)
                        else:
                            yield finding
                    if held and is_turn_end(line):
                        yield from held
                        held = []
                    offset += len(line) + 1
                batch = next(batches, None)
        except DamagedSourceError as error:
            yield from held
            message = f"{error}; nothing after it can be read"
            yield LogFinding(self._file, number + 1, offset, self._seq, "json", "JSONL_CORRUPT", message)
            return
        if held:
            cut = held[0]
            message = f"{cut.message}; no turn/end follows, so that a load ends here and resume cuts this off"
            held[0] = cut._replace(rule="tail", code="TORN_TAIL", message=message)
        yield from held
        if lines.tail or lines.torn:
            what = lines.torn or "the last line has no line break"
            message = f"{what} ({len(lines.tail)} bytes); a load leaves it out and resume cuts it off"
            yield LogFinding(self._file, number + 1, offset, self._seq, "tail", "TORN_TAIL", message)

    def _judge(self, line: bytes) -> tuple[int, list[_Told]]:
        """Give an event's seq, and what is wrong with it."""
        told: list[_Told] = []
        try:
            self._reader.taken = self._seq
            self._reader.take((line,), line)
            seq, wire = self._events.pop().seq, decode(line)
        except SessionError:
            try:
                wire = decode_strictly(line)
            except JsonTextError as error:
                return self._unread(_Told("JSONL_CORRUPT", error.message))
            except SessionError as error:
                return self._unread(_Told(error.code, error.message))
            if not isinstance(wire, dict):
                code = "SEED_ENVELOPE" if wire is None else "JSONL_GAP"
                return self._unread(_Told(code, f"an event must be an object, not {name_of(wire)}"))
            seq = self._place(wire, told)
            self._admit_partly(wire, line, seq, told)
        self._seq, self._slack = max(self._seq, seq + 1), False
        self._check_rules(wire, seq, told)
        told += _text_faults(line, wire)
        return seq, told

    def _unread(self, told: _Told) -> tuple[int, list[_Told]]:
        seq = self._seq
        self._seq, self._slack = seq + 1, True
        return seq, [told]

    def _place(self, wire: dict[str, Any], told: list[_Told]) -> int:
        """Give the seq that an event is judged with."""
        own: Any = wire.get("seq")
        if self._slack and own == self._seq - 1:
            self._seq -= 1
        expected = self._seq
        if not is_seq(own) or own == expected:
            return expected
        told.append(_Told("JSONL_GAP", f"$.seq is {own} where {expected} comes next"))
        return int(own) if own < expected + _FAR else expected

    def _admit_partly(self, wire: dict[str, Any], line: bytes, seq: int, told: list[_Told]) -> None:
        """Take an event into the surface where that is possible, and say what else is wrong with it."""
        try:
            kind = check_wire({**wire, "seq": seq} if is_seq(wire.get("seq")) else wire, seq)
            plan = self._links.plan(seq, kind, wire.get("surfaceOp", UNSET), wire.get("sourceEventSeqs", UNSET))
            if plan is not None:
                check_projectable(kind, wire["data"], f"seq {seq}")
                if seq >= self._links.ends[4]:
                    self._links.apply(plan)
        except SessionError as error:
            told.append(_Told(damage_code(error, line, seq) or error.code, error.message))

    def _check_rules(self, wire: dict[str, Any], seq: int, told: list[_Told]) -> None:
        """Say which shapes and invariants an event breaks."""
        kind, data = wire.get("type"), wire.get("data")
        if not isinstance(kind, str):
            return
        known = any(code in _OF_THE_PAYLOAD for code, _, _ in told)
        misshapen = _payload_fault(kind, data) if "data" in wire and not known else None
        if misshapen is not None:
            told.append(_Told("PAYLOAD_INVALID", misshapen))
        is_result = kind == "tool/result"
        judged = _REWRITE if is_result and _is_rewrite(wire, self._result) else kind
        broken = self._tracker.take(judged, place_for(judged, wire))
        told += [_Told("INVARIANT", fault.message, fault.rule) for fault in broken]
        if is_result and isinstance(data, dict):
            with suppress(SessionError, OverflowError):  # one that cannot be written again is compared with nothing
                self._results[seq] = encode({**data, "content": None})

    def _result(self, seq: int) -> dict[str, Any] | None:
        """Give an earlier tool result, without its content."""
        text = self._results.get(seq)
        return None if text is None else {"type": "tool/result", "data": decode(text)}


def _payload_fault(kind: str, data: Any) -> str | None:
    with suppress(Exception):  # of the quick check, which may raise anything about a payload that it does not know
        if VOCABULARY.copiers[kind](data) is not None:
            return None
    shape = VOCABULARY.shape(kind)
    fault = shape.fault(data) if shape is not None else None
    return None if fault is None else f"$.{fault[0]} of {kind!r} {fault[1]}".replace("$..", "$.")


# ----------------------------------------------------------------------------------- what loads, and is kept verbatim


def _text_faults(line: bytes, wire: Any) -> list[_Told]:
    """Say what other readers of a line would lose: it loads here, and stays as it is."""
    told = []
    duplicate = _duplicate_key(line, wire)
    if duplicate is not None:
        shown = name_of(duplicate)
        told.append(_Told("DUPLICATE_KEY", f"the key {shown} stands there twice; readers keep the last one", "text"))
    if _LONG_NUMBER.search(line):
        for token in _TOKEN.findall(line):
            if token.lstrip(b"-").isdigit() and abs(int(token)) > MAX_SAFE_INTEGER:
                message = f"the integer {token[:40].decode()} is beyond 2**53 - 1; other readers round it"
                told.append(_Told("INTEGER_TOO_LARGE", message, "text"))
                break
    if _ESCAPED_SURROGATE.search(line) and _has_lone_surrogate(wire):
        told.append(_Told("LONE_SURROGATE", "a string holds half of a surrogate pair; views show U+FFFD", "text"))
    return told


def _duplicate_key(line: bytes, wire: Any) -> str | None:
    # A line that is what its value is written as has lost nothing; most are.
    try:
        if encode(wire) == line:
            return None
    except (SessionError, OverflowError, ValueError):
        pass
    import json

    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(items)
        if len(value) != len(items) and not found:
            seen: set[str] = set()
            found.append(next(key for key, _ in items if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
        return value

    try:
        json.loads(line, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def _has_lone_surrogate(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _LONE_SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list):
            stack += item
    return False
