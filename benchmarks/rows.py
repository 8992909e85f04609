"""The rows of the table, one function each: it does the thing once and says how long it took.

To add a row, write its function here. Set-up stays outside the stopwatch; results are checked, also outside, because
a fast wrong answer is no answer.
"""

import asyncio
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count
from pathlib import Path

from benchmarks import transcripts
from benchmarks.inputs import Operation, surface_checksum, surface_operations
from benchmarks.measure import Inputs, Stopwatch, Table
from dsh_session import Context, Replace, Session, fold_surface, loads
from dsh_session.importers import import_log
from dsh_session.persistence import JsonlPersistence

TABLE = Table()


def filled(operations: Iterable[Operation]) -> Session:
    """A bare session, payload checks on, with these operations appended."""
    session = Session("bench")
    extend(session, operations)
    return session


def extend(session: Session, operations: Iterable[Operation]) -> None:
    """Append these operations."""
    append: Callable[..., object] = session.append  # its overloads want each type spelt out
    for kind, data, surface_op, sources in operations:
        append(kind, data, surface_op=surface_op, source_event_seqs=sources)


@TABLE.row("a", "append 99,996 events to a bare session, payload checks on", bound=0.85, original="0.96 J")
def append(given: Inputs) -> float:
    """Append the whole conversation."""
    with Stopwatch() as watch:
        session = filled(given.conversation)
    _require(session.seq == len(given.conversation))
    return watch.seconds


@TABLE.row("b", "the same into a store with one listener", bound=1.1, original="1.94 J")
def publish(given: Inputs) -> float:
    """Append the whole conversation to a live session, and listen to it."""
    heard = 0

    def listen(session: object, event: object) -> None:  # noqa: ARG001 - a listener's signature
        nonlocal heard
        heard += 1

    with Context() as ctx:
        ctx.on("session/event", listen)
        session = ctx.sessions.create("bench")
        with Stopwatch() as watch:
            extend(session, given.conversation)
    _require(heard == session.seq == len(given.conversation))
    return watch.seconds


STEPS = 3_334


@TABLE.row(
    "c",
    "derive_messages after each of 3,334 steps, sum of the calls (10,002 nodes at the end)",
    bound=0.30,
    original="0.13 J",
)
def derive(given: Inputs) -> float:
    """A fresh list after every step."""
    session, watch = Session("bench"), Stopwatch()
    for turn in given.turns[:STEPS]:
        extend(session, turn)
        with watch:
            messages = session.derive_messages()
    _require(len(messages) == 3 * STEPS)
    return watch.seconds


@TABLE.row("c'", "the same with session.messages, an immutable view", bound=0.15)
def view(given: Inputs) -> float:
    """A view after every step."""
    session, watch = Session("bench"), Stopwatch()
    for turn in given.turns[:STEPS]:
        extend(session, turn)
        with watch:
            messages = session.messages
    _require(len(messages) == 3 * STEPS)
    return watch.seconds


NODES, REPLACEMENTS = 10_000, 100


