"""One log file that is being written: made at once or not at all, and only ever extended.

What was synced stays as it is. A write that fails leaves the file in an unknown state beyond that
point; the next one cuts it back there first. (After a failed sync a system may have dropped what
it could not write, so the same bytes are written again, not only synced again.)
"""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dsh_session.core.errors import PersistenceError
from dsh_session.core.event import SessionEvent
from dsh_session.persistence.disk import Disk
from dsh_session.persistence.lock import SessionLock

_NO_LINKS: Final = {
    errno.EACCES,
    errno.EINVAL,
    errno.EMLINK,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EPERM,
}


class Names:
    """Makes the names of files durable, and those of the folders they are in.

    Attributes:
        disk: The disk.
    """

    def __init__(self, disk: Disk) -> None:
        """Take the disk."""
        self.disk = disk
        self._settled: set[Path] = set()

    def settle(self, path: Path) -> None:
        """Return when the name of a log is durable, and those of its folder and root."""
        folder = path.parent
        self.disk.sync_folder(folder)
        if folder not in self._settled:
            self.disk.sync_folder(folder.parent)
            with suppress(PermissionError):  # what is above the root may not be ours to read
                self.disk.sync_folder(folder.parent.parent)
            self._settled.add(folder)


class LogFile:
    """The writer of one session's log; it holds the session's lock.

    Attributes:
        path: The log.
        lock: The session's lock.
    """

    def __init__(self, path: Path, lock: SessionLock, names: "Names") -> None:
        """Take the log's path, its lock, and what makes names durable; nothing is opened yet."""
        self.path = path
        self.lock = lock
        self._name = os.fspath(path)
        self._disk = names.disk
        self._names = names
        self._file: int | None = None
        self._identity: Any = None
        # Size and number of events, each pair set in one step: an interruption must not find half of it.
        self._synced = (0, 0)  # what is on the disk
        self._end = (0, 0)  # what the file holds, if nothing went wrong
        self._settled = False  # whether the file's name is on the disk
        self._uncertain = False  # whether anything may lie beyond the synced part
        self._found: int | None = None  # the size of a file that was taken over, until it is cut

    # Opening.

    def create(self, header_line: bytes, events: Sequence[SessionEvent]) -> int:
        """Make the file with its first events; it appears whole or not at all.

        Returns:
            The number of events that are durable now.

        Raises:
            FileExistsError: When something is there already.
            OSError: When it could not be made durable. Either nothing is there, or the whole file is.
        """
        self.lock.require_own()
        disk = self._disk
        draft = self.path.with_suffix(".tmp")
        disk.unlink(draft)  # of a process that died: the lock says that nobody is writing it
        file = disk.create(draft)
        try:
            text = b"\n".join([header_line, *[event._line for event in events], b""])
            _write_all(disk, file, text, 0)
            disk.sync(file)
            _give_name(disk, file, draft, self.path)
        except BaseException:
            disk.close(file)
            with suppress(OSError):
                disk.unlink(draft)
            raise
        self._take(file, (len(text), len(events)))
        return self.append(())

    def open(self, committed: int, events: int, size: int) -> None:
        """Take over a file that is there, up to where its valid prefix ends; nothing is changed yet.

        Args:
            committed: The length of the valid prefix in bytes.
            events: How many events that is.
            size: The length of the whole file when it was read. The rest is cut off by the next append.
        """
        self._take(self._disk.open(self.path), (committed, events))
        self._uncertain, self._found = True, size

    def _take(self, file: int, end: tuple[int, int]) -> None:
        self._file = file
        self._identity = _identity(os.fstat(file))
        self._synced = self._end = end

    def close(self) -> None:
        """Close the file and let the session go; a second call does nothing."""
        file, self._file = self._file, None
        try:
            if file is not None:
                with suppress(OSError):
                    self._disk.close(file)
        finally:
            self.lock.release()

    def __del__(self) -> None:
        """Close the file and let the session go."""
        self.close()

    # Writing.

    def append(self, events: Sequence[SessionEvent], *, sync: bool = True) -> int:
        """Write events at the end.

        Args:
            events: What goes on where the log ends, or earlier: what is there is skipped.
            sync: Whether to return when everything is durable. Without it the bytes are handed to the
                operating system, which keeps them when this process dies.

        Returns:
            The number of events that are durable now.

        Raises:
            PersistenceError: ``APPEND_GAP``; ``LOG_CHANGED`` when somebody else changed the file.
            OSError: When it could not be done. The log ends at its last durable event then, and all that
                came later must be given again.
        """
        self.lock.require_own()
        file = self._file
        if file is None:
            raise PersistenceError("LOG_CHANGED", f"{self.path} was closed; open the session again")
        if not self._settled:
            self._names.settle(self.path)
            self._settled = True
        if self._uncertain:
            self._cut(file)
        size, seq = self._end
        fresh = continuing(events, seq)
        if fresh:
            self._require_unchanged(size)
        else:
            self._require_kept(file, size)
        self._uncertain = True  # until all went well
        if fresh:
            text = b"\n".join([*[event._line for event in fresh], b""])
            _write_all(self._disk, file, text, size)
            self._end = (size + len(text), seq + len(fresh))
        if sync and self._synced is not self._end:
            self._disk.sync(file)
            self._synced = self._end
        self._uncertain = False
        return self._synced[1]

    def _cut(self, file: int) -> None:
        """Go back to what was synced."""
        self._end = self._synced
        there, size = os.fstat(file).st_size, self._synced[0]
        if self._found not in (None, there):
            raise _changed(self.path, f"is {there} bytes long, where {self._found} were read")
        self._found = None
        if there > size:
            self._disk.truncate(file, size)
            self._disk.sync(file)
        self._uncertain = False

    def _require_kept(self, file: int, size: int) -> None:
        """Refuse to call durable what somebody removed, replaced or changed since it was written."""
        status = os.fstat(file)
        if not status.st_nlink:
            raise _changed(self.path, "is not there any more")
        if status.st_size != size:
            raise _changed(self.path, f"is {status.st_size} bytes long, where {size} were written")

    def _require_unchanged(self, size: int) -> None:
        """Refuse to write into what is another file by now, or was changed."""
        try:
            status = os.stat(self._name)  # noqa: PTH116 (called for every flush)
        except FileNotFoundError:
            raise _changed(self.path, "is not there any more") from None
        if (status.st_dev, status.st_ino) != self._identity:
            raise _changed(self.path, "is another file now")
        if status.st_size != size:
            raise _changed(self.path, f"is {status.st_size} bytes long, where {size} were written")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _changed(path: Path, how: str) -> PersistenceError:
    return PersistenceError(
        "LOG_CHANGED", f"{path} {how}: something else changed it, so nothing was written; look at it first"
    )


