"""Closing what a crash left open, so that the log is balanced again."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dsh_session.core.event import SessionEvent, peek
from dsh_session.core.messages import kind_of
from dsh_session.core.surface import is_seq
from dsh_session.core.turns import INTERRUPTED, place_of, whole

INTERRUPTED_TEXT: Final = "Tool call interrupted by a crash; no result was recorded."
"""What the model is told about a call whose result the crash took."""

Event = SessionEvent | dict[str, Any]


def interrupted_turn_closers(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Give the events that close a turn which a crash left open (the seeds' ``interrupted`` end reason).

    Every call that the open step's messages made and nobody answered gets an error result, in
    transcript order; then the step ends, if one is open, and then the turn. Seqs go on where the
    log ends, and the last event's time is used again.

    Args:
        events: A log, as events or wire dicts; what lies before its last turn boundary is not read.

    Returns:
        Wire dicts to append to the log; none when no turn is open.

    Example:
        >>> from dsh_session import Session, interrupted_turn_closers
        >>> session = Session("s", clock=lambda: 7)
        >>> event = session.append("turn/start", {"turn": 1, "trigger": {"kind": "x"}})
        >>> interrupted_turn_closers(session.events)
        [{'type': 'turn/end', 'seq': 1, 'time': 7, 'data': {'turn': 1, 'reason': {'kind': 'interrupted'}}}]
    """
    log: Sequence[Event] = events if isinstance(events, Sequence) else list(events)
    start = _last(log, ("turn/start", "turn/end"))
    if start < 0 or kind_of(log[start]) != "turn/start":
        return []
    turn = _number(log, start)
    step = _open_step(log, start)
    bodies: list[dict[str, Any]] = [
        _result(turn, place, call, cited) for call, (place, cited) in _open_calls(log, start, step).items()
    ]
    if step is not None:
        bodies.append({"type": "step/end", "data": {"turn": turn, "step": step}})
    bodies.append({"type": "turn/end", "data": {"turn": turn, "reason": {"kind": INTERRUPTED}}})
    seq, time = _end_of(log)
    return [
        {"type": body.pop("type"), "seq": seq + at, "time": time, "data": body.pop("data"), **body}
        for at, body in enumerate(bodies)
    ]


def _last(log: Sequence[Event], kinds: tuple[str, ...], start: int = 0) -> int:
    """Find the last event of one of some types; -1 when there is none."""
    for at in range(len(log) - 1, start - 1, -1):
        if kind_of(log[at]) in kinds:
            return at
    return -1


def _number(log: Sequence[Event], at: int) -> int:
    """Give the turn of a turn/start; the one that comes next where its payload does not say."""
    turn = whole(place_of(log[at]).turn)
    if turn is not None:
        return turn
    return 1 + sum(1 for place in range(at) if kind_of(log[place]) == "turn/start")


def _open_step(log: Sequence[Event], start: int) -> int | None:
    """Give the step that is open in the turn which starts at `start`, or None."""
    at = _last(log, ("step/start", "step/end"), start)
    if at < 0 or kind_of(log[at]) == "step/end":
        return None
    step = whole(place_of(log[at]).step)
    if step is not None:
        return step
    return sum(1 for place in range(start, at + 1) if kind_of(log[place]) == "step/start")


def _open_calls(log: Sequence[Event], start: int, step: int | None) -> dict[str, tuple[int, int | None]]:
    """Give the unanswered calls since the last step/end: by id, the step and the seq of the tool/call."""
    first = max(start, _last(log, ("step/end",), start)) + 1
    calls: dict[str, tuple[int, int | None]] = {}
    for at in range(first, len(log)):  # not a slice: a sequence need not have any, a deque has none
        event = log[at]
        kind = kind_of(event)
        if kind == "assistant/message":
            own = whole(place_of(event).step)
            if own is None:
                own = step if step is not None else 1
            # An id that comes again keeps its place, and which tool/call is meant is open again.
            calls.update(dict.fromkeys(_call_ids(event), (own, None)))
        elif kind in ("tool/call", "tool/result"):
            place = place_of(event)
            if not isinstance(place.call, str) or place.call not in calls:
                continue
            if kind == "tool/result":
                del calls[place.call]
            elif is_seq(place.seq):
                calls[place.call] = (calls[place.call][0], int(place.seq))
    return calls


def _call_ids(event: Event) -> list[str]:
    data = peek(event) if isinstance(event, SessionEvent) else event.get("data")
    content = data.get("content") if isinstance(data, dict) else None
    blocks = content if isinstance(content, list) else []
    calls = [block.get("id") for block in blocks if isinstance(block, dict) and block.get("type") == "tool-call"]
    return [call for call in calls if isinstance(call, str)]


def _result(turn: int, step: int, call: str, cited: int | None) -> dict[str, Any]:
    data = {
        "turn": turn,
        "step": step,
        "callId": call,
        "content": [{"type": "text", "text": INTERRUPTED_TEXT}],
        "isError": True,
        "error": {"name": "InterruptedError", "code": INTERRUPTED},
    }
    body: dict[str, Any] = {"type": "tool/result", "data": data, "surfaceOp": "append"}
    return body if cited is None else {**body, "sourceEventSeqs": [cited]}


def _end_of(log: Sequence[Event]) -> tuple[int, int]:
    """Give the seq that comes next and the last event's time."""
    last = log[-1]
    if isinstance(last, SessionEvent):
        return last.seq + 1, last.time
    seq, time = last.get("seq", len(log) - 1), last.get("time", 0)
    return int(seq) + 1 if is_seq(seq) else len(log), int(time) if is_seq(time) else 0
