"""Logs made by hand, with what recorded ones seldom have."""

from __future__ import annotations

from typing import Any

from dsh_session import Replace, Session


class Writer:
    """Writes a session without being kept from anything odd; a tick of the clock is a second."""

    def __init__(self, name: str) -> None:
        ticks = iter(range(0, 10**9, 1000))
        self.session = Session(name, clock=lambda: next(ticks), check_payloads=False)
        self.turn = 0
        self.step = 0

    def log(self, type_: Any, **data: Any) -> int:
        event: Any = self.session.append(type_, data)
        return int(event.seq)

    def say(self, type_: Any, text: str, *, sources: list[int] | None = None, op: Any = "append", **data: Any) -> int:
        body = {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}, **data}
        event: Any = self.session.append(type_, body, surface_op=op, source_event_seqs=sources)
        return int(event.seq)

    def begin(self) -> int:
        self.turn += 1
        self.step = 0
        return self.log("turn/start", turn=self.turn, trigger={"kind": "message", "source": {"kind": "user"}})

    def end(self, kind: str = "completed", **more: Any) -> int:
        return self.log("turn/end", turn=self.turn, reason={"kind": kind, **more})

    def begin_step(self) -> int:
        self.step += 1
        return self.log("step/start", turn=self.turn, step=self.step)

    def end_step(self) -> int:
        return self.log("step/end", turn=self.turn, step=self.step)

    def chunks(self, count: int) -> list[int]:
        chunk = {"type": "text-delta", "index": 0, "text": "x"}
        return [self.log("assistant/chunk", turn=self.turn, step=self.step, chunk=chunk) for _ in range(count)]

    def answer(self, text: str, count: int = 3) -> int:
        chunks = self.chunks(count)
        return self.say("assistant/message", text, sources=chunks or None, turn=self.turn, step=self.step)

    def call(self, call: str, name: str) -> int:
        return self.log("tool/call", turn=self.turn, step=self.step, callId=call, name=name, arguments="{}")

    def result(self, call: str, text: str, source: int, **more: Any) -> int:
        return self.say("tool/result", text, sources=[source], turn=self.turn, step=self.step, callId=call, **more)

    def replace(self, start: int, stop: int, text: str, *, cited: int = 0, type_: Any = "user/message") -> int:
        """Replace positions of the surface, and cite so many log-only events besides."""
        nodes = list(self.session.surface.nodes)[start:stop]
        notes = [self.log("x/note", about=text) for _ in range(cited)]
        return self.say(type_, text, sources=[*notes, *nodes], op=Replace(nodes[0], nodes[-1]))


def nested() -> Session:
    """Every outcome of a turn, calls beside each other, and replacements four levels deep."""
    write = Writer("nested")
    write.begin()
    write.say("user/message", "read both files")
    write.begin_step()
    write.log("request/header", header={"config": {"provider": "p", "model": "m"}, "tools": []}, reason="initial")
    write.answer("I read them.")
    first, second = write.call("c1", "read"), write.call("c2", "read")
    write.result("c2", "the second", second)
    write.result("c1", "the first", first)
    write.end_step()
    write.begin_step()
    write.answer("Both are read.", 2)
    write.end_step()
    write.end()
    write.log("x/between", why="nothing is open")
    write.begin()
    write.replace(0, 3, "one", cited=2)
    write.replace(0, 2, "two")
    write.say("steering/message", "go on")
    write.replace(0, 2, "three")
    write.end("max-tokens")
    write.begin()
    write.say("user/message", "and now?")
    write.begin_step()
    write.chunks(4)
    write.end_step()
    write.end("aborted", reason="session/cancel")
    write.begin()
    write.log("prompt/blocked", content=[{"type": "text", "text": "no"}], reason="policy")
    write.end("rejected", reason="policy")
    write.begin()
    write.say("context/message", "the time is now", source={"kind": "plugin", "plugin": "clock"})
    write.begin_step()
    write.end_step()
    write.end("error", step=1, message="HTTP 500")
    write.begin()
    write.begin_step()
    write.answer("I call.", 0)
    call = write.call("c3", "bash")
    interrupted = {"name": "InterruptedError", "code": "interrupted"}
    write.result("c3", "Tool call interrupted.", call, isError=True, error=interrupted)
    write.call("c4", "bash")
    write.end_step()
    write.end("interrupted")
    write.replace(0, 3, "four", cited=1)
    write.begin()
    write.say("user/message", "still there?")
    write.begin_step()
    write.chunks(2)
    write.call("c5", "wait")
    return write.session
