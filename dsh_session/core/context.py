"""Context: listeners and effects with an owner, undone last first.

A context owns what is registered through it: listeners, checks, sessions it created, child
contexts, and any effect. Closing it undoes them in reverse, every one of them even when one
fails. It starts no thread and needs no event loop.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from types import TracebackType
from typing import Any, Self

from dsh_session.core.bus import Bus, Listener, is_awaitable, is_coroutine_function, require_callable, running_loop
from dsh_session.core.entry import StoreState
from dsh_session.core.errors import ContextError
from dsh_session.core.session import Clock
from dsh_session.core.store import SessionStore

Undo = Callable[[], Any]
"""Takes something back; a plain function or a coroutine function."""


class Context:
    """An owner of sessions, listeners and effects.

    Attributes:
        sessions: The `SessionStore` of this context's tree; what is created through it belongs to
            this context.

    Example:
        >>> with Context(clock=lambda: 0) as ctx:
        ...     undo = ctx.on("session/event", lambda session, event: print(session.id, event.type))
        ...     session = ctx.sessions.create("tour")
        ...     event = session.append("todo/write", {"todos": []})
        tour todo/write
        >>> ctx.sessions.list()
        []
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        new_id: Callable[[], str] | None = None,
        check_payloads: bool = True,
    ) -> None:
        """Make a root context.

        Args:
            clock: Gives epoch milliseconds for events and headers; the system's clock by default.
            new_id: Gives the next candidate id for a session without one; by default
                ``session-1``, ``session-2``, … Ids that are taken are skipped.
            check_payloads: Whether sessions made here check payloads on `append`.
        """
        state = StoreState(Bus(), clock=clock, new_id=new_id, check_payloads=check_payloads)
        self._set_up(state, scope=None)

    def _set_up(self, state: StoreState, *, scope: object | None) -> None:
        self._state = state
        self._scope = scope
        self._closed = False
        self._effects: dict[int, Undo] = {}
        self._numbers = count(1)
        self.sessions = SessionStore(self, state, scope)

    # What it owns.

    def on(self, name: str, listener: Listener, *, prepend: bool = False, global_: bool = False) -> Callable[[], None]:
        """Listen to a lifecycle event until this context closes.

        Args:
            name: ``session/created``, ``session/pre-step``, ``session/event``, ``session/flush`` or
                ``session/disposed``. ``session/pre-step`` fires when a ``step/start`` is about to be
                appended, before that append begins: its listeners may append to the session.
            listener: Called with ``(session)``, for ``session/event`` with ``(session, event)``. A
                coroutine function is awaited for ``session/flush`` and scheduled on the running
                event loop for the others.
            prepend: Whether to be called before those that are there.
            global_: Whether to hear every session; without it, a listener of a scoped context
                hears that scope's sessions only.

        Returns:
            A function that stops listening; calling it again does nothing.

        Raises:
            ContextError: ``UNKNOWN_EVENT``; ``CONTEXT_ASYNC`` for a coroutine function where no
                loop runs, except for ``session/flush``; ``CONTEXT_CLOSED``.
        """
        self.require_open()
        scope = None if global_ else self._scope
        return self._owned(self._state.bus.on(name, listener, scope=scope, prepend=prepend))

    def check(self, name: str, check: Listener) -> Callable[[], None]:
        """Check a lifecycle event before it happens, until this context closes.

        Args:
            name: As for `on`. Checks hear every session, whatever its scope.
            check: Called like a listener, for ``session/event`` with the candidate, which is not
                in the log yet. Raising refuses it without a trace.

        Returns:
            A function that takes the check away.

        Raises:
            ContextError: ``UNKNOWN_EVENT`` or ``CONTEXT_CLOSED``.
        """
        self.require_open()
        return self._owned(self._state.bus.check(name, check))

    def effect(self, undo: Undo) -> Undo:
        """Register something that must be undone when this context closes.

        Args:
            undo: A function or a coroutine function without arguments; called once.

        Returns:
            A function that undoes it early.

        Raises:
            ContextError: ``CONTEXT_CLOSED``.
        """
        self.require_open()
        require_callable(undo, "an effect")
        return self._owned(undo)

    def _owned(self, undo: Undo) -> Undo:
        key = next(self._numbers)
        self._effects[key] = undo

        def early() -> Any:
            known = self._effects.pop(key, None)
            if known is None:
                return _DONE if is_coroutine_function(undo) else None
            return known()

        if self._closed and self._effects.pop(key, None) is not None:
            # Another thread closed the context meanwhile, and has not seen this effect.
            undo()
            self.require_open()
        return early

    def plugin(self, plugin: Callable[["Context"], Any]) -> "Context":
        """Set a plugin up in a child context of its own.

        Args:
            plugin: Called with the child context; a plain function.

        Returns:
            That child; closing it takes the plugin out again.

        Raises:
            ContextError: ``CONTEXT_CLOSED``; ``CONTEXT_ASYNC`` for a coroutine function.
        """
        self.require_open()
        require_callable(plugin, "a plugin")
        if is_coroutine_function(plugin):
            raise ContextError(
                "CONTEXT_ASYNC", "a plugin must be a plain function: nobody would await what a coroutine sets up"
            )
        child = self.child()
        try:
            plugin(child)
        except BaseException:
            # What it had set up and needs an event loop to be undone is left to this context's end.
            with suppress(ContextError):
                child.close()
            raise
        return child

    def child(self) -> "Context":
        """Make a context with effects of its own, closed with this one."""
        return self._derived(self._scope)

    def scope(self) -> "Context":
        """Make a child with a scope of its own: its listeners hear its sessions only."""
        return self._derived(object())

    def _derived(self, scope: object | None) -> "Context":
        self.require_open()
        child = Context.__new__(Context)
        child._set_up(self._state, scope=scope)
        key = next(self._numbers)
        self._effects[key] = _Closing(child)
        child._effects[0] = partial(self._effects.pop, key, None)
        if self._closed and key in self._effects:
            # Another thread closed this context meanwhile, and has not seen the child.
            child.close()
            self.require_open()
        return child

    # Closing.

    @property
    def closed(self) -> bool:
        """Whether this context was closed."""
        return self._closed

    def require_open(self) -> None:
        """Refuse further use of a closed context.

        Raises:
            ContextError: ``CONTEXT_CLOSED``.
        """
        if self._closed:
            raise ContextError(
                "CONTEXT_CLOSED", "this context is closed; make a new one, or use the one it belonged to"
            )

    def close(self) -> None:
        """Undo every effect, last first; a second call does nothing.

        Raises:
            ContextError: ``CONTEXT_ASYNC``, before anything is undone, when an effect is a coroutine
                function and an event loop runs here: use ``await ctx.aclose()``.
            Exception: What an effect raised, after all were undone; several as an
                `ExceptionGroup`.
        """
        if self._closed:
            return
        if self._has_async_effects():
            if running_loop() is not None:
                raise ContextError(
                    "CONTEXT_ASYNC", "this context has coroutine effects and an event loop runs: await ctx.aclose()"
                )
            import asyncio

            asyncio.run(self.aclose())
            return
        failures: list[BaseException] = []
        for undo in self._undoing():
            try:
                answer = undo()
                if is_awaitable(answer):
                    _settle(answer)
            except BaseException as error:  # noqa: BLE001 (the others are undone all the same)
                failures.append(error)
        _raise(failures)

    async def aclose(self) -> None:
        """Undo every effect, last first, awaiting those that are coroutines; see `close`."""
        if self._closed:
            return
        failures: list[BaseException] = []
        for undo in self._undoing():
            try:
                answer = undo()
                if is_awaitable(answer):
                    await answer
            except BaseException as error:  # noqa: BLE001 (the others are undone all the same)
                failures.append(error)
        _raise(failures)

    def _undoing(self) -> Iterator[Undo]:
        """Take out the effects, last first, and in the place of a child those of the child."""
        # Without recursion: children of children may be many, and none may stay open.
        self._closed = True
        closing = [self]
        while closing:
            effects = closing[-1]._effects
            if not effects:
                closing.pop()
                continue
            _, undo = effects.popitem()
            if not isinstance(undo, _Closing):
                yield undo
            elif not undo.context._closed:
                undo.context._closed = True
                closing.append(undo.context)

    def _has_async_effects(self) -> bool:
        contexts = [self]
        while contexts:
            for undo in list(contexts.pop()._effects.values()):
                if isinstance(undo, _Closing):
                    contexts.append(undo.context)
                elif is_coroutine_function(undo):
                    return True
        return False

    def __enter__(self) -> Self:
        """Give itself."""
        self.require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    async def __aenter__(self) -> Self:
        """Give itself."""
        self.require_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close, awaiting what must be awaited."""
        await self.aclose()

    def __repr__(self) -> str:
        """Say whether it is open and how much it owns."""
        return f"<Context {'closed' if self._closed else 'open'}, {len(self._effects)} effects>"


class _Done:
    """What the early undo of a coroutine effect gives the second time: awaiting it does nothing."""

    def __await__(self) -> Iterator[None]:
        return iter(())


_DONE = _Done()


class _Closing:
    """The effect of having a child: it is closed."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self) -> None:
        self.context.close()


def _settle(answer: Any) -> None:
    """Await what a plain function gave, where no event loop runs; refuse it where one does."""
    if running_loop() is None:
        import asyncio

        async def awaited() -> None:
            await answer

        asyncio.run(awaited())
        return
    close = getattr(answer, "close", None)
    if close is not None:
        close()
    raise ContextError("CONTEXT_ASYNC", "an effect gave an awaitable and an event loop runs: await ctx.aclose()")


def _raise(failures: list[BaseException]) -> None:
    if not failures:
        return
    stops = [error for error in failures if not isinstance(error, Exception)]
    if stops:
        raise stops[0]
    if len(failures) == 1:
        raise failures[0]
    raise ExceptionGroup(
        "several effects failed as the context closed", [e for e in failures if isinstance(e, Exception)]
    )
