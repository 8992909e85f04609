"""A context with a clock that stands still, and ears for everything that it publishes."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dsh_session import Context, Session, SessionEvent

from .payloads import payload

FAMILIES = ("session/created", "session/event", "session/flush", "session/disposed")


class PlantedError(Exception):
    """A failure that a test planted."""


def context(**options: Any) -> Context:
    """A context whose clock says 1000."""
    return Context(**{"clock": lambda: 1000, **options})


class Ears:
    """Hears what a context publishes: `(name, id)`, for events `(name, id, seq)`."""

    def __init__(self, ctx: Context, name: str = "", *, global_: bool = False) -> None:
        self.heard: list[tuple[Any, ...]] = []
        for family in FAMILIES:
            ctx.on(family, self._listener(f"{name}{family.removeprefix('session/')}"), global_=global_)

    def _listener(self, name: str) -> Callable[..., None]:
        def listener(session: Session, event: SessionEvent | None = None) -> None:
            self.heard.append((name, session.id) if event is None else (name, session.id, event.seq))

        return listener

    def take(self) -> list[tuple[Any, ...]]:
        """Give what was heard since the last time."""
        heard, self.heard[:] = list(self.heard), []
        return heard


def turn(session: Session, *, number: int = 1, words: str = "hello") -> SessionEvent:
    """Append one whole turn of three events; give its last."""
    session.append("turn/start", {**payload("turn/start"), "turn": number})
    session.append("user/message", payload("user/message", words), surface_op="append")
    end: SessionEvent = session.append("turn/end", {**payload("turn/end"), "turn": number})
    return end


def todo(session: Session) -> SessionEvent:
    """Append one small event."""
    return session.append("todo/write", {"todos": []})


@contextmanager
def warnings_of(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Collect the texts that are logged by the package, each of them a warning of its logger."""
    texts: list[str] = []
    with caplog.at_level(logging.DEBUG):
        caplog.clear()
        yield texts
        for record in caplog.records:
            if record.name == "asyncio" and record.levelno < logging.WARNING:
                continue
            assert record.name == "dsh_session"
            assert record.levelno == logging.WARNING
            texts.append(record.getMessage())
        caplog.clear()


@contextmanager
def no_collector() -> Iterator[None]:
    """Keep the garbage collector out of a measurement: its rounds cost what all the other tests have left behind."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def assert_names(text: str, session: str, family: str) -> None:
    """Check that a logged text names session and event family."""
    assert session in text, text
    assert family in text, text
