"""What a log file asks of the disk, as one object that a test can put another in the place of.

Only what changes the disk, or depends on what was made durable, goes through here.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_PLACED: Final = hasattr(os, "pwrite")
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)


class Disk:
    """The disk of this machine, through the calls that say what is durable.

    Paths and file descriptors are the operating system's. Every method raises `OSError`.
    """

    def create(self, path: Path) -> int:
        """Make a new file, which must not exist, and open it for writing."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK | _CLOSE_ON_EXEC, 0o666)

    def open(self, path: Path) -> int:
        """Open an existing file for writing; a symbolic link is refused."""
        return os.open(path, os.O_RDWR | _NO_LINK | _CLOSE_ON_EXEC)

    def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
        """Write bytes at an offset; give how many were written, which may be fewer."""
        if _PLACED:
            return os.pwrite(file, data, offset)
        os.lseek(file, offset, os.SEEK_SET)
        return os.write(file, data)

    def truncate(self, file: int, size: int) -> None:
        """Cut a file to a size."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Return when a file's bytes and size are durable."""
        if sys.platform == "darwin":  # where fsync stops at the drive's own cache
            import fcntl

            with suppress(OSError):  # a network drive may not know it
                fcntl.fcntl(file, fcntl.F_FULLFSYNC)
                return
        os.fsync(file)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, which must not exist.

        Raises:
            FileExistsError: When it does.
            OSError: When the file system knows no second names.
        """
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file; what has the new name is replaced."""
        os.replace(source, target)  # noqa: PTH105 (one place for all calls)

    def unlink(self, path: Path) -> None:
        """Remove a name; one that is not there is fine."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make one folder, whose parent exists; one that is there already is fine."""
        path.mkdir(exist_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in a folder are durable."""
        if os.name == "nt":  # where a folder cannot be opened, and its names are journalled
            return
        folder = os.open(path, os.O_RDONLY | _CLOSE_ON_EXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self, file: int) -> None:
        """Close a file."""
        os.close(file)

    def make_folders(self, path: Path) -> None:
        """Make a folder and the missing ones above it, each durably."""
        missing = []
        while not path.exists():
            missing.append(path)
            path = path.parent
        for folder in reversed(missing):
            self.make_folder(folder)
        for folder in missing:
            self.sync_folder(folder.parent)
