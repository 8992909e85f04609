"""Finding logs in folders, and saying of each, quickly, whose it is and what happened in it."""

import os
import warnings
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.core.errors import SessionError
from dsh_session.importers.counting import Counts, count
from dsh_session.importers.detection import Sample
from dsh_session.importers.registry import (
    Importer,
    ImportLogError,
    others_and_broken,
    own_importers,
    recognise_sample,
)
from dsh_session.importers.tolerant import whole

CHEAP: Final = 1 << 19
"""Up to what size, in bytes, a log that cannot be counted by its lines is imported to be counted."""

_SECONDS: Final = 1e11  # what is no larger was counted in seconds
_YEAR_10000: Final = 253_402_300_800_000  # what no calendar here reaches

_SKIPPED: Final = frozenset({".git", "node_modules", "__pycache__", ".venv", ".hg", ".svn"})


class FoundLog(NamedTuple):
    """One log that was found.

    Attributes:
        path: The file, or the folder that is one log.
        format: The importer's name.
        agent: The agent's name for people.
        id: The session's id, where the beginning of the log says it.
        created: When it began, epoch milliseconds; else when the file was last written.
        cwd: The working folder, where the beginning says it.
        turns: How many prompts; None where that would take an import of a large file.
        compactions: How many compactions, likewise.
        size: In bytes.
        is_subagent: Whether another session started it.
        error: Why it cannot be read, if it cannot.
    """

    path: Path
    format: str
    agent: str
    id: str | None
    created: float | None
    cwd: str | None
    turns: int | None
    compactions: int | None
    size: int
    is_subagent: bool
    error: str | None = None


def find(folder: str | Path) -> Iterator[tuple[Path, Importer]]:
    """Find the logs below a folder, in order of their paths; links to folders are not followed.

    Another package's importer that fails is told of in a warning.

    Args:
        folder: Any folder; a folder that is one log is given as such.

    Yields:
        Each log with what reads it. Files that nobody knows are passed over.

    Raises:
        OSError: When the folder itself cannot be read.
    """
    return ((sample.path, importer) for sample, importer in _samples(Path(folder)))


def _samples(folder: Path) -> Iterator[tuple[Sample, Importer]]:
    with os.scandir(folder):
        pass  # an error here is the caller's; further down it is passed over
    others, broken = others_and_broken()
    for error in broken:
        _warn(error)
    known = (*own_importers(), *others)
    for place, folders, files in os.walk(folder):
        here = Path(place)
        found = _recognised(here, known)
        if found is not None:
            folders.clear()
            yield found
            continue
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            found = _recognised(here / name, known)
            if found is not None:
                yield found


def _recognised(path: Path, known: tuple[Importer, ...]) -> tuple[Sample, Importer] | None:
    try:
        if not path.is_file() and not path.is_dir():
            return None  # a pipe would wait for ever
        sample = Sample.of(path)
    except OSError:
        return None
    try:
        importer = recognise_sample(sample, known)
    except ImportLogError as error:
        _warn(error)
        return None
    return None if importer is None else (sample, importer)


def _warn(error: ImportLogError) -> None:
    """Say that another package's importer failed; the logs of all others are found as ever."""
    warnings.warn(error.message, RuntimeWarning, stacklevel=3)


def list_folder(folder: str | Path) -> Iterator[FoundLog]:
    """List the logs below a folder; see `FoundLog`.

    Files are looked at, not imported: thousands take seconds.

    Args:
        folder: Any folder, such as ``~/.claude/projects`` or ``~/.codex/sessions``.

    Raises:
        OSError: When the folder cannot be read.

    Example:
        >>> from dsh_session import samples
        >>> [(log.agent, log.turns, log.compactions) for log in list_folder(samples.agents())]
        [('Claude Code', 4, 1), ('Codex', 3, 0), ('pi', 2, 2)]
    """
    for sample, importer in _samples(Path(folder).expanduser()):
        yield describe(sample, importer)


def describe(sample: Sample, importer: Importer) -> FoundLog:
    """Say what there is to say about one log without importing it, if it can be counted without."""
    path = sample.path
    size = sum(_size(file) for file in path.rglob("*")) if path.is_dir() else _size(path)
    error = None
    counts = None
    try:
        counts = _counts(path, importer, size)
    except (OSError, SessionError) as problem:
        error = str(problem)
    told = list(_records(sample.objects))
    return FoundLog(
        path=path,
        format=importer.name,
        agent=importer.agent,
        id=_first_text(told, "sessionId", "session_id", "id", "uuid"),
        created=_time_of(told) or _modified(path),
        cwd=_first_text(told, "cwd"),
        turns=None if counts is None else counts.turns,
        compactions=None if counts is None else counts.compactions,
        size=size,
        is_subagent=any(one.get("isSidechain") is True or one.get("origin") == "subagent" for one in told),
        error=error,
    )


def _counts(path: Path, importer: Importer, size: int) -> Counts | None:
    if path.is_file():
        counts = count(path, importer.name)
        if counts is not None:
            return counts
    if size > CHEAP:
        return None
    session = importer.read(path).session
    kinds = [event.type for event in session.events]
    return Counts(kinds.count("turn/start"), kinds.count("compact/start"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime * 1000
    except OSError:
        return None


def _records(objects: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give the objects at the beginning of a log, and what lies in their payloads."""
    for one in objects:
        yield one
        payload = one.get("payload")
        if isinstance(payload, dict):
            yield payload


def _first_text(records: list[dict[str, Any]], *keys: str) -> str | None:
    for key in keys:
        for record in records:
            if type(record.get(key)) is str and record[key]:
                return whole(record[key])
    return None


def _time_of(records: list[dict[str, Any]]) -> float | None:
    """Give the first time at the beginning of a log, epoch milliseconds."""
    for record in records:
        for key in ("createdAt", "timestamp", "created_at", "time"):
            value: Any = record.get(key)
            if type(value) is str:
                try:
                    value = datetime.fromisoformat(value).timestamp() * 1000
                except (ValueError, OverflowError, OSError):
                    continue
            elif type(value) in (int, float) and value <= _SECONDS:
                value *= 1000
            if type(value) in (int, float) and 0 < value < _YEAR_10000:
                return float(value)
    return None
