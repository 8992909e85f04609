"""JSON values: check them, detach them, write them, read them back, losing nothing.

A JSON value is ``None``, a `bool`, a `str`, an `int` within ±(2**53 - 1), a finite `float`
that is not ``-0.0``, a `list` of JSON values, or a `dict` with `str` keys and JSON values.
Types are exact. The package's own frozen containers count as the `dict` and `list` they are.
"""

import json
import math
import re
import sys
from typing import Any, Never

import msgspec

from dsh_session.core.errors import JsonTextError, JsonValueError, SessionError
from dsh_session.core.frozen import FrozenDict, FrozenList

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""

MAX_DEPTH = 512
"""How many containers may stand inside each other."""

MAX_RECORDED_INTEGER = int(sys.float_info.max)
"""The largest integer that a recorded log may hold: what is larger overflows a double."""

_LONG = len(str(MAX_RECORDED_INTEGER))
_MAYBE_NEGATIVE_ZERO = re.compile(rb"-(?:0(?:[.eE]|[^0-9]|$)|[0-9.]+[eE]-)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Infinity)|NaN', re.DOTALL
)
_DICTS: set[type] = {dict, FrozenDict}
_LISTS: set[type] = {list, FrozenList}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Refused(Exception):  # noqa: N818 (a signal between two functions, never seen outside)
    """Raised inside a copy at the first value that is no JSON value."""


def register_frozen(kind: type) -> None:
    """Let a further frozen class of this package count as the dict it is."""
    _DICTS.add(kind)


def copy_json(value: Any, depth: int = MAX_DEPTH, largest: int = MAX_SAFE_INTEGER) -> Any:
    """Copy a JSON value, looking at every part once; raise `Refused` at what is none."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if -largest <= value <= largest:
            return value
    elif kind is float:
        if math.isfinite(value) and (value or math.copysign(1.0, value) > 0):
            return value
    elif kind in _DICTS:
        if depth:
            fields = {}
            # list(...) takes all items in one step, so that another thread cannot change them half-way.
            for key, item in list(dict.items(value)):
                if type(key) is not str:
                    raise Refused
                fields[key] = copy_json(item, depth - 1, largest)
            return fields
    elif kind in _LISTS and depth:
        items = []
        for item in list(value):
            items.append(copy_json(item, depth - 1, largest))  # noqa: PERF401 (a comprehension would cost a second frame a level)
        return items
    raise Refused


def is_json_value(value: Any) -> bool:
    """Tell whether a value is a JSON value.

    Args:
        value: Anything.

    Returns:
        True when `snapshot_json_value` would accept it.

    Example:
        >>> is_json_value({"a": [1, 2.5, None]}), is_json_value((1, 2)), is_json_value(float("nan"))
        (True, False, False)
    """
    try:
        copy_json(value)
    except (Refused, RecursionError):
        return False
    return True


def snapshot_json_value(
    value: Any,
    *,
    code: str = "NOT_JSON",
    what: str = "value",
    error: type[SessionError] = JsonValueError,
    largest: int = MAX_SAFE_INTEGER,
) -> Any:
    """Give a detached plain copy of a JSON value.

    Args:
        value: Anything; every part is looked at once.
        code: The error's code.
        what: What the value is, for the message.
        error: The error's class.
        largest: The largest integer to accept; recorded logs may hold more than 2**53 - 1.

    Returns:
        The same value built of new `dict` and `list` objects.

    Raises:
        JsonValueError: ``NOT_JSON`` with the path of the first offending value and what it is.

    Example:
        >>> snapshot_json_value({"content": [{"text": b"raw"}]})
        Traceback (most recent call last):
        ...
        dsh_session.core.errors.JsonValueError: NOT_JSON: value is no JSON value: $.content[0].text is bytes
    """
    try:
        return copy_json(value, largest=largest)
    except (Refused, RecursionError):
        pass
    raise error(code, f"{what} is no JSON value: {_fault(value, largest)}")


def _fault(value: Any, largest: int) -> str:
    """Name the first offending value and its path, depth first, without recursion."""
    stack: list[tuple[Any, str, int, tuple[Any, ...]]] = [(value, "$", 0, ())]
    while stack:
        item, path, depth, above = stack.pop()
        kind = type(item)
        if kind in _DICTS or kind in _LISTS:
            if any(item is outer for outer in above):
                return f"{_short(path)} is a cycle: it contains itself"
            if depth >= MAX_DEPTH:
                return f"{_short(path)} is nested more than {MAX_DEPTH} levels deep"
            above = (*above, item)
            if kind in _DICTS:
                fields = list(dict.items(item))
                for key, _ in fields:
                    if type(key) is not str:
                        return f"{_short(path)} has the key {_name(key)}, which is {_kind(key)}, not str"
                inner = [(child, f"{path}{_step(key)}") for key, child in fields]
            else:
                inner = [(child, f"{path}[{at}]") for at, child in enumerate(list(item))]
            stack.extend((child, where, depth + 1, above) for child, where in reversed(inner))
            continue
        reason = _scalar_fault(item, largest)
        if reason:
            return f"{_short(path)} is {reason}"
    return "it is nested too deep for the interpreter's recursion limit here"


def _scalar_fault(item: Any, largest: int) -> str | None:
    kind = type(item)
    if kind is str or kind is bool or item is None:
        return None
    if kind is int:
        bound = "2**53 - 1" if largest == MAX_SAFE_INTEGER else "what a double holds"
        return None if -largest <= item <= largest else f"an integer beyond {bound}"
    if kind is float:
        if not math.isfinite(item):
            return f"{item}, which JSON has no number for"
        return None if item or math.copysign(1.0, item) > 0 else "-0.0, which JSON readers turn into 0"
    return _kind(item)


def _kind(item: Any) -> str:
    kind = type(item)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _name(key: Any) -> str:
    return repr(key) if type(key) in (int, float, bool, bytes, type(None)) else f"of type {_kind(key)}"


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key[:80])}]"


def _short(path: str) -> str:
    return path if len(path) <= 300 else f"{path[:150]}…{path[-140:]}"


def encode(value: Any) -> bytes:
    """Write a checked JSON value as compact UTF-8 text.

    A lone surrogate has no UTF-8 form; a value that holds one is written as an escape instead.

    Raises:
        JsonValueError: ``NOT_JSON`` when it is nested too deep to be written from here.
    """
    try:
        return _encode(value)
    except UnicodeEncodeError:
        pass
    except RecursionError:
        raise _too_deep() from None
    fields = _plain(value) if isinstance(value, msgspec.Struct) else value
    try:
        text = json.dumps(fields, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    except RecursionError:
        raise _too_deep() from None
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text).encode()


def integral(value: Any) -> Any:
    """Write 1.0 as 1 throughout: the format's numbers are doubles, which do not tell the two apart."""
    if isinstance(value, dict):
        return {key: integral(item) for key, item in value.items()}
    if isinstance(value, list):
        return [integral(item) for item in value]
    return int(value) if type(value) is float and value.is_integer() else value


