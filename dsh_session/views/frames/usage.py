"""The frame of usage: what was recorded of each request, and whether it can be true."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.requests import Request, requests

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["USAGE", "usage"]


def _recorded(name: str) -> Callable[[Request], Any]:
    return lambda request: None if request.usage is None else getattr(request.usage, name)


USAGE: Final[tuple[Column[Request], ...]] = (
    Column(name="request", dtype="int64", doc="The request's number, from 1.", read=attrgetter("request")),
    Column(name="seq", dtype="int64", doc="The message that answered it.", read=attrgetter("seq")),
    Column(
        name="time",
        dtype="datetime64[ms, UTC]",
        doc="When that was appended, to the millisecond. NaT beyond the year 9999.",
        read=attrgetter("time"),
    ),
    Column(
        name="turn", dtype="Int64", doc="The turn that the answer names, else the open one.", read=attrgetter("turn")
    ),
    Column(
        name="step", dtype="Int64", doc="The step that the answer names, else the open one.", read=attrgetter("step")
    ),
    Column(name="provider", dtype="string", doc="Who ran the model.", read=attrgetter("provider")),
    Column(name="model", dtype="string", doc="The model that answered.", read=attrgetter("model")),
    Column(
        name="source",
        dtype="category",
        doc="Where the usage was recorded: on the message, or in the stream only; NA where it was not.",
        read=_recorded("source"),
        categories=("message", "stream"),
    ),
    Column(name="input", dtype="Int64", doc="Input tokens that came from no cache.", read=_recorded("input")),
    Column(
        name="cache_read",
        dtype="Int64",
        doc="Input tokens that were read from a cache; NA where nothing is said of it.",
        read=_recorded("cache_read"),
    ),
    Column(
        name="cache_write",
        dtype="Int64",
        doc="Input tokens that were written to a cache; NA where nothing is said of it.",
        read=_recorded("cache_write"),
    ),
    Column(
        name="total_input",
        dtype="Int64",
        doc="All input tokens: the sum of the three, which are disjoint.",
        read=_recorded("total_input"),
    ),
    Column(name="output", dtype="Int64", doc="Output tokens.", read=_recorded("output")),
    Column(
        name="reasoning",
        dtype="Int64",
        doc="Reasoning tokens, as the provider counts them.",
        read=_recorded("reasoning"),
    ),
    Column(
        name="estimated", dtype="int64", doc="Estimated tokens of what the log says was sent.", read=attrgetter("total")
    ),
    Column(
        name="sanity",
        dtype="category",
        doc="Whether the record can be the size of this request: ok; not a count, for a number that is negative, "
        "broken or missing; too small, for no input or less than an eighth of the estimate; too large, for more than "
        "ten million tokens. NA without a record.",
        read=attrgetter("sanity"),
        categories=("ok", "not a count", "too small", "too large"),
    ),
)
"""The columns of `usage`."""


def usage(session: Logged, *, meter: TokenMeter | None = None) -> pd.DataFrame:
    """The recorded usage of a session, one row per request that was answered.

    Args:
        session: Any session, or a history of one.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `USAGE`. `dsh_session.views.frames.columns("usage")` says what each holds.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello there.") as turn, turn.step() as step:
        ...     _ = step.assistant("Hi.", usage={"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 5})
        >>> usage(session)[["request", "input", "total_input", "output", "estimated", "sanity"]]
           request  input  total_input  output  estimated sanity
        0        1     10           15       2         11     ok
    """
    return frame(USAGE, requests(log_of(session), meter or TokenMeter()))
