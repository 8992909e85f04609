"""Sessions of pi that were forked into a file of their own: which entries they copied."""

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from dsh_session.importers.book import Book
from dsh_session.importers.paths import ROOT
from dsh_session.importers.pi.entries import PiLog, read_entries


def parent_id(header: dict[str, Any]) -> str | None:
    r"""Give the id of the session that one was forked from.

    Args:
        header: The header; newer ones have ``parentSession``, older ones ``branchedFrom``, both the path
            ``<time>_<id>.jsonl`` of a file, or an id.

    Example:
        >>> parent_id({"branchedFrom": "/sessions/2025-01-01T09-00-00-000Z_parent-uuid.jsonl"})
        'parent-uuid'
        >>> parent_id({"parentSession": "01a0"}), parent_id({"parentSession": "C:\\s\\t_01a0.jsonl"}), parent_id({})
        ('01a0', '01a0', None)
    """
    name = parent_name(header)
    if name is None:
        return None
    identity = name.removesuffix(".jsonl")
    return identity.rpartition("_")[2] or identity


def parent_name(header: dict[str, Any]) -> str | None:
    """Give the file name of the session that one was forked from, or its id where that is all there is."""
    for key in ("parentSession", "branchedFrom"):
        value = header.get(key)
        if isinstance(value, str) and value.strip():
            name = PureWindowsPath(value).name if "\\" in value else PurePosixPath(value).name
            return name or None
    return None


def copied_entries(log: PiLog, path: list[int], beside: Path) -> int | None:
    """Count the leading entries of a path that are copies of the parent session's.

    Args:
        log: The forked session.
        path: The numbers of the entries of its active path.
        beside: Its file; the parent's is looked for in the same folder, under the name that the header
            gives, and nowhere else.

    Returns:
        How many; None when the parent is not there.
    """
    name = parent_name(log.header)
    if name is None or name in (".", "..") or "\0" in name or len(name) > 255:
        return None
    file = beside.parent / name
    try:
        if not file.is_file() or file.samefile(beside):
            return None
        # What is wrong with the parent is said when the parent is read.
        parent = read_entries(file, Book(file.name))
    except OSError:
        return None
    # The last entry that both files have says which of the parent's branches was copied.
    for end in range(len(path), 0, -1):
        number = parent.numbers.get(log.entries[path[end - 1]].id)
        if number is None:
            continue
        theirs = _way_to(parent, number)
        count = 0
        for mine, other in zip(path, theirs, strict=False):
            if log.entries[mine].data != parent.entries[other].data:
                break
            count += 1
        return count
    return 0


def _way_to(log: PiLog, number: int) -> list[int]:
    way = []
    while number != ROOT:
        way.append(number)
        number = log.parents[number]
    way.reverse()
    return way
