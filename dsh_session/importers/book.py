"""What an import has to say beside its events: findings, the side table, and where each event came from.

It is written to for every line of a log, so it keeps plain tuples; tables are made of them when
somebody looks.
"""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from dsh_session.core.errors import SessionError
from dsh_session.core.lossless import encode
from dsh_session.core.session import Finding

_write = msgspec.json.Encoder().encode

Row = tuple[str | None, int | None, str, int | None, str, bytes]
"""What a `SideRow` holds, as a plain tuple."""


class SideRow(NamedTuple):
    """One value of the source that has no place in an event.

    Attributes:
        session: The session it belongs to; None for none in particular.
        seq: The event it belongs to; None for none in particular.
        file: The file it stands in.
        line: The 1-based line, or entry of a file that is one document.
        key: What it is, such as ``"requestId"``.
        value: Its JSON text.
    """

    session: str | None
    seq: int | None
    file: str
    line: int | None
    key: str
    value: bytes


class SourceRow(NamedTuple):
    """One event, and one line that it was made of.

    Attributes:
        session: The session.
        seq: The event.
        file: The file.
        line: The 1-based line, or entry of a file that is one document.
    """

    session: str
    seq: int
    file: str
    line: int


class Book:
    """Collects what one import finds; see the module.

    Attributes:
        file: The file that is being read; rows that name none are about it.
        findings: What was repaired, left out or ambiguous, in the order in which it was found.
        source_runs: Events in a row that were made of the same lines: session, first seq, the seq after
            the last one, file, lines.
        spans: By file, the first and the last line of every value that takes several.
        entries: By file, how many entries a file that is one document holds.
        places: Where findings stand that are about another file than the first, by their position.

    Example:
        >>> book = Book("log.jsonl")
        >>> book.side("title", "Fix the tests", line=3)
        >>> book.finding("BAD_LINE", "line 4 is no JSON; it was left out", line=4)
        >>> book.side_rows, book.findings[0].code
        ([(None, None, 'log.jsonl', 3, 'title', b'"Fix the tests"')], 'BAD_LINE')
    """

    def __init__(self, file: str = "") -> None:
        """Take the name of the file that is read first."""
        self.file = file
        self.findings: list[Finding] = []
        self._side_rows: list[Row] = []
        self._later: list[Callable[[], Iterable[Row]]] = []
        self.source_runs: list[tuple[str, int, int, str, tuple[int, ...]]] = []
        self.spans: dict[str, list[tuple[int, int]]] = {}
        self.entries: dict[str, int] = {}
        self.places: dict[int, str] = {}
        self._first = file
        self._said: set[str] = set()

    def finding(self, code: str, message: str, line: int | None = None, *, offset: int | None = None) -> None:
        """Note what was repaired, left out or ambiguous.

        Args:
            code: What kind of thing it is; ``docs/importers.md`` lists the codes.
            message: What was found and what was done about it.
            line: The line it begins at.
            offset: The byte offset of that line.
        """
        if self.file != self._first:
            self.places[len(self.findings)] = self.file
            if self.file:
                message = f"{self.file}: {message}"
        self.findings.append(Finding(code, message, line, offset))

    def finding_once(self, code: str, message: str, line: int | None = None) -> None:
        """Note something that is said once for a whole import, however often it is found."""
        if code not in self._said:
            self._said.add(code)
            self.finding(code, message, line)

    def side(
        self,
        key: str,
        value: Any,
        *,
        line: int | None,
        seq: int | None = None,
        session: str | None = None,
        file: str | None = None,
    ) -> None:
        """Keep a value that has no place in an event.

        Args:
            key: What it is.
            value: Any JSON value, or its text as `bytes` or `msgspec.Raw`.
            line: The line it stands in; None for what belongs to no line.
            seq: The event it belongs to.
            session: The session it belongs to.
            file: The file it stands in; the one that is being read by default.
        """
        text = value if type(value) is bytes else text_of(value)
        self._side_rows.append((session, seq, self.file if file is None else file, line, key, text))

    def later(self, rows: Callable[[], Iterable[Row]]) -> None:
        """Leave rows of the side table to be made when somebody looks at it.

        Args:
            rows: Gives them; it is called once, or never.
        """
        self._later.append(rows)

    @property
    def side_rows(self) -> list[Row]:
        """The side table as `SideRow`-shaped tuples; those that were left for later are made now."""
        while self._later:
            self._side_rows += self._later.pop(0)()
        return self._side_rows

    @side_rows.setter
    def side_rows(self, rows: list[Row]) -> None:
        self._side_rows = rows

    def source(self, session: str, seq: int, line: int, *, file: str | None = None) -> None:
        """Note a line that an event was made of."""
        self.source_runs.append((session, seq, seq + 1, self.file if file is None else file, (line,)))

    @property
    def source_rows(self) -> list[tuple[str, int, str, int]]:
        """The events with their lines, as `SourceRow`-shaped tuples; O(all of them)."""
        return [
            (session, seq, file, line)
            for session, first, stop, file, lines in self.source_runs
            for seq in range(first, stop)
            for line in lines
        ]

    def span(self, first: int, last: int) -> None:
        """Note that the value that begins at a line ends at a later one."""
        if last > first:
            self.spans.setdefault(self.file, []).append((first, last))


def text_of(value: Any) -> bytes:
    r"""Give the JSON text of any value that a decoder gave; what JSON has no form for becomes a string.

    Example:
        >>> text_of({"cost": float("nan")}), text_of(msgspec.Raw(b"[1]")), text_of("\ud83d")
        (b'{"cost": "nan"}', b'[1]', b'"\\ud83d"')
    """
    kind = type(value)
    if kind is msgspec.Raw or kind is bytes or kind is memoryview:
        return bytes(value)
    try:
        text = _write(value)
        # The quick encoder writes NaN as null, which would lose it.
        if b"null" not in text or not _may_hold_a_float(value):
            return text
    except (TypeError, UnicodeEncodeError, RecursionError, OverflowError, msgspec.MsgspecError):
        pass
    try:
        return json.dumps(_named(value), ensure_ascii=True).encode()
    except (RecursionError, ValueError, TypeError):
        return _flat(value)


def _may_hold_a_float(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return any(map(_may_hold_a_float, value.values()))
    if kind is list:
        return any(map(_may_hold_a_float, value))
    return kind is float and not math.isfinite(value)


def _named(value: Any) -> Any:
    """Name the floats that JSON has no number for."""
    kind = type(value)
    if kind is dict:
        return {str(key): _named(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_named(item) for item in value]
    if kind is float and not math.isfinite(value):
        return str(value)
    if value is None or kind in (str, bool, int, float):
        return value
    return bytes(value).decode("utf-8", "replace") if kind is msgspec.Raw else repr(value)


def _flat(value: Any) -> bytes:
    """Say what cannot be written, because it is nested too deep, by its size."""
    try:
        return encode(f"a {type(value).__name__} of {len(value)}, nested too deep to be written")
    except (SessionError, TypeError):
        return b'"a value that cannot be written"'
