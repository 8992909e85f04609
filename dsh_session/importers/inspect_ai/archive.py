"""Zip archives from strangers: every member that can be read within bounds is read, the rest are findings.

Nothing is ever written to disk, so that a member's name is nothing but a name. The directory is read by
the standard library; members are decompressed here, because it knows no zstd yet, and because a sum
that does not match is no reason to throw away what can be read.
"""

import mmap
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from dsh_session.importers.book import Book

MAGIC: Final = b"PK\x03\x04"
"""What an archive begins with."""

ZSTD: Final = 93

MOST: Final = 1 << 31
"""How many bytes a single member may hold."""

_FREE: Final = 64 << 20  # so many bytes are fine whatever they were compressed from
_RATIO: Final = 300  # above that, more than so many times the compressed size is a trap: real logs stay below 100
_CHUNK: Final = 1 << 20
_ZSTD_PIECE: Final = 512  # four bytes may stand for 128 kB
_LOCAL: Final = struct.Struct("<4s5H3I2H")
_ENCRYPTED: Final = 0x1
_SIZE_FOLLOWS: Final = 0x8
_UTF_8: Final = 0x800


class Member(NamedTuple):
    """One file in an archive.

    Attributes:
        name: Its name, as it is written there.
        offset: Where its local header begins.
        method: How it is compressed.
        flags: Its flags.
        crc: The sum that its content should have; None where only the content's end tells.
        size: Its compressed size; None where only the content's end tells.
    """

    name: str
    offset: int
    method: int
    flags: int
    crc: int | None
    size: int | None


class Archive:
    """An archive that is open for reading.

    Attributes:
        members: By name, in the directory's order; of several with one name the last, as everywhere.
    """

    def __init__(self, path: Path, book: Book) -> None:
        """Read the directory, or look for members where there is none.

        Args:
            path: The archive.
            book: Takes the findings.

        Raises:
            OSError: When it cannot be opened.
        """
        self._book = book
        self._file: BinaryIO = path.open("rb")
        self._length = path.stat().st_size
        self._left = max(_FREE * 4, _RATIO * self._length)  # for all members together: they may overlap
        self.members: dict[str, Member] = {}
        try:
            found = self._listed()
        except (BadZipFile, OSError, ValueError, struct.error, NotImplementedError, EOFError, IndexError) as error:
            found = list(self._scanned())
            message = (
                f"the archive has no readable directory ({error}); {len(found)} members were found by looking for them"
            )
            book.finding("CUT_ARCHIVE", message, 1)
        twice = ""
        for member in found:
            if member.name in self.members:
                twice = member.name
            self.members[member.name] = member
        if twice:
            count = len(found) - len(self.members)
            told = f"{count} members have the name of another one, such as {twice!r:.200}; the last one counts"
            book.finding("DUPLICATE_MEMBER", told)

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def read(self, name: str) -> bytes:
        """Give a member's content; as much as can be read of one that is damaged.

        Args:
            name: One of `members`.

        Returns:
            Its bytes; empty, with a finding, for one that cannot be read.
        """
        member = self.members[name]
        content, problem, _ = self._content(member)
        if problem:
            code, message = problem
            self._book.finding(code, f"member {name!r:.200} {message}", 1)
        return content

    def _listed(self) -> list[Member]:
        with ZipFile(self._file) as directory:
            return [
                Member(
                    info.filename, info.header_offset, info.compress_type, info.flag_bits, info.CRC, info.compress_size
                )
                for info in directory.infolist()
                if not info.is_dir()
            ]

    def _scanned(self) -> Iterator[Member]:
        """Look for members without a directory, from local header to local header."""
        self._left *= 2  # each is decompressed twice: to find its end, and to read it
        if not self._length:
            return
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(MAGIC)
            while at >= 0:
                member = self._local(at)
                end = at
                if member is not None:
                    yield member
                    _, _, end = self._content(member)
                at = data.find(MAGIC, max(at + len(MAGIC), end))

    def _local(self, offset: int) -> Member | None:
        self._file.seek(offset)
        head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size:
            return None
        magic, _, flags, method, _, _, crc, size, _, name_length, _ = _LOCAL.unpack(head)
        name = self._file.read(name_length)
        if magic != MAGIC or len(name) < name_length:
            return None
        text = name.decode("utf-8" if flags & _UTF_8 else "cp437", "replace")
        told = not flags & _SIZE_FOLLOWS and size != 0xFFFFFFFF
        return Member(text, offset, method, flags, crc if told else None, size if told else None)

    def _content(self, member: Member) -> tuple[bytes, tuple[str, str] | None, int]:
        """Decompress a member: its content, what was wrong with it as code and message, and where it ends."""
        if member.flags & _ENCRYPTED:
            return b"", ("ENCRYPTED_MEMBER", "is encrypted; it was left out"), member.offset
        head = b""
        if 0 <= member.offset < self._length:
            self._file.seek(member.offset)
            head = self._file.read(_LOCAL.size)
        if len(head) < _LOCAL.size or head[:4] != MAGIC:
            return b"", ("BAD_MEMBER", "is not where the directory says; it was left out"), member.offset
        fields = _LOCAL.unpack(head)
        begin = member.offset + _LOCAL.size + fields[9] + fields[10]
        limit = max(0, min(MOST, self._left))
        size = member.size
        if size is not None:
            limit = min(limit, max(_FREE, _RATIO * size))
        content, problem, used = self._inflated(member, begin, limit)
        # What was thrown away cost as much time as what is kept.
        self._left -= limit if problem and problem[0] == "OVERSIZED_MEMBER" else max(len(content), 4096)
        if problem is None and member.crc is not None and zlib.crc32(content) != member.crc:
            problem = ("BAD_CHECKSUM", "does not have the checksum that the archive names; it was read all the same")
        return content, problem, begin + used

    def _inflated(self, member: Member, begin: int, limit: int) -> tuple[bytes, tuple[str, str] | None, int]:
        if member.method not in (ZIP_STORED, ZIP_DEFLATED, ZSTD):
            told = f"is compressed by method {member.method}, which nothing here reads; it was left out"
            return b"", ("UNKNOWN_COMPRESSION", told), 0
        inflate = _Inflater(member.method)
        available = self._length - begin if member.size is None else member.size
        self._file.seek(begin)
        used = 0
        while used < available and not inflate.is_done:
            piece = self._file.read(min(_CHUNK, available - used))
            if not piece:
                break
            try:
                used += inflate.feed(piece, limit)
            except (zlib.error, OverflowError, ValueError, EOFError) as error:
                told = f"is damaged after {inflate.length:,} bytes ({error}); what is before that was read"
                return inflate.content, ("BAD_MEMBER", told), used
            if inflate.length > limit:
                told = (
                    f"holds more than {limit:,} bytes, far more than its compressed size makes likely; it was left out"
                )
                return b"", ("OVERSIZED_MEMBER", told), used
        if member.method != ZIP_STORED and not inflate.is_done:
            return inflate.content, ("CUT_MEMBER", f"is cut off after {inflate.length:,} bytes; they were read"), used
        if member.method == ZIP_STORED and member.size is not None and used < member.size:
            return inflate.content, ("CUT_MEMBER", f"is cut off after {used:,} bytes; they were read"), used
        return inflate.content, None, used


