"""Columns that frames of entries share: which event it was, when it was written, and where it lies."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from dsh_session.views.frames.column import Column

__all__ = ["NAMED_TURN", "SEQ", "WRITTEN"]

SEQ: Final[Column[Any]] = Column(
    name="seq", dtype="int64", doc="Its event's number in the log.", read=attrgetter("entry.event.seq")
)

NAMED_TURN: Final[Column[Any]] = Column(
    name="turn",
    dtype="Int64",
    doc="The turn that it names, else the one that was open.",
    read=attrgetter("entry.turn"),
)

WRITTEN: Final[tuple[Column[Any], ...]] = (
    Column(
        name="time",
        dtype="datetime64[ms, UTC]",
        doc="When it was written, to the millisecond. NaT beyond the year 9999.",
        read=attrgetter("entry.event.time"),
    ),
    Column(name="turn", dtype="Int64", doc="The turn that was open.", read=attrgetter("entry.turn")),
    Column(name="step", dtype="Int64", doc="The step that was open.", read=attrgetter("entry.step")),
)
"""Time, turn and step of something that was written while they were open."""
