"""Writing behind: what is handed on when, and what a failure leaves."""

import errno
import logging
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from dsh_session import Context, Session
from dsh_session.core.lossless import encode
from dsh_session.persistence import JsonlPersistence, PersistenceError, resume
from dsh_session.persistence.behind import SYNC_AT, WRITE_AT, plugged_into
from dsh_session.persistence.naming import log_path

from .disks import FaultyDisk, WatchedDisk
from .memory import MemoryPersistence, Shelf
from .talk import EVENTS_PER_TURN, QuickDisk, bare, flush, say


def _note(session: Session, size: int) -> None:
    session.append("plugin/note", "x" * size)  # type: ignore[call-overload]


def test_a_turn_that_ends_is_handed_to_the_system_without_waiting_for_the_disk(tmp_path: Path) -> None:
    disk = WatchedDisk()
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=disk))
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        done = len(disk.log)
        say(session, 2, end=False)
        assert disk.log[done:] == []
        session.append("step/end", {"turn": 2, "step": 1})
        session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
        assert disk.log[done:] == ["write"]
        assert log_path(tmp_path, "s").read_bytes() == session.to_jsonl()
        flush(ctx, session)
        assert disk.log[done:] == ["write", "sync"]
        flush(ctx, session)
        assert disk.log[done:] == ["write", "sync"]


def test_a_long_turn_is_written_before_it_ends_and_synced_where_nobody_flushes(tmp_path: Path) -> None:
    disk = WatchedDisk()
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=disk))
        session = ctx.sessions.create("s")
        _note(session, 1)
        flush(ctx, session)
        done = len(disk.log)
        for _ in range(4 * SYNC_AT // 8_192):
            _note(session, 8_192)
        stored = log_path(tmp_path, "s").stat().st_size
        assert len(session.to_jsonl()) - stored < WRITE_AT + 10_000
        assert 4 * SYNC_AT // WRITE_AT - 1 <= disk.log[done:].count("write") <= 4 * SYNC_AT // WRITE_AT
        assert disk.log[done:].count("sync") in (3, 4)
    assert log_path(tmp_path, "s").read_bytes() == session.to_jsonl()


def test_an_append_does_not_wait_for_a_flush_in_another_thread(tmp_path: Path) -> None:
    entered, go_on = Event(), Event()

    class Stuck(QuickDisk):
        def sync(self, file: int) -> None:  # noqa: ARG002 (the disk's)
            entered.set()
            assert go_on.wait(10)

    store = JsonlPersistence(tmp_path, disk=Stuck())
    go_on.set()
    with Context() as ctx:
        ctx.plugin(store)
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        say(session, 2)
        go_on.clear()
        entered.clear()
        flushing = Thread(target=store.save, args=(session,))
        flushing.start()
        assert entered.wait(10)
        say(session, 3)  # a turn ends, and nobody waits
        assert flushing.is_alive()
        go_on.set()
        flushing.join()
        flush(ctx, session)
        assert store.load("s").to_jsonl() == session.to_jsonl()


def test_what_fails_while_writing_behind_is_logged_and_told_by_the_flush(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk({})
    with Context() as ctx, caplog.at_level(logging.WARNING, logger="dsh_session"):
        ctx.plugin(JsonlPersistence(tmp_path, disk=disk))
        session = ctx.sessions.create("s")
        disk.before = lambda called, number: disk.faults.update({number: errno.ENOSPC} if called == "write" else {})
        for turn in range(1, 4):
            say(session, turn)
        assert len(caplog.records) == 3  # one for each turn, not one for each event
        assert all("No space left" in record.getMessage() for record in caplog.records)
        with pytest.raises(OSError, match="No space left"):
            flush(ctx, session)
        disk.before = lambda _called, _number: None
        flush(ctx, session)
        assert JsonlPersistence(tmp_path).load("s").to_jsonl() == session.to_jsonl()


def test_what_cannot_be_written_as_a_session_leaves_is_written_at_the_close(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk({})
    caplog.set_level(logging.CRITICAL, logger="dsh_session")
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=disk))
        owner = ctx.child()
        session = owner.sessions.create("s")
        _note(session, 1)
        disk.before = lambda called, number: disk.faults.update({number: errno.EIO} if called == "sync" else {})
        owner.close()
        assert ctx.sessions.list() == []
        disk.before, disk.faults = (lambda _called, _number: None), {}
    assert JsonlPersistence(tmp_path).load("s").to_jsonl() == session.to_jsonl()


def test_a_second_session_of_an_id_waits_for_what_the_first_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk({})
    caplog.set_level(logging.CRITICAL, logger="dsh_session")
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=disk))
        first = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(first)
        _note(first, 1)
        detach()  # unannounced, so that nobody is told
        with pytest.raises(PersistenceError) as caught:
            ctx.sessions.create("s")
        assert caught.value.code == "SESSION_STORED"
        assert JsonlPersistence(tmp_path).load("s").to_jsonl() == first.to_jsonl()
        assert resume(ctx, "s").to_jsonl() == first.to_jsonl()