def continuing(events: Sequence[SessionEvent], seq: int) -> Sequence[SessionEvent]:
    """Give the events from a seq on.

    Raises:
        PersistenceError: ``APPEND_GAP`` when they do not reach it, or are no run.
    """
    if not events:
        return ()
    first, last = events[0].seq, events[-1].seq
    if last - first + 1 != len(events) or not first <= seq <= last + 1:
        raise PersistenceError(
            "APPEND_GAP", f"{len(events)} events from seq {first} to {last} were given where {seq} comes next"
        )
    return events[seq - first :] if seq > first else events


def _write_all(disk: Disk, file: int, data: bytes, offset: int) -> None:
    written = disk.write(file, data, offset)
    while written < len(data):
        written += disk.write(file, memoryview(data)[written:], offset + written)


def _give_name(disk: Disk, file: int, draft: Path, path: Path) -> None:
    """Give a finished draft its name, without replacing anything."""
    try:
        disk.link(draft, path)
    except FileExistsError:
        # On a network an answer may get lost, and a second try finds what the first one did.
        if not os.path.samestat(os.fstat(file), path.lstat()):
            raise
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LINKS:
            raise
        # A file system without second names. Nobody else made this empty file, so the draft replaces
        # nothing of theirs.
        disk.close(disk.create(path))
        try:
            disk.rename(draft, path)
        except BaseException:
            disk.unlink(path)
            raise
        return
    with suppress(OSError):  # a second name does no harm
        disk.unlink(draft)
