"""Message content of model APIs as content blocks."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from

_TEXT: Final = ("text", "input_text", "output_text", "summary_text")
_DEEPEST: Final = 8  # results within results
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "toolCall", "tool-call", "tool_call")


class Answer(NamedTuple):
    """A tool's answer.

    Attributes:
        call_id: The call that it answers; "" where it names none.
        content: Content blocks.
        is_error: Whether the tool said that it failed.
        name: The tool's name; "" where it is not given.
        meta: What the tool says beside its content; None for nothing.
    """

    call_id: str
    content: list[Any]
    is_error: bool = False
    name: str = ""
    meta: Any = None


class Said(NamedTuple):
    """The content of one message.

    Attributes:
        blocks: Text, reasoning and tool-call blocks, and as they are those of other kinds.
        answers: The tool results among them.
        aside: What blocks held beside their content, as (key, value): signatures, encrypted reasoning.
    """

    blocks: list[Any]
    answers: list[Answer]
    aside: list[tuple[str, Any]]


def said(content: Any, depth: int = 0) -> Said:
    """Read the content of a message.

    Args:
        content: Text, a part, a list of either, or nothing.
        depth: How deep it stands in results; what is too deep is taken as JSON text.

    Example:
        >>> said([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes."}]).blocks
        [{'type': 'reasoning', 'text': 'Hm.'}, {'type': 'text', 'text': 'Yes.'}]
        >>> said("Hello.")
        Said(blocks=[{'type': 'text', 'text': 'Hello.'}], answers=[], aside=[])
    """
    result = Said([], [], [])
    if content is None:
        return result
    for part in content if isinstance(content, list) else [content]:
        _take(part, result, depth)
    return result


def _take(part: Any, into: Said, depth: int) -> None:
    if not isinstance(part, dict) or depth > _DEEPEST:
        text = text_from(part)
        if text:
            into.blocks.append({"type": "text", "text": text})
        return
    kind = part.get("type")
    if not isinstance(kind, str):
        kind = "text" if isinstance(part.get("text"), str) else ""
    if kind in _TEXT:
        into.blocks.append({"type": "text", "text": text_from(part.get("text"))})
    elif kind == "refusal":
        into.blocks.append({"type": "text", "text": text_from(part.get("refusal"))})
    elif kind in ("thinking", "reasoning", "redacted_thinking"):
        _think(part, kind, into)
    elif kind in _CALLS:
        call_id = text_from(part.get("id"))
        arguments: Any = next((part[key] for key in ("input", "arguments", "args") if key in part), {})
        name = text_from(part.get("name") or part.get("function"))
        into.blocks.append({"type": "tool-call", "id": call_id, "name": name, "arguments": text_from(arguments)})
        if part.get("result") is not None or part.get("error") is not None:  # done by the provider, answer included
            failure = part.get("error")
            into.answers.append(
                Answer(call_id, said(part.get("result") or failure, depth + 1).blocks, failure is not None, name)
            )
    elif kind == "tool_result" or kind.endswith("_tool_result") or kind in ("tool-result", "toolResult"):
        call_id = text_from(next((part[key] for key in ("tool_use_id", "toolCallId", "id") if key in part), None))
        inner = said(part["content"] if "content" in part else part.get("output"), depth + 1)
        failed = part.get("is_error") is True or part.get("isError") is True
        into.answers.append(Answer(call_id, inner.blocks, failed, text_from(part.get("name"))))
        into.aside.extend(inner.aside)
    else:
        into.blocks.append(part)


def _think(part: dict[str, Any], kind: str, into: Said) -> None:
    redacted = kind == "redacted_thinking" or part.get("redacted") is True
    inner = next((part[key] for key in ("thinking", "reasoning", "text") if isinstance(part.get(key), str)), None)
    if redacted or inner is None:
        hidden, inner = inner, _joined(part.get("summary") or part.get("content"))
        if hidden:
            into.aside.append(("redacted_reasoning", hidden))
    into.blocks.append({"type": "reasoning", "text": inner})
    for key in ("signature", "data", "encrypted_content", "internal"):
        if part.get(key):
            into.aside.append((f"reasoning_{key}", part[key]))


def _joined(parts: Any) -> str:
    if isinstance(parts, list):
        return "\n\n".join(text_from(part.get("text") if isinstance(part, dict) else part) for part in parts)
    return text_from(parts)


def tool_schemas(tools: Any) -> list[dict[str, Any]]:
    """Give the tools of a request as the log writes them; what names no tool is left out.

    Example:
        >>> tool_schemas([{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}])
        [{'name': 'ls', 'description': '', 'parameters': {'type': 'object'}}]
    """
    return [schema for tool in _list(tools) if (schema := _schema(tool)) is not None]


def _schema(tool: Any) -> dict[str, Any] | None:
    if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
        tool = tool["function"]
    if isinstance(tool, str):
        tool = {"name": tool}
    if not isinstance(tool, dict):
        return None
    name = next((tool[key] for key in ("name", "title", "type", "kind") if isinstance(tool.get(key), str)), "")
    if not name:
        return None
    found = (tool.get(key) for key in ("parameters", "input_schema", "inputSchema"))
    parameters = next((item for item in found if isinstance(item, dict)), {})
    return {"name": name, "description": text_from(tool.get("description")), "parameters": parameters}


def _list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()
