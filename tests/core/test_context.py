"""Contexts: who owns what, and how all of it is undone."""

import asyncio
import functools
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from dsh_session import Context, Session, SessionError, SessionEvent
from dsh_session.core.errors import ContextError

from .payloads import payload

FAMILIES = ("session/created", "session/event", "session/flush", "session/disposed")


def context(**options: Any) -> Context:
    return Context(clock=lambda: 1000, **options)


class Tally(list[Any]):
    """Notes what is called, and gives functions that do."""

    def noting(self, name: Any) -> Callable[..., None]:
        return lambda *_arguments: self.append(name)

    def failing(self, name: Any) -> Callable[..., None]:
        def fail(*_arguments: Any) -> None:
            self.append(name)
            raise RuntimeError(name)

        return fail

    def awaiting(self, name: Any) -> Callable[..., Any]:
        async def wait(*_arguments: Any) -> None:
            await asyncio.sleep(0)
            self.append(name)

        return wait


def plainly(give: Callable[[], Any]) -> Callable[[], Any]:
    """A plain function that gives an awaitable, which nobody can know before."""

    def undo() -> Any:
        return give()

    return undo


def refused_because(code: str) -> Any:
    return pytest.raises(ContextError, match=rf"^{code}: ")


# ------------------------------------------------------------------------------------------------- what is undone


def test_effects_are_undone_last_first() -> None:
    seen = Tally()
    with context() as ctx:
        for name in ("a", "b", "c"):
            ctx.effect(seen.noting(name))
        assert seen == []
    assert seen == ["c", "b", "a"]


def test_sessions_children_and_effects_are_undone_in_one_order() -> None:
    seen = Tally()
    ctx = context()
    ctx.on("session/disposed", lambda session: seen.append(session.id))
    ctx.effect(seen.noting("first"))
    ctx.sessions.create("a")
    child = ctx.child()
    child.effect(seen.noting("of the child"))
    child.sessions.create("b")
    ctx.sessions.create("c")
    ctx.effect(seen.noting("last"))
    ctx.close()
    assert seen == ["last", "c", "b", "of the child", "a", "first"]


def test_an_effect_is_undone_once_however_often_its_context_is_closed() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))
    ctx.close()
    ctx.close()
    assert seen == ["a"]
    assert ctx.closed


def test_an_effect_that_is_undone_early_is_not_undone_again() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))
    early = ctx.effect(seen.noting("b"))
    ctx.effect(seen.noting("c"))
    early()
    early()
    assert seen == ["b"]
    ctx.close()
    assert seen == ["b", "c", "a"]
    early()
    assert seen == ["b", "c", "a"]


def test_every_effect_is_undone_even_when_one_fails_and_the_failure_is_told() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))
    ctx.effect(seen.failing("b"))
    ctx.effect(seen.noting("c"))
    with pytest.raises(RuntimeError, match=r"^b$"):
        ctx.close()
    assert seen == ["c", "b", "a"]


def test_several_failures_are_told_together_in_the_order_in_which_they_came() -> None:
    seen = Tally()
    ctx = context()
    for name in ("a", "b"):
        ctx.effect(seen.failing(name))
    ctx.effect(seen.noting("c"))
    with pytest.raises(ExceptionGroup) as caught:
        ctx.close()
    assert [str(error) for error in caught.value.exceptions] == ["b", "a"]
    assert seen == ["c", "b", "a"]


def test_a_failing_child_leaves_its_siblings_and_its_parent_to_be_undone() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("parent"))
    first, second = ctx.child(), ctx.child()
    first.effect(seen.noting("first"))
    second.effect(seen.noting("second"))
    second.effect(seen.failing("second fails"))
    with pytest.raises(RuntimeError, match="second fails"):
        ctx.close()
    assert seen == ["second fails", "second", "first", "parent"]
    assert first.closed
    assert second.closed


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_closing_comes_through_after_everything_is_undone(stop: type[BaseException]) -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))

    def interrupt() -> None:
        raise stop

    ctx.effect(interrupt)
    ctx.effect(seen.failing("c"))
    with pytest.raises(stop):
        ctx.close()
    assert seen == ["c", "a"]


