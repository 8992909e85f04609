"""Hearing of what happens in a store, and telling a widget so seldom enough.

Ten thousand appends in one cell are a handful of refreshes: the first is at once, then at most one in `PAUSE`, and one
after the last. The notes come from the store's own listeners, so nothing polls.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from dsh_session.core.bus import running_loop
from dsh_session.core.context import Context
from dsh_session.core.errors import ContextError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore, store_of

PAUSE = 0.1
"""The least time between two refreshes, in seconds."""


class Batch:
    """Calls a function for many notes at once.

    Where an event loop runs, as in a notebook, a note calls at once if the last call is `PAUSE` ago, else one call is
    planned. A note from another thread is always handed to the loop. Without a loop every note calls.

    Attributes:
        calls: How often it has called.
    """

    def __init__(self, act: Callable[[], Any], *, pause: float = PAUSE) -> None:
        """Take the function, and the least time between two calls in seconds."""
        self.calls = 0
        self._pause = pause
        self._act = act
        self._loop = running_loop()
        self._thread = threading.get_ident()
        self._planned: Any = None
        self._is_planned = False
        self._last = float("-inf")
        self._is_closed = False

    def note(self, *_: Any) -> None:
        """Say that there is something new."""
        if self._is_closed or self._is_planned:
            return
        if self._loop is None or self._loop.is_closed():
            self._call()
        elif threading.get_ident() != self._thread:
            self._is_planned = True
            self._loop.call_soon_threadsafe(self._plan)
        elif time.monotonic() - self._last >= self._pause:
            self._call()
        else:
            self._plan()

    def _plan(self) -> None:
        self._is_planned = True
        self._planned = self._loop.call_later(self._pause, self._call)

    def _call(self) -> None:
        self._is_planned, self._planned = False, None
        if self._is_closed:
            return
        self.calls += 1
        try:
            self._act()
        finally:
            self._last = time.monotonic()

    def flush(self) -> None:
        """Call now, if a call is planned: somebody is about to look."""
        if self._is_planned:
            if self._planned is not None:
                self._planned.cancel()
            self._call()

    def close(self) -> None:
        """Call no more."""
        self._is_closed = True
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None


class Watch:
    """What a widget hears of a store, until it is closed.

    Attributes:
        store: The store.
    """

    def __init__(
        self,
        store: SessionStore,
        *,
        event: Callable[[Session, SessionEvent], Any] | None = None,
        sessions: Callable[[], Any] | None = None,
    ) -> None:
        """Listen.

        Args:
            store: Where to listen; sessions of every scope are heard.
            event: Called with each append, in the middle of it.
            sessions: Called when a session has come or gone.
        """
        self.store = store
        # What is told is let go of when this is closed; who once heard this may be remembered a little longer.
        self._told: tuple[Callable[[Session, SessionEvent], Any] | None, Callable[[], Any] | None] = (event, sessions)
        # A context of its own, so that all ends with it, and with the one that owns the store.
        self._context: Context | None = store.context.child()
        if event is not None:
            self._context.on("session/event", self._on_event, global_=True)
        if sessions is not None:
            self._context.on("session/created", self._on_sessions, global_=True)
            self._context.on("session/disposed", self._on_sessions, global_=True)
            # Where the store's own context closes, this is heard first, and no disposal after it.
            self._context.effect(self._on_sessions)

    def _on_event(self, session: Session, event: SessionEvent) -> None:
        told = self._told[0]
        if told is not None:
            told(session, event)

    def _on_sessions(self, _session: Session | None = None) -> None:
        told = self._told[1]
        if told is not None:
            told()

    def close(self) -> None:
        """Stop listening."""
        self._told = (None, None)
        context, self._context = self._context, None
        if context is not None:
            context.close()


def follow(session: Session, act: Callable[[], Any]) -> tuple[Batch, Callable[[], None]]:
    """Call a function, in batches, whenever a live session has grown.

    Args:
        session: A session; one that is not live is not heard of.
        act: Called without arguments.

    Returns:
        The batch, and a function that ends it.
    """
    batch = Batch(act)
    store = store_of(session)
    if store is None:
        return batch, batch.close

    def heard(of: Session, _event: SessionEvent) -> None:
        if of is session:
            batch.note()

    try:
        watch = Watch(store, event=heard)
    except ContextError:  # its context is closing
        return batch, batch.close

    def end() -> None:
        watch.close()
        batch.close()

    return batch, end
