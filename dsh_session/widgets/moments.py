"""A log at one moment after the other: what entered, what it shadowed, and the surface before and after."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dsh_session.core.event import SessionEvent
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.views import describe
from dsh_session.views.diagrams.moment import _event as as_event

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Moments", "Source", "Step"]

Source: TypeAlias = "Session | SurfaceHistory | Iterable[SessionEvent | dict[str, Any]]"
"""What a stepper takes."""


class Step(NamedTuple):
    """What one event did to the surface.

    Attributes:
        moment: The event's seq; -1 for the beginning.
        nodes: The surface after it, in model-visible order.
        at: The position in `nodes` at which it entered; -1 where it is log-only.
        shadowed: The nodes it took the place of, in surface order.
    """

    moment: int
    nodes: Sequence[int]
    at: int
    shadowed: Sequence[int]

    @property
    def before(self) -> int:
        """How many nodes the surface had before the event."""
        return len(self.nodes) - (self.at >= 0) + len(self.shadowed)

    def before_at(self, position: int) -> int:
        """Give the node at a position of the surface before the event."""
        beyond = position - self.at
        if self.at < 0 or beyond < 0:
            return self.nodes[position]
        if beyond < len(self.shadowed):
            return self.shadowed[beyond]
        return self.nodes[position - len(self.shadowed) + 1]

    def positions(self, start: int, end: int, rank: Any) -> tuple[int, int] | None:
        """Give the positions of two nodes on the surface, or None where one of them is not there."""
        found = []
        for seq in (start, end):
            at = bisect_left(self.nodes, rank(seq), key=rank)
            if at == len(self.nodes) or self.nodes[at] != seq:
                return None
            found.append(at)
        return found[0], found[1]


class Moments:
    """A log that is read moment by moment.

    Made of a session it follows it, as far as `take_in` was called. The latest step is kept, so that several
    questions about one moment cost one look at the history.

    Attributes:
        history: The `SurfaceHistory` that answers.
        session: The session that it is of, or None for bare events.

    Example:
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> event = session.append("user/message", said, surface_op="append")
        >>> moments = Moments(session)
        >>> moments.step(0), moments.sentence(0)
        (Step(moment=0, nodes=(0,), at=0, shadowed=()), 'user enters at the tail: the surface grows from 0 nodes to 1')
    """

    def __init__(self, source: Source) -> None:
        """Read a log.

        Raises:
            SurfaceError: For events that break a surface rule.
            TypeError: For what is no log at all.
        """
        if isinstance(source, str | bytes | Mapping) or not isinstance(source, Session | SurfaceHistory | Iterable):
            given = name_of(type(source).__name__)
            raise TypeError(f"give a Session, a SurfaceHistory, or events from seq 0 on, not {given}")
        self.history = source if isinstance(source, SurfaceHistory) else SurfaceHistory(source)
        self.session = source if isinstance(source, Session) else self.history._session
        self._made: dict[int, SessionEvent] = {}
        self._latest = Step(-1, (), -1, ())  # before the first event there is nothing
        self.length = 0
        self.take_in()

    @property
    def name(self) -> str:
        """The session's id; `session` for bare events."""
        return "session" if self.session is None else self.session.id

    def take_in(self) -> bool:
        """Take in what was appended since; say whether anything was."""
        length = len(self.history)
        grown = length != self.length
        self.length = length
        return grown

    def event(self, seq: int) -> SessionEvent:
        """Give an event; one that was handed over in its wire form is made into one."""
        event = self.history._events[seq]
        if isinstance(event, SessionEvent):
            return event
        if seq not in self._made:
            if len(self._made) >= 4096:
                self._made.clear()
            self._made[seq] = as_event(event)
        return self._made[seq]

    def type_of(self, seq: int) -> str:
        """Give an event's type, without making one of a wire form."""
        event = self.history._events[seq]
        return event.type if isinstance(event, SessionEvent) else str(event.get("type"))

    def is_node(self, seq: int) -> bool:
        """Tell whether an event was ever a node of the surface."""
        return self.event(seq).surface_op is not None

    def is_replacement(self, seq: int) -> bool:
        """Tell whether an event took the place of others."""
        return seq in self.history._replacements

    def behind(self, seq: int) -> Sequence[int]:
        """Give the nodes that an event took the place of; none for most events."""
        replacement = self.history._replacements.get(seq)
        return () if replacement is None else replacement.shadowed_seqs

    def left(self, seq: int) -> int | None:
        """Give the seq of the event that shadowed a node; None for one on the surface, or that never was there."""
        return self.history._shadowed_by.get(seq)

    def rank(self, seq: int) -> int:
        """Give a number that rises along the surface."""
        return self.history._links.rank(seq)

    def step(self, moment: int) -> Step:
        """Give what the event of a seq did.

        Args:
            moment: The seq; -1 for the beginning.

        Raises:
            SurfaceError: ``RANGE_NOT_FOUND`` for a moment that is not in the log.
        """
        if self._latest.moment == moment:
            return self._latest
        nodes = self._stepped(moment)
        at, shadowed = -1, self.behind(moment)
        if moment >= 0 and self.is_node(moment):
            at = bisect_left(nodes, self.rank(moment), key=self.rank)
        self._latest = Step(moment, nodes, at, shadowed)
        return self._latest

    def _stepped(self, moment: int) -> Sequence[int]:
        """The surface at a moment: one beside the latest is made from it, which costs no look at the forest."""
        latest = self._latest
        if moment == latest.moment + 1 < self.length:
            at = latest.nodes
            if not self.is_node(moment):
                return at
            behind = self.behind(moment)
            if not behind:
                return (*at, moment)
            start = bisect_left(at, self.rank(moment), key=self.rank)
            return (*at[:start], moment, *at[start + len(behind) :])
        if -1 <= moment == latest.moment - 1:
            if latest.at < 0:
                return latest.nodes
            return (*latest.nodes[: latest.at], *latest.shadowed, *latest.nodes[latest.at + 1 :])
        return self.history.at(moment)

    def sentence(self, moment: int) -> str:
        """Say in a line what the event of a seq did; no text of the log is in it.

        Example:
            >>> Moments([]).sentence(-1)
            'before the first event: the surface is empty'
        """
        if moment < 0:
            return "before the first event: the surface is empty"
        step = self.step(moment)
        kind = describe.kind(self.event(moment))
        before, after = step.before, len(step.nodes)
        if step.at < 0:
            return f"{kind}, log-only: the surface keeps its {plural(after, 'node')}"
        if not step.shadowed:
            return f"{kind} enters at the tail: the surface grows from {plural(before, 'node')} to {after:,}"
        places = f"{plural(len(step.shadowed), 'node')} ({step.shadowed[0]} … {step.shadowed[-1]})"
        if len(step.shadowed) == 1:
            places = f"node {step.shadowed[0]}"
        change = f"keeps its {plural(after, 'node')}"
        if after != before:
            change = f"shrinks from {plural(before, 'node')} to {after:,}"
        return f"{kind} takes the place of {places}: the surface {change}"


def plural(count: int, what: str) -> str:
    """A number and its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
