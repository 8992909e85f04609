"""Content of other agents as lawful content blocks: text, reasoning, tool calls, tool results.

What is none of these, an image above all, becomes a line of text that says what stood there; the
value itself goes to the side table, an image by its hash and size.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dsh_session.core.lossless import MAX_RECORDED_INTEGER, Refused, copy_json, may_lose_a_number
from dsh_session.importers.book import text_of
from dsh_session.importers.tolerant import loads_tolerantly

Note = Callable[[str, Any], None]
"""Takes a key and a value for the side table."""

_check = msgspec.json.Decoder().decode
_TEXT: Final = {"type", "text"}
_CALL: Final = {"type", "id", "name", "arguments"}
_IMAGES: Final = frozenset({"image", "image_url", "input_image", "output_image", "document", "file", "input_file"})
_DEPTH: Final = 400
_KNOWN: Final = frozenset({"text", "reasoning", "tool-call", "tool-result"})
# An importer that has checked the JSON of a text may hand it on as it stands in its log.
_WRITTEN: Final = frozenset({str, msgspec.Raw})


class LawfulBlocks(list[Any]):
    """Blocks of an importer that made them lawful itself: nobody looks at them again, which counts in a long log."""

    __slots__ = ()


def lawful_blocks(content: Any, note: Note) -> list[Any]:
    r"""Make content lawful.

    Args:
        content: Text, a block, or several of either, in the vocabulary of the log; anything else too.
        note: Takes what has no place in a block.

    Returns:
        Blocks that every reader accepts; those that were lawful are the same objects.

    Example:
        >>> kept = []
        >>> lawful_blocks(
        ...     ["hello", {"type": "image", "source": {"media_type": "image/png", "data": "aGk="}}],
        ...     lambda *row: kept.append(row),
        ... )
        [{'type': 'text', 'text': 'hello'},
         {'type': 'text', 'text': '[image: image/png, 2 bytes, sha256 8f434346648f…]'}]
        >>> kept[0][1]["bytes"]
        2
    """
    if type(content) is list:
        for block in content:
            if not _is_lawful(block):
                return [lawful_block(block, note) for block in content if block is not None]
        return content
    return [] if content is None else [lawful_block(content, note)]


def _is_lawful(block: Any) -> bool:
    """Tell, quickly, the blocks that most messages are made of."""
    if type(block) is not dict:
        return False
    kind = block.get("type")
    if kind in ("text", "reasoning"):  # no set: what a stranger puts there may have no hash
        return len(block) == 2 and type(block.get("text")) in _WRITTEN
    return (
        kind == "tool-call"
        and len(block) == 4
        and type(block.get("id")) is str
        and type(block.get("name")) is str
        and type(block.get("arguments")) in _WRITTEN
    )


def lawful_block(block: Any, note: Note) -> Any:
    """Make one block lawful; see `lawful_blocks`."""
    if _is_lawful(block):
        return block
    if type(block) is str:
        return {"type": "text", "text": block}
    if not isinstance(block, dict):
        note("content", block)
        return {"type": "text", "text": f"[{_kind(block)}: {_cut(text_of(block).decode('utf-8', 'replace'))}]"}
    kind = block.get("type")
    if kind not in _KNOWN if isinstance(kind, str) else True:
        return _placeholder(block, note)
    if kind in ("text", "reasoning"):
        return _text_block(kind, block, note)
    if kind == "tool-call":
        return _call_block(block, note)
    return _result_block(block, note)


def _text_block(kind: Any, block: dict[str, Any], note: Note) -> Any:
    if block.keys() == _TEXT and type(block["text"]) is str:
        return block
    _note_rest(block, _TEXT, note)
    return {"type": kind, "text": text_from(block.get("text"))}


def _call_block(block: dict[str, Any], note: Note) -> Any:
    if block.keys() != _CALL:
        _note_rest(block, _CALL, note)
    return {
        "type": "tool-call",
        "id": text_from(block.get("id")),
        "name": text_from(block.get("name")),
        "arguments": arguments_from(block.get("arguments")),
    }


def _result_block(block: dict[str, Any], note: Note) -> Any:
    _note_rest(block, {"type", "toolCallId", "content", "isError"}, note)
    made = {
        "type": "tool-result",
        "toolCallId": text_from(block.get("toolCallId")),
        "content": lawful_blocks(block.get("content"), note),
    }
    return {**made, "isError": block["isError"]} if type(block.get("isError")) is bool else made


def _note_rest(block: dict[str, Any], known: set[str], note: Note) -> None:
    rest = {key: value for key, value in block.items() if key not in known}
    if rest:
        note(f"block.{block.get('type')}", rest)


# ------------------------------------------------------------------------------------------------------ placeholders


def _placeholder(block: dict[str, Any], note: Note) -> Any:
    kind = block.get("type")
    name = kind if isinstance(kind, str) and kind else "unknown block"
    if name in _IMAGES:
        media, data, where = _payload_of(block)
        if data is not None:
            return _described("image" if "image" in (media or name) else name, media, data, note)
        note(name, where if where is not None else block)
        told = f": {_cut(where)}" if where else ""
        return {"type": "text", "text": f"[{'image' if 'image' in name else name}{told}]"}
    note(f"block.{name}" if kind == name else "block", block)
    text = block.get("text")
    return {"type": "text", "text": text if type(text) is str and text else f"[{_cut(name)}]"}


def _described(kind: str, media: str | None, data: bytes, note: Note) -> Any:
    digest = hashlib.sha256(data).hexdigest()
    note(kind, {"mediaType": media, "bytes": len(data), "sha256": digest})
    told = media or "unknown type"
    return {"type": "text", "text": f"[{kind}: {_cut(told)}, {len(data)} bytes, sha256 {digest[:12]}…]"}


def _payload_of(block: dict[str, Any]) -> tuple[str | None, bytes | None, str | None]:
    """Find the media type, the bytes and the address of an image, as the agents write them."""
    source = block.get("source") if isinstance(block.get("source"), dict) else block
    assert isinstance(source, dict)
    media = _first_text(source, "media_type", "mediaType", "mimeType", "mime_type")
    data = source.get("data")
    if type(data) is str:
        return media, _bytes_of(data), None
    for key in ("image_url", "url", "file_data", "image"):
        address = source.get(key)
        if isinstance(address, dict):
            address = address.get("url")
        if type(address) is not str:
            continue
        if address.startswith("data:"):
            head, _, body = address[5:].partition(",")
            return head.partition(";")[0] or media, _bytes_of(body), None
        return media, None, address
    return media, None, None


def _bytes_of(text: str) -> bytes:
    """Decode base64; what is none is taken as it stands, for its size and hash."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")


