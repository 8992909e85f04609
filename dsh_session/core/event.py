"""One entry of the log: a few numbers, and its JSON text."""

from typing import Any

import msgspec

from dsh_session.core import display
from dsh_session.core.frozen import FrozenDict, FrozenList, freeze_owned, frozen_list
from dsh_session.core.lossless import decode, register_frozen
from dsh_session.core.vocabulary import is_surface_eligible_type


class Replace(FrozenDict):
    """The surface operation that puts an event in the place of a range of nodes.

    It is the wire form ``{"op": "replace", "start": ..., "end": ...}``, frozen, with attributes.

    Attributes:
        start: Seq of the first node that is replaced.
        end: Seq of the last one; equal to `start` for a single node.

    Example:
        >>> Replace(3, 9)
        {'op': 'replace', 'start': 3, 'end': 9}
        >>> Replace(3, 9).end
        9
    """

    __slots__ = ()

    def __init__(self, start: int, end: int) -> None:
        """Take the first and the last seq of the range, inclusive."""
        if self:
            raise TypeError("Replace is frozen: make a new one")
        dict.update(self, {"op": "replace", "start": start, "end": end})

    @property
    def start(self) -> int:
        """Seq of the first node that is replaced."""
        start: int = self["start"]
        return start

    @property
    def end(self) -> int:
        """Seq of the last node that is replaced."""
        end: int = self["end"]
        return end

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by start and end."""
        return (Replace, (self.start, self.end))


register_frozen(Replace)


class _Body(msgspec.Struct):
    data: Any
    sourceEventSeqs: Any = None  # noqa: N815 (a wire name)


_read_body = msgspec.json.Decoder(_Body).decode


class SessionEvent(msgspec.Struct, gc=False, eq=False, repr_omit_defaults=True):
    """One immutable entry of a session's log (the seeds' ``SessionEvent``).

    Events are made by `Session.append`, by a seed or by a load, never by hand. An event is held
    as its JSON text; `data` is decoded when it is first looked at. Assigning or deleting raises
    `TypeError`.

    Attributes:
        type: The wire name of its type, such as ``"user/message"``.
        seq: Its 0-based position in the log.
        time: Epoch milliseconds.
        surface_op: ``"append"``, a `Replace`, or None for an event that is not on the surface.
    """

    type: str
    seq: int
    time: int
    _line: bytes
    surface_op: "str | Replace | None" = None
    _data: Any = msgspec.UNSET

    @property
    def data(self) -> Any:
        """The payload, frozen; an object for every core type."""
        value = self._data
        if value is msgspec.UNSET:
            value = freeze_owned(peek(self))
            _keep_data(self, value)
        return value

    @property
    def source_event_seqs(self) -> FrozenList | None:
        """The seqs this event came from, frozen; None where none were recorded."""
        if self.surface_op is None:
            return None
        try:
            seqs = _read_body(self._line).sourceEventSeqs
        except msgspec.MsgspecError:
            seqs = decode(self._line).get("sourceEventSeqs")
        return None if seqs is None else frozen_list([int(seq) for seq in seqs])

    def to_dict(self) -> dict[str, Any]:
        """Give the wire form as a fresh, plain dict.

        Example:
            >>> from dsh_session import Session
            >>> session = Session("s", clock=lambda: 5)
            >>> session.append("todo/write", {"todos": []}).to_dict()
            {'type': 'todo/write', 'seq': 0, 'time': 5, 'data': {'todos': []}}
        """
        wire: dict[str, Any] = decode(self._line)
        return wire

    def to_json(self) -> str:
        """Give the wire form as the JSON text that the log holds, without a line break."""
        return self._line.decode()

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, SessionEvent):
            return NotImplemented
        return self is other or self._line == other._line or self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Hash what never differs between equal events."""
        return hash((self.type, self.seq, self.time))

    def __repr__(self) -> str:
        """Name seq and type."""
        # A log may hold any type, and this line goes to terminals.
        name = self.type if self.type.isprintable() else ascii(self.type)
        return f"<SessionEvent {self.seq} {name if len(name) <= 80 else name[:79] + '…'}>"

    def _repr_html_(self) -> str | None:
        return display.html(self)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a logged event never changes."""
        raise TypeError(f"an event never changes: {name} stays as it is; thaw(event.data) gives a copy to edit")

    def __delattr__(self, name: str) -> None:
        """Refuse: a logged event never changes."""
        raise TypeError(f"an event never changes: {name} stays as it is")

    def __copy__(self) -> "SessionEvent":
        """Give itself: what never changes needs no copy."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "SessionEvent":
        """Give itself: what never changes needs no copy."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by text."""
        return (SessionEvent, (self.type, self.seq, self.time, self._line, self.surface_op))


def _refuse_init(_event: SessionEvent, *_args: object, **_kwargs: object) -> None:
    raise TypeError("an event never changes")


# msgspec makes structs without calling __init__, and refuses one in the class body.
SessionEvent.__init__ = _refuse_init  # type: ignore[method-assign, assignment]
_keep_data = SessionEvent._data.__set__


def peek(event: SessionEvent) -> Any:
    """Read an event's payload as plain containers, without keeping it.

    For views that look at every event once: decoded payloads take several times the room of
    their text.
    """
    try:
        return _read_body(event._line).data
    except (msgspec.MsgspecError, RecursionError):
        return decode(event._line)["data"]


def is_surface_event(event: Any) -> bool:
    """Tell whether an event, or its wire form, is a node of the surface.

    Args:
        event: A `SessionEvent` or a wire dict.

    Returns:
        True when its type is one of the five and it carries a surface marker of any kind.

    Example:
        >>> is_surface_event({"type": "user/message", "surfaceOp": "append"})
        True
        >>> is_surface_event({"type": "user/message"})
        False
    """
    if isinstance(event, SessionEvent):
        return event.surface_op is not None
    return isinstance(event, dict) and is_surface_eligible_type(event.get("type")) and "surfaceOp" in event
