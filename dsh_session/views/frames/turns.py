"""The frame of turns: one row each."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.spans import SHARED, Span, spans

if TYPE_CHECKING:
    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["TURNS", "turns"]

_OUTCOMES: Final = ("completed", "aborted", "error", "disposed", "max-tokens", "rejected", "interrupted")

TURNS: Final[tuple[Column[Span], ...]] = (
    Column(
        name="turn",
        dtype="Int64",
        doc="The turn's number, as its start (or its end) names it.",
        read=attrgetter("turn"),
    ),
    *(SHARED[name] for name in ("start", "end", "started", "ended", "duration_ms", "is_open")),
    Column(
        name="trigger",
        dtype="category",
        doc="What triggered it: a message, or an injection by a plugin.",
        read=attrgetter("trigger"),
        categories=("message", "injection"),
    ),
    Column(name="source", dtype="string", doc="Who did: user, or plugin:NAME.", read=attrgetter("source")),
    Column(
        name="outcome",
        dtype="category",
        doc="Why it ended; NA while it is open.",
        read=attrgetter("outcome"),
        categories=_OUTCOMES,
    ),
    Column(
        name="reason",
        dtype="string",
        doc="The same in words, where the log has some: an error's message, why a prompt was rejected.",
        read=attrgetter("reason"),
    ),
    Column(name="steps", dtype="int64", doc="Steps that began in it.", read=attrgetter("steps")),
    Column(
        name="messages",
        dtype="int64",
        doc="Messages of users, context and steering that were appended in it.",
        read=attrgetter("messages"),
    ),
    Column(
        name="answers", dtype="int64", doc="Messages of the model that were appended in it.", read=attrgetter("answers")
    ),
    *(SHARED[name] for name in ("calls", "results", "errors", "chunks", "events", "input_tokens", "output_tokens")),
)
"""The columns of `turns`."""


def turns(session: Logged) -> pd.DataFrame:
    """The turns of a session, one row each in log order.

    A turn is what lies between its boundaries. A turn that nothing closed is open; an end without a start is a row
    of its own.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `TURNS`. `dsh_session.views.frames.columns("turns")` says what each holds.

    Example:
        >>> from dsh_session import samples
        >>> turns(samples.load("pi-compacted-twice"))[["turn", "outcome", "steps", "calls", "errors"]].head(2)
           turn    outcome  steps  calls  errors
        0     1  completed      3      3       0
        1     2  completed      1      0       0
    """
    return frame(TURNS, spans(log_of(session).events, "turn"))
