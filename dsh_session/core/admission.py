"""From outside into the log: one event at a time, checked to what replay needs.

Two doors, one set of rules. `admit_line` takes a line of a file; the common shapes are checked
by one typed msgspec decode, everything else by `check_wire`. `check_wire` takes an event's wire
form as plain JSON.
"""

from collections.abc import Callable
from typing import Any, Union

import msgspec

from dsh_session.core.compiled import struct_of
from dsh_session.core.errors import SeedError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.lossless import MAX_SAFE_INTEGER, decode_strictly, may_lose_a_number
from dsh_session.core.messages import check_projectable
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import UNSET, Links, is_seq
from dsh_session.core.vocabulary import CORE_TYPES, LEGACY_TYPE, SURFACE_TYPES, VOCABULARY

_ENVELOPE = frozenset({"type", "seq", "time", "data"})
_SURFACE_ENVELOPE = _ENVELOPE | {"surfaceOp", "sourceEventSeqs"}
_ROUTED = ("request/header", "assistant/message")


def check_wire(wire: Any, seq: int) -> str:
    """Check an event's wire form up to the surface rules.

    Args:
        wire: A plain JSON value.
        seq: The seq it must have.

    Returns:
        Its type.

    Raises:
        SeedError: ``LEGACY_HEADER``, ``SEED_ENVELOPE``, ``MISSING_ROUTE`` or ``SEED_NOT_CONTIGUOUS``.
    """
    if not isinstance(wire, dict):
        raise SeedError("SEED_ENVELOPE", f"an event must be an object, not {name_of(wire)}")
    kind = wire.get("type")
    check_legacy_type(kind)
    if not isinstance(kind, str):
        raise SeedError("SEED_ENVELOPE", f"$.type must be a string, not {_shown(wire, 'type')}")
    for key in ("seq", "time"):
        if not is_seq(wire.get(key)):
            raise SeedError("SEED_ENVELOPE", f"$.{key} must be a non-negative integer, not {_shown(wire, key)}")
    if "data" not in wire:
        raise SeedError("SEED_ENVELOPE", f"$.data of {kind!r} is missing")
    # A marker on a log-only event is the surface rules' business, which say what to do about it.
    further = wire.keys() - _SURFACE_ENVELOPE
    if further:
        raise SeedError("SEED_ENVELOPE", f"$.{min(further)} does not belong in an event's envelope")
    if kind in _ROUTED:
        check_route(kind, wire["data"])
    if wire["seq"] != seq:
        raise SeedError("SEED_NOT_CONTIGUOUS", f"$.seq is {wire['seq']} where {seq} comes next")
    return kind


def check_legacy_type(kind: Any) -> None:
    """Refuse the header delta of older logs, which cannot be replayed.

    Raises:
        SeedError: ``LEGACY_HEADER``.
    """
    if kind == LEGACY_TYPE:
        raise SeedError("LEGACY_HEADER", f"{LEGACY_TYPE!r} events are of an older format and cannot be replayed")


def check_legacy_reason(kind: str, data: Any) -> None:
    """Refuse the header reason of older logs.

    Raises:
        SeedError: ``LEGACY_HEADER``.
    """
    if kind == "request/header" and isinstance(data, dict) and data.get("reason") == "fallback":
        raise SeedError("LEGACY_HEADER", "$.reason 'fallback' is of an older format and cannot be replayed")


def check_route(kind: str, data: Any) -> None:
    """Refuse a request header or an assistant message that does not say which model it belongs to.

    Raises:
        SeedError: ``MISSING_ROUTE``, or ``LEGACY_HEADER`` for a header that has one.
    """
    if kind == "request/header":
        header = data.get("header") if isinstance(data, dict) else None
        route, path = header.get("config") if isinstance(header, dict) else None, "$.header.config"
    elif kind == "assistant/message":
        route, path = data.get("provenance") if isinstance(data, dict) else None, "$.provenance"
    else:
        return
    for key in ("provider", "model"):
        name = route.get(key) if isinstance(route, dict) else None
        if type(name) is not str or not name:
            raise SeedError("MISSING_ROUTE", f"{path}.{key} of {kind!r} must be a non-empty string")
    check_legacy_reason(kind, data)


