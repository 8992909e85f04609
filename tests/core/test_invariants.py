"""Rules between events: listed for a log, enforced on a live session."""

import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import (
    Context,
    InvariantError,
    Replace,
    Session,
    SessionError,
    Violation,
    check_invariants,
    invariants,
    load,
)
from dsh_session.core.tracker import TurnTracker

from .payloads import ROUTE, USER, payload, text, wire_event

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
TRIGGER = {"kind": "message", "source": USER}


@pytest.fixture
def ctx() -> Iterator[Context]:
    with Context(clock=lambda: 0, check_payloads=False) as context:
        yield context


def append(session: Session, kind: str, data: Any = ..., **options: Any) -> Any:
    if kind in {"user/message", "assistant/message", "tool/result", "context/message", "steering/message"}:
        options.setdefault("surface_op", "append")
    return session.append(kind, payload(kind) if data is ... else data, **options)


def in_a_step(session: Session) -> Session:
    for kind in ("turn/start", "user/message", "step/start"):
        append(session, kind)
    return session


def with_a_result(session: Session, **changes: Any) -> Session:
    in_a_step(session)
    append(session, "assistant/message")
    append(session, "tool/call")
    append(session, "tool/result", {**payload("tool/result"), **changes})
    return session


def refused(session: Session, kind: str, data: Any = ..., **options: Any) -> InvariantError:
    before = session.to_jsonl()
    with pytest.raises(InvariantError) as caught:
        append(session, kind, data, **options)
    assert session.to_jsonl() == before
    assert caught.value.seq == session.seq
    return caught.value


# Listing.


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_recorded_logs_break_no_rule(path: Path) -> None:
    assert check_invariants(load(path).events, verify_history=True) == []


def test_an_empty_log_breaks_no_rule() -> None:
    assert check_invariants([]) == []


def test_a_violation_names_seq_rule_and_both_values() -> None:
    log = [wire_event("turn/start", 0, data={"turn": 2, "trigger": TRIGGER})]
    assert check_invariants(log) == [
        Violation(0, "turn-number", 1, 2, "a turn/start of turn 2 where turn 1 comes next")
    ]


def test_every_violation_is_listed() -> None:
    log = [
        wire_event("user/message", 0),
        wire_event("turn/start", 1),
        wire_event("tool/result", 2),
        wire_event("step/end", 3),
        wire_event("step/start", 4, data={"turn": 1, "step": 2}),
        wire_event("tool/result", 5, data={**payload("tool/result"), "step": 2}),
        wire_event("turn/end", 6),
        wire_event("compact/start", 7, data={"turn": 1}),
        wire_event("turn/start", 8, data={"turn": 3, "trigger": TRIGGER}),
    ]
    found = [(violation.seq, violation.rule) for violation in check_invariants(log)]
    assert found == [
        (0, "enclosure"),
        (2, "step"),
        (5, "result"),
        (6, "step-left-open"),
        (7, "enclosure"),
        (8, "turn-number"),
    ]


@pytest.mark.parametrize(
    ("seqs", "found"),
    [
        ([0, 1, 2, 3], []),
        ([0, 5, 6, 7], []),
        ([0, 0, 1, 2], [(0, 1, 0)]),
        ([3, 2, 3, 4], [(2, 4, 2)]),
        ([0, None, 2, 3], [(1, 1, None)]),
        ([0, "1", 2, 3], [(1, 1, "1")]),
        ([0, True, 2, 3], [(1, 1, True)]),
        ([0, 1.0, 2, 3], []),
        ([-1, 1, 2, 3], [(0, 0, -1)]),
    ],
)
def test_seqs_strictly_rise(seqs: list[Any], found: list[tuple[int, Any, Any]]) -> None:
    kinds = ("turn/start", "user/message", "user/message", "turn/end")
    log = [{**wire_event(kind, 0), "seq": seq} for kind, seq in zip(kinds, seqs, strict=True)]
    violations = check_invariants(log)
    assert [(violation.seq, violation.expected, violation.actual) for violation in violations] == found
    assert {violation.rule for violation in violations} <= {"seq"}


