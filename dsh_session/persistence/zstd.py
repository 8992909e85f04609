"""Reading logs that are compressed: one zstd frame after the other, the last one perhaps cut off."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from dsh_session.core.errors import PersistenceError
from dsh_session.core.source import ZSTD_MAGIC, DamagedSourceError, TornSourceError

_BITE: Final = 1024
"""How many compressed bytes are decoded at a time: even a hostile file makes no more than 32 MB of them."""


def decompress(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decode zstd frames.

    Args:
        pieces: Any number of frames, cut anywhere.

    Yields:
        Their text, everything that can be decoded.

    Raises:
        PersistenceError: ``COMPRESSED_LOG`` when the package ``zstandard`` is missing.
        TornSourceError: At the end, when the last frame is cut off or what follows it is none.
        DamagedSourceError: At a damage that more frames follow.

    Example:
        >>> import zstandard
        >>> frame = zstandard.compress(b"text")
        >>> b"".join(decompress([frame, frame]))
        b'texttext'
    """
    try:
        import zstandard
    except ImportError:
        raise PersistenceError(
            "COMPRESSED_LOG", "reading a compressed log needs the package zstandard: pip install zstandard"
        ) from None
    decoder = zstandard.ZstdDecompressor()
    frame: Any = None
    number = 0
    bites = _bites(pieces)
    rest = b""
    for bite in bites:
        rest = bite
        try:
            while rest:
                if frame is None:
                    frame, number = decoder.decompressobj(), number + 1
                text = frame.decompress(rest)
                rest = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame = None
                if text:
                    yield text
        except zstandard.ZstdError as error:
            # What follows cannot be decoded. If that may be more of the log, nothing is torn off here.
            if _holds_a_frame(rest[1:], bites):
                raise DamagedSourceError(f"compressed frame {number} is damaged ({error})") from None
            raise TornSourceError(f"compressed frame {number}, the last one, is damaged") from None
    if frame is not None:
        raise TornSourceError(f"compressed frame {number}, the last one, is cut off")


def _bites(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), _BITE):
            yield piece[at : at + _BITE]


def _holds_a_frame(first: bytes, rest: Iterable[bytes]) -> bool:
    """Tell whether another frame may begin somewhere."""
    window = first
    for bite in rest:
        if ZSTD_MAGIC in window:
            return True
        window = window[-len(ZSTD_MAGIC) :] + bite
    return ZSTD_MAGIC in window
