"""Session: an append-only log, and what follows from it."""

from collections.abc import Callable, Iterable
from threading import RLock
from time import time_ns
from typing import Any, Literal, NamedTuple, Protocol, overload

import msgspec

from dsh_session.core import display, payloads
from dsh_session.core.admission import admit_wire, check_legacy_reason, check_legacy_type, check_route, surface_mark
from dsh_session.core.errors import AppendError, PayloadError, SeedError, SessionError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.frozen import FrozenDict
from dsh_session.core.header import SESSION_FORMAT_VERSION, SessionHeader
from dsh_session.core.lossless import MAX_RECORDED_INTEGER, MAX_SAFE_INTEGER, encode, snapshot_json_value
from dsh_session.core.messages import History, check_projectable, derive_event_message
from dsh_session.core.request import canonical_header
from dsh_session.core.shapes import Fault, name_of
from dsh_session.core.stack import is_running_here
from dsh_session.core.surface import UNSET, Links, Plan, SessionSurface, is_seq, surface_parts
from dsh_session.core.view import FixedView
from dsh_session.core.vocabulary import SURFACE_TYPES, VOCABULARY, EventType

Clock = Callable[[], float]
"""Gives epoch milliseconds."""


def read_clock(clock: Clock | None) -> float:
    """Read a clock, the system's if there is none; epoch milliseconds."""
    return time_ns() // 1_000_000 if clock is None else clock()


SurfaceOp = Literal["append"] | Replace | dict[str, Any]
"""How a message enters the surface: at the tail, or in the place of a range."""


class Link(Protocol):
    """What a store ties a session to itself with.

    Attributes:
        detach_wanted: Whether something waits for the append to be over.
    """

    detach_wanted: bool

    def commit(self, event: SessionEvent, plan: Plan | None) -> None:
        """Write an accepted event and publish it, or refuse it by raising."""

    def settle(self) -> None:
        """Do what had to wait for the append to be over."""

    def before_step(self) -> None:
        """Say that a step is about to begin; no append is under way."""


class Finding(NamedTuple):
    """Something that a load had to say about a log that it could read.

    Attributes:
        code: What kind of thing, such as ``"TORN_TAIL"``.
        message: What was found, and what was done about it.
        line: The 1-based line it begins at, or None for the whole file.
        offset: The byte offset of that line, or None.
    """

    code: str
    message: str
    line: int | None = None
    offset: int | None = None


