"""A message line taken apart: what becomes an event.

Nearly every line has the shape that `_Line` says: it is read in one go, and texts go on as they stand in
the log. Any other line is read field by field; both ways say the same.
"""

from collections.abc import Sequence
from heapq import nlargest
from typing import Any, Final

import msgspec

from dsh_session.importers.blocks import LawfulBlocks
from dsh_session.importers.claude_code.content import answer_blocks, counts, said
from dsh_session.importers.claude_code.entries import Entry
from dsh_session.importers.claude_code.values import Fields, boolean, first_text, mapping, string

Answer = tuple[str, list[Any], bool]
"""What a tool answered: the id of the call, empty where the log has none, the content, and whether the tool failed."""


class Taken(msgspec.Struct, gc=False):
    """What a line says.

    Attributes:
        blocks: Content blocks of the log; what is none yet is left to the assembler.
        answers: Tool results.
        todos: The input of calls that write todo lists, by the call's id; None where there are none.
        first: The first text, unread.
        model: The model that said it.
        usage: Its token counts; `counts_of` reads them.
        stop_reason: Why the model stopped.
        failure: What the program says of a request that failed, as a turn's end has it.
        result: What the tool says beside its answer, unread.
        spent: Long parts of the line that the event has whole.
    """

    blocks: list[Any]
    answers: Sequence[Answer]
    todos: dict[str, Any] | None
    first: Any
    model: str | None
    usage: Any
    stop_reason: str | None
    failure: dict[str, Any] | None
    result: Any
    spent: Sequence[bytes]

    @property
    def text(self) -> str:
        """The first text; nothing where there is none."""
        return string(self.first) or ""


# ------------------------------------------------------------------------------------------------------- the quick way

_NONE: Any = None  # msgspec has no "raw or absent"
_EMPTY: Final = msgspec.Raw(b'""')
_QUOTE: Final = ord('"')
_LONG: Final = 500  # bytes that are worth letting go of
_LOOKED_FOR: Final = 20  # parts of one line, which is gone through for each of them


class _Text(msgspec.Struct, gc=False, tag="text"):
    text: msgspec.Raw


class _Thinking(msgspec.Struct, gc=False, tag="thinking"):
    thinking: msgspec.Raw


class _Call(msgspec.Struct, gc=False, tag="tool_use"):
    id: str
    name: str
    input: msgspec.Raw


class _Answer(msgspec.Struct, gc=False, tag="tool_result"):
    tool_use_id: str
    content: msgspec.Raw = _EMPTY
    is_error: bool | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Text | _Thinking | _Call | _Answer]
    model: str | None = None
    usage: _Usage | None = None
    stop_reason: str | None = None


class _Line(msgspec.Struct, gc=False):
    message: _Message
    toolUseResult: msgspec.Raw = _NONE  # noqa: N815 (the log's name)
    isApiErrorMessage: None = None  # noqa: N815 (such a line is read field by field)


_line = msgspec.json.Decoder(_Line).decode
_texts = msgspec.json.Decoder(list[_Text]).decode
_write = msgspec.json.Encoder().encode


def take(entry: Entry) -> Taken:
    """Take a line apart that holds a message.

    Example:
        >>> line = b'{"uuid": "u", "message": {"role": "user", "content": "Hello"}}'
        >>> take(Entry(1, line, "log.jsonl")).blocks
        [{'type': 'text', 'text': 'Hello'}]
    """
    raw = entry.raw
    if entry.tree is None and (raw.isascii() or _is_text(raw)):
        try:
            return _taken(_line(raw))
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            pass
    return take_slowly(entry)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def without(raw: bytes, spent: Sequence[bytes]) -> bytes:
    """Give a line without what its event has whole, which is most of a long log.

    Example:
        >>> without(b'{"text": "a long story", "id": 1}', [b'"a long story"'])
        b'{"text": "", "id": 1}'
    """
    if len(spent) > _LOOKED_FOR:
        spent = nlargest(_LOOKED_FOR, spent, key=len)
    for part in spent:
        # What stands there twice may be somebody else's.
        if raw.count(part) == 1:
            raw = raw.replace(part, b'""')
    return raw


