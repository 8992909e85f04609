"""Valid payloads of the fourteen core event types, and a session to try them on."""

from collections.abc import Sequence
from typing import Any

from dsh_session import Session

Payload = dict[str, Any]

USER: Payload = {"kind": "user"}
ROUTE: Payload = {"provider": "mock", "model": "m1"}

SURFACE_TYPES = ("user/message", "assistant/message", "tool/result", "context/message", "steering/message")
LOG_ONLY_TYPES = (
    "turn/start",
    "turn/end",
    "step/start",
    "step/end",
    "prompt/blocked",
    "assistant/chunk",
    "tool/call",
    "todo/write",
    "request/header",
)


def text(words: str) -> Payload:
    """A text block."""
    return {"type": "text", "text": words}


def payload(type_: str, words: str = "hello") -> Payload:
    """The smallest payload of a core event type that its shape allows."""
    content = [text(words)]
    step: Payload = {"turn": 1, "step": 1}
    return {
        "turn/start": lambda: {"turn": 1, "trigger": {"kind": "message", "source": USER}},
        "turn/end": lambda: {"turn": 1, "reason": {"kind": "completed"}},
        "step/start": lambda: dict(step),
        "step/end": lambda: dict(step),
        "user/message": lambda: {"content": content, "source": USER},
        "prompt/blocked": lambda: {"content": content, "source": USER, "reason": words},
        "context/message": lambda: {"content": content, "source": USER},
        "assistant/chunk": lambda: {**step, "chunk": {"type": "text-delta", "index": 0, "text": words}},
        "assistant/message": lambda: {**step, "content": content, "provenance": dict(ROUTE)},
        "tool/call": lambda: {**step, "callId": "c1", "name": "bash", "arguments": "{}"},
        "tool/result": lambda: {**step, "callId": "c1", "content": content, "isError": False},
        "steering/message": lambda: {"turn": 1, "content": content, "source": USER},
        "todo/write": lambda: {"todos": [{"content": words, "status": "pending"}]},
        "request/header": lambda: {"header": {"config": dict(ROUTE)}, "reason": "initial"},
    }[type_]()


def wire_event(
    type_: str,
    seq: int,
    words: str = "hello",
    *,
    data: Any = ...,
    surface_op: Any = ...,
    sources: Sequence[int] | None = None,
) -> Payload:
    """An event in its wire form; a surface type joins at the tail unless it is told otherwise."""
    event: Payload = {
        "type": type_,
        "seq": seq,
        "time": 1000 + seq,
        "data": payload(type_, words) if data is ... else data,
    }
    if sources is not None:
        event["sourceEventSeqs"] = list(sources)
    if surface_op is not ...:
        event["surfaceOp"] = surface_op
    elif type_ in SURFACE_TYPES:
        event["surfaceOp"] = "append"
    return event


class Ticks:
    """A clock that starts at 1000 and advances by one each time it is read."""

    def __init__(self) -> None:
        self.now = 999

    def __call__(self) -> int:
        self.now += 1
        return self.now


def session(*, check_payloads: bool = True) -> Session:
    """An empty session with a deterministic clock."""
    return Session("s", clock=Ticks(), check_payloads=check_payloads)


def conversation(*, check_payloads: bool = True) -> Session:
    """A session of seven events: a turn, three messages (1, 3, 5), a header and a call; nothing replaced."""
    talk = session(check_payloads=check_payloads)
    talk.append("turn/start", payload("turn/start"))
    talk.append("user/message", payload("user/message", "one"), surface_op="append")
    talk.append("request/header", payload("request/header"))
    talk.append("assistant/message", payload("assistant/message", "two"), surface_op="append")
    talk.append("tool/call", payload("tool/call"))
    talk.append("tool/result", payload("tool/result", "three"), surface_op="append", source_event_seqs=[4])
    talk.append("todo/write", payload("todo/write"))
    return talk
