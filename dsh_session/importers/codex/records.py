"""The lines of a Codex rollout as records of one shape, whatever version wrote them.

A line of today is ``{timestamp, type, payload}``. The first versions wrote the items bare, or one
document; ``codex exec --json`` prints a third form.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat.moments import moment
from dsh_session.importers.reading import decode, lines

ENVELOPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""The types of lines that hold something for the log."""

OTHER_ENVELOPES: Final = frozenset(
    {
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "ghost_snapshot",
        "security_risk_score",
        "realtime_item",
        "retained_context",
        "token_usage_record",
    }
)
"""The types of lines that are known and belong into the side table."""

ITEMS: Final = frozenset(
    {
        "message",
        "agent_message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "local_shell_call_output",
        "web_search_call",
        "tool_search_call",
        "tool_search_output",
        "image_generation_call",
        "compaction",
        "compaction_summary",
        "context_compaction",
        "ghost_snapshot",
        "additional_tools",
        "configuration_update",
        "mcp_tool_call",
        "mcp_tool_call_output",
        "computer_call",
        "computer_call_output",
    }
)
"""The types of response items that are about."""

STARTS: Final = ("task_started", "turn_started")
"""The events that begin a turn."""

COUNTS: Final = ("token_count", "token_usage_record")
"""The records that hold token counts: of old and of today, often both beside each other."""

ENDS: Final = ("task_complete", "turn_complete", "turn.completed")
"""The events that end one as it should."""

_STREAM: Final = {
    "thread.started": "session_configured",
    "turn.started": "task_started",
    "turn.completed": "turn.completed",
    "turn.failed": "error",
    "error": "error",
}
_SPOKEN: Final = {
    "agent_message": "agent_message",
    "assistant_message": "agent_message",
    "reasoning": "agent_reasoning",
}


class Record(NamedTuple):
    """One line, or one item of a document.

    Attributes:
        line: The 1-based line.
        time: Epoch milliseconds; None where it does not say.
        kind: ``"meta"``, ``"settings"``, ``"item"``, ``"event"``, ``"compacted"`` or ``"other"``.
        type: The type of the item or event; of others that of the line.
        data: What it holds.
        raw: The whole line, for the side table; None when `data` is all of it.
    """

    line: int
    time: int | None
    kind: str
    type: str
    data: dict[str, Any]
    raw: Any = None


def read_records(source: Path | bytes, book: Book) -> list[Record]:
    """Read a rollout; lines that are no records go to the side table.

    Args:
        source: The file, or its bytes.
        book: Takes the findings, and what is no record.
    """
    found: list[Record] = []
    for line in lines(source, book):
        value = decode(line, book)
        if isinstance(value, dict):
            if isinstance(value.get("items"), list) and isinstance(value.get("session"), dict):
                found.append(_meta(line.number, value["session"]))
                found += [
                    _record(item, line.number) if isinstance(item, dict) else _other(line.number, item)
                    for item in value["items"]
                ]
            else:
                found.append(_record(value, line.number))
        elif value is not None:
            book.finding("NOT_AN_OBJECT", "a line that is no JSON object is kept in the side table", line.number)
            book.side("line", value, line=line.number)
    said = {_said_by_agent(record) for record in found if record.kind == "item" and record.type == "agent_message"}
    return [_as_item(record, said) for record in found]


def _as_item(record: Record, said: set[tuple[str, str]]) -> Record:
    """Make what one agent told another an item, as newer versions write it, where no item says the same.

    The model gets it either way: to a sub-agent it is the task.
    """
    if record.type != "inter_agent_communication" or not isinstance(record.data.get("content"), str):
        return record
    identity, text = _said_by_agent(record)
    if not text or any(text == told or (identity and identity == other) for other, told in said):
        return record
    content = [{"type": "input_text", "text": text}]
    return record._replace(kind="item", type="agent_message", data={**record.data, "content": content})


def _said_by_agent(record: Record) -> tuple[str, str]:
    content = record.data.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (text_from(part.get("text")) for part in parts if isinstance(part, dict))
    return text_from(record.data.get("id")), "\n".join(texts)


