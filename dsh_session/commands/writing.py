"""Putting a file in its place, whole or not at all."""

import secrets
from contextlib import suppress
from pathlib import Path


def is_device(target: Path) -> bool:
    """Tell whether something is written to a pipe or a device, such as ``/dev/stdout``, and not to a file."""
    return target.exists() and not target.is_file()


def write(target: Path, content: bytes) -> None:
    """Write a file beside its place and put it there; a pipe or a device is written as it is.

    Raises:
        OSError: When it cannot be written; what was there is as before.
    """
    if is_device(target):
        target.write_bytes(content)
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
