"""Where the bytes of a log file come from: read piece by piece, decompressed on the way.

The core reads plain text and shows nothing. What decompresses and what draws a progress bar are
slots that the public page fills; both load their library when it is first wanted.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Final

from dsh_session.core.errors import PersistenceError

CHUNK: Final = 1 << 20
"""How many bytes are read at a time; what is read costs memory once, as the lines that are kept."""

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""What a zstd frame begins with."""

_LARGE: Final = 16 * CHUNK  # nothing smaller takes a second, and most logs are far smaller

Decompress = Callable[[Iterable[bytes]], Iterator[bytes]]
Meter = Callable[[str, int], AbstractContextManager[Callable[[int], Any]]]
"""From what is done and its size in bytes to a progress bar: entered, it gives a function to advance it by."""

_slots: dict[str, Any] = {}


class TornSourceError(Exception):
    """Raised after the last readable piece: compressed text that ends in the middle of a frame."""


class DamagedSourceError(Exception):
    """Raised after the last readable piece: compressed text that is damaged before its last frame."""


def fill(*, decompress: Decompress, meter: Meter) -> None:
    """Set what decompresses zstd frames and what shows progress."""
    _slots.update(decompress=decompress, meter=meter)


def read_pieces(path: Path) -> Iterator[bytes]:
    """Read a log file's text, piece by piece.

    Args:
        path: Plain text, or any number of zstd frames; told apart by their first bytes.

    Yields:
        Its text. A file that grows meanwhile is read as far as it goes.

    Raises:
        OSError: When it cannot be opened or read.
        PersistenceError: ``COMPRESSED_LOG`` where nothing decompresses.
        TornSourceError: At the end, when the last frame is cut off.
        DamagedSourceError: At the place of the damage.
    """
    with path.open("rb", buffering=0) as file:
        first = file.read(CHUNK)
        pieces = _metered(file, first, path)
        if not first.startswith(ZSTD_MAGIC):
            yield from pieces
            return
        decompress: Decompress | None = _slots.get("decompress")
        if decompress is None:
            raise PersistenceError("COMPRESSED_LOG", f"{path} is compressed; import dsh_session to read it")
        yield from decompress(pieces)


def is_compressed(path: Path) -> bool:
    """Tell whether a file begins with a zstd frame."""
    with path.open("rb", buffering=0) as file:
        return file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC


def _metered(file: BinaryIO | Any, first: bytes, path: Path) -> Iterator[bytes]:
    # A pipe tells no size; it is read without a bar.
    size = path.stat().st_size if path.is_file() else 0
    meter: Meter | None = _slots.get("meter")
    if meter is None or size < _LARGE:
        yield from _rest(file, first)
        return
    with meter(f"reading {path.name}", size) as advance:
        for piece in _rest(file, first):
            yield piece
            advance(len(piece))


def _rest(file: BinaryIO | Any, first: bytes) -> Iterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = file.read(CHUNK)
