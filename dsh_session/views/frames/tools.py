"""The frame of tools: each call beside its result."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import data_of, record, string

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["TOOLS", "Call", "tools"]


class Call(msgspec.Struct):
    """One tool call, as far as the log has it.

    Attributes:
        turn: The turn that it lies in.
        step: The step that it lies in.
        call_id: Its id.
        tool: The tool.
        arguments: What the model gave, as JSON text.
        message: The seq of the message that asks for it.
        call: The seq of its own event.
        result: The seq of its result.
        called: When it was called.
        returned: When its result came.
        is_error: Whether the result is an error.
        error_name: The error's name.
        error_code: The error's code.
        text: The result's text.
        chars: The result's characters.
        shadowed_by: What took the result off the surface.
        on_surface: Whether the result is there.
    """

    turn: int | None = None
    step: int | None = None
    call_id: str | None = None
    tool: str | None = None
    arguments: str | None = None
    message: int | None = None
    call: int | None = None
    result: int | None = None
    called: int | None = None
    returned: int | None = None
    is_error: bool | None = None
    error_name: str | None = None
    error_code: str | None = None
    text: str | None = None
    chars: int | None = None
    shadowed_by: int | None = None
    on_surface: bool = False


def _duration(call: Call) -> int | None:
    return None if call.called is None or call.returned is None else call.returned - call.called


TOOLS: Final[tuple[Column[Call], ...]] = (
    Column(
        name="message",
        dtype="Int64",
        doc="The seq of the model's message that asks for the call; NA where none does.",
        read=attrgetter("message"),
    ),
    Column(
        name="call",
        dtype="Int64",
        doc="The seq of the call's own event; NA where none was logged.",
        read=attrgetter("call"),
    ),
    Column(
        name="result", dtype="Int64", doc="The seq of its result; NA while there is none.", read=attrgetter("result")
    ),
    Column(name="turn", dtype="Int64", doc="The turn that it lies in.", read=attrgetter("turn")),
    Column(name="step", dtype="Int64", doc="The step that it lies in.", read=attrgetter("step")),
    Column(
        name="call_id",
        dtype="string",
        doc="The call's id; one that repeats belongs to the nearest earlier call without a result.",
        read=attrgetter("call_id"),
    ),
    Column(name="tool", dtype="string", doc="The tool that is called.", read=attrgetter("tool")),
    Column(
        name="arguments", dtype="string", doc="What the model gave to it, as JSON text.", read=attrgetter("arguments")
    ),
    Column(
        name="called",
        dtype="datetime64[ms, UTC]",
        doc="When the call was logged, to the millisecond; NaT where it was not.",
        read=attrgetter("called"),
    ),
    Column(
        name="returned",
        dtype="datetime64[ms, UTC]",
        doc="When the result was appended, to the millisecond; NaT while there is none.",
        read=attrgetter("returned"),
    ),
    Column(
        name="duration_ms", dtype="Int64", doc="Milliseconds from the call's event to the result's.", read=_duration
    ),
    Column(name="is_error", dtype="boolean", doc="Whether the result is an error.", read=attrgetter("is_error")),
    Column(name="error_name", dtype="string", doc="The error's name.", read=attrgetter("error_name")),
    Column(
        name="error_code",
        dtype="string",
        doc="The error's code; interrupted for a result that stands in for one that a crash swallowed.",
        read=attrgetter("error_code"),
    ),
    Column(name="text", dtype="string", doc="The text of the result, as it first came.", read=attrgetter("text")),
    Column(name="chars", dtype="Int64", doc="Characters of the result.", read=attrgetter("chars")),
    Column(
        name="shadowed_by",
        dtype="Int64",
        doc="The seq of the replacement that took the result off the surface: a summary, or a shorter result.",
        read=attrgetter("shadowed_by"),
    ),
    Column(
        name="on_surface", dtype="bool", doc="Whether the result is on the surface now.", read=attrgetter("on_surface")
    ),
)
"""The columns of `tools`."""


def tools(session: Logged) -> pd.DataFrame:
    """The tool calls of a session, one row each with its result, in the order in which the log first names them.

    A call is named by a block of the model's message, by its own event, by its result, or by all three. Results that
    replace another message are no answers and have no row.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `TOOLS`. `dsh_session.views.frames.columns("tools")` says what each holds.

    Example:
        >>> from dsh_session import samples
        >>> tools(samples.load("pi-compacted-twice"))[["message", "call", "result", "tool", "duration_ms"]].head(2)
           message  call  result  tool  duration_ms
        0        3     4       6  read            5
        1        3     5       7  read           14
    """
    return frame(TOOLS, _rows(entries(log_of(session))))


def _rows(walk: Iterable[Entry]) -> list[Call]:
    found: list[Call] = []
    unlogged = _Waiting(found)
    unanswered = _Waiting(found)
    for entry in walk:
        name = entry.event.type
        if name == "assistant/message":
            if entry.event.surface_op == "append":
                for block in entry.payload.content or ():
                    if block.type == "tool-call":
                        call = Call(entry.turn, entry.step, block.id, block.name, block.arguments, entry.event.seq)
                        found.append(call)
                        unlogged.add(call)
                        unanswered.add(call)
        elif name == "tool/call":
            payload = entry.payload
            call, is_new = unlogged.take(payload.call_id)
            call.call, call.called, call.turn, call.step = entry.event.seq, entry.event.time, entry.turn, entry.step
            call.tool = call.tool if payload.name is None else payload.name
            call.arguments = call.arguments if payload.arguments is None else payload.arguments
            if is_new:
                unanswered.add(call)
        elif name == "tool/result" and entry.event.surface_op == "append":
            call, is_new = unanswered.take(entry.payload.call_id)
            if is_new:
                call.turn, call.step, call.tool = entry.turn, entry.step, entry.tool
            _answer(call, entry)
    return found


def _answer(call: Call, entry: Entry) -> None:
    call.result, call.returned = entry.event.seq, entry.event.time
    call.is_error, call.text, call.chars = entry.payload.is_error, entry.text, entry.chars
    call.shadowed_by, call.on_surface = entry.shadowed_by, entry.on_surface
    if entry.payload.error is not None:
        error = record(data_of(entry.event).get("error"))
        call.error_name, call.error_code = string(error.get("name")), string(error.get("code"))


class _Waiting:
    """Calls that wait for something, by their ids; the nearest earlier one gets it."""

    def __init__(self, found: list[Call]) -> None:
        self._found = found
        self._by_id: dict[str, list[Call]] = {}

    def add(self, call: Call) -> None:
        """Let a call wait."""
        if call.call_id is not None:
            self._by_id.setdefault(call.call_id, []).append(call)

    def take(self, call_id: str | None) -> tuple[Call, bool]:
        """The call that waited, or a new one that nothing named before."""
        waiting = self._by_id.get(call_id) if call_id is not None else None
        if waiting:
            return waiting.pop(), False
        call = Call(call_id=call_id)
        self._found.append(call)
        return call, True
