"""Reading logs of any kind: lines or one document, compressed or not, with whatever damage they have.

What can be read is read; everything else becomes a finding. Nothing here raises for what a file holds.
"""

import codecs
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dsh_session.core.errors import PersistenceError
from dsh_session.core.jsonl import BYTE_ORDER_MARK, Lines
from dsh_session.core.source import CHUNK, DamagedSourceError, TornSourceError, read_pieces
from dsh_session.importers.book import Book, text_of
from dsh_session.importers.salvage import salvage
from dsh_session.importers.tolerant import loads_each, loads_tolerantly

_quick = msgspec.json.Decoder().decode
_UTF_16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SHOWN: Final = 80


class Line(NamedTuple):
    """One line of a file.

    Attributes:
        number: 1-based.
        offset: Where it begins, in bytes of text.
        raw: Its bytes, without the line break.
    """

    number: int
    offset: int
    raw: bytes


def lines(source: Path | bytes, book: Book) -> Iterator[Line]:
    r"""Give the lines of a log, blank ones left out.

    A byte order mark is dropped. Compressed text (zstd) is decompressed. JSON that is spread over
    several lines, a pretty-printed array included, is given as one line each value.

    Args:
        source: A file, or its bytes.
        book: Takes the findings.

    Yields:
        Lines in file order; the last one may be cut off.

    Raises:
        OSError: When the file cannot be opened.

    Example:
        >>> book = Book("log")
        >>> [(line.number, line.raw) for line in lines(b'{"a":1}\n\n{"b":2}', book)]
        [(1, b'{"a":1}'), (3, b'{"b":2}')]
        >>> [(line.number, line.raw) for line in lines(b'{\n  "a": 1\n}\n{\n  "b": 2\n}\n', book)]
        [(1, b'{"a":1}'), (4, b'{"b":2}')]
        >>> [finding.code for finding in book.findings]
        ['PRETTY_PRINTED']
    """
    physical = _physical(source, book)
    for first in physical:
        if first.raw[:1] in (b"{", b"[") and not _is_json(first.raw):
            rest = list(physical)
            spread = None if any(map(_is_object, rest[:20])) else _spread(first, rest, book)
            yield from spread or (first, *rest)
            return
        if first.raw[:1] == b"[":
            rest = list(physical)
            yield from (_elements(first) or (first,)) if not rest else (first, *rest)
            return
        yield first
        break
    yield from physical


