"""How a log nests: turns, the steps in them, and what lies in neither, from one pass over the boundaries.

A frame is what lies between two boundary events, whatever the events in it say about themselves: in a log that
breaks a rule that is what a reader wants to see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.core.event import peek
from dsh_session.views.payload import field as value_of
from dsh_session.views.payload import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsh_session.core.event import SessionEvent

__all__ = ["STATES", "State", "Step", "Turn", "nest"]


class State(NamedTuple):
    """How a turn of one outcome is drawn.

    Attributes:
        mark: A sign before the word.
        style: The style of its outline.
        penwidth: How thick that is.
        colour: Its colour, by its name in the theme.
        classes: What it is, for style sheets.
        key: The name of its entry in the legend.
    """

    mark: str
    style: str
    penwidth: str
    colour: str
    classes: str
    key: str


STATES: Final = {
    "completed": State("", "rounded", "1.4", "border", "t-completed", "turn-completed"),
    "open": State("…", "rounded,dashed", "1.6", "selection", "t-open", "turn-open"),
    "never ended": State("…", "rounded,dashed", "1.6", "selection", "t-open", "turn-open"),
    "aborted": State("×", "dashed", "2.6", "error_text", "t-bad", "turn-aborted"),
    "disposed": State("×", "dashed", "2.6", "error_text", "t-bad", "turn-aborted"),
    "interrupted": State("!", "dotted", "2.6", "error_text", "t-bad", "turn-interrupted"),
    "error": State("!!", "solid", "2.6", "error_text", "t-bad", "turn-error"),
    "rejected": State("–", "dashed", "1.2", "border_shadowed", "t-quiet", "turn-rejected"),
    "max-tokens": State("!", "solid", "2.6", "border", "t-completed", "turn-limit"),
}
"""The outcomes that a turn may have; another one is drawn as `OTHER`, with its name."""

OTHER: Final = State("?", "solid", "1.4", "border", "t-completed", "turn-other")


@dataclass(slots=True)
class Step:
    """A step: from its `step/start` to its `step/end`.

    Attributes:
        start: The seq of its beginning.
        stop: The seq of its last event.
        number: What the beginning calls it.
        closed: Whether it has an end of its own.
        seqs: The events in it, boundaries aside.
    """

    start: int
    stop: int
    number: str
    closed: bool = False
    seqs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """A turn: from its `turn/start` to its `turn/end`.

    Attributes:
        start: The seq of its beginning.
        stop: The seq of its last event.
        number: What the beginning calls it.
        outcome: The kind of its end reason, one line; `open` without an end, `never ended` where another turn began.
        why: What the end reason says besides, one line.
        parts: Steps, and seqs of what lies beside them, in log order.
    """

    start: int
    stop: int
    number: str
    outcome: str = "open"
    why: str = ""
    parts: list[Step | int] = field(default_factory=list)

    @property
    def state(self) -> State:
        """How it is drawn."""
        return STATES.get(self.outcome, OTHER)

    @property
    def steps(self) -> list[Step]:
        """Its steps."""
        return [part for part in self.parts if isinstance(part, Step)]


def nest(events: Iterable[SessionEvent]) -> list[Turn | int]:
    """Find the turns and steps of a log.

    Args:
        events: The events from seq 0 on.

    Returns:
        Turns, and the seqs of what lies outside any, in log order; every event is in one of them, or is a boundary.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("tour")
        >>> with Recorder(session).turn("Hello") as turn:
        ...     with turn.step() as step:
        ...         step.assistant("Hello!")
        <SessionEvent 3 assistant/message>
        >>> [(turn.number, turn.outcome, turn.parts) for turn in nest(session.events)]
        [('1', 'completed', [1, Step(start=2, stop=4, number='1', closed=True, seqs=[3])])]
    """
    result: list[Turn | int] = []
    turn: Turn | None = None
    step: Step | None = None
    for seq, event in enumerate(events):
        kind = event.type
        if kind == "turn/start":
            if turn is not None:
                turn.outcome = "never ended"
            turn, step = Turn(seq, seq, _number(event, "turn")), None
            result.append(turn)
            continue
        if turn is None:
            result.append(seq)
            continue
        turn.stop = seq
        if kind == "turn/end":
            reason = value_of(peek(event), "reason")
            turn.outcome = words(reason, 40) or "ended"
            turn.why = words(value_of(reason, "message"), 300) or words(value_of(reason, "reason"), 300)
            turn = step = None
        elif kind == "step/start":
            step = Step(seq, seq, _number(event, "step"))
            turn.parts.append(step)
        elif step is None:
            turn.parts.append(seq)
        elif kind == "step/end":
            step.stop, step.closed, step = seq, True, None
        else:
            step.stop = seq
            step.seqs.append(seq)
    return result


def _number(event: SessionEvent, name: str) -> str:
    return words(value_of(peek(event), name), 12) or "?"
