"""``kill -9`` at any moment: everything that was flushed is there, and the log loads and goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Context, check_invariants, interrupted_turn_closers
from dsh_session.persistence import JsonlPersistence, SessionLockedError, SqlitePersistence, resume, validate

from .talk import say

ROOT = Path(__file__).parents[2]
LIVES = 10  # a session is killed so many times before the next one begins


@contextmanager
def _writer() -> Iterator[Callable[[str], int]]:
    """Start the program that writes; give the function that tells it something and reads its answer."""
    command = [sys.executable, "-m", "tests.persistence.writer"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        talk, listen = writer.stdin, writer.stdout

        def ask(line: str) -> int:
            print(line, file=talk, flush=True)
            return int(listen.readline())

        yield ask
        talk.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork, and starting 200 interpreters takes long")
@pytest.mark.parametrize(("kind", "kills"), [("jsonl", 200), ("sqlite", 60)])
def test_a_process_killed_while_it_writes_loses_nothing_that_was_flushed(
    tmp_path: Path, kind: str, kills: int, count: Callable[[str], None]
) -> None:
    chance = random.Random(kills)
    root = tmp_path / "root"
    root.mkdir()
    open_turns = torn = flushed = more = 0
    with _writer() as ask:
        for kill in range(kills):
            identity = f"s-{kill // LIVES}"
            notes = root.with_name(f"{identity}.flushed")
            before = _size(notes)
            child = ask(f"{kind} {root} {identity}")
            if kill % 2:
                # On a machine that is busy few processes would get further than their first lines.
                _wait_until_grown(notes, before)
            time.sleep(chance.uniform(0, 0.04))
            os.kill(child, signal.SIGKILL)
            assert ask("reap") == -signal.SIGKILL
            stored, last = _look(kind, root, identity)
            if stored is None:
                assert last == 0
                continue
            assert stored.seq >= last
            closers = interrupted_turn_closers(stored.events)
            assert check_invariants([*stored.events, *closers]) == []
            open_turns += bool(closers)
            torn += bool(stored.findings)
            more += stored.seq - last
            flushed += last
    survived = 0
    for number in range(kills // LIVES):
        stored, last = _look(kind, root, f"s-{number}")
        if stored is not None:
            survived += stored.seq
            assert stored.seq >= last
    assert survived > kills
    assert open_turns
    for path in [root] if kind == "jsonl" else []:
        assert {finding.code for log in path.rglob("*.jsonl") for finding in validate(log)} <= {"TORN_TAIL"}
    count(
        f"kill -9 ({kind}): {kills} kills of a writing process survived, {survived:,} events in the logs at the end;"
        f" {open_turns} turns were open, {torn} tails torn, {more:,} events beyond the last flush were there too;"
        " 0 flushed events lost"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_two_processes_never_write_one_session(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with _writer() as ask, Context() as ctx:
        ctx.plugin(_store(kind, root))
        first = ask(f"{kind} {root} s")
        _wait_until_grown(root.with_name("s.flushed"), 0)
        for _ in range(20):
            with pytest.raises(SessionLockedError, match=f"process {first} ") as caught:
                resume(ctx, "s")
            assert (caught.value.code, caught.value.pid) == ("SESSION_LOCKED", first)
        # A third one is refused as well, and ends.
        second = ask(f"{kind} {root} s")
        assert second != first
        assert ask("reap") == 1
        os.kill(first, signal.SIGKILL)
        _wait_until_free(ctx)
        session = ctx.sessions.get("s")
        assert session is not None
        assert check_invariants(session.events) == []
        say(session, 1 + sum(event.type == "turn/start" for event in session.events))
    stored, flushed = _look(kind, root, "s")
    assert stored.to_jsonl() == session.to_jsonl()
    assert stored.seq > flushed


def _wait_until_free(ctx: Context) -> None:
    end = time.monotonic() + 10
    while ctx.sessions.get("s") is None:
        try:
            resume(ctx, "s")
        except SessionLockedError:
            assert time.monotonic() < end
            time.sleep(0.01)


def _store(kind: str, root: Path) -> JsonlPersistence | SqlitePersistence:
    return JsonlPersistence(root) if kind == "jsonl" else SqlitePersistence(root / "s.db")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _wait_until_grown(path: Path, size: int) -> None:
    end = time.monotonic() + 10
    while _size(path) <= size and time.monotonic() < end:
        time.sleep(0.001)


def _look(kind: str, root: Path, identity: str) -> tuple[Any, int]:
    """Load what is stored, and read how many events the last flush made durable."""
    notes = root.with_name(f"{identity}.flushed")
    flushed = int((notes.read_bytes().split() or [b"0"])[-1]) if notes.exists() else 0
    store = _store(kind, root)
    found = [stored.id for stored in store.list()]
    return (store.load(identity) if identity in found else None), flushed
