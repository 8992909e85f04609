"""One stay of a session in a store: what publishes its events, and how it leaves.

A session is live from `Entry.attach` to `Entry.detach`, and its appends go through `Entry.commit` meanwhile.
"""

from collections.abc import Callable
from itertools import count
from threading import Lock, RLock, get_ident

from dsh_session.core.bus import Bus, call_contained, call_uncontained, take_answer, warn
from dsh_session.core.errors import StoreError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import APPENDING, Clock, Session
from dsh_session.core.stack import is_running_here
from dsh_session.core.surface import Plan


class StoreState:
    """What the stores of one tree of contexts share."""

    def __init__(
        self, bus: Bus, *, clock: Clock | None, new_id: Callable[[], str] | None, check_payloads: bool
    ) -> None:
        """Take what the root context was given."""
        numbers = count(1)
        self.bus = bus
        self.clock = clock
        self.new_id = new_id or (lambda: f"session-{next(numbers)}")
        self.check_payloads = check_payloads
        self.entries: dict[str, Entry] = {}
        self.lock = RLock()  # held for moments only, never while a listener runs


class Entry:
    """One stay of a session in a store: from `enter` to its detach."""

    __slots__ = (
        "_bus",
        "_teller",
        "_telling",
        "announced",
        "detach_wanted",
        "owner",
        "scope",
        "session",
        "state",
    )

    def __init__(self, session: Session, state: StoreState, scope: object | None, owner: object) -> None:
        """Take the session, what it enters, the scope that hears it, and the store that it is entered through."""
        self.session = session
        self.state = state
        self.scope = scope
        self.owner = owner
        self.announced = False
        self.detach_wanted = False
        self._teller: int | None = None
        self._telling = Lock()
        self._bus = state.bus

    def attach(self) -> None:
        """Make the session live."""
        session, entries = self.session, self.state.entries
        if not isinstance(session, Session):
            raise TypeError(f"a store takes sessions, not {type(session).__name__}")
        with self.state.lock, session._state_lock:
            if session.id in entries:
                raise StoreError("SESSION_EXISTS", f"session {session.id!r} is live already; detach it first")
            if session._link is not None:
                raise StoreError(
                    "ALREADY_ATTACHED", f"session {session.id!r} is live in another store; detach it first"
                )
            session._link = self
            entries[session.id] = self

    def commit(self, event: SessionEvent, plan: Plan | None) -> None:
        """Check, write and publish one event; the session holds its append lock."""
        session, bus, scope = self.session, self._bus, self.scope
        checks, listeners = bus.audiences.get(scope) or bus.audience(scope)
        for check in checks:
            check(session, event)
        if plan is None:
            session._log.append(event)
        else:
            session._write(event, plan)
        # What `call_contained` does, for what happens most often.
        for _, listener, loop in listeners:
            try:
                answer = listener(session, event)
                if answer is not None:
                    take_answer(answer, loop, "session/event", session.id)
            except Exception as error:  # noqa: BLE001 (contained, whatever it is)
                warn(session.id, "session/event", error)

    def before_step(self) -> None:
        """Tell the listeners of ``session/pre-step``; no append is under way, so they may append to the session."""
        session, bus = self.session, self._bus
        listeners = bus.listeners("session/pre-step", self.scope)
        bus.run_checks("session/pre-step", session)
        call_contained(listeners, (session,), "session/pre-step", session.id)

    def announce(self) -> None:
        """Tell the listeners of ``session/created``, once."""
        try:
            self._announce()
        finally:
            self.settle()

    def _announce(self) -> None:
        session, bus = self.session, self._bus
        with self.state.lock:
            self._require_live()
            if self._teller is not None:
                raise StoreError("ALREADY_ANNOUNCED", f"session {session.id!r} was announced already")
            self._teller = get_ident()
        # Only the teller comes here, so that nobody waits for this lock.
        with self._telling:
            with self.state.lock:
                self._require_live()
                self.announced = True
            listeners = bus.listeners("session/created", self.scope)
            bus.run_checks("session/created", session)
            for listener in listeners:
                call_uncontained(listener, (session,), "session/created", session.id)

    def _is_announcing(self) -> bool:
        """Tell whether the announcement is under way: by the stack in its own thread, by its lock in any other."""
        if self._teller == get_ident():
            return is_running_here(_ANNOUNCING, self)
        return self._telling.locked()

    def _require_live(self) -> None:
        if self.session._link is not self:
            raise not_live(self.session)

    def detach(self) -> None:
        """Take the session out; while an append or the announcement is under way, once that is over."""
        if self._take_out() and self.announced:
            self._publish_disposal()

    def settle(self) -> None:
        """Take the session out if that was wanted during the dispatch that is now over."""
        if self.detach_wanted:
            self.detach()

    def _take_out(self) -> bool:
        session, entries = self.session, self.state.entries
        with self.state.lock:
            if session._link is not self:
                return False
            # Wished for before looking: whoever ends a dispatch sees the wish, or this sees the end.
            self.detach_wanted = True
            if not session._append_lock.acquire(blocking=False):
                return False
            try:
                if is_running_here(APPENDING, session) or self._is_announcing():
                    return False
                if entries.get(session.id) is self:
                    del entries[session.id]
                session._link = None
                return True
            finally:
                session._append_lock.release()

    def _publish_disposal(self) -> None:
        bus, session = self._bus, self.session
        try:
            bus.run_checks("session/disposed", session)
        except Exception as error:  # noqa: BLE001 (nothing stops a disposal)
            warn(session.id, "session/disposed", error)
            return
        call_contained(bus.listeners("session/disposed", self.scope), (session,), "session/disposed", session.id)


_ANNOUNCING = Entry._announce.__code__


def not_live(session: Session) -> StoreError:
    """Give the refusal of what takes a live session."""
    return StoreError("NOT_LIVE", f"session {session.id!r} is not live in this store; enter it first")
