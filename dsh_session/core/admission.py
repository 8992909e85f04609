"""From outside into the log: one event at a time, checked to what replay needs.

Two doors, one set of rules. `LineReader` takes the lines of a file; the common shapes are checked
by one typed msgspec decode, everything else by `check_wire`. `check_wire` takes an event's wire
form as plain JSON.
"""

from collections.abc import Callable, Iterable
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
    """Reads event lines of a log in order, each checked completely.

    Attributes:
        taken: How many events were read, which is the seq that the next line must have.
    """

    def __init__(self, links: Links, keep: Callable[[SessionEvent], Any]) -> None:
        """Take the surface that the events go to, and what keeps them."""
        self.taken = 0
        self._links = links
        self._keep = keep
        self._read, self._types = _typed_reader()

    def take(self, lines: Iterable[bytes], text: bytes) -> None:
        """Read lines, take them into the surface, and hand on the events.

        Args:
            lines: Their bytes without the line breaks.
            text: What they were cut from. Most text holds no number that needs a second look, and
                that is asked once for all of it.

        Raises:
            SessionError: What is wrong with the line whose seq is `taken`; the caller knows the place.
        """
        read, types, links, keep = self._read, self._types, self._links, self._keep
        may_lose = may_lose_a_number(text)
        seq = self.taken
        try:
            for line in lines:
                try:
                    typed = read(line)
                except (msgspec.MsgspecError, RecursionError):
                    keep(self._admit_slowly(line, seq))
                    seq += 1
                    continue
                kind, is_message, is_routed = types[typed.__class__]
                if (
                    typed.seq != seq
                    or not 0 <= typed.time <= MAX_SAFE_INTEGER
                    or (may_lose and may_lose_a_number(line))
                    or (is_routed and not _has_route(kind, typed.data))
                ):
                    event = self._admit_slowly(line, seq)
                elif is_message:
                    op, sources = typed.surfaceOp, typed.sourceEventSeqs
                    if op == "append" and (sources is UNSET or _are_sound(sources, seq)):
                        links.push(seq)
                        event = SessionEvent(kind, seq, typed.time, line, "append")
                    else:
                        links.apply(links.plan(seq, kind, op, sources))  # type: ignore[arg-type]  # a message has one
                        event = SessionEvent(kind, seq, typed.time, line, surface_mark(op))
                else:
                    event = SessionEvent(kind, seq, typed.time, line)
                keep(event)
                seq += 1
        finally:
            self.taken = seq

    def _admit_slowly(self, line: bytes, seq: int) -> SessionEvent:
        return admit_wire(decode_strictly(line), line, seq, self._links)


def _are_sound(sources: list[int], seq: int) -> bool:
    """Tell whether an appended event may cite these; what is not plainly so, `Links.plan` judges."""
    return bool(sources) and min(sources) >= 0 and max(sources) < seq and len(set(sources)) == len(sources)


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
                sources = Union[list[int], msgspec.UnsetType]  # noqa: UP007 (made at run time)
                fields += [("surfaceOp", Any, UNSET), ("sourceEventSeqs", sources, UNSET)]
            event = msgspec.defstruct("Event", fields, tag_field="type", tag=kind, forbid_unknown_fields=True, gc=False)
            types[event] = (kind, kind in SURFACE_TYPES, kind in _ROUTED)
        read = msgspec.json.Decoder(Union[tuple(types)]).decode  # noqa: UP007 (made at run time)
        _readers[VOCABULARY.revision] = (read, types)
    return _readers[VOCABULARY.revision]
