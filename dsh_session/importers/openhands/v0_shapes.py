"""What the actions and observations of OpenHands' first generation hold, taken apart."""

from collections.abc import Mapping
from typing import Any, Final

from dsh_session.importers.blocks import text_from
from dsh_session.importers.openhands.records import Record, object_of
from dsh_session.importers.openhands.writing import is_number

SILENT_ACTIONS: Final = frozenset(
    {
        "recall",
        "change_agent_state",
        "null",
        "condensation_request",
        "start",
        "pause",
        "resume",
        "stop",
        "loop_recovery",
    }
)
_NO_ARGUMENTS: Final = frozenset(
    {"thought", "confirmation_state", "security_risk", "is_confirmed", "blocking", "hidden", "is_static", "impl_source"}
)
_INSTRUCTIONS: Final = ("repo_instructions", "additional_agent_instructions", "conversation_instructions")


def is_first_generation(event: Any) -> bool:
    """Tell whether an event is one of the first generation.

    Example:
        >>> is_first_generation({"id": 3, "source": "user", "action": "message", "args": {}})
        True
    """
    if not isinstance(event, dict) or "source" not in event:
        return False
    return ("action" in event and "args" in event) or ("observation" in event and "content" in event)


def is_call(event: Mapping[str, Any]) -> bool:
    """Tell whether an event is a tool call of the model's."""
    kind = event.get("action")
    if not isinstance(kind, str) or kind in ("system", "message", "condensation") or kind in SILENT_ACTIONS:
        return False
    return event.get("source") == "agent" or isinstance(event.get("tool_call_metadata"), dict)


def answer_id(event: Mapping[str, Any]) -> str:
    """Give the id of the model's answer that an action is a part of, where it holds several; else nothing."""
    metadata = object_of(event, "tool_call_metadata")
    several = metadata.get("total_calls_in_response")
    return text_from(object_of(metadata, "model_response").get("id")) if is_number(several) and several > 1 else ""


def call_id_of(record: Record) -> str:
    """Give the id of an action's tool call; one of its own where it has none."""
    return text_from(object_of(record.event, "tool_call_metadata").get("tool_call_id")) or f"action-{record.key}"


def names_of_call(event: Mapping[str, Any]) -> list[str]:
    """Give the names under which an observation's call may be found: its id, and the event that caused it."""
    named = text_from(object_of(event, "tool_call_metadata").get("tool_call_id"))
    cause = event.get("cause")
    return [*([named] if named else []), *([f"#{text_from(cause)}"] if cause is not None and cause != -1 else [])]


def answered_call(event: Mapping[str, Any], calls: Mapping[str, Record]) -> str:
    """Give the id of the call, among those of one answer, that an observation is for."""
    names = names_of_call(event)
    for call_id, part in calls.items():
        if call_id in names or f"#{part.key}" in names:
            return call_id
    return names[0] if names else ""


def call_block(record: Record) -> dict[str, Any]:
    """Give an action as a tool-call block, with the arguments as the model wrote them where the log has them."""
    metadata = object_of(record.event, "tool_call_metadata")
    call_id = call_id_of(record)
    written = _as_written(metadata, call_id)
    arguments = {name: value for name, value in record.object("args").items() if name not in _NO_ARGUMENTS}
    if record.event.get("action") == "think":
        arguments = {"thought": record.object("args").get("thought")}
    name = text_from(metadata.get("function_name")) or text_from(record.event.get("action"))
    return {
        "type": "tool-call",
        "id": call_id,
        "name": name,
        "arguments": arguments if written is None else written,
    }


def _as_written(metadata: Mapping[str, Any], call_id: str) -> Any:
    """Give a call's arguments as the model wrote them, where the log keeps its answer."""
    for choice in _list(object_of(metadata, "model_response").get("choices")):
        for call in _list(object_of(choice, "message").get("tool_calls")):
            if call.get("id") == call_id:
                return object_of(call, "function").get("arguments")
    return None


def reasoning_blocks(event: Mapping[str, Any]) -> list[Any]:
    """Give what the model thought, where the log keeps its answer."""
    response = object_of(object_of(event, "tool_call_metadata"), "model_response")
    for choice in _list(response.get("choices")):
        plain = object_of(choice, "message").get("reasoning_content")
        if isinstance(plain, str) and plain:
            return [{"type": "reasoning", "text": plain}]
    return []


def recalled(record: Record) -> list[Any]:
    """Give what a recall put before the model: the log has its parts, not the text that was made of them."""
    extras = record.object("extras")
    knowledge = _list(extras.get("microagent_knowledge"))
    texts = [
        record.event.get("content"),
        *(extras.get(key) for key in _INSTRUCTIONS),
        *(item.get("content") for item in knowledge),
    ]
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str) and text]


def said_by_user(record: Record) -> list[Any]:
    """Give what a person did by hand, in the log's own words."""
    return [{"type": "text", "text": text_from(record.event.get("message")) or text_from(record.event.get("action"))}]


def _list(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
