"""Ten thousand appends are a handful of refreshes, and what listens ends with the widget."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

import pytest

from dsh_session import Context
from dsh_session.widgets.live import PAUSE, Batch, Watch, follow
from tests.core.stores import context
from tests.widgets.ears import listeners


def test_without_a_loop_every_note_calls() -> None:
    batch = Batch(lambda: None)
    for _ in range(3):
        batch.note()
    assert batch.calls == 3


def test_in_a_loop_many_notes_are_a_first_call_and_a_last_one() -> None:
    async def run() -> None:
        batch = Batch(lambda: None)
        for _ in range(10_000):
            batch.note()
        assert batch.calls == 1, "the first is at once"
        await asyncio.sleep(2 * PAUSE)
        assert batch.calls == 2, "and one after the last"
        await asyncio.sleep(2 * PAUSE)
        assert batch.calls == 2

    asyncio.run(run())


def test_a_note_after_a_pause_calls_at_once() -> None:
    async def run() -> None:
        batch = Batch(lambda: None, pause=0.01)
        batch.note()
        await asyncio.sleep(0.02)
        batch.note()
        assert batch.calls == 2

    asyncio.run(run())


def test_a_note_from_another_thread_is_handed_to_the_loop() -> None:
    async def run() -> None:
        heard: list[threading.Thread] = []
        batch = Batch(lambda: heard.append(threading.current_thread()))
        other = threading.Thread(target=lambda: deque(map(batch.note, range(100)), maxlen=0))
        other.start()
        await asyncio.to_thread(other.join)
        await asyncio.sleep(2 * PAUSE)
        assert heard == [threading.main_thread()]

    asyncio.run(run())


def test_whoever_looks_does_not_wait() -> None:
    async def run() -> None:
        batch = Batch(lambda: None)
        batch.flush()
        assert batch.calls == 0, "there was nothing to take in"
        batch.note()
        batch.note()
        batch.flush()
        assert batch.calls == 2
        await asyncio.sleep(2 * PAUSE)
        assert batch.calls == 2

    asyncio.run(run())


def test_a_closed_batch_calls_no_more() -> None:
    async def run() -> None:
        batch = Batch(lambda: None)
        batch.note()
        batch.note()
        batch.close()
        batch.note()
        await asyncio.sleep(2 * PAUSE)
        assert batch.calls == 1

    asyncio.run(run())


def test_a_call_that_fails_does_not_stop_the_next() -> None:
    batch = Batch(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            batch.note()
    assert batch.calls == 2


def test_a_session_is_followed_and_others_are_not() -> None:
    with context() as ctx:
        session, other = ctx.sessions.create(), ctx.sessions.create()
        batch, end = follow(session, lambda: None)
        other.append("todo/write", {"todos": []})
        assert batch.calls == 0
        session.append("todo/write", {"todos": []})
        assert batch.calls == 1
        end()
        session.append("todo/write", {"todos": []})
        assert batch.calls == 1
        assert listeners(ctx) == 0


def test_a_session_in_a_scope_is_heard_from_outside() -> None:
    with context() as ctx:
        heard: list[str] = []
        watch = Watch(ctx.sessions, sessions=lambda: heard.append("tree"), event=lambda *_: heard.append("event"))
        session = ctx.scope().sessions.create()
        session.append("todo/write", {"todos": []})
        assert heard == ["tree", "event"]
        watch.close()
        watch.close()
        session.append("todo/write", {"todos": []})
        assert heard == ["tree", "event"]


def test_a_watch_ends_with_its_context() -> None:
    ctx = Context()
    watch = Watch(ctx.sessions, sessions=lambda: None)
    ctx.close()
    assert listeners(ctx) == 0
    watch.close()
