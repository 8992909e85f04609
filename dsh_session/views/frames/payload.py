"""Reading what frames need of an event's payload, and no more.

A log holds its events as text. A frame needs a dozen fields of each, so it decodes those straight into a small
record, and nothing of it is kept: a million chunks stay a million lines. Where the text does not fit the record
(a `"turn": "one"`, a lone surrogate), the payload is decoded in full and read field by field, and what is not as it
should be is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

from dsh_session.core.event import peek

if TYPE_CHECKING:
    from dsh_session.core.event import SessionEvent

__all__ = [
    "Block",
    "Chunk",
    "Header",
    "Line",
    "Payload",
    "Route",
    "Tag",
    "Trigger",
    "decode_line",
    "line_of",
    "read_line",
    "without_surrogates",
]

_LARGEST: Final = 2**53 - 1
# Blocks may lie in blocks (a tool result's content). How deep is the log's to choose, not ours to follow.
_DEPTH: Final = 8
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]


class Tag(msgspec.Struct, gc=False):
    """A tagged object: a source or a reason."""

    kind: str | None = None
    plugin: str | None = None
    message: str | None = None
    reason: str | None = None


class Trigger(msgspec.Struct, gc=False):
    """What started a turn."""

    kind: str | None = None
    source: Tag | None = None


class Block(msgspec.Struct, gc=False):
    """A content block."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[Block] | None = None


class Chunk(msgspec.Struct, gc=False, rename="camel"):
    """A stream chunk."""

    type: str | None = None
    text: str | None = None
    arguments_delta: str | None = None
    reason: Tag | None = None


class Route(msgspec.Struct, gc=False):
    """A provider and a model."""

    provider: str | None = None
    model: str | None = None


class Header(msgspec.Struct, gc=False):
    """A request header."""

    config: Route | None = None
    system: str | None = None


class Payload(msgspec.Struct, gc=False, rename="camel"):
    """What frames read of an event's `data`; a field that is absent or mistyped is `None`."""

    turn: Number | None = None
    step: Number | None = None
    content: list[Block] | None = None
    source: Tag | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    is_error: bool | None = None
    chunk: Chunk | None = None
    provenance: Route | None = None
    header: Header | None = None
    trigger: Trigger | None = None
    reason: Tag | str | None = None
    decision: str | None = None
    error: Tag | str | None = None
    summary: list[Block] | None = None
    stderr_summary: str | None = None


class Line(msgspec.Struct, gc=False, rename="camel"):
    """What frames read of an event's line that the event does not say by itself.

    Attributes:
        data: The payload.
        source_event_seqs: What it cites, or `None`.
    """

    data: Payload
    source_event_seqs: list[Any] | None = None


decode_line: Final = msgspec.json.Decoder(Line).decode
"""Decodes a line that fits the record; raises for one that does not."""


def line_of(event: SessionEvent) -> bytes:
    """The bytes that the log holds for an event, without a copy.

    Args:
        event: Any event.

    Returns:
        Its JSON text in UTF-8, without a line break.

    Example:
        >>> from dsh_session import Session
        >>> line_of(Session("tour", clock=lambda: 0).append("todo/write", {"todos": []}))[:21]
        b'{"type":"todo/write",'
    """
    return event._line  # the text itself; `to_json` would decode it first


def read_line(event: SessionEvent, line: bytes | None = None) -> Line:
    """What frames read of an event.

    Args:
        event: Any event of a log, whatever its payload holds. It keeps nothing of what is decoded here.
        line: Its line, for a caller that has it already.

    Returns:
        The record; nothing in a payload is an error.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", check_payloads=False)
        >>> payload = read_line(session.append("step/start", {"turn": 1, "step": "one"})).data
        >>> payload.turn, payload.step
        (1, None)
    """
    try:
        return decode_line(line or line_of(event))
    except (msgspec.MsgspecError, RecursionError):
        return Line(_from_value(peek(event)), event.source_event_seqs)


def _from_value(data: object) -> Payload:
    if not isinstance(data, Mapping):
        return Payload()
    return Payload(
        turn=_number(data.get("turn")),
        step=_number(data.get("step")),
        content=_blocks(data.get("content"), _DEPTH),
        source=_tag(data.get("source")),
        call_id=_string(data.get("callId")),
        name=_string(data.get("name")),
        arguments=_string(data.get("arguments")),
        is_error=data["isError"] if isinstance(data.get("isError"), bool) else None,
        chunk=_chunk(data.get("chunk")),
        provenance=_route(data.get("provenance")),
        header=_header(data.get("header")),
        trigger=_trigger(data.get("trigger")),
        reason=_string(data.get("reason")) or _tag(data.get("reason")),
        decision=_string(data.get("decision")),
        error=_string(data.get("error")) or _tag(data.get("error")),
        summary=_blocks(data.get("summary"), _DEPTH),
        stderr_summary=_string(data.get("stderrSummary")),
    )


def without_surrogates(text: str) -> str:
    r"""The text with U+FFFD for each lone surrogate, which fits no table, no file and no terminal.

    Args:
        text: Any string.

    Returns:
        A string that every encoding of Unicode can hold.

    Example:
        >>> without_surrogates("a\ud83d")
        'a\ufffd'
    """
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _string(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None


def _number(value: object) -> int | None:
    # JSON has one kind of number: 1.0 is the integer 1.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and abs(value) <= _LARGEST else None


def _blocks(value: object, depth: int) -> list[Block] | None:
    if not isinstance(value, list) or not depth:
        return None
    return [
        Block(
            type=_string(item.get("type")),
            text=_string(item.get("text")),
            id=_string(item.get("id")),
            name=_string(item.get("name")),
            arguments=_string(item.get("arguments")),
            content=_blocks(item.get("content"), depth - 1),
        )
        if isinstance(item, Mapping)
        else Block()
        for item in value
    ]


def _strings(value: object, *names: str) -> dict[str, Any] | None:
    return {name: _string(value.get(name)) for name in names} if isinstance(value, Mapping) else None


def _tag(value: object) -> Tag | None:
    found = _strings(value, "kind", "plugin", "message", "reason")
    return None if found is None else Tag(**found)


def _trigger(value: object) -> Trigger | None:
    if not isinstance(value, Mapping):
        return None
    return Trigger(kind=_string(value.get("kind")), source=_tag(value.get("source")))


def _route(value: object) -> Route | None:
    found = _strings(value, "provider", "model")
    return None if found is None else Route(**found)


def _chunk(value: object) -> Chunk | None:
    if not isinstance(value, Mapping):
        return None
    return Chunk(
        type=_string(value.get("type")),
        text=_string(value.get("text")),
        arguments_delta=_string(value.get("argumentsDelta")),
        reason=_tag(value.get("reason")),
    )


def _header(value: object) -> Header | None:
    if not isinstance(value, Mapping):
        return None
    return Header(config=_route(value.get("config")), system=_string(value.get("system")))
