"""The streams of the process: what happens when one is closed, full, or read by somebody who has heard enough."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

import typer

from dsh_session.commands.talking import fail


def run(program: Callable[[], object]) -> None:
    """Run a program that prints, and end the process where it cannot.

    Where the output cannot be written, the process ends with exit code 2 and a line on stderr; where it goes into a
    pipe that was closed, such as that of ``head``, with 1 and no word.

    Args:
        program: What prints; it may raise `SystemExit`.
    """
    # A stream that was closed before we began, as by `>&-`, takes everything and keeps nothing.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows another one, and goes on.
            stream.reconfigure(errors="replace")
    try:
        try:
            program()
        finally:
            sys.stdout.flush()  # what is left in it fails here or not at all
    except OSError as error:
        sys.exit(_unwritten(error))


def _unwritten(error: OSError) -> int:
    """Say that something cannot be written, and give the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Python flushes once more as it ends: what was not taken goes nowhere then.
            with suppress(OSError, ValueError), _nowhere() as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
    if isinstance(error, BrokenPipeError):
        return 1
    where = "the output" if error.filename is None else str(error.filename)
    with suppress(OSError, typer.Exit):
        fail(f"{where} cannot be written: {error.strerror or error}", "make room, or send it elsewhere")
    return 2


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 (a device, for as long as the process lives)
