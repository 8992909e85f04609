"""The logs that the benchmarks run on: the same bytes on every machine.

Each is made of plain wire dictionaries, so that nothing measured has seen them before. ``python -m benchmarks.inputs``
compares their digests with the ones below and prints them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

Json = dict[str, Any]


class Operation(NamedTuple):
    """One call of `Session.append`, before it is made."""

    type: str
    data: Json
    surface_op: str | Json | None = None
    sources: list[int] | None = None


class Digest(NamedTuple):
    """What identifies a log: its length, the size of its JSON lines, and the start of their SHA-256."""

    events: int
    bytes: int
    sha256: str


TEXT_LENGTH: Final = 200
WORDS: Final = "lorem ipsum dolor sit amet consectetur "


def text(number: int) -> str:
    """Two hundred characters that differ from number to number."""
    start = f"event {number} "
    filler = WORDS * (TEXT_LENGTH // len(WORDS) + 1)
    return (start + filler)[:TEXT_LENGTH]


def conversation(turns: int) -> Iterator[Operation]:
    """An agent at work: each turn asks, streams an answer in five chunks, calls one tool and ends; 13 events."""
    for turn in range(1, turns + 1):
        yield from _turn(turn, first_seq=13 * (turn - 1))


def _turn(turn: int, *, first_seq: int) -> Iterator[Operation]:
    place = {"turn": turn, "step": 1}
    call, arguments = f"call-{turn}", f'{{"command":"echo {turn}"}}'
    question, reply, result = (text(3 * turn + part) for part in range(3))

    yield Operation("turn/start", {"turn": turn, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    yield Operation("step/start", {**place})
    yield Operation("user/message", {"content": _said(question), "source": {"kind": "user"}}, "append")
    for start in range(0, TEXT_LENGTH, 40):
        chunk = {"type": "text-delta", "index": 0, "text": reply[start : start + 40]}
        yield Operation("assistant/chunk", {**place, "chunk": chunk})
    tool_call = {"type": "tool-call", "id": call, "name": "bash", "arguments": arguments}
    message = {
        **place,
        "content": [*_said(reply), tool_call],
        "provenance": {"provider": "mock", "model": "mock-model"},
        "usage": {"inputTokens": 1000, "outputTokens": 50},
    }
    yield Operation("assistant/message", message, "append", [first_seq + chunk for chunk in range(3, 8)])
    yield Operation("tool/call", {**place, "callId": call, "name": "bash", "arguments": arguments})
    answer = {**place, "callId": call, "content": _said(result), "isError": False}
    yield Operation("tool/result", answer, "append", [first_seq + 9])
    yield Operation("step/end", {**place})
    yield Operation("turn/end", {"turn": turn, "reason": {"kind": "completed"}})


def surface_operations(count: int, kinds: int) -> Iterator[Operation]:
    """Surface events only, the first ``kinds`` of the five surface types in rotation."""
    for number in range(count):
        content = _said(text(number))
        match number % kinds:
            case 0:
                yield Operation("user/message", {"content": content, "source": {"kind": "user"}}, "append")
            case 1:
                route = {"provider": "mock", "model": "mock-model"}
                message = {"turn": 1, "step": 1, "content": content, "provenance": route}
                yield Operation("assistant/message", message, "append")
            case 2:
                result = {"turn": 1, "step": 1, "callId": f"call-{number}", "content": content, "isError": False}
                yield Operation("tool/result", result, "append")
            case 3:
                source = {"kind": "plugin", "plugin": "ctx"}
                yield Operation("context/message", {"content": content, "source": source}, "append")
            case _:
                steering = {"turn": 1, "content": content, "source": {"kind": "user"}}
                yield Operation("steering/message", steering, "append")


def replaced(messages: int) -> tuple[list[Json], list[int]]:
    """``messages`` user messages, then half as many replacements of one to four neighbours.

    Returns:
        The events, and the seqs that must be on the surface at the end.
    """
    random, surface = _Random(12345), list(range(messages))
    events = [_user_message(seq, "append", None) for seq in range(messages)]
    for seq in range(messages, messages + messages // 2):
        at = random.below(len(surface))
        length = min(1 + random.below(4), len(surface) - at)
        shadowed = surface[at : at + length]
        surface[at : at + length] = [seq]
        events.append(_user_message(seq, {"op": "replace", "start": shadowed[0], "end": shadowed[-1]}, shadowed))
    return events, surface


def log_of(operations: Iterable[Operation]) -> list[Json]:
    """The wire form of the events that these operations append, with their seq for a time."""
    events = []
    for seq, operation in enumerate(operations):
        event: Json = {"type": operation.type, "seq": seq, "time": seq, "data": operation.data}
        if operation.sources is not None:
            event["sourceEventSeqs"] = operation.sources
        if operation.surface_op is not None:
            event["surfaceOp"] = operation.surface_op
        events.append(event)
    return events


def lines_of(events: Iterable[Json], *, session_id: str = "bench") -> bytes:
    """A whole log file: the header's line, then one line per event."""
    header = {"type": "session", "version": 0, "id": session_id, "createdAt": 0}
    return b"".join(_line(value) for value in (header, *events))


