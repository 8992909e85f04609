"""Steps of a recorded turn: headers, streams, messages, calls and results."""

from collections.abc import Iterator
from typing import Any

import pytest

from dsh_session import Recorder, Session, SessionError, check_invariants
from dsh_session.core.errors import RecordError
from dsh_session.core.record import Turn
from dsh_session.core.step import Step

from .payloads import text

TOOLS = [{"name": "read", "description": "", "parameters": {"type": "object"}}]
PREFIX = [{"role": "user", "content": [text("before all")]}]
RECORDED = {"provider": "recorded", "model": "recorded"}
USAGE = {"inputTokens": 3, "outputTokens": 5}


@pytest.fixture
def session() -> Session:
    return Session("s", clock=lambda: 0)


@pytest.fixture
def turn(session: Session) -> Iterator[Turn]:
    with Recorder(session).turn("go") as turn:
        yield turn
    assert check_invariants(session.events) == []


@pytest.fixture
def step(turn: Turn) -> Iterator[Step]:
    with turn.step() as step:
        yield step


def refused(code: str, call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        call(*args, **options)
    assert caught.value.code == code
    return str(caught.value)


def test_steps_are_numbered_within_their_turn(session: Session) -> None:
    record = Recorder(session)
    for _ in range(2):
        with record.turn("go") as turn:
            for number in (1, 2, 3):
                with turn.step() as step:
                    assert step.number == number
    places = [event.data for event in session.events if event.type in {"step/start", "step/end"}]
    assert places == [{"turn": turn, "step": step} for turn in (1, 2) for step in (1, 2, 3) for _ in "se"]


def test_a_step_that_somebody_else_wrote_counts(session: Session, turn: Turn) -> None:
    session.append("step/start", {"turn": 1, "step": 1})
    message = refused("RECORD_STEP_OPEN", turn.step().__enter__)
    assert "step 1 is open" in message
    session.append("step/end", {"turn": 1, "step": 1})
    with turn.step() as step:
        assert step.number == 2


# Messages.


def test_a_message_says_what_it_was_given(step: Step) -> None:
    message = step.assistant("Let me look.", reasoning="hm", usage=USAGE, calls=[("c1", "read", {"path": "a"})])
    assert message.data == {
        "turn": 1,
        "step": 1,
        "content": [
            {"type": "reasoning", "text": "hm"},
            text("Let me look."),
            {"type": "tool-call", "id": "c1", "name": "read", "arguments": '{"path":"a"}'},
        ],
        "provenance": RECORDED,
        "usage": USAGE,
    }
    assert message.surface_op == "append"
    assert message.source_event_seqs == []


def test_each_call_is_logged_after_its_message(session: Session, step: Step) -> None:
    message = step.assistant(calls=[("c1", "read", '{"path": '), ("c2", "bash", {})])
    assert [block["id"] for block in message.data["content"]] == ["c1", "c2"]
    logged = [event for event in session.events if event.type == "tool/call"]
    assert [event.seq for event in logged] == [message.seq + 1, message.seq + 2]
    assert [event.data for event in logged] == [
        {"turn": 1, "step": 1, "callId": "c1", "name": "read", "arguments": '{"path": '},
        {"turn": 1, "step": 1, "callId": "c2", "name": "bash", "arguments": "{}"},
    ]


@pytest.mark.parametrize(
    ("content", "blocks"),
    [("", []), ([], []), ("x", [text("x")]), ([text("a"), "b"], [text("a"), text("b")])],
)
def test_an_empty_text_is_no_block(step: Step, content: Any, blocks: Any) -> None:
    assert step.assistant(content).data["content"] == blocks


def test_calls_that_cannot_be_written_leave_nothing(session: Session, step: Step) -> None:
    before = session.seq
    with pytest.raises(SessionError):
        step.assistant("x", calls=[("c1", "read", {"a": float("nan")})])
    with pytest.raises(SessionError):
        step.assistant("x", finish={"kind": 5})
    assert session.seq == before


# Streams.


def test_chunks_are_written_as_they_came(session: Session, step: Step) -> None:
    block = text("Hi")
    for chunk in (
        step.block_start("text"),
        step.text_delta("H"),
        step.text_delta("i", index=1),
        step.block_end(block),
        step.reasoning_delta("hm", index=2),
        step.tool_call_delta("c1", '{"a', name="read", index=3),
        step.tool_call_delta("c1", '":1}', index=3),
        step.usage(USAGE),
        step.finish("tool-calls"),
        step.chunk({"type": "text-delta", "index": 0, "text": "raw"}),
    ):
        assert chunk.type == "assistant/chunk"
        assert (chunk.data["turn"], chunk.data["step"]) == (1, 1)
    assert [event.data["chunk"] for event in session.events if event.type == "assistant/chunk"] == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "H"},
        {"type": "text-delta", "index": 1, "text": "i"},
        {"type": "block-end", "index": 0, "block": block},
        {"type": "reasoning-delta", "index": 2, "text": "hm"},
        {"type": "tool-call-delta", "index": 3, "id": "c1", "name": "read", "argumentsDelta": '{"a'},
        {"type": "tool-call-delta", "index": 3, "id": "c1", "argumentsDelta": '":1}'},
        {"type": "usage", "usage": USAGE},
        {"type": "finish", "reason": {"kind": "tool-calls"}},
        {"type": "text-delta", "index": 0, "text": "raw"},
    ]


