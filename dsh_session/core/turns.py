"""Where a log stands: which turn and step are open, which calls wait for a result.

`TurnState` says what the next event may be there, and what it changes.
"""

from typing import Any, NamedTuple

import msgspec

from dsh_session.core.event import SessionEvent
from dsh_session.core.lossless import MAX_SAFE_INTEGER, decode
from dsh_session.core.shapes import name_of

INTERRUPTED = "interrupted"
"""The error code of a synthetic tool result, which needs no recorded call."""

_PLACED = frozenset({"assistant/chunk", "assistant/message", "tool/call", "tool/result"})
TELLING = _PLACED | {"turn/start", "turn/end", "step/start", "step/end"}
"""The event types whose payload names a turn, and that belong into it."""


class Fault(NamedTuple):
    """A broken rule: its short name, the value it asks for, the value found, and the text for a person."""

    rule: str
    expected: Any
    actual: Any
    message: str


class Place(NamedTuple):
    """What an event says about where it belongs; values as they stand in the payload, None where absent."""

    seq: Any
    turn: Any
    step: Any
    call: Any
    synthetic: bool


class _Data(msgspec.Struct, gc=False):
    turn: Any = None
    step: Any = None
    callId: Any = None  # noqa: N815 (a wire name)
    isError: Any = None  # noqa: N815 (a wire name)
    error: Any = None


class _Line(msgspec.Struct, gc=False):
    data: _Data


_read_line = msgspec.json.Decoder(_Line).decode


def place_of(event: SessionEvent | dict[str, Any]) -> Place:
    """Read where an event says it belongs, without decoding the rest of it."""
    if isinstance(event, SessionEvent):
        try:
            told = _read_line(event._line).data
        except (msgspec.MsgspecError, RecursionError):
            data = decode(event._line)["data"]
        else:
            return Place(
                event.seq, told.turn, told.step, told.callId, told.isError is True and _is_interrupted(told.error)
            )
        seq: Any = event.seq
    else:
        seq, data = event.get("seq"), event.get("data")
    if not isinstance(data, dict):
        return Place(seq, None, None, None, synthetic=False)
    synthetic = data.get("isError") is True and _is_interrupted(data.get("error"))
    return Place(seq, data.get("turn"), data.get("step"), data.get("callId"), synthetic)


_NOWHERE = Place(None, None, None, None, synthetic=False)


def place_for(kind: str, event: SessionEvent | dict[str, Any]) -> Place:
    """Read where an event says it belongs, if its type says so at all."""
    return place_of(event) if kind in TELLING else _NOWHERE


def _is_interrupted(error: Any) -> bool:
    return isinstance(error, dict) and error.get("code") == INTERRUPTED


