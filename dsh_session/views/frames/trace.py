"""The frame of a trace: how each request had a text, and what took it away."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.core.history import SurfaceHistory
from dsh_session.core.trace import TracePoint
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import data_of, number, passing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["PRESENCES", "TRACE", "Traced", "trace"]

PRESENCES: Final = ("not yet", "verbatim", "summary", "gone")
"""How a request can have a text."""


class Traced(msgspec.Struct, gc=False):
    """One request.

    Attributes:
        request: Its number, from 1.
        turn: The turn that its answer names.
        step: The step that its answer names.
        point: How it had the text.
    """

    request: int
    turn: int | None
    step: int | None
    point: TracePoint


TRACE: Final[tuple[Column[Traced], ...]] = (
    Column(name="request", dtype="int64", doc="The request's number, from 1.", read=attrgetter("request")),
    Column(name="seq", dtype="int64", doc="The message that answered it.", read=attrgetter("point.request")),
    Column(name="turn", dtype="Int64", doc="The turn that the answer names.", read=attrgetter("turn")),
    Column(name="step", dtype="Int64", doc="The step that the answer names.", read=attrgetter("step")),
    Column(
        name="presence",
        dtype="category",
        doc="How the request had the text: not yet, for a text that had not been said; verbatim, in an original "
        "message or in the request header; summary, only in a summary's words; gone.",
        read=attrgetter("point.presence"),
        categories=PRESENCES,
    ),
    Column(
        name="holders",
        dtype="int64",
        doc="How many held the text: nodes of its surface, and the request header.",
        read=lambda row: len(row.point.holders),
    ),
    Column(
        name="first_holder",
        dtype="Int64",
        doc="The seq of the first of them, in the order in which the model read them.",
        read=lambda row: row.point.holders[0] if row.point.holders else None,
    ),
    Column(
        name="taken_by",
        dtype="Int64",
        doc="The seq of the replacement or the next header that took the last original away; NA while there is one.",
        read=attrgetter("point.taken_by"),
    ),
)
"""The columns of `trace`."""


def trace(session: Logged, text: str) -> pd.DataFrame:
    """Why did it forget? Where a text was, one row per request that was answered.

    Args:
        session: Any session, or a history of one.
        text: What to look for, exactly; it must not be empty.

    Returns:
        A frame with the columns of `TRACE`. `dsh_session.views.frames.columns("trace")` says what each holds.

    Raises:
        ValueError: For an empty text.

    Example:
        >>> from dsh_session import samples
        >>> table = trace(samples.load("pi-compacted-twice"), "tui-renderer.ts")
        >>> table["presence"].value_counts(sort=False).to_dict()
        {'not yet': ..., 'verbatim': ..., 'summary': ..., 'gone': ...}
    """
    return frame(TRACE, _rows(session, text))


def _rows(session: Logged, text: str) -> Iterator[Traced]:
    events = log_of(session).events
    history = SurfaceHistory(map(passing, events))
    for request, point in enumerate(history.trace(text), 1):
        data = data_of(events[point.request])
        yield Traced(request, number(data.get("turn")), number(data.get("step")), point)
