"""The values of a JSON file that is one list, or has one value a line, with a number for each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dsh_session.importers.book import Book
from dsh_session.importers.reading import decode, document, lines

_HEAD: Final = 1 << 20
_MARKS: Final = b"\xef\xbb\xbf \t\r\n"


def entries(path: Path, book: Book) -> Iterator[tuple[int, Any]]:
    """Give the values of a file, numbered: by line, or by place where the file is one list.

    Args:
        path: A JSON or JSONL file.
        book: Takes the findings, and how many entries a list has.

    Yields:
        1-based numbers and values, in file order.

    Raises:
        OSError: When the file cannot be opened.
    """
    if not is_one_list(path):
        yield from _each_line(path, book)
        return
    value = document(path, book)
    if isinstance(value, list):
        book.entries[book.file] = len(value)
        yield from enumerate(value, 1)
    elif value is not None:
        yield 1, value


def _each_line(path: Path, book: Book) -> Iterator[tuple[int, Any]]:
    known = len(book.findings)
    count = 0
    for line in lines(path, book):
        count += 1
        value = decode(line, book)
        if value is not None:
            yield line.number, value
    # A single object over several lines is nothing to tell: that is what a document looks like.
    if count == 1:
        book.findings[known:] = [found for found in book.findings[known:] if found.code != "PRETTY_PRINTED"]


def is_one_list(path: Path) -> bool:
    """Tell whether a file begins with a list that is not its first line alone."""
    with path.open("rb") as file:
        head = file.read(_HEAD).lstrip(_MARKS)
    if not head.startswith(b"["):
        return False
    first, _, rest = head.partition(b"\n")
    return not (rest.strip() and first.rstrip().endswith(b"]") and rest.lstrip()[:1] in (b"[", b"{"))
