"""Reading as much of a JSON text as there is: a document that was cut off, or that is damaged further on."""

import json
import re
from typing import Any

from dsh_session.importers.tolerant import DECODER, loads_tolerantly

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([\[\]{}:,])|([^\s\[\]{}:,"]+))', re.DOTALL)
_SCALAR = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity)\Z")
_SPACE = re.compile(r"[ \t\r\n]*")
_DEEPEST = 400
_QUICK_LEVELS = 6  # each costs another look at the member that is cut


def salvage(text: str) -> tuple[Any, int] | None:
    """Read the longest beginning of a JSON array or object that makes sense, and close what is open there.

    Args:
        text: JSON text that does not parse as a whole.

    Returns:
        The value, and how many characters were read; None when there is nothing to be had.

    Example:
        >>> salvage('{"a": [1, {"b": "two"}, {"c": "thr')
        ({'a': [1, {'b': 'two'}]}, 22)
        >>> salvage("no JSON") is None
        True
    """
    at = _past_space(text, 0)
    return _descend(text, at, _QUICK_LEVELS) if text[at : at + 1] in ("[", "{") else None


def _descend(text: str, at: int, levels: int) -> tuple[Any, int] | None:
    """Read the members of a container, whole ones at the decoder's speed; only the one that is cut is opened."""
    if levels == 0:
        found = _by_tokens(text[at:])
        return None if found is None else (found[0], at + found[1])
    is_list = text[at] == "["
    items: list[Any] = []
    fields: dict[str, Any] = {}
    safe = at = at + 1
    while True:
        at = _past_space(text, at)
        if text[at : at + 1] == ("]" if is_list else "}") and (safe == at or not _comma_before(text, at)):
            return (items if is_list else fields), at + 1
        key = ""
        if not is_list:
            named = _key_at(text, at)
            if named is None:
                break
            key, at = named
        member = _value_at(text, at, levels)
        if member is None:
            break
        value, at, is_whole = member
        if is_list:
            items.append(value)
        else:
            fields[key] = value
        safe = at
        at = _past_space(text, at)
        if not is_whole or text[at : at + 1] not in (",", "]", "}"):
            break
        at += text[at] == ","
    return (items if is_list else fields), safe


def _value_at(text: str, at: int, levels: int) -> tuple[Any, int, bool] | None:
    """Read a value, or what there is of one, and tell whether it was whole."""
    try:
        value, end = DECODER.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError):
        if text[at : at + 1] not in ("[", "{"):
            return None
        part = _descend(text, at, levels - 1)
        return None if part is None or not part[0] else (*part, False)
    # A number may go on where the text was cut.
    if not isinstance(value, (str, list, dict)):
        after = _past_space(text, end)
        if end == len(text) or text[after : after + 1] not in ("", ",", "]", "}"):
            return None
    return value, end, True


def _key_at(text: str, at: int) -> tuple[str, int] | None:
    try:
        key, at = DECODER.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError):
        return None
    at = _past_space(text, at)
    if not isinstance(key, str) or text[at : at + 1] != ":":
        return None
    return key, _past_space(text, at + 1)


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _comma_before(text: str, at: int) -> bool:
    return text[:at].rstrip()[-1:] == "," if at < 64 else text[at - 64 : at].rstrip()[-1:] == ","


def _by_tokens(text: str) -> tuple[Any, int] | None:
    """Do the same token by token, which copes with any depth and is slow."""
    stack: list[str] = []  # the brackets that close what is open
    expects = "value"
    at = 0
    safe: tuple[int, str] | None = None  # up to where, and what closes it
    while match := _TOKEN.match(text, at):
        string, mark, scalar = match.groups()
        if string is not None:
            if expects in ("key", "first-key"):
                expects = "colon"
            elif expects in ("value", "first-value"):
                expects = "comma"
            else:
                break
        elif scalar is not None:
            # A number at the very end may go on where the text was cut.
            if expects not in ("value", "first-value") or not _SCALAR.match(scalar) or match.end() == len(text):
                break
            expects = "comma"
        elif mark in "[{":
            if expects not in ("value", "first-value") or len(stack) >= _DEEPEST:
                break
            stack.append("]" if mark == "[" else "}")
            expects = "first-value" if mark == "[" else "first-key"
        elif mark in "]}":
            allowed = ("comma", "first-value" if mark == "]" else "first-key")
            if not stack or stack[-1] != mark or expects not in allowed:
                break
            stack.pop()
            expects = "comma"
        elif mark == ":":
            if expects != "colon":
                break
            expects = "value"
        else:
            if expects != "comma" or not stack:
                break
            expects = "key" if stack[-1] == "}" else "value"
        at = match.end()
        # An object that was only opened is worth keeping as the outermost value alone.
        if expects == "comma" or (len(stack) == 1 and expects.startswith("first")):
            safe = at, "".join(reversed(stack))
            if not stack:
                break
    if safe is None:
        return None
    end, closers = safe
    try:
        return loads_tolerantly(text[:end] + closers)[0], end
    except (json.JSONDecodeError, RecursionError, ValueError):
        return None
