"""Messages of Claude Code as content blocks of the log, and what no block has a place for."""

import base64
import binascii
import hashlib
from typing import Any, Final, NamedTuple

import msgspec

from dsh_session.importers.book import text_of
from dsh_session.importers.claude_code.values import Fields, items, mapping, python, string

BASE64: Final = b'"base64"'
_KEPT_BASE64: Final = 256


class Said(NamedTuple):
    """A message, taken apart.

    Attributes:
        blocks: Content blocks of the log; what is none yet is left to the assembler.
        answers: Tool results: the id of the call, the content, unread, and whether the tool failed.
        calls: The calls whose input matters to the importer: name and input, by id.
        rest: By position, what has no place in a block.
    """

    blocks: list[Any]
    answers: list[tuple[str, Any, bool]]
    calls: list[tuple[str, str, Any]]
    rest: dict[str, Any]


def said(content: Any) -> Said:
    """Take a message's content apart.

    Args:
        content: Text or blocks, unread.

    Example:
        >>> text = b'[{"type": "thinking", "thinking": "Hm", "signature": "x"}, {"type": "text", "text": "Yes"}]'
        >>> found = said(msgspec.Raw(text))
        >>> found.blocks
        [{'type': 'reasoning', 'text': 'Hm'}, {'type': 'text', 'text': 'Yes'}]
        >>> found.rest
        {'0': {'type': 'thinking', 'signature': <msgspec.Raw object at ...>}}
    """
    made = Said([], [], [], {})
    for place, item in enumerate(items(content)):
        block = mapping(item)
        if block is None:
            text = string(item)
            made.blocks.append(python(item) if text is None else {"type": "text", "text": text})
            continue
        block = dict(block)
        kind = string(block.pop("type", None)) or ""
        taker = _TAKERS.get(kind)
        if taker is not None:
            taker(block, made)
        elif kind.endswith("_tool_result") and "tool_use_id" in block:
            _take_answer(block, made)
        else:
            # An image or something newer: the assembler says what stands there and keeps the rest.
            made.blocks.append({"type": kind, **{key: python(value) for key, value in block.items()}})
            continue
        if block:
            made.rest[str(place)] = {"type": kind, **block}
    return made


def _take_text(block: Fields, made: Said) -> None:
    made.blocks.append({"type": "text", "text": _text(block.pop("text", None))})


def _take_thinking(block: Fields, made: Said) -> None:
    made.blocks.append({"type": "reasoning", "text": _text(block.pop("thinking", None))})


def _take_call(block: Fields, made: Said) -> None:
    identity, name = _text(block.pop("id", None)), _text(block.pop("name", None))
    given = block.pop("input", None)
    arguments = "{}" if given is None else text_of(given).decode("utf-8", "replace")
    made.blocks.append({"type": "tool-call", "id": identity, "name": name, "arguments": arguments})
    made.calls.append((identity, name, given))


def _take_answer(block: Fields, made: Said) -> None:
    error = block.pop("is_error", None)
    content = block.pop("content", None)
    made.answers.append((_text(block.pop("tool_use_id", None)), content, python(error) is True))


_TAKERS: Final = {
    "text": _take_text,
    "thinking": _take_thinking,
    "redacted_thinking": _take_thinking,
    "tool_use": _take_call,
    "server_tool_use": _take_call,
    "mcp_tool_use": _take_call,
    "tool_result": _take_answer,
}


def _text(value: Any) -> str:
    found = string(value)
    if found is not None:
        return found
    value = python(value)
    return "" if value is None else text_of(value).decode("utf-8", "replace")


def answer_blocks(content: Any, rest: dict[str, Any]) -> Any:
    """Give the content of a tool's answer as blocks.

    Args:
        content: Text or blocks, unread.
        rest: Takes what has no place in a block.
    """
    text = string(content)
    if text is not None:
        return [{"type": "text", "text": text}]
    found = said(content)
    rest.update(found.rest)
    return found.blocks


def without_base64(value: Any) -> Any:
    """Put the size and the hash of base64 data in its place, wherever a value holds some.

    Args:
        value: A value, unread.

    Returns:
        The value; itself where it holds none.

    Example:
        >>> without_base64({"file": {"base64": "A" * 400}})["file"]["base64"]
        '[base64: 300 bytes, sha256 d13d4a8b3b8a…]'
    """
    if type(value) is msgspec.Raw and BASE64 not in bytes(value):
        return value
    return _shortened(python(value), 0)


def _shortened(value: Any, depth: int) -> Any:
    if depth > 100:
        return value
    if type(value) is dict:
        return {
            key: _size_of(item)
            if key in ("base64", "data") and type(item) is str and len(item) > _KEPT_BASE64
            else _shortened(item, depth + 1)
            for key, item in value.items()
        }
    if type(value) is list:
        return [_shortened(item, depth + 1) for item in value]
    return value


def _size_of(text: str) -> str:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return f"[base64: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:12]}…]"


_USAGE: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadTokens",
    "cache_creation_input_tokens": "cacheWriteTokens",
}


def counts(value: Any) -> dict[str, int] | None:
    """Give the token counts of a response; the log's counts are disjoint already.

    Example:
        >>> counts({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7})
        {'inputTokens': 3, 'outputTokens': 5, 'cacheReadTokens': 7}
    """
    value = python(value)
    if not isinstance(value, dict):
        return None
    found = {ours: value[theirs] for theirs, ours in _USAGE.items() if type(value.get(theirs)) is int}
    return found or None
