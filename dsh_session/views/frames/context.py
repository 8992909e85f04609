"""The frame of contexts: what each request held, and how much of it the model had read before."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.requests import Request, next_request, requests

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["CONTEXT", "context"]


def _of_kind(name: str) -> Callable[[Request], Any]:
    return lambda request: request.kinds[name]


def _broken(request: Request) -> int | None:
    return None if request.before is None else request.before - request.kept


def _share(request: Request) -> float | None:
    return request.kept / request.total if request.before is not None and request.total else None


def _recorded(request: Request) -> int | None:
    return None if request.usage is None else request.usage.total_input


CONTEXT: Final[tuple[Column[Request], ...]] = (
    Column(name="request", dtype="int64", doc="The request's number, from 1.", read=attrgetter("request")),
    Column(
        name="seq",
        dtype="Int64",
        doc="The message that answered it; NA for a request that was not made.",
        read=attrgetter("seq"),
    ),
    Column(
        name="turn", dtype="Int64", doc="The turn that the answer names, else the open one.", read=attrgetter("turn")
    ),
    Column(
        name="step", dtype="Int64", doc="The step that the answer names, else the open one.", read=attrgetter("step")
    ),
    Column(name="model", dtype="string", doc="The model that is asked.", read=attrgetter("model")),
    Column(name="header", dtype="Int64", doc="The seq of the request header in force.", read=attrgetter("header")),
    Column(name="system", dtype="int64", doc="Estimated tokens of the system prompt.", read=attrgetter("system")),
    Column(name="tools", dtype="int64", doc="Estimated tokens of the tool schemas.", read=attrgetter("tools")),
    Column(name="prefix", dtype="int64", doc="Estimated tokens of the message prefix.", read=attrgetter("prefix")),
    Column(name="user", dtype="int64", doc="Estimated tokens of user messages.", read=_of_kind("user")),
    Column(
        name="assistant", dtype="int64", doc="Estimated tokens of the model's own messages.", read=_of_kind("assistant")
    ),
    Column(name="tool_result", dtype="int64", doc="Estimated tokens of tool results.", read=_of_kind("tool result")),
    Column(name="context", dtype="int64", doc="Estimated tokens of context messages.", read=_of_kind("context")),
    Column(name="steering", dtype="int64", doc="Estimated tokens of steering messages.", read=_of_kind("steering")),
    Column(name="summary", dtype="int64", doc="Estimated tokens of summaries.", read=_of_kind("summary")),
    Column(name="total", dtype="int64", doc="Estimated tokens of it all.", read=attrgetter("total")),
    Column(name="nodes", dtype="int64", doc="Nodes of the surface.", read=attrgetter("nodes")),
    Column(
        name="recorded",
        dtype="Int64",
        doc="Input tokens that the provider counted, cached ones included; see the sanity column of usage.",
        read=_recorded,
    ),
    Column(
        name="kept",
        dtype="int64",
        doc="Estimated tokens at the beginning that stood at the beginning of the request before, in the order system, "
        "tools, prefix, surface; 0 for the first request.",
        read=attrgetter("kept"),
    ),
    Column(
        name="fresh",
        dtype="int64",
        doc="Estimated tokens after those: what a cache of the request before cannot help with.",
        read=lambda request: request.total - request.kept,
    ),
    Column(
        name="broken",
        dtype="Int64",
        doc="Estimated tokens of the request before that no longer stand at the beginning; NA for the first request.",
        read=_broken,
    ),
    Column(
        name="kept_share",
        dtype="Float64",
        doc="kept by total, from 0 to 1; NA for the first request and for an empty one.",
        read=_share,
    ),
    Column(
        name="replacements",
        dtype="int64",
        doc="Replacements on the surface since the request before.",
        read=attrgetter("replacements"),
    ),
)
"""The columns of `context`."""


def context(session: Logged, *, at: int | None = None, meter: TokenMeter | None = None) -> pd.DataFrame:
    """What each request held, one row per request that was answered; or what one would hold at any moment.

    A request is known by the assistant message that answered it, and holds the surface as it was just before.

    Args:
        session: Any session, or a history of one.
        at: The seq after which to look; -1 for the beginning. Then the only row is the request that would be made
            right after that event, beside the last one that had been answered.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `CONTEXT`. `dsh_session.views.frames.columns("context")` says what each holds.

    Raises:
        SurfaceError: `RANGE_NOT_FOUND` when there is no event `at`.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> context(session)[["request", "user", "assistant", "tool_result", "total", "kept"]].head(2)
           request  user  assistant  tool_result  total  kept
        0        1    ...
        1        2    ...
        >>> context(session, at=894)[["request", "nodes", "summary", "broken", "replacements"]]
           request  nodes  summary  broken  replacements
        0      174     67       51   23795             1
    """
    log, meter = log_of(session, at=at), meter or TokenMeter()
    return frame(CONTEXT, requests(log, meter) if at is None else [next_request(log, meter)])