@TABLE.row(
    "d", "one replacement of one node among 10,000, and derive_messages", bound=0.35, unit="mJ", original="17 mJ"
)
def replace(given: Inputs) -> float:  # noqa: ARG001 - its log is a different one
    """Replace nodes all over the surface, one by one; the mean of a hundred."""
    session, watch = filled(surface_operations(NODES, 5)), Stopwatch()
    session.derive_messages()
    data = {"content": [{"type": "text", "text": "in short"}], "source": {"kind": "user"}}
    for seq in range(0, NODES, NODES // REPLACEMENTS):
        with watch:
            extend(session, (Operation("user/message", data, Replace(seq, seq), [seq]),))
            messages = session.derive_messages()
        _require(len(messages) == NODES)
    return watch.seconds / REPLACEMENTS


@TABLE.row("e", "fold_surface of 60,000 events, 20,000 of them replacements", bound=0.35, original="1.32 J")
def fold(given: Inputs) -> float:
    """Fold the larger of the two replaced logs."""
    return _fold(given, 40_000)


@TABLE.row("e'", "the same, over the time for half as many", bound=2.7, unit="times", original="3.6 times")
def fold_growth(given: Inputs) -> float:
    """Fold both logs."""
    return _fold(given, 40_000) / _fold(given, 20_000)


@TABLE.row("f", "a session from 99,996 events as JSONL bytes, everything checked", bound=0.60, original="1.46 J")
def load(given: Inputs) -> float:
    """Load the conversation's file."""
    with Stopwatch() as watch:
        session = loads(given.lines)
    _require(session.seq == len(given.events))
    return watch.seconds


@TABLE.row("g", "the session written out as JSONL bytes", bound=0.05, original="0.20 J")
def write(given: Inputs) -> float:
    """Write what was appended."""
    session = filled(given.conversation)
    with Stopwatch() as watch:
        written = session.to_jsonl()
    _require(written.count(b"\n") == len(given.events) + 1)
    return watch.seconds


@TABLE.row("h", "a fork of a live session of 99,996 events", bound=0.015, original="1.45 J")
def fork(given: Inputs) -> float:
    """Fork what was appended, at its last event."""
    with Context() as ctx:
        session = ctx.sessions.create("bench")
        extend(session, given.conversation)
        with Stopwatch() as watch:
            child = ctx.sessions.fork(session)
        _require(child.seq == len(given.conversation) and len(child.surface) == len(session.surface))
    return watch.seconds


@TABLE.row(
    "w",
    "99,996 events stored as JSONL, a flush every 13, less the same unstored, over write and fsync by hand",
    bound=1.5,
    unit="times",
    repetitions=1,
)
def store(given: Inputs) -> float:
    """Store the conversation, turn by turn, beside a session that is not stored and a file that is written by hand."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_store(given, Path(folder)))


async def _store(given: Inputs, folder: Path) -> float:
    storing, living, writing = Stopwatch(), Stopwatch(), Stopwatch()
    lines = given.lines.splitlines(keepends=True)[1:]
    with Context(clock=count().__next__) as kept, Context(clock=count().__next__) as unkept:
        kept.plugin(JsonlPersistence(folder / "root"))
        sessions = [ctx.sessions.create("bench", meta={"createdAt": 0}) for ctx in (kept, unkept)]
        by_hand = os.open(folder / "by-hand.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        # A disk has moods: each of the three does a little in turn.
        for start in range(0, len(given.turns), 50):
            turns = given.turns[start : start + 50]
            for watch, ctx, session in zip((storing, living), (kept, unkept), sessions, strict=True):
                with watch:
                    for turn in turns:
                        extend(session, turn)
                        await ctx.sessions.flush(session)
            with writing:
                for number in range(start, start + len(turns)):
                    os.write(by_hand, b"".join(lines[13 * number : 13 * number + 13]))
                    os.fsync(by_hand)
        os.close(by_hand)
    stored = (folder / "root" / "_no-cwd" / "bench.jsonl").read_bytes()
    _require(stored.partition(b"\n")[2] == (folder / "by-hand.jsonl").read_bytes())
    return (storing.seconds - living.seconds) / writing.seconds


@TABLE.row(
    "m",
    "memory above the bare import, 99,996 events appended",
    bound=52,
    unit="MiB",
    original="77 MiB",
    repetitions=3,
)
def memory(given: Inputs) -> float:  # noqa: ARG001 - a process of its own makes its events one by one
    """Resident memory of a fresh process."""
    return float(_python("-m", "benchmarks.memory"))


@TABLE.row(
    "k",
    "50 MB of Claude Code lines as a session, over json.loads of the same lines",
    bound=2.5,
    unit="times",
    repetitions=3,
)
def transcript(given: Inputs) -> float:  # noqa: ARG001 - its log is a different one
    """Import a log of Claude Code, and decode its lines."""
    path = _transcript()
    lines = path.read_bytes().splitlines()
    with Stopwatch() as decoding:
        for line in lines:
            json.loads(line)
    del lines
    with Stopwatch() as importing:
        session = import_log(path).session
    _require(session.seq > len(list(session.surface.nodes)) > 0)
    return importing.seconds / decoding.seconds


@cache
def _transcript() -> Path:
    folder = tempfile.mkdtemp(prefix="transcript-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "transcript.jsonl"
    with path.open("wb") as file:
        file.writelines(transcripts.transcript())
    return path


@TABLE.row("i", "import dsh_session, above an empty interpreter", bound=60, unit="ms", repetitions=15)
def start(given: Inputs) -> float:  # noqa: ARG001 - nothing is loaded
    """Two fresh processes, one of which imports; both find everything compiled, as after an installation."""
    environment = _compiled()
    with Stopwatch() as empty:
        _python("-c", "pass", environment=environment)
    with Stopwatch() as importing:
        _python("-c", "import dsh_session", environment=environment)
    return importing.seconds - empty.seconds


@cache
def _compiled() -> dict[str, str]:
    """An environment with a bytecode cache of its own, filled: the caller's may forbid Python to write one."""
    folder = tempfile.mkdtemp(prefix="bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    _python("-c", "import dsh_session", environment=environment)
    return environment


def _fold(given: Inputs, size: int) -> float:
    events, nodes = given.replaced[size]
    started = time.perf_counter()
    surface = fold_surface(events)
    seconds = time.perf_counter() - started
    _require(surface_checksum(surface.nodes) == surface_checksum(nodes))
    return seconds


def _python(*arguments: str, environment: dict[str, str] | None = None) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def _require(condition: bool) -> None:  # noqa: FBT001 - an assertion that -O does not remove
    if not condition:
        msg = "the measured run gave a wrong result"
        raise AssertionError(msg)
