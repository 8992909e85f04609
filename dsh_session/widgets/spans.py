"""Turns and steps as stretches of the log, found by the types of their boundaries alone."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from dsh_session.core.event import peek
from dsh_session.views.payload import field, words

if TYPE_CHECKING:
    from dsh_session.core.event import SessionEvent
    from dsh_session.widgets.moments import Moments

__all__ = ["Span", "Spans"]


class Span(NamedTuple):
    """A turn or a step.

    Attributes:
        start: The seq of its first event.
        stop: The seq of its last event; None while it is open.
    """

    start: int
    stop: int | None


class Spans:
    """The turns and the steps of a log, as it says them itself.

    A start closes what a crash left open before it, an end without a start is no span: any log has spans.

    Attributes:
        turns: The turns in log order; they never overlap.
        steps: The steps likewise.

    Example:
        >>> from dsh_session import Session
        >>> from dsh_session.widgets.moments import Moments
        >>> session = Session("tour")
        >>> trigger = {"kind": "message", "source": {"kind": "user"}}
        >>> event = session.append("turn/start", {"turn": 1, "trigger": trigger})
        >>> spans = Spans(Moments(session))
        >>> spans.turns, spans.name(spans.turns[0])
        ([Span(start=0, stop=None)], 'turn 1')
    """

    def __init__(self, moments: Moments) -> None:
        """Read the boundaries of a log."""
        self._moments = moments
        self._read = 0
        self.turns: list[Span] = []
        self.steps: list[Span] = []
        self.take_in()

    def take_in(self) -> None:
        """Read the boundaries of what was appended since."""
        moments = self._moments
        for seq in range(self._read, moments.length):
            kind = moments.type_of(seq)
            if kind == "turn/start":
                self._close(self.steps, seq - 1)
                self._close(self.turns, seq - 1)
                self.turns.append(Span(seq, None))
            elif kind == "turn/end":
                self._close(self.steps, seq - 1)
                self._close(self.turns, seq)
            elif kind == "step/start":
                self._close(self.steps, seq - 1)
                self.steps.append(Span(seq, None))
            elif kind == "step/end":
                self._close(self.steps, seq)
        self._read = moments.length

    @staticmethod
    def _close(spans: list[Span], stop: int) -> None:
        if spans and spans[-1].stop is None:
            spans[-1] = Span(spans[-1].start, stop)

    def within(self, spans: list[Span], start: int, stop: int) -> list[Span]:
        """Give the spans of which a part lies between two seqs, the second one not included."""
        first = bisect_left(spans, start, key=lambda span: self._moments.length if span.stop is None else span.stop)
        last = bisect_left(spans, stop, lo=first, key=lambda span: span.start)
        return spans[first:last]

    def name(self, span: Span) -> str:
        """What a span calls itself, with its end where that is not the usual one."""
        moments = self._moments
        event = moments.event(span.start)
        what = "turn" if event.type == "turn/start" else "step"
        name = f"{what} {words(field(peek(event), what), 20) or '?'}"
        return f"{name}{self._outcome(moments.event(span.stop)) if span.stop is not None else ''}"

    @staticmethod
    def _outcome(event: SessionEvent) -> str:
        if event.type != "turn/end":
            return ""
        reason = words(field(peek(event), "reason"), 20)
        return "" if reason in {"", "completed"} else f" · {reason}"
