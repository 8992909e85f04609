"""What a session's files are called: an id never becomes a path unescaped.

The layout is the original's: ``<root>/cwd-<12 hex digits of the cwd's SHA-256>/<escaped id>.jsonl``,
and ``<root>/_no-cwd/`` for a session without a working directory.
"""

# ruff: noqa: A002 (`id` is the field's name)

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from dsh_session.core.errors import PersistenceError

NO_CWD: Final = "_no-cwd"
"""The folder of sessions without a working directory."""

LONGEST: Final = 240
"""How long an escaped id may be in a file name, which usually ends at 255 bytes and needs an extension."""

_UNSAFE = re.compile("[^A-Za-z0-9._-]")
_LONE = re.compile("[\ud800-\udfff]")
# Windows takes these for devices, whatever extension follows.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)


def encode_segment(id: str) -> str:
    """Escape a session id for a file name, as the original does.

    Args:
        id: Any session id.

    Returns:
        Every UTF-16 unit outside ``A-Z a-z 0-9 . _ -`` as ``~`` and four upper-case hex digits; the names
        ``.`` and ``..`` escaped as well. Different ids have different names.

    Raises:
        PersistenceError: ``EMPTY_SEGMENT`` for an empty id.

    Example:
        >>> encode_segment("../../etc/passwd"), encode_segment("🙂")
        ('..~002F..~002Fetc~002Fpasswd', '~D83D~DE42')
    """
    if not id:
        raise PersistenceError("EMPTY_SEGMENT", "an empty session id has no file name; give the session an id")
    if id in {".", ".."}:
        return "".join(map(_escaped, id))
    return _UNSAFE.sub(lambda unsafe: _escaped(unsafe.group()), id)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))


def file_stem(id: str, *, windows: bool = os.name == "nt") -> str:
    """Give the name of a session's files, without their extension.

    Args:
        id: Any session id.
        windows: Whether names that Windows keeps for devices are escaped further.

    Returns:
        The escaped id. One that is too long for a file name is cut, and the id's SHA-256 follows
        after ``~~``, which no escaped id contains.

    Raises:
        PersistenceError: ``EMPTY_SEGMENT`` for an empty id.

    Example:
        >>> file_stem("a/b"), len(file_stem("x" * 300)), file_stem("con", windows=True)
        ('a~002Fb', 224, '~0063on')
    """
    segment = encode_segment(id)
    if windows and _DEVICE.match(segment):
        segment = _escaped(segment[0]) + segment[1:]
    if len(segment) <= LONGEST:
        return segment
    return f"{segment[:190]}~~{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def folder_name(cwd: str | None) -> str:
    """Give the name of the folder for sessions of a working directory.

    Args:
        cwd: The working directory as the header has it, or None.

    Example:
        >>> folder_name("/home/user/project"), folder_name(None)
        ('cwd-9dad1e4e08b0', '_no-cwd')
    """
    if cwd is None:
        return NO_CWD
    # The original hashes what its host makes of a lone surrogate: U+FFFD.
    paired = cwd.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return f"cwd-{sha256(_LONE.sub(chr(0xFFFD), paired).encode()).hexdigest()[:12]}"


def log_path(root: Path, id: str, cwd: str | None = None) -> Path:
    """Give the path of a session's log under a root.

    Example:
        >>> log_path(Path("sessions"), "a/b").as_posix()
        'sessions/_no-cwd/a~002Fb.jsonl'
    """
    return root / folder_name(cwd) / f"{file_stem(id)}.jsonl"