def test_a_message_cites_the_chunks_since_the_last_one(session: Session, turn: Turn, step: Step) -> None:
    first = [step.text_delta("a").seq, step.text_delta("b").seq]
    turn.todos(["between"])
    raw = {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "c"}}
    first.append(session.append("assistant/chunk", raw).seq)
    assert step.assistant("abc").source_event_seqs == first
    second = [step.text_delta("d").seq]
    assert step.assistant("d").source_event_seqs == second
    assert step.assistant("e").source_event_seqs == []


def test_a_chunk_of_the_step_before_is_not_cited(turn: Turn) -> None:
    with turn.step() as step:
        step.text_delta("lost")
    with turn.step() as step:
        assert step.assistant("found").source_event_seqs == []


def test_the_usage_that_was_streamed_goes_into_the_next_message(step: Step) -> None:
    step.usage({"inputTokens": 1, "outputTokens": 1})
    step.usage(USAGE)
    assert step.assistant("a").data["usage"] == USAGE
    assert "usage" not in step.assistant("b").data
    step.usage(USAGE)
    given = {"inputTokens": 9, "outputTokens": 9}
    assert step.assistant("c", usage=given).data["usage"] == given
    assert "usage" not in step.assistant("d").data


def test_a_chunk_that_is_refused_does_not_count(step: Step) -> None:
    with pytest.raises(SessionError):
        step.chunk({"type": "usage", "usage": {"inputTokens": "many"}})
    with pytest.raises(SessionError):
        step.chunk({"type": "finish"})
    message = step.assistant("a")
    assert "usage" not in message.data
    assert message.source_event_seqs == []


# Results.


def test_a_result_cites_its_call(session: Session, step: Step) -> None:
    step.assistant(calls=[("c1", "read", {}), ("c2", "read", {})])
    second = step.result("c2", "two", is_error=True, error={"name": "E", "code": "x"}, meta={"n": 1})
    first = step.result("c1", [text("one"), "more"])
    seqs = {event.data["callId"]: event.seq for event in session.events if event.type == "tool/call"}
    assert first.data == {
        "turn": 1,
        "step": 1,
        "callId": "c1",
        "content": [text("one"), text("more")],
        "isError": False,
    }
    assert first.source_event_seqs == [seqs["c1"]]
    assert second.data == {
        "turn": 1,
        "step": 1,
        "callId": "c2",
        "content": [text("two")],
        "isError": True,
        "error": {"name": "E", "code": "x"},
        "meta": {"n": 1},
    }
    assert second.source_event_seqs == [seqs["c2"]]


def test_an_id_that_is_used_again_is_answered_again(step: Step) -> None:
    for _ in range(2):
        message = step.assistant(calls=[("c1", "read", {})])
        assert step.result("c1", "x").source_event_seqs == [message.seq + 1]


def test_a_result_without_a_call_is_refused(turn: Turn) -> None:
    with turn.step() as step:
        step.assistant(calls=[("c1", "read", {}), ("c2", "read", {})])
        assert "'c9' waits for no result in step 1" in refused("RECORD_NO_CALL", step.result, "c9", "x")
        step.result("c1", "x")
        refused("RECORD_NO_CALL", step.result, "c1", "again")
    with turn.step() as step:
        refused("RECORD_NO_CALL", step.result, "c2", "late")


def test_the_result_of_an_interrupted_call_may_stand_alone(step: Step) -> None:
    interrupted = {"name": "InterruptedError", "code": "interrupted"}
    refused("RECORD_NO_CALL", step.result, "c1", "lost", error=interrupted)
    refused("RECORD_NO_CALL", step.result, "c1", "lost", is_error=True, error={"name": "E", "code": "x"})
    assert step.result("c1", "lost", is_error=True, error=interrupted).source_event_seqs is None


# Headers.


def headers(session: Session) -> list[tuple[str, Any]]:
    return [(e.data["reason"], e.data["header"]) for e in session.events if e.type == "request/header"]


def test_a_header_is_written_when_it_says_something_new(session: Session, turn: Turn) -> None:
    with turn.step() as step:
        first = step.header(system="be brief", tools=TOOLS, prefix=PREFIX)
        assert first is not None
        assert step.header(system="be brief", tools=TOOLS, prefix=PREFIX) is None
        assert step.header({"provider": "recorded"}, system="be brief", tools=TOOLS, prefix=PREFIX) is None
    with turn.step() as step:
        assert step.header(system="be brief", tools=TOOLS, prefix=PREFIX) is None
        assert step.header({"temperature": 0.5}, system="", tools=[]) is not None
        assert step.header({"temperature": 0.5}) is None
    full = {"config": RECORDED, "system": "be brief", "tools": TOOLS, "messagePrefix": PREFIX}
    assert headers(session) == [("initial", full), ("change", {"config": {**RECORDED, "temperature": 0.5}})]
    assert session.request_header() == {"config": {**RECORDED, "temperature": 0.5}}


