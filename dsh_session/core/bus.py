"""Who listens to what: the listeners and checks of a tree of contexts."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import count
from operator import itemgetter
from threading import RLock
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

from dsh_session.core.errors import ContextError

EVENTS: Final = ("session/created", "session/event", "session/flush", "session/disposed", "session/pre-step")
"""The lifecycle events that a context publishes."""

Listener = Callable[..., Any]
"""Takes ``(session)``, for ``session/event`` ``(session, event)``; plain or a coroutine function."""

_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE, without importing inspect


class Registration(NamedTuple):
    """One listener, and whom it hears.

    Attributes:
        order: Where it is called among the others, lowest first.
        listener: The function.
        loop: The event loop that ran at registration, for a coroutine function; else None.
    """

    order: int
    listener: Listener
    loop: Any


class Audience(NamedTuple):
    """Who is asked about an append and who hears of it.

    Attributes:
        checks: What may refuse the event.
        listeners: Who hears it, in order.
    """

    checks: tuple[Listener, ...]
    listeners: tuple[Registration, ...]


class Bus:
    """Registrations by event name and scope, in the order in which they are called.

    Every change makes new tuples, so that a dispatch keeps the list that it began with.
    """

    def __init__(self) -> None:
        """Start with nobody listening."""
        # By event and scope; the scope None hears every session.
        self._listeners: dict[tuple[str, object], tuple[Registration, ...]] = {}
        self._heard: dict[tuple[str, object], tuple[Registration, ...]] = {}
        self._checks: dict[str, tuple[Listener, ...]] = dict.fromkeys(EVENTS, ())
        self._numbers = count(1)
        self._lock = RLock()
        self.audiences: dict[object, Audience] = {}  # of appends, by scope; emptied by every change

    def on(self, name: str, listener: Listener, *, scope: object | None, prepend: bool) -> Callable[[], None]:
        """Add a listener; the answer removes it."""
        _known(name)
        require_callable(listener, "a listener")
        loop = None
        if is_coroutine_function(listener):
            loop = running_loop()
            if loop is None and name != "session/flush":
                raise ContextError(
                    "CONTEXT_ASYNC",
                    f"a coroutine listener of {name!r} needs a running event loop; register it inside one, or use a"
                    " plain function",
                )
        number = next(self._numbers)
        added = Registration(-number if prepend else number, listener, loop)
        with self._lock:
            there = self._listeners.get((name, scope), ())
            self._set(name, scope, (added, *there) if prepend else (*there, added))

        def undo() -> None:
            with self._lock:
                there = self._listeners.get((name, scope), ())
                self._set(name, scope, tuple(each for each in there if each is not added))

        return undo

    def _set(self, name: str, scope: object | None, registrations: tuple[Registration, ...]) -> None:
        # First, and under the lock: whoever finds out anew waits for what comes next.
        self.audiences.clear()
        if registrations:
            self._listeners[name, scope] = registrations
        else:
            self._listeners.pop((name, scope), None)
        if scope is None:
            self._heard = {key: heard for key, heard in self._heard.items() if key[0] != name}
        else:
            self._heard.pop((name, scope), None)

    def check(self, name: str, check: Listener) -> Callable[[], None]:
        """Add a check; the answer removes it."""
        _known(name)
        require_callable(check, "a check")
        if is_coroutine_function(check):
            raise ContextError(
                "CONTEXT_ASYNC",
                f"a check of {name!r} must be a plain function: a coroutine would come too late to refuse",
            )
        added: Listener = partial(check)  # an object of its own: one function may be registered twice
        with self._lock:
            self.audiences.clear()
            self._checks[name] = (*self._checks[name], added)

        def undo() -> None:
            with self._lock:
                self.audiences.clear()
                self._checks[name] = tuple(each for each in self._checks[name] if each is not added)

        return undo

    def audience(self, scope: object | None) -> Audience:
        """Find out whom an append to a session of this scope concerns, and keep it in `audiences`."""
        with self._lock:
            audience = Audience(self._checks["session/event"], self.listeners("session/event", scope))
            self.audiences[scope] = audience
            return audience

    def run_checks(self, name: str, *args: Any) -> None:
        """Call the checks of an event; the first that raises refuses it."""
        for check in self._checks[name]:
            check(*args)

    def listeners(self, name: str, scope: object | None) -> tuple[Registration, ...]:
        """Give who hears an event of a session of this scope, in order."""
        if scope is None:
            return self._listeners.get((name, None), ())
        heard = self._heard.get((name, scope))
        if heard is None:
            with self._lock:
                everyone = self._listeners.get((name, None), ())
                own = self._listeners.get((name, scope), ())
                if not own:
                    return everyone  # and nothing is kept: scopes come and go
                # By number: a later registration with an equal function is another one all the same.
                heard = self._heard[name, scope] = tuple(sorted((*everyone, *own), key=itemgetter(0)))
        return heard


def _known(name: str) -> None:
    if name not in EVENTS:
        raise ContextError("UNKNOWN_EVENT", f"there is no event {name!r}; the events are {', '.join(EVENTS)}")


def require_callable(value: Any, what: str) -> None:
    """Refuse what could not be called when the time comes.

    Raises:
        TypeError: When it is not callable.
    """
    if not callable(value):
        raise TypeError(f"{what} must be callable, not {type(value).__name__}")


def is_coroutine_function(function: Any) -> bool:
    """Tell whether calling something makes a coroutine, looking through partials, methods and objects."""
    while isinstance(function, partial):
        function = function.func
    if not isinstance(function, (FunctionType, MethodType)):
        function = getattr(type(function), "__call__", None)  # noqa: B004 (its code is wanted)
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & _CO_COROUTINE)


def is_awaitable(value: Any) -> bool:
    """Tell whether a value can be awaited."""
    return hasattr(value, "__await__") or type(value).__name__ == "coroutine"


def running_loop() -> Any:
    """Give the event loop that runs in this thread, or None."""
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def call_uncontained(registration: Registration, args: tuple[Any, ...], family: str, session_id: str) -> None:
    """Call a listener whose own failure is the caller's; that of a coroutine comes too late and is logged."""
    answer = registration.listener(*args)
    if answer is not None and is_awaitable(answer):
        call_contained((registration._replace(listener=lambda *_: answer),), args, family, session_id)


