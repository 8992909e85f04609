"""Rollouts that belong together: forks that copy a history, and threads that a tool call started."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.importers.book import Book
from dsh_session.importers.codex.records import Record
from dsh_session.importers.codex.rollout import Rollout, read_rollout
from dsh_session.importers.detection import Sample

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,79}\Z")
_NAMED_ID = re.compile(r'"(?:agent_id|thread_id|conversation_id|new_thread_id)"\s*:\s*"([^"\\]+)"')
_MOST: Final = 200
"""How many files beside a rollout are looked at for one that names no id in its file name."""


class Parent(NamedTuple):
    """What a rollout says of where it comes from.

    Attributes:
        id: The id of the other thread.
        is_agent: Whether that thread started this one as a sub-agent; it is a fork otherwise.
    """

    id: str
    is_agent: bool


def parent_of(meta: dict[str, Any]) -> Parent | None:
    """Tell which thread a rollout comes from.

    Example:
        >>> (
        ...     parent_of({"forked_from_id": "a"}),
        ...     parent_of({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "b"}}}}),
        ... )
        (Parent(id='a', is_agent=False), Parent(id='b', is_agent=True))
    """
    source = meta.get("source")
    agent = source.get("subagent", source.get("sub_agent")) if isinstance(source, dict) else None
    spawn = agent.get("thread_spawn") if isinstance(agent, dict) else None
    if isinstance(spawn, dict) and isinstance(spawn.get("parent_thread_id"), str):
        return Parent(spawn["parent_thread_id"], is_agent=True)
    base = meta.get("history_base")
    based_on = base.get("thread_id") if isinstance(base, dict) else None
    for identity in (meta.get("forked_from_id"), based_on):
        if isinstance(identity, str) and identity:
            return Parent(identity, is_agent=False)
    parent = meta.get("parent_thread_id")
    return Parent(parent, is_agent=True) if isinstance(parent, str) and parent else None


def rollout_of(identity: str, beside: Path) -> Path | None:
    """Find another thread's rollout beside one: by its id in a file name, or by what the files there begin with."""
    if not _ID.match(identity):
        return None
    try:
        files = sorted(file for file in beside.parent.iterdir() if file.suffix in (".jsonl", ".zst"))
        for file in files:
            if identity in file.name and not file.samefile(beside):
                return file
        for file in files[:_MOST]:
            if not file.samefile(beside) and _id_in(file) == identity:
                return file
    except OSError:
        return None
    return None


def _id_in(file: Path) -> Any:
    for value in Sample.of(file).objects[:3]:
        payload = value.get("payload")
        if value.get("type") == "session_meta" and isinstance(payload, dict):
            return payload.get("id", payload.get("session_id"))
    return None


def copied_records(rollout: Rollout, numbers: list[int], file: Path) -> int:
    """Count the leading records of a path that are copies of another rollout's; times are written anew.

    Args:
        rollout: The fork.
        numbers: The records of its active path.
        file: The rollout that it was forked from.
    """
    # What is wrong with the parent is said when the parent is read.
    theirs = [record for record in read_rollout(file, Book(file.name)).records if _counts(record)]
    copied = same = 0
    for at, number in enumerate(numbers):
        record = rollout.records[number]
        if not _counts(record):
            continue
        if same == len(theirs) or not _is_copy(record, theirs[same]):
            break
        same += 1
        copied = at + 1
    return copied


def _counts(record: Record) -> bool:
    """Tell whether a record is compared: settings and headers are written anew in a fork."""
    return record.kind in ("item", "event", "compacted")


def _is_copy(mine: Record, other: Record) -> bool:
    return mine.kind == other.kind and mine.data == other.data


def named_threads(text: str) -> Iterator[str]:
    """Give the ids of threads that the output of a tool call names.

    Example:
        >>> list(named_threads('{"agent_id":"019c8a4d-8f45-7010"}'))
        ['019c8a4d-8f45-7010']
    """
    for found in _NAMED_ID.findall(text):
        if _ID.match(found):
            yield found
