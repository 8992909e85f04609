"""Turns and steps as stretches of the log: the records of two frames, and the columns that they share."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dsh_session.views.frames.column import Column
from dsh_session.views.frames.payload import line_of
from dsh_session.views.frames.values import count, data_of, number, record, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dsh_session.core.event import SessionEvent

__all__ = ["SHARED", "Span", "span_starts", "spans", "spans_within"]


class Span(msgspec.Struct):
    """A turn or a step: what lies between its boundaries.

    Attributes:
        turn: The number of the turn, as its boundary names it.
        step: The number of the step, as its boundary names it.
        start: The seq of its start, if it has one.
        end: The seq of its end, if it has one.
        started: When it started, in epoch milliseconds.
        ended: When it ended, in epoch milliseconds.
        trigger: What triggered the turn.
        source: Who did.
        outcome: Why the turn ended.
        reason: The same in words.
        steps: Steps that began in it.
        messages: Messages of users, plugins and steering.
        answers: Messages of the model.
        calls: Tool calls.
        results: Tool results.
        errors: Those that are errors.
        chunks: Stream chunks.
        events: Events, its boundaries included.
        input_tokens: Input tokens that were recorded, cached ones included.
        output_tokens: Output tokens that were recorded.
        answer: The seq of the model's latest message.
        first_chunk: When the first chunk came.
        provider: Who ran the model.
        model: The model.
        finish: Why the latest stream ended.
    """

    turn: int | None = None
    step: int | None = None
    start: int | None = None
    end: int | None = None
    started: int | None = None
    ended: int | None = None
    trigger: str | None = None
    source: str | None = None
    outcome: str | None = None
    reason: str | None = None
    steps: int = 0
    messages: int = 0
    answers: int = 0
    calls: int = 0
    results: int = 0
    errors: int = 0
    chunks: int = 0
    events: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    answer: int | None = None
    first_chunk: int | None = None
    provider: str | None = None
    model: str | None = None
    finish: str | None = None


def _duration(span: Span) -> int | None:
    return None if span.started is None or span.ended is None else span.ended - span.started


SHARED: Final[Mapping[str, Column[Span]]] = {
    column.name: column
    for column in (
        Column[Span](
            name="start",
            dtype="Int64",
            doc="The seq of its start; NA for an end without one.",
            read=attrgetter("start"),
        ),
        Column[Span](
            name="end", dtype="Int64", doc="The seq of its end; NA where nothing closed it.", read=attrgetter("end")
        ),
        Column[Span](
            name="started",
            dtype="datetime64[ms, UTC]",
            doc="When it started, to the millisecond; NaT without a start.",
            read=attrgetter("started"),
        ),
        Column[Span](
            name="ended",
            dtype="datetime64[ms, UTC]",
            doc="When it ended, to the millisecond; NaT without an end.",
            read=attrgetter("ended"),
        ),
        Column[Span](name="duration_ms", dtype="Int64", doc="Milliseconds from its start to its end.", read=_duration),
        Column[Span](
            name="is_open", dtype="bool", doc="Whether nothing closed it.", read=lambda span: span.end is None
        ),
        Column[Span](name="calls", dtype="int64", doc="Tool calls that were logged in it.", read=attrgetter("calls")),
        Column[Span](
            name="results", dtype="int64", doc="Tool results that were appended in it.", read=attrgetter("results")
        ),
        Column[Span](name="errors", dtype="int64", doc="Tool results that are errors.", read=attrgetter("errors")),
        Column[Span](name="chunks", dtype="int64", doc="Stream chunks in it.", read=attrgetter("chunks")),
        Column[Span](
            name="events", dtype="int64", doc="Events in it, its boundaries included.", read=attrgetter("events")
        ),
        Column[Span](
            name="input_tokens",
            dtype="Int64",
            doc="Input tokens that were recorded in it, cached ones included; NA where none were.",
            read=attrgetter("input_tokens"),
        ),
        Column[Span](
            name="output_tokens",
            dtype="Int64",
            doc="Output tokens that were recorded in it; NA where none were.",
            read=attrgetter("output_tokens"),
        ),
    )
}
"""The columns that `turns` and `steps` have in common, by name."""


def span_starts(events: Iterable[SessionEvent], what: Literal["turn", "step"]) -> list[int]:
    """Where the turns or the steps of a log begin: one seq for each record that `spans` gives.

    Args:
        events: The events from seq 0 on.
        what: Which of the two.

    Returns:
        Seqs, in log order: of starts, and of ends without one. No payload is decoded.

    Example:
        >>> from dsh_session import samples
        >>> events = samples.load("pi-compacted-twice").events
        >>> [span.start for span in spans(events, "turn")] == span_starts(events, "turn")
        True
    """
    start, end = f"{what}/start", f"{what}/end"
    found: list[int] = []
    is_open = False
    for seq, event in enumerate(events):
        name = event.type
        if name == start or (name == end and not is_open):
            found.append(seq)
        if name == start:
            is_open = True
        elif name == end or name in _TURN:
            is_open = False
    return found


def spans_within(
    events: Sequence[SessionEvent], what: Literal["turn", "step"], starts: Sequence[int], first: int, stop: int
) -> list[Span]:
    """Some of the turns or the steps of a log; only their part of it is read.

    Args:
        events: The events from seq 0 on.
        what: Which of the two.
        starts: What `span_starts` gave.
        first: The place of the first one among all of them.
        stop: The place behind the last one.

    Returns:
        What `spans` gives at these places.

    Example:
        >>> from dsh_session import samples
        >>> events = samples.load("pi-compacted-twice").events
        >>> starts = span_starts(events, "step")
        >>> spans_within(events, "step", starts, 480, 484) == spans(events, "step")[480:]
        True
    """
    if first >= stop:
        return []
    begin = starts[first]
    # A step that does not name its turn lies in the one that is open.
    edge = next((seq for seq in range(begin - 1, -1, -1) if events[seq].type in _TURN), None)
    turn = None if edge is None or events[edge].type == "turn/end" else number(data_of(events[edge]).get("turn"))
    return spans(events[begin : starts[stop] if stop < len(starts) else len(events)], what, turn=turn)


def spans(events: Iterable[SessionEvent], what: Literal["turn", "step"], *, turn: int | None = None) -> list[Span]:
    """The turns or the steps of a log, in the order of their starts.

    A start closes nothing by itself: what was open then stays without an end. An end without a start is a row too.

    Args:
        events: The events, in log order.
        what: Which of the two.
        turn: The number of the turn that is open before the first event.

    Returns:
        One record each. O(events).

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> len(spans(session.events, "turn")), len(spans(session.events, "step"))
        (57, 484)
    """
    start, end = f"{what}/start", f"{what}/end"
    found: list[Span] = []
    span: Span | None = None
    for event in events:
        name = event.type
        if name == start:
            data = data_of(event)
            span = Span(number(data.get("turn")), number(data.get("step")), event.seq, started=event.time, events=1)
            found.append(span)
            if what == "turn":
                _start_turn(span, data)
            elif span.turn is None:
                span.turn = turn
        elif name == end:
            data = data_of(event)
            if span is None:
                span = Span(number(data.get("turn")), number(data.get("step")))
                found.append(span)
            span.end, span.ended = event.seq, event.time
            span.events += 1
            if what == "turn":
                _end_turn(span, data)
            span = None
        else:
            if name in _TURN:
                # A turn's boundary ends the stretch of the step before it, which nothing closed.
                turn = number(data_of(event).get("turn")) if name == "turn/start" else None
                span = span if what == "turn" else None
            if span is not None:
                span.events += 1
                reader = _READERS.get(name)
                if reader is not None:
                    reader(span, event)
    return found


_TURN: Final = frozenset({"turn/start", "turn/end"})


def _start_turn(span: Span, data: Mapping[str, Any]) -> None:
    trigger = record(data.get("trigger"))
    source = record(trigger.get("source"))
    span.trigger = string(trigger.get("kind"))
    plugin = string(source.get("plugin"))
    span.source = string(source.get("kind")) if plugin is None else f"plugin:{plugin}"


def _end_turn(span: Span, data: Mapping[str, Any]) -> None:
    reason = data.get("reason")
    tag = record(reason)
    span.outcome = string(reason) or string(tag.get("kind"))
    span.reason = string(tag.get("message")) or string(tag.get("reason"))


def _began_step(span: Span, event: SessionEvent) -> None:  # noqa: ARG001 -- one signature for all
    span.steps += 1


def _said(span: Span, event: SessionEvent) -> None:
    span.messages += event.surface_op == "append"


def _answered(span: Span, event: SessionEvent) -> None:
    if event.surface_op != "append":
        return
    data = data_of(event)
    route = record(data.get("provenance"))
    span.answers += 1
    span.answer, span.provider, span.model = event.seq, string(route.get("provider")), string(route.get("model"))
    usage = record(data.get("usage"))
    read = [count(usage.get(key)) for key in ("inputTokens", "cacheReadTokens", "cacheWriteTokens")]
    if read[0] is not None:
        span.input_tokens = (span.input_tokens or 0) + sum(part or 0 for part in read)
    written = count(usage.get("outputTokens"))
    if written is not None:
        span.output_tokens = (span.output_tokens or 0) + written


def _called(span: Span, event: SessionEvent) -> None:  # noqa: ARG001 -- one signature for all
    span.calls += 1


def _returned(span: Span, event: SessionEvent) -> None:
    if event.surface_op == "append":
        span.results += 1
        span.errors += data_of(event).get("isError") is True


def _streamed(span: Span, event: SessionEvent) -> None:
    span.chunks += 1
    if span.first_chunk is None:
        span.first_chunk = event.time
    # Chunks are most of a log; only the one that says why the stream ended is decoded.
    if b'"finish"' in line_of(event):
        chunk = record(data_of(event).get("chunk"))
        if chunk.get("type") == "finish":
            span.finish = string(record(chunk.get("reason")).get("kind"))


_READERS: Final[Mapping[str, Callable[[Span, SessionEvent], None]]] = {
    "assistant/chunk": _streamed,
    "assistant/message": _answered,
    "context/message": _said,
    "steering/message": _said,
    "step/start": _began_step,
    "tool/call": _called,
    "tool/result": _returned,
    "user/message": _said,
}
