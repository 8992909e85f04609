"""Times and spans of time as a reader writes them; any number that a log can hold has a form."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["clock", "day", "duration", "iso"]


def _datetime(time: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(time / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def day(time: float) -> str:
    """The date of a moment.

    Args:
        time: Epoch milliseconds, of any size.

    Returns:
        `YYYY-MM-DD` in UTC, or the number itself where the calendar ends.

    Example:
        >>> day(1765233665306), day(2**53 - 1)
        ('2025-12-08', '9007199254740991 ms')
    """
    moment = _datetime(time)
    return f"{time} ms" if moment is None else moment.strftime("%Y-%m-%d").rjust(10, "0")


def clock(time: float) -> str:
    """The time of day of a moment.

    Args:
        time: Epoch milliseconds, of any size.

    Returns:
        `HH:MM:SS` in UTC, or the number itself where the calendar ends.

    Example:
        >>> clock(1765233665306)
        '22:41:05'
    """
    moment = _datetime(time)
    return f"{time} ms" if moment is None else moment.strftime("%H:%M:%S")


def iso(time: float) -> str:
    """A moment for a program, and for a tooltip.

    Args:
        time: Epoch milliseconds, of any size.

    Returns:
        ISO 8601 in UTC to the millisecond, or the number itself where the calendar ends.

    Example:
        >>> iso(1765233665306)
        '2025-12-08T22:41:05.306Z'
    """
    moment = _datetime(time)
    if moment is None:
        return f"{time} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def duration(span: float) -> str:
    """How long something took.

    Args:
        span: Milliseconds.

    Returns:
        The two largest units that say something; a log whose clock ran backwards gives a minus sign.

    Example:
        >>> duration(450), duration(61_000), duration(7_260_000), duration(-1000)
        ('450 ms', '1 min 1 s', '2 h 1 min', '−1 s')
    """
    if span < 0:
        return f"−{duration(-span)}"
    if span < 1000:
        return f"{span:.0f} ms"
    if span < 10_000 and span % 1000:
        return f"{span / 1000:.1f} s"
    seconds = round(span / 1000)
    units = (("d", seconds // 86_400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60))
    first = next(place for place, (_, number) in enumerate(units) if number)
    return " ".join(f"{number:,} {unit}" for unit, number in units[first : first + 2] if number)
