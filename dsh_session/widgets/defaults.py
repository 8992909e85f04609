"""What a payload most likely is, where the log stands now."""

from collections.abc import Callable, Sequence
from typing import Any

from dsh_session.core.event import SessionEvent
from dsh_session.core.frozen import thaw
from dsh_session.core.messages import fold_todos
from dsh_session.core.session import Session
from dsh_session.core.turns import TurnState
from dsh_session.core.vocabulary import VOCABULARY
from dsh_session.widgets.fields import blank

_LOOKED_AT = 2000  # events from the end of the log


def default_payload(session: Session, event_type: str, state: TurnState) -> Any:
    """Give a payload to begin with: the open turn and step, the call that waits, the header in force.

    Args:
        session: The session that is to be appended to.
        event_type: The event's wire type.
        state: Where the log stands.

    Returns:
        A plain JSON value. It has the type's shape, and its texts are mostly empty.

    Example:
        >>> from dsh_session import Session
        >>> from dsh_session.core.tracker import TurnTracker
        >>> session = Session("s", clock=lambda: 0)
        >>> state = TurnTracker().catch_up(session.events)
        >>> default_payload(session, "turn/start", state)
        {'turn': 1, 'trigger': {'kind': 'message', 'source': {'kind': 'user'}}}
    """
    turn = state.turn if state.turn is not None else state.last_turn
    step = state.step if state.step is not None else state.last_step
    made = _MAKERS.get(event_type)
    if made is not None:
        found: dict[str, Any] = made(session, state, turn, step)
        return found
    shape = VOCABULARY.shape(event_type)
    blankly: Any = {} if shape is None else blank(shape)
    if isinstance(blankly, dict):
        blankly.update({key: value for key, value in (("turn", turn), ("step", step)) if blankly.get(key) == 0})
    return blankly


def likely_type(session: Session, state: TurnState) -> str:
    """Give the event type that most likely comes next.

    Example:
        >>> from dsh_session import Session
        >>> likely_type(Session("s"), TurnState())
        'turn/start'
    """
    if state.turn is None:
        return "turn/start"
    if state.step is not None:
        return "tool/result" if state.calls else "assistant/message"
    last = session.events[-1].type if session.seq else ""
    return "user/message" if last == "turn/start" else "step/start" if last != "step/end" else "turn/end"


_USER = {"kind": "user"}


def _text() -> list[Any]:
    return [{"type": "text", "text": ""}]


def _latest(events: Sequence[SessionEvent], event_type: str) -> SessionEvent | None:
    for seq in range(len(events) - 1, max(-1, len(events) - 1 - _LOOKED_AT), -1):
        if events[seq].type == event_type:
            return events[seq]
    return None


def _turn_start(_session: Session, state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    return {"turn": state.last_turn + 1, "trigger": {"kind": "message", "source": dict(_USER)}}


def _turn_end(_session: Session, _state: TurnState, turn: int, _step: int) -> dict[str, Any]:
    return {"turn": turn, "reason": {"kind": "completed"}}


def _step_start(_session: Session, state: TurnState, turn: int, _step: int) -> dict[str, Any]:
    return {"turn": turn, "step": state.last_step + 1}


def _step_end(_session: Session, _state: TurnState, turn: int, step: int) -> dict[str, Any]:
    return {"turn": turn, "step": step}


def _user(_session: Session, _state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    return {"content": _text(), "source": dict(_USER)}


def _blocked(_session: Session, _state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    return {"content": _text(), "source": dict(_USER), "reason": ""}


def _context(_session: Session, _state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    return {"content": _text(), "source": {"kind": "plugin", "plugin": ""}}


def _steering(_session: Session, _state: TurnState, turn: int, _step: int) -> dict[str, Any]:
    return {"turn": turn, "content": _text(), "source": dict(_USER)}


def _chunk(_session: Session, _state: TurnState, turn: int, step: int) -> dict[str, Any]:
    return {"turn": turn, "step": step, "chunk": {"type": "text-delta", "index": 0, "text": ""}}


def _assistant(session: Session, _state: TurnState, turn: int, step: int) -> dict[str, Any]:
    return {"turn": turn, "step": step, "content": _text(), "provenance": _route(session)}


def _call(session: Session, state: TurnState, turn: int, step: int) -> dict[str, Any]:
    asked = {"id": "", "name": "", "arguments": "{}"}
    message = _latest(session.events, "assistant/message")
    blocks = message.data.get("content") if message is not None and isinstance(message.data, dict) else None
    for block in blocks if isinstance(blocks, list) else ():
        is_call = isinstance(block, dict) and block.get("type") == "tool-call"
        if is_call and all(isinstance(block.get(key), str) for key in asked) and not _is_made(session, block["id"]):
            asked = {key: block[key] for key in asked}
            break
    identity = asked["id"] or f"call-{turn}-{step}-{len(state.calls) + 1}"
    return {"turn": turn, "step": step, "callId": identity, "name": asked["name"], "arguments": asked["arguments"]}


def _is_made(session: Session, identity: str) -> bool:
    events = session.events
    for seq in range(len(events) - 1, max(-1, len(events) - 1 - _LOOKED_AT), -1):
        kind = events[seq].type
        if kind == "assistant/message":
            return False
        if kind == "tool/call" and isinstance(events[seq].data, dict) and events[seq].data.get("callId") == identity:
            return True
    return False


def _result(_session: Session, state: TurnState, turn: int, step: int) -> dict[str, Any]:
    waiting = next(iter(state.calls), "")
    return {"turn": turn, "step": step, "callId": waiting, "content": _text(), "isError": False}


def _todos(session: Session, _state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    latest = _latest(session.events, "todo/write")
    return {"todos": thaw(fold_todos([latest] if latest is not None else []) or [])}


def _header(session: Session, _state: TurnState, _turn: int, _step: int) -> dict[str, Any]:
    latest = _latest(session.events, "request/header")
    header = latest.data.get("header") if latest is not None and isinstance(latest.data, dict) else None
    if isinstance(header, dict):
        return {"header": thaw(header), "reason": "change"}
    return {"header": {"config": {"provider": "", "model": ""}}, "reason": "initial"}


def _route(session: Session) -> dict[str, Any]:
    """Give the route of the latest answer or header; both may hold anything."""
    for event_type, keys in (("assistant/message", ("provenance",)), ("request/header", ("header", "config"))):
        latest = _latest(session.events, event_type)
        found: Any = None if latest is None else latest.data
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, dict) and all(isinstance(found.get(key), str) for key in ("provider", "model")):
            return {"provider": found["provider"], "model": found["model"]}
    return {"provider": "", "model": ""}


_Maker = Callable[[Session, TurnState, int, int], dict[str, Any]]

_MAKERS: dict[str, _Maker] = {
    "turn/start": _turn_start,
    "turn/end": _turn_end,
    "step/start": _step_start,
    "step/end": _step_end,
    "user/message": _user,
    "prompt/blocked": _blocked,
    "context/message": _context,
    "steering/message": _steering,
    "assistant/chunk": _chunk,
    "assistant/message": _assistant,
    "tool/call": _call,
    "tool/result": _result,
    "todo/write": _todos,
    "request/header": _header,
}