class _Inflater:
    """Decompresses one member, never far beyond a limit."""

    def __init__(self, method: int) -> None:
        self._method = method
        self._pieces: list[bytes] = []
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS) if method == ZIP_DEFLATED else None
        self._zstd = None
        if method == ZSTD:
            import zstandard

            self._zstd = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            self._failure: type[Exception] = zstandard.ZstdError
        self.length = 0
        self.is_done = False

    @property
    def content(self) -> bytes:
        return b"".join(self._pieces)

    def feed(self, piece: bytes, limit: int) -> int:
        """Take compressed bytes; gives how many belonged to the member."""
        if self._zlib is not None:
            return self._deflated(piece, limit)
        if self._zstd is not None:
            return self._feed_zstd(piece, limit)
        self._keep(piece)
        return len(piece)

    def _deflated(self, piece: bytes, limit: int) -> int:
        assert self._zlib is not None
        rest = piece
        while rest and not self._zlib.eof and self.length <= limit:
            self._keep(self._zlib.decompress(rest, _CHUNK))
            rest = self._zlib.unconsumed_tail
        self.is_done = self._zlib.eof
        return len(piece) - len(self._zlib.unused_data)

    def _feed_zstd(self, piece: bytes, limit: int) -> int:
        assert self._zstd is not None
        # A decompressor object gives all that its input holds at once: small pieces bound that.
        for at in range(0, len(piece), _ZSTD_PIECE):
            try:
                self._keep(self._zstd.decompress(piece[at : at + _ZSTD_PIECE]))
            except self._failure as error:
                raise ValueError(str(error)) from None
            if self._zstd.eof:
                self.is_done = True
                return min(len(piece), at + _ZSTD_PIECE) - len(self._zstd.unused_data)
            if self.length > limit:
                break
        return len(piece)

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.length += len(piece)
