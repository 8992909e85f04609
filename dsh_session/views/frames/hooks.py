"""The frame of hooks: each invocation beside its result."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import data_of, fraction, number, string

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.frames.log import Logged

__all__ = ["HOOKS", "Hook", "hooks"]


class Hook(msgspec.Struct):
    """One run of a handler.

    Attributes:
        turn: The turn that it names.
        point: Where it was hooked in.
        handler: Its id.
        dialect: Whose protocol it speaks.
        matcher: What it is for.
        invoked: The seq of its invocation.
        result: The seq of its result.
        started: When it was invoked.
        ended: When its result came.
        decision: What it decided.
        exit_code: How its process ended.
        stderr: What that wrote.
        duration: How long it took, as recorded.
    """

    turn: int | None
    point: str | None
    handler: str | None
    dialect: str | None = None
    matcher: str | None = None
    invoked: int | None = None
    result: int | None = None
    started: int | None = None
    ended: int | None = None
    decision: str | None = None
    exit_code: int | None = None
    stderr: str | None = None
    duration: float | None = None


HOOKS: Final[tuple[Column[Hook], ...]] = (
    Column(
        name="invoked",
        dtype="Int64",
        doc="The seq of the invocation; NA for a result without one.",
        read=attrgetter("invoked"),
    ),
    Column(name="result", dtype="Int64", doc="The seq of its result; NA where none came.", read=attrgetter("result")),
    Column(name="turn", dtype="Int64", doc="The turn that it names.", read=attrgetter("turn")),
    Column(name="point", dtype="string", doc="Where it is hooked in, such as Stop.", read=attrgetter("point")),
    Column(
        name="dialect",
        dtype="category",
        doc="Whose hook protocol it speaks.",
        read=attrgetter("dialect"),
        categories=("claude", "codex"),
    ),
    Column(name="matcher", dtype="string", doc="What it is restricted to, such as a tool.", read=attrgetter("matcher")),
    Column(
        name="handler",
        dtype="string",
        doc="The handler's id, which joins a result to the nearest earlier invocation that has none.",
        read=attrgetter("handler"),
    ),
    Column(
        name="started",
        dtype="datetime64[ms, UTC]",
        doc="When it was invoked, to the millisecond. NaT without an invocation.",
        read=attrgetter("started"),
    ),
    Column(
        name="ended",
        dtype="datetime64[ms, UTC]",
        doc="When its result came, to the millisecond. NaT without a result.",
        read=attrgetter("ended"),
    ),
    Column(
        name="duration_ms", dtype="Float64", doc="Milliseconds that it took, as recorded.", read=attrgetter("duration")
    ),
    Column(
        name="decision",
        dtype="category",
        doc="What it decided.",
        read=attrgetter("decision"),
        categories=("approve", "allow", "ask", "block", "deny", "stop", "pass"),
    ),
    Column(name="exit_code", dtype="Int64", doc="The exit code of its process.", read=attrgetter("exit_code")),
    Column(name="stderr", dtype="string", doc="What its process wrote to stderr, in short.", read=attrgetter("stderr")),
)
"""The columns of `hooks`."""


def hooks(session: Logged) -> pd.DataFrame:
    """The hooks that ran, one row per invocation with its result, in log order.

    Handler ids may repeat after a restart, so a result belongs to the nearest earlier invocation of its handler that
    has none yet.

    Args:
        session: Any session, or a history of one.

    Returns:
        A frame with the columns of `HOOKS`. `dsh_session.views.frames.columns("hooks")` says what each holds.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", clock=iter([0, 5, 25]).__next__)
        >>> place = {"turn": 1, "point": "Stop", "handlerId": "claude:Stop:1"}
        >>> _ = session.append("hook/invoked", {**place, "dialect": "claude"})
        >>> _ = session.append("hook/result", {**place, "decision": "block", "durationMs": 19.5})
        >>> hooks(session)[["invoked", "result", "handler", "decision", "duration_ms"]]
           invoked  result        handler decision  duration_ms
        0        0       1  claude:Stop:1    block         19.5
    """
    return frame(HOOKS, _rows(log_of(session).events))


def _rows(events: Iterable[SessionEvent]) -> list[Hook]:
    found: list[Hook] = []
    waiting: dict[str, list[Hook]] = {}
    for event in events:
        if event.type == "hook/invoked":
            data = data_of(event)
            hook = Hook(number(data.get("turn")), string(data.get("point")), string(data.get("handlerId")))
            hook.dialect, hook.matcher = string(data.get("dialect")), string(data.get("matcher"))
            hook.invoked, hook.started = event.seq, event.time
            found.append(hook)
            if hook.handler is not None:
                waiting.setdefault(hook.handler, []).append(hook)
        elif event.type == "hook/result":
            data = data_of(event)
            handler = string(data.get("handlerId"))
            before = waiting.get(handler) if handler is not None else None
            if before:
                hook = before.pop()
            else:
                hook = Hook(number(data.get("turn")), string(data.get("point")), handler)
                found.append(hook)
            hook.result, hook.ended = event.seq, event.time
            hook.decision, hook.exit_code = string(data.get("decision")), number(data.get("exitCode"))
            hook.stderr, hook.duration = string(data.get("stderrSummary")), fraction(data.get("durationMs"))
    return found
