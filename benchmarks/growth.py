"""Whether anything that a session does grows with its length.

A constant differs from machine to machine; growth does not. Each function here does a thing at a size and at ten times
that size, and returns how much dearer one unit of it became. Nothing that a live session does per event may grow.
"""

import gc
import statistics
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from benchmarks.inputs import Operation, conversation, replaced, surface_operations
from benchmarks.measure import Stopwatch
from benchmarks.rows import extend, filled
from benchmarks.views import compacted, travel
from dsh_session import Context, Replace, Session, fold_surface
from dsh_session.views import frames

TENFOLD: Final = 10
REPETITIONS: Final = 5


class Growth(NamedTuple):
    """A thing whose cost at ten times the size is compared.

    Attributes:
        key: The row of the table that it belongs to.
        what: What is compared, in a reader's words.
        limit: The largest ratio that still says "it does not grow". What grows with the length gives about ten.
        ratio: Does it once at both sizes.
    """

    key: str
    what: str
    limit: float
    ratio: Callable[[], float]

    def measure(self) -> float:
        """The median of five ratios: each is taken at one moment, so that a busy machine slows both its sides."""
        return statistics.median(self.ratio() for _ in range(REPETITIONS))


def append() -> float:
    """One append, late in a long conversation or in a short one."""

    def per_event(turns: int) -> float:
        operations = list(conversation(turns))
        gc.collect()
        with Stopwatch() as watch:
            filled(operations)
        return watch.seconds / len(operations)

    return per_event(TENFOLD * 300) / per_event(300)


def publish() -> float:
    """One append to a live session that somebody listens to, late in a long conversation or in a short one."""

    def per_event(turns: int) -> float:
        operations = list(conversation(turns))
        gc.collect()
        with Context() as ctx:
            ctx.on("session/event", lambda _session, _event: None)
            session = ctx.sessions.create("bench")
            with Stopwatch() as watch:
                extend(session, operations)
        return watch.seconds / len(operations)

    return per_event(TENFOLD * 300) / per_event(300)


def live() -> float:
    """One live session among many or few: created, listed, and detached as its context closes."""

    def per_session(count: int) -> float:
        gc.collect()
        with Stopwatch() as watch, Context() as ctx:
            for _ in range(count):
                ctx.sessions.create()
            ctx.sessions.list()
        return watch.seconds / count

    return per_session(TENFOLD * 300) / per_session(300)


def view() -> float:
    """One look at ``session.messages`` after a step."""

    def per_call(turns: int) -> float:
        watch = Stopwatch()
        for session in _after_each_step(turns):
            with watch:
                session.messages  # noqa: B018 - the reading is what is measured
        return watch.seconds / turns

    return per_call(TENFOLD * 200) / per_call(200)


def derive() -> float:
    """``derive_messages`` after each step, over ``messages`` and a plain copy of the same list: a copy is the price."""
    turns = TENFOLD * 200
    deriving, viewing, copying = Stopwatch(), Stopwatch(), Stopwatch()
    for session in _after_each_step(turns):
        with deriving:
            messages = session.derive_messages()
        with copying:
            messages.copy()
    for session in _after_each_step(turns):
        with viewing:
            session.messages  # noqa: B018 - the reading is what is measured
    return deriving.seconds / (viewing.seconds + copying.seconds)


def replace() -> float:
    """One replacement of one node, without looking at the result."""
    return _replacing(TENFOLD * 1_000, read=False) / _replacing(1_000, read=False)


def replace_and_derive() -> float:
    """One replacement and ``derive_messages``: the list is rebuilt, which costs its pointers and no more."""
    return _replacing(TENFOLD * 1_000, read=True) / _replacing(1_000, read=True)


def fold() -> float:
    """One event of ``fold_surface``."""

    def per_event(messages: int) -> float:
        events, _ = replaced(messages)
        gc.collect()
        with Stopwatch() as watch:
            fold_surface(events)
        return watch.seconds / len(events)

    return per_event(TENFOLD * 2_000) / per_event(2_000)


def look_back() -> float:
    """One surface of the past, a thousand nodes, in a long log of nested summaries or in a short one."""

    def per_call(turns: int) -> float:
        made = compacted(turns)
        session = filled(made.operations)
        gc.collect()
        return travel(session, made)

    return per_call(TENFOLD * 760) / per_call(760)


def tabulate() -> float:
    """One row of the frame of events."""

    def per_event(turns: int) -> float:
        session = filled(conversation(turns))
        gc.collect()
        with Stopwatch() as watch:
            frames.events(session)
        return watch.seconds / session.seq

    return per_event(TENFOLD * 300) / per_event(300)


GROWTHS: Final = (
    Growth("a", "one append", 3.0, append),
    Growth("b", "one append to a live session with a listener", 3.0, publish),
    Growth("b", "one live session among ten times as many, from create to detach", 3.0, live),
    Growth("c", "session.messages after a step", 3.0, view),
    Growth("c", "derive_messages after a step, over messages and a copy", 2.0, derive),
    Growth("d", "one replacement of one node", 3.0, replace),
    Growth("d", "the same and derive_messages, a list of ten times the length", 15.0, replace_and_derive),
    Growth("e", "fold_surface, per event", 3.0, fold),
    Growth("t", "a surface of the past, of the same length", 3.0, look_back),
    Growth("p", "the frame of events, per row", 3.0, tabulate),
)


def _after_each_step(turns: int) -> Iterator[Session]:
    session = Session("bench")
    for operation in conversation(turns):
        extend(session, (operation,))
        if operation.type == "step/end":
            yield session


def _replacing(nodes: int, *, read: bool) -> float:
    session, watch, times = filled(surface_operations(nodes, 5)), Stopwatch(), 100
    session.derive_messages()
    data = {"content": [{"type": "text", "text": "in short"}], "source": {"kind": "user"}}
    for seq in range(0, nodes, nodes // times):
        with watch:
            extend(session, (Operation("user/message", data, Replace(seq, seq), [seq]),))
            if read:
                session.derive_messages()
    return watch.seconds / times