def call_contained(registrations: Iterable[Registration], args: tuple[Any, ...], family: str, session_id: str) -> None:
    """Call listeners whose failures concern nobody else: they are logged, and the next one is called."""
    for _, listener, loop in registrations:
        try:
            answer = listener(*args)
            if answer is not None:
                take_answer(answer, loop, family, session_id)
        except Exception as error:  # noqa: BLE001 (contained, whatever it is)
            warn(session_id, family, error)


def warn(session_id: str, family: str, error: BaseException) -> None:
    """Log a listener's failure, with session and event family."""
    import logging

    logger = logging.getLogger("dsh_session")
    logger.warning("session %r, %s: a listener failed: %r", session_id, family, error, exc_info=error)


_pending: set[Any] = set()  # asyncio holds its tasks weakly


def take_answer(answer: Any, loop: Any, family: str, session_id: str) -> None:
    """Await what a listener gave, if it can be awaited, in the loop that runs or in the listener's own."""
    if is_awaitable(answer):
        _schedule(answer, loop, family, session_id)


def _schedule(answer: Awaitable[Any], loop: Any, family: str, session_id: str) -> None:
    import asyncio

    async def contained() -> None:
        try:
            await answer
        except Exception as error:  # noqa: BLE001 (contained, whatever it is)
            warn(session_id, family, error)

    here = running_loop()
    if here is not None:
        task = here.create_task(contained())
        _pending.add(task)
        task.add_done_callback(_pending.discard)
    elif loop is not None and loop.is_running():
        asyncio.run_coroutine_threadsafe(contained(), loop)
    else:
        close = getattr(answer, "close", None)
        if close is not None:
            close()
        raise ContextError("CONTEXT_ASYNC", "a listener gave an awaitable and no event loop runs to await it")
