"""From events to what the model sees.

`derive_event_message` projects one event; `History` keeps the projection of a whole surface up to
date. Every part of a message is frozen and shared with the event it came from.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict

import msgspec

from dsh_session.core.errors import PayloadError
from dsh_session.core.event import SessionEvent
from dsh_session.core.frozen import FrozenDict, FrozenList, freeze, freeze_owned, frozen_dict, frozen_list
from dsh_session.core.lossless import encode, integral, snapshot_json_value
from dsh_session.core.surface import Links
from dsh_session.core.view import FixedView
from dsh_session.core.vocabulary import is_surface_eligible_type

_MANY = 64  # replacements in one catch-up beyond which the list is made anew
_USER = "user"


def derive_event_message(event: SessionEvent | dict[str, Any]) -> FrozenDict | None:
    """Project one event into the message that the model sees (the seeds' ``deriveEventMessage``).

    Args:
        event: A `SessionEvent` or a wire dict; whether it is on the surface is not asked.

    Returns:
        A frozen message, or None for events that produce none.

    Raises:
        PayloadError: ``PAYLOAD_INVALID`` for a wire dict without the content to project.

    Example:
        >>> derive_event_message(
        ...     {"type": "steering/message", "data": {"turn": 1, "content": [], "source": {"kind": "user"}}}
        ... )["content"][0]
        {'type': 'text', 'text': '<steering source="user">'}
    """
    if isinstance(event, SessionEvent):
        return _message(event.type, _projected_parts(event)) if event.surface_op is not None else None
    if not isinstance(event, dict):
        raise PayloadError("PAYLOAD_INVALID", "an event must be a SessionEvent or its wire form")
    kind: Any = event.get("type")
    data = event.get("data")
    if not is_surface_eligible_type(kind):
        return None
    check_projectable(kind, data, "event")
    return _message(kind, freeze(data))


class _Parts(TypedDict, total=False):
    """The fields of a payload that reach the model."""

    content: Any
    provenance: Any
    callId: Any
    isError: Any
    source: Any
    envelope: Any


class _Line(msgspec.Struct, gc=False):
    data: _Parts


_read_parts = msgspec.json.Decoder(_Line).decode


def _projected_parts(event: SessionEvent) -> Any:
    """Read and freeze what a message is made of, and no more of the payload."""
    if event._data is not msgspec.UNSET:
        return event._data
    try:
        parts: Any = _read_parts(event._line).data
    except (msgspec.MsgspecError, RecursionError):
        return event.data
    for key, part in parts.items():
        if part.__class__ is list or part.__class__ is dict:
            parts[key] = freeze_owned(part)
    return parts


def _message(kind: str, data: Any) -> FrozenDict | None:
    if kind == "user/message":
        return frozen_dict({"role": _USER, "content": data["content"]})
    if kind == "assistant/message":
        if not data["content"]:
            return None
        message = {"role": "assistant", "content": data["content"]}
        if "provenance" in data:
            message["provenance"] = data["provenance"]
        return frozen_dict(message)
    if kind == "tool/result":
        block = {"type": "tool-result", "toolCallId": data.get("callId"), "content": data["content"]}
        if "isError" in data:
            block["isError"] = data["isError"]
        if "callId" not in data:
            del block["toolCallId"]
        return frozen_dict({"role": _USER, "content": frozen_list([frozen_dict(block)])})
    if kind == "context/message":
        blocks = _framed("context", data) if data.get("envelope") != "raw" else data["content"]
        return frozen_dict({"role": _USER, "content": blocks})
    if kind == "steering/message":
        return frozen_dict({"role": _USER, "content": _framed("steering", data)})
    return None


def render_context_content(content: list[Any], source: dict[str, Any], envelope: str | None = None) -> FrozenList:
    """Frame injected content as the model sees it (the seeds' "Context framing").

    Args:
        content: Content blocks.
        source: The message source; its `kind` names the frame's source.
        envelope: ``"raw"`` leaves the content as it is; anything else frames it.

    Returns:
        Frozen content blocks.

    Example:
        >>> render_context_content([{"type": "text", "text": "x"}], {"kind": "plugin"})[0]["text"]
        '<context source="plugin">'
    """
    data = freeze(snapshot_json_value({"content": content, "source": source}))
    blocks: FrozenList = data["content"] if envelope == "raw" else _framed("context", data)
    return blocks


def _framed(tag: str, data: Any) -> FrozenList:
    source = data.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    opening = frozen_dict({"type": "text", "text": f"<{tag} source={encode(integral(kind)).decode()}>"})
    closing = frozen_dict({"type": "text", "text": f"</{tag}>"})
    return frozen_list([opening, *data["content"], closing])


def check_projectable(event_type: str, data: Any, where: str) -> None:
    """Refuse a surface event that no message could ever be derived from.

    Raises:
        PayloadError: ``PAYLOAD_INVALID`` when `data` is no object or its content no list of objects.
    """
    if not isinstance(data, dict):
        raise PayloadError("PAYLOAD_INVALID", f"{where}: data of {event_type!r} must be an object")
    content = data.get("content")
    if not isinstance(content, list):
        raise PayloadError("PAYLOAD_INVALID", f"{where}: $.content of {event_type!r} must be a list of content blocks")
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise PayloadError("PAYLOAD_INVALID", f"{where}: $.content[{at}] of {event_type!r} must be an object")


class _State(NamedTuple):
    """What `History` knows, replaced as one value so that an interruption leaves the old one."""

    seen: int  # events of the log that were taken in
    seqs: list[int]  # the nodes that produced a message, in surface order
    messages: list[FrozenDict]  # their messages
    valid: int  # how many of both count; what follows was left by an interruption


class History:
    """The derived messages of a surface, kept up to date event by event."""

    __slots__ = ("_links", "_log", "_state")

    def __init__(self, log: list[SessionEvent], links: Links) -> None:
        """Take the log and its surface; both are only read."""
        self._log = log
        self._links = links
        self._state = _State(0, [], [], 0)

    def messages(self) -> list[FrozenDict]:
        """Give the up-to-date messages, in a list that only grows until the next replacement."""
        if self._state.seen != len(self._log):
            self._catch_up(len(self._log))
        return self._state.messages

    def view(self) -> FixedView[FrozenDict]:
        """Give the up-to-date messages as an immutable view."""
        messages = self.messages()
        return FixedView(messages, len(messages))

    def _catch_up(self, length: int) -> None:
        seen, seqs, messages, valid = self._state
        del seqs[valid:], messages[valid:]
        new = [event for event in self._log[seen:length] if event.surface_op is not None]
        replacing = sum(1 for event in new if event.surface_op != "append")
        if replacing > _MANY:
            seqs, messages = self._made_anew(seqs, messages)
        else:
            if replacing:
                # Views hold the lists they were given, so a replacement starts new ones.
                seqs, messages = seqs.copy(), messages.copy()
            for event in new:
                message = derive_event_message(event)
                start = stop = len(seqs)
                if event.surface_op != "append":
                    start, stop = self._range(seqs, event)
                seqs[start:stop] = [] if message is None else [event.seq]
                messages[start:stop] = [] if message is None else [message]
        self._state = _State(length, seqs, messages, len(messages))

    def _range(self, seqs: list[int], event: SessionEvent) -> tuple[int, int]:
        rank = self._links.rank
        op: Any = event.surface_op
        start = bisect_left(seqs, rank(op.start), key=rank)
        return start, bisect_right(seqs, rank(op.end), lo=start, key=rank)

    def _made_anew(self, seqs: list[int], messages: list[FrozenDict]) -> tuple[list[int], list[FrozenDict]]:
        known = dict(zip(seqs, messages, strict=True))
        kept: list[int] = []
        made: list[FrozenDict] = []
        for seq in self._links.order():
            message = known.get(seq) or derive_event_message(self._log[seq])
            if message is not None:
                kept.append(seq)
                made.append(message)
        return kept, made


def fold_todos(events: Iterable[SessionEvent | dict[str, Any]]) -> FrozenList | None:
    """Give the todo list in force: the latest ``todo/write`` wins.

    Args:
        events: Events or wire dicts, in log order.

    Returns:
        The frozen list of ``{"content", "status"}``, or None when none was ever written.

    Example:
        >>> fold_todos([{"type": "todo/write", "data": {"todos": [{"content": "a", "status": "pending"}]}}])
        [{'content': 'a', 'status': 'pending'}]
    """
    latest = None
    for event in events:
        if kind_of(event) == "todo/write":
            latest = event
    if latest is None:
        return None
    data = latest.data if isinstance(latest, SessionEvent) else freeze(latest.get("data"))
    todos: FrozenList | None = data.get("todos") if isinstance(data, dict) else None
    return todos


def kind_of(event: SessionEvent | dict[str, Any]) -> Any:
    """Give the type of an event or its wire form."""
    return event.type if isinstance(event, SessionEvent) else event.get("type")
