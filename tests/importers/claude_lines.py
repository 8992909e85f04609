"""Lines of Claude Code's logs, for tests."""

from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"


class Clock:
    """Gives each line a second of its own."""

    def __init__(self) -> None:
        self.second = 0

    def __call__(self) -> str:
        self.second += 1
        return f"2026-03-01T{self.second // 3600 % 24:02}:{self.second // 60 % 60:02}:{self.second % 60:02}.000Z"


clock = Clock()


def line(kind: str, uuid: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    made = {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/user/project",
        "sessionId": SESSION,
        "version": "2.1.42",
        "gitBranch": "main",
        "type": kind,
        "uuid": uuid,
        "timestamp": clock(),
    }
    return {**made, **fields}


def user(uuid: str, parent: str | None, content: Any = "Go on.", **fields: Any) -> dict[str, Any]:
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def assistant(
    uuid: str, parent: str | None, *blocks: Any, of: str | None = None, usage: Any = None, **fields: Any
) -> dict[str, Any]:
    """One line of a response; several with the same `of` are one response."""
    message = {
        "model": "claude-opus-4-6",
        "id": of or f"msg_{uuid}",
        "type": "message",
        "role": "assistant",
        "content": [block if isinstance(block, dict) else text(block) for block in blocks or (f"This is {uuid}.",)],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 1, "output_tokens": 2},
    }
    return line("assistant", uuid, parent, message=message, requestId=f"req_{of or uuid}", **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(identity: str, name: str = "Read", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given or {"file_path": "/a"}}


def result(uuid: str, parent: str | None, identity: str, content: Any = "Done.", **fields: Any) -> dict[str, Any]:
    block = {"tool_use_id": identity, "type": "tool_result", "content": content, "is_error": fields.pop("error", False)}
    return user(uuid, parent, [block], **fields)


def boundary(uuid: str, after: str | None, *, kept: tuple[str, ...] = (), **metadata: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"trigger": "auto", "preTokens": 150000, **metadata}
    if kept:
        told["preservedMessages"] = {"anchorUuid": f"{uuid}-summary", "uuids": list(kept)}
        told["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": f"{uuid}-summary", "tailUuid": kept[-1]}
    return line(
        "system",
        uuid,
        None,
        logicalParentUuid=after,
        subtype="compact_boundary",
        content="Conversation compacted",
        isMeta=False,
        level="info",
        compactMetadata=told,
    )


def summary(uuid: str, parent: str | None, words: str = "What was said before.") -> dict[str, Any]:
    return user(uuid, parent, words, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def compaction(uuid: str, after: str | None, *, kept: tuple[str, ...] = (), **metadata: Any) -> list[dict[str, Any]]:
    return [boundary(uuid, after, kept=kept, **metadata), summary(f"{uuid}-summary", uuid, f"Summary {uuid}.")]


def turn(name: str, parent: str | None) -> list[dict[str, Any]]:
    """A prompt and its answer, which is called by the turn's name with an ``a``."""
    return [user(name, parent, f"Prompt {name}."), assistant(f"{name}a", name, f"Answer {name}.")]
