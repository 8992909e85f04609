"""How the payloads of later revisions become those of version 0; what is dropped is given back beside them."""

from collections.abc import Mapping
from typing import Any, Final

from dsh_session.importers.blocks import lawful_json, text_from
from dsh_session.importers.dsh_later.rewriter import INTERRUPTED
from dsh_session.importers.lawful import reason_from, usage_from

_NOT_RUN: Final = frozenset({"TOOL_NOT_STARTED", "TOOL_OUTCOME_UNKNOWN", "interrupted"})
_SUMMARY: Final = 200  # characters of a nested call's result that version 0 keeps

RENAMED: Final = {
    "sandbox/mode": "bash/sandbox-mode",
    "compaction/start": "compact/start",
    "compaction/summary": "compact/summary",
    "compaction/end": "compact/end",
}
"""Types that have another name in version 0."""

KEPT: Final = frozenset(
    {
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "bash/sandbox-mode",
        "compact/end",
        "compact/start",
        "compact/summary",
        "hook/invoked",
        "hook/result",
        "permission/preset",
        "prompt/blocked",
        "todo/write",
        "tool/code-dispatch",
    }
)
"""Log-only types that version 0 has too, by their names there."""

DROPPED: Final = frozenset(
    {
        "agent-preset/selected",
        "agent/inbox/spliced",
        "command/done",
        "command/run",
        "compact/prune",
        "compaction/prune",
        "feedback/record",
        "goal/change",
        "llm/retry",
        "llm/retry-started",
        "plan/mode",
        "request/context",
        "schedule/change",
        "session/end-seed",
        "session/title",
        "session/title-llm-request",
        "subagent/descriptor",
        "tool/code-dispatch-start",
    }
)
"""Types that have no place in version 0; families such as ``team/*`` besides."""

DROPPED_FAMILIES: Final = ("tool-workflow/", "team/", "web/")

_FIELDS: Final = {
    "approval/asked": ("id", "toolName", "callId", "reason"),
    "approval/decided": ("id", "outcome"),
    "approval/policy": ("policy",),
    "bash/sandbox-mode": ("mode",),
    "compact/end": ("turn", "error"),
    "compact/start": ("turn",),
    "hook/invoked": ("turn", "point", "dialect", "matcher", "handlerId"),
    "hook/result": ("turn", "point", "handlerId", "decision", "exitCode", "stderrSummary", "durationMs"),
    "permission/preset": ("preset",),
    "todo/write": ("todos",),
}

Split = tuple[dict[str, Any], dict[str, Any]]
"""What is kept, and what is not."""


def split(data: Mapping[str, Any], names: tuple[str, ...]) -> Split:
    """Tell the named fields from the others."""
    kept = {name: data[name] for name in names if name in data}
    return kept, {name: value for name, value in data.items() if name not in names}


def log_only(kind: str, data: Mapping[str, Any], turn: int) -> Split:
    """Map the payload of a log-only event.

    Args:
        kind: Its version-0 type.
        data: Its payload.
        turn: The turn that it lies in.

    Example:
        >>> log_only("approval/policy", {"policy": "ask", "source": "user"}, 1)
        ({'policy': 'ask'}, {'source': 'user'})
        >>> log_only("tool/code-dispatch", {"name": "ls", "content": [{"type": "text", "text": "a.txt"}]}, 1)[0]
        {'name': 'ls', 'resultSummary': 'a.txt'}
    """
    names = _FIELDS.get(kind)
    kept, rest = (dict(data), {}) if names is None else split(data, names)
    if "turn" in kept:
        kept["turn"] = turn
    if kind == "hook/invoked" and kept.get("dialect") == "claude-code":
        kept["dialect"] = "claude"
    if kind == "tool/code-dispatch" and "content" in kept:
        content = kept.pop("content")
        rest["content"] = content
        kept.setdefault("resultSummary", _text_in(content)[:_SUMMARY])
    return lawful_json(kept), rest


