"""Times as other programs write them, as epoch milliseconds."""

import math
from datetime import UTC, datetime
from typing import Any, Final

_LATEST: Final = 253_402_300_799_999  # the last millisecond of the year 9999
_SECONDS: Final = 100_000_000_000  # as seconds the year 5138, as milliseconds March 1973


def moment(value: Any) -> int | None:
    """Give a time as epoch milliseconds.

    Args:
        value: ISO 8601 text (UTC where it names no zone), or a number: seconds up to 10**11, milliseconds,
            microseconds or nanoseconds above.

    Returns:
        Milliseconds; None for what is no time, or lies before 1970 or after 9999.

    Example:
        >>> moment("2026-02-18T19:10:19.390505"), moment(1746030774.7), moment(1746030774707), moment("soon")
        (1771441819390, 1746030774700, 1746030774707, None)
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An integer may be larger than any float.
    if (isinstance(value, float) and not math.isfinite(value)) or not 0 <= value < 10**20:
        return None
    if value < _SECONDS:
        return round(value * 1000)
    while value > _LATEST:
        value //= 1000
    return int(value)


def _from_text(text: str) -> int | None:
    if not 10 <= len(text) <= 64:
        return None
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        # Not timestamp(): a float of seconds loses the last milliseconds' digit.
        since = when - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    milliseconds = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return milliseconds if milliseconds >= 0 else None
