"""What an importer may look at to recognise its format: the beginning of a file, or what a folder holds."""

import codecs
import errno
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec

from dsh_session.core.errors import PersistenceError
from dsh_session.core.jsonl import BYTE_ORDER_MARK
from dsh_session.core.source import ZSTD_MAGIC, DamagedSourceError, TornSourceError, read_pieces
from dsh_session.importers.salvage import salvage
from dsh_session.importers.tolerant import loads_each, loads_tolerantly

HEAD: Final = 1 << 16
"""How many bytes of a file an importer gets to see."""

_FAR: Final = 1 << 26  # how far to look where one line is longer than that
_LINES: Final = 20
_ESCAPE: Final = len(r"\u0000")
_NAMES: Final = 1000
_quick = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Sample:
    """The beginning of a log.

    Attributes:
        path: The file or folder.
        head: The first 64 kB of its text, decompressed; empty for a folder.
        is_dir: Whether it is a folder.
        is_whole: Whether `head` is all of it.
        names: What a folder holds, sorted; at most a thousand names.
    """

    path: Path
    head: bytes
    is_dir: bool = False
    is_whole: bool = True
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path, limit: int = HEAD) -> "Sample":
        """Look at a file or a folder.

        Args:
            path: The file or folder.
            limit: How many bytes of a file to look at.

        Raises:
            OSError: When it cannot be opened, or read only once, as a pipe.
        """
        if path.is_dir():
            names = []
            for entry in path.iterdir():
                names.append(entry.name)
                if len(names) >= _NAMES:
                    break
            return cls(path, b"", is_dir=True, names=tuple(sorted(names)))
        if path.exists() and not path.is_file():
            # Whoever looked at its beginning would have taken that away, and wait for ever for another.
            raise OSError(errno.ESPIPE, "this can be read only once; save what comes out of it in a file", str(path))
        head, is_whole = _head_of(path, limit)
        return cls(path, head, is_whole=is_whole)

    def longer(self) -> "Sample | None":
        """Look at up to 64 MB of a file of which the head is not even one line of JSON; else None.

        Raises:
            OSError: When it cannot be opened any more.
        """
        if self.is_whole or b"\n" in self.head or self.head.lstrip()[:1] not in (b"{", b"["):
            return None
        return Sample.of(self.path, _FAR)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """Up to twenty JSON values: the first lines, the elements of an array, or the document itself.

        Of a value that does not fit into the head there is as much as does.
        """
        return tuple(self._found[0])

    @cached_property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """Those of `values` that are objects."""
        return tuple(value for value in self.values if isinstance(value, dict))

    @property
    def document(self) -> Any:
        """The value, if the file is one JSON document rather than lines; of a long one, its beginning."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[list[Any], Any]:
        text = self.head
        lines = text.split(b"\n")
        # A line that goes on after the head is not over.
        cut = lines.pop() if not self.is_whole and len(lines) > 1 else None
        filled = [line.strip() for line in lines if line.strip()]
        if not filled:
            return [], None
        read = [_read(line) for line in filled[:_LINES]]
        firsts = [value for value in read if value is not None]
        alone = len(filled) == 1 and cut is None
        if alone and read[0] is not None:
            return _unpacked(read[0])
        if filled[0][:1] in (b"{", b"[") and read[0] is None and not any(map(_is_object, read[1:])):
            return self._spread(text)
        return firsts, None

    def _spread(self, raw: bytes) -> tuple[list[Any], Any]:
        """Read values that are spread over lines, or one that is longer than the head."""
        text = raw.decode("utf-8", "replace").strip()
        values, end = loads_each(text)
        found = [value for value, _, _ in values[:_LINES]]
        if len(found) < _LINES and end < len(text):
            saved = _salvage_head(text[end:])
            if saved is not None:
                found.append(saved[0])
        return _unpacked(found[0]) if len(found) == 1 else (found, None)


def _salvage_head(text: str) -> tuple[Any, int] | None:
    """Read a value that is cut off, by the head's end or the file's; of a string that is, there is its beginning."""
    for dropped in range(_ESCAPE if len(text) <= HEAD else 0):  # an escape may be cut, too
        closed = text[: len(text) - dropped] + '"'
        saved = salvage(closed)
        if saved is not None and saved[1] == len(closed):
            return saved
    return salvage(text)


def _unpacked(document: Any) -> tuple[list[Any], Any]:
    return (document[:_LINES] if isinstance(document, list) else [document]), document


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def _read(line: bytes) -> Any:
    try:
        return _quick(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        return loads_tolerantly(line.decode("utf-8", "replace"))[0]
    except (json.JSONDecodeError, RecursionError):
        return None


def _head_of(path: Path, limit: int) -> tuple[bytes, bool]:
    """Read the beginning, decompressed and in UTF-8, and tell whether that is all."""
    with path.open("rb") as file:
        head = file.read(limit + 1)
    if head.startswith(ZSTD_MAGIC):
        head = _decompressed(path, limit)
    is_whole = len(head) <= limit
    head = head[:limit]
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return head[2:].decode(encoding, "replace").encode("utf-8", "replace"), is_whole
    return head.removeprefix(BYTE_ORDER_MARK), is_whole


def _decompressed(path: Path, limit: int) -> bytes:
    parts: list[bytes] = []
    length = 0
    try:
        for piece in read_pieces(path):
            parts.append(piece)
            length += len(piece)
            if length > limit:
                break
    except (TornSourceError, DamagedSourceError, PersistenceError):
        pass
    return b"".join(parts)
