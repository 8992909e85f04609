"""What views are made of: the events of a log, its surface, and what replaced what, at one moment."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from dsh_session.core.errors import SurfaceError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.lossless import encode
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import SurfaceReplacement, fold_surface
from dsh_session.core.turns import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

__all__ = ["Log", "Logged", "Reading", "check_store", "events_of", "log_of", "once"]

T = TypeVar("T")


class Log(NamedTuple):
    """A log at one moment; it does not grow.

    Attributes:
        events: The events up to then.
        nodes: The seqs of the surface, in the order in which the model reads them.
        replacements: Every replacement up to then, in log order.
    """

    events: Sequence[SessionEvent]
    nodes: Sequence[int]
    replacements: Sequence[SurfaceReplacement]


class Reading(Log):
    """A log that was read once, for many views of it: what one of them works out, the others find.

    Every frame, chart and diagram takes one in place of a session. It does not grow, and it keeps what was worked
    out, so it should not live longer than the views that are made of it.

    Attributes:
        name: The session's id.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.views import frames
        >>> reading = Reading.of(samples.load("pi-compacted-twice"))
        >>> len(frames.turns(reading)), len(frames.steps(reading))
        (57, 484)
    """

    name: str
    _known: dict[Hashable, Any]

    @classmethod
    def of(cls, session: Session) -> Reading:
        """Read a session as it is now.

        Args:
            session: Any session; it is not changed.

        Returns:
            Its log, folded.
        """
        events, nodes, replacements = log_of(session)
        # Tuples are quicker to look into than views, and very many views look into these.
        reading = cls(tuple(events), tuple(nodes), tuple(replacements))
        reading.name = session.id
        reading._known = {}
        return reading

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """Work something out the first time, and remember it.

        Args:
            what: What it is.
            make: Works it out; nobody may change what it gives.

        Returns:
            What it gave.
        """
        if what not in self._known:
            self._known[what] = make()
        found: T = self._known[what]
        return found


Logged: TypeAlias = Session | SurfaceHistory | Reading
"""What every frame takes."""


def once(log: Log, what: Hashable, make: Callable[[], T]) -> T:
    """Work something out about a log; where the log remembers it, only the first time.

    Args:
        log: A log, or a `Reading`.
        what: What it is.
        make: Works it out; nobody may change what it gives.

    Returns:
        What it gave.

    Example:
        >>> once(Log((), (), ()), "nothing", list)
        []
    """
    return log.once(what, make) if isinstance(log, Reading) else make()


def log_of(source: Logged, *, at: int | None = None) -> Log:
    """The log of a session or a history, now or as it was after one of its events.

    Args:
        source: A session, a history of one or of events of any origin, or a `Reading`. It is not changed.
        at: The seq of the event that is the last one; -1 for the beginning, `None` for now.

    Returns:
        The log at that moment.

    Raises:
        TypeError: For something that has no events.
        SurfaceError: `RANGE_NOT_FOUND` when there is no such event.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> [len(log_of(session, at=seq).nodes) for seq in (892, 894, session.seq - 1)]
        [354, 67, 448]
    """
    if isinstance(source, Reading) and at is None:
        return source
    events: Sequence[Any] = events_of(source)
    if at is not None:
        if type(at) is not int or not -1 <= at < len(events):
            raise SurfaceError(
                "RANGE_NOT_FOUND",
                f"there is no moment {name_of(at)}: the log has {len(events)} events, -1 is its start",
            )
        events = events[: at + 1]
    if isinstance(source, SurfaceHistory):
        last = len(events) - 1
        replacements = [replacement for replacement in source.replacements if replacement.seq <= last]
        return Log(_events(events), source.at(last), replacements)
    # Another thread may be appending: nodes that were read before the first replacement are all appended ones.
    surface = source.surface if isinstance(source, Session) else None
    nodes = () if surface is None else surface.nodes
    if surface is not None and not surface.replace_generation:
        return Log(events, nodes[: bisect_left(nodes, len(events))], ())
    fold = fold_surface(events)
    return Log(events, fold.nodes, fold.replacements)


def events_of(source: object) -> Sequence[Any]:
    """The events of what a view was given.

    Args:
        source: A session, a history or a `Reading`.

    Returns:
        Its events.

    Raises:
        TypeError: For something that has none, such as the path of a log.

    Example:
        >>> len(events_of(Session("tour")))
        0
    """
    events: Sequence[Any] | None = getattr(source, "events", None)
    if events is None:
        kind = type(source).__name__
        advice = (
            "load(path) makes a session of a log"
            if isinstance(source, (str, PurePath))
            else "SurfaceHistory(events) takes bare events"
        )
        raise TypeError(f"a view takes a Session, a SurfaceHistory or a Reading, and no {kind}: {advice}")
    return events


def check_store(store: object) -> None:
    """Refuse what is no store of sessions.

    Args:
        store: What was given as one.

    Raises:
        TypeError: For a context, a session or anything else.

    Example:
        >>> check_store(Session("tour"))
        Traceback (most recent call last):
        TypeError: this view takes a store of sessions, such as ctx.sessions, and no Session
    """
    if not callable(getattr(store, "list", None)):
        kind = type(store).__name__
        raise TypeError(f"this view takes a store of sessions, such as ctx.sessions, and no {kind}")


def _events(events: Iterable[SessionEvent | dict[str, Any]]) -> Sequence[SessionEvent]:
    return [event if isinstance(event, SessionEvent) else _event(event) for event in events]


def _event(wire: dict[str, Any]) -> SessionEvent:
    """An event of a wire dict, which a history takes as it is, whatever its type and time."""
    kind, op = wire.get("type"), wire.get("surfaceOp")
    time = whole(wire.get("time"))
    return SessionEvent(
        kind if isinstance(kind, str) else "",
        int(wire["seq"]),
        time if time is not None and time >= 0 else 0,
        encode({"data": None, **wire}),
        Replace(int(op["start"]), int(op["end"])) if isinstance(op, dict) else op,
    )
