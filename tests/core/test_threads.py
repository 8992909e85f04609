"""Many threads in one store: nothing is lost, nothing is heard twice, and everything is heard in the log's order."""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dsh_session
from dsh_session import Context, Session, SessionError, SessionEvent

from .payloads import payload
from .refusals import assert_agrees
from .stores import context, todo, turn

PACKAGE = str(Path(dsh_session.__file__).parent)
WORKERS = 8


@pytest.fixture(autouse=True)
def _hasty_switching() -> Iterator[None]:
    """Let threads take turns far more often than they would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*tasks: Callable[[], object], patience: float = 120) -> None:
    """Run each task in a thread of its own, all at once; a failure of one fails the test."""
    failures: list[BaseException] = []
    gate = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], object]) -> None:
        try:
            gate.wait()
            task()
        except BaseException as error:  # noqa: BLE001 - told below, in the thread that can fail the test
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if failures:
        raise failures[0]


class Worker:
    """Appends numbered events to a session and forks it now and then."""

    def __init__(self, ctx: Context, session: Session, name: int, events: int) -> None:
        self.ctx = ctx
        self.session = session
        self.name = name
        self.events = events
        self.returned: list[SessionEvent] = []
        self.forks: list[tuple[int, Session]] = []

    def __call__(self) -> None:
        for number in range(self.events):
            self.returned.append(self._append(number))
            if number % 2_500 == 2_499:
                # The last event is somebody else's by now; only an explicit boundary is one's own.
                boundary = max(event.seq for event in self.returned if event.type == "turn/end")
                self.forks.append((boundary, self.ctx.sessions.fork(self.session, boundary)))

    def _append(self, number: int) -> SessionEvent:
        mark = {"worker": self.name, "number": number}
        event: SessionEvent
        if number % 100 == 99:
            event = self.session.append("turn/end", {**payload("turn/end"), **mark})
        elif number % 10 == 0:
            event = self.session.append("user/message", {**payload("user/message"), **mark}, surface_op="append")
        else:
            event = self.session.append("plugin/mark", mark)
        return event


def test_eight_threads_append_to_one_session_and_fork_it_meanwhile() -> None:
    each = 10_000
    heard: list[SessionEvent] = []
    with context() as ctx:
        session = ctx.sessions.create("s")

        def listener(source: Session, event: SessionEvent) -> None:
            assert source is session
            heard.append(event)

        ctx.on("session/event", listener)
        workers = [Worker(ctx, session, name, each) for name in range(WORKERS)]
        run(*workers)

        log = list(session.events)
        assert len(log) == WORKERS * each
        assert [event.seq for event in log] == list(range(len(log)))
        assert all(a is b for a, b in zip(heard, log, strict=True)), "observers see the log's order"
        marks = [(event.data["worker"], event.data["number"]) for event in log]
        for worker in workers:
            assert [number for name, number in marks if name == worker.name] == list(range(each))
            assert all(log[event.seq] is event for event in worker.returned)
        nodes = [event.seq for event in log if event.type == "user/message"]
        assert list(session.surface.nodes) == nodes
        assert len(session.derive_messages()) == len(nodes)

        forks = [fork for worker in workers for fork in worker.forks]
        assert len(forks) == WORKERS * (each // 2_500)
        for boundary, child in forks:
            assert child.seq == boundary + 1
            assert all(a is b for a, b in zip(child.events, log, strict=False)), "a fork is a prefix"
            assert list(child.surface.nodes) == [seq for seq in nodes if seq <= boundary]
        assert len({child.id for _, child in forks}) == len(forks)
    assert ctx.sessions.list() == []


def test_threads_that_create_and_detach_share_no_id_and_leave_nothing_behind() -> None:
    each = 400
    created: list[str] = []
    disposed: list[str] = []
    with context() as ctx:
        ctx.on("session/created", lambda session: created.append(session.id))
        ctx.on("session/disposed", lambda session: disposed.append(session.id))

        def work() -> None:
            for number in range(each):
                if number % 2:
                    todo(ctx.sessions.create())
                    continue
                session = ctx.sessions.prepare()
                detach = ctx.sessions.enter(session)
                ctx.sessions.announce(session)
                todo(session)
                detach()

        run(*[work] * WORKERS)
        assert len(set(created)) == len(created) == WORKERS * each
        assert len(ctx.sessions.list()) == WORKERS * each // 2
        listening = ctx.child()
        listening.on("session/disposed", lambda _session: None)
    assert ctx.sessions.list() == []
    assert Counter(disposed).most_common(1)[0][1] == 1


def test_of_threads_that_enter_one_id_exactly_one_wins() -> None:
    with context() as ctx:
        for number in range(100):
            rivals = [ctx.sessions.prepare(f"s{number}") for _ in range(4)]
            outcomes: list[str] = []

            def enter(session: Session, outcomes: list[str] = outcomes) -> None:
                try:
                    ctx.sessions.enter(session)
                    outcomes.append("entered")
                except SessionError as error:
                    outcomes.append(error.code)

            run(*[partial(enter, session) for session in rivals])
            assert sorted(outcomes) == [*["SESSION_EXISTS"] * 3, "entered"]
            assert ctx.sessions.get(f"s{number}") in rivals


def test_of_threads_that_announce_one_session_exactly_one_does() -> None:
    with context() as ctx:
        heard: list[str] = []
        ctx.on("session/created", lambda session: heard.append(session.id))
        for number in range(100):
            session = ctx.sessions.prepare(f"s{number}")
            ctx.sessions.enter(session)
            codes: list[str] = []

            def work(session: Session = session, codes: list[str] = codes) -> None:
                try:
                    ctx.sessions.announce(session)
                except SessionError as error:
                    codes.append(error.code)

            run(*[work] * 4)
            assert codes == ["ALREADY_ANNOUNCED"] * 3
        assert heard == [f"s{number}" for number in range(100)]


def test_a_listener_that_a_thread_registers_while_others_append_hears_all_that_come_after() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        stop = threading.Event()

        def append() -> None:
            while not stop.is_set():
                todo(session)

        missed: list[tuple[int, int]] = []

        def register() -> None:
            for _ in range(200):
                heard: list[int] = []
                undo = ctx.on("session/event", lambda _session, event, heard=heard: heard.append(event.seq))
                first = todo(session).seq
                last = todo(session).seq
                undo()
                if not {first, last} <= set(heard):
                    missed.append((first, last))

        def register_all() -> None:
            try:
                register()
            finally:
                stop.set()

        run(append, append, register_all)
        assert missed == []


def test_threads_that_register_at_once_are_all_heard_and_all_taken_out() -> None:
    for _ in range(20):
        with context() as ctx:
            heard: list[int] = []

            def register(ctx: Context = ctx, heard: list[int] = heard) -> None:
                for _ in range(50):
                    ctx.on("session/created", lambda _session: heard.append(1))
                    ctx.check("session/created", lambda _session: heard.append(1))

            run(*[register] * WORKERS)
            ctx.sessions.create("s")
            assert len(heard) == WORKERS * 100


def test_other_threads_wait_while_an_event_is_published() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        waiting: list[threading.Thread] = []
        order: list[Any] = []

        def listener(_session: Session, event: SessionEvent) -> None:
            if event.seq == 0:
                other = threading.Thread(target=lambda: order.append(("returned", todo(session).seq)), daemon=True)
                other.start()
                waiting.append(other)
                other.join(0.05)
                assert session.seq == 1, "the other append waits"
            order.append(("heard", event.seq))

        ctx.on("session/event", listener)
        todo(session)
        waiting[0].join(10)
        assert order == [("heard", 0), ("heard", 1), ("returned", 1)]


def test_readers_in_other_threads_do_not_wait_for_listeners() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        turn(session)
        seen: list[Any] = []

        def read() -> None:
            seen.append((session.seq, len(session.messages), len(session.surface), session.request_header()))
            seen.append(ctx.sessions.get("s"))
            seen.append(ctx.sessions.fork(session, 2).seq)

        def listener(source: Session, _event: SessionEvent) -> None:
            if source is session:
                reader = threading.Thread(target=read, daemon=True)
                reader.start()
                reader.join(10)
                assert not reader.is_alive(), "a reader waits for a listener"

        ctx.on("session/event", listener)
        todo(session)
        assert seen == [(4, 1, 1, None), session, 3]


def test_two_sessions_whose_listeners_append_to_the_other_one_are_never_waiting_for_each_other() -> None:
    with context() as ctx:
        first, second = ctx.sessions.create("a"), ctx.sessions.create("b")
        third = ctx.sessions.create("c")

        def listener(session: Session, _event: SessionEvent) -> None:
            if session is not third:
                todo(third)

        ctx.on("session/event", listener)
        run(lambda: [todo(first) for _ in range(300)], lambda: [todo(second) for _ in range(300)])
        assert [session.seq for session in (first, second, third)] == [300, 300, 600]


# ------------------------------------------------------------------------------- one thread at every moment of another


class _Moment:
    """A trace function that lets another thread act at the nth line of the package, and waits for it if it can be."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.at = at
        self.count = 0
        self.thread = threading.Thread(target=act, daemon=True)

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.thread.start()
                self.thread.join(0.005)  # it may have to wait for us
        return self


