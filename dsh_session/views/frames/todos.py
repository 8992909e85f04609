"""The frame of todos: one row for each item of each list that was written."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.places import WRITTEN
from dsh_session.views.frames.values import data_of, items, record, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["TODOS", "Todo", "todos"]


class Todo(msgspec.Struct, gc=False):
    """One item of one list.

    Attributes:
        write: The list's number, from 1.
        entry: The event that wrote it.
        position: The item's place.
        content: What is to be done.
        status: How far it is.
        in_force: Whether no later list took this one's place.
    """

    write: int
    entry: Entry
    position: int
    content: str | None
    status: str | None
    in_force: bool


TODOS: Final[tuple[Column[Todo], ...]] = (
    Column(name="write", dtype="int64", doc="The list's number, from 1 for the first one.", read=attrgetter("write")),
    Column(name="seq", dtype="int64", doc="The event that wrote the list.", read=attrgetter("entry.event.seq")),
    *WRITTEN,
    Column(name="position", dtype="int64", doc="The item's place in its list, from 0.", read=attrgetter("position")),
    Column(name="content", dtype="string", doc="What is to be done.", read=attrgetter("content")),
    Column(
        name="status",
        dtype="category",
        doc="How far it is.",
        read=attrgetter("status"),
        categories=("pending", "in_progress", "completed"),
    ),
    Column(
        name="in_force",
        dtype="bool",
        doc="Whether its list is the latest one; each list takes the place of the one before.",
        read=attrgetter("in_force"),
    ),
)
"""The columns of `todos`."""


def todos(session: Logged) -> pd.DataFrame:
    """The todo lists of a session, one row per item of each list that was written.

    An empty list has no rows.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `TODOS`. `dsh_session.views.frames.columns("todos")` says what each holds.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> for status in ("pending", "completed"):
        ...     _ = session.append("todo/write", {"todos": [{"content": "Read README.md", "status": status}]})
        >>> todos(session)[["write", "seq", "content", "status", "in_force"]]
           write  seq         content     status  in_force
        0      1    0  Read README.md    pending     False
        1      2    1  Read README.md  completed      True
    """
    return frame(TODOS, _rows(session))


def _rows(session: Logged) -> Iterator[Todo]:
    log = log_of(session)
    latest = next((event.seq for event in reversed(log.events) if event.type == "todo/write"), None)
    if latest is None:
        return
    write = 0
    for entry in entries(log):
        if entry.event.type != "todo/write":
            continue
        write += 1
        for position, item in enumerate(map(record, items(data_of(entry.event).get("todos")))):
            content, status = string(item.get("content")), string(item.get("status"))
            yield Todo(write, entry, position, content, status, entry.event.seq == latest)
