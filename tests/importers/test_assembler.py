"""Whatever an assembler is told, in any order, what it writes is a log that every reader accepts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Session, check_invariants, loads
from dsh_session.compaction.meter import DEFAULT_METER
from dsh_session.compaction.pairing import Pairing
from dsh_session.core.jsonl import read_session
from dsh_session.core.vocabulary import VOCABULARY
from dsh_session.importers.assembler import Assembler, header_from, price_of
from dsh_session.importers.book import Book

CALL = {"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}


def begin(header: dict[str, Any] | None = None) -> Assembler:
    return Assembler(header or {"id": "s", "createdAt": 1000}, Book("log"), plugin="agent")


def kinds(session: Session) -> list[str]:
    return [event.type for event in session.events]


def codes(make: Assembler) -> list[str]:
    return [finding.code for finding in make.book.findings]


def assert_lawful(session: Session) -> None:
    assert check_invariants(session.events) == []
    again = loads(session.to_jsonl())
    assert again.findings == []
    assert list(again.surface.nodes) == list(session.surface.nodes)
    assert again.derive_messages() == session.derive_messages()
    for event in session.events:
        shape = VOCABULARY.shape(event.type)
        assert shape is None or shape.fault(event.data) is None, event.to_json()
    # A live session would have taken it as well.
    Session(session.id, seed=[event.to_dict() for event in session.events])


# ------------------------------------------------------------------------------------------------------- one by one


def test_a_prompt_ends_the_turn_before_it_at_the_time_of_its_last_event() -> None:
    make = begin()
    make.at(1, 1000).prompt("one")
    make.at(2, 9000).prompt("two")
    session = make.finish()
    assert kinds(session) == ["turn/start", "user/message", "turn/end", "turn/start", "user/message", "turn/end"]
    assert [event.time for event in session.events] == [1000, 1000, 1000, 9000, 9000, 9000]
    assert make.closed_at == [2, 5]
    assert_lawful(session)


def test_output_without_a_prompt_opens_an_injection_turn() -> None:
    make = begin()
    make.at(1, 5).response("hello", provenance={"provider": "p", "model": "m"})
    session = make.finish()
    assert session.events[0].data["trigger"]["kind"] == "injection"
    assert_lawful(session)


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    make = begin()
    make.at(1, 5).prompt("go")
    make.at(2, 6).response([CALL], provenance={"provider": "p", "model": "m"})
    assert make.pending == ("c1",)
    make.at(3, 7).prompt("again")
    session = make.finish()
    assert codes(make) == ["CALL_WITHOUT_RESULT"]
    result = next(event for event in session.events if event.type == "tool/result")
    assert result.data["error"]["code"] == "interrupted"
    assert list(result.source_event_seqs or []) == [4]
    assert_lawful(session)


def test_a_result_without_a_call_is_kept_as_context() -> None:
    make = begin()
    make.at(4, 5).result("nobody", "text")
    session = make.finish()
    assert codes(make) == ["RESULT_WITHOUT_CALL"]
    assert make.book.findings[0].line == 4
    assert session.derive_messages()[0]["content"] == [{"type": "text", "text": "text"}]
    assert_lawful(session)


def test_a_second_result_of_a_call_is_kept_as_context() -> None:
    make = begin()
    make.at(1, 5).response([CALL])
    make.result("c1", "one")
    make.result("c1", "two")
    assert_lawful(make.finish())
    assert codes(make) == ["RESULT_WITHOUT_CALL"]


def test_one_id_for_two_calls_of_a_message_gives_two_calls() -> None:
    make = begin()
    make.at(1, 5).response([CALL, CALL])
    make.result("c1", "one")
    make.result("c1", "two")
    session = make.finish()
    assert [event.data["callId"] for event in session.events if event.type == "tool/call"] == ["c1", "c1~2"]
    assert codes(make) == ["DUPLICATE_CALL"]
    assert_lawful(session)


def test_a_header_is_written_with_the_next_step_and_only_where_it_differs() -> None:
    make = begin()
    make.at(1, 5)
    make.header({"effort": "high", "temperature": None}, system="be brief", tools=[{"name": "x"}])
    for _ in range(2):
        make.response("hello", provenance={"provider": "p", "model": "m"})
        make.header(system="be brief")
    make.header({"effort": "low"})
    make.response("hello", provenance={"provider": "p", "model": "m"})
    session = make.finish()
    headers = [event.data for event in session.events if event.type == "request/header"]
    assert [header["reason"] for header in headers] == ["initial", "change"]
    assert headers[0]["header"] == {
        "config": {"provider": "p", "model": "m", "effort": "high"},
        "system": "be brief",
    }
    assert headers[1]["header"]["config"]["effort"] == "low"
    assert kinds(session)[1:4] == ["step/start", "request/header", "assistant/message"]
    assert "tools" in {row[4] for row in make.book.side_rows}
    assert_lawful(session)


def test_a_log_without_times_has_those_of_its_header() -> None:
    make = begin({"id": "s", "createdAt": 500})
    make.at(1).prompt("one")
    make.at(2, None).response("two")
    session = make.finish()
    assert [event.time for event in session.events] == list(range(500, 500 + session.seq))
    assert codes(make) == ["NO_TIMES"]


@pytest.mark.parametrize("time", [True, -5, 2**60, "later", 1.5e300, float("nan"), []])
def test_what_is_no_time_is_the_time_before(time: Any) -> None:
    make = begin()
    make.at(1, 70).prompt("one")
    make.at(2, time).response("two")
    assert {event.time for event in make.finish().events} == {70}


def test_a_turn_that_the_log_marks_takes_the_next_prompt() -> None:
    make = begin()
    make.at(1, 5).open_turn()
    make.context("environment")
    make.prompt("go")
    make.end_turn({"kind": "aborted", "reason": "user"})
    session = make.finish()
    assert kinds(session) == ["turn/start", "context/message", "user/message", "turn/end"]
    assert session.events[-1].data["reason"] == {"kind": "aborted", "reason": "user"}


def test_a_hook_event_of_the_wrong_shape_goes_to_the_side_table() -> None:
    import dsh_session.hooks  # noqa: F401 (declares the shapes)

    make = begin()
    make.at(1, 5).prompt("go")
    good = {"point": "Stop", "dialect": "claude", "handlerId": "claude:Stop:1"}
    assert make.event("hook/invoked", good) == 2
    assert make.event("hook/invoked", {"point": 5}) is None
    assert codes(make) == ["BAD_EVENT"]
    assert_lawful(make.finish())
    with pytest.raises(ValueError, match="method of its own"):
        make.event("turn/start", {})


# ------------------------------------------------------------------------------------------------------- compactions


def talk() -> Assembler:
    make = begin()
    make.at(1, 5).prompt("go on, and on, and on")
    for at in range(3):
        make.response([{**CALL, "id": f"c{at}"}])
        make.result(f"c{at}", "text " * 20)
    return make


def test_a_compaction_replaces_its_range_and_cites_what_it_shadows() -> None:
    make = talk()
    nodes = list(make.surface)
    replaced = make.compaction(
        start=nodes[0], end=nodes[2], summary="what was", provider="p", model="m", tokens_before=99
    )
    session = make.finish()
    assert replaced is not None
    assert list(session.surface.nodes) == [replaced, *nodes[3:]]
    record = session.events[replaced - 1]
    assert record.type == "compact/summary"
    assert record.data["shadowedSeqs"] == nodes[:3]
    assert record.data["shadowedTokenCount"] == sum(
        DEFAULT_METER.estimate_event(session.events[at]) for at in nodes[:3]
    )
    assert list(session.events[replaced].source_event_seqs or []) == [replaced - 2, replaced - 1, *nodes[:3]]
    assert codes(make) == []
    assert ("tokensBefore", b"99") in {(row[4], row[5]) for row in make.book.side_rows}
    assert_lawful(session)


def test_an_edge_that_splits_a_call_from_its_result_is_a_finding_and_stays() -> None:
    make = talk()
    nodes = list(make.surface)
    make.compaction(start=nodes[0], end=nodes[1], summary="what was")
    assert codes(make) == ["UNBALANCED_EDGE"]
    assert_lawful(make.finish())


def test_an_empty_range_replaces_nothing_and_keeps_the_summary_as_context() -> None:
    make = talk()
    assert make.compaction(start=None, end=None, summary="what was") is None
    session = make.finish()
    assert session.surface.replace_generation == 0
    assert kinds(session)[-4:] == ["compact/start", "compact/end", "context/message", "turn/end"]
    assert codes(make) == ["EMPTY_RANGE"]
    assert_lawful(session)


def test_several_ranges_lie_in_one_bracket() -> None:
    make = talk()
    nodes = list(make.surface)
    make.compaction(start=nodes[1], end=nodes[2], summary="one", also=[(nodes[5], nodes[6]), (nodes[2], nodes[3])])
    session = make.finish()
    assert session.surface.replace_generation == 2
    assert codes(make)[-1] == "RANGES_OVERLAP"
    texts = [message["content"][0].get("text") for message in session.derive_messages()]
    assert texts.count("(forgotten)") == 1
    assert kinds(session).count("compact/start") == 1
    assert_lawful(session)


def test_a_range_may_begin_at_an_earlier_summary_and_a_reversed_one_is_turned() -> None:
    make = talk()
    nodes = list(make.surface)
    first = make.compaction(start=nodes[0], end=nodes[2], summary="one")
    make.compaction(start=nodes[4], end=first, summary="two")
    session = make.finish()
    assert codes(make) == ["RANGE_REVERSED"]
    assert session.surface.replace_generation == 2
    assert_lawful(session)


def test_a_range_that_is_gone_is_a_finding() -> None:
    make = talk()
    make.compaction(start=0, end=4000, summary="one")
    assert codes(make) == ["RANGE_NOT_FOUND", "EMPTY_RANGE"]
    assert_lawful(make.finish())


# ------------------------------------------------------------------------------------------------------------- forks


def test_a_fork_shares_the_events_before_it() -> None:
    make = begin()
    make.at(1, 5).prompt("one")
    make.at(2, 6).prompt("two")
    make.end_turn()
    child = make.branch("child", make.closed_at[0] + 1)
    child.at(3, 7).prompt("other")
    session, fork = make.finish(), child.finish()
    assert fork.header.to_dict() | {} == {
        "version": 0, "id": "child", "createdAt": 1000, "parentSession": "s", "seedLength": 3,
    }  # fmt: skip
    assert fork.events[2] is session.events[2]
    assert [event.data.get("turn") for event in fork.events] == [1, None, 1, 2, None, 2]
    assert {(row[0], row[1]) for row in make.book.source_rows if row[0] == "child"} == {
        ("child", at) for at in (3, 4, 5)
    }
    assert_lawful(session)
    assert_lawful(fork)


def test_a_fork_from_the_middle_of_a_turn_begins_at_the_end_of_the_one_before() -> None:
    make = talk()
    make.prompt("two")
    child = make.branch("child", make.last + 1)
    assert codes(make) == ["BRANCH_MID_TURN"]
    assert child.last == make.closed_at[0]
    make.branch("second", 1)
    assert_lawful(child.finish())


def test_a_fork_knows_the_header_and_the_surface_of_its_place() -> None:
    make = talk()
    nodes = list(make.surface)
    make.header({"provider": "p", "model": "m"})
    make.response("x")
    make.end_turn()
    before = list(make.surface)
    length = make.last + 1
    make.compaction(start=nodes[0], end=nodes[2], summary="one")
    child = make.branch("child", length)
    assert list(child.surface) == before
    child.header({"provider": "p", "model": "m"})
    child.response("y", provenance={"provider": "p", "model": "m"})
    assert kinds(child.finish())[length:] == ["turn/start", "step/start", "assistant/message", "step/end", "turn/end"]


# ---------------------------------------------------------------------------------------------------------- anything


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"id": 5, "createdAt": "x", "cwd": "", "seedLength": -1},
        {"id": "s", "createdAt": float("inf"), "cwd": "C:\\x"},
    ],
)
def test_any_header_becomes_one(header: dict[str, Any]) -> None:
    make = Assembler(header, Book())
    make.prompt("x")
    session = make.finish()
    again, _ = read_session([session.to_jsonl()])
    assert again.header == session.header
    assert header_from(header)["version"] == 0


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
block = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5)),
    st.builds(lambda at: {**CALL, "id": f"c{at}"}, st.integers(0, 3)),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "reasoning", "tool-call", "tool-result", "image", "x"])},
        optional=dict.fromkeys(("text", "id", "name", "arguments", "content", "source", "data", "isError"), junk),
    ),
    junk,
)
content = st.one_of(st.lists(block, max_size=3), junk)
calls = st.sampled_from(["c0", "c1", "c2", "c3"])
reason = st.one_of(junk.filter(lambda value: value is None or isinstance(value, (str, dict))), st.just("error"))
telling = st.one_of(
    st.tuples(st.just("at"), st.integers(1, 50), junk | st.integers(0, 10**6)),
    st.tuples(st.sampled_from(["prompt", "user", "context", "steering"]), content),
    st.tuples(st.just("response"), content, st.none() | st.dictionaries(st.text(max_size=5), junk, max_size=2), junk),
    st.tuples(st.just("result"), calls, content, st.booleans(), junk, junk),
    st.tuples(
        st.just("header"), st.dictionaries(st.sampled_from(["provider", "model", "stop", "x"]), junk), junk, junk
    ),
    st.tuples(st.sampled_from(["end_step", "open_turn"])),
    st.tuples(st.just("end_turn"), reason),
    st.tuples(st.just("todo"), junk),
    st.tuples(st.just("event"), st.sampled_from(["hook/invoked", "approval/policy", "x"]), junk),
    st.tuples(st.just("compaction"), st.integers(0, 9), st.integers(0, 9), content),
    st.tuples(st.just("side"), junk),
)


def tell(make: Assembler, what: tuple[Any, ...]) -> None:
    name, *told = what
    nodes = make.surface
    if name == "at":
        make.at(told[0], told[1])
    elif name == "response":
        make.response(told[0], provenance=told[1], usage=told[2])
    elif name == "result":
        make.result(told[0], told[1], is_error=told[2], error=told[3], meta=told[4])
    elif name == "header":
        make.header(told[0], system=told[1], tools=told[2])
    elif name == "compaction":
        start, end = (nodes[at] if at < len(nodes) else None for at in told[:2])
        pairing = Pairing()
        pairing.follow(make._session)
        found = len(make.book.findings)
        if make.step is None and start is not None and end is not None:
            ordered = list(nodes)
            low, high = sorted((start, end), key=ordered.index)
            splits = pairing.splits(low, high)
            make.compaction(start=start, end=end, summary=told[2])
            later = [finding.code for finding in make.book.findings[found:]]
            assert splits == ("UNBALANCED_EDGE" in later)
        else:
            make.compaction(start=start, end=end, summary=told[2])
    elif name == "side":
        make.side("x", told[0])
    else:
        getattr(make, name)(*told)


@settings(max_examples=150, deadline=None)
@given(st.lists(telling, max_size=25), st.integers(0, 40))
def test_whatever_it_is_told_the_log_is_lawful(story: list[tuple[Any, ...]], cut: int) -> None:
    make = begin()
    for what in story:
        tell(make, what)
    child = make.branch("child", cut)
    session, fork = make.finish(), child.finish()
    assert_lawful(session)
    assert_lawful(fork)
    for event in session.events:
        if event.surface_op is not None:
            assert price_of(event) == DEFAULT_METER.estimate_event(event)
    assert {row[1] for row in make.book.source_rows} <= set(range(session.seq))


def test_a_result_that_is_shortened_still_answers_its_call() -> None:
    make = begin()
    make.at(1, 1000).prompt("Read it.")
    make.at(2, 2000).response([CALL])
    result = make.at(3, 3000).result("c1", "long " * 100)
    made = make.at(4, 4000).shorten(result, "short")
    session = make.finish()
    assert made is not None
    assert session.surface.nodes[-1] == made
    assert session.events[made].data["content"] == [{"type": "text", "text": "short"}]
    assert check_invariants(session.events, allow_result_rewrite=True) == []
    assert kinds(session)[6:10] == ["compact/start", "compact/summary", "tool/result", "compact/end"]
    assert loads(session.to_jsonl()).derive_messages() == session.derive_messages()


def test_any_other_node_that_is_changed_becomes_a_users_message() -> None:
    make = begin()
    prompt = make.at(1, 1000).prompt("Read it.")
    made = make.at(2, 2000).shorten(prompt, None)
    assert made is not None
    assert not make.is_live(prompt)
    assert make.shorten(prompt, "again") is None
    assert codes(make) == ["RANGE_NOT_FOUND"]
    session = make.finish()
    assert session.derive_messages()[0]["content"] == [{"type": "text", "text": "(forgotten)"}]
    assert_lawful(session)


def test_a_change_that_takes_calls_away_is_said() -> None:
    make = begin()
    make.at(1, 1000).prompt("Read it.")
    message = make.at(2, 2000).response([CALL])
    make.at(3, 3000).result("c1", "text")
    make.at(4, 4000).shorten(message, "short")
    assert codes(make) == ["UNBALANCED_EDGE"]


def test_the_first_pending_call_is_known_without_going_through_those_that_went() -> None:
    make = begin()
    make.prompt("go")
    calls = [f"c{number}" for number in range(20_000)]
    make.response([{**CALL, "id": call} for call in calls])
    found = []
    while (call := make.first_pending) is not None:
        assert make.waits_for(call)
        make.result(call, "done")
        found.append(call)
    assert found == calls
    assert make.pending == ()
