"""Writing behind: live sessions on their way to a backend.

The log in memory is the buffer. What a stay remembers is how much of it is durable; whatever goes
wrong while writing, the rest is still there and the next drain writes it.
"""

from collections.abc import Callable
from threading import RLock
from typing import Final
from weakref import WeakSet

from dsh_session.core.context import Context
from dsh_session.core.errors import PersistenceError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.persistence.protocol import SessionPersistence

WRITE_AT: Final = 64 * 1024
"""How many bytes of an open turn may wait in memory alone."""

SYNC_AT: Final = 256 * 1024
"""How many bytes may wait to become durable where nobody flushes."""


class Stay:
    """One session on its way to a backend.

    Attributes:
        session: The session.
        durable: How many of its events are durable.
        unwritten: How many bytes of it were not even handed to the operating system.
    """

    def __init__(self, backend: SessionPersistence, session: Session, *, floor: int) -> None:
        """Take the backend, the session, and how many events it must have before it is stored."""
        self.session = session
        self.durable = 0
        self._backend = backend
        self._floor = floor
        self._stored = False
        self._settled = False
        self._lock = RLock()
        self.unwritten = 0
        self._unsynced = 0

    def adopt(self) -> None:
        """Go on with what is stored under the session's id, if anything is; a second call does nothing.

        Raises:
            PersistenceError: ``SESSION_STORED`` when that is another log.
        """
        session, backend = self.session, self._backend
        if self._stored:
            return
        try:
            stored = backend.claim(session.id, cwd=session.header.cwd)
        except PersistenceError as error:
            if error.code == "SESSION_NOT_STORED":
                return
            raise
        if not _begins_with(session, stored):
            backend.release(session.id)
            raise PersistenceError(
                "SESSION_STORED",
                f"another log is stored under the id {session.id!r}"
                f" ({backend.locate(session.id, session.header.cwd)}); resume(ctx, {session.id!r}) goes on with it,"
                " or choose another id (Context(new_id=…) gives unique ones)",
            )
        self._stored, self.durable = True, stored.seq

    def take_over(self, durable: int) -> None:
        """Go on with a log that is claimed, repaired and durable already."""
        self._stored, self._settled, self.durable = True, True, durable

    def hand_over(self) -> None:
        """Give what was appended to the operating system; where much has come together, make it durable."""
        # A flush in another thread writes it as well, and an append does not wait for that.
        if self._lock.acquire(False):
            try:
                self._unsynced += self.unwritten
                self.unwritten = 0
                self._drain(self._unsynced >= SYNC_AT)
            finally:
                self._lock.release()

    def drain(self) -> None:
        """Write what is not durable yet, and return when it is.

        Raises:
            Exception: What went wrong; nothing is lost, and the next call writes it.
        """
        with self._lock:
            self._drain(True)

    def _drain(self, sync: bool) -> None:  # noqa: FBT001 (on the way of every turn)
        log, durable = self.session._log, self.durable
        if self._settled and durable == len(log):
            return
        if not self._stored and len(log) <= self._floor:
            return
        try:
            if not self._stored:
                durable = self._store()
            # A slice of the log itself: it is as fixed as a view's, and this is done for every turn.
            self.durable = self._backend.append(self.session._id, log[durable:], sync=sync)
        except Exception as error:
            durable = self.durable if self._settled else 0  # a name that is not durable keeps no events
            waiting = f"{len(log) - durable} events from seq {durable} on"
            error.add_note(
                f"session {self.session.id!r}: {waiting} are not durable."
                " They are kept in memory, and the next flush writes them."
            )
            raise
        self.unwritten = 0
        if sync:
            self._settled, self._unsynced = True, 0

    def _store(self) -> int:
        """Make the backend hold the session, and give how many of its events are durable."""
        session, backend = self.session, self._backend
        try:
            self.durable = backend.create(session.header, session.events, line=session._header_line)
        except PersistenceError as error:
            if error.code != "SESSION_STORED":
                raise
            # Perhaps by ourselves, a moment before something failed.
            self.adopt()
            if not self._stored:
                raise
        self._stored = True
        return self.durable

    def release(self) -> None:
        """Let the session go."""
        if self._stored:
            self._backend.release(self.session.id)


def _begins_with(session: Session, stored: Session) -> bool:
    """Tell whether a stored log is the beginning of a session's."""
    if session.header != stored.header or stored.seq > session.seq:
        return False
    return all(mine._line == theirs._line for mine, theirs in zip(session.events, stored.events, strict=False))


