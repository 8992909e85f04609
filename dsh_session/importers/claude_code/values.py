"""Values of a line that are read when somebody looks: JSON text, or what a repair has made of it already."""

import json
from typing import Any

import msgspec

from dsh_session.importers.tolerant import loads_tolerantly

Fields = dict[str, Any]
"""The fields of an object: `msgspec.Raw` each, or Python values where the text had to be repaired."""

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_blocks = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode
_any = msgspec.json.Decoder().decode


def fields_of(raw: Any) -> Fields:
    """Read an object's fields.

    Raises:
        ValueError: When the text is no JSON object, or has to be repaired.

    Example:
        >>> fields_of(b'{"a": [1, 2]}')["a"] == msgspec.Raw(b"[1, 2]")
        True
    """
    try:
        return _fields(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ValueError("no object that can be read as it stands") from error


def python(value: Any) -> Any:
    """Give a value as Python has it; text that cannot be read at all is given as text.

    Example:
        >>> python(msgspec.Raw(b'{"a": 1}')), python([1]), python(None)
        ({'a': 1}, [1], None)
    """
    if type(value) is not msgspec.Raw:
        return value
    try:
        return _any(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    text = bytes(value).decode("utf-8", "replace")
    try:
        return loads_tolerantly(text)[0]
    except (json.JSONDecodeError, RecursionError):
        return text


def string(value: Any) -> str | None:
    """Give a text; None for anything else.

    Example:
        >>> string(msgspec.Raw(b'"a"')), string("a"), string(msgspec.Raw(b"1"))
        ('a', 'a', None)
    """
    if type(value) is str:
        return value
    if type(value) is not msgspec.Raw:
        return None
    try:
        return _string(value)
    except (msgspec.MsgspecError, UnicodeError):
        found = python(value)
        return found if type(found) is str and bytes(value)[:1] == b'"' else None


def boolean(value: Any) -> bool:
    """Tell whether a value is true; anything but ``true`` is not.

    Example:
        >>> boolean(msgspec.Raw(b"true")), boolean(None), boolean("true")
        (True, False, False)
    """
    return value is True or (type(value) is msgspec.Raw and bytes(value) == b"true")


def integer(value: Any) -> int | None:
    """Give a whole number; None for anything else.

    Example:
        >>> integer(msgspec.Raw(b"7")), integer(True), integer("7")
        (7, None, None)
    """
    found = python(value)
    return found if type(found) is int else None


def mapping(value: Any) -> Fields | None:
    """Give an object's fields; None for anything else.

    Example:
        >>> mapping({"a": 1}), mapping(msgspec.Raw(b"[]"))
        ({'a': 1}, None)
    """
    if type(value) is dict:
        return value
    if type(value) is not msgspec.Raw:
        return None
    try:
        return fields_of(value)
    except ValueError:
        found = python(value)
        return found if type(found) is dict else None


def items(value: Any) -> list[Any]:
    """Give the elements of a list, each unread; anything but a list is a list of one, nothing none.

    Example:
        >>> items("hello"), items(None), len(items(msgspec.Raw(b'[{"a": 1}, 2]')))
        (['hello'], [], 2)
    """
    if type(value) is list:
        return value
    if value is None:
        return []
    if type(value) is not msgspec.Raw:
        return [value]
    try:
        return _blocks(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        return _items(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        found = python(value)
        return found if type(found) is list else ([] if found is None else [found])


def first_text(content: Any) -> str:
    """Give the first text of a message's content; nothing where there is none.

    Example:
        >>> first_text([{"type": "image"}, {"type": "text", "text": "Look"}])
        'Look'
    """
    text = string(content)
    if text is not None:
        return text
    for item in items(content):
        text = string(item)
        if text is None:
            block = mapping(item)
            text = None if block is None else string(block.get("text"))
        if text:
            return text
    return ""
