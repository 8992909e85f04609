"""Entries of pi sessions, for tests."""

from typing import Any

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}


def entry(identity: str, parent: str | None, kind: str, **fields: Any) -> dict[str, Any]:
    """An entry; its time is its place in the alphabet, so that times are told apart."""
    time = f"2026-01-01T00:{min(sum(map(ord, identity)) % 3600 // 60, 59):02}:{sum(map(ord, identity)) % 60:02}.000Z"
    return {"type": kind, "id": identity, "parentId": parent, "timestamp": time, **fields}


def user(identity: str, parent: str | None, text: str = "Go on.", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return entry(identity, parent, "message", message={"role": "user", "content": content, **fields})


def assistant(identity: str, parent: str | None, *calls: str, stop: str | None = None, **fields: Any) -> dict[str, Any]:
    blocks: list[Any] = [{"type": "text", "text": f"This is {identity}."}]
    blocks += [{"type": "toolCall", "id": call, "name": "read", "arguments": {"path": call}} for call in calls]
    route = {"provider": "p", "model": "m", "stopReason": stop or ("toolUse" if calls else "stop")}
    return entry(identity, parent, "message", message={"role": "assistant", "content": blocks, **route, **fields})


def result(identity: str, parent: str | None, call: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": f"Result of {call}."}]
    inner = {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": content, "isError": False}
    return entry(identity, parent, "message", message={**inner, **fields})


def compaction(identity: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return entry(identity, parent, "compaction", **{"summary": f"Summary {identity}.", "tokensBefore": 1000, **fields})
