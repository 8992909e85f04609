"""What a diagram is drawn of: a log up to a moment, with its surface then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dsh_session.core.admission import surface_mark
from dsh_session.core.event import SessionEvent, is_surface_event
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.lossless import encode, snapshot_json_value
from dsh_session.core.session import Session
from dsh_session.views.diagrams.folds import Folds, fold, folds_of
from dsh_session.views.reading import Reading, events_of
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Moment", "Source", "check_seq", "check_window", "ends_of", "moment_of", "surface_seq"]

Source: TypeAlias = Session | SurfaceHistory | Reading
"""What every diagram takes."""


class Moment(NamedTuple):
    """A log up to a moment.

    Attributes:
        name: The session's id; `session` for a history that was made of bare events.
        events: The events from seq 0 to the moment.
        folds: The surface after the last of them, with what lies behind its replacements.
    """

    name: str
    events: Sequence[SessionEvent]
    folds: Folds


def moment_of(source: Source, at: int | None = None) -> Moment:
    """Read a log up to a moment.

    Args:
        source: A session, the history of one, or a `Reading`, which is folded already.
        at: The seq of the last event that is read; None for all.

    Returns:
        The moment; O(events).

    Raises:
        TypeError: For something that has no events.
        ViewError: `VIEW_SEQ` for a seq that is not in the log.

    Example:
        >>> moment_of(Session("tour")).name
        'tour'
    """
    if isinstance(source, Reading) and at is None:
        folds = source.once("folds", lambda: folds_of(source.nodes, source.replacements))
        return Moment(source.name, source.events, folds)
    owner: Session | Reading | None
    if isinstance(source, SurfaceHistory):
        events: Sequence[SessionEvent] = _as_events(source.events)
        owner = source._session
    else:
        events, owner = events_of(source), source
    if at is not None:
        check_seq("at", at, len(events))
        events = events[: at + 1]
    name = "session" if owner is None else owner.name if isinstance(owner, Reading) else owner.id
    return Moment(name, events, fold(events))


def check_seq(name: str, seq: int, count: int) -> None:
    """Refuse a seq that is not in a log.

    Args:
        name: The argument that it was given as.
        seq: What was given.
        count: The number of events.

    Raises:
        ViewError: `VIEW_SEQ`.
    """
    if type(seq) is not int or not 0 <= seq < count:
        there = f"seqs 0 to {count - 1}" if count else "no events yet"
        raise ViewError("VIEW_SEQ", f"{name}={seq!r}: the log has {there}")


def surface_seq(events: Sequence[SessionEvent], around: int | None) -> int | None:
    """Give the surface event that a seq means: its own, or the one before it where that is log-only.

    Args:
        events: The log.
        around: A seq that must be in the picture, if any.

    Returns:
        Its seq; None where no seq was given, or nothing was on the surface yet.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log.
    """
    if around is None:
        return None
    check_seq("around", around, len(events))
    return next((seq for seq in range(around, -1, -1) if events[seq].surface_op is not None), None)


def ends_of(first: int | None, last: int | None, usual: tuple[int, int]) -> tuple[int, int]:
    """Give how many items are shown at either end of a list: what was asked for, else what is usual.

    Example:
        >>> ends_of(None, 9, (3, 5))
        (3, 9)
    """
    return usual[0] if first is None else first, usual[1] if last is None else last


def check_window(least: int = 0, /, **counts: int | None) -> None:
    """Refuse a count that is none.

    Args:
        least: The smallest count that makes sense.
        counts: The counts, by the names of their arguments; None stands for a default.

    Raises:
        ViewError: `VIEW_WINDOW`.

    Example:
        >>> check_window(0, first=3, last=None)
    """
    for name, value in counts.items():
        if value is not None and (type(value) is not int or value < least):
            raise ViewError("VIEW_WINDOW", f"{name}={value!r}: give a whole number from {least} on")


def _as_events(events: Iterable[SessionEvent | dict[str, Any]]) -> list[SessionEvent]:
    """The events of a history, which may have been given in their wire form; it has checked their surface marks."""
    return [event if isinstance(event, SessionEvent) else _event(event) for event in events]


def _event(wire: dict[str, Any]) -> SessionEvent:
    whole: dict[str, Any] = snapshot_json_value({"time": 0, "data": {}, **wire}, what="event")
    mark = surface_mark(whole["surfaceOp"]) if is_surface_event(whole) else None
    time = whole["time"] if type(whole["time"]) is int else 0
    return SessionEvent(str(whole.get("type")), whole["seq"], time, encode(whole), mark)
