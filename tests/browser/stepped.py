"""Sessions to step through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.views.made import Writer

if TYPE_CHECKING:
    from dsh_session import Session


def short(name: str = "fix-the-tests") -> Session:
    """Two turns: nodes 1, 5, 7 and 9; 12 takes the place of 1 … 7; 13 and 14 follow, the log ends with 15.

    The rest: 0 opens the first turn, 2 to 4 a step with two chunks, 6 calls a tool, 8 ends the step, 10 the turn, and
    11 opens the second turn.
    """
    w = Writer(name)
    w.begin()
    w.say("user/message", "Why does it fail?")
    w.begin_step()
    w.answer("I run the tests.", 2)
    call = w.call("c1", "bash")
    w.result("c1", "exit code 1", call)
    w.end_step()
    w.say("steering/message", "Be quick.")
    w.end()
    w.begin()
    w.replace(0, 3, "They fail with exit code 1.")
    w.say("user/message", "Fix it.")
    w.say("assistant/message", "Done.")
    w.end()
    return w.session


def many(nodes: int) -> Session:
    """So many nodes, of every kind in turn."""
    w = Writer("many")
    kinds = ("user/message", "assistant/message", "tool/result", "context/message", "steering/message")
    for number in range(nodes):
        w.say(kinds[number % len(kinds)], f"message {number}")
    return w.session


def long(events: int) -> Session:
    """So many events or a few more, mostly chunks, in turns; a summary now and then."""
    w = Writer("long")
    while w.session.seq < events:
        w.begin()
        w.say("user/message", f"Please do number {w.turn}.")
        for _ in range(3):
            w.begin_step()
            w.answer("I look at it.", 16)
            call = w.call("c", "bash")
            w.result("c", "done", call)
            w.end_step()
        w.end()
        if w.turn % 300 == 0:
            w.replace(0, len(w.session.surface) - 40, "What was done so far.")
    return w.session
