"""Following a session's surface, event by event, at the cost of what is new."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.surface import Links, Plan

NOWHERE = -1
"""The neighbour of a node that has none on that side."""


class Follower(ABC):
    """Keeps something up to date that follows from the surface operations of one log.

    A subclass starts anew in `restart` and takes in one event in `take`. The links here are those
    of the core, moved by the core's own transition.

    Attributes:
        needs_surface: Whether the links are kept at all.
        links: The surface after the events that were taken in.
        seen: How many those are.
        lock: Held while it changes; whoever reads several parts that belong together holds it too.
    """

    needs_surface = True

    def __init__(self) -> None:
        """Start before the first event."""
        self.lock = RLock()
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        self.links = Links()
        self.seen = 0
        self._busy = False

    def follow(self, session: Session) -> None:
        """Take in what the session's log has grown by; O(new events)."""
        with self.lock:
            # A catch-up that was interrupted half-way left nobody knows what.
            if self._busy:
                self.restart()
            events = session.events
            if len(events) > self.seen:
                self._busy = True
                for event in events[self.seen :]:
                    self.advance(event)
                self.settle()
                self._busy = False

    def advance(self, event: SessionEvent) -> None:
        """Take in the next event of the log, which was accepted there."""
        op = event.surface_op
        if op is None or not self.needs_surface:
            self.take(event, None)
        else:
            plan = self.links.replayed(event.seq, op)
            self.take(event, plan)
            self.links.apply(plan)
        self.seen += 1

    @abstractmethod
    def take(self, event: SessionEvent, plan: Plan | None) -> None:
        """Note one event and what it is about to do to the links, if anything."""

    def settle(self) -> None:  # noqa: B027 (most have nothing that is cheaper done once)
        """Do what is cheaper once than after every event."""


F = TypeVar("F", bound=Follower)


class Followed(Generic[F]):
    """One follower for each session that was asked about, for as long as the session lives."""

    def __init__(self, make: Callable[[], F]) -> None:
        """Take what makes a new one."""
        self._make = make
        self._known: WeakKeyDictionary[Session, F] = WeakKeyDictionary()
        self._lock = RLock()

    def of(self, session: Session) -> F:
        """Give a session's follower, up to date."""
        with self._lock:
            follower = self._known.get(session)
            if follower is None:
                follower = self._known[session] = self._make()
        follower.follow(session)
        return follower

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what is remembered; another process has other sessions."""
        return (type(self), (self._make,))
