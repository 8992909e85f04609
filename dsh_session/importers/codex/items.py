"""The items of a Codex rollout as content blocks, tool calls and tool results."""

import json
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.records import Record

CALLS: Final = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
        "mcp_tool_call",
        "computer_call",
    }
)
"""The items that ask for a tool."""

UNANSWERED: Final = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the provider runs itself: the log has no output of them."""

PARTS: Final = CALLS | {"reasoning"}
"""The items that are part of a response, beside its messages."""

_TEXTS: Final = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "Text")
_KNOWN: Final = frozenset(
    {
        "type",
        "role",
        "content",
        "name",
        "arguments",
        "input",
        "call_id",
        "action",
        "output",
        "summary",
        "namespace",
        "result",
        "timestamp",
        "created_at",
        "message",
        "function",
    }
)


class Output(NamedTuple):
    """What a tool gave.

    Attributes:
        content: Content blocks.
        is_error: Whether it says that it failed.
        meta: What it says beside; None for nothing.
    """

    content: list[Any]
    is_error: bool
    meta: dict[str, Any] | None


def blocks_of(content: Any) -> list[Any]:
    """Give the content of a message as blocks; images stay what they are.

    Example:
        >>> blocks_of([{"type": "input_text", "text": "a"}]), blocks_of("b")
        ([{'type': 'text', 'text': 'a'}], [{'type': 'text', 'text': 'b'}])
    """
    if not isinstance(content, list):
        return [] if content in (None, "") else [{"type": "text", "text": text_from(content)}]
    made = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _TEXTS or (isinstance(part, dict) and kind is None and isinstance(part.get("text"), str)):
            made.append({"type": "text", "text": text_from(part.get("text"))})
        elif isinstance(part, str):
            made.append({"type": "text", "text": part})
        else:
            made.append(part)
    return made


def plain_text(content: Any) -> str:
    r"""Give the texts of a message, one below the other.

    Example:
        >>> plain_text([{"type": "input_text", "text": "a"}, {"type": "input_image"}, {"type": "text", "text": "b"}])
        'a\nb'
    """
    texts = (
        block.get("text") for block in blocks_of(content) if isinstance(block, dict) and block.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def reasoning_of(item: dict[str, Any]) -> list[Any]:
    """Give the readable part of a piece of reasoning: its content, or else its summary."""
    content = blocks_of(item.get("content")) or blocks_of(item.get("summary"))
    texts = [text_from(part.get("text")) for part in content if isinstance(part, dict)]
    return [{"type": "reasoning", "text": "\n\n".join(text for text in texts if text)}]


def call_of(record: Record) -> dict[str, Any]:
    """Give the tool call that an item is; one without an id gets that of its line.

    Example:
        >>> call_of(Record(7, None, "item", "web_search_call", {"action": {"query": "rust"}}))
        {'type': 'tool-call', 'id': 'web_search_call-7', 'name': 'web_search', 'arguments': '{"query":"rust"}'}
    """
    item = record.data
    name = text_from(item.get("name"))
    if not name:
        name = record.type.removesuffix("_call")
    namespace = item.get("namespace")
    if isinstance(namespace, str) and namespace:
        name = f"{namespace}.{name}"
    asked = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), None)
    return {"type": "tool-call", "id": call_id_of(record), "name": name, "arguments": text_from(asked) or "{}"}


def call_id_of(record: Record) -> str:
    """Give the id of a tool call."""
    for key in ("call_id", "id"):
        if isinstance(record.data.get(key), str) and record.data[key]:
            return str(record.data[key])
    return f"{record.type}-{record.line}"


def output_of(item: dict[str, Any]) -> Output:
    r"""Give what a tool gave.

    Args:
        item: Its ``output`` is text, content parts, ``{content, success}`` or ``{output, metadata}``; older
            shells write the last one as JSON text.

    Example:
        >>> output_of({"output": {"output": "done", "metadata": {"exit_code": 1}}})
        Output(content=[{'type': 'text', 'text': 'done'}], is_error=False, meta={'exit_code': 1})
        >>> output_of({"output": '{"output":"x","metadata":{"exit_code":0}}'}).meta
        {'exit_code': 0}
    """
    output = item.get("output")
    if output is None and item.get("tools"):
        output = text_from(item["tools"])  # what a search for tools has found
    meta: dict[str, Any] = {}
    failed = item.get("success") is False or item.get("status") == "failed"
    if isinstance(output, dict):
        inner = next((output[key] for key in ("content", "output", "content_items") if key in output), None)
        failed = failed or output.get("success") is False or output.get("isError") is True
        meta.update(_exit_of(output))
        if inner is None:
            inner = text_from(output)
        output = inner
    elif isinstance(output, str) and output.startswith("{") and '"metadata"' in output:
        meta.update(_exit_of(_object(output)))
    return Output(blocks_of(output), failed, meta or None)


def _exit_of(output: dict[str, Any]) -> dict[str, Any]:
    metadata = output.get("metadata")
    return dict(metadata) if isinstance(metadata, dict) else {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def plan_of(item: dict[str, Any]) -> list[Any] | None:
    """Give the todo list that a call of ``update_plan`` writes; None for what is none."""
    arguments = item.get("arguments")
    plan = _object(arguments) if isinstance(arguments, str) else arguments or {}
    steps = plan.get("plan") if isinstance(plan, dict) else None
    return steps if isinstance(steps, list) else None


def aside_of(item: dict[str, Any]) -> dict[str, Any]:
    """Give what an item holds that has no place in a block."""
    rest = {key: value for key, value in item.items() if key not in _KNOWN and value not in (None, "", [], {})}
    if rest.get("status") == "completed":
        del rest["status"]
    return rest