class Session:
    """An append-only log of typed events, its surface, and the derived history.

    The log is the only truth (the seeds' "Class: Session"). Everything else is derived from it:
    `surface` is the linked list of message-producing events, `derive_messages` what the model
    sees. All methods may be called from any thread.

    Attributes:
        id: The session's id.
        header: Its `SessionHeader`.
        surface: Its `SessionSurface`, live.
        findings: What the load had to say, for a session that was loaded; else empty.

    Example:
        >>> session = Session("s", clock=lambda: 1000)
        >>> event = session.append(
        ...     "user/message",
        ...     {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}},
        ...     surface_op="append",
        ... )
        >>> event.seq, session.surface.nodes, session.derive_messages()
        (0, (0,), [{'role': 'user', 'content': [{'type': 'text', 'text': 'hello'}]}])
    """

    def __init__(
        self,
        id: str,  # noqa: A002 (the field's name)
        seed: Iterable[SessionEvent | dict[str, Any]] | None = None,
        header: SessionHeader | dict[str, Any] | None = None,
        *,
        clock: Clock | None = None,
        check_payloads: bool = True,
    ) -> None:
        """Start a log, from a seed if there is one.

        Args:
            id: The session's id.
            seed: Events or wire dicts to start from, checked one by one to what replay needs.
            header: Creation metadata in wire form; made up from id and clock when absent.
            clock: Gives epoch milliseconds; the system's clock by default.
            check_payloads: Whether `append` checks payloads against their declared shapes.

        Raises:
            SessionError: What is wrong with the seed (`index` says where) or the header.
        """
        if type(id) is not str:
            raise TypeError(f"a session id must be a str, not {type(id).__name__}")
        self._id = id
        self.findings: list[Finding] = []
        self._clock = clock
        self._check_payloads = check_payloads
        # One append at a time, its publication included; and, held for moments only and never while
        # anybody else's code runs, the derived state. Readers do not wait for listeners.
        self._append_lock = RLock()
        self._state_lock = RLock()
        self._link: Link | None = None
        self._unseedable: tuple[SessionEvent, SessionError] | None = None
        self._log: list[SessionEvent] = []
        self._view = FixedView(self._log, 0)
        self._links = Links()
        self._redo: tuple[Plan, SessionEvent] | None = None
        self._history = History(self._log, self._links)
        self._request: tuple[int, FrozenDict | None] = (0, None)
        self._appending = False
        self._header_line: bytes | None = None
        self._surface = SessionSurface(self._up_to_date_links, self._state_lock)
        if seed is not None:
            self._take_seed(seed)
        self._header = self._header_from(header)

    def _header_from(self, header: SessionHeader | dict[str, Any] | None) -> SessionHeader:
        if isinstance(header, SessionHeader):
            header = header.to_dict()
        if header is None:
            header = {"version": SESSION_FORMAT_VERSION, "id": self.id, "createdAt": read_clock(self._clock)}
        return SessionHeader(header, id=self.id)

    def _take_seed(self, seed: Iterable[SessionEvent | dict[str, Any]]) -> None:
        for index, item in enumerate(seed):
            try:
                self._log.append(self._seeded(item, index))
            except SessionError as error:
                raise error.at(index=index, where=f"seed event {index}") from None

    def _seeded(self, item: SessionEvent | dict[str, Any], index: int) -> SessionEvent:
        if not isinstance(item, SessionEvent):
            wire = snapshot_json_value(item, what="event", largest=MAX_RECORDED_INTEGER)
            return admit_wire(wire, encode(wire), index, self._links)
        # An event was accepted once: its text is shared, and only its place is checked again.
        kind, seq, op, sources = surface_parts(item)
        if kind in ("request/header", "assistant/message"):
            check_route(kind, item.data)
        if seq != index:
            raise SeedError("SEED_NOT_CONTIGUOUS", f"$.seq is {seq} where {index} comes next")
        plan = self._links.plan(index, kind, op, sources)
        if plan is not None:
            self._links.apply(plan)
        return item

    def _adopt(self, header: SessionHeader, line: bytes, findings: list[Finding]) -> None:
        """Take over what a loader read beside the events."""
        self._header = header
        self._header_line = line
        self.findings = findings

    def _forked(self, child: "Session", boundary: int) -> None:
        """Hand the events up to a boundary, inclusive, to an empty child; a pointer each."""
        with self._state_lock:
            self._up_to_date_links()
            child._log.extend(self._log[: boundary + 1])
            if boundary + 1 == len(self._log):
                links = self._links.copy()
            else:
                links = Links()
                for event in child._log:
                    if event.surface_op is not None:
                        links.apply(links.replayed(event.seq, event.surface_op))
        child._links = links
        child._history = History(child._log, links)

    # Appending.

    @overload
    def append(
        self,
        type: Literal["turn/start"],
        data: payloads.TurnStart,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["turn/end"],
        data: payloads.TurnEnd,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["step/start", "step/end"],
        data: payloads.StepBoundary,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["prompt/blocked"],
        data: payloads.PromptBlocked,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["assistant/chunk"],
        data: payloads.AssistantChunk,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["tool/call"],
        data: payloads.ToolCall,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["todo/write"],
        data: payloads.TodoWrite,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["request/header"],
        data: payloads.RequestHeader,
        *,
        surface_op: None = None,
        source_event_seqs: None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self, type: EventType, data: Any, *, surface_op: None = None, source_event_seqs: None = None
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["user/message"],
        data: payloads.UserMessage,
        *,
        surface_op: SurfaceOp,
        source_event_seqs: list[int] | None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["context/message"],
        data: payloads.ContextMessage,
        *,
        surface_op: SurfaceOp,
        source_event_seqs: list[int] | None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["steering/message"],
        data: payloads.SteeringMessage,
        *,
        surface_op: SurfaceOp,
        source_event_seqs: list[int] | None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["assistant/message"],
        data: payloads.AssistantMessage,
        *,
        surface_op: SurfaceOp,
        source_event_seqs: list[int] | None = None,
    ) -> SessionEvent: ...
    @overload
    def append(
        self,
        type: Literal["tool/result"],
        data: payloads.ToolResult,
        *,
        surface_op: SurfaceOp,
        source_event_seqs: list[int] | None = None,
    ) -> SessionEvent: ...
    def append(
        self,
        type: str,  # noqa: A002 (the field's name)
        data: Any,
        *,
        surface_op: Any = None,
        source_event_seqs: Any = None,
    ) -> SessionEvent:
        """Add one event to the log, or refuse and change nothing.

        Args:
            type: The event's wire type.
            data: Its payload, a JSON value of the type's shape; it is copied.
            surface_op: For the five message types: ``"append"`` or ``Replace(start, end)``.
            source_event_seqs: For message types: the seqs this event comes from. For an
                assistant message ``[]`` says that its stream was empty; None says nothing.

        Returns:
            The logged event.

        Raises:
            SessionError: What is wrong, by code: ``NOT_JSON``, ``LEGACY_HEADER``,
                ``NOT_JSON_METADATA``, ``APPEND_REENTERED``, ``BAD_CLOCK``, a surface rule,
                ``PAYLOAD_INVALID`` or ``MISSING_ROUTE``, in this order.
        """
        try:
            payload = _COPIERS[type](data) if type.__class__ is str else None
        except Exception:  # noqa: BLE001 (whatever it was, the complete check below explains it)
            payload = None
        quick = payload is not None
        if not quick:
            payload = snapshot_json_value(data, what=f"data of {type!r}")
            if type.__class__ is not str:
                raise SeedError("SEED_ENVELOPE", f"an event type must be a string, not {name_of(type)}")
            check_legacy_type(type)
            check_legacy_reason(type, payload)
        op: Any = UNSET
        if surface_op is not None:
            is_append = surface_op.__class__ is str and surface_op == "append"
            op = "append" if is_append else _metadata(surface_op, "surface_op")
        sources: Any = UNSET
        if source_event_seqs is not None:
            sources = _sources_from(source_event_seqs)
        if type == "step/start" and op is UNSET and sources is UNSET and (quick or not self._fault(type, payload)):
            self._announce_step()
        try:
            with self._append_lock:
                # The flag alone may be left over from an append that was interrupted or refused.
                if self._appending and is_running_here(APPENDING, self):
                    raise AppendError(
                        "APPEND_REENTERED",
                        f"session {self.id!r} is in the middle of an append; append again when it is over",
                    )
                self._appending = True
                event = self._commit(type, payload, op, sources, quick=quick)
                self._appending = False
                return event
        finally:
            link = self._link
            if link is not None and link.detach_wanted:
                link.settle()

    def _announce_step(self) -> None:
        """Let those who listen to ``session/pre-step`` append what belongs before the step."""
        link = self._link
        if link is not None and not (self._appending and is_running_here(APPENDING, self)):
            link.before_step()

    def _commit(self, kind: str, payload: Any, op: Any, sources: Any, *, quick: bool) -> SessionEvent:
        if self._redo is not None:
            self._heal()
        log, links = self._log, self._links
        seq = len(log)
        clock = self._clock
        now: Any = time_ns() // 1_000_000 if clock is None else clock()
        if now.__class__ is not int or not 0 <= now <= MAX_SAFE_INTEGER:
            now = _time_from(now)
        is_bare = op is UNSET and sources is UNSET and kind not in SURFACE_TYPES
        plan = None if is_bare else links.plan(seq, kind, op, sources)
        if not quick:
            self._check_slowly(kind, payload, plan is not None)
        unseedable = None
        if kind in ("assistant/message", "request/header"):
            unseedable = self._check_route(kind, payload, seq)
        if plan is None:
            event = SessionEvent(kind, seq, now, encode(_LogOnly(kind, seq, now, payload)))
        else:
            mark = surface_mark(op)
            event = SessionEvent(kind, seq, now, encode(_Message(kind, seq, now, payload, sources, mark)), mark)
        if unseedable is not None and self._seed_fault() is None:
            self._unseedable = (event, unseedable)
        link = self._link
        if link is not None:
            link.commit(event, plan)
        elif plan is None:
            log.append(event)
        else:
            self._write(event, plan)
        return event

    def _write(self, event: SessionEvent, plan: Plan | None) -> None:
        """Let an accepted event into the log: its growth is the commit."""
        if plan is None:
            self._log.append(event)
            return
        with self._state_lock:
            # What an interruption leaves undone after the commit is redone from here.
            self._redo = (plan, event)
            self._log.append(event)
            self._links.apply(plan)
            self._redo = None

    def _seed_fault(self) -> SessionError | None:
        """Give why the log could not be a seed, with the index of the first event to blame."""
        if self._unseedable is None:
            return None
        event, error = self._unseedable
        # It was noted before the commit, which may have been refused.
        there = event.seq < len(self._log) and self._log[event.seq] is event
        return error if there else None

    def _check_route(self, kind: str, payload: Any, seq: int) -> SessionError | None:
        """Refuse an event without a route; with payload checks off, give what a seed would say."""
        try:
            check_route(kind, payload)
        except SeedError as error:
            if self._check_payloads:
                raise
            return error.at(index=seq, where=f"seq {seq}")
        return None

    def _fault(self, kind: str, payload: Any) -> Fault | None:
        """Give where a payload leaves its declared shape, with payload checks on."""
        shape = VOCABULARY.shape(kind) if self._check_payloads else None
        return None if shape is None else shape.fault(payload)

    def _check_slowly(self, kind: str, payload: Any, is_message: bool) -> None:  # noqa: FBT001 (private)
        fault = self._fault(kind, payload)
        if fault is not None:
            path, message = fault
            raise PayloadError("PAYLOAD_INVALID", f"seq {len(self._log)}: ${path} of {kind!r} {message}")
        if is_message:
            check_projectable(kind, payload, f"seq {len(self._log)}")

    def _heal(self) -> None:
        """Finish what an interrupted append left undone."""
        with self._state_lock:
            if self._redo is None:
                return
            plan, event = self._redo
            seq = plan[0]
            if self._links.ends[4] <= seq < len(self._log) and self._log[seq] is event:
                self._links.apply(plan)
            self._redo = None

    def _up_to_date_links(self) -> Links:
        if self._redo is not None:
            self._heal()
        return self._links

    # Reading.

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id

    @property
    def header(self) -> SessionHeader:
        """The creation metadata."""
        return self._header

    @property
    def surface(self) -> SessionSurface:
        """The surface, live: the same object for the session's life."""
        return self._surface

    @property
    def events(self) -> FixedView[SessionEvent]:
        """The log as an immutable sequence that a later append does not grow; O(1) to get."""
        view = self._view
        if len(view) != len(self._log):
            view = self._view = FixedView(self._log, len(self._log))
        return view

    @property
    def seq(self) -> int:
        """The number of events, which is the next event's seq."""
        return len(self._log)

    def derive_messages(self) -> list[FrozenDict]:
        """Give the messages that the model sees, as a fresh list of shared, frozen messages.

        See the seeds' "Derived history". Each node is projected once.
        """
        with self._state_lock:
            self._up_to_date_links()
            return self._history.messages().copy()

    @property
    def messages(self) -> FixedView[FrozenDict]:
        """The messages that the model sees now, as an immutable sequence; no copy is made."""
        with self._state_lock:
            self._up_to_date_links()
            return self._history.view()

    @staticmethod
    def derive_event_message(event: SessionEvent | dict[str, Any]) -> FrozenDict | None:
        """Project one event; see `dsh_session.derive_event_message`."""
        return derive_event_message(event)

    def request_header(self) -> FrozenDict | None:
        """Give the request header in force in normal form, or None before the first.

        Raises:
            PayloadError: ``PAYLOAD_INVALID`` when the latest ``request/header`` holds none, which
                takes an append with payload checks off.
        """
        with self._state_lock:
            seen, header = self._request
            length = len(self._log)
            for at in range(length - 1, seen - 1, -1):
                event = self._log[at]
                if event.type == "request/header":
                    header = canonical_header(event.data.get("header") if isinstance(event.data, dict) else event.data)
                    break
            self._request = (length, header)
            return header

    def to_jsonl(self) -> bytes:
        """Give the whole log as it stands in a file: the header line, then a line per event.

        A log that was loaded from bytes gives the same bytes back.
        """
        header = self._header_line or encode({"type": "session", **self.header.to_dict()})
        return b"\n".join([header, *[event._line for event in self._log], b""])

    def __repr__(self) -> str:
        """Name id, events and nodes."""
        return f"<Session {self.id!r} {self.seq} events, {len(self.surface)} nodes>"

    def _repr_html_(self) -> str | None:
        return display.html(self)


