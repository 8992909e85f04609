"""A KeyboardInterrupt at any instruction of an append leaves log and surface in agreement."""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dsh_session
from dsh_session import Context, Replace, Session

from .payloads import ROUTE, conversation, payload
from .refusals import assert_agrees

PACKAGE = str(Path(dsh_session.__file__).parent)


class _Interrupt:
    """A trace function that raises KeyboardInterrupt at the nth instruction of the package."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith((PACKAGE, "<copier")):
            return None
        frame.f_trace_opcodes = True
        if event in {"opcode", "return"}:
            self.count += 1
            if self.count == self.at:
                raise KeyboardInterrupt
        return self


def _interrupted(at: int, act: Callable[[], Any]) -> tuple[bool, int]:
    """Run an action with an interrupt at the nth moment; tell whether it came so far, and how many there were."""
    interrupt = _Interrupt(at)
    before = sys.gettrace()
    gc.disable()  # what an earlier test left behind would be finalised here, and take the interrupt
    sys.settrace(interrupt)
    try:
        act()
    except KeyboardInterrupt:
        return True, interrupt.count
    finally:
        sys.settrace(before)
        gc.enable()
    return False, interrupt.count


APPENDS: dict[str, Callable[[Session], Any]] = {
    "a log-only event": lambda s: s.append("todo/write", payload("todo/write")),
    "an event of a plugin": lambda s: s.append("plugin/own", {"a": [1, "\ud83d"]}),
    "a message": lambda s: s.append(
        "user/message", payload("user/message"), surface_op="append", source_event_seqs=[0]
    ),
    "a request header": lambda s: s.append(
        "request/header", {"header": {"config": ROUTE, "system": "new"}, "reason": "change"}
    ),
    "a replacement": lambda s: s.append(
        "user/message", payload("user/message", "sum"), surface_op=Replace(1, 3), source_event_seqs=[1, 3]
    ),
    "a replacement by nothing": lambda s: s.append(
        "assistant/message",
        {**payload("assistant/message"), "content": []},
        surface_op=Replace(3, 5),
        source_event_seqs=[3, 5],
    ),
}


def _ready(*, read: bool) -> Session:
    log = conversation()
    log.append("context/message", payload("context/message"), surface_op="append")
    if read:
        log.derive_messages()
        log.request_header()
        list(log.surface.nodes)
    return log


@pytest.mark.parametrize("read", [True, False], ids=["read before", "not read before"])
@pytest.mark.parametrize("append", APPENDS.values(), ids=APPENDS)
def test_an_interrupted_append_leaves_log_and_surface_in_agreement(
    append: Callable[[Session], Any], read: bool
) -> None:
    append(_ready(read=read))  # code paths are generated when a shape is first met
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        log = _ready(read=read)
        before = log.seq
        interrupted, _ = _interrupted(at, lambda log=log: append(log))  # type: ignore[misc]
        assert log.seq in {before, before + 1}
        committed = log.seq > before
        if at % 2:
            # Appending first, so that nothing but the append itself can have put things right.
            event = log.append("user/message", payload("user/message", "next"), surface_op="append")
            assert event.seq == before + committed
        if not committed:
            assert append(log).seq == log.seq - 1
        assert_agrees(log)
    assert at > 30


def test_an_append_interrupted_at_its_first_meeting_with_a_shape_is_whole_too() -> None:
    for at in range(1, 2_000, 23):
        log = conversation()
        data = {**payload("turn/start"), f"extra{at}": at}
        _interrupted(at, lambda log=log, data=data: log.append("turn/start", data))  # type: ignore[misc]
        assert_agrees(log)
        assert log.append("turn/start", data).data == data


READS: dict[str, Callable[[Session], Any]] = {
    "derive_messages": lambda s: s.derive_messages(),
    "messages": lambda s: s.messages,
    "request_header": lambda s: s.request_header(),
    "nodes": lambda s: s.surface.nodes,
    "iteration": lambda s: list(s.surface),
    "events": lambda s: s.events,
    "data": lambda s: s.events[1].data,
    "to_jsonl": lambda s: s.to_jsonl(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_interrupted_reading_spoils_no_later_one(read: Callable[[Session], Any]) -> None:
    at = 0
    interrupted = True
    while interrupted:
        at += 3  # and the appends around it have all of theirs above
        log = _ready(read=True)
        APPENDS["a message"](log)
        APPENDS["a replacement"](log)
        APPENDS["a request header"](log)
        APPENDS["a message"](log)
        interrupted, _ = _interrupted(at, lambda log=log: read(log))  # type: ignore[misc]
        if at % 2:
            assert_agrees(log)
        APPENDS["a message"](log)
        assert_agrees(log)


def test_an_interrupted_construction_leaves_the_seed_usable() -> None:
    source = conversation()
    wire = [event.to_dict() for event in source.events]
    for at in range(1, 1_500, 7):
        _interrupted(at, lambda: Session("t", seed=source.events))
        _interrupted(at, lambda: Session("t", seed=wire))
    assert_agrees(source)
    assert_agrees(Session("t", seed=wire))


def test_an_interrupted_announcement_can_be_detached_and_its_disposal_is_told_only_if_it_began() -> None:
    at = 0
    interrupted = True
    while interrupted:
        at += 1
        disposed: list[str] = []
        with Context() as ctx:
            ctx.on("session/created", lambda _session: None)
            ctx.on("session/disposed", lambda session, told=disposed: told.append(session.id))  # type: ignore[misc]
            session = ctx.sessions.prepare("s")
            detach = ctx.sessions.enter(session)
            interrupted, _ = _interrupted(at, lambda ctx=ctx, s=session: ctx.sessions.announce(s))  # type: ignore[misc]
            announced = bool(session._link and session._link.announced)  # type: ignore[attr-defined]
            detach()
            assert ctx.sessions.get("s") is None
            assert disposed == ["s"] * announced
            ctx.sessions.enter(session)()
    assert at > 30
    assert announced
