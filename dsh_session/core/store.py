"""SessionStore: sessions that are live, and the events of their lives.

`SessionStore.create` is the common case. Underneath are three steps that an owner can take one
by one: `prepare` builds a session, `enter` makes it live and gives the function that detaches it,
`announce` tells the listeners. See the seeds' "Advanced: ordered-teardown lifecycle primitives".
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dsh_session.core import display
from dsh_session.core.bus import is_awaitable
from dsh_session.core.entry import Entry, StoreState, not_live
from dsh_session.core.errors import HeaderError, SessionForkError, StoreError
from dsh_session.core.event import SessionEvent
from dsh_session.core.header import SESSION_FORMAT_VERSION
from dsh_session.core.messages import kind_of
from dsh_session.core.session import Session, read_clock
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import is_seq

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsh_session.core.context import Context

_META = ("createdAt", "cwd", "parentSession", "seedLength")


def store_of(session: Session) -> "SessionStore | None":
    """Give the store that a session entered, or None while it is not live.

    Args:
        session: Any session.

    Returns:
        The store through which it was created or entered; what is forked there belongs to the same context.

    Example:
        >>> from dsh_session import Context
        >>> with Context() as ctx:
        ...     session = ctx.sessions.create("tour")
        ...     store_of(session) is ctx.sessions
        True
        >>> store_of(session) is None
        True
    """
    owner = session._link.owner if isinstance(session._link, Entry) else None
    return owner if isinstance(owner, SessionStore) else None


class SessionStore:
    """The service `sessions` of a context (the seeds' ``SessionStore``).

    All stores of one tree of contexts share their sessions; what is created through a context's
    store belongs to that context.
    """

    def __init__(self, context: "Context", state: StoreState, scope: object | None) -> None:
        """Take the owner, the shared state, and the scope of what is entered here."""
        self._context = context
        self._state = state
        self._scope = scope

    @property
    def context(self) -> "Context":
        """The context that owns what is created through this store."""
        return self._context

    def create(
        self,
        id: str | None = None,  # noqa: A002 (the field's name)
        *,
        seed: "Iterable[SessionEvent | dict[str, Any]] | None" = None,
        meta: dict[str, Any] | None = None,
    ) -> Session:
        """Make a session live; it is detached when this context closes.

        Args:
            id: The session's id; the next free one when absent.
            seed: Events to start from.
            meta: ``cwd``, ``parentSession``, ``createdAt`` and ``seedLength`` for the header, in
                wire form; other keys are dropped, a ``createdAt`` of None means now.

        Raises:
            SessionError: ``SESSION_EXISTS``, what is wrong with the seed or the header, or
                ``CONTEXT_CLOSED``.
            Exception: What a listener of ``session/created`` raised; the session is taken out again.

        Example:
            >>> from dsh_session import Context
            >>> with Context(clock=lambda: 7) as ctx:
            ...     ctx.sessions.create(meta={"cwd": "/work"}).header.to_dict()
            {'version': 0, 'id': 'session-1', 'createdAt': 7, 'cwd': '/work'}
        """
        return self._live(self.prepare(id, seed=seed, meta=meta))

    def _live(self, session: Session) -> Session:
        entry = Entry(session, self._state, self._scope, self)
        # Owned before it is live, so that no interruption leaves a session that nobody takes out.
        disown = self._context.effect(entry.detach)
        try:
            entry.attach()
            self._context.require_open()
            entry.announce()
        except BaseException as error:
            entry.detach()
            disown()
            if isinstance(error, StoreError) and error.code == "NOT_LIVE":
                self._context.require_open()  # closed meanwhile, which is the better reason
            raise
        return session

    def prepare(
        self,
        id: str | None = None,  # noqa: A002 (the field's name)
        *,
        seed: "Iterable[SessionEvent | dict[str, Any]] | None" = None,
        meta: dict[str, Any] | None = None,
    ) -> Session:
        """Check and build a session without making it live; see `create`.

        Nothing is reserved: two prepared sessions may share an id, and the first to enter wins.
        """
        self._context.require_open()
        state = self._state
        if id is None:
            id = self._free_id()  # noqa: A001 (the field's name)
        elif _is_taken(id, state):
            raise StoreError("SESSION_EXISTS", f"session {id!r} is live already; choose another id")
        fields = _header_fields(meta)
        if fields.get("createdAt") is None:
            fields = {"createdAt": read_clock(state.clock), **{key: fields[key] for key in _META[1:] if key in fields}}
        header = {"version": SESSION_FORMAT_VERSION, "id": id, **fields}
        return Session(id, seed, header, clock=state.clock, check_payloads=state.check_payloads)

    def _free_id(self) -> str:
        refused: set[str] = set()
        while _is_taken(candidate := self._state.new_id(), self._state):
            if candidate in refused:
                raise StoreError(
                    "SESSION_EXISTS", f"new_id gives {candidate!r} again and again, and it is taken; give an id"
                )
            refused.add(candidate)
        return candidate

    def enter(self, session: Session) -> Callable[[], None]:
        """Make a session live: it can be found, and its appends are published.

        Returns:
            A function that detaches it; it removes this stay only, and calling it again does
            nothing. During ``session/created`` or ``session/event`` of this session it takes effect
            when that is over.

        Raises:
            StoreError: ``SESSION_EXISTS`` when the id is taken here, ``ALREADY_ATTACHED`` when the
                session is live in another store.
            ContextError: ``CONTEXT_CLOSED``.
        """
        self._context.require_open()
        entry = Entry(session, self._state, self._scope, self)
        entry.attach()
        return entry.detach

    def announce(self, session: Session) -> None:
        """Publish ``session/created`` for a session that was entered; once per stay.

        Raises:
            StoreError: ``NOT_LIVE`` or ``ALREADY_ANNOUNCED``.
            Exception: What a check or a listener raised; later listeners are not called.
        """
        self._entry(session).announce()

    def get(self, id: Any) -> Session | None:  # noqa: A002 (the field's name)
        """Give the live session of an id, or None."""
        entry = self._state.entries.get(id) if isinstance(id, str) else None
        return None if entry is None else entry.session

    def list(self) -> "list[Session]":
        """Give the live sessions, in the order in which they entered."""
        return [entry.session for entry in list(self._state.entries.values())]

    async def flush(self, session: Session) -> None:
        """Start every ``session/flush`` listener, wait for all, then raise the first failure.

        Args:
            session: A live session; it need not have been announced.

        Raises:
            StoreError: ``NOT_LIVE``.
            BaseException: What the earliest registered failing listener raised.
        """
        entry = self._entry(session)
        bus = self._state.bus
        bus.run_checks("session/flush", session)
        outcomes: list[Any] = []  # of what gave an answer or failed, in order
        for registration in bus.listeners("session/flush", entry.scope):
            try:
                answer = registration.listener(session)
            except Exception as error:  # noqa: BLE001 (the others run all the same)
                outcomes.append(_Raised(error))
            else:
                if answer is not None and is_awaitable(answer):
                    outcomes.append(answer)
        if outcomes:
            await _first_failure(outcomes)

    def fork(self, source: Session | str, boundary: int | None = None, child_session_id: str | None = None) -> Session:
        """Start a live child from a completed turn (the seeds' "Live-session fork API").

        Args:
            source: A live session or its id.
            boundary: Seq of the ``turn/end`` to fork at, inclusive; the last event by default.
            child_session_id: The child's id; the next free one when absent.

        Returns:
            The child. It shares the events with its source, neither can influence the other. Its
            header has ``parentSession``, ``seedLength`` and the inherited ``cwd``.

        Raises:
            SessionForkError: ``SESSION_ALREADY_EXISTS``, ``SESSION_NOT_FOUND``, ``SESSION_NOT_LIVE``,
                ``INVALID_BOUNDARY`` or ``OPEN_TURN``.
            SessionError: When the events up to the boundary could not be a seed, which takes an
                append with payload checks off.
        """
        self._context.require_open()
        state = self._state
        if child_session_id is not None and _is_taken(child_session_id, state):
            raise SessionForkError(
                "SESSION_ALREADY_EXISTS", f"session {child_session_id!r} is live already; choose another id"
            )
        parent = self._fork_source(source)
        boundary = _boundary(parent, boundary)
        fault = parent._seed_fault()
        if fault is not None and fault.index is not None and fault.index <= boundary:
            raise fault
        meta = {"parentSession": parent.id, "seedLength": boundary + 1}
        if parent.header.cwd is not None:
            meta["cwd"] = parent.header.cwd
        child = self.prepare(child_session_id, meta=meta)
        parent._forked(child, boundary)
        return self._live(child)

    def _fork_source(self, source: Session | str) -> Session:
        if not isinstance(source, (Session, str)):
            raise SessionForkError("SESSION_NOT_FOUND", f"a fork's source is a session or an id, not {name_of(source)}")
        identity = source if isinstance(source, str) else source.id
        live = self.get(identity)
        if live is None:
            raise SessionForkError("SESSION_NOT_FOUND", f"there is no live session {identity!r}")
        if isinstance(source, Session) and live is not source:
            raise SessionForkError(
                "SESSION_NOT_LIVE", f"this is not the session {identity!r} that is live; get it from the store"
            )
        return live

    def _entry(self, session: Session) -> Entry:
        if not isinstance(session, Session):
            raise TypeError(f"a store takes sessions, not {type(session).__name__}; get(id) gives the live one")
        entry = self._state.entries.get(session.id)
        if entry is None or entry.session is not session:
            raise not_live(session)
        return entry

    def __repr__(self) -> str:
        """Say how many sessions are live."""
        return f"<SessionStore {len(self._state.entries)} live sessions>"

    def _repr_html_(self) -> str | None:
        return display.html(self)


class _Raised:
    """A failure that a flush listener raised at once."""

    def __init__(self, error: Exception) -> None:
        self.error = error


async def _first_failure(outcomes: "list[Any]") -> None:
    """Await what can be awaited, all of it, and raise the first failure in the order of the listeners."""
    import asyncio

    waiting = [asyncio.ensure_future(outcome) for outcome in outcomes if not isinstance(outcome, _Raised)]
    settled = iter(await asyncio.gather(*waiting, return_exceptions=True))
    for outcome in outcomes:
        failure = outcome.error if isinstance(outcome, _Raised) else next(settled)
        if isinstance(failure, BaseException):
            raise failure


def _is_taken(identity: Any, state: StoreState) -> bool:
    # What is no str cannot be taken, and perhaps not even be looked up; the session refuses it.
    return isinstance(identity, str) and identity in state.entries


def _header_fields(meta: Any) -> dict[str, Any]:
    if meta is None:
        return {}
    if not isinstance(meta, dict):
        raise HeaderError("HEADER_NOT_RECORD", f"meta must be an object, not {name_of(meta)}")
    return {key: meta[key] for key in _META if key in meta}


def _boundary(parent: Session, boundary: Any) -> int:
    events = parent.events
    if boundary is None:
        if not events:
            return -1
        boundary = len(events) - 1
    if not is_seq(boundary) or boundary >= len(events):
        raise SessionForkError(
            "INVALID_BOUNDARY",
            f"boundary {name_of(boundary)} is no seq of session {parent.id!r}, which has {len(events)} events",
        )
    at = int(boundary)
    if events[at].type != "turn/end":
        raise SessionForkError(
            "OPEN_TURN", f"event {at} of session {parent.id!r} is {events[at].type!r}; fork at a turn/end"
        )
    return at


def completed_prefix(events: "Iterable[SessionEvent | dict[str, Any]]") -> "list[Any]":
    """Clip a log to its last ``turn/end``, for callers that fork in mid-turn.

    Args:
        events: Events or wire dicts, in log order.

    Returns:
        The events up to and including the last ``turn/end``; empty when there is none.

    Example:
        >>> completed_prefix([{"type": "turn/end"}, {"type": "turn/start"}])
        [{'type': 'turn/end'}]
    """
    kept = list(events)
    while kept and kind_of(kept[-1]) != "turn/end":
        kept.pop()
    return kept
