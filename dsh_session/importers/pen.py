"""What an assembler writes with: the log and its surface, times, and the lines that things come from."""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.header import SESSION_FORMAT_VERSION
from dsh_session.core.lossless import MAX_SAFE_INTEGER, encode
from dsh_session.core.session import Session, _LogOnly, _Message
from dsh_session.core.surface import UNSET
from dsh_session.core.view import FixedView
from dsh_session.importers.blocks import LawfulBlocks, lawful_blocks, text_from
from dsh_session.importers.book import Book

_encode = msgspec.json.Encoder().encode
_UNWRITABLE = (UnicodeEncodeError, RecursionError)  # lone surrogates, and what is nested deep: the slow way copes
_BOUNDARIES = {
    kind: b'{"type":"%b","seq":%%d,"time":%%d,"data":{"turn":%%d,"step":%%d}}' % kind.encode()
    for kind in ("step/start", "step/end")
}


class Pen:
    """Writes events into one session; see `Assembler` for the arguments."""

    def __init__(
        self, header: Mapping[str, Any], book: Book, *, file: str | None = None, plugin: str = "claude-code"
    ) -> None:
        """Begin an empty session."""
        self._wire = header_from(header)
        self.id: str = self._wire["id"]
        self.book = book
        self.plugin = plugin
        self.closed_at: list[int] = []
        self._file = file
        self._session = Session(self.id)
        self._log = self._session._log
        self._links = self._session._links
        self._lines: tuple[int, ...] = ()
        self._written_lines: tuple[int, ...] = ()
        self._written_file = file
        self._traced = 0  # how many events have their lines in the book
        self._start = min(max(int(self._wire["createdAt"]), 0), MAX_SAFE_INTEGER)
        self._now = 0  # what `at` said last, once there are times
        self._has_times = False
        self._turn = 0
        self._is_open = False
        self._is_fresh = False
        self._step = 0
        self._in_step = False
        # Of the open step, by id: the seq of the tool/call. A plain dict is slow to give its first of many that went.
        self._calls: OrderedDict[str, int] = OrderedDict()
        self._renamed: dict[str, deque[str]] = {}  # ids that came more than once in one message
        self._balance: dict[int, int] = {}  # by node: calls it opens, or minus one
        self._header: dict[str, Any] | None = None
        self._wanted: dict[str, Any] | None = None
        self._parent: tuple[str, int] | None = None
        self._is_over = False

    @property
    def last(self) -> int:
        """Seq of the last event; -1 before the first."""
        return len(self._log) - 1

    @property
    def surface(self) -> Sequence[int]:
        """Seqs of the nodes that are on the surface now, in order."""
        order = self._links.order()
        return FixedView(order, len(order))

    def is_live(self, seq: int) -> bool:
        """Tell whether an event is on the surface now."""
        return self._links.holds(seq)

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the calls of the open step that have no result yet."""
        return tuple(self._calls)

    @property
    def first_pending(self) -> str | None:
        """The first of `pending`, or None; O(1)."""
        return next(iter(self._calls), None)

    def waits_for(self, call: str) -> bool:
        """Tell whether a call of the open step has no result yet; O(1)."""
        return call in self._calls

    @property
    def turn(self) -> int | None:
        """The open turn's number, or None."""
        return self._turn if self._is_open else None

    @property
    def step(self) -> int | None:
        """The open step's number, or None."""
        return self._step if self._in_step else None

    @property
    def last_step(self) -> int:
        """The number of the latest step of the latest turn; 0 before the first."""
        return self._step

    @property
    def time(self) -> int:
        """The time that the next event gets, epoch milliseconds."""
        if not self._has_times:
            return min(self._start + len(self._log), MAX_SAFE_INTEGER)
        return self._now

    def at(self, line: int | Iterable[int] | None, time: Any = None, *, file: str | None = None) -> Self:
        """Say where what follows comes from.

        Args:
            line: The line, or several.
            time: Epoch milliseconds; None, or what is no time, is the time before. In a log without
                any times, they are the header's, rising by one with every event.
            file: The file that the line is of, for a log of several; the one before by default.
        """
        # A call per line: the common cases come first.
        if len(self._log) > self._traced:
            self._trace()
        if file is not None:
            self._file = file
        if type(line) is int:
            self._lines = (line,)
        else:
            self._lines = () if line is None else tuple(line)  # type: ignore[arg-type]  # a bool is no line
        if type(time) is float and 0 <= time <= MAX_SAFE_INTEGER:
            time = int(time)
        if type(time) is int and 0 <= time <= MAX_SAFE_INTEGER:
            self._now = time
            self._has_times = True
        return self

    def side(self, key: str, value: Any, *, seq: int | None = None) -> None:
        """Keep a value that has no place in an event, for the last event, or for one."""
        belongs = seq if seq is not None else (self.last if self._log else None)
        file = self.book.file if self._file is None else self._file
        for line in self._lines or (None,):
            self.book.side(key, value, line=line, seq=belongs, session=self.id, file=file)

    def finding(self, code: str, message: str) -> None:
        """Note what was repaired, left out or ambiguous, at the current line."""
        self.book.finding(code, message, self._lines[0] if self._lines else None)

    def _blocks(self, content: Any) -> list[Any]:
        return content if type(content) is LawfulBlocks else lawful_blocks(content, self._note)

    def _note(self, key: str, value: Any) -> None:
        # The event that the value belongs to is written next.
        self.side(key, value, seq=len(self._log))

    def _write(self, kind: str, data: Any) -> int:
        """Log an event that is no message."""
        log = self._log
        seq = len(log)
        time = self._now if self._has_times else self.time
        event = _LogOnly(kind, seq, time, data)
        try:
            line = _encode(event)
        except _UNWRITABLE:
            line = _slowly(event)
        log.append(SessionEvent(kind, seq, time, line))
        return seq

    def _boundary(self, kind: str) -> int:
        """Log where a step begins or ends; there are two of them for every answer."""
        log = self._log
        seq = len(log)
        time = self._now if self._has_times else self.time
        log.append(SessionEvent(kind, seq, time, _BOUNDARIES[kind] % (seq, time, self._turn, self._step)))
        return seq

    def _message(self, kind: str, data: Any, sources: Iterable[int] = (), *, known: Any = None) -> int:
        """Log a message at the end of the surface; `known` sources need no check."""
        log, links = self._log, self._links
        seq = len(log)
        time = self._now if self._has_times else self.time
        cited: Any = _cited(sources, seq) if sources else known
        if not cited:
            # An answer says that nothing was streamed; the others may not.
            cited = [] if kind == "assistant/message" else UNSET
        event = _Message(kind, seq, time, data, cited, "append")
        try:
            line = _encode(event)
        except _UNWRITABLE:
            line = _slowly(event)
        log.append(SessionEvent(kind, seq, time, line, "append"))
        links.push(seq)
        return seq

    def _replacement(self, data: Any, cited: list[int], start: int, end: int, kind: str = "user/message") -> int:
        """Log a message in the place of a range."""
        seq, time, op = len(self._log), self.time, Replace(start, end)
        plan = self._links.plan(seq, kind, op, cited)
        assert plan is not None
        line = text_of_event(_Message(kind, seq, time, data, cited, op))
        self._log.append(SessionEvent(kind, seq, time, line, op))
        self._links.apply(plan)
        return seq

    def _trace(self) -> None:
        """Enter the lines of what was written since the last time."""
        stop = len(self._log)
        if stop > self._traced:
            file = self.book.file if self._file is None else self._file
            if self._lines:
                self.book.source_runs.append((self.id, self._traced, stop, file, self._lines))
            self._written_lines, self._written_file = self._lines, self._file
            self._traced = stop


