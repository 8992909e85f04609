"""Where a resumed session comes from, and who hears of it."""

from pathlib import Path

import pytest

from dsh_session import Context, SessionError, invariants
from dsh_session.persistence import JsonlPersistence, resume

from .memory import MemoryPersistence, Shelf
from .talk import EVENTS_PER_TURN, QuickDisk, bare, call, say


def test_a_context_that_keeps_nothing_cannot_resume(tmp_path: Path) -> None:
    with Context() as ctx:
        with pytest.raises(SessionError, match=r"ctx\.plugin\(JsonlPersistence") as caught:
            resume(ctx, "s")
        assert caught.value.code == "NO_PERSISTENCE"
        plugged = ctx.plugin(JsonlPersistence(tmp_path))
        plugged.close()
        with pytest.raises(SessionError) as caught:
            resume(ctx, "s")
        assert caught.value.code == "NO_PERSISTENCE"
    with pytest.raises(SessionError) as caught:
        resume(ctx, "s")
    assert caught.value.code == "CONTEXT_CLOSED"


def test_the_backend_of_an_ancestor_serves_and_that_of_another_scope_does_not(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    store.save(bare("s", 1))
    with Context() as ctx:
        ctx.plugin(store)
        assert resume(ctx.child().scope().child(), "s").seq == EVENTS_PER_TURN
    with Context() as ctx:
        mine, other = ctx.scope(), ctx.scope()
        mine.plugin(store)
        for outside in (ctx, other):
            with pytest.raises(SessionError) as caught:
                resume(outside, "s")
            assert caught.value.code == "NO_PERSISTENCE"
        assert resume(mine.child(), "s").seq == EVENTS_PER_TURN


def test_of_several_backends_the_first_that_has_the_session_gives_it() -> None:
    first, second = Shelf(), Shelf()
    MemoryPersistence(second).save(bare("s", 1))
    MemoryPersistence(second).save(bare("t", 1))
    MemoryPersistence(first).save(bare("t", 1))
    with Context() as ctx:
        ctx.plugin(MemoryPersistence(first))
        ctx.plugin(MemoryPersistence(second))
        with pytest.raises(SessionError) as caught:
            resume(ctx, "absent")
        assert caught.value.code == "SESSION_NOT_STORED"
        say(resume(ctx, "s"), 2)
        say(resume(ctx, "t"), 2)
    for name in "st":
        assert MemoryPersistence(second).load(name).seq == 2 * EVENTS_PER_TURN
        assert MemoryPersistence(first).load(name).seq == 2 * EVENTS_PER_TURN


def test_a_resumed_session_satisfies_the_invariants_that_guard_it(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    with Context() as ctx:
        ctx.plugin(store)
        call(ctx.sessions.create("s"), 1)
    with Context() as ctx:
        ctx.plugin(store)
        ctx.plugin(invariants)
        session = resume(ctx, "s")
        say(session, 2)
        with pytest.raises(SessionError):
            say(session, 2)


def test_listeners_hear_of_a_resumed_session_once_and_not_of_its_past(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    store.save(bare("s", 1))
    heard: list[object] = []
    with Context() as ctx:
        ctx.plugin(store)
        ctx.on("session/created", lambda session: heard.append(session.seq))
        ctx.on("session/event", lambda _session, event: heard.append(event.type))
        ctx.on("session/disposed", lambda session: heard.append(session.id))
        session = resume(ctx, "s")
        session.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    assert heard == [EVENTS_PER_TURN, "turn/start", "s"]


def test_a_resumed_session_forks_like_any_other(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    store.save(bare("s", 2))
    with Context() as ctx:
        ctx.plugin(store)
        child = ctx.sessions.fork(resume(ctx, "s"), EVENTS_PER_TURN - 1, "child")
        say(child, 2)
    assert store.load("child").header.seed_length == EVENTS_PER_TURN
    assert store.load("child").to_jsonl() == child.to_jsonl()