@pytest.mark.parametrize("junk", [None, 7, "turn/start", [], {}, {"type": 5}, {"type": "turn/start", "seq": 0}])
def test_what_is_no_event_breaks_rules_and_nothing_else(junk: Any) -> None:
    assert check_invariants([junk])
    assert check_invariants([junk], verify_history=True, allow_result_rewrite=True)


hostile = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 3) | st.sampled_from(["c1", "interrupted", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["turn", "step", "code"]), inner),
    max_leaves=4,
)
hostile_payloads = hostile | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("turn", "step", "callId", "isError", "error", "content", "trigger"), hostile)
)
KINDS = ("turn/start", "turn/end", "step/start", "step/end", "assistant/chunk", "tool/call", "todo/write", "own/event")


@given(st.lists(st.tuples(st.sampled_from((*KINDS, "tool/result", "assistant/message")), hostile_payloads), max_size=8))
def test_malformed_payloads_break_rules_and_nothing_else(events: list[tuple[str, Any]]) -> None:
    log = [wire_event(kind, seq, data=data) for seq, (kind, data) in enumerate(events)]
    violations = check_invariants(log, allow_result_rewrite=True)
    assert all(violation.rule and violation.message and 0 <= violation.seq < len(log) for violation in violations)
    if not violations:
        assert all(kind != "turn/start" or isinstance(data, dict) for kind, data in events)


# Guarding.


@pytest.mark.parametrize(
    "plugin",
    [invariants, invariants(), invariants(verify_history=True)],
    ids=["as it is", "called", "with an option"],
)
def test_a_guarded_session_refuses_and_goes_on(ctx: Context, plugin: Any) -> None:
    ctx.plugin(plugin)
    session = ctx.sessions.create("s")
    error = refused(session, "user/message")
    assert (error.code, error.rule, error.expected, error.actual) == ("INVARIANT", "enclosure", "an open turn", None)
    assert str(error).startswith("INVARIANT: seq 0: 'user/message' stands outside any turn")
    append(session, "turn/start")
    assert refused(session, "turn/start", {"turn": 2}).rule == "turn-nesting"
    append(session, "turn/end")
    assert refused(session, "turn/end").rule == "turn-end"
    assert check_invariants(session.events) == []


def test_the_plugin_goes_when_its_context_closes(ctx: Context) -> None:
    plugged = ctx.plugin(invariants)
    session = ctx.sessions.create("s")
    refused(session, "todo/write")
    plugged.close()
    append(session, "todo/write")


@pytest.mark.parametrize("data", [None, 5, "x", [], {}, {"turn": None}, {"turn": [1]}, {"turn": True}])
def test_a_malformed_payload_is_refused_by_its_rule(ctx: Context, data: Any) -> None:
    ctx.plugin(invariants)
    session = ctx.sessions.create("s")
    actual = data.get("turn") if isinstance(data, dict) else None
    error = refused(session, "turn/start", data)
    assert (error.rule, error.expected, error.actual) == ("turn-number", 1, actual)


def test_plugged_in_late_it_knows_the_log(ctx: Context) -> None:
    session = with_a_result(ctx.sessions.create("s"))
    ctx.plugin(invariants)
    assert refused(session, "tool/result").rule == "result"
    assert refused(session, "step/start", {"turn": 1, "step": 2}).rule == "step-nesting"
    append(session, "step/end")
    append(session, "step/start", {"turn": 1, "step": 2})


def test_a_reloaded_log_is_replayed(ctx: Context) -> None:
    ctx.plugin(invariants)
    seed = with_a_result(Session("s", clock=lambda: 0)).events
    session = ctx.sessions.create("s", seed=seed)
    append(session, "step/end")
    append(session, "turn/end")
    append(session, "turn/start", {"turn": 2, "trigger": TRIGGER})
    fork = ctx.sessions.fork(session, boundary=session.seq - 2)
    assert refused(fork, "turn/start", {"turn": 3}).expected == 2
    append(fork, "turn/start", {"turn": 2, "trigger": TRIGGER})


def test_a_faulty_log_can_be_continued(ctx: Context) -> None:
    ctx.plugin(invariants)
    seed = [wire_event("user/message", 0), wire_event("turn/start", 1, data={"turn": 4, "trigger": TRIGGER})]
    session = ctx.sessions.create("s", seed=seed)
    append(session, "turn/end", {"turn": 4, "reason": {"kind": "completed"}})
    append(session, "turn/start", {"turn": 5, "trigger": TRIGGER})


