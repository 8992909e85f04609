"""Writing a session by hand, as turns and steps."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import (
    Context,
    InvariantError,
    Recorder,
    Session,
    SessionError,
    check_invariants,
    interrupted_turn_closers,
    invariants,
    loads,
)
from dsh_session.core.errors import RecordError
from dsh_session.core.record import Turn
from dsh_session.core.step import Step

from .payloads import USER, Ticks, text

IMAGE = {"type": "image", "url": "u"}
CRON = {"kind": "plugin", "plugin": "cron"}


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session("s", clock=Ticks())
    yield session
    assert check_invariants(session.events, verify_history=True) == []
    assert loads(session.to_jsonl()).derive_messages() == session.derive_messages()


@pytest.fixture
def record(session: Session) -> Recorder:
    return Recorder(session)


def types(session: Session) -> list[str]:
    return [event.type for event in session.events]


def ends(session: Session) -> list[Any]:
    return [event.data["reason"] for event in session.events if event.type == "turn/end"]


def refused(code: str, call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        call(*args, **options)
    assert caught.value.code == code
    return str(caught.value)


# Turns.


def test_a_turn_is_written_in_the_order_in_which_it_happened(session: Session, record: Recorder) -> None:
    with record.turn("What does README.md say?") as turn:
        with turn.step() as step:
            step.header()
            step.text_delta("Let me look.")
            step.assistant("Let me look.", calls=[("c1", "read", {"path": "README.md"})])
            step.result("c1", "# Hello")
        turn.steer("Be brief.")
        with turn.step() as step:
            step.assistant("It says hello.")
    assert types(session) == [
        "turn/start",
        "user/message",
        "step/start",
        "request/header",
        "assistant/chunk",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "steering/message",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert session.events[0].data == {"turn": 1, "trigger": {"kind": "message", "source": USER}}
    assert session.events[1].data == {"content": [text("What does README.md say?")], "source": USER}
    assert session.events[-1].data == {"turn": 1, "reason": {"kind": "completed"}}
    assert turn.number == 1


@pytest.mark.parametrize(
    ("prompt", "contents"),
    [
        (None, []),
        ("a", [[text("a")]]),
        (["a", "b"], [[text("a")], [text("b")]]),
        ([IMAGE, text("a")], [[IMAGE, text("a")]]),
        (["a", [IMAGE]], [[text("a")], [IMAGE]]),
    ],
)
def test_a_turn_has_as_many_prompts_as_it_was_given(
    session: Session, record: Recorder, prompt: Any, contents: list[Any]
) -> None:
    with record.turn(prompt, source=CRON):
        pass
    prompts = [event.data for event in session.events if event.type == "user/message"]
    assert prompts == [{"content": content, "source": CRON} for content in contents]
    assert session.events[0].data["trigger"] == {"kind": "message", "source": CRON}
    assert ends(session) == [{"kind": "completed"}]


def test_turns_go_on_where_the_log_ends(session: Session, record: Recorder) -> None:
    with record.turn("a"):
        pass
    session.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": USER}})
    session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
    with record.turn("b") as turn:
        assert turn.number == 3
    again = Session("again", seed=session.events, clock=Ticks())
    with Recorder(again).turn("c") as turn:
        assert turn.number == 4
    assert check_invariants(again.events) == []


def test_a_turn_begins_when_it_is_entered(session: Session, record: Recorder) -> None:
    turn = record.turn("a")
    assert session.seq == 0
    assert turn.number is None
    assert "with statement" in refused("RECORD_NOT_ENTERED", turn.prompt, "x")
    with turn:
        assert types(session) == ["turn/start", "user/message"]


@pytest.mark.parametrize("prompt", [5, b"x", [None], ["a", IMAGE]])
def test_what_is_no_prompt_begins_no_turn(session: Session, record: Recorder, prompt: Any) -> None:
    with pytest.raises(TypeError):
        record.turn(prompt)
    assert session.seq == 0


def test_a_prompt_that_the_session_refuses_ends_the_turn(session: Session, record: Recorder) -> None:
    with pytest.raises(SessionError), record.turn([{"type": "text", "text": 5}]):
        raise AssertionError("never entered")
    assert types(session) == ["turn/start", "turn/end"]
    (reason,) = ends(session)
    assert (reason["kind"], reason["code"], reason["step"]) == ("error", "PAYLOAD_INVALID", 0)


def test_while_a_turn_is_open_no_other_begins(session: Session, record: Recorder) -> None:
    with record.turn("a"):
        for other in (record, Recorder(session)):
            message = refused("RECORD_TURN_OPEN", other.turn("b").__enter__)
            assert "turn 1 of session 's' is open" in message
            refused("RECORD_TURN_OPEN", other.inject, "b")
    assert types(session) == ["turn/start", "user/message", "turn/end"]


def test_a_turn_that_a_crash_left_open_is_closed_first() -> None:
    crashed = Session("s", clock=Ticks())
    crashed.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
    crashed.append("step/start", {"turn": 1, "step": 1})
    message = refused("RECORD_TURN_OPEN", Recorder(crashed).turn("a").__enter__)
    assert "interrupted_turn_closers" in message
    whole = Session("s", seed=[*crashed.events, *interrupted_turn_closers(crashed.events)], clock=Ticks())
    with Recorder(whole).turn("a") as turn:
        assert turn.number == 2


def test_a_turn_is_recorded_once(session: Session, record: Recorder) -> None:
    with record.turn("a") as turn:
        pass
    refused("RECORD_TURN_OVER", turn.__enter__)
    for write in (turn.prompt, turn.context, turn.steer, turn.todos, turn.end_as):
        assert "turn 1 is over" in refused("RECORD_TURN_OVER", write, "x")
    refused("RECORD_TURN_OVER", turn.blocked, "x", "y")
    refused("RECORD_TURN_OVER", turn.step)
    assert len(session.events) == 3


def test_a_turn_that_somebody_else_closed_is_left_alone(session: Session, record: Recorder) -> None:
    with record.turn("a") as turn, turn.step():
        session.append("step/end", {"turn": 1, "step": 1})
        session.append("turn/end", {"turn": 1, "reason": {"kind": "disposed"}})
    assert ends(session) == [{"kind": "disposed"}]


# What lies in a turn.


def test_context_comes_from_a_plugin(record: Recorder) -> None:
    with record.turn("a") as turn:
        plain = turn.context("note")
        own = turn.context([IMAGE], source=CRON, envelope="raw", meta={"n": 1})
    assert plain.data == {"content": [text("note")], "source": {"kind": "plugin", "plugin": "recorder"}}
    assert own.data == {"content": [IMAGE], "source": CRON, "envelope": "raw", "meta": {"n": 1}}


def test_steering_names_its_turn(record: Recorder) -> None:
    with record.turn("a"):
        pass
    with record.turn("b") as turn:
        assert turn.steer("left").data == {"turn": 2, "content": [text("left")], "source": USER}
        assert turn.steer(["right"], source=CRON).data["source"] == CRON


def test_todos_are_written_whole(record: Recorder) -> None:
    with record.turn("a") as turn:
        event = turn.todos(["a", ("b", "completed"), {"content": "c", "status": "in_progress", "own": 1}])
    assert event.data == {
        "todos": [
            {"content": "a", "status": "pending"},
            {"content": "b", "status": "completed"},
            {"content": "c", "status": "in_progress", "own": 1},
        ]
    }


def test_an_injection_is_a_turn_of_its_own(session: Session, record: Recorder) -> None:
    event = record.inject("AGENTS.md changed", plugin="watcher", envelope="raw", meta=[1])
    source = {"kind": "plugin", "plugin": "watcher"}
    assert types(session) == ["turn/start", "context/message", "turn/end"]
    assert session.events[0].data == {"turn": 1, "trigger": {"kind": "injection", "source": source}}
    assert event.data == {"content": [text("AGENTS.md changed")], "source": source, "envelope": "raw", "meta": [1]}
    assert ends(session) == [{"kind": "completed"}]
    with pytest.raises(SessionError):
        record.inject([{"type": "text"}])
    assert ends(session)[1]["kind"] == "error"


# How a turn ends.


def test_a_turn_of_blocked_prompts_alone_is_rejected(session: Session, record: Recorder) -> None:
    with record.turn() as turn:
        event = turn.blocked("rm -rf", "policy")
        turn.blocked([IMAGE], "policy", source=CRON)
        turn.blocked("again", "too many")
    assert event.data == {"content": [text("rm -rf")], "source": USER, "reason": "policy"}
    assert session.surface.nodes == ()
    assert ends(session) == [{"kind": "rejected", "reason": "policy; too many"}]


def stepped(turn: Turn) -> Step:
    with turn.step() as step:
        return step


NOT_REJECTED: dict[str, Callable[[Turn], Any]] = {
    "nothing was blocked": lambda turn: turn.todos([]),
    "a prompt went through": lambda turn: (turn.blocked("a", "policy"), turn.prompt("b")),
    "a prompt went through first": lambda turn: (turn.prompt("b"), turn.blocked("a", "policy")),
    "there was a step": lambda turn: (turn.blocked("a", "policy"), stepped(turn)),
}


@pytest.mark.parametrize("happens", NOT_REJECTED.values(), ids=NOT_REJECTED)
def test_any_other_turn_is_completed(session: Session, record: Recorder, happens: Callable[[Turn], Any]) -> None:
    with record.turn() as turn:
        happens(turn)
    assert ends(session) == [{"kind": "completed"}]


@pytest.mark.parametrize("through", ["the message", "the stream"])
@pytest.mark.parametrize(
    ("finishes", "reason"),
    [
        (["stop", "tool-calls"], {"kind": "completed"}),
        (["max-tokens", "stop"], {"kind": "max-tokens"}),
        (["max-tokens", "aborted"], {"kind": "aborted"}),
        (
            ["max-tokens", {"kind": "error", "message": "busy", "code": "429"}],
            {"kind": "error", "step": 2, "message": "busy", "code": "429"},
        ),
    ],
)
def test_a_step_that_was_cut_short_tells(
    session: Session, record: Recorder, finishes: list[Any], reason: Any, through: str
) -> None:
    with record.turn("a") as turn:
        for finish in finishes:
            with turn.step() as step:
                if through == "the stream":
                    step.finish(finish)
                    step.assistant("x")
                else:
                    step.assistant("x", finish=finish)
    assert ends(session) == [reason]


def test_a_turn_ends_as_somebody_says(session: Session, record: Recorder) -> None:
    reasons = [{"kind": "disposed"}, {"kind": "aborted", "reason": "user"}, {"kind": "paused", "own": 1}]
    for reason in ("disposed", *reasons[1:]):
        with record.turn("a") as turn:
            turn.end_as(reason)
            with turn.step() as step:
                step.assistant("x", finish="max-tokens")
    assert ends(session) == reasons


def test_disposal_counts_before_what_it_caused(session: Session, record: Recorder) -> None:
    with suppress(ValueError), record.turn("a") as turn, turn.step():
        turn.end_as("disposed")
        raise ValueError
    assert ends(session) == [{"kind": "disposed"}]


@pytest.mark.parametrize("where", ["in a step", "after a step", "before any step"])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no such file"), {"kind": "error", "message": "no such file"}),
        (SessionError("X", "y"), {"kind": "error", "message": "X: y", "code": "X"}),
        (KeyboardInterrupt(), {"kind": "aborted", "reason": "KeyboardInterrupt"}),
        (asyncio.CancelledError(), {"kind": "aborted", "reason": "CancelledError"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_closes_what_is_open_and_goes_on(
    session: Session, record: Recorder, error: BaseException, reason: Any, where: str
) -> None:
    def talk() -> None:
        with record.turn("a") as turn:
            if where == "before any step":
                raise error
            stepped(turn)
            with turn.step() as step:
                step.assistant("x", calls=[("c1", "read", {})])
                if where == "in a step":
                    raise error
            raise error

    with pytest.raises(type(error)) as caught:
        talk()
    assert caught.value is error
    number = 0 if where == "before any step" else 2
    assert ends(session) == [{**reason, "step": number} if reason["kind"] == "error" else reason]
    with record.turn("b") as turn:
        assert turn.number == 2


def test_an_error_that_is_dealt_with_inside_the_turn_is_none(session: Session, record: Recorder) -> None:
    with record.turn("a") as turn:
        with suppress(ValueError), turn.step():
            raise ValueError
        with turn.step() as step:
            assert step.number == 2
    assert ends(session) == [{"kind": "completed"}]


def test_a_step_that_was_entered_by_hand_is_closed_with_its_turn(session: Session, record: Recorder) -> None:
    with record.turn("a") as turn:
        turn.step().__enter__().text_delta("x")
    assert types(session)[-3:] == ["assistant/chunk", "step/end", "turn/end"]


def test_a_cancelled_task_aborts_its_turn(session: Session, record: Recorder) -> None:
    async def talk(started: asyncio.Event) -> None:
        with record.turn("a") as turn, turn.step() as step:
            step.text_delta("x")
            started.set()
            await asyncio.sleep(60)

    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(talk(started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ends(session) == [{"kind": "aborted", "reason": "CancelledError"}]
    assert types(session)[-2:] == ["step/end", "turn/end"]


def test_a_generator_that_is_closed_aborts_its_turn(session: Session, record: Recorder) -> None:
    def talk() -> Iterator[None]:
        with record.turn("a"):
            yield

    going = talk()
    next(going)
    going.close()  # type: ignore[attr-defined]
    assert ends(session) == [{"kind": "aborted", "reason": "GeneratorExit"}]


class Interrupting(Ticks):
    """A clock that raises when it is read for the n-th time."""

    def __init__(self, reads_left: int, error: BaseException) -> None:
        super().__init__()
        self.reads_left = reads_left
        self.error = error

    def __call__(self) -> int:
        self.reads_left -= 1
        if self.reads_left == 0:
            raise self.error
        return super().__call__()


def conversation(record: Recorder) -> None:
    with record.turn(["a", "b"]) as turn:
        with turn.step() as step:
            step.header()
            step.text_delta("x")
            step.assistant("x", calls=[("c1", "read", {}), ("c2", "read", {})])
            step.result("c1", "y")
            step.result("c2", "z")
        turn.todos(["a"])
        with turn.step() as step:
            step.assistant("x")
    record.inject("note")


def test_an_interruption_of_any_append_leaves_a_balanced_log() -> None:
    undisturbed = Session("s", clock=Ticks())
    conversation(Recorder(undisturbed))
    for event in undisturbed.events:
        session = Session("s", clock=Interrupting(event.seq + 2, KeyboardInterrupt()))  # the header reads it first
        record = Recorder(session)
        with pytest.raises(KeyboardInterrupt):
            conversation(record)
        assert types(session)[: event.seq] == types(undisturbed)[: event.seq]
        assert types(session).count("turn/start") == types(session).count("turn/end")
        if event.type != "turn/start":
            assert ends(session)[-1] == {"kind": "aborted", "reason": "KeyboardInterrupt"}
        conversation(record)
        assert check_invariants(session.events) == []


def test_a_session_that_refuses_to_close_says_why() -> None:
    with Context(clock=lambda: 0) as ctx:
        session = ctx.sessions.create("s")
        record = Recorder(session)

        def no_ends(_session: Session, event: Any) -> None:
            if event.type == "turn/end":
                raise ValueError("no ends today")

        undo = ctx.check("session/event", no_ends)
        with pytest.raises(ValueError, match="no ends today"), record.turn("a"):
            pass
        undo()
        refused("RECORD_TURN_OPEN", record.turn("b").__enter__)
        session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
        with record.turn("b") as turn:
            assert turn.number == 2


def test_a_guarded_session_takes_all_that_is_recorded() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(invariants(verify_history=True))
        session = ctx.sessions.create("s")
        record = Recorder(session)
        conversation(record)
        with suppress(ValueError), record.turn("a") as turn, turn.step():
            raise ValueError
        with pytest.raises(InvariantError), record.turn("a"):
            session.append("turn/start", {"turn": 9, "trigger": {"kind": "message", "source": USER}})
        conversation(record)
        assert check_invariants(session.events) == []
        assert [reason["kind"] for reason in ends(session)].count("error") == 2


def test_the_work_per_event_does_not_grow_with_the_log(record: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    take = record._tracker.take

    def counted(kind: str, place: Any) -> Any:
        taken.append(kind)
        return take(kind, place)

    monkeypatch.setattr(record._tracker, "take", counted)
    for _ in range(20):
        conversation(record)
    assert len(taken) <= record.session.seq


def test_recording_loads_no_event_loop() -> None:
    script = (
        "import sys; from dsh_session.core.record import Recorder; from dsh_session import Session\n"
        "with Recorder(Session('s')).turn('a'): pass\n"
        "assert 'asyncio' not in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# Laws.

ERRORS = (ValueError("v"), KeyboardInterrupt(), asyncio.CancelledError(), SessionError("X", "y"))
STEP_ACTIONS = st.sampled_from(["header", "chunk", "usage", "finish", "say", "cut", "call", "answer", "answer twice"])
TURN_ACTIONS = st.sampled_from(["prompt", "blocked", "context", "steer", "todos", "disposed"])
STEPS = st.lists(STEP_ACTIONS, max_size=6)
TURNS = st.tuples(
    st.sampled_from([None, "a", ["a", "b"], [IMAGE]]),
    st.lists(TURN_ACTIONS | STEPS, max_size=5),
)


class Fuse:
    """Raises after so many actions."""

    def __init__(self, actions_left: int, error: BaseException) -> None:
        self.actions_left = actions_left
        self.error = error

    def burn(self) -> None:
        self.actions_left -= 1
        if self.actions_left == 0:
            raise self.error


class Script:
    """A random conversation, and what its turns should end as."""

    def __init__(self, record: Recorder, fuse: Fuse) -> None:
        self.record = record
        self.fuse = fuse
        self.kinds: set[str] = set()
        self.calls = 0
        self.stepped = self.prompted = False

    def turn(self, prompt: Any, items: list[Any]) -> str:
        """Play a turn and give the kind of end that it should have."""
        self.kinds, self.stepped, self.prompted = set(), False, bool(prompt)
        with self.record.turn(prompt) as turn:
            for item in items:
                self.fuse.burn()
                if isinstance(item, list):
                    self.step(turn, item)
                else:
                    self.act(turn, item)
        return self.expected()

    def expected(self) -> str:
        for kind in ("disposed", "aborted", "error", "max-tokens"):
            if kind in self.kinds:
                return kind
        return "rejected" if "blocked" in self.kinds and not self.stepped and not self.prompted else "completed"

    def act(self, turn: Turn, action: str) -> None:
        if action == "prompt":
            turn.prompt("x")
            self.prompted = True
        elif action == "blocked":
            turn.blocked("x", "policy")
            self.kinds.add("blocked")
        elif action == "disposed":
            turn.end_as("disposed")
            self.kinds.add("disposed")
        elif action == "todos":
            turn.todos(["x"])
        else:
            (turn.context if action == "context" else turn.steer)("x")

    def step(self, turn: Turn, actions: list[str]) -> None:
        waiting: list[str] = []
        with turn.step() as step:
            self.stepped = True
            for action in actions:
                self.fuse.burn()
                if action == "header":
                    step.header(system="x")
                elif action == "chunk":
                    step.text_delta("x")
                elif action == "usage":
                    step.usage({"inputTokens": 1, "outputTokens": 1})
                elif action == "finish":
                    step.finish("max-tokens")
                    self.kinds.add("max-tokens")
                elif action == "say":
                    step.assistant("x")
                elif action == "cut":
                    step.assistant("", finish="max-tokens")
                    self.kinds.add("max-tokens")
                elif action == "call":
                    self.calls += 1
                    waiting.append(f"c{self.calls}")
                    step.assistant(calls=[(waiting[-1], "read", {})])
                elif waiting:
                    call = waiting.pop()
                    step.result(call, "x")
                    if action == "answer twice":
                        self.kinds.add("error")
                        step.result(call, "x")


@given(st.lists(TURNS, max_size=4), st.integers(1, 20), st.sampled_from(ERRORS))
def test_whatever_happens_the_log_is_well_formed(
    turns: list[tuple[Any, list[Any]]], actions: int, error: BaseException
) -> None:
    session = Session("s", clock=Ticks())
    script = Script(Recorder(session), Fuse(actions, error))
    for number, (prompt, items) in enumerate(turns, 1):
        try:
            kind = script.turn(prompt, items)
        except BaseException as stop:
            if stop is not error and not isinstance(stop, RecordError):
                raise
            script.kinds.add("error" if isinstance(stop, Exception) else "aborted")
            kind = script.expected()
        assert session.events[-1].type == "turn/end"
        assert session.events[-1].data["turn"] == number
        assert session.events[-1].data["reason"]["kind"] == kind
    assert check_invariants(session.events, verify_history=True) == []
    assert interrupted_turn_closers(session.events) == []
    again = loads(session.to_jsonl())
    assert again.events == session.events
    assert again.derive_messages() == session.derive_messages()
    answered = [event for event in session.events if event.type == "tool/result"]
    assert all(session.events[event.source_event_seqs[0]].data["callId"] == event.data["callId"] for event in answered)
    said = [event for event in session.events if event.type == "assistant/message"]
    assert all(event.source_event_seqs is not None for event in said)
    cited = [seq for event in said for seq in event.source_event_seqs or []]
    assert len(cited) == len(set(cited))
    assert all(session.events[seq].type == "assistant/chunk" for seq in cited)


@pytest.mark.parametrize("wrong", ["tour", None, []])
def test_a_recorder_wants_a_session_from_the_start(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a recorder writes to a Session, not to"):
        Recorder(wrong)