def test_a_failure_in_the_body_and_one_while_closing_are_both_told() -> None:
    seen = Tally()

    def body() -> None:
        with context() as ctx:
            ctx.effect(seen.failing("closing"))
            raise ValueError("body")

    with pytest.raises(RuntimeError, match="closing") as caught:
        body()
    assert isinstance(caught.value.__context__, ValueError)


def test_leaving_the_body_by_an_error_closes_the_context_and_lets_the_error_through() -> None:
    seen = Tally()

    def body() -> None:
        with context() as ctx:
            ctx.effect(seen.noting("a"))
            raise ValueError("body")

    with pytest.raises(ValueError, match="body"):
        body()
    assert seen == ["a"]


def test_an_effect_that_closes_its_own_context_changes_nothing() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))
    ctx.effect(ctx.close)
    ctx.close()
    assert seen == ["a"]


def test_an_effect_may_undo_another_one_early() -> None:
    seen = Tally()
    ctx = context()
    early = ctx.effect(seen.noting("a"))
    ctx.effect(early)
    ctx.close()
    assert seen == ["a"]


def test_an_effect_that_wants_to_register_another_while_closing_is_refused() -> None:
    seen = Tally()
    ctx = context()
    ctx.effect(seen.noting("a"))
    ctx.effect(lambda: ctx.effect(seen.noting("never")))
    with refused_because("CONTEXT_CLOSED"):
        ctx.close()
    assert seen == ["a"]


# --------------------------------------------------------------------------------------- children, scopes, plugins


@pytest.mark.parametrize("awaited", [False, True])
def test_children_of_children_close_however_many_they_are(*, awaited: bool) -> None:
    seen = Tally()
    root = ctx = context()
    for depth in range(3000):
        ctx.effect(seen.failing("fails") if depth == 1500 else seen.noting(depth))
        ctx = ctx.child()
    ctx.sessions.create("innermost")
    with pytest.raises(RuntimeError, match="fails"):
        asyncio.run(root.aclose()) if awaited else root.close()
    assert seen == [*range(2999, 1500, -1), "fails", *range(1499, -1, -1)]
    assert ctx.closed
    assert root.sessions.list() == []


def test_a_child_that_was_closed_is_forgotten_by_its_parent() -> None:
    seen = Tally()
    ctx = context()
    child = ctx.child()
    child.effect(seen.noting("child"))
    child.close()
    assert seen == ["child"]
    assert not ctx.closed
    ctx.close()
    assert seen == ["child"]


def test_a_child_that_was_closed_can_be_collected_while_its_parent_lives() -> None:
    with context() as ctx:
        child = ctx.scope()
        child.on("session/event", lambda _session, _event: None)
        session = child.sessions.create("s")
        session.append("turn/start", payload("turn/start"))
        gone = weakref.ref(child)
        child.close()
        del child, session
        gc.collect()
        assert gone() is None


def test_closing_a_context_closes_every_descendant() -> None:
    ctx = context()
    inner = ctx.child().scope().child()
    inner.sessions.create("deep")
    ctx.close()
    assert inner.closed
    assert ctx.sessions.list() == []


def test_a_tree_of_contexts_shares_its_sessions_and_two_trees_share_none() -> None:
    with context() as ctx, context() as other:
        session = ctx.child().sessions.create("s")
        assert ctx.sessions.get("s") is session
        assert ctx.scope().sessions.list() == [session]
        assert other.sessions.get("s") is None


def test_a_plugin_is_set_up_in_a_child_whose_closing_takes_it_out() -> None:
    seen = Tally()

    def plugin(own: Context) -> None:
        own.on("session/event", lambda _session, event: seen.append(event.seq))
        own.effect(seen.noting("out"))

    with context() as ctx:
        child = ctx.plugin(plugin)
        session = ctx.sessions.create("s")
        session.append("turn/start", payload("turn/start"))
        child.close()
        session.append("turn/end", payload("turn/end"))
        assert seen == [0, "out"]
    assert seen == [0, "out"]


