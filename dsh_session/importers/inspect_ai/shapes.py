"""How a sample lies in an archive: as one member, or as a shell with sequences in chunks."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from dsh_session.importers.book import Book

_WHOLE: Final = re.compile(r"samples/[^/]+\.json")
_PART: Final = re.compile(
    r"(samples/[^/]+)/((?:sample|metadata|skeleton)\.json|(messages|events|calls|attachments)/[a-z0-9]+\.json)"
)
_NUMBER: Final = re.compile(r"/(\d{1,15})\.json$")


def sample_members(names: Iterable[str], book: Book) -> tuple[list[str], list[str]]:
    """Part the members of an archive.

    Args:
        names: Their names.
        book: Takes a finding for a name that leads out of the archive. Nothing is ever written under it.

    Returns:
        Those that are a sample each, and those that are neither a sample nor a part of one.

    Example:
        >>> sample_members(["header.json", "samples/1_epoch_1.json", "samples/2_epoch_1/sample.json"], Book("log"))
        (['samples/1_epoch_1.json'], ['header.json'])
    """
    samples, others = [], []
    for name in names:
        if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name[:3]:
            book.finding(
                "MEMBER_NAME",
                f"the member {name!r:.200} is named as if it lay elsewhere; it is read, nothing is written",
            )
        if _WHOLE.fullmatch(name):
            samples.append(name)
        elif not _PART.fullmatch(name):
            others.append(name)
    return samples, others


def chunked_samples(names: Iterable[str]) -> dict[str, list[str]]:
    """Give the members of each sample that lies in parts, by its prefix.

    Example:
        >>> chunked_samples(["samples/2_epoch_1/events/0.json", "samples/2_epoch_1/sample.json"])
        {'samples/2_epoch_1': ['samples/2_epoch_1/events/0.json', 'samples/2_epoch_1/sample.json']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        match = _PART.fullmatch(name)
        if match:
            found.setdefault(match.group(1), []).append(name)
    return found


def joined_sample(parts: list[str], read: Callable[[str], Any]) -> dict[str, Any] | None:
    """Put a sample together that lies in parts.

    Args:
        parts: Its members.
        read: Reads one of them.

    Returns:
        The sample as if it were one member; None when its shell cannot be read.
    """
    sequences: dict[str, list[tuple[int, str]]] = {}
    shell: Any = None
    metadata: Any = None
    for name in parts:
        number = _NUMBER.search(name)
        if name.endswith("/sample.json"):
            shell = read(name)
        elif name.endswith("/metadata.json"):
            metadata = read(name)
        elif not number:
            read(name)  # an index of what the parts hold, made of them
        else:
            sequences.setdefault(name.split("/")[-2], []).append((int(number.group(1)), name))
    if not isinstance(shell, dict):
        return None
    found = {
        kind: [item for _, name in sorted(chunks) for item in _list(read(name))] for kind, chunks in sequences.items()
    }
    pool = found.get("messages", [])
    joined = {**shell, "events": found.get("events", []), "message_pool": pool, "call_pool": found.get("calls", [])}
    joined["attachments"] = {str(at): text for at, text in enumerate(found.get("attachments", []))}
    joined["messages"] = [
        one for start, stop in ranges_of(shell.get("message_refs"), len(pool)) for one in pool[start:stop]
    ]
    return joined if metadata is None else {**joined, "metadata": metadata}


def ranges_of(refs: Any, length: int) -> list[tuple[int, int]]:
    """Give the half-open ranges of a pool that a request refers to; what lies outside of it is left out.

    Example:
        >>> ranges_of([[0, 2], [4, 9], "x"], 6)
        [(0, 2), (4, 6)]
    """
    ranges: list[tuple[int, int]] = []
    total = 0
    for ref in _list(refs):
        if isinstance(ref, list) and len(ref) == 2 and all(type(end) is int for end in ref):
            start, stop = max(0, ref[0]), min(ref[1], length)
            total += max(0, stop - start)
            if total > 10 * length + 1000:
                break  # ranges that name everything over and over are no history
            if start < stop:
                ranges.append((start, stop))
    return ranges


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
