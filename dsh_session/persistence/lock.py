"""One writer per session: a lock that the operating system takes back when its holder dies."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from dsh_session.core.errors import SessionLockedError

_held: WeakSet["SessionLock"] = WeakSet()


class SessionLock:
    """An exclusive lock on a session, as a file that holds the process id of who has it.

    The lock is the operating system's, on the open file; the file itself says nothing. It lasts until
    `release`, or until the process ends in whatever way. A file that is left over does not block.

    Attributes:
        path: The lock's file; it exists while the lock is held.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        """Take the lock.

        Args:
            path: The lock's file, in a folder that exists.
            session_id: The session's id, for the message.

        Raises:
            SessionLockedError: ``SESSION_LOCKED``, with the holder's `pid`.
            OSError: When the file cannot be made.
        """
        self.path = path
        self._id = session_id
        self._pid = os.getpid()
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                _require_lock(file, path, session_id)
                # Whoever let the lock go may have removed the file since it was opened here.
                if _is_at(file, path):
                    with suppress(OSError):  # on a full disk the lock is as good without its holder's name
                        os.ftruncate(file, 0)
                        os.write(file, f"{self._pid}\n".encode())
                    break
            except BaseException:
                os.close(file)
                raise
            os.close(file)
        self._file: int | None = file
        _held.add(self)

    def require_own(self) -> None:
        """Refuse to write on behalf of another process: a forked child has no part in its parent's lock.

        Raises:
            SessionLockedError: ``SESSION_LOCKED``.
        """
        if os.getpid() != self._pid:
            raise SessionLockedError(
                "SESSION_LOCKED",
                f"session {self._id!r} belongs to process {self._pid}, which this one was forked from;"
                " open it under another id here",
                pid=self._pid,
            )

    def release(self) -> None:
        """Let it go; a second call does nothing."""
        file, self._file = self._file, None
        _held.discard(self)
        if file is None:
            return
        if os.getpid() == self._pid:
            # While it is held nobody else can hold it, so the file at this path is this one. Where an open
            # file cannot be removed, it stays behind and does no harm.
            with suppress(OSError):
                self.path.unlink()
            _unlock(file)
        os.close(file)

    def __del__(self) -> None:
        """Let it go."""
        if getattr(self, "_file", None) is not None:
            self.release()


def _is_at(file: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), there)


def _require_lock(file: int, path: Path, session_id: str) -> None:
    if _try_lock(file):
        return
    pid = _holder(file)
    who = f"process {pid}" if pid is not None else "another process"
    if pid == os.getpid():
        who = "this process, through another context or object"
    message = f"session {session_id!r} is being written by {who} ({path}); close it there, or wait until it ends"
    raise SessionLockedError("SESSION_LOCKED", message, pid=pid)


def _holder(file: int) -> int | None:
    """Read who holds a lock; it writes its id a moment after it took the lock."""
    pid = None
    for _ in range(20):
        os.lseek(file, 0, os.SEEK_SET)
        digits = os.read(file, 16).strip()
        if digits.isdigit() and int(digits) < 1 << 31:
            pid = int(digits)
            if _lives(pid):
                break
        time.sleep(0.005)
    return pid  # one that does not live here may live in another container


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # beyond the text: a locked byte cannot be read

    def _try_lock(file: int) -> bool:
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, _FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

    def _lives(pid: int) -> bool:
        return pid > 0  # asking would need rights that this process may not have

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

    def _lives(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def _forget_in_child() -> None:
        # The lock lasts as long as any copy of the open file; a child's must not outlive its parent.
        for lock in list(_held):
            file, lock._file = lock._file, None
            if file is not None:
                os.close(file)
        _held.clear()

    os.register_at_fork(after_in_child=_forget_in_child)