def _text_in(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(text_from(block.get("text")) for block in blocks if isinstance(block, dict) and "text" in block)


def end_reason(reason: Any, step: int) -> Split:
    """Map why a turn ended.

    Example:
        >>> end_reason({"kind": "aborted", "reason": {"kind": "cancel"}}, 1)[0]
        {'kind': 'aborted', 'reason': 'cancel'}
        >>> end_reason({"kind": "error", "error": {"message": "no", "code": "X", "status": 500}}, 2)
        ({'kind': 'error', 'step': 2, 'message': 'no', 'code': 'X'}, {'status': 500})
    """
    given = dict(reason) if isinstance(reason, dict) else {"kind": text_from(reason) or "completed"}
    kind, inner = given.get("kind"), given.get("reason")
    if kind == "aborted" and isinstance(inner, dict):
        if inner.get("kind") == "disposed":
            return {"kind": "disposed"}, split(inner, ("kind",))[1]
        told = inner.get("reason") if inner.get("reason") is not None else inner.get("kind")
        return reason_from({"kind": "aborted", "reason": told}, step), split(inner, ("kind", "reason"))[1]
    if kind == "blocked":
        return {"kind": "rejected", "reason": text_from(inner)}, split(given, ("kind", "reason"))[1]
    error = given.get("error")
    if kind == "error" and isinstance(error, dict):
        told = {"kind": "error", "message": error.get("message"), "code": error.get("code"), "step": given.get("step")}
        return reason_from(told, step), split(error, ("message", "code"))[1]
    made = reason_from(given, step)
    return made, {key: value for key, value in given.items() if key not in made and value is not None}


def chunk(given: Mapping[str, Any]) -> dict[str, Any]:
    """Map a stream chunk: a failure that is an object of its own becomes two fields.

    Example:
        >>> chunk({"type": "finish", "reason": {"kind": "error", "failure": {"message": "no", "code": "X"}}})
        {'type': 'finish', 'reason': {'kind': 'error', 'message': 'no', 'code': 'X'}}
    """
    reason = given.get("reason")
    failure = reason.get("failure") if isinstance(reason, dict) else None
    if not isinstance(failure, dict) or not isinstance(reason, dict):
        return dict(given)
    told = {"kind": reason.get("kind"), "message": text_from(failure.get("message"))}
    if failure.get("code") is not None:
        told["code"] = text_from(failure["code"])
    return {**given, "reason": told}


def answer(data: Mapping[str, Any]) -> Split:
    """Map an assistant message, folded or not; its content is the caller's business.

    Example:
        >>> answer({"message": {"content": [], "source": {"kind": "model", "provider": "p", "model": "m"}, "id": "i"}})
        ({'content': [], 'provenance': {'provider': 'p', 'model': 'm'}}, {'message': {'id': 'i'}})
    """
    message = data.get("message")
    if isinstance(message, dict):
        source = message.get("source") if isinstance(message.get("source"), dict) else {}
        kept, rest = split(message, ("content", "source", "role"))
        content, further = kept.get("content"), split(data, ("turn", "step", "message", "usage"))[1]
        if rest:
            further["message"] = rest
    else:
        source = data.get("provenance") if isinstance(data.get("provenance"), dict) else {}
        content, further = data.get("content"), split(data, ("turn", "step", "content", "provenance", "usage"))[1]
    assert isinstance(source, dict)
    made: dict[str, Any] = {"content": content, "provenance": _route(source)}
    usage = usage_from(data.get("usage"))
    if usage is not None:
        made["usage"] = usage
    return made, further


def _route(source: Mapping[str, Any]) -> dict[str, Any]:
    route: dict[str, Any] = {
        key: source[key] if type(source.get(key)) is str and source[key] else "unknown" for key in ("provider", "model")
    }
    if source.get("replayState") is not None:
        route["replayState"] = lawful_json(source["replayState"])
    return route


def result(data: Mapping[str, Any]) -> Split:
    """Map a tool's result, folded or not; its content is the caller's business.

    Example:
        >>> block = {"type": "tool-result", "toolCallId": "c", "content": [], "isError": True}
        >>> result({"message": {"content": [block], "id": "i"}, "error": {"name": "E", "code": "TOOL_NOT_STARTED"}})[0]
        {'callId': 'c', 'content': [], 'isError': True, 'error': {'name': 'InterruptedError', 'code': 'interrupted'}}
    """
    message = data.get("message")
    further = split(data, ("turn", "step", "message", "callId", "content", "isError", "error", "meta"))[1]
    call, content, is_error = data.get("callId"), data.get("content"), data.get("isError")
    if isinstance(message, dict):
        blocks = [block for block in _list(message.get("content")) if isinstance(block, dict)]
        first = next((block for block in blocks if block.get("type") == "tool-result"), {})
        source = message.get("source") if isinstance(message.get("source"), dict) else {}
        assert isinstance(source, dict)
        call = first.get("toolCallId", source.get("callId"))
        content, is_error = first.get("content"), first.get("isError")
        rest = split(message, ("content", "role", "source"))[1]
        others = [block for block in blocks if block is not first]
        if others:
            rest["content"] = others
        if rest:
            further["message"] = rest
    made: dict[str, Any] = {"callId": text_from(call), "content": content, "isError": is_error is True}
    error = data.get("error")
    if isinstance(error, dict):
        if made["isError"] and error.get("code") in _NOT_RUN if isinstance(error.get("code"), str) else False:
            made["error"] = INTERRUPTED
            if error != INTERRUPTED:
                further["error"] = error
        else:
            made["error"] = {"name": text_from(error.get("name")), "code": text_from(error.get("code"))}
    if data.get("meta") is not None:
        made["meta"] = lawful_json(data["meta"])
    return made, further


def header(data: Mapping[str, Any]) -> Split:
    """Map a request header: what the adapter filled in by itself is dropped.

    Example:
        >>> header({"header": {"config": {"provider": "p", "model": "m"}, "adapterDefaults": {}}, "reason": "new"})
        ({'header': {'config': {'provider': 'p', 'model': 'm'}}, 'reason': 'change'},
         {'adapterDefaults': {}, 'reason': 'new'})
    """
    given = data.get("header") if isinstance(data.get("header"), dict) else {}
    assert isinstance(given, dict)
    kept, rest = split(given, ("config", "system", "tools", "messagePrefix"))
    config = kept.get("config") if isinstance(kept.get("config"), dict) else {}
    assert isinstance(config, dict)
    reason = data.get("reason")
    if reason not in ("initial", "resume", "change"):
        rest["reason"] = reason
        reason = "change"
    made = {"header": {**lawful_json(kept), "config": {**lawful_json(config), **_route(config)}}, "reason": reason}
    return made, rest


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
