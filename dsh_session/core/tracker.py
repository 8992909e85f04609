"""Following a log with a `TurnState`, and going on sensibly after an event that breaks a rule.

The invariants judge with it; the recorder numbers its turns and steps with it.
"""

from collections.abc import Callable, Sequence

from dsh_session.core.event import SessionEvent
from dsh_session.core.turns import TELLING, Fault, Place, TurnState, place_for

ReadAs = Callable[[SessionEvent, Sequence[SessionEvent]], str]
"""From an event and its log to the type to judge it by."""


class TurnTracker:
    """Follows a log, event by event.

    An event that breaks a rule may have happened as it says, or may be a stray. Both readings are
    kept until a later event that names a turn fits one of them only, so that one fault is not
    reported again with every event after it. Events that name none are judged by the likelier one.

    Attributes:
        state: Where the log stands.
    """

    def __init__(self, read_as: ReadAs | None = None) -> None:
        """Start before the first event.

        Args:
            read_as: Gives the type to judge an event of a log by, if that may differ from its own.
        """
        self._read_as = read_as
        self._restart()

    def _restart(self) -> None:
        self.state = TurnState()
        self._other: TurnState | None = None
        self._seen = 0
        self._busy = False

    def faults(self, kind: str, place: Place) -> list[Fault]:
        """Say which rules an event would break; nothing changes."""
        found = self.state.faults(kind, place)
        if found and self._other is not None and kind in TELLING:
            return min(self._other.faults(kind, place), found, key=len)
        return found

    def take(self, kind: str, place: Place) -> list[Fault]:
        """Take in one event and say which rules it broke."""
        found = self.state.faults(kind, place)
        if self._other is not None and kind in TELLING:
            found = self._decide(self._other, kind, place, found)
        if not found:
            self.state.advance(kind, place)
            if self._other is not None:
                self._other.advance(kind, place)
                if self._other == self.state:
                    self._other = None
            return found
        after = self.state.after_all(kind, place)
        if after is not self.state:
            likely, unlikely = (after, self.state) if self.state.believes(kind, place) else (self.state, after)
            # What fitted the log so far stays one of the two.
            self.state, self._other = likely, self._other or unlikely
        return found

    def _decide(self, other: TurnState, kind: str, place: Place, found: list[Fault]) -> list[Fault]:
        """Drop the reading that an event does not fit, if it fits the other one."""
        others = other.faults(kind, place)
        if found and not others:
            self.state, self._other = other, None
        elif others and not found:
            self._other = None
            return found
        return min(others, found, key=len)

    def catch_up(self, events: Sequence[SessionEvent]) -> TurnState:
        """Take in what a log has grown by since the last time; O(new events).

        Args:
            events: The whole log.

        Returns:
            Where it stands.
        """
        # Interrupted half-way last time: what was taken in is not known.
        if self._busy or len(events) < self._seen:
            self._restart()
        if len(events) > self._seen:
            self._busy = True
            for event in events[self._seen :]:
                self.take(*self.reading(event, events))
            self._seen = len(events)
            self._busy = False
        return self.state

    def reading(self, event: SessionEvent, log: Sequence[SessionEvent]) -> tuple[str, Place]:
        """Give the type to judge an event by, and where the event says it belongs."""
        kind = event.type if self._read_as is None else self._read_as(event, log)
        return kind, place_for(kind, event)
