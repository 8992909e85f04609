"""The tree of a conversation whose later versions let a person go back: what is active, and what was left behind.

Newer events name the one before them (``parent_id``), and the conversation's state names the last one
that counts (``leaf_event_id``). Older ones name nothing and are a line.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.openhands.records import Record

MOST_FORKS: Final = 100
_ROOTS: Final = ("MessageEvent", "SystemPromptEvent")
_SPOKEN: Final = ("MessageEvent", "ActionEvent", "ObservationEvent")


class Tree(NamedTuple):
    """A conversation's events by branch.

    Attributes:
        active: Those from the first one to the one that counts as the last.
        forks: From the first event to the end of each branch that was left behind and says something.
        left: Those of branches that say nothing, such as a request that led nowhere.
    """

    active: list[Record]
    forks: list[list[Record]]
    left: list[Record]


def tree_of(records: Sequence[Record], leaf: Any, book: Book) -> Tree:
    """Part events by branch.

    Args:
        records: The events, in file order.
        leaf: The id of the last one that counts; the last of the file where it is unknown.
        book: Takes a finding for parents that are missing.
    """
    if not any(record.event.get("parent_id") for record in records):
        return Tree(list(records), [], [])
    parents = _parents(records, book)
    place = {record.key: at for at, record in reversed(list(enumerate(records))) if record.key}
    last = place.get(text_from(leaf), len(records) - 1)
    active = _path(last, parents)
    on_path = set(active)
    # What follows the last event that counts without a branch of its own is a line all the same.
    has_child = {parent for parent in parents if parent is not None}
    leaves = [at for at in range(len(records)) if at not in on_path and at not in has_child]
    forks: list[list[Record]] = []
    covered = set(on_path)
    for at in leaves:
        path = _path(at, parents)
        own = [step for step in path if step not in covered]
        if len(forks) < MOST_FORKS and any(records[step].event.get("kind") in _SPOKEN for step in own):
            forks.append([records[step] for step in path])
            covered.update(own)
    left = [record for at, record in enumerate(records) if at not in covered]
    return Tree([records[at] for at in active], forks, left)


def _parents(records: Sequence[Record], book: Book) -> list[int | None]:
    """Give the place of each event's parent; the event before it where it names one that is missing."""
    place: dict[str, int] = {}
    found: list[int | None] = []
    missing: list[str] = []
    for at, record in enumerate(records):
        named = text_from(record.event.get("parent_id"))
        before = at - 1 if at else None
        if named and named not in place:
            missing.append(named)
        # Only events further up can be parents: a cycle has one that is not.
        is_root = "parent_id" in record.event and not named and record.event.get("kind") in _ROOTS
        found.append(None if is_root or not at else place.get(named, before))
        place.setdefault(record.key, at)
    if missing:
        told = f"{len(missing)} events name a parent that does not come before them, such as {missing[0]:.80}"
        book.finding("MISSING_PARENT", f"{told}; they follow the event before them in the file")
    return found


def _path(at: int, parents: Sequence[int | None]) -> list[int]:
    return list(reversed(list(_up(at, parents))))


def _up(at: int | None, parents: Sequence[int | None]) -> Iterator[int]:
    while at is not None:
        yield at
        at = parents[at]
