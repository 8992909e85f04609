"""Reading a stranger's payload: whatever stands there, these functions find words for it.

Nothing here raises, walks into a value deeper than one level, or looks at more than a bounded part of it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from dsh_session.views.escape import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["block_text", "blocks", "content_line", "counted", "field", "items", "source_name", "tag_of", "words"]

_BLOCKS: Final = 50
"""So many blocks of a message are looked at; a headline needs one, a hostile log may hold a million."""


def field(value: object, key: str) -> Any:
    """The value of a key, None where the value is no object or has no such key."""
    return value.get(key) if isinstance(value, dict) else None


def items(value: object) -> Sequence[Any]:
    """The items of a list, none of anything else."""
    return value if isinstance(value, list) else ()


def words(value: object, limit: int) -> str:
    """Any JSON value in a few words; containers by their size, so that none is walked through."""
    if value is None:
        return ""
    if isinstance(value, str):
        # White space shrinks, so a line may need more than `limit` characters of its text; four times is plenty.
        return cut(one_line(value[: 4 * limit + 64]), limit)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        try:
            return cut(str(value), limit)
        except ValueError:  # an integer beyond the interpreter's limit of digits
            return "a very long integer"
    if isinstance(value, list):
        return counted(len(value), "item")
    if isinstance(value, dict):
        return words(value["kind"], limit) if isinstance(value.get("kind"), str) else counted(len(value), "field")
    return cut(type(value).__name__, limit)


def counted(number: int, what: str) -> str:
    """A number and its noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def blocks(data: object) -> Iterator[Any]:
    """The first content blocks of a payload."""
    return islice(items(field(data, "content")), _BLOCKS)


def tag_of(block: object) -> str:
    """The type of a content block or chunk, empty where it has none."""
    tag = field(block, "type")
    return tag if isinstance(tag, str) else ""


def block_text(block: object, limit: int) -> str:
    """The text of one content block, cut but not yet made visible."""
    tag = tag_of(block)
    body = field(block, "text")
    if tag in {"text", "reasoning"} and isinstance(body, str):
        return body[:limit]
    if tag == "tool-call":
        arguments = field(block, "arguments")
        said = arguments[:limit] if isinstance(arguments, str) else words(arguments, limit)
        return f"{words(field(block, 'name'), 40) or '?'} {said}".rstrip()
    if tag == "tool-result":
        inner = next(iter(items(field(block, "content"))), None)
        said = field(inner, "text")  # one level and no deeper: nesting is the log's to choose
        return said[:limit] if isinstance(said, str) else "[tool-result]"
    return f"[{words(tag, 40) or 'a block without a type'}]"


def content_line(data: object, limit: int) -> str:
    """The first text of a message, else what it holds instead."""
    content = field(data, "content")
    if isinstance(content, str):
        return words(content, limit)
    fallback = ""
    for block in blocks(data):
        line = words(block_text(block, 4 * limit + 64), limit)
        if tag_of(block) == "text" and line:
            return line
        fallback = fallback or line
    return fallback or ("empty" if isinstance(content, list) else "no content")


def source_name(value: object) -> str:
    """Who a message, trigger or injection came from."""
    if field(value, "kind") == "plugin":
        return words(field(value, "plugin"), 40) or "plugin"
    return words(value, 40)
