"""The real logs, and strategies for logs that no one would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dsh_session import Replace, Session
from tests.strategies import json_values, surface_payloads

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
COMPACTED = [path for path in LOGS if path.parent.name == "v0-compacted"]
SURFACE = ("user/message", "assistant/message", "tool/result", "context/message", "steering/message")
_NUMBERS = st.integers(1, 3)
_IDS = st.sampled_from(["a", "b"])


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def _log_only() -> st.SearchStrategy[tuple[str, Any]]:
    """Events of the log only, well-formed or not."""
    step = {"turn": _NUMBERS, "step": _NUMBERS}
    hook = {"turn": _NUMBERS, "handlerId": _IDS, "point": st.just("Stop")}
    header = st.fixed_dictionaries(
        {"config": st.just({"provider": "p", "model": "m"})},
        optional={
            "system": st.sampled_from(["", "Be brief.", "Be kind."]),
            "tools": st.sampled_from(["{{tools}}", [], [{"name": "read", "parameters": {}}]]),
            "messagePrefix": st.sampled_from([[], [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]]),
        },
    )
    call = {**step, "callId": _IDS, "name": st.just("read"), "arguments": st.just("{}")}
    shaped: dict[str, st.SearchStrategy[Any]] = {
        "turn/start": st.fixed_dictionaries({"turn": _NUMBERS}),
        "turn/end": st.fixed_dictionaries({"turn": _NUMBERS, "reason": st.just({"kind": "completed"})}),
        "step/start": st.fixed_dictionaries(step),
        "step/end": st.fixed_dictionaries(step),
        "tool/call": st.fixed_dictionaries(call),
        "assistant/chunk": st.fixed_dictionaries({**step, "chunk": st.just({"type": "text-delta", "text": "He"})}),
        "todo/write": st.fixed_dictionaries({"todos": st.lists(st.just({"content": "x", "status": "pending"}))}),
        "hook/invoked": st.fixed_dictionaries(hook),
        "hook/result": st.fixed_dictionaries({**hook, "decision": st.just("pass")}),
        "request/header": st.fixed_dictionaries({"header": header, "reason": st.just("change")}),
        "own/event": json_values(max_leaves=4),
    }
    named = st.sampled_from(sorted(shaped))
    return named.flatmap(lambda name: st.tuples(st.just(name), shaped[name] | json_values(max_leaves=4)))


def _asking(ids: list[str]) -> dict[str, Any]:
    """An assistant message with these calls."""
    return {
        "content": [{"type": "tool-call", "id": name, "name": "read", "arguments": "{}"} for name in ids],
        "usage": {"inputTokens": 7, "outputTokens": 1},
    }


def _surface() -> st.SearchStrategy[tuple[str, Any]]:
    named = st.sampled_from(SURFACE)
    results = st.fixed_dictionaries(
        {"turn": _NUMBERS, "step": _NUMBERS, "callId": _IDS, "content": st.just([]), "isError": st.booleans()}
    )
    asking = st.lists(_IDS, max_size=2).map(_asking)
    known = st.tuples(st.just("tool/result"), results) | st.tuples(st.just("assistant/message"), asking)
    return known | named.flatmap(lambda name: st.tuples(st.just(name), surface_payloads(name)))


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Sessions of any events, with replacements of any ranges."""
    times = iter(draw(st.lists(st.integers(0, 2**45), min_size=24, max_size=24)))
    session = Session("drawn", check_payloads=False, clock=lambda: next(times, 0))
    for is_surface in draw(st.lists(st.booleans(), max_size=24)):
        name, data = draw(_surface() if is_surface else _log_only())
        op: Any = None
        sources = None
        if is_surface:
            op = "append"
            nodes = list(session.surface.nodes)
            if nodes and draw(st.integers(0, 3)) == 0:
                first = draw(st.integers(0, len(nodes) - 1))
                last = draw(st.integers(first, len(nodes) - 1))
                op, sources = Replace(nodes[first], nodes[last]), nodes[first : last + 1]
        session.append(name, data, surface_op=op, source_event_seqs=sources)  # type: ignore[call-overload]
    return session
