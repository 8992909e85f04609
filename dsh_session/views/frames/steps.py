"""The frame of steps: one row for each request to a model and what followed from its answer."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.spans import SHARED, Span, spans

if TYPE_CHECKING:
    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["STEPS", "steps"]


def _wait(span: Span) -> int | None:
    return None if span.started is None or span.first_chunk is None else span.first_chunk - span.started


STEPS: Final[tuple[Column[Span], ...]] = (
    Column(
        name="turn", dtype="Int64", doc="The turn that its boundary names, else the open one.", read=attrgetter("turn")
    ),
    Column(
        name="step",
        dtype="Int64",
        doc="The step's number, as its start (or its end) names it.",
        read=attrgetter("step"),
    ),
    *(SHARED[name] for name in ("start", "end", "started", "ended", "duration_ms", "is_open")),
    Column(
        name="first_chunk_ms",
        dtype="Int64",
        doc="Milliseconds from its start to the first stream chunk; NA without chunks.",
        read=_wait,
    ),
    Column(
        name="finish",
        dtype="category",
        doc="Why its stream ended, as its last finish chunk says; NA without one.",
        read=attrgetter("finish"),
        categories=("stop", "tool-calls", "max-tokens", "aborted", "error"),
    ),
    Column(name="answer", dtype="Int64", doc="The seq of the model's message.", read=attrgetter("answer")),
    Column(name="provider", dtype="string", doc="Who ran the model.", read=attrgetter("provider")),
    Column(name="model", dtype="string", doc="The model that answered.", read=attrgetter("model")),
    *(SHARED[name] for name in ("calls", "results", "errors", "chunks", "events", "input_tokens", "output_tokens")),
)
"""The columns of `steps`."""


def steps(session: Logged) -> pd.DataFrame:
    """The steps of a session, one row each in log order.

    A step that nothing closed before its turn's boundary is open; an end without a start is a row of its own.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `STEPS`. `dsh_session.views.frames.columns("steps")` says what each holds.

    Example:
        >>> from dsh_session import samples
        >>> steps(samples.load("pi-compacted-twice"))[["turn", "step", "answer", "calls", "results"]].head(2)
           turn  step  answer  calls  results
        0     1     1       3      2        2
        1     1     2      10      1        1
    """
    return frame(STEPS, spans(log_of(session).events, "step"))
