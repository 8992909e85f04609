"""What a type checker must accept. Every line of this file has to pass."""

from typing import Any, assert_type

from dsh_session import (
    VOCABULARY,
    EventType,
    Replace,
    Session,
    SessionEvent,
    SurfaceNode,
    derive_event_message,
    fold_surface,
    load,
    loads,
)
from dsh_session.core.payloads import ContentBlock, UserMessage

session = Session("s", clock=lambda: 0)

# log-only events
session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
session.append("turn/start", {"turn": 1, "trigger": {"kind": "injection", "source": {"kind": "plugin", "plugin": "cron"}}})
session.append("step/start", {"turn": 1, "step": 1})
session.append("step/end", {"turn": 1, "step": 1})
session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
session.append("turn/end", {"turn": 1, "reason": {"kind": "error", "step": 1, "message": "m", "code": "c"}})
session.append("prompt/blocked", {"content": [], "source": {"kind": "user"}, "reason": "policy"})
session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "x"}})
session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "finish", "reason": {"kind": "stop"}}})
session.append("tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": "{}"})
session.append("todo/write", {"todos": [{"content": "x", "status": "pending"}]})
session.append("request/header", {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"})

# messages
session.append("user/message", {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}}, surface_op="append")
session.append("context/message", {"content": [], "source": {"kind": "user"}, "envelope": "raw", "meta": [1]}, surface_op="append")
session.append("steering/message", {"turn": 1, "content": [], "source": {"kind": "user"}}, surface_op="append")
session.append(
    "assistant/message",
    {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}},
    surface_op="append",
    source_event_seqs=[],
)
session.append(
    "tool/result",
    {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False},
    surface_op="append",
    source_event_seqs=[1],
)
session.append(
    "user/message", {"content": [], "source": {"kind": "user"}}, surface_op=Replace(1, 2), source_event_seqs=[1, 2]
)
session.append(
    "user/message",
    {"content": [], "source": {"kind": "user"}},
    surface_op={"op": "replace", "start": 1, "end": 2},
    source_event_seqs=[1, 2],
)

# open sums take members that nobody declared
session.append(
    "user/message", {"content": [{"type": "image", "url": "x"}], "source": {"kind": "cron", "job": 3}}, surface_op="append"
)

# payloads and blocks by name
block: ContentBlock = {"type": "text", "text": "x"}
message: UserMessage = {"content": [block], "source": {"kind": "user"}}
event = session.append("user/message", message, surface_op="append")
assert_type(event, SessionEvent)

# a plugin's event type
note: EventType = VOCABULARY.register_event("typing/note")
session.append(note, {"anything": [1]})

# what is read
seq: int = event.seq
time: int = event.time
kind: str = event.type
operation: str | Replace | None = event.surface_op
sources: list[Any] | None = event.source_event_seqs
count: int = session.seq
first: SessionEvent = session.events[0]
every: list[SessionEvent] = list(session.events)
nodes: list[int] = list(session.surface.nodes)
links: list[SurfaceNode] = list(session.surface)
previous: int | None = session.surface.node(1).prev
present: bool = 1 in session.surface
messages: list[dict[str, Any]] = [dict(each) for each in session.derive_messages()]
one: dict[str, Any] | None = derive_event_message(event)
header: dict[str, Any] | None = session.request_header()
directory: str | None = session.header.cwd
text: bytes = session.to_jsonl()
line: str = event.to_json()
again: Session = Session("t", seed=session.events, header={"version": 0, "id": "t", "createdAt": 0})
wire: Session = Session("t", seed=[each.to_dict() for each in session.events], check_payloads=False)
loaded: Session = loads(text)
from_file: Session = load("log.jsonl")
shadowed: list[list[int]] = [list(each.shadowed_seqs) for each in fold_surface(session.events).replacements]
lines: list[int | None] = [finding.line for finding in loaded.findings]