def _record(value: dict[str, Any], line: int) -> Record:
    kind = value.get("type")
    time = moment(value.get("timestamp"))
    payload = value.get("payload", value.get("item") if kind in ("response_item", "compacted") else None)
    if isinstance(kind, str) and isinstance(payload, dict) and (kind in ENVELOPES or kind in OTHER_ENVELOPES):
        return _enveloped(kind, payload, line, time, value)
    if isinstance(kind, str) and kind in OTHER_ENVELOPES:
        return Record(line, time, "other", kind, value)
    return _bare(value, line, time)


def _enveloped(kind: str, payload: dict[str, Any], line: int, time: int | None, value: dict[str, Any]) -> Record:
    inner = payload.get("type")
    inner = inner if isinstance(inner, str) else ""
    if time is None:
        time = moment(payload.get("timestamp"))
    if kind == "session_meta":
        return Record(line, time, "meta", kind, payload, value)
    if kind == "turn_context":
        nested = payload.get("turn_context")
        return Record(line, time, "settings", kind, nested if isinstance(nested, dict) else payload, value)
    if kind == "compacted":
        return Record(line, time, "compacted", kind, payload, value)
    if kind == "event_msg":
        return Record(line, time, "event", inner, payload, value)
    if kind == "token_usage_record" and isinstance(payload.get("usage"), dict):
        counts = {"last_token_usage": payload["usage"], "total_token_usage": payload.get("thread_token_usage")}
        return Record(line, time, "event", kind, {"info": counts}, value)
    if kind != "response_item":
        return Record(line, time, "other", kind, payload, value)
    if not inner and "role" in payload:
        inner = "message"
    if inner == "token_count":  # seen among the items of converted logs
        return Record(line, time, "event", inner, payload, value)
    return Record(line, time, "item", inner, payload, value)


def _meta(line: int, session: dict[str, Any]) -> Record:
    return Record(line, moment(session.get("timestamp")), "meta", "session_meta", session)


def _other(line: int, value: Any) -> Record:
    return Record(line, None, "other", "item", {}, value)


# --------------------------------------------------------------------------------------------------- without envelope


def _bare(value: dict[str, Any], line: int, time: int | None) -> Record:
    """Read a line of the first versions, of a log that drifted from them, or of ``codex exec --json``."""
    kind = value.get("type")
    if time is None:
        time = moment(value.get("created_at"))
    if kind is None and "record_type" not in value:
        if "role" in value:
            content = value.get("content", value.get("message"))
            return Record(line, time, "item", "message", {**value, "content": content})
        if "id" in value and ("timestamp" in value or "instructions" in value):
            return Record(line, time, "meta", "session_meta", value)
    if not isinstance(kind, str):
        return Record(line, time, "other", text_from(value.get("record_type")) or "line", value)
    if kind == "function_result":
        output = {"call_id": value.get("call_id"), "name": value.get("name"), "output": value.get("result")}
        return Record(line, time, "item", "function_call_output", output, value)
    if kind == "function_call":
        return Record(line, time, "item", kind, _named(value), value)
    if kind in ITEMS:
        return Record(line, time, "item", kind, value)
    if kind in _STREAM:
        return _from_stream(kind, value, line, time)
    if kind == "item.completed" and isinstance(value.get("item"), dict):
        item = value["item"]
        spoken = _SPOKEN.get(text_from(item.get("type")))
        if spoken is not None:
            text = text_from(item.get("text"))
            return Record(line, time, "event", spoken, {"message": text, "text": text}, value)
        return Record(line, time, "event", "item_completed", {"item": item}, value)
    return Record(line, time, "other", kind, value)


def _named(value: dict[str, Any]) -> dict[str, Any]:
    function = value.get("function")
    if "name" in value or not isinstance(function, dict):
        return value
    return {**value, "name": function.get("name"), "arguments": value.get("arguments", function.get("arguments"))}


def _from_stream(kind: str, value: dict[str, Any], line: int, time: int | None) -> Record:
    if kind == "thread.started":
        return Record(line, time, "meta", "session_meta", {"id": value.get("thread_id")}, value)
    error = value.get("error")
    message = error.get("message") if isinstance(error, dict) else value.get("message")
    return Record(line, time, "event", _STREAM[kind], {**value, "message": message}, value)
