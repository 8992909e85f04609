"""Putting a file in its place, whole or not at all."""

import secrets
from contextlib import suppress
from pathlib import Path

from dsh_session.commands.output import OutputLostError


def is_device(target: Path) -> bool:
    """Tell whether something is written to a pipe or a device, such as ``/dev/stdout``, and not to a file."""
    return target.exists() and not target.is_file()


def write(target: Path, content: bytes) -> None:
    """Write a file beside its place and put it there; a pipe or a device is written as it is.

    Raises:
        OSError: When it cannot be written; what was there is as before.
        OutputLostError: When it is a pipe, and its reader has left.
    """
    if is_device(target):
        try:
            target.write_bytes(content)
        except BrokenPipeError as error:
            raise OutputLostError(str(target), error) from error
        return
    target = target.resolve()
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