def digest(events: Iterable[Json]) -> Digest:
    """The identity of a log."""
    count, size, sha = 0, 0, hashlib.sha256()
    for event in events:
        line = _line(event)
        sha.update(line)
        count, size = count + 1, size + len(line)
    return Digest(count, size, sha.hexdigest()[:16])


def surface_checksum(nodes: Iterable[int]) -> int:
    """One number for a surface: equal surfaces, equal numbers; a swap of two nodes changes it."""
    return sum(place * seq for place, seq in enumerate(nodes)) % 1_000_000_007


def _said(words: str) -> list[Json]:
    return [{"type": "text", "text": words}]


def _user_message(seq: int, surface_op: str | Json, sources: list[int] | None) -> Json:
    event: Json = {"type": "user/message", "seq": seq, "time": seq}
    event["data"] = {"content": _said(text(seq)), "source": {"kind": "user"}}
    if sources is not None:
        event["sourceEventSeqs"] = sources
    event["surfaceOp"] = surface_op
    return event


def _line(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


class _Random:
    """A linear congruential generator: Python's own may change its ways between versions."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, bound: int) -> int:
        self._state = (self._state * 1664525 + 1013904223) % 2**32
        return self._state * bound >> 32


CONVERSATION_TURNS: Final = 7692
"""The conversation that the table speaks of: 99,996 events."""


class Replaced(NamedTuple):
    """What identifies `replaced` of one size: its events, and where its surface must end."""

    log: Digest
    final_nodes: int
    checksum: int


CONVERSATION: Final = Digest(99_996, 20_822_228, "6dff76ef7510edb5")
SURFACE: Final = Digest(2_000, 723_158, "94f8b8c4a168584c")
REPLACED: Final = {
    5_000: Replaced(Digest(7_500, 2_707_245, "a611335a2ae7c7d8"), 1_250, 221_262_247),
    10_000: Replaced(Digest(15_000, 5_434_687, "f58533a9288356b0"), 2_525, 11_008_723),
    20_000: Replaced(Digest(30_000, 10_909_761, "b59773ac5446b193"), 4_997, 482_855_829),
    40_000: Replaced(Digest(60_000, 21_859_607, "d1fac0ba24ebc408"), 10_025, 697_124_889),
}


def check() -> Iterator[str]:
    """Make every input, compare it with what it must be, and say so line by line.

    Raises:
        AssertionError: An input differs from the one that the bounds were set for.
    """
    yield _same("conversation(7692)", digest(log_of(conversation(CONVERSATION_TURNS))), CONVERSATION)
    yield _same("surface_operations(2000, 5)", digest(log_of(surface_operations(2_000, 5))), SURFACE)
    for size, expected in REPLACED.items():
        events, nodes = replaced(size)
        made = Replaced(digest(events), len(nodes), surface_checksum(nodes))
        yield _same(f"replaced({size})", made, expected)


def _same(name: str, made: Digest | Replaced, expected: Digest | Replaced) -> str:
    if made != expected:
        msg = f"{name} gives {made}, not {expected}: this log is not the one that the bounds were set for"
        raise AssertionError(msg)
    return f"{name}: {made}"


if __name__ == "__main__":
    for line in check():
        print(line)