def test_an_unannounced_session_that_cannot_be_kept_is_told_by_every_flush(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    JsonlPersistence(tmp_path, disk=QuickDisk()).save(bare("s", 1))
    caplog.set_level(logging.CRITICAL, logger="dsh_session")
    ctx = Context()
    ctx.plugin(JsonlPersistence(tmp_path, disk=QuickDisk()))
    session = ctx.sessions.prepare("s")
    ctx.sessions.enter(session)
    say(session, 1, words="another")
    for _ in range(2):
        with pytest.raises(PersistenceError) as caught:
            flush(ctx, session)
        assert caught.value.code == "SESSION_STORED"
    with pytest.raises(PersistenceError):
        ctx.close()
    assert JsonlPersistence(tmp_path).load("s").seq == EVENTS_PER_TURN


def test_a_flush_of_an_unannounced_session_that_never_was_appended_to_stores_nothing(tmp_path: Path) -> None:
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path))
        session = ctx.sessions.prepare("s", seed=bare("s", 1).events)
        ctx.sessions.enter(session)
        flush(ctx, session)
        assert list(tmp_path.iterdir()) == []
        say(session, 2)
    assert JsonlPersistence(tmp_path).load("s").seq == 2 * EVENTS_PER_TURN


def test_one_backend_in_two_contexts_keeps_both_apart(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    with Context() as one, Context() as two:
        one.plugin(store)
        two.plugin(store)
        sessions = [one.sessions.create("a"), two.sessions.create("b"), two.sessions.create("a")]
        for session in sessions[:2]:
            say(session, 1)
            store.save(session)
        sessions[2].append("plugin/note", 1)  # type: ignore[call-overload]
        with pytest.raises(PersistenceError) as caught:
            flush(two, sessions[2])
        assert caught.value.code == "SESSION_LOCKED"
        with pytest.raises(PersistenceError):
            two.close()
    assert [stored.id for stored in store.list()] == ["a", "b"]


def test_two_backends_in_one_context_both_keep_it(tmp_path: Path) -> None:
    shelf = Shelf()
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=QuickDisk()))
        ctx.plugin(MemoryPersistence(shelf))
        assert [type(behind.backend).__name__ for behind in plugged_into(ctx)] == [
            "JsonlPersistence",
            "MemoryPersistence",
        ]
        session = ctx.sessions.create("s")
        say(session, 1, end=False)
    with Context() as ctx:
        ctx.plugin(MemoryPersistence(shelf))
        ctx.plugin(JsonlPersistence(tmp_path, disk=QuickDisk()))
        session = resume(ctx, "s")
        say(session, 2)
    assert JsonlPersistence(tmp_path).load("s").to_jsonl() == session.to_jsonl()
    assert MemoryPersistence(shelf).load("s").to_jsonl() == session.to_jsonl()


def test_nothing_is_encoded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []

    class Watching(QuickDisk):
        def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
            written.append(bytes(data))
            return super().write(file, data, offset)

    encoded: list[bytes] = []

    def watched(value: Any) -> bytes:
        encoded.append(encode(value))
        return encoded[-1]

    monkeypatch.setattr("dsh_session.core.session.encode", watched)
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path, disk=Watching()))
        session = ctx.sessions.create("s")
        for turn in (1, 2):
            say(session, turn)
            flush(ctx, session)
    lines = b"".join(written).split(b"\n")[1:-1]
    assert lines == encoded
    assert len(lines) == 2 * EVENTS_PER_TURN
