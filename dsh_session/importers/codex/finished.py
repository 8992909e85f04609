"""Finished items: the events of rollouts and streams that tell of a message or a tool as a whole.

They matter where no response items are there to say the same.
"""

import re
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.items import blocks_of, plain_text
from dsh_session.importers.codex.records import Record

_RESULTS: Final = (
    *("aggregated_output", "aggregatedOutput", "formatted_output", "result", "error", "stdout", "output"),
    *("content_items", "contentItems"),
)
_NO_TOOLS: Final = frozenset({"context_compaction", "error", "hook_prompt", "todo_list", "sub_agent_activity"})
_STATE: Final = frozenset(
    {"id", "type", "status", "exit_code", "exitCode", "call_id", "turn_id", "thread_id", *_RESULTS}
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Finished(NamedTuple):
    """One finished item.

    Attributes:
        record: A record that stands for it, when it is a message or reasoning.
        call: The tool call block, when it is a tool.
        call_id: The id of the call.
        content: What the tool gave.
        is_error: Whether it failed.
        meta: Its exit code.
        line: Its line.
        time: Its time.
    """

    record: Record | None
    call: dict[str, Any]
    call_id: str
    content: list[Any]
    is_error: bool
    meta: dict[str, Any] | None
    line: int
    time: int | None


def finished_item(record: Record) -> Finished | None:
    """Take a finished item apart; None for events that are none.

    Example:
        >>> item = {"type": "CommandExecution", "id": "c1", "command": "ls", "aggregated_output": "a", "exit_code": 0}
        >>> finished_item(Record(1, None, "event", "item_completed", {"item": item})).call
        {'type': 'tool-call', 'id': 'c1', 'name': 'command_execution', 'arguments': '{"command":"ls"}'}
    """
    if record.type == "item_completed" and isinstance(record.data.get("item"), dict):
        item = record.data["item"]
        name = _WORDS.sub("_", text_from(item.get("type"))).lower()
    elif record.type in ("exec_command_end", "mcp_tool_call_end", "patch_apply_end", "web_search_end"):
        item = {key: value for key, value in record.data.items() if key != "type"}
        name = record.type.removesuffix("_end")
    else:
        return None
    if name in ("agent_message", "assistant_message", "reasoning", "plan"):
        kind = "agent_reasoning" if name == "reasoning" else "agent_message"
        text = _text_of(item)
        return _spoken(Record(record.line, record.time, "event", kind, {"message": text, "text": text}, record.raw))
    if name in _NO_TOOLS:
        return None
    return _tool(item, name, record)


def todos_of(record: Record) -> list[Any] | None:
    """Give the todo list that a finished item is; None for other records.

    Example:
        >>> item = {"type": "todo_list", "items": [{"text": "Test it.", "completed": True}]}
        >>> todos_of(Record(1, None, "event", "item_completed", {"item": item}))
        [{'content': 'Test it.', 'status': 'completed'}]
    """
    item = record.data.get("item")
    if not isinstance(item, dict) or item.get("type") != "todo_list" or not isinstance(item.get("items"), list):
        return None
    return [
        {"content": text_from(each.get("text")), "status": "completed" if each.get("completed") is True else "pending"}
        for each in item["items"]
        if isinstance(each, dict)
    ]


def _spoken(record: Record) -> Finished:
    return Finished(record, {}, "", [], False, None, record.line, record.time)


def _text_of(item: dict[str, Any]) -> str:
    for key in ("text", "content", "summary_text", "summary"):
        value = item.get(key)
        if isinstance(value, list):
            value = plain_text([{"type": "text", **part} if isinstance(part, dict) else part for part in value])
        if isinstance(value, str) and value:
            return value
    return ""


def _tool(item: dict[str, Any], name: str, record: Record) -> Finished:
    identity = next((item[key] for key in ("call_id", "id") if isinstance(item.get(key), str) and item[key]), "")
    call_id = identity or f"{name}-{record.line}"
    asked = {key: value for key, value in item.items() if key not in _STATE and value is not None}
    call = {"type": "tool-call", "id": call_id, "name": name or "tool", "arguments": text_from(asked)}
    given = next((item[key] for key in _RESULTS if item.get(key) not in (None, "")), None)
    code = item.get("exit_code", item.get("exitCode"))
    is_error = item.get("status") in ("failed", "declined") or item.get("error") is not None
    meta = None if code is None else {"exit_code": code}
    if isinstance(given, dict):
        given = given.get("content", text_from(given))
    if name.startswith("image_generation") and isinstance(given, str):
        given = [{"type": "image", "data": given, "mimeType": "image/png"}]
    return Finished(None, call, call_id, blocks_of(given), is_error, meta, record.line, record.time)