def text_of_event(envelope: Any) -> bytes:
    """Write an event, whatever it holds."""
    try:
        return _encode(envelope)
    except _UNWRITABLE:
        return _slowly(envelope)


def _slowly(envelope: Any) -> bytes:
    return encode(replace(envelope, data=_read(envelope.data)))


def _read(value: Any) -> Any:
    """Read the texts that were handed on as they stand in a log; see `blocks`."""
    kind = type(value)
    if kind is dict:
        return {key: _read(item) for key, item in value.items()}
    if kind is list:
        return [_read(item) for item in value]
    return msgspec.json.decode(value) if kind is msgspec.Raw else value


def _cited(sources: Iterable[int], seq: int) -> list[int]:
    """Give the sources of an event without those that no event may cite."""
    return [source for source in dict.fromkeys(sources) if 0 <= source < seq]


def header_from(header: Mapping[str, Any]) -> dict[str, Any]:
    """Make a header in wire form lawful: an id, a time of creation, and nothing of the wrong type.

    Example:
        >>> header_from({"id": "s", "createdAt": None, "cwd": 5, "parentSession": "p"})
        {'version': 0, 'id': 's', 'createdAt': 0, 'parentSession': 'p'}
    """
    created: Any = header.get("createdAt")
    usable = type(created) in (int, float) and abs(created) <= MAX_SAFE_INTEGER  # which NaN is not
    wire: dict[str, Any] = {
        "version": SESSION_FORMAT_VERSION,
        "id": text_from(header.get("id")) or "unknown",
        "createdAt": (created or 0) if usable else 0,
    }
    for key in ("cwd", "parentSession"):
        if type(header.get(key)) is str and header[key]:
            wire[key] = header[key]
    length = header.get("seedLength")
    if type(length) is int and 0 <= length <= MAX_SAFE_INTEGER:
        wire["seedLength"] = length
    return wire


def short(text: str) -> str:
    """Give an id or a name of any length for a finding."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