def test_an_append_that_somebody_else_refuses_leaves_no_trace(ctx: Context) -> None:
    ctx.plugin(invariants)
    session = ctx.sessions.create("s")
    failing: list[BaseException] = [ValueError("no"), KeyboardInterrupt()]

    def veto(_session: Session, _event: Any) -> None:
        if failing:
            raise failing.pop()

    ctx.check("session/event", veto)
    for stop in (KeyboardInterrupt, ValueError):
        with pytest.raises(stop):
            append(session, "turn/start")
    append(session, "turn/start")
    assert refused(session, "turn/start", {"turn": 1}).rule == "turn-nesting"


def test_the_work_per_append_does_not_grow_with_the_log(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx.plugin(invariants)
    session = in_a_step(ctx.sessions.create("s"))
    taken: list[str] = []
    take = TurnTracker.take

    def counted(self: TurnTracker, kind: str, place: Any) -> Any:
        taken.append(kind)
        return take(self, kind, place)

    monkeypatch.setattr(TurnTracker, "take", counted)
    for _ in range(100):
        append(session, "assistant/chunk")
    assert len(taken) <= 101


def test_a_session_that_is_gone_is_forgotten(ctx: Context) -> None:
    ctx.plugin(invariants)
    session = in_a_step(ctx.sessions.prepare("s"))
    detach = ctx.sessions.enter(session)
    append(session, "step/end")
    detach()
    gone = weakref.ref(session)
    del session, detach
    gc.collect()
    assert gone() is None


def test_two_sessions_are_judged_apart(ctx: Context) -> None:
    ctx.plugin(invariants)
    first, second = ctx.sessions.create("a"), ctx.sessions.create("b")
    append(first, "turn/start")
    refused(second, "turn/end")
    append(second, "turn/start")
    append(first, "turn/end")
    refused(first, "turn/end")
    append(second, "turn/end")


EVENTS = st.sampled_from(
    [
        ("turn/start", {"turn": 1}),
        ("turn/start", {"turn": 2}),
        ("turn/start", {}),
        ("turn/end", {"turn": 1}),
        ("turn/end", {"turn": 2}),
        ("step/start", {"turn": 1, "step": 1}),
        ("step/start", {"turn": 1, "step": 2}),
        ("step/start", {"turn": 2, "step": 1}),
        ("step/end", {"turn": 1, "step": 1}),
        ("step/end", {"turn": 2, "step": 1}),
        ("tool/call", {"turn": 1, "step": 1, "callId": "a"}),
        ("assistant/chunk", {"turn": 2, "step": 1}),
        ("own/event", {}),
    ]
)


@given(st.lists(EVENTS, max_size=12), st.integers(0, 12))
def test_the_guard_refuses_what_would_be_listed(events: list[tuple[str, Any]], plugged_at: int) -> None:
    """Also when it comes late: a log with faults is taken up where `check_invariants` thinks that it stands."""
    with Context(clock=lambda: 0, check_payloads=False) as ctx:
        session = ctx.sessions.create("s")
        for at, (kind, data) in enumerate(events):
            if at == plugged_at:
                ctx.plugin(invariants)
            candidate = {"type": kind, "seq": session.seq, "time": 0, "data": data}
            listed = [v for v in check_invariants([*session.events, candidate]) if v.seq == session.seq]
            try:
                append(session, kind, data)
            except InvariantError as error:
                assert at >= plugged_at
                assert (error.rule, error.expected, error.actual) == listed[0][1:4]
            else:
                assert at < plugged_at or not listed


# Rewritten results.


def rewrite(**changes: Any) -> Any:
    data = {**payload("tool/result"), "content": [text("pruned")], **changes}
    return {"data": data, "surface_op": Replace(5, 5), "source_event_seqs": [5]}


def closed(session: Session) -> Session:
    append(session, "step/end")
    return session


WHERE: dict[str, Callable[[Session], Any]] = {
    "in the step of the call": lambda session: session.seq,
    "between steps": closed,
    "in a later step": lambda session: append(closed(session), "step/start", {"turn": 1, "step": 2}),
    "in a later turn": lambda session: (
        append(closed(session), "turn/end"),
        append(session, "turn/start", {"turn": 2, "trigger": TRIGGER}),
    ),
}


@pytest.mark.parametrize("go", WHERE.values(), ids=WHERE)
def test_a_rewritten_result_may_stand_anywhere_in_a_turn(ctx: Context, go: Callable[[Session], Any]) -> None:
    ctx.plugin(invariants(allow_result_rewrite=True))
    session = with_a_result(ctx.sessions.create("s"))
    go(session)
    append(session, "tool/result", **rewrite())
    assert check_invariants(session.events, allow_result_rewrite=True) == []
    assert check_invariants([event.to_dict() for event in session.events], allow_result_rewrite=True) == []
    assert [v.seq for v in check_invariants(session.events)] == [session.seq - 1]
    # What was rewritten once can be rewritten again.
    seq = session.seq - 1
    append(session, "tool/result", rewrite()["data"], surface_op=Replace(seq, seq), source_event_seqs=[seq])


@pytest.mark.parametrize("go", WHERE.values(), ids=WHERE)
def test_without_the_option_it_is_a_result_like_any_other(ctx: Context, go: Callable[[Session], Any]) -> None:
    ctx.plugin(invariants)
    session = with_a_result(ctx.sessions.create("s"))
    go(session)
    assert refused(session, "tool/result", **rewrite()).rule in {"result", "step", "turn"}


def test_outside_any_turn_a_rewritten_result_is_refused_too(ctx: Context) -> None:
    ctx.plugin(invariants(allow_result_rewrite=True))
    session = closed(with_a_result(ctx.sessions.create("s")))
    append(session, "turn/end")
    assert refused(session, "tool/result", **rewrite()).rule == "enclosure"


@pytest.mark.parametrize(
    "changes",
    [
        {"turn": 2},
        {"step": 2},
        {"callId": "c2"},
        {"isError": True},
        {"error": {"name": "E", "code": "x"}},
        {"meta": {"n": True}},
        {"meta": {"n": 1, "m": 1}},
        {"meta": [1]},
        {"meta": None},
        {"extra": 1},
    ],
)
def test_a_rewrite_changes_nothing_but_the_content(ctx: Context, changes: Any) -> None:
    ctx.plugin(invariants(allow_result_rewrite=True))
    session = closed(with_a_result(ctx.sessions.create("s"), meta={"n": 1}))
    kept = {"meta": {"n": 1}}
    assert refused(session, "tool/result", **rewrite(**{**kept, **changes})).rule in {"turn", "step"}
    append(session, "tool/result", **rewrite(meta={"n": 1.0}))


def test_a_rewrite_replaces_exactly_one_result(ctx: Context) -> None:
    ctx.plugin(invariants(allow_result_rewrite=True))
    session = closed(with_a_result(ctx.sessions.create("s")))
    both = {"surface_op": Replace(3, 5), "source_event_seqs": [3, 5]}
    assert refused(session, "tool/result", rewrite()["data"], **both).rule == "step"
    append(session, "context/message")
    after = {"surface_op": Replace(5, 7), "source_event_seqs": [5, 7]}
    assert refused(session, "tool/result", rewrite()["data"], **after).rule == "step"
    message = {"surface_op": Replace(3, 3), "source_event_seqs": [3]}
    assert refused(session, "tool/result", rewrite()["data"], **message).rule == "step"
    assert refused(session, "tool/result").rule == "step"


@pytest.mark.parametrize("call", [None, 5, ["c1"]])
def test_a_result_of_no_call_is_no_rewrite(ctx: Context, call: Any) -> None:
    ctx.plugin(invariants(allow_result_rewrite=True))
    seed = closed(with_a_result(Session("s", clock=lambda: 0, check_payloads=False), callId=call)).events
    assert refused(ctx.sessions.create("s", seed=seed), "tool/result", **rewrite(callId=call)).rule == "step"


def test_a_rewrite_of_deep_metadata_is_compared_without_recursion(ctx: Context) -> None:
    deep: Any = 1
    for _ in range(450):
        deep = [deep]
    ctx.plugin(invariants(allow_result_rewrite=True))
    session = closed(with_a_result(ctx.sessions.create("s"), meta=deep))
    append(session, "tool/result", **rewrite(meta=deep))
    assert refused(session, "tool/result", **{**rewrite(meta=[deep]), "surface_op": "append"}).rule == "step"


def test_a_shadowed_result_is_found_by_seq_not_by_position() -> None:
    log = [event.to_dict() for event in closed(with_a_result(Session("s", clock=lambda: 0))).events]
    rewritten = {**log[5], "seq": 7, "surfaceOp": {"op": "replace", "start": 5, "end": 5}, "sourceEventSeqs": [5]}
    assert check_invariants([*log, rewritten], allow_result_rewrite=True) == []
    shifted = [{**event, "seq": event["seq"] + 100} for event in log]
    op = {"op": "replace", "start": 105, "end": 105}
    assert check_invariants([*shifted, {**rewritten, "seq": 107, "surfaceOp": op}], allow_result_rewrite=True) == []
    assert check_invariants([*shifted, {**rewritten, "seq": 107}], allow_result_rewrite=True) != []


# Derived history.


def with_a_header(session: Session) -> None:
    append(session, "request/header", {"header": {"config": ROUTE}, "reason": "initial"})


def test_a_history_that_is_not_what_the_log_gives_is_refused(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx.plugin(invariants(verify_history=True))
    session = in_a_step(ctx.sessions.create("s"))
    append(session, "user/message", surface_op=Replace(1, 1), source_event_seqs=[1])
    with_a_header(session)
    kept = session.derive_messages()
    forged = {"role": "user", "content": [text("forged")]}
    for messages, expected, actual in (
        ([], kept[0], None),
        ([*kept, forged], None, forged),
        ([forged], kept[0], forged),
    ):
        monkeypatch.setattr(session, "derive_messages", lambda messages=messages: messages)
        with pytest.raises(InvariantError) as caught:
            with_a_header(session)
        assert (caught.value.rule, caught.value.expected, caught.value.actual) == ("history", expected, actual)
        append(session, "todo/write")  # only headers are compared
    append(session, "step/end")
    append(session, "turn/end")
    outside = {"header": {"config": ROUTE}, "reason": "change"}
    assert refused(session, "request/header", outside).rule == "enclosure"
    monkeypatch.undo()
    append(session, "turn/start", {"turn": 2, "trigger": TRIGGER})
    with_a_header(session)


def test_without_the_option_nobody_compares_histories(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx.plugin(invariants)
    session = in_a_step(ctx.sessions.create("s"))
    monkeypatch.setattr(session, "derive_messages", list)
    with_a_header(session)


def test_a_listed_log_can_be_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    session = in_a_step(Session("s", clock=lambda: 0))
    with_a_header(session)
    assert check_invariants(session.events, verify_history=True) == []
    monkeypatch.setattr(Session, "derive_messages", lambda _session: [])
    assert [(v.seq, v.rule) for v in check_invariants(session.events, verify_history=True)] == [(3, "history")]
    assert check_invariants(session.events) == []


def test_a_log_that_is_no_seed_has_no_history_to_compare() -> None:
    log = [
        wire_event("turn/start", 0),
        {**wire_event("user/message", 1), "surfaceOp": "prepend"},
        wire_event("request/header", 2),
        wire_event("turn/end", 3),
    ]
    (violation,) = check_invariants(log, verify_history=True)
    assert (violation.seq, violation.rule, violation.actual) == (1, "history", "BAD_SURFACE_OP")


# The error.


def test_the_error_survives_a_pickle_and_a_place() -> None:
    values: dict[str, Any] = {"seq": 4, "rule": "turn", "expected": 1, "actual": [2]}
    error = InvariantError("INVARIANT", "seq 4: no", **values)
    for copy in (pickle.loads(pickle.dumps(error)), error.at(line=9)):
        assert isinstance(copy, SessionError)
        assert {key: getattr(copy, key) for key in values} == values
        assert str(copy) == "INVARIANT: seq 4: no"
    assert error.at(line=9).line == 9
