"""One chat message of any of the usual shapes, taken apart."""

from typing import Any, Final, NamedTuple

import msgspec

from dsh_session.importers.blocks import text_from
from dsh_session.importers.chat.content import Answer, Said, said
from dsh_session.importers.chat.counts import usage_of
from dsh_session.importers.chat.moments import moment

ROLES: Final = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "observation": "tool",
}
"""What the roles that are about mean here."""

_BY_PROVIDER: Final = (
    *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"),
)
"""Calls that the provider runs itself: what they gave stands in them, if anywhere."""

ITEMS: Final = (
    *("function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output"),
    *("computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output", "shell_call"),
    *("shell_call_output", "apply_patch_call", "apply_patch_call_output", *_BY_PROVIDER),
)
"""Items of OpenAI's Responses API that have no role."""

_KNOWN: Final = frozenset(
    [
        "role",
        "from",
        "content",
        "value",
        "tool_calls",
        "function_call",
        "tool_call_id",
        "tool_call_ids",
        "name",
        "call_id",
        "output",
        "arguments",
        "input",
        "reasoning_content",
        "reasoning",
        "thinking",
        "thinking_blocks",
        "type",
        "summary",
        "usage",
        "model",
        "provider",
        "timestamp",
        "created_at",
    ]
)
_TIMES: Final = ("timestamp", "created_at", "createdAt", "created", "time", "date")


class ChatMessage(NamedTuple):
    """A message taken apart.

    Attributes:
        role: ``"system"``, ``"user"``, ``"assistant"``, ``"tool"``, or as it was where it is none of these.
        blocks: Content blocks; those of an assistant with its reasoning first and its calls last.
        answers: The tool results that it holds.
        aside: What has no place in an event, as (key, value).
        model: The model that wrote it; "" where it does not say.
        usage: `TokenUsage`; None where it does not say.
        time: Epoch milliseconds; None where it does not say.
        is_item: Whether it is an item of OpenAI's Responses API: several of them make up one response.
    """

    role: str
    blocks: list[Any]
    answers: list[Answer]
    aside: list[tuple[str, Any]]
    model: str = ""
    usage: dict[str, int] | None = None
    time: int | None = None
    is_item: bool = False


def is_chat_message(value: Any) -> bool:
    """Tell whether a value looks like a chat message.

    Example:
        >>> is_chat_message({"role": "user", "content": "hi"}), is_chat_message({"type": "turn/start"})
        (True, False)
    """
    if not isinstance(value, dict):
        return False
    role = value.get("role", value.get("from"))
    if _is_response(value):
        return True
    if isinstance(role, str) and role in ROLES:
        return any(key in value for key in ("content", "value", "tool_calls", "function_call"))
    return value.get("type") in ITEMS and "call_id" in value


def chat_message(raw: dict[str, Any]) -> ChatMessage:
    """Take a chat message apart.

    Args:
        raw: A message of an OpenAI- or Anthropic-style API, or an item of OpenAI's Responses API.

    Example:
        >>> message = chat_message(
        ...     {
        ...         "role": "assistant",
        ...         "content": None,
        ...         "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}],
        ...     }
        ... )
        >>> message.role, message.blocks
        ('assistant', [{'type': 'tool-call', 'id': 'c1', 'name': 'ls', 'arguments': '{}'}])
    """
    kind = raw.get("type")
    if "role" not in raw and kind in ITEMS:
        return _item(raw, str(kind))
    if _is_response(raw):
        return _response(raw)
    role = text_from(raw.get("role", raw.get("from")))
    if role == "function_call":
        call = _called_in_text(raw["content"] if "content" in raw else raw.get("value"))
        if call is not None:
            rest = [(key, value) for key, value in raw.items() if key not in _KNOWN and value not in (None, "", [], {})]
            return ChatMessage("assistant", [call], [], rest, time=_time(raw))
    role = ROLES.get(role, role)
    content = said(raw["content"] if "content" in raw else raw.get("value"))
    aside = list(content.aside)
    blocks, answers = content.blocks, content.answers
    if role == "tool":
        blocks, answers = [], [_answer(raw, content)]
    elif role == "assistant":
        blocks = [*_thoughts(raw, aside), *blocks, *_calls(raw)]
    aside.extend((key, value) for key, value in raw.items() if key not in _KNOWN and value not in (None, "", [], {}))
    return ChatMessage(
        role,
        blocks,
        answers,
        aside,
        text_from(raw.get("model")),
        usage_of(raw.get("usage")),
        _time(raw),
        is_item=kind == "message",
    )


def _time(raw: dict[str, Any]) -> int | None:
    return next((when for key in _TIMES if (when := moment(raw.get(key))) is not None), None)