class WriteBehind:
    """Keeps the sessions of a context in a backend, as long as the context is open."""

    def __init__(self, backend: SessionPersistence, ctx: Context) -> None:
        """Plug in, and pick up the sessions that are live."""
        self.backend = backend
        self._ctx = ctx
        self._stays: dict[Session, Stay] = {}
        self._lock = RLock()
        # Undone last: listeners go first, then everything is drained.
        ctx.effect(self._close)
        ctx.on("session/created", self._on_created)
        ctx.on("session/event", self._event_listener())
        ctx.on("session/flush", self._on_flush)
        ctx.on("session/disposed", self._on_disposed)
        for entry in list(ctx._state.entries.values()):
            if ctx._scope is None or ctx._scope is entry.scope:
                # What a fork inherited is its parent's; everything else was appended.
                self._attach(entry.session, floor=entry.session.header.seed_length or 0).adopt()

    def stay(self, session: Session) -> Stay | None:
        """Give a session's stay, or None."""
        return self._stays.get(session)

    def add(self, session: Session) -> Stay:
        """Keep a session that the backend holds claimed already."""
        stay = self._stays[session] = Stay(self.backend, session, floor=0)
        stay.take_over(session.seq)
        return stay

    def forget(self, session: Session) -> None:
        """Let a session go without writing."""
        stay = self._stays.pop(session, None)
        if stay is not None:
            stay.release()

    def _attach(self, session: Session, *, floor: int) -> Stay:
        with self._lock:
            stay = self._stays.get(session)
            if stay is None:
                # What is left of a session that had the same id, and left unannounced, goes first.
                for former in [other for other in self._stays if other.id == session.id and other._link is None]:
                    self._end(former)
                stay = self._stays[session] = Stay(self.backend, session, floor=floor)
            return stay

    def _on_created(self, session: Session) -> None:
        stay = self._attach(session, floor=session.seq)
        try:
            # Looked at now: a session that cannot be kept is better refused than lost later.
            stay.adopt()
        except BaseException:
            self._stays.pop(session, None)
            raise

    def _event_listener(self) -> Callable[[Session, SessionEvent], None]:
        stay_of, attach = self._stays.get, self._attach

        def on_event(session: Session, event: SessionEvent) -> None:  # for every event: no attribute is looked up twice
            stay = stay_of(session)
            if stay is None:
                stay = attach(session, floor=event.seq)
            stay.unwritten = waiting = stay.unwritten + len(event._line)
            if waiting >= WRITE_AT or event.type == "turn/end":
                stay.hand_over()

        return on_event

    def _on_flush(self, session: Session) -> None:
        stay = self._stays.get(session)
        if stay is None:
            stay = self._attach(session, floor=session.seq)
        stay.drain()

    def _on_disposed(self, session: Session) -> None:
        # Where this fails the stay remains, and the close tries again.
        self._end(session)

    def _end(self, session: Session) -> None:
        stay = self._stays.get(session)
        if stay is not None:
            stay.drain()
            self._stays.pop(session, None)
            stay.release()

    def _close(self) -> None:
        failures: list[BaseException] = []
        for session in list(self._stays):
            try:
                self._end(session)
            except BaseException as error:  # noqa: BLE001 (the others are written all the same)
                failures.append(error)
                self.forget(session)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise BaseExceptionGroup("several sessions could not be written as the context closed", failures)


def plugged_into(ctx: Context) -> list[WriteBehind]:
    """Give what keeps the sessions that a context makes, in the order in which it was plugged in."""
    heard = ctx._state.bus.listeners("session/flush", ctx._scope)
    owners = [getattr(registration.listener, "__self__", None) for registration in heard]
    return [owner for owner in owners if isinstance(owner, WriteBehind)]


class PersistencePlugin:
    """Makes a backend a plugin of contexts: derive from it and speak `SessionPersistence`.

    ``ctx.plugin(backend)`` keeps every session of `ctx` in the backend from then on, those included that are
    live already. Each completed turn is handed to the operating system as it ends; ``session/flush`` returns when
    everything is durable; so does closing the context. Nothing is stored of a session before its
    first append.
    """

    def __call__(self: SessionPersistence, ctx: Context) -> None:
        """Plug in; `dsh_session.Context.plugin` calls it."""
        plugged = self.__dict__.setdefault("_plugged_in", WeakSet())
        plugged.add(WriteBehind(self, ctx))

    def save(self: SessionPersistence, session: Session) -> None:
        """Store a session, live or not, and return when it is durable.

        Args:
            session: One whose stored log, if there is one, is the beginning of its own; an empty one too.

        Raises:
            PersistenceError: ``SESSION_STORED`` when another log is stored under its id, ``SESSION_LOCKED``.
            OSError: When it cannot be written.
        """
        for behind in self.__dict__.get("_plugged_in", ()):
            stay = behind.stay(session)
            if stay is not None:
                stay.drain()
                return
        stay = Stay(self, session, floor=-1)
        stay.adopt()
        try:
            stay.drain()
        finally:
            stay.release()
