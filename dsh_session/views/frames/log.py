"""What frames are made of: the events of a log, its surface, and what replaced what, at one moment."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dsh_session.core.errors import SurfaceError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.lossless import encode
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import SurfaceReplacement, fold_surface
from dsh_session.core.turns import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Log", "Logged", "log_of"]

Logged: TypeAlias = Session | SurfaceHistory
"""What every frame takes."""


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


def log_of(source: Logged, *, at: int | None = None) -> Log:
    """The log of a session or a history, now or as it was after one of its events.

    Args:
        source: A session, or a history of one or of events of any origin. It is not changed.
        at: The seq of the event that is the last one; -1 for the beginning, `None` for now.

    Returns:
        The log at that moment.

    Raises:
        SurfaceError: `RANGE_NOT_FOUND` when there is no such event.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> [len(log_of(session, at=seq).nodes) for seq in (892, 894, session.seq - 1)]
        [354, 67, 448]
    """
    events: Sequence[Any] = source.events
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
    nodes = source.surface.nodes
    if not source.surface.replace_generation:
        return Log(events, nodes[: bisect_left(nodes, len(events))], ())
    fold = fold_surface(events)
    return Log(events, fold.nodes, fold.replacements)


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