def test_a_plugin_that_fails_to_set_up_leaves_nothing_behind() -> None:
    seen = Tally()

    def plugin(own: Context) -> None:
        own.on("session/created", seen.noting("heard"))
        own.effect(seen.noting("undone"))
        raise ValueError("no")

    with context() as ctx:
        with pytest.raises(ValueError, match="no"):
            ctx.plugin(plugin)
        ctx.sessions.create("s")
        assert seen == ["undone"]


def test_the_failure_of_a_plugin_is_told_whatever_it_had_registered_and_nothing_of_it_stays_for_good() -> None:
    seen = Tally()

    def plugin(own: Context) -> None:
        own.effect(seen.awaiting("undone"))
        raise ValueError("no")

    async def main() -> None:
        async with context() as ctx:
            with pytest.raises(ValueError, match="no"):
                ctx.plugin(plugin)

    asyncio.run(main())
    assert seen == ["undone"]


def test_a_plugin_may_be_set_up_twice() -> None:
    seen = Tally()

    def plugin(own: Context) -> None:
        own.on("session/created", seen.noting("heard"))

    with context() as ctx:
        first, _second = ctx.plugin(plugin), ctx.plugin(plugin)
        ctx.sessions.create("a")
        assert seen == ["heard", "heard"]
        first.close()
        ctx.sessions.create("b")
        assert seen == ["heard"] * 3


def test_a_plugin_that_is_no_plain_function_is_refused_at_once() -> None:
    async def plugin(own: Context) -> None:
        own.on("session/created", print)

    with context() as ctx:
        with pytest.raises(ContextError, match=r"^CONTEXT_ASYNC: a plugin must be a plain function"):
            ctx.plugin(plugin)
        wrong: Any = []
        with pytest.raises(TypeError, match="a plugin must be callable, not list"):
            ctx.plugin(wrong)
        assert repr(ctx) == "<Context open, 0 effects>"


# ------------------------------------------------------------------------------------------------ closed and in use