def _answer(raw: dict[str, Any], content: Said) -> Answer:
    ids = raw.get("tool_call_ids")
    call_id = raw.get("tool_call_id")
    if call_id is None and isinstance(ids, list) and ids:
        call_id = ids[0]
    if content.answers:  # an Anthropic block in an OpenAI envelope
        first = content.answers[0]
        return first if first.call_id else first._replace(call_id=text_from(call_id))
    failed = raw.get("is_error") is True or isinstance(raw.get("error"), dict)
    return Answer(text_from(call_id), content.blocks, failed, text_from(raw.get("name") or raw.get("function")))


def _thoughts(raw: dict[str, Any], aside: list[tuple[str, Any]]) -> list[Any]:
    """The reasoning that stands beside the content; the blocks, where there are some, hold the same text again."""
    thoughts = said([part for part in _list(raw.get("thinking_blocks")) if isinstance(part, dict)])
    aside.extend(thoughts.aside)
    plain = next(
        (raw[key] for key in ("reasoning_content", "reasoning", "thinking") if isinstance(raw.get(key), str)), ""
    )
    if not plain:
        return thoughts.blocks
    if any(plain == block.get("text") for block in thoughts.blocks):
        return thoughts.blocks
    return [{"type": "reasoning", "text": plain}, *thoughts.blocks]


def _calls(raw: dict[str, Any]) -> list[Any]:
    calls = [_call(call) for call in _list(raw.get("tool_calls")) if isinstance(call, dict)]
    if isinstance(raw.get("function_call"), dict):
        calls.append(_call({"function": raw["function_call"]}))
    return calls


def _call(call: dict[str, Any]) -> dict[str, Any]:
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = inner.get("name") or (call.get("function") if inner is call else None)
    found: Any = next((inner[key] for key in ("arguments", "input", "args") if key in inner), {})
    return {
        "type": "tool-call",
        "id": text_from(call.get("id")),
        "name": text_from(name),
        "arguments": text_from(found),
    }


def _item(raw: dict[str, Any], kind: str) -> ChatMessage:
    time = _time(raw)
    aside = [(key, value) for key, value in raw.items() if key not in _KNOWN and value not in (None, "", [], {})]
    call_id = text_from(raw.get("call_id") or raw.get("id"))
    if kind.endswith("_output"):
        content = said(raw.get("output"))
        return ChatMessage(
            "tool", [], [Answer(call_id, content.blocks)], [*content.aside, *aside], time=time, is_item=True
        )
    if kind == "reasoning":
        content = said([raw])
        return ChatMessage("assistant", content.blocks, [], [*content.aside, *aside], time=time, is_item=True)
    call = {**_call(raw), "id": call_id}
    call["name"] = call["name"] or kind.removesuffix("_call")
    asked = next((raw[key] for key in ("action", "operation", "queries", "code") if raw.get(key)), None)
    if asked is not None and not ("arguments" in raw or "input" in raw):
        call["arguments"] = text_from(asked)
    answers = [_by_provider(call_id, raw)] if kind in _BY_PROVIDER else []
    return ChatMessage("assistant", [call], answers, aside, time=time, is_item=True)


def _by_provider(call_id: str, raw: dict[str, Any]) -> Answer:
    failure = raw.get("error")
    given = next((raw[key] for key in ("output", "outputs", "results") if raw.get(key)), failure)
    if isinstance(raw.get("result"), str) and raw["result"]:
        given = [{"type": "image", "data": raw["result"], "mimeType": "image/png"}]
    elif not isinstance(given, str) and given is not None:
        given = text_from(given)
    return Answer(call_id, said(given).blocks, failure is not None)


def _called_in_text(text: Any) -> dict[str, Any] | None:
    """Read a call that is written as JSON text, as training data has it."""
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return _call(found) if isinstance(found, dict) and isinstance(found.get("name"), str) else None


def _is_response(raw: dict[str, Any]) -> bool:
    return raw.get("object") == "response" and isinstance(raw.get("output"), list)


def _response(raw: dict[str, Any]) -> ChatMessage:
    """Take a whole response of the Responses API apart: the items of its output are one answer."""
    parts = [chat_message(item) for item in raw["output"] if isinstance(item, dict) and not _is_response(item)]
    known = ("object", "output", "model", "usage", *_TIMES)
    aside = [(key, value) for key, value in raw.items() if key not in known and value not in (None, "", [], {})]
    return ChatMessage(
        "assistant",
        [block for part in parts for block in part.blocks],
        [answer for part in parts for answer in part.answers],
        [*(row for part in parts for row in part.aside), *aside],
        text_from(raw.get("model")),
        usage_of(raw.get("usage")),
        _time(raw),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
