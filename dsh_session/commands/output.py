"""What becomes of a command whose output goes nowhere: a full disk, a device that fails, a reader that has left."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn, TextIO, cast

from dsh_session.views.escape import cut, one_line

FAILED: Final = 2
"""The exit status of a command that could not do what it was asked for; stderr says why."""

NOBODY_READS: Final = 141
"""The exit status when a reader has closed its end, as of any program that a shell sees end so: 128 and SIGPIPE."""

_CLOSED: Final = frozenset({errno.EPIPE, errno.ESHUTDOWN, errno.ECONNRESET})


class OutputLostError(Exception):
    """Output could not be written. It is no `OSError`: who handles those means files of its own.

    Attributes:
        where: What was written to, for people.
        reason: What the system said.
    """

    def __init__(self, where: str, reason: OSError) -> None:
        super().__init__(f"{where} cannot be written: {reason.strerror or reason}")
        self.where = where
        self.reason = reason

    @property
    def nobody_reads(self) -> bool:
        """Whether the reader has left, which is no error: it had enough."""
        return self.reason.errno in _CLOSED or (os.name == "nt" and self.reason.errno == errno.EINVAL)


class _Watched:
    """A text stream whose failures are told apart from those of any file."""

    def __init__(self, stream: TextIO | None, where: str) -> None:
        self._stream = stream
        self._where = where

    def __getattr__(self, name: str) -> Any:
        if self._stream is None:
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return cast("int", self._do("write", text))

    def writelines(self, lines: list[str]) -> None:
        self._do("writelines", lines)

    def flush(self) -> None:
        if self._stream is not None:
            self._do("flush")

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def _do(self, method: str, *arguments: Any) -> object:
        try:
            if self._stream is None:  # closed before the program began
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return getattr(self._stream, method)(*arguments)
        except OSError as error:
            raise OutputLostError(self._where, error) from error


def run(program: Callable[[], object]) -> NoReturn:
    """Run a program to its end, and end the process; whatever it cannot write costs a line and no traceback.

    Args:
        program: What to run; it may end with `SystemExit`.
    """
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows another one, and goes on.
            stream.reconfigure(errors="replace")
    sys.stdout = cast("TextIO", _Watched(streams[0], "the output"))
    sys.stderr = cast("TextIO", _Watched(streams[1], "the error output"))
    status: Any = 0
    try:
        try:
            program()
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        sys.stderr.flush()
    except OutputLostError as lost:
        status = NOBODY_READS if lost.nobody_reads else _failed(str(lost), streams[1])
    except OSError as error:
        # Nothing of a file that cannot be read or written is a fault of the program.
        where = f"{error.filename}: " if error.filename is not None else ""
        status = _failed(f"{where}{error.strerror or error}", streams[1])
    finally:
        sys.stdout, sys.stderr = streams
        _give_up(streams[0])
        _give_up(streams[1])
    sys.exit(status)


def _failed(message: str, stderr: TextIO | None) -> int:
    if stderr is not None:
        with suppress(OSError):
            stderr.write(f"dsh-session: {cut(one_line(message[:2_000]), 400)}\n")
            stderr.flush()
    return FAILED


def _give_up(stream: TextIO | None) -> None:
    """Let what a stream still holds go nowhere, if it cannot go where it should; else Python complains at its end."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
