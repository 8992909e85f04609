"""What no event has a place for, of lines that became events: made when somebody looks at the side table."""

from array import array
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dsh_session.importers.book import Row, text_of
from dsh_session.importers.claude_code.content import answer_blocks, said
from dsh_session.importers.claude_code.entries import Entry
from dsh_session.importers.claude_code.taking import message_of
from dsh_session.importers.claude_code.values import Fields, python

AMBIENT: Final = ("sessionId", "cwd", "version", "gitBranch", "userType", "slug", "entrypoint", "permissionMode")
"""What is the same from line to line: it has a row where it changes."""

_SPENT: Final = ("type", "isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "toolUseResult", "message")
_SPENT_OF_MESSAGE: Final = ("role", "type", "content", "model")
_EXACT: Final = 26  # a time that the event has whole: 24 characters in quotes

_write = msgspec.json.Encoder().encode


class Left:
    """The lines that became events of one session, for the rows that they leave.

    Example:
        >>> from dsh_session.importers.claude_code.entries import entries
        >>> from dsh_session.importers.book import Book
        >>> line = b'{"type": "user", "uuid": "u", "cwd": "/tmp", "message": {"role": "user", "content": "Hello"}}'
        >>> left = Left("s")
        >>> left.add(next(entries(line, Book("log"))), 1)
        >>> list(left.rows())
        [('s', 1, 'log', 1, 'cwd', b'"/tmp"'), ('s', 1, 'log', 1, 'line', b'{"uuid":"u"}')]
    """

    def __init__(self, session: str) -> None:
        """Begin with no line."""
        self._session = session
        # A log has many lines: of each there is no more here than is needed.
        self._texts: list[bytes | Fields] = []
        self._files: list[tuple[int, str]] = []
        self._file = ""
        self._numbers = array("q")
        self._seqs = array("q")

    def add_all(self, entries: list[Entry], seq: int) -> None:
        """Take the lines of one event, which are of one file as a rule."""
        file = self._file
        for entry in entries:
            if entry.file != file:
                for each in entries:
                    self.add(each, seq)
                return
        self._texts += [entry.raw if entry.tree is None else entry.tree for entry in entries]
        self._numbers.extend([entry.number for entry in entries])
        self._seqs.extend([seq] * len(entries))

    def add(self, entry: Entry, seq: int) -> None:
        """Take a line and the seq of its event."""
        if entry.file != self._file:
            self._file = entry.file
            self._files.append((len(self._texts), entry.file))
        self._texts.append(entry.raw if entry.tree is None else entry.tree)
        self._numbers.append(entry.number)
        self._seqs.append(seq)

    def rows(self) -> Iterator[Row]:
        """Give a row for each field of `AMBIENT` that changes, and one with everything else that a line holds."""
        known: dict[str, Any] = {}
        files = dict(self._files)
        file = ""
        for at, (text, number, seq) in enumerate(zip(self._texts, self._numbers, self._seqs, strict=True)):
            file = files.get(at, file)
            raw, tree = (text, None) if isinstance(text, bytes) else (b"", text)
            fields = Entry(number, raw, file, tree=tree).fields()
            for key in AMBIENT:
                value = fields.pop(key, None)
                if value is not None and value != known.get(key):
                    known[key] = value
                    yield self._session, seq, file, number, key, text_of(value)
            yield self._session, seq, file, number, "line", _row(fields)


def _row(fields: Fields) -> bytes:
    message = dict(message_of(fields))
    found = said(message.get("content"))
    rest = found.rest
    for _, content, _ in found.answers:
        answer_blocks(content, rest)
    if len(text_of(fields.get("timestamp"))) == _EXACT:
        fields.pop("timestamp")
    for key in _SPENT:
        fields.pop(key, None)
    for key in _SPENT_OF_MESSAGE:
        message.pop(key, None)
    if rest:
        message["content"] = rest
    if message:
        fields["message"] = message
    try:
        return _write(fields)
    except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError):
        return text_of({key: python(value) for key, value in fields.items()})