def whole(value: Any) -> int | None:
    """Give a number as the integer it is, an integral float included; None for anything else."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and abs(value) <= MAX_SAFE_INTEGER else None


class TurnState:
    """The open turn and step, the numbers that came last, and the calls without a result.

    Attributes:
        turn: The open turn's number, or None.
        step: The open step's number, or None.
        last_turn: The number of the latest turn, open or not; 0 before the first.
        last_step: The number of that turn's latest step; 0 before the first.
        calls: By id, the seq of each ``tool/call`` of the open step that has no result yet.
    """

    __slots__ = ("calls", "last_step", "last_turn", "step", "turn")

    def __init__(
        self, turn: int | None = None, step: int | None = None, last_turn: int = 0, last_step: int = 0
    ) -> None:
        """Start before the first turn, or at a place; no call is pending there."""
        self.turn = turn
        self.step = step
        self.last_turn = last_turn
        self.last_step = last_step
        self.calls: dict[str, Any] = {}

    def faults(self, kind: str, place: Place) -> list[Fault]:
        """Say which rules an event would break here; see `dsh_session.check_invariants` for the rules."""
        if kind == "turn/start":
            return self._faults_of_turn_start(place)
        if kind == "turn/end":
            return self._faults_of_turn_end(place)
        if kind == "step/start":
            return self._faults_of_step_start(place)
        if kind == "step/end":
            fault = self._misplaced("step-end", kind, place)
            return [] if fault is None else [fault]
        if kind in _PLACED:
            fault = self._misplaced("step", kind, place)
            if fault is None and kind == "tool/result":
                fault = self._unasked(place)
            return [] if fault is None else [fault]
        if self.turn is None:
            text = f"{kind!r} stands outside any turn; append it between a turn/start and its turn/end"
            return [Fault("enclosure", "an open turn", None, text)]
        return []

    def advance(self, kind: str, place: Place) -> None:
        """Take in an event that breaks no rule here."""
        if kind == "turn/start":
            self.turn = self.last_turn = self.last_turn + 1
            self.last_step = 0
        elif kind == "turn/end":
            self.turn = None
        elif kind == "step/start":
            self.step = self.last_step = self.last_step + 1
        elif kind == "step/end":
            self.step = None
            self.calls.clear()
        elif isinstance(place.call, str):
            if kind == "tool/call":
                self.calls[place.call] = place.seq
            elif kind == "tool/result":
                self.calls.pop(place.call, None)

    def after_all(self, kind: str, place: Place) -> "TurnState":
        """Give where the log stands if an event that breaks a rule here is taken at its word.

        Returns:
            A new state, or this one when the event says nothing about where the log stands.
        """
        if kind in ("turn/start", "turn/end"):
            return self._after_turn_boundary(kind, place)
        if self.turn is not None and kind in ("step/start", "step/end"):
            return self._after_step_boundary(kind, place)
        return self._after_a_missing_start(kind, place)

    def believes(self, kind: str, place: Place) -> bool:
        """Tell whether an event that breaks a rule here happened as it says, rather than being a stray."""
        turn = whole(place.turn)
        if kind == "turn/start":
            return self.turn is None or turn == self.last_turn + 1
        return kind != "turn/end" or self.turn is None or turn == self.turn

    def _after_turn_boundary(self, kind: str, place: Place) -> "TurnState":
        turn = whole(place.turn)
        if kind == "turn/start":
            number = turn if turn is not None and turn > 0 else self.last_turn + 1
            return TurnState(number, None, number, 0)
        if self.turn is not None:
            return TurnState(None, None, self.last_turn, self.last_step)
        return TurnState(None, None, turn, 0) if turn == self.last_turn + 1 else self

    def _after_step_boundary(self, kind: str, place: Place) -> "TurnState":
        step = whole(place.step)
        if kind == "step/start":
            number = step if step is not None and step > 0 else self.last_step + 1
            return TurnState(self.turn, number, self.last_turn, number)
        last = step if step is not None and step == self.last_step + 1 else self.last_step
        if self.step is None and last == self.last_step:
            return self
        return TurnState(self.turn, None, self.last_turn, last)

    def _after_a_missing_start(self, kind: str, place: Place) -> "TurnState":
        """Open the turn and step that an event names, if they are the ones that come next."""
        turn, step = whole(place.turn), whole(place.step)
        if turn is None or step is None or self.step is not None:
            return self
        begins_turn = self.turn is None and turn == self.last_turn + 1 and step == 1
        if begins_turn or (turn == self.turn and step == self.last_step + 1):
            after = TurnState(turn, step if kind != "step/end" else None, turn, step)
            if kind == "tool/call":
                after.advance(kind, place)
            return after
        return self

    def __eq__(self, other: object) -> bool:
        """Compare by value."""
        return isinstance(other, TurnState) and (
            (self.turn, self.step, self.last_turn, self.last_step)
            == (other.turn, other.step, other.last_turn, other.last_step)
            and self.calls == other.calls
        )

    __hash__ = None  # type: ignore[assignment]  # it changes

    def _faults_of_turn_start(self, place: Place) -> list[Fault]:
        found = []
        if self.turn is not None:
            text = f"a turn/start while turn {self.turn} is open; append its turn/end first"
            found.append(Fault("turn-nesting", None, self.turn, text))
        following = self.last_turn + 1
        if whole(place.turn) != following:
            text = f"a turn/start of turn {_shown(place.turn)} where turn {following} comes next"
            found.append(Fault("turn-number", following, place.turn, text))
        return found

    def _faults_of_turn_end(self, place: Place) -> list[Fault]:
        found = []
        if self.turn is None:
            text = f"a turn/end of turn {_shown(place.turn)} while no turn is open"
            found.append(Fault("turn-end", None, place.turn, text))
        elif whole(place.turn) != self.turn:
            text = f"a turn/end of turn {_shown(place.turn)} while turn {self.turn} is open"
            found.append(Fault("turn-end", self.turn, place.turn, text))
        if self.step is not None:
            text = f"a turn/end while step {self.step} is open; append its step/end first"
            found.append(Fault("step-left-open", None, self.step, text))
        return found

    def _faults_of_step_start(self, place: Place) -> list[Fault]:
        fault = self._elsewhere("step/start", place)
        if fault is not None:
            return [fault]
        found = []
        if self.step is not None:
            text = f"a step/start while step {self.step} of turn {self.turn} is open; append its step/end first"
            found.append(Fault("step-nesting", None, self.step, text))
        following = self.last_step + 1
        if whole(place.step) != following:
            text = f"a step/start of step {_shown(place.step)} where step {following} of turn {self.turn} comes next"
            found.append(Fault("step-number", following, place.step, text))
        return found

    def _elsewhere(self, kind: str, place: Place) -> Fault | None:
        if self.turn is not None and whole(place.turn) == self.turn:
            return None
        now = "no turn" if self.turn is None else f"turn {self.turn}"
        text = f"{kind!r} names turn {_shown(place.turn)} while {now} is open"
        return Fault("turn", self.turn, place.turn, text)

    def _misplaced(self, rule: str, kind: str, place: Place) -> Fault | None:
        fault = self._elsewhere(kind, place)
        if fault is None and (self.step is None or whole(place.step) != self.step):
            now = "no step" if self.step is None else f"step {self.step}"
            text = f"{kind!r} names step {_shown(place.step)} while {now} of turn {self.turn} is open"
            fault = Fault(rule, self.step, place.step, text)
        return fault

    def _unasked(self, place: Place) -> Fault | None:
        if place.synthetic or (isinstance(place.call, str) and place.call in self.calls):
            return None
        waiting = list(self.calls)
        listed = ", ".join(map(name_of, waiting[:5])) or "none"
        text = (
            f"a tool/result for call {_shown(place.call)}, which waits for no result in step {self.step} "
            f"of turn {self.turn} (waiting: {listed}{', …' if len(waiting) > 5 else ''})"
        )
        return Fault("result", waiting, place.call, text)


def _shown(value: Any) -> str:
    return "?" if value is None else name_of(value)