USES: dict[str, Callable[[Context], Any]] = {
    "on": lambda ctx: ctx.on("session/event", print),
    "check": lambda ctx: ctx.check("session/event", print),
    "effect": lambda ctx: ctx.effect(print),
    "plugin": lambda ctx: ctx.plugin(print),
    "child": lambda ctx: ctx.child(),
    "scope": lambda ctx: ctx.scope(),
    "with": lambda ctx: ctx.__enter__(),
    "async with": lambda ctx: asyncio.run(ctx.__aenter__()),
    "create": lambda ctx: ctx.sessions.create(),
    "prepare": lambda ctx: ctx.sessions.prepare(),
    "enter": lambda ctx: ctx.sessions.enter(Session("other")),
    "fork": lambda ctx: ctx.sessions.fork("s"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_closed_context_refuses_further_use_and_leaves_nothing(use: Callable[[Context], Any]) -> None:
    with context() as ctx:
        ctx.sessions.create("s")
        child = ctx.child()
        child.close()
        with refused_because("CONTEXT_CLOSED"):
            use(child)
        assert [session.id for session in ctx.sessions.list()] == ["s"]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_child_of_a_closed_context_refuses_further_use_too(use: Callable[[Context], Any]) -> None:
    ctx = context()
    child = ctx.child()
    ctx.close()
    with refused_because("CONTEXT_CLOSED"):
        use(child)


def test_a_context_closed_in_the_middle_of_a_dispatch_lets_that_dispatch_end() -> None:
    seen = Tally()
    ctx = context()
    ctx.on("session/event", lambda _session, _event: ctx.close())
    ctx.on("session/event", lambda session, event: seen.append(("event", event.seq, ctx.sessions.get(session.id))))
    ctx.on("session/disposed", lambda session: seen.append(("disposed", session.id)))
    session = ctx.sessions.create("s")
    event = session.append("turn/start", payload("turn/start"))
    # Listeners are undone too, so nobody is left to hear of the disposal.
    assert seen == [("event", 0, session)]
    assert ctx.closed
    assert list(session.events) == [event]
    assert ctx.sessions.list() == []
    session.append("turn/end", payload("turn/end"))
    assert len(seen) == 1


def test_a_child_closed_in_the_middle_of_a_dispatch_takes_its_session_out_when_that_is_over() -> None:
    seen = Tally()
    with context() as ctx:
        ctx.on("session/disposed", lambda session: seen.append(("disposed", session.id)))
        child = ctx.child()
        session = child.sessions.create("s")

        def close(_session: Session, _event: Any) -> None:
            child.close()
            seen.append(("live", ctx.sessions.get("s") is session))

        ctx.on("session/event", close)
        ctx.on("session/event", lambda _session, event: seen.append(("event", event.seq)))
        session.append("turn/start", payload("turn/start"))
        assert seen == [("live", True), ("event", 0), ("disposed", "s")]
        assert ctx.sessions.get("s") is None


def test_a_context_closed_in_the_middle_of_a_creation_gives_the_session_back_and_takes_it_out() -> None:
    with context() as ctx:
        child = ctx.child()
        ctx.on("session/created", lambda _session: child.close())
        session = child.sessions.create("s")
        assert isinstance(session, Session)
        assert ctx.sessions.list() == []


def test_a_context_closed_in_the_middle_of_a_check_lets_the_append_end() -> None:
    with context() as ctx:
        child = ctx.child()
        session = child.sessions.create("s")
        ctx.check("session/event", lambda _session, _event: child.close())
        assert session.append("turn/start", payload("turn/start")).seq == 0
        assert ctx.sessions.list() == []


# ----------------------------------------------------------------------------------------------- with an event loop


def test_async_with_awaits_coroutine_effects_in_order() -> None:
    seen = Tally()

    async def main() -> None:
        async with context() as ctx:
            ctx.effect(seen.noting("a"))
            ctx.effect(seen.awaiting("b"))
            ctx.child().effect(seen.awaiting("of the child"))
            ctx.effect(seen.noting("d"))
        assert ctx.closed

    asyncio.run(main())
    assert seen == ["d", "of the child", "b", "a"]


def test_aclose_undoes_every_effect_even_when_a_coroutine_fails() -> None:
    seen = Tally()

    async def fail() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("b")

    async def main() -> None:
        ctx = context()
        ctx.effect(seen.noting("a"))
        ctx.effect(fail)
        ctx.effect(seen.awaiting("c"))
        with pytest.raises(RuntimeError, match=r"^b$"):
            await ctx.aclose()
        await ctx.aclose()

    asyncio.run(main())
    assert seen == ["c", "a"]


def test_aclose_awaits_what_a_plain_function_gives() -> None:
    seen = Tally()

    async def main() -> None:
        ctx = context()
        ctx.effect(plainly(seen.awaiting("a")))
        await ctx.aclose()

    asyncio.run(main())
    assert seen == ["a"]


def test_close_refuses_coroutine_effects_in_a_running_loop_before_it_undoes_anything() -> None:
    seen = Tally()

    async def main() -> None:
        ctx = context()
        ctx.effect(seen.awaiting("a"))
        ctx.effect(seen.noting("b"))
        with pytest.raises(ContextError, match="aclose") as caught:
            ctx.close()
        assert caught.value.code == "CONTEXT_ASYNC"
        assert seen == []
        assert not ctx.closed
        await ctx.aclose()

    asyncio.run(main())
    assert seen == ["b", "a"]


def test_close_refuses_the_coroutine_effects_of_a_descendant_too() -> None:
    seen = Tally()

    async def main() -> None:
        ctx = context()
        ctx.child().scope().effect(seen.awaiting("deep"))
        with refused_because("CONTEXT_ASYNC"):
            ctx.close()
        await ctx.aclose()

    asyncio.run(main())
    assert seen == ["deep"]


@pytest.mark.parametrize("how", ["partial", "method", "callable object"])
def test_a_coroutine_effect_is_known_in_every_disguise(how: str) -> None:
    seen: list[str] = []

    class Owner:
        async def stop(self, name: str = "method") -> None:
            seen.append(name)

        async def __call__(self) -> None:
            seen.append("callable object")

    effect: Any = {
        "partial": functools.partial(functools.partial(Owner().stop), "partial"),
        "method": Owner().stop,
        "callable object": Owner(),
    }[how]

    async def main() -> None:
        ctx = context()
        ctx.effect(effect)
        with refused_because("CONTEXT_ASYNC"):
            ctx.close()
        await ctx.aclose()

    asyncio.run(main())
    assert seen == [how]


def test_close_in_a_running_loop_undoes_plain_effects_at_once_as_in_a_notebook() -> None:
    seen = Tally()

    async def cell() -> None:
        with context() as ctx:
            ctx.on("session/disposed", lambda session: seen.append(session.id))
            ctx.effect(seen.noting("a"))
            session = ctx.sessions.create("s")
            session.append("turn/start", payload("turn/start"))
            await ctx.sessions.flush(session)
        assert seen == ["s", "a"]

    asyncio.run(cell())


def test_close_where_no_loop_runs_awaits_coroutine_effects_itself() -> None:
    seen = Tally()
    with context() as ctx:
        ctx.effect(seen.noting("a"))
        ctx.child().effect(seen.awaiting("of the child"))
        ctx.effect(seen.awaiting("c"))
    assert seen == ["c", "of the child", "a"]


def test_close_where_no_loop_runs_awaits_what_a_plain_function_gives() -> None:
    seen = Tally()
    with context() as ctx:
        ctx.effect(plainly(seen.awaiting("a")))
    assert seen == ["a"]


def test_close_in_a_running_loop_tells_of_a_plain_function_that_gave_an_awaitable() -> None:
    seen = Tally()

    async def main() -> None:
        ctx = context()
        ctx.effect(seen.noting("a"))
        ctx.effect(plainly(seen.awaiting("never")))
        with refused_because("CONTEXT_ASYNC"):
            ctx.close()

    asyncio.run(main())
    assert seen == ["a"]


def test_undoing_a_coroutine_effect_early_gives_what_must_be_awaited() -> None:
    seen = Tally()

    async def main() -> None:
        async with context() as ctx:
            early = ctx.effect(seen.awaiting("a"))
            await early()
            assert seen == ["a"]

    asyncio.run(main())
    assert seen == ["a"]


def test_what_undoes_a_coroutine_effect_early_may_be_awaited_again() -> None:
    seen = Tally()

    async def main() -> None:
        async with context() as ctx:
            early = ctx.effect(seen.awaiting("a"))
            await early()
            await early()
        await early()

    asyncio.run(main())
    assert seen == ["a"]


def test_a_context_starts_no_thread() -> None:
    before = threading.active_count()
    with context() as ctx:
        ctx.sessions.create("s").append("turn/start", payload("turn/start"))
        asyncio.run(ctx.sessions.flush(ctx.sessions.list()[0]))
        assert threading.active_count() == before


# ------------------------------------------------------------------------------------------------------- listeners


def test_listening_ends_with_its_undo_which_may_be_called_again() -> None:
    seen = Tally()
    with context() as ctx:
        undo = ctx.on("session/created", seen.noting("heard"))
        ctx.sessions.create("a")
        undo()
        undo()
        ctx.sessions.create("b")
    assert seen == ["heard"]


def test_one_function_may_listen_twice_and_each_undo_takes_its_own_away() -> None:
    seen = Tally()
    listener = seen.noting("heard")
    with context() as ctx:
        first = ctx.on("session/created", listener)
        ctx.on("session/created", listener)
        ctx.sessions.create("a")
        first()
        first()
        ctx.sessions.create("b")
    assert seen == ["heard"] * 3


def test_one_function_may_check_twice_and_each_undo_takes_its_own_away() -> None:
    seen = Tally()
    check = seen.noting("checked")
    with context() as ctx:
        first = ctx.check("session/created", check)
        ctx.check("session/created", check)
        ctx.sessions.create("a")
        first()
        first()
        ctx.sessions.create("b")
    assert seen == ["checked"] * 3


def test_listeners_are_called_in_the_order_of_their_registration_and_prepended_ones_first() -> None:
    seen = Tally()
    with context() as ctx:
        ctx.on("session/created", seen.noting("a"))
        ctx.child().on("session/created", seen.noting("b"))
        ctx.on("session/created", seen.noting("c"), prepend=True)
        ctx.on("session/created", seen.noting("d"), prepend=True)
        ctx.sessions.create("s")
    assert seen == ["d", "c", "a", "b"]


@pytest.mark.parametrize("name", ["session/deleted", "event", "", "Session/Event", None, 3])
def test_an_unknown_event_is_refused_with_the_names_there_are(name: Any) -> None:
    with context() as ctx:
        for register in (ctx.on, ctx.check):
            with pytest.raises(ContextError, match="session/created, session/event") as caught:
                register(name, print)
            assert caught.value.code == "UNKNOWN_EVENT"


@pytest.mark.parametrize("name", FAMILIES)
def test_a_coroutine_listener_needs_a_running_loop_but_for_flushing(name: str) -> None:
    async def listener(*_arguments: Any) -> None:
        pass

    with context() as ctx:
        if name == "session/flush":
            ctx.on(name, listener)
        else:
            with refused_because("CONTEXT_ASYNC"):
                ctx.on(name, listener)

    async def main() -> None:
        async with context() as inside:
            inside.on(name, listener)

    asyncio.run(main())


@pytest.mark.parametrize("name", FAMILIES[:2])
def test_a_mock_may_listen_check_and_be_an_effect(name: str) -> None:
    for kind in (Mock, MagicMock):
        listener, check, effect = kind(), kind(), kind()
        with context() as ctx:
            ctx.on(name, listener)
            ctx.check(name, check)
            ctx.effect(effect)
            session = ctx.sessions.create("s")
            event = session.append("turn/start", payload("turn/start"))
        expected = (session, event) if name == "session/event" else (session,)
        listener.assert_called_once_with(*expected)
        check.assert_called_once_with(*expected)
        effect.assert_called_once_with()


def test_a_check_that_is_a_coroutine_function_is_refused_since_it_could_refuse_nothing() -> None:
    async def check(*_arguments: Any) -> None:
        raise ValueError("too late")

    async def main() -> None:
        async with context() as ctx:
            with refused_because("CONTEXT_ASYNC"):
                ctx.check("session/event", check)

    asyncio.run(main())


# ----------------------------------------------------------------------------------------------------- what it says


def test_a_context_says_whether_it_is_open() -> None:
    ctx = context()
    assert "open" in repr(ctx)
    ctx.close()
    assert "closed" in repr(ctx)


def test_every_error_of_a_context_is_a_session_error_with_a_code() -> None:
    ctx = context()
    ctx.close()
    with pytest.raises(SessionError) as caught:
        ctx.child()
    assert caught.value.code == "CONTEXT_CLOSED"


def test_the_logger_is_untouched_by_a_context(caplog: pytest.LogCaptureFixture) -> None:
    before = list(logging.getLogger("dsh_session").handlers)
    with context() as ctx:
        ctx.sessions.create("s").append("turn/start", payload("turn/start"))
    assert logging.getLogger("dsh_session").handlers == before
    assert caplog.records == []


def test_clock_ids_and_payload_checks_are_those_that_were_injected() -> None:
    times, names = iter(range(100)), iter(["one", "two"])
    with Context(clock=lambda: next(times), new_id=lambda: next(names), check_payloads=False) as ctx:
        first, second = ctx.sessions.create(), ctx.scope().sessions.create()
        assert [first.id, second.id] == ["one", "two"]
        assert [first.header.created_at, second.header.created_at] == [0, 1]
        event = first.append("turn/start", {"turn": "one"})
        assert event.time == 2


def test_a_listener_that_was_removed_is_let_go_even_by_sessions_that_never_append_again() -> None:
    class Listener:
        def __call__(self, _session: Session, _event: SessionEvent) -> None:
            pass

    with Context() as ctx:
        listener = Listener()
        undo = ctx.on("session/event", listener)
        ctx.sessions.create().append("todo/write", payload("todo/write"))
        seen = weakref.ref(listener)
        undo()
        del listener, undo
        gc.collect()
        assert seen() is None