def decode(line: Line, book: Book) -> Any | None:
    r"""Read one line's JSON.

    Args:
        line: The line.
        book: Takes a finding for what is no JSON, and for what had to be repaired.

    Returns:
        The value; None, with the finding ``BAD_LINE``, for what is no JSON. Numbers that no JSON
        reader keeps are strings.

    Example:
        >>> book = Book("log")
        >>> decode(Line(1, 0, b'{"a": NaN}'), book), decode(Line(2, 11, b'{"a'), book)
        ({'a': 'NaN'}, None)
        >>> [finding.code for finding in book.findings]
        ['REPAIRED', 'BAD_LINE']
    """
    try:
        value = _quick(line.raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return _decode_slowly(line, book)
    return _decode_slowly(line, book) if value is None else value


def document(source: Path | bytes, book: Book) -> Any | None:
    """Read a file that is one JSON document.

    Args:
        source: A file, or its bytes.
        book: Takes the findings.

    Returns:
        The value; of a document that is cut off or damaged, as much as there is before that. None,
        with the finding ``BAD_DOCUMENT``, when there is nothing.

    Raises:
        OSError: When the file cannot be opened.

    Example:
        >>> book = Book("log")
        >>> document(b'[{"a": 1}, {"b"', book), book.findings[0].code
        ([{'a': 1}], 'CUT_DOCUMENT')
    """
    data = b"".join(_pieces(source, book))
    try:
        return _quick(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    text, repairs = _text_of(data)
    value: Any | None = None
    try:
        value, more = loads_tolerantly(text)
    except (json.JSONDecodeError, RecursionError):
        saved = salvage(text)
        if saved is None:
            what = "the file is empty" if not text.strip() else f"this is no JSON: {_shown(data)}"
            book.finding("BAD_DOCUMENT", f"{what}; nothing was read", 1, offset=0)
            return None
        value, end = saved
        line = text.count("\n", 0, end) + 1
        message = f"the document is cut off or damaged at line {line}; {end:,} of {len(text):,} characters were read"
        book.finding("CUT_DOCUMENT", message, line)
    else:
        repairs += more
    for repair in repairs:
        book.finding("REPAIRED", repair, 1)
    return value


# ------------------------------------------------------------------------------------------------- the text of a file


def _pieces(source: Path | bytes, book: Book) -> Iterator[bytes]:
    """Give a file's text piece by piece, without its byte order mark; damage ends it, with a finding."""
    pieces = _slices(source) if isinstance(source, (bytes, bytearray)) else read_pieces(source)
    try:
        first = next(pieces, b"")
        encoding = _UTF_16.get(first[:2])
        if encoding is not None:
            book.finding("UTF_16", "the file is UTF-16; it was read as such", 1, offset=0)
            yield from _recoded(chain([first[2:]], pieces), encoding)
            return
        if first.startswith(BYTE_ORDER_MARK):
            book.finding("BYTE_ORDER_MARK", "a byte order mark at the start of the file was left out", 1, offset=0)
            first = first[len(BYTE_ORDER_MARK) :]
        if first:
            yield first
        yield from pieces
    except TornSourceError as error:
        book.finding("TORN_TAIL", f"{error}; what is before it was read")
    except DamagedSourceError as error:
        book.finding("DAMAGED_SOURCE", f"{error}; nothing after it can be read")
    except PersistenceError as error:
        book.finding("COMPRESSED_LOG", error.message)


def _slices(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), CHUNK):
        yield bytes(data[at : at + CHUNK])


def _recoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _physical(source: Path | bytes, book: Book) -> Iterator[Line]:
    text = Lines(_pieces(source, book))
    new = tuple.__new__
    number = 0
    for batch in text.batches():
        offset = text.offset
        for raw in batch:
            number += 1
            stripped = raw.strip()
            if stripped:
                # Quicker than calling the class, which counts where there are many lines.
                yield new(Line, (number, offset, stripped))
            offset += len(raw) + 1
    if text.tail.strip():
        yield Line(number + 1, text.offset, text.tail.strip())


# ---------------------------------------------------------------------------------------- JSON that spreads over lines


def _is_json(raw: bytes) -> bool:
    try:
        _quick(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        try:
            loads_tolerantly(_text_of(raw)[0])
        except (json.JSONDecodeError, RecursionError):
            return False
    return True


def _is_object(line: Line) -> bool:
    """Tell whether a line is an object by itself, as the lines of a pretty-printed one are not."""
    return line.raw[:1] == b"{" and len(line.raw) > 2 and _is_json(line.raw)


def _spread(first: Line, rest: list[Line], book: Book) -> list[Line] | None:
    """Read values that are spread over several lines; None when this is something else."""
    # Line breaks are put back as they were counted, so that a position gives a line's number.
    parts = []
    at = first.number
    for line in (first, *rest):
        parts.append("\n" * (line.number - at) + _text_of(line.raw)[0])
        at = line.number
    text = "".join(parts)
    values, end = loads_each(text)
    cut = end < len(text)
    if cut:
        saved = salvage(text[end:])
        if saved is not None:
            values.append((saved[0], end, end + saved[1]))
            end += saved[1]
    if not values:
        return None
    message = "JSON values are spread over several lines; each was read as one line"
    book.finding("PRETTY_PRINTED", message, first.number)
    found = []
    counted, number = 0, first.number
    for value, start, stop in values:
        number += text.count("\n", counted, start)
        last = number + text.count("\n", start, stop)
        book.span(number, last)
        elements = value if isinstance(value, list) and len(values) == 1 else [value]
        found += [Line(number, first.offset, text_of(element)) for element in elements]
        counted, number = stop, last
    if cut:
        message = "from here on the text is cut off or damaged; it was left out"
        book.finding("CUT_DOCUMENT", message, number)
        book.span(number, at)
    return found


def _elements(line: Line) -> list[Line] | None:
    """Give the elements of an array that is all a file holds, as a line each."""
    try:
        value, _ = loads_tolerantly(_text_of(line.raw)[0])
    except (json.JSONDecodeError, RecursionError):
        return None
    if not isinstance(value, list) or not all(isinstance(element, dict) for element in value):
        return None
    return [Line(line.number, line.offset, text_of(element)) for element in value]


# ----------------------------------------------------------------------------------------------------- damaged text


def _decode_slowly(line: Line, book: Book) -> Any | None:
    text, repairs = _text_of(line.raw)
    try:
        value, more = loads_tolerantly(text)
    except json.JSONDecodeError as error:
        message = f"line {line.number} is no JSON (column {error.pos + 1}: {error.msg}): {_shown(line.raw)}"
        book.finding("BAD_LINE", f"{message}; it was left out", line.number, offset=line.offset)
        return None
    except RecursionError:
        message = f"line {line.number} is nested too deep to be read; it was left out"
        book.finding("BAD_LINE", message, line.number, offset=line.offset)
        return None
    repairs += more
    if repairs:
        more_than = f" and {len(repairs) - 3} more" if len(repairs) > 3 else ""
        message = f"line {line.number}: {'; '.join(repairs[:3])}{more_than}"
        book.finding("REPAIRED", message, line.number, offset=line.offset)
    if value is None:
        book.finding("BAD_LINE", f"line {line.number} is null; it was left out", line.number, offset=line.offset)
    return value


def _text_of(raw: bytes) -> tuple[str, list[str]]:
    try:
        return raw.decode(), []
    except UnicodeDecodeError as error:
        bad = f"byte 0x{raw[error.start]:02x} at {error.start} is no UTF-8; U+FFFD stands for what cannot be read"
        return raw.decode("utf-8", "replace"), [bad]


def _shown(raw: bytes) -> str:
    return ascii(raw[:_SHOWN].decode("utf-8", "replace")) + ("…" if len(raw) > _SHOWN else "")
