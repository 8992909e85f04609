"""JSON as a person writes it into a text area."""

import json
from typing import Any

from dsh_session.core.errors import JsonTextError
from dsh_session.core.lossless import snapshot_json_value


def pretty(value: Any) -> str:
    r"""Write a JSON value for a text area.

    What a browser's text area would not give back as it was is written as an escape.

    Args:
        value: A JSON value, frozen or not.

    Returns:
        The text, indented by two.

    Example:
        >>> print(pretty({"text": "a\u0000b é"}))
        {
          "text": "a\u0000b é"
        }
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if is_writable(text) else json.dumps(value, indent=2)


def parse(text: str) -> Any:
    """Read the JSON value that a person has written.

    Args:
        text: What stands in the text area.

    Returns:
        A detached plain copy.

    Raises:
        JsonValueError: ``NOT_JSON``, with the line and the column where the text stops being JSON.

    Example:
        >>> parse('{"turn": 1}')
        {'turn': 1}
        >>> parse('{"turn": }')
        Traceback (most recent call last):
        ...
        dsh_session.core.errors.JsonTextError: NOT_JSON: line 1, column 10: expecting value
    """
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonTextError("NOT_JSON", f"{where}: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except RecursionError:
        raise JsonTextError("NOT_JSON", "the text is nested too deep to be read") from None
    except ValueError as error:  # a key that stands twice, or a number of too many digits
        raise JsonTextError("NOT_JSON", str(error)) from None
    return snapshot_json_value(value, what="the text")


def is_writable(text: str) -> bool:
    r"""Tell whether a text control of a browser gives a text back as it was: nothing unseen, no lone surrogate.

    Example:
        >>> is_writable("two\nlines"), is_writable("a\x00b"), is_writable("\ud83d")
        (True, False, False)
    """
    return text.replace("\n", "").replace("\t", "").isprintable()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found
