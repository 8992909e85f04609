"""Sessions to compact, small enough to be read."""

from collections.abc import Iterable
from typing import Any

from dsh_session import Session
from dsh_session.compaction import TokenMeter
from dsh_session.core.event import SessionEvent
from dsh_session.core.record import Recorder

FILLER = "It matters to me a lot. "
USER = {"kind": "user"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, arguments: str = "{}", id_: str = "c") -> dict[str, Any]:
    return {"type": "tool-call", "id": id_, "name": name, "arguments": arguments}


def session(id_: str = "s", **options: Any) -> Session:
    return Session(id_, clock=lambda: 0, **options)


def say(log: Session, words: str, kind: Any = "user/message", **more: Any) -> SessionEvent:
    data: Any = {"content": [text(words)], "source": USER, **more}
    return log.append(kind, data, surface_op="append")


def open_turn(log: Session) -> int:
    """Start a turn after all that are there."""
    number = 1 + sum(event.type == "turn/start" for event in log.events)
    log.append("turn/start", {"turn": number, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    return number


def close_turn(log: Session, reason: Any = "completed") -> None:
    number = sum(event.type == "turn/start" for event in log.events)
    log.append("turn/end", {"turn": number, "reason": {"kind": reason}})


def talked(turns: int = 4, *, into: Session | None = None, results: str = "README.md") -> Session:
    """A session of turns with a prompt, a call, its result and an answer each; in an open turn at the end.

    Its surface is 1, 3, 5, 8 in the first turn, and ten more in each later one.
    """
    log = session() if into is None else into
    record = Recorder(log)
    for number in range(1, turns + 1):
        with record.turn(f"Question {number}? {FILLER * 4}") as turn:
            with turn.step() as step:
                step.assistant("Let me look.", calls=[(f"c{number}", "bash", {"command": "ls"})])
                step.result(f"c{number}", results)
            with turn.step() as step:
                step.assistant(f"Answer {number}. {FILLER * 4}")
    open_turn(log)
    return log


def said(log: Session) -> list[str]:
    """The text of every message of the history, in order."""
    return ["".join(block.get("text", "") for block in message["content"]) for message in log.messages]


def brackets(log: Session) -> list[str]:
    """The types of the events of compactions, in log order, a replacement as what it is."""
    kinds = [
        event.type for event in log.events if event.type.startswith("compact/") or isinstance(event.surface_op, dict)
    ]
    return [kind.removeprefix("compact/") for kind in kinds]


def errors(log: Session) -> list[str]:
    """What the ends of brackets say that went wrong."""
    ends = [event.data for event in log.events if event.type == "compact/end"]
    return [data["error"] for data in ends if "error" in data]


class Weights(TokenMeter):
    """Says how many tokens the nodes of a surface have, one after the other, and what a replacement has."""

    def __init__(self, tokens: Iterable[int] = (), *, otherwise: int = 10, replacement: int = 1) -> None:
        super().__init__(prefer_recorded=False)
        self._tokens = list(tokens)
        self._otherwise = otherwise
        self._replacement = replacement
        self._seen: dict[int, int] = {}

    def estimate_event(self, event: SessionEvent) -> int:
        if isinstance(event.surface_op, dict):
            return self._replacement
        at = self._seen.setdefault(event.seq, len(self._seen))
        return self._tokens[at] if at < len(self._tokens) else self._otherwise

    def estimate_message(self, message: Any) -> int:  # noqa: ARG002 (whatever it says)
        return self._replacement
