"""The frame of a store: one row per live session, with its place among the forks and what its log amounts to."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.core.lineage import lineage
from dsh_session.core.session import Session
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.payload import line_of, without_surrogates
from dsh_session.views.reading import check_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.core.lineage import LineageNode
    from dsh_session.core.store import SessionStore

__all__ = ["SESSIONS", "Live", "sessions"]

# The years 1 to 9999, in milliseconds: what Python's datetime, which printing and exporting go through, can say.
_FIRST_TIME: Final = -62_135_596_800_000
_LAST_TIME: Final = 253_402_300_799_999


class Live(msgspec.Struct, gc=False):
    """A live session, its place among the forks, and what one walk over its log has counted.

    Attributes:
        session: The session.
        parent: The id of the session it was forked from.
        parent_live: Whether that one is live in the same store.
        depth: How many live ancestors it has.
        children: How many live sessions were forked from it.
        boundary: Seq of the last event that it shares with its parent.
        events: Events in its log.
        shared: How many of them it has from its parent.
        bytes: Bytes of their lines.
        turns: Turns that were begun.
        open_turn: Whether the last turn has no end.
        first_time: When its first event was appended.
        last_time: When its last one was.
    """

    session: Session
    parent: str | None
    parent_live: bool
    depth: int
    children: int
    boundary: int | None
    events: int
    shared: int
    bytes: int
    turns: int
    open_turn: bool
    first_time: int | None
    last_time: int | None


def _text(value: str | None) -> str | None:
    return None if value is None else without_surrogates(value)


def _moment(value: float | None) -> int:
    """Milliseconds for a column of times, where whatever lies beyond the calendar is missing."""
    # Compared before anything else is done with it: a header may hold any number, however large.
    return math.floor(value) if value is not None and _FIRST_TIME <= value <= _LAST_TIME else _LAST_TIME + 1


SESSIONS: Final[tuple[Column[Live], ...]] = (
    Column(name="id", dtype="string", doc="The session's id.", read=lambda live: _text(live.session.id)),
    Column(
        name="created",
        dtype="datetime64[ms, UTC]",
        doc="When its header says that it was created. NaT beyond the years 1 to 9999.",
        read=lambda live: _moment(live.session.header.created_at),
    ),
    Column(
        name="cwd",
        dtype="string",
        doc="The working directory; NA where the header has none.",
        read=lambda live: _text(live.session.header.cwd),
    ),
    Column(
        name="parent",
        dtype="string",
        doc="The id of the session that it was forked from; NA for one that was not.",
        read=lambda live: _text(live.parent),
    ),
    Column(
        name="parent_live",
        dtype="bool",
        doc="Whether that session is live in the same store.",
        read=attrgetter("parent_live"),
    ),
    Column(
        name="boundary",
        dtype="Int64",
        doc="Seq of the last event that it shares with its parent, as its header has it; -1 for the fork of an empty "
        "session, NA where nothing is said.",
        read=attrgetter("boundary"),
    ),
    Column(name="depth", dtype="int64", doc="How many live sessions it descends from.", read=attrgetter("depth")),
    Column(
        name="children", dtype="int64", doc="How many live sessions were forked from it.", read=attrgetter("children")
    ),
    Column(name="events", dtype="int64", doc="Events in its log.", read=attrgetter("events")),
    Column(
        name="shared", dtype="int64", doc="Events that it has from its parent, at its start.", read=attrgetter("shared")
    ),
    Column(name="own", dtype="int64", doc="Events that came after those.", read=lambda live: live.events - live.shared),
    Column(name="bytes", dtype="int64", doc="Bytes of its events' lines.", read=attrgetter("bytes")),
    Column(
        name="turns", dtype="int64", doc="Turns that were begun, inherited ones included.", read=attrgetter("turns")
    ),
    Column(
        name="open_turn", dtype="bool", doc="Whether the last of them has no end yet.", read=attrgetter("open_turn")
    ),
    Column(name="nodes", dtype="int64", doc="Nodes on its surface.", read=lambda live: len(live.session.surface)),
    Column(
        name="replacements",
        dtype="int64",
        doc="Replacements in its log.",
        read=lambda live: live.session.surface.replace_generation,
    ),
    Column(
        name="first",
        dtype="datetime64[ms, UTC]",
        doc="When its first event was appended, in the first of its ancestors. NaT without events and beyond the year "
        "9999.",
        read=lambda live: _moment(live.first_time),
    ),
    Column(
        name="last",
        dtype="datetime64[ms, UTC]",
        doc="When its last event was appended. NaT without events and beyond the year 9999.",
        read=lambda live: _moment(live.last_time),
    ),
)
"""The columns of `sessions`."""


def sessions(store: SessionStore) -> pd.DataFrame:
    """The live sessions of a store, one row each, in the order in which they entered.

    What a session shares with its parent is what its header says, as far as its log goes; for the child of a fork that
    is how it came about, for a session that was loaded it is what the file claims.

    Args:
        store: A context's `sessions`.

    Returns:
        A frame with the columns of `SESSIONS`; row labels are positions.
        `dsh_session.views.frames.columns("sessions")` says what each holds.

    Raises:
        TypeError: For something that is no store.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context(clock=lambda: 0) as ctx:
        ...     parent = ctx.sessions.create("tour")
        ...     with Recorder(parent).turn("Hello."):
        ...         pass
        ...     child = ctx.sessions.fork(parent, child_session_id="other")
        ...     with Recorder(child).turn("And then?"):
        ...         pass
        ...     print(sessions(ctx.sessions)[["id", "parent", "boundary", "shared", "own", "turns"]])
              id parent  boundary  shared  own  turns
        0   tour   <NA>      <NA>       0    3      1
        1  other   tour         2       3    3      2

    See the seeds' "Live-session fork API".
    """
    check_store(store)
    return frame(SESSIONS, _rows(store))


def _rows(store: SessionStore) -> Iterator[Live]:
    places: dict[str, tuple[LineageNode, int]] = {}
    waiting = [(root, 0) for root in lineage(store)]
    while waiting:
        node, depth = waiting.pop()
        places[node.session.id] = node, depth
        waiting.extend((child, depth + 1) for child in node.children)
    # A session that entered or left in between is not in both.
    for session in store.list():
        if session.id in places and places[session.id][0].session is session:
            node, depth = places[session.id]
            yield _row(node, depth, parent_live=node.parent_id in places)


def _row(node: LineageNode, depth: int, *, parent_live: bool) -> Live:
    session = node.session
    events = session.events
    types = [event.type for event in events]
    length = len(events)
    # Only the last boundary says whether a turn is open; recorded logs may nest or repeat them.
    last = next((kind for kind in reversed(types) if kind in {"turn/start", "turn/end"}), None)
    return Live(
        session=session,
        parent=node.parent_id,
        parent_live=parent_live,
        depth=depth,
        children=len(node.children),
        boundary=node.boundary,
        events=length,
        shared=0 if node.boundary is None else min(node.boundary + 1, length),
        bytes=sum(len(line_of(event)) for event in events),
        turns=types.count("turn/start"),
        open_turn=last == "turn/start",
        first_time=events[0].time if length else None,
        last_time=events[-1].time if length else None,
    )
