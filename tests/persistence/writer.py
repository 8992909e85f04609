"""A program that is made to be killed: ``python -m tests.persistence.writer``.

It loads everything once. For each line ``KIND ROOT ID`` on its standard input it forks a child that writes the session
without end, and says the child's process id; on the line ``reap`` it waits until that child is dead.
"""

import asyncio
import logging
import os
import random
import sys
from pathlib import Path

from dsh_session import Context
from dsh_session.persistence import JsonlPersistence, PersistenceError, SqlitePersistence, resume

from .talk import call, say


async def write(kind: str, root: Path, identity: str) -> None:
    """Append turns to a session, new or resumed, and note after each flush how many events it made durable."""
    chance = random.Random(os.getpid())
    store = JsonlPersistence(root) if kind == "jsonl" else SqlitePersistence(root / "s.db")
    ctx = Context()
    ctx.plugin(store)
    try:
        session = resume(ctx, identity)
    except PersistenceError as error:
        if error.code != "SESSION_NOT_STORED":
            raise
        session = ctx.sessions.create(identity)
    notes = os.open(root.with_name(f"{identity}.flushed"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(notes, b"%d\n" % session.seq if session.seq else b"")
    turn = sum(event.type == "turn/start" for event in session.events)
    while True:
        turn += 1
        if chance.random() < 0.3:
            call(session, turn)
            await ctx.sessions.flush(session)
            os.write(notes, b"%d\n" % session.seq)
            session.append(
                "tool/result",
                {"turn": turn, "step": 1, "callId": "c", "content": [], "isError": False},
                surface_op="append",
            )
            session.append("step/end", {"turn": turn, "step": 1})
            session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
        else:
            say(session, turn, words="x" * chance.choice([1, 100, 5_000]))
        await ctx.sessions.flush(session)
        os.write(notes, b"%d\n" % session.seq)


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    """Fork as told."""
    logging.disable()
    child = 0
    for line in sys.stdin:
        if line == "reap\n":
            _answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            continue
        kind, root, identity = line.split()
        child = os.fork()
        if child == 0:
            asyncio.run(write(kind, Path(root), identity))
        _answer(child)


if __name__ == "__main__":
    main()