def test_the_first_header_of_a_recorder_marks_where_a_loop_began(session: Session) -> None:
    for recorder in (Recorder(session), Recorder(session)):
        for _ in range(2):
            with recorder.turn("go") as turn, turn.step() as step:
                step.header(system="same")
    assert headers(session) == [(reason, {"config": RECORDED, "system": "same"}) for reason in ("initial", "resume")]


def test_a_header_that_somebody_else_wrote_is_a_change(session: Session) -> None:
    recorder = Recorder(session)
    with recorder.turn("go") as turn, turn.step() as step:
        step.header()
        other = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "change"}
        session.append("request/header", other)
        step.header(RECORDED)
    assert [reason for reason, _ in headers(session)] == ["initial", "change", "change"]


def test_a_malformed_header_in_the_log_is_no_header() -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    with Recorder(session).turn("go") as turn, turn.step() as step:
        session.append("request/header", None)
        step.header()
        step.assistant("x")
        session.append("request/header", {"header": {"config": 7}})
        assert step.assistant("y").data["provenance"] == RECORDED
    assert session.events[4].data == {"header": {"config": RECORDED}, "reason": "initial"}


# The route.


def provenances(session: Session) -> list[Any]:
    return [event.data["provenance"] for event in session.events if event.type == "assistant/message"]


def test_a_message_belongs_to_the_header_in_force(session: Session) -> None:
    route = {"provider": "p", "model": "m"}
    with Recorder(session).turn("go") as turn, turn.step() as step:
        step.assistant("a")
        step.header(route)
        step.assistant("b")
        step.assistant("c", provenance={"model": "m2", "replayState": 1})
    with Recorder(session).turn("go") as turn, turn.step() as step:
        step.assistant("d")
    assert provenances(session) == [RECORDED, route, {**route, "model": "m2", "replayState": 1}, route]


def test_a_recorder_has_a_route_of_its_own(session: Session) -> None:
    with Recorder(session).turn("go") as turn, turn.step() as step:
        step.header({"provider": "old", "model": "o1"})
    with Recorder(session, provider="new").turn("go") as turn, turn.step() as step:
        step.assistant("a")
        step.header({"model": "n1"})
        step.assistant("b")
        step.header({"provider": "newer"})
        step.assistant("c")
    assert provenances(session) == [
        {"provider": "new", "model": "o1"},
        {"provider": "new", "model": "n1"},
        {"provider": "newer", "model": "n1"},
    ]


# At the wrong moment.


def test_a_step_that_is_over_writes_nothing(session: Session, turn: Turn) -> None:
    with turn.step() as step:
        step.assistant("x", calls=[("c1", "read", {})])
    before = session.seq
    for write in (step.assistant, step.header, lambda: step.text_delta("x"), lambda: step.result("c1", "x")):
        assert "step 1 is over" in refused("RECORD_STEP_OVER", write)
    refused("RECORD_STEP_OVER", step.__enter__)
    assert session.seq == before


def test_a_step_that_has_not_begun_writes_nothing(turn: Turn) -> None:
    assert "with statement" in refused("RECORD_NOT_ENTERED", turn.step().assistant, "x")


def test_a_step_of_a_turn_that_is_over_does_not_begin(session: Session) -> None:
    with Recorder(session).turn("go") as turn:
        step = turn.step()
    assert "turn 1 is over" in refused("RECORD_TURN_OVER", step.__enter__)
    refused("RECORD_TURN_OVER", turn.step)


def test_a_step_inside_a_step_is_refused(session: Session, turn: Turn) -> None:
    with turn.step():
        refused("RECORD_STEP_OPEN", turn.step().__enter__)
    assert [event.type for event in session.events][-2:] == ["step/start", "step/end"]


@pytest.mark.parametrize(
    ("call", "found"), [(("c", "n"), "2 items"), ("abc", "str"), ({"id": "c"}, "dict"), (("c", "n", {}, 1), "4 items")]
)
def test_a_call_of_another_shape_is_told_what_a_call_is(session: Session, step: Step, call: Any, found: str) -> None:
    before = session.seq
    with pytest.raises(TypeError, match=rf"a call must be \(id, name, arguments\), not {found}$"):
        step.assistant("Let me look.", calls=[call])
    assert session.seq == before


def test_a_result_wants_the_id_of_its_call_as_text(step: Step) -> None:
    wrong: Any = []
    with pytest.raises(TypeError, match="a call's id must be a str, not list"):
        step.result(wrong, "x")