def _taken(line: _Line) -> Taken:
    message = line.message
    blocks = LawfulBlocks()
    answers: list[Answer] | None = None
    todos: dict[str, Any] | None = None
    content: Any = message.content
    first: Any = None
    spent: list[bytes] = []
    beside: Any = line.toolUseResult
    if beside is not None and len(beside) > _LONG:
        # It goes first: much of it is the tool's answer once more, which stands there once then.
        spent.append(bytes(beside))
    if type(content) is str:
        first = content
        blocks.append({"type": "text", "text": content})
    else:
        for block in content:
            kind = type(block)
            if kind is _Call:
                given = bytes(block.input)
                if len(given) > _LONG:
                    spent.append(given)
                arguments = msgspec.Raw(_write(given.decode()))
                blocks.append({"type": "tool-call", "id": block.id, "name": block.name, "arguments": arguments})
                if block.name == "TodoWrite":
                    todos = todos or {}
                    todos[block.id] = block.input
            elif kind is _Answer:
                told = block.content
                its = LawfulBlocks()
                for text in (told,) if bytes(told)[0] == _QUOTE else [one.text for one in _texts(told)]:
                    raw = bytes(text)
                    if raw[0] != _QUOTE:
                        raise msgspec.ValidationError("no text")
                    if len(raw) > _LONG:
                        spent.append(raw)
                    its.append({"type": "text", "text": text})
                answers = answers or []
                answers.append((block.tool_use_id, its, block.is_error is True))
            else:
                text = block.text if kind is _Text else block.thinking
                raw = bytes(text)
                # A text goes on as it stands.
                if raw[0] != _QUOTE:
                    raise msgspec.ValidationError("no text")
                if len(raw) > _LONG:
                    spent.append(raw)
                if kind is _Text:
                    if first is None and len(raw) > 2:
                        first = text
                    blocks.append({"type": "text", "text": text})
                else:
                    blocks.append({"type": "reasoning", "text": text})
    return Taken(
        blocks,
        answers or (),
        todos,
        first,
        message.model,
        message.usage,
        message.stop_reason,
        None,
        beside,
        spent,
    )


def counts_of(usage: Any) -> dict[str, int] | None:
    """Give the token counts of a response; the log's counts are disjoint already.

    Example:
        >>> counts_of({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7})
        {'inputTokens': 3, 'outputTokens': 5, 'cacheReadTokens': 7}
    """
    if type(usage) is not _Usage:
        return counts(usage)
    found = {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}
    if usage.cache_read_input_tokens is not None:
        found["cacheReadTokens"] = usage.cache_read_input_tokens
    if usage.cache_creation_input_tokens is not None:
        found["cacheWriteTokens"] = usage.cache_creation_input_tokens
    return found


# -------------------------------------------------------------------------------------------------- field by field


def take_slowly(entry: Entry) -> Taken:
    """Take a line apart, whatever its fields are."""
    fields = entry.fields()
    message = message_of(fields)
    content = message.get("content")
    found = said(content)
    failure = None
    if boolean(fields.get("isApiErrorMessage")):
        failure = {"message": first_text(content)}
        code = string(fields.get("error"))
        if code is not None:
            failure["code"] = code
    return Taken(
        found.blocks,
        [(call, answer_blocks(told, {}), is_error) for call, told, is_error in found.answers],
        {call: given for call, name, given in found.calls if name == "TodoWrite"} or None,
        first_text(content),
        string(message.get("model")),
        message.get("usage"),
        string(message.get("stop_reason")),
        failure,
        fields.get("toolUseResult"),
        [],
    )


def message_of(fields: Fields) -> Fields:
    """Give a line's message; a text in its place is taken for its content."""
    value = fields.get("message")
    found = mapping(value)
    if found is not None:
        return found
    text = string(value)
    return {} if text is None else {"content": text}
