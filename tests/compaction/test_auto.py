"""Compacting before each step of every session in a context."""

import asyncio
import logging
from typing import Any

import pytest

from dsh_session import Context, Session
from dsh_session.compaction import AutoCompact, Basic, Leave, Never, Summary, TokenMeter, extractive
from dsh_session.core.errors import CompactionError
from dsh_session.core.invariants import check_invariants, invariants
from dsh_session.core.record import Recorder

from .sessions import FILLER, brackets, errors, open_turn, say

POLICY = Basic(context_window=1_000)


def work(log: Session, turns: int, steps: int = 1) -> None:
    record = Recorder(log)
    for number in range(turns):
        with record.turn(f"Question {number}? {FILLER * 10}") as turn:
            for at in range(steps):
                with turn.step() as step:
                    step.assistant("Let me look.", calls=[(f"c{number}-{at}", "ls", {})])
                    step.result(f"c{number}-{at}", FILLER * 10)


def test_every_request_of_a_recorded_session_fits_into_the_window() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(invariants)
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        sizes: list[int] = []
        ctx.on(
            "session/event",
            lambda live, event: sizes.append(TokenMeter().measure(live).total) if event.type == "step/start" else None,
        )
        work(log, 30)
        assert log.surface.replace_generation > 2
        assert max(sizes) < POLICY.threshold
        assert check_invariants(log.events) == []


def test_the_compaction_stands_between_the_prompt_and_the_step_and_says_what_asked_for_it() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        work(log, 30)
        types = [event.type for event in log.events]
        starts = [at for at, type_ in enumerate(types) if type_ == "compact/start"]
        assert starts
        for at in starts:
            assert types[at : at + 5] == [
                "compact/start",
                "compact/summary",
                "user/message",
                "compact/end",
                "step/start",
            ]
            assert types[at - 1] in ("user/message", "step/end")
            assert log.events[at].data["trigger"] == "auto"


def test_a_long_turn_is_compacted_between_its_steps() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        work(log, 1, steps=40)
        assert log.surface.replace_generation > 2
        assert check_invariants(log.events) == []


def test_a_loop_that_appends_by_hand_is_served_as_well() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        open_turn(log)
        for _ in range(20):
            say(log, FILLER * 10)
        assert brackets(log) == []
        event = log.append("step/start", {"turn": 1, "step": 1})
        assert brackets(log) == ["start", "summary", "user/message", "end"]
        assert event is log.events[-1]
        assert event.data == {"turn": 1, "step": 1}


def test_every_session_of_the_context_is_served_and_no_other() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, extractive))
        logs = [ctx.sessions.create(name) for name in "abc"]
        alone = Session("alone", clock=lambda: 0)
        for log in (*logs, alone):
            work(log, 20)
        assert all(log.surface.replace_generation for log in logs)
        assert alone.surface.replace_generation == 0


def test_a_scoped_plugin_serves_its_own_sessions() -> None:
    with Context(clock=lambda: 0) as ctx:
        inner, outer = ctx.scope(), ctx
        inner.plugin(AutoCompact(POLICY, extractive))
        one, two = inner.sessions.create("one"), outer.sessions.create("two")
        for log in (one, two):
            work(log, 20)
        assert (one.surface.replace_generation > 0, two.surface.replace_generation) == (True, 0)


def test_a_plugin_that_was_taken_out_does_nothing_more() -> None:
    with Context(clock=lambda: 0) as ctx:
        plugged = ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        plugged.close()
        work(log, 20)
        assert log.surface.replace_generation == 0


def test_a_failing_summariser_is_logged_and_the_step_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_transcript: str) -> str:
        raise ConnectionError("nobody there")

    with Context(clock=lambda: 0) as ctx, caplog.at_level(logging.WARNING, logger="dsh_session"):
        ctx.plugin(AutoCompact(POLICY, fail))
        log = ctx.sessions.create("s")
        work(log, 10)
        assert log.surface.replace_generation == 0
        assert set(errors(log)) == {"nobody there"}
        assert sum(event.type == "step/start" for event in log.events) == 10
        assert "session 's', session/pre-step: a listener failed: ConnectionError('nobody there')" in caplog.messages


def test_an_interruption_of_the_summariser_is_not_contained() -> None:
    def interrupt(_transcript: str) -> str:
        raise KeyboardInterrupt

    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, interrupt))
        log = ctx.sessions.create("s")
        with pytest.raises(KeyboardInterrupt):
            work(log, 20)
        assert log.surface.replace_generation == 0
        assert brackets(log) == ["start", "end"]


def test_a_session_that_cannot_be_made_small_enough_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    class Unhappy(Never):
        def plan(self, surface: Any) -> Leave:
            return super().plan(surface)._replace(reason="no way", is_satisfied=False)

    with Context(clock=lambda: 0) as ctx, caplog.at_level(logging.WARNING, logger="dsh_session"):
        ctx.plugin(AutoCompact(Unhappy(), extractive))
        work(ctx.sessions.create("s"), 10)
        (message,) = caplog.messages
        assert message.startswith("session 's': the next request takes ")
        assert message.endswith(" tokens, which is too much: no way")


def test_a_coroutine_function_cannot_be_plugged_in_but_awaited_by_the_loop() -> None:
    async def summarise(transcript: str) -> Summary:
        await asyncio.sleep(0)
        return Summary(extractive(transcript), "p", "m")

    auto = AutoCompact(POLICY, summarise)

    with Context(clock=lambda: 0) as ctx:
        with pytest.raises(CompactionError, match="before_step_async") as caught:
            ctx.plugin(auto)
        assert caught.value.code == "COMPACTION_ASYNC"
        log = ctx.sessions.create("s")

        async def agent() -> list[bool]:
            done = []
            record = Recorder(log)
            for number in range(20):
                with record.turn(f"Question {number}? {FILLER * 10}") as turn:
                    done.append(bool(await auto.before_step_async(log)))
                    with turn.step() as step:
                        step.assistant("Yes.")
            return done

        done = asyncio.run(agent())
        assert sum(done) == log.surface.replace_generation > 1
        assert check_invariants(log.events) == []


def test_a_step_that_a_listener_begins_by_mistake_compacts_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        open_turn(log)
        for _ in range(20):
            say(log, FILLER * 10)
        ctx.on("session/event", lambda live, _event: live.append("step/start", {"turn": 1, "step": 1}))
        with caplog.at_level(logging.WARNING, logger="dsh_session"):
            log.append("todo/write", {"todos": []})
        assert brackets(log) == []
        assert [message for message in caplog.messages if "APPEND_REENTERED" in message]


def test_without_a_turn_the_step_is_appended_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with Context(clock=lambda: 0) as ctx, caplog.at_level(logging.WARNING, logger="dsh_session"):
        ctx.plugin(AutoCompact(POLICY, extractive))
        log = ctx.sessions.create("s")
        for _ in range(20):
            say(log, FILLER * 10)
        log.append("step/start", {"turn": 1, "step": 1})
        assert (brackets(log), log.events[-1].type) == ([], "step/start")
        assert "COMPACTION_NO_TURN" in caplog.messages[0]


def test_asking_by_hand_does_what_the_plugin_does() -> None:
    log = Session("s", clock=lambda: 0)
    auto = AutoCompact(POLICY, extractive)
    work(log, 20)
    open_turn(log)
    assert auto.before_step(log)
    assert not auto.before_step(log)
    assert auto.meter.measure(log).total < POLICY.threshold
