"""JSON text from strangers: everything that can be read is read, and what was changed for it is said."""

import json
import math
import re
from typing import Any, Final

from dsh_session.core.lossless import MAX_RECORDED_INTEGER

_HALF: Final = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER: Final = len(str(MAX_RECORDED_INTEGER))


def whole(text: str) -> str:
    r"""Put U+FFFD for each half of a character, which fits into no table and no file.

    Example:
        >>> ascii(whole("cut \ud83d"))
        "'cut \\ufffd'"
    """
    return _HALF.sub("\ufffd", text)


def loads_tolerantly(text: str) -> tuple[Any, list[str]]:
    r"""Read JSON text, with numbers that no reader keeps as strings, and control characters in strings.

    Args:
        text: JSON text; lone surrogates and duplicate keys (the last one counts) are let through.

    Returns:
        The value, and what had to be repaired, a phrase each.

    Raises:
        json.JSONDecodeError: For what is no JSON.
        RecursionError: For what is nested too deep.

    Example:
        >>> loads_tolerantly('{"a": NaN, "b": 1e999}')
        ({'a': 'NaN', 'b': '1e999'}, ['the number NaN is kept as text', 'the number 1e999 is kept as text'])
    """
    repairs: list[str] = []
    hooks = _hooks(repairs)
    try:
        return json.loads(text, **hooks), repairs
    except json.JSONDecodeError as error:
        if "control character" not in error.msg:
            raise
    repairs.clear()
    return json.loads(text, strict=False, **hooks), [*repairs, "control characters in a string are kept"]


def _hooks(repairs: list[str] | None = None) -> dict[str, Any]:
    """Give what turns numbers that no reader keeps into text, and notes them if somebody wants to know."""

    def lost(digits: str) -> str:
        if repairs is not None:
            repairs.append(f"the number {digits if len(digits) < 40 else digits[:30] + '…'} is kept as text")
        return digits

    def whole(digits: str) -> Any:
        if len(digits) <= _LONGEST_INTEGER:
            number = int(digits)
            return number if abs(number) <= MAX_RECORDED_INTEGER else lost(digits)
        return lost(digits)

    def real(digits: str) -> Any:
        number = float(digits)
        return number if math.isfinite(number) else lost(digits)

    return {"parse_constant": lost, "parse_int": whole, "parse_float": real}


DECODER: Final = json.JSONDecoder(strict=False, **_hooks())
"""Reads values as `loads_tolerantly` does, without saying what it repaired."""


def loads_each(text: str) -> tuple[list[tuple[Any, int, int]], int]:
    r"""Read JSON values that stand one after the other, each perhaps on several lines.

    Args:
        text: JSON text.

    Returns:
        The values with the positions where each begins and ends, and the position where the text
        stops being JSON, which is its length where it does not.

    Example:
        >>> loads_each('{\n "a": 1\n}\n[2]\n{')
        ([({'a': 1}, 0, 11), ([2], 12, 15)], 16)
    """
    found: list[tuple[Any, int, int]] = []
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at == len(text):
            return found, at
        try:
            value, end = DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            return found, at
        found.append((value, at, end))
        at = end