_COPIERS = VOCABULARY.copiers
_INTS = {int}
APPENDING = Session._commit.__code__


def _metadata(value: Any, what: str) -> Any:
    return snapshot_json_value(value, code="NOT_JSON_METADATA", what=what)


def _sources_from(value: Any) -> Any:
    if value.__class__ is list:
        copied = value.copy()
        if _INTS.issuperset(map(type, copied)) and (
            not copied or (max(copied) <= MAX_SAFE_INTEGER and min(copied) >= 0)
        ):
            return copied
    copied = _metadata(value, "source_event_seqs")
    # An integral float is the integer; what is no list is the surface rules' business.
    return (
        [int(item) if type(item) is float and item.is_integer() else item for item in copied]
        if isinstance(copied, list)
        else copied
    )


class _LogOnly(msgspec.Struct, gc=False):
    """The envelope of a log-only event, in the order in which it is written."""

    type: str
    seq: int
    time: int
    data: Any


class _Message(msgspec.Struct, gc=False):
    """The envelope of a message event, in the order in which it is written."""

    type: str
    seq: int
    time: int
    data: Any
    sourceEventSeqs: Any  # noqa: N815 (a wire name)
    surfaceOp: Any  # noqa: N815 (a wire name)


def _time_from(now: Any) -> int:
    if not is_seq(now):
        raise AppendError("BAD_CLOCK", f"the clock gave {name_of(now)}, not a non-negative integer of milliseconds")
    return int(now)