def _too_deep() -> JsonValueError:
    return JsonValueError("NOT_JSON", "it is nested too deep for the interpreter's recursion limit here")


def _plain(envelope: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.asdict(envelope)
    return {key: value for key, value in fields.items() if value is not msgspec.UNSET}


def decode(text: bytes) -> Any:
    """Read JSON text that was accepted before, lone surrogates included."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return json.loads(text.decode())


def decode_strictly(text: bytes) -> Any:
    """Read one JSON text from outside, refusing what would be lost or has no meaning.

    Args:
        text: UTF-8 JSON text.

    Returns:
        The value as plain containers. Integers beyond 2**53, duplicate keys (the last one
        counts) and lone surrogates are let through: the text keeps them verbatim.

    Raises:
        JsonValueError: ``NOT_JSON`` with `column`, for text that is no JSON, for ``NaN`` and
            ``Infinity``, for numbers that overflow a double, for ``-0``, and for invalid UTF-8. Text
            that is no JSON at all gets the subclass `JsonTextError`.
    """
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        value = _decode_by_hand(text)
    if may_lose_a_number(text):
        _refuse_lost_number(text)
    return value


def may_lose_a_number(text: bytes) -> bool:
    """Tell, cheaply, whether JSON text could hold a number that a double does not: -0, or hundreds of digits.

    Quick enough for a megabyte of lines at once, which is how a log is read.
    """
    if _MAYBE_NEGATIVE_ZERO.search(text):
        return True
    # Of a run of so many digits, at least eight in a row are at a multiple of an eighth of its length.
    return bool(len(text) >= _LONG and _EIGHT_DIGITS.search(text[:: _LONG // 8]) and _LONG_RUN.search(text))


_EIGHT_DIGITS = re.compile(rb"[0-9]{8}")
_LONG_RUN = re.compile(rb"[0-9]{%d}" % _LONG)


class _Lost(ValueError):  # noqa: N818 (a signal between two functions, never seen outside)
    """Raised inside a JSON parse at a number that would be lost."""


def _decode_by_hand(text: bytes) -> Any:
    """Read what msgspec refuses, or say in which column it stops being JSON."""
    try:
        source = text.decode()
    except UnicodeDecodeError as error:
        column = len(text[: error.start].decode()) + 1
        message = f"column {column}: byte 0x{text[error.start]:02x} is not valid UTF-8 ({error.reason})"
        raise JsonValueError("NOT_JSON", message, column=column) from None
    if source.startswith("\ufeff"):
        raise JsonValueError("NOT_JSON", "column 1: a byte order mark stands before the value", column=1)
    try:
        return json.loads(source, parse_constant=_lost, parse_float=_float, parse_int=_int)
    except json.JSONDecodeError as error:
        column = error.pos + 1
        raise JsonTextError("NOT_JSON", f"column {column}: {error.msg}", column=column) from None
    except RecursionError:
        raise JsonValueError("NOT_JSON", "column 1: it is nested too deep to be read", column=1) from None
    except _Lost:
        _refuse_lost_number(text)
        raise


def _lost(word: str) -> Never:
    raise _Lost(word)


def _float(digits: str) -> float:
    number = float(digits)
    return _lost(digits) if math.isinf(number) else number


def _int(digits: str) -> int:
    return _lost(digits) if len(digits) > _LONG + 1 else int(digits)


def _refuse_lost_number(text: bytes) -> None:
    """Raise at the first number in JSON text that is lost; the same characters inside a string are data."""
    for token in _TOKEN.finditer(text):
        digits = token.group()
        if digits.startswith(b'"'):
            continue
        shown = (digits if len(digits) <= 40 else digits[:40] + b"...").decode()
        if digits.endswith((b"NaN", b"Infinity")):
            reason = f"{shown} is no JSON number"
        elif math.isinf(float(digits)):
            reason = f"the number {shown} overflows a double"
        elif digits.startswith(b"-") and float(digits) == 0:
            reason = f"the number {shown} would lose its sign (-0)"
        else:
            continue
        column = len(text[: token.start()].decode()) + 1
        raise JsonValueError("NOT_JSON", f"column {column}: {reason}", column=column)
