"""Rules between events: what makes a log a sequence of well-formed turns.

`check_invariants` looks at a log and lists what breaks a rule. `invariants` is a plugin that
refuses such an event before it is logged. Both judge with the same machine.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, overload
from weakref import WeakKeyDictionary

from dsh_session.core.context import Context
from dsh_session.core.errors import InvariantError, SessionError
from dsh_session.core.event import SessionEvent, peek
from dsh_session.core.messages import derive_event_message
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import fold_surface, is_seq
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import Fault, place_for, whole

Event = SessionEvent | dict[str, Any]

_REWRITE = "tool/result rewrite"  # belongs in a turn like any other event, and nowhere in particular


class Violation(NamedTuple):
    """One event that breaks one rule.

    Attributes:
        seq: The event's seq, or its position where it has none.
        rule: The rule's short name; see `check_invariants`.
        expected: The value that the rule asks for.
        actual: The value found, None where it is absent.
        message: What is wrong and what to do about it.
    """

    seq: int
    rule: str
    expected: Any
    actual: Any
    message: str


def check_invariants(
    events: Iterable[Event], *, verify_history: bool = False, allow_result_rewrite: bool = False
) -> list[Violation]:
    """List every event that breaks a rule between events (the seeds' "turn-enclosure invariant").

    The rules, by name:

    ``seq``
        Seqs strictly rise.
    ``turn-number``, ``turn-nesting``, ``turn-end``
        Turns count 1, 2, 3 …, one is open at a time, and its end names it.
    ``step-number``, ``step-nesting``, ``step-end``, ``step-left-open``
        So do steps within a turn, and they end before it.
    ``turn``, ``step``
        Chunks, assistant messages, tool calls and results name the open turn and step, and step
        boundaries the open turn.
    ``result``
        A tool result answers a call of the same step, once. A synthetic one (`isError` true, error
        code ``interrupted``) may stand alone.
    ``enclosure``
        Every other event, a plugin's included, lies inside a turn.
    ``history``
        Only with `verify_history`.

    What a single event may look like is not asked here: sessions check payloads and the surface.

    Args:
        events: A whole log, as events or wire dicts. Malformed payloads break rules, nothing else.
        verify_history: Whether to derive the messages anew at each ``request/header`` and compare them
            with those a session keeps up to date; costs O(log) per header.
        allow_result_rewrite: Whether a ``tool/result`` may stand anywhere in a turn when it replaces
            exactly one ``tool/result`` of the same call and changes nothing but its content.

    Returns:
        The violations in log order. One fault is not reported again with every event after it: an
        event that breaks a rule is taken at its word or ignored, whichever fits what follows.

    Example:
        >>> from dsh_session import Session, check_invariants
        >>> session = Session("s", clock=lambda: 0)
        >>> event = session.append("turn/start", {"turn": 2, "trigger": {"kind": "x"}})
        >>> violation = check_invariants(session.events)[0]
        >>> violation.rule, violation.expected, violation.actual
        ('turn-number', 1, 2)
    """
    log = list(events)
    find = _finder(log)
    tracker = TurnTracker()
    replay = _Replay() if verify_history else None
    violations = []
    last_seq = -1
    for at, event in enumerate(log):
        kind, seq = _envelope(event)
        faults = []
        if not is_seq(seq) or seq <= last_seq:
            text = f"seq {name_of(seq)} where {last_seq + 1} comes next; seqs rise from event to event"
            faults.append(Fault("seq", last_seq + 1, seq, text))
        last_seq = int(seq) if is_seq(seq) else last_seq + 1
        judged = _REWRITE if allow_result_rewrite and _is_rewrite(event, find) else kind
        faults += tracker.take(judged, place_for(judged, event))
        if replay is not None:
            faults += replay.faults(event)
        violations += [Violation(int(seq) if is_seq(seq) else at, *fault) for fault in faults]
    return violations


@overload
def invariants(ctx: Context, *, verify_history: bool = False, allow_result_rewrite: bool = False) -> None: ...
@overload
def invariants(*, verify_history: bool = False, allow_result_rewrite: bool = False) -> Callable[[Context], None]: ...
def invariants(
    ctx: Context | None = None, *, verify_history: bool = False, allow_result_rewrite: bool = False
) -> Callable[[Context], None] | None:
    """Guard a context's sessions: an event that breaks a rule is refused before it is logged.

    Give it to `Context.plugin` as it is, or with options, as ``invariants(verify_history=True)``.
    Plugged in late, or for a session that starts from a seed, it replays the log that is there; what
    is wrong in there already is not raised (`check_invariants` lists it).

    Args:
        ctx: The context to guard; given by `Context.plugin`.
        verify_history: As in `check_invariants`, against `Session.derive_messages`.
        allow_result_rewrite: As in `check_invariants`.

    Returns:
        Nothing with a context; without one, the plugin with these options.

    Raises:
        InvariantError: ``INVARIANT``, from `Session.append`: `rule` and `seq` say what is broken and
            where, `expected` and `actual` are both values.

    Example:
        >>> from dsh_session import Context, invariants
        >>> with Context(clock=lambda: 0) as ctx:
        ...     plugged = ctx.plugin(invariants)
        ...     ctx.sessions.create("s").append("todo/write", {"todos": []})
        Traceback (most recent call last):
        ...
        dsh_session.core.errors.InvariantError: INVARIANT: seq 0: 'todo/write' stands outside any turn; append it
        between a turn/start and its turn/end
    """

    def plug(context: Context) -> None:
        guard = _Guard(verify_history=verify_history, allow_result_rewrite=allow_result_rewrite)
        context.check("session/event", guard.check)

    if ctx is None:
        return plug
    plug(ctx)
    return None


class _Guard:
    """The check that the plugin registers, with a tracker for every session it has seen."""

    def __init__(self, *, verify_history: bool, allow_result_rewrite: bool) -> None:
        self._trackers: WeakKeyDictionary[Session, TurnTracker] = WeakKeyDictionary()
        self._verify_history = verify_history
        self._read_as = _read_as if allow_result_rewrite else None

    def check(self, session: Session, event: SessionEvent) -> None:
        """Raise for a candidate that breaks a rule; only what the log holds advances the tracker."""
        tracker = self._trackers.get(session)
        if tracker is None:
            tracker = self._trackers.setdefault(session, TurnTracker(self._read_as))
        log = session.events
        tracker.catch_up(log)
        faults = tracker.faults(*tracker.reading(event, log))
        if not faults and self._verify_history and event.type == "request/header":
            faults = _history_faults(log, session.derive_messages())
        if faults:
            rule, expected, actual, message = faults[0]
            values = {"seq": event.seq, "rule": rule, "expected": expected, "actual": actual}
            raise InvariantError("INVARIANT", f"seq {event.seq}: {message}", **values)


# Rewritten tool results.


def _read_as(event: SessionEvent, log: Sequence[SessionEvent]) -> str:
    return _REWRITE if _is_rewrite(event, log.__getitem__) else event.type


def _is_rewrite(event: Event, find: Callable[[int], Event | None]) -> bool:
    """Tell whether a tool result replaces exactly one of the same call and changes its content alone."""
    if _envelope(event)[0] != "tool/result":
        return False
    op = event.surface_op if isinstance(event, SessionEvent) else event.get("surfaceOp")
    if not isinstance(op, dict) or op.get("op") != "replace":
        return False
    start, end = whole(op.get("start")), whole(op.get("end"))
    shadowed = find(start) if start is not None and start == end else None
    if shadowed is None or _envelope(shadowed)[0] != "tool/result":
        return False
    before, after = _data(shadowed), _data(event)
    if not isinstance(before, dict) or not isinstance(after, dict) or not isinstance(after.get("callId"), str):
        return False
    return _equal({**before, "content": None}, {**after, "content": None})


def _equal(before: Any, after: Any) -> bool:
    """Compare JSON values: 1.0 is 1, true is not. Without recursion, since they may be deep."""
    pairs = [(before, after)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            pairs += [(a[key], b[key]) for key in a]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a != b or (type(a) is bool) != (type(b) is bool):
            return False
    return True


def _finder(log: list[Event]) -> Callable[[int], Event | None]:
    """Find events by seq, in a list where that is not always the position."""
    by_seq: dict[Any, Event] = {}

    def find(seq: int) -> Event | None:
        if 0 <= seq < len(log) and _envelope(log[seq])[1] == seq:
            return log[seq]
        if not by_seq:
            by_seq.update((own, event) for event in log if is_seq(own := _envelope(event)[1]))
        return by_seq.get(seq)

    return find


def _envelope(event: Any) -> tuple[str, Any]:
    """Give type and seq; what is no event has neither."""
    if isinstance(event, SessionEvent):
        return event.type, event.seq
    if not isinstance(event, dict):
        return "", None
    kind = event.get("type")
    return kind if isinstance(kind, str) else "", event.get("seq")


def _data(event: Event) -> Any:
    return peek(event) if isinstance(event, SessionEvent) else event.get("data")


# Derived history.


class _Replay:
    """A session that grows with the log, to compare the history it keeps with one made anew."""

    def __init__(self) -> None:
        self._session = Session("replay")
        self._is_over = False

    def faults(self, event: Event) -> list[Fault]:
        """Compare, if the event is a request header, and take it in."""
        if self._is_over:
            return []
        session = self._session
        found = []
        if _envelope(event)[0] == "request/header":
            found = _history_faults(session.events, session.derive_messages())
        try:
            session._log.append(session._seeded(event, session.seq))
        except SessionError as error:
            self._is_over = True
            text = f"the history cannot be derived from here on, the event is no seed: {error.message}"
            found.append(Fault("history", None, error.code, text))
        return found


def _history_faults(log: Sequence[SessionEvent], kept: list[Any]) -> list[Fault]:
    """Compare the history that a session keeps up to date with one derived from the log anew."""
    derived = [derive_event_message(log[seq]) for seq in fold_surface(log).nodes]
    messages = [message for message in derived if message is not None]
    if messages == kept:
        return []
    pairs = enumerate(zip_longest(messages, kept))
    at, (expected, actual) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    text = f"message {at} of the history differs from the one that the log gives"
    return [Fault("history", expected, actual, text)]
