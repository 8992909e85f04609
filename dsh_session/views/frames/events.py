"""The frame of all events: one row each."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dsh_session.core.vocabulary import CORE_TYPES, SURFACE_TYPES
from dsh_session.views.describe import KINDS
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries

if TYPE_CHECKING:
    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["EVENTS", "events"]


def _surface_op(entry: Entry) -> str | None:
    op = entry.event.surface_op
    return op if op is None or isinstance(op, str) else "replace"


def _start(entry: Entry) -> int | None:
    op = entry.event.surface_op
    return None if op is None or isinstance(op, str) else op.start


def _end(entry: Entry) -> int | None:
    op = entry.event.surface_op
    return None if op is None or isinstance(op, str) else op.end


def _source(entry: Entry) -> str | None:
    payload = entry.payload
    source = payload.source
    if source is None:
        return None
    return f"plugin:{source.plugin}" if source.plugin is not None else source.kind


def _outcome(entry: Entry) -> str | None:
    payload = entry.payload
    finish = payload.chunk.reason if payload.chunk else None
    tag = payload.reason or payload.trigger or payload.decision or finish
    return tag if tag is None or isinstance(tag, str) else tag.kind


def _model(entry: Entry) -> str | None:
    payload = entry.payload
    route = payload.provenance or (payload.header and payload.header.config)
    return route.model if route else None


_TOOLS: Final = frozenset({"tool/call", "tool/result"})
_RESULTS: Final = frozenset({"tool/result"})
_ASSISTANT: Final = frozenset({"assistant/message"})
_ROUTED: Final = frozenset({"assistant/message", "request/header"})
_SOURCED: Final = SURFACE_TYPES | {"prompt/blocked"}
_TAGGED: Final = frozenset({"turn/start", "turn/end", "request/header", "hook/result", "assistant/chunk"})

EVENTS: Final[tuple[Column[Entry], ...]] = (
    Column(name="seq", dtype="int64", doc="The event's number in the log, from 0.", read=attrgetter("event.seq")),
    Column(
        name="time",
        dtype="datetime64[ms, UTC]",
        doc="When it was appended, to the millisecond. NaT beyond the year 9999.",
        read=attrgetter("event.time"),
    ),
    Column(
        name="type",
        dtype="category",
        doc="The event's type, as the log spells it.",
        read=attrgetter("type"),
        categories=CORE_TYPES,
    ),
    Column(
        name="kind",
        dtype="category",
        doc="What it is in a word, as in diagrams and pages: a user message that replaces others is a summary.",
        read=attrgetter("kind"),
        categories=KINDS,
    ),
    Column(
        name="turn", dtype="Int64", doc="The turn that it names, else the one that was open.", read=attrgetter("turn")
    ),
    Column(
        name="step", dtype="Int64", doc="The step that it names, else the one that was open.", read=attrgetter("step")
    ),
    Column(
        name="call_id",
        dtype="string",
        doc="What joins a tool call to its result.",
        read=attrgetter("payload.call_id"),
    ),
    Column(
        name="tool",
        dtype="string",
        doc="The tool that is called; on a result, the tool of its call.",
        of=_TOOLS,
        read=attrgetter("tool"),
    ),
    Column(
        name="text",
        dtype="string",
        doc="What it says: the text blocks of a message, a chunk's delta, a call's arguments, the system prompt of a "
        "header, why a turn ended.",
        read=attrgetter("text"),
    ),
    Column(
        name="chars",
        dtype="Int64",
        doc="Characters of all its texts; in a message reasoning and tool call arguments count too.",
        read=attrgetter("chars"),
    ),
    Column(name="bytes", dtype="int64", doc="Bytes of its line in the log.", read=attrgetter("size")),
    Column(name="calls", dtype="int64", doc="Tool calls in the message.", of=_ASSISTANT, read=attrgetter("calls")),
    Column(
        name="is_error",
        dtype="boolean",
        doc="Whether a tool result is an error.",
        of=_RESULTS,
        read=attrgetter("payload.is_error"),
    ),
    Column(
        name="outcome",
        dtype="string",
        doc="Its tag: what triggered a turn, why a turn or a stream ended, why a header was written, what a hook "
        "decided.",
        of=_TAGGED,
        read=_outcome,
    ),
    Column(
        name="source",
        dtype="string",
        doc="Who wrote a message: user, or plugin:NAME.",
        of=_SOURCED,
        read=_source,
    ),
    Column(
        name="model",
        dtype="string",
        doc="The model of an assistant message or a request header.",
        of=_ROUTED,
        read=_model,
    ),
    Column(
        name="surface_op",
        dtype="category",
        doc="How it entered the surface; NA for an event of the log only.",
        of=SURFACE_TYPES,
        read=_surface_op,
        categories=("append", "replace"),
    ),
    Column(
        name="replace_start",
        dtype="Int64",
        doc="First seq of the range that it replaced.",
        of=SURFACE_TYPES,
        read=_start,
    ),
    Column(
        name="replace_end", dtype="Int64", doc="Last seq of that range, in surface order.", of=SURFACE_TYPES, read=_end
    ),
    Column(
        name="on_surface",
        dtype="bool",
        doc="Whether it is on the surface now, and so in the model's history.",
        of=SURFACE_TYPES,
        read=attrgetter("on_surface"),
    ),
    Column(
        name="shadowed_by",
        dtype="Int64",
        doc="The seq of the replacement that took it off the surface.",
        of=SURFACE_TYPES,
        read=attrgetter("shadowed_by"),
    ),
    Column(
        name="sources",
        dtype="Int64",
        doc="Events that it cites as its sources; 0 for an empty list, NA where none was recorded.",
        of=SURFACE_TYPES,
        read=attrgetter("sources"),
    ),
)
"""The columns of `events`."""


def events(session: Logged) -> pd.DataFrame:
    """All events of a session, one row each in log order.

    Payloads that are not as they should be give `NA`, never an error.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `EVENTS`; row labels are seqs. `dsh_session.views.frames.columns("events")`
        says what each holds.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> _ = session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        >>> hello = {"content": [{"type": "text", "text": "Hello"}], "source": {"kind": "user"}}
        >>> _ = session.append("user/message", hello, surface_op="append")
        >>> events(session)[["seq", "type", "turn", "text", "on_surface"]]
           seq          type  turn   text  on_surface
        0    0    turn/start     1   <NA>       False
        1    1  user/message     1  Hello        True
    """
    return frame(EVENTS, entries(session), tag=attrgetter("type"))