def _shown(wire: dict[str, Any], key: str) -> str:
    return name_of(wire[key]) if key in wire else "absent"


def admit_wire(wire: dict[str, Any], line: bytes, seq: int, links: Links) -> SessionEvent:
    """Check a plain wire form, take it into the surface, and give the event."""
    kind = check_wire(wire, seq)
    op = wire.get("surfaceOp", UNSET)
    plan = links.plan(seq, kind, op, wire.get("sourceEventSeqs", UNSET))
    if plan is None:
        return SessionEvent(kind, seq, int(wire["time"]), line)
    check_projectable(kind, wire["data"], f"seq {seq}")
    links.apply(plan)
    return SessionEvent(kind, seq, int(wire["time"]), line, surface_mark(op))


def surface_mark(op: Any) -> str | Replace:
    """Give an accepted ``surfaceOp`` as an event holds it."""
    return "append" if op == "append" else Replace(int(op["start"]), int(op["end"]))


class LineReader:
    """Reads event lines of a log in order, each checked completely."""

    def __init__(self, links: Links) -> None:
        """Take the surface that the events go to."""
        self._links = links
        self._read, self._types = _typed_reader()

    def admit(self, line: bytes, seq: int) -> SessionEvent:
        """Read one line, take it into the surface, and give the event.

        Args:
            line: The line's bytes without the line break.
            seq: The seq it must have.

        Raises:
            SessionError: What is wrong with it; the caller knows the place.
        """
        try:
            typed = self._read(line)
        except (msgspec.MsgspecError, RecursionError):
            return self._admit_slowly(line, seq)
        kind, is_message, is_routed = self._types[type(typed)]
        if typed.seq != seq or not 0 <= typed.time <= MAX_SAFE_INTEGER:
            return self._admit_slowly(line, seq)
        # Most lines are short and hold none of these: no need to call for them.
        if (len(line) > 300 or b"-0" in line or b"e-" in line or b"E-" in line) and may_lose_a_number(line):
            return self._admit_slowly(line, seq)
        if is_routed and not _has_route(kind, typed.data):
            return self._admit_slowly(line, seq)
        if not is_message:
            return SessionEvent(kind, seq, typed.time, line)
        op = typed.surfaceOp
        plan = self._links.plan(seq, kind, op, typed.sourceEventSeqs)
        self._links.apply(plan)  # type: ignore[arg-type]  # a message always has a plan
        return SessionEvent(kind, seq, typed.time, line, "append" if op == "append" else surface_mark(op))

    def _admit_slowly(self, line: bytes, seq: int) -> SessionEvent:
        return admit_wire(decode_strictly(line), line, seq, self._links)


def _has_route(kind: str, data: Any) -> bool:
    route = data.header.config if kind == "request/header" else data.provenance
    return bool(route.provider and route.model)


_Reader = tuple[Callable[[bytes], Any], dict[type, tuple[str, bool, bool]]]
_readers: dict[int, _Reader] = {}


def _typed_reader() -> _Reader:
    """Make, once per vocabulary, the decoder of the core types' envelopes and what each type is."""
    if VOCABULARY.revision not in _readers:
        _readers.clear()
        types: dict[type, tuple[str, bool, bool]] = {}
        for kind in CORE_TYPES:
            shape = VOCABULARY.shape(kind)
            fields: list[Any] = [("seq", int), ("time", int), ("data", struct_of(shape) if shape else Any)]
            if kind in SURFACE_TYPES:
                fields += [("surfaceOp", Any, UNSET), ("sourceEventSeqs", Any, UNSET)]
            event = msgspec.defstruct("Event", fields, tag_field="type", tag=kind, forbid_unknown_fields=True, gc=False)
            types[event] = (kind, kind in SURFACE_TYPES, kind in _ROUTED)
        read = msgspec.json.Decoder(Union[tuple(types)]).decode  # noqa: UP007 (made at run time)
        _readers[VOCABULARY.revision] = (read, types)
    return _readers[VOCABULARY.revision]