def at_every_moment(
    of: Callable[[Any], object], act: Callable[[Any], object], make: Callable[[], Any]
) -> Iterator[Any]:
    """Do one thing, and another in a second thread at its first line, its second line, and so on."""
    at = 0
    while True:
        at += 1
        stage = make()
        moment = _Moment(at, lambda stage=stage: act(stage))  # type: ignore[misc]
        before = sys.gettrace()
        sys.settrace(moment)
        try:
            of(stage)
        finally:
            sys.settrace(before)
        if moment.count < at:
            assert at > 10
            return
        moment.thread.join(10)
        assert not moment.thread.is_alive()
        yield stage


class Stage:
    """A live, announced session of one turn, and what is heard of it."""

    def __init__(self) -> None:
        self.ctx = context()
        self.session = self.ctx.sessions.prepare("s")
        self.detach = self.ctx.sessions.enter(self.session)
        self.ctx.sessions.announce(self.session)
        turn(self.session)
        self.heard: list[Any] = []
        self.failures: list[BaseException] = []
        self.ctx.on("session/event", lambda _session, event: self.heard.append(event.seq))
        self.ctx.on("session/disposed", lambda _session: self.heard.append("disposed"))

    def trying(self, act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.failures.append(error)


def test_a_session_that_is_detached_at_any_moment_of_an_append_is_not_heard_of_after_its_disposal() -> None:
    for stage in at_every_moment(
        of=lambda stage: stage.session.append("user/message", payload("user/message"), surface_op="append"),
        act=lambda stage: stage.trying(stage.detach),
        make=Stage,
    ):
        assert stage.failures == []
        assert stage.session.seq == 4
        assert stage.heard in ([3, "disposed"], ["disposed"])
        assert stage.ctx.sessions.list() == []
        assert_agrees(stage.session)


def test_a_session_that_is_entered_at_any_moment_of_an_append_is_whole() -> None:
    def make() -> Stage:
        stage = Stage()
        stage.detach()
        stage.heard.clear()
        return stage

    def enter(stage: Stage) -> None:
        stage.detach = stage.ctx.sessions.enter(stage.session)

    for stage in at_every_moment(
        of=lambda stage: todo(stage.session), act=lambda stage: stage.trying(lambda: enter(stage)), make=make
    ):
        assert stage.failures == []
        assert stage.heard in ([3], [])
        todo(stage.session)
        assert stage.heard[-1] == 4
        stage.detach()
        assert stage.ctx.sessions.list() == []


def test_a_session_that_is_forked_at_any_moment_of_a_replacement_gives_a_child_that_agrees() -> None:
    def replace(stage: Any) -> None:
        stage.session.append(
            "user/message",
            payload("user/message", "sum"),
            surface_op={"op": "replace", "start": 1, "end": 1},
            source_event_seqs=[1],
        )

    for stage in at_every_moment(
        of=replace, act=lambda stage: stage.trying(lambda: stage.ctx.sessions.fork("s", 2, "child")), make=Stage
    ):
        assert stage.failures == []
        child = stage.ctx.sessions.get("child")
        assert child.seq == 3
        assert list(child.surface.nodes) == [1]
        assert_agrees(child)
        assert_agrees(stage.session)


def test_a_replacement_at_any_moment_of_a_fork_leaves_both_in_agreement() -> None:
    def replace(stage: Any) -> None:
        stage.session.append(
            "user/message",
            payload("user/message", "sum"),
            surface_op={"op": "replace", "start": 1, "end": 1},
            source_event_seqs=[1],
        )

    for stage in at_every_moment(
        of=lambda stage: stage.ctx.sessions.fork("s", 2, "child"),
        act=lambda stage: stage.trying(lambda: replace(stage)),
        make=Stage,
    ):
        assert stage.failures == []
        child = stage.ctx.sessions.get("child")
        assert list(child.surface.nodes) == [1]
        assert_agrees(child)
        assert_agrees(stage.session)
        assert list(stage.session.surface.nodes) == [3]


def test_a_context_that_is_closed_at_any_moment_of_a_creation_keeps_no_session() -> None:
    class Owned:
        def __init__(self) -> None:
            self.ctx = context()
            self.owner = self.ctx.child()
            self.failures: list[BaseException] = []

        def create(self) -> None:
            try:
                self.owner.sessions.create("s")
            except SessionError as error:
                assert error.code == "CONTEXT_CLOSED"

    for stage in at_every_moment(of=lambda stage: stage.create(), act=lambda stage: stage.owner.close(), make=Owned):
        assert stage.ctx.sessions.list() == []


def test_two_threads_that_detach_at_any_moment_of_each_other_publish_one_disposal() -> None:
    for stage in at_every_moment(
        of=lambda stage: stage.detach(), act=lambda stage: stage.trying(stage.detach), make=Stage
    ):
        assert stage.failures == []
        assert stage.heard == ["disposed"]
        assert stage.ctx.sessions.list() == []


def test_a_flush_in_one_thread_and_appends_in_others_go_together() -> None:
    saved: list[int] = []
    with context() as ctx:
        session = ctx.sessions.create("s")

        async def save(source: Session) -> None:
            await asyncio.sleep(0)
            saved.append(source.seq)

        ctx.on("session/flush", save)

        async def flush() -> None:
            for _ in range(100):
                await ctx.sessions.flush(session)

        run(lambda: asyncio.run(flush()), lambda: [todo(session) for _ in range(500)])
        assert saved == sorted(saved)
        assert len(saved) == 100
        assert session.seq == 500
