"""Small values of other agents in the shapes that a log's payloads have: usage, reasons, todos, settings."""

import math
from collections.abc import Mapping
from typing import Any, Final

from dsh_session.core.lossless import MAX_SAFE_INTEGER
from dsh_session.importers.blocks import lawful_json, text_from

_COUNTS: Final = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_COUNTED: Final = frozenset(_COUNTS)
_STATUSES: Final = frozenset({"pending", "in_progress", "completed"})
_DONE: Final = frozenset({"done", "complete", "finished", "cancelled"})


def usage_from(usage: Any) -> dict[str, int] | None:
    """Give token counts in their shape; None where there are none.

    Args:
        usage: Counts under their wire names; what is no whole number is left out.

    Example:
        >>> usage_from({"inputTokens": 3, "cacheReadTokens": None, "cost": 0.1}), usage_from({})
        ({'inputTokens': 3, 'outputTokens': 0}, None)
    """
    if type(usage) is dict and _is_usage(usage):
        return usage
    if not isinstance(usage, Mapping):
        return None
    found = {}
    for key in _COUNTS:
        count = usage.get(key)
        if type(count) is float and count.is_integer():
            count = int(count)
        if type(count) is int and 0 <= count <= MAX_SAFE_INTEGER:
            found[key] = count
    return {"inputTokens": 0, "outputTokens": 0, **found} if found else None


def _is_usage(usage: dict[str, Any]) -> bool:
    """Tell, quickly, counts that have their shape already."""
    for key, count in usage.items():
        if key not in _COUNTED or type(count) is not int or not 0 <= count <= MAX_SAFE_INTEGER:
            return False
    return "inputTokens" in usage and "outputTokens" in usage


def reason_from(reason: Mapping[str, Any] | str | None, step: int) -> dict[str, Any]:
    """Give a turn's end reason in its shape.

    Args:
        reason: A ``TurnEndReason``, its kind, or None for ``completed``.
        step: The turn's latest step, for an error that names none.

    Example:
        >>> reason_from("error", 2), reason_from({"kind": "aborted", "reason": "user"}, 1)
        ({'kind': 'error', 'step': 2, 'message': ''}, {'kind': 'aborted', 'reason': 'user'})
    """
    given = {"kind": reason} if isinstance(reason, str) else dict(reason or {})
    kind = given.get("kind")
    made: dict[str, Any] = {"kind": kind if type(kind) is str and kind else "completed"}
    if made["kind"] == "error":
        number = given.get("step")
        made["step"] = number if type(number) is int and 0 <= number <= MAX_SAFE_INTEGER else step
        made["message"] = text_from(given.get("message"))
        if given.get("code") is not None:
            made["code"] = text_from(given["code"])
    elif made["kind"] == "rejected":
        made["reason"] = text_from(given.get("reason"))
    elif made["kind"] == "aborted" and given.get("reason") is not None:
        made["reason"] = text_from(given["reason"])
    return made


def error_from(error: Any) -> dict[str, str]:
    """Give a tool's failure in its shape.

    Example:
        >>> error_from("timeout"), error_from({"name": "E", "code": 5})
        ({'name': 'ToolError', 'code': 'timeout'}, {'name': 'E', 'code': '5'})
    """
    if isinstance(error, Mapping):
        return {"name": text_from(error.get("name")) or "ToolError", "code": text_from(error.get("code")) or "error"}
    return {"name": "ToolError", "code": text_from(error) or "error"}


def todos_from(todos: Any) -> list[dict[str, str]]:
    """Give a todo list in its shape; items that are none are left out.

    Example:
        >>> todos_from([{"content": "test", "status": "in_progress", "activeForm": "testing"}, {"step": "ship"}])
        [{'content': 'test', 'status': 'in_progress'}, {'content': 'ship', 'status': 'pending'}]
    """
    made = []
    for item in todos if isinstance(todos, (list, tuple)) else ():
        if isinstance(item, str):
            made.append({"content": item, "status": "pending"})
        elif isinstance(item, Mapping):
            named = next((item[key] for key in ("content", "step", "title", "text") if item.get(key) is not None), "")
            status: Any = item.get("status")
            if status not in _STATUSES if isinstance(status, str) else True:
                status = "completed" if isinstance(status, str) and status in _DONE else "pending"
            made.append({"content": text_from(named), "status": status})
    return made


def config_from(config: Mapping[str, Any]) -> dict[str, Any]:
    """Give a request's settings in their shape: fields that have the wrong type, or say nothing, are left out.

    Example:
        >>> config_from({"model": "m", "temperature": None, "maxTokens": "many", "effort": "high"})
        {'model': 'm', 'effort': 'high'}
    """
    return {str(key): lawful_json(value) for key, value in config.items() if _is_setting(key, value)}


def _is_setting(key: str, value: Any) -> bool:
    if key in ("provider", "model"):
        return type(value) is str and bool(value)
    if key == "temperature":
        return type(value) is int or (type(value) is float and math.isfinite(value))
    if key == "maxTokens":
        return type(value) is int and abs(value) <= MAX_SAFE_INTEGER
    if key == "stop":
        return isinstance(value, list) and all(type(stop) is str for stop in value)
    return value is not None
