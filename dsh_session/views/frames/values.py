"""Reading single values of a payload that may hold anything: what is not as it should be is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dsh_session.core.event import SessionEvent, peek
from dsh_session.core.turns import whole
from dsh_session.views.frames.payload import without_surrogates

if TYPE_CHECKING:
    from dsh_session.compaction.meter import TokenMeter

__all__ = ["count", "data_of", "fraction", "items", "number", "passing", "record", "string", "tokens_of"]

_NOTHING: Final[Mapping[str, Any]] = {}


def data_of(event: SessionEvent) -> Mapping[str, Any]:
    """The payload of an event, decoded for the moment.

    Args:
        event: Any event; it keeps nothing of what is decoded here.

    Returns:
        The payload, an empty mapping where it is no object.

    Example:
        >>> from dsh_session import Session
        >>> data_of(Session("tour").append("todo/write", {"todos": []}))
        {'todos': []}
    """
    return record(peek(event))


def record(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one.

    Args:
        value: Any JSON value.

    Returns:
        A mapping.

    Example:
        >>> record({"a": 1}), record("{{tools}}")
        ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """The value if it is a list, else an empty one.

    Args:
        value: Any JSON value.

    Returns:
        A list.

    Example:
        >>> items([1]), items(None)
        ([1], [])
    """
    return value if isinstance(value, list) else []


def string(value: object) -> str | None:
    r"""The value if it is a string, fit for a table.

    Args:
        value: Any JSON value.

    Returns:
        The string with U+FFFD for lone surrogates, or `None`.

    Example:
        >>> string("a\ud83d"), string(1)
        ('a\ufffd', None)
    """
    return without_surrogates(value) if isinstance(value, str) else None


def number(value: object) -> int | None:
    """The value if it is an integer that every JSON reader keeps.

    Args:
        value: Any JSON value.

    Returns:
        The integer, also of an integral float, or `None`.

    Example:
        >>> number(2.0), number(True), number(2**60)
        (2, None, None)
    """
    return whole(value)


def count(value: object) -> int | None:
    """The value if it counts something.

    Args:
        value: Any JSON value.

    Returns:
        An integer from 0 on, or `None`.

    Example:
        >>> count(3), count(-3)
        (3, None)
    """
    found = whole(value)
    return found if found is not None and found >= 0 else None


def fraction(value: object) -> float | None:
    """The value if it is a finite number.

    Args:
        value: Any JSON value.

    Returns:
        A float, or `None`.

    Example:
        >>> fraction(0.5), fraction(2), fraction(False)
        (0.5, 2.0, None)
    """
    if type(value) not in {int, float}:
        return None
    try:
        found = float(value)  # type: ignore[arg-type]  # it is a number
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def passing(event: SessionEvent) -> SessionEvent:
    """A copy of an event, for code that looks at `data`: an event keeps what was decoded, the copy takes it along.

    Args:
        event: Any event.

    Returns:
        The same event; it shares the text.

    Example:
        >>> from dsh_session import Session
        >>> event = Session("tour").append("todo/write", {"todos": []})
        >>> passing(event) == event, passing(event) is event
        (True, False)
    """
    return SessionEvent(event.type, event.seq, event.time, event._line, event.surface_op)


def tokens_of(event: SessionEvent, meter: TokenMeter) -> int:
    """The estimated tokens of the message that an event gives.

    Args:
        event: Any event; it keeps nothing of what is decoded here.
        meter: What estimates.

    Returns:
        Tokens; 0 for an event that gives no message.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.compaction import TokenMeter
        >>> session = samples.load("pi-compacted-twice")
        >>> [tokens_of(event, TokenMeter()) for event in session.events[:4]]
        [0, 52, 0, 55]
    """
    return meter.estimate_event(passing(event))
