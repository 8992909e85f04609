"""Sessions to store: turns by the number, and ways to flush them."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dsh_session import Context, Session
from dsh_session.persistence.disk import Disk

USER: dict[str, Any] = {"kind": "user"}
EVENTS_PER_TURN = 6


class Ticks:
    """A clock that starts at 1000 and advances by one each time it is read."""

    def __init__(self) -> None:
        self.now = 999

    def __call__(self) -> int:
        self.now += 1
        return self.now


class QuickDisk(Disk):
    """The disk without its waits, for tests that are not about durability."""

    def sync(self, file: int) -> None:
        """Wait for nothing."""

    def sync_folder(self, path: Any) -> None:
        """Wait for nothing."""


def say(session: Session, turn: int, words: str = "hello", *, calls: tuple[str, ...] = (), end: bool = True) -> None:
    """Append a turn of six events, or one that is cut short after four."""
    step = {"turn": turn, "step": 1}
    session.append("turn/start", {"turn": turn, "trigger": {"kind": "message", "source": USER}})
    session.append("user/message", {"content": [{"type": "text", "text": words}], "source": USER}, surface_op="append")
    session.append("step/start", {**step})
    content: list[Any] = [{"type": "text", "text": f"{words}!"}]
    content += [{"type": "tool-call", "id": each, "name": "bash", "arguments": "{}"} for each in calls]
    answer = {**step, "content": content, "provenance": {"provider": "p", "model": "m"}}
    session.append("assistant/message", answer, surface_op="append", source_event_seqs=[])
    if end:
        session.append("step/end", {**step})
        session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def call(session: Session, turn: int) -> None:
    """Append a turn that a crash cut short between a tool call and its result: five events."""
    say(session, turn, calls=("c",), end=False)
    session.append("tool/call", {"turn": turn, "step": 1, "callId": "c", "name": "bash", "arguments": "{}"})


def flush(ctx: Context, session: Session) -> None:
    """Flush as a loop does, from where none runs."""
    asyncio.run(ctx.sessions.flush(session))


def bare(identity: str = "s", turns: int = 1, **header: Any) -> Session:
    """A session that is not live, with a few turns."""
    meta = {"version": 0, "id": identity, "createdAt": 5, **header} if header else None
    session = Session(identity, header=meta, clock=Ticks())
    for turn in range(1, turns + 1):
        say(session, turn)
    return session


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Be somebody whom permissions bind, for a while; root is nobody then."""
    if os.geteuid() != 0:
        yield
        return
    group = os.getegid()
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
