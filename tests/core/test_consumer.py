"""The page about the store, whose examples run, and the consumer in it: it stops, flushes, then detaches."""

import asyncio
import contextlib
import io
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsh_session import Context, Session, check_invariants

from .stores import Ears, PlantedError

PAGE = Path(__file__).parents[2] / "docs" / "store.md"
FENCE = re.compile(r"^```\{code-block\} (?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def _read() -> tuple[dict[str, Any], str, str]:
    """Run the page: what it defines, what it prints, and what it says that it prints."""
    namespace: dict[str, Any] = {"__name__": "page"}
    printed, promised = io.StringIO(), []
    for block in FENCE.finditer(PAGE.read_text(encoding="utf-8")):
        if block["language"] == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(block["body"], str(PAGE), "exec"), namespace)
        else:
            promised.append(block["body"].replace(":class: output\n\n", ""))
    return namespace, printed.getvalue(), "".join(promised)


def agent(ctx: Context, name: str = "s") -> Any:
    """An `Agent` of the page."""
    return _read()[0]["Agent"](ctx, name)


async def _until(condition: Any) -> None:
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0)
    pytest.fail("it never came about")


def test_the_examples_of_the_page_print_what_the_page_says() -> None:
    _, printed, promised = _read()
    assert printed == promised
    assert printed.count("saved") == 5


@pytest.mark.parametrize("way", ["by itself", "with its context", "with an owner of its own"])
def test_the_loop_stops_then_flushes_then_detaches(way: str) -> None:
    order: list[Any] = []

    async def save(session: Session) -> None:
        # Slow on purpose: whatever does not wait comes before it.
        await asyncio.sleep(0.002)
        order.append(("saved", session.seq, session.id))

    async def main() -> SimpleNamespace:
        async with Context(clock=lambda: 0) as ctx:
            ctx.on("session/event", lambda _session, event: order.append(event.type))
            ctx.on("session/flush", save)
            ctx.on("session/disposed", lambda session: order.append(("left", session.seq, session.id)))
            owner = ctx.child()
            running = agent(owner if way == "with an owner of its own" else ctx)
            running.ask("one")
            running.ask("two")
            if way == "by itself":
                await running.close()
            elif way == "with an owner of its own":
                await owner.aclose()
            assert (ctx.sessions.list() == []) == (way != "with its context")
        return SimpleNamespace(session=running.session, ctx=ctx)

    done = asyncio.run(main())
    assert done.ctx.sessions.list() == []
    assert done.session.seq == 12
    assert check_invariants(done.session.events) == []
    turn = ["turn/start", "user/message", "step/start", "assistant/message", "step/end", "turn/end"]
    assert order == [
        *turn,
        ("saved", 6, "s"),
        *turn,
        ("saved", 12, "s"),
        ("saved", 12, "s"),
        ("left", 12, "s"),
    ]


def test_the_loop_flushes_at_the_end_of_every_turn_while_it_lives() -> None:
    saved: list[int] = []

    async def main() -> None:
        async with Context(clock=lambda: 0) as ctx:
            ctx.on("session/flush", lambda session: saved.append(session.seq))
            running = agent(ctx)
            for turns in (1, 2, 3):
                running.ask("again")
                await _until(lambda turns=turns: len(saved) == turns)
            assert saved == [6, 12, 18]

    asyncio.run(main())


def test_siblings_end_one_after_the_other_and_each_is_whole() -> None:
    async def main() -> None:
        async with Context(clock=lambda: 0) as ctx:
            ears = Ears(ctx)
            running = [agent(ctx, name) for name in ("a", "b", "c")]
            for each in running:
                each.ask("hello")
        heard = [(what, name) for what, name, *_ in ears.take() if what in {"flush", "disposed"}]
        # The last that came is the first to end; the others' turns go on meanwhile, with their flushes.
        assert [name for what, name in heard if what == "disposed"] == ["c", "b", "a"]
        for name in "abc":
            assert [what for what, whose in heard if whose == name] == ["flush", "flush", "disposed"]

    asyncio.run(main())


def test_a_last_flush_that_fails_still_detaches_and_its_failure_is_told() -> None:
    async def main() -> None:
        ctx = Context(clock=lambda: 0)
        left: list[str] = []
        ctx.on("session/disposed", lambda session: left.append(session.id))
        running = agent(ctx)

        def fail(_session: Session) -> None:
            raise PlantedError("disk full")

        ctx.on("session/flush", fail)
        with pytest.raises(PlantedError):
            await running.close()
        assert left == ["s"]
        assert ctx.sessions.list() == []
        await ctx.aclose()

    asyncio.run(main())


def test_a_creation_listener_that_raises_leaves_no_session_and_no_loop() -> None:
    async def main() -> None:
        async with Context(clock=lambda: 0) as ctx:

            def refuse(_session: Session) -> None:
                raise PlantedError("no more sessions")

            undo = ctx.on("session/created", refuse)
            with pytest.raises(PlantedError):
                agent(ctx)
            assert ctx.sessions.list() == []
            assert asyncio.all_tasks() == {asyncio.current_task()}
            undo()
            agent(ctx)

    asyncio.run(main())


def test_a_loop_that_was_closed_by_itself_is_not_ended_again_by_its_context() -> None:
    async def main() -> None:
        ears: Ears
        async with Context(clock=lambda: 0) as ctx:
            ears = Ears(ctx)
            running = agent(ctx)
            await running.close()
            await running.close()
            ears.take()
        assert ears.take() == []

    asyncio.run(main())


def test_the_same_with_create_alone_is_in_order_too_because_effects_end_last_first() -> None:
    order: list[str] = []

    async def main() -> None:
        async with Context(clock=lambda: 0) as ctx:
            ctx.on("session/disposed", lambda _session: order.append("left"))
            session = ctx.sessions.create("s")

            async def stop() -> None:
                await asyncio.sleep(0.002)
                session.append("todo/write", {"todos": []})
                order.append("stopped")

            ctx.on("session/event", lambda _session, event: order.append(event.type))
            ctx.effect(stop)

    asyncio.run(main())
    assert order == ["todo/write", "stopped", "left"]
