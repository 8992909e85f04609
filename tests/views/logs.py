"""The recorded logs, and random ones, that views are tried on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from dsh_session import Replace, Session
from tests.views.hostile import ODD

if TYPE_CHECKING:
    from dsh_session import SessionEvent

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
_LOG_ONLY = (
    *("turn/start", "turn/end", "step/start", "step/end", "assistant/chunk", "tool/call", "request/header"),
    *("todo/write", "compact/start", "compact/summary", "compact/end", "hook/invoked", "hook/result"),
    *("prompt/blocked", "x/other"),
)
_SURFACE = ("user/message", "assistant/message", "tool/result", "context/message", "steering/message")
_KEYS = ("turn", "step", "callId", "name", "arguments", "reason", "header", "todos", "usage", "content", "source")


def name_of(path: Path) -> str:
    """A log's name, fit for a test's id."""
    return path.name.removesuffix(".jsonl")


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Logs whose surface is sound and whose payloads are anything."""
    session = Session("random", clock=lambda: 0, check_payloads=False)
    payloads = st.dictionaries(st.sampled_from(_KEYS), st.sampled_from([1, 2, "c1", *ODD]), max_size=6)
    for _ in range(draw(st.integers(0, 20))):
        data: dict[str, Any] = draw(payloads)
        nodes = list(session.surface.nodes)
        action = draw(st.integers(0, 3))
        if action < 2:
            type_: Any = draw(st.sampled_from(_LOG_ONLY))
            if type_ == "request/header":
                data = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}
            session.append(type_, data)
            continue
        kind: Any = draw(st.sampled_from(_SURFACE))
        data = {**data, "content": [{"type": "text", "text": "a"}]}
        if action == 2 or not nodes:
            event: SessionEvent = session.append(kind, data, surface_op="append")
            assert event.seq == session.seq - 1
        else:
            start = draw(st.integers(0, len(nodes) - 1))
            shadowed = nodes[start : draw(st.integers(start + 1, len(nodes)))]
            op = Replace(shadowed[0], shadowed[-1])
            session.append(kind, data, surface_op=op, source_event_seqs=shadowed)
    return session
