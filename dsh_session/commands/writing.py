"""Putting a file in its place, whole or not at all."""

import secrets
from contextlib import suppress
from pathlib import Path


def write(target: Path, content: bytes) -> None:
    """Write a file beside its place and put it there; a pipe or a device is written as it is.

    Raises:
        OSError: When it cannot be written; what was there is as before.
    """
    target = target.resolve()
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