def _first_text(source: dict[str, Any], *keys: str) -> str | None:
    return next((value for key in keys if type(value := source.get(key)) is str), None)


# ------------------------------------------------------------------------------------------------------ single values


def text_from(value: Any) -> str:
    """Give a value as text: itself, or its JSON; nothing for None."""
    if type(value) is str:
        return value
    return "" if value is None else text_of(value).decode("utf-8", "replace")


def arguments_from(value: Any) -> str:
    """Give a tool call's arguments as the raw JSON text that a model wrote."""
    if type(value) is str:
        return value
    return "{}" if value is None else text_of(value).decode("utf-8", "replace")


def lawful_json(value: Any) -> Any:
    r"""Give a JSON value that no reader loses anything of; what JSON has no number for is text.

    Args:
        value: What a decoder gave, or its text as `msgspec.Raw`.

    Example:
        >>> lawful_json({"a": -0.0, "b": [1, float("inf")]}), lawful_json(msgspec.Raw(b'{"a": -0.0}'))
        ({'a': '-0.0', 'b': [1, 'inf']}, {'a': '-0.0'})
    """
    if type(value) is msgspec.Raw:
        raw = bytes(value)
        if _is_plain(raw):
            return value
        try:
            value, _ = loads_tolerantly(raw.decode("utf-8", "replace"))
        except (json.JSONDecodeError, RecursionError):
            return raw.decode("utf-8", "replace")
    try:
        return copy_json(value, _DEPTH, MAX_RECORDED_INTEGER)
    except (Refused, RecursionError):
        return _mended(value, _DEPTH)


def _is_plain(raw: bytes) -> bool:
    """Tell whether JSON text can stand in a log as it is."""
    try:
        _check(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    return not may_lose_a_number(raw) and raw.count(b"[") + raw.count(b"{") <= _DEPTH


def _mended(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in (dict, list) and depth == 0:
        return text_of(value).decode("utf-8", "replace")
    if kind is dict:
        return {str(key): _mended(item, depth - 1) for key, item in value.items()}
    if kind is list:
        return [_mended(item, depth - 1) for item in value]
    try:
        return copy_json(value, 1, MAX_RECORDED_INTEGER)
    except Refused:
        return str(value) if kind in (int, float) else text_of(value).decode("utf-8", "replace")


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "number", float: "number", list: "list"}
    return names.get(type(value), type(value).__name__)


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"
