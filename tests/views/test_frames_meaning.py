"""What the frames say, beside a naive count of the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings

from dsh_session import Replace, Session, SurfaceHistory, fold_surface, load
from dsh_session.compaction import TokenMeter
from dsh_session.core.messages import derive_event_message
from dsh_session.views import frames
from dsh_session.views.describe import kind
from tests.views.drawn_logs import LOGS, name_of, sessions

if TYPE_CHECKING:
    from dsh_session import SessionEvent

USER = {"kind": "user"}
METER = TokenMeter()


@pytest.fixture(scope="module", params=LOGS, ids=name_of)
def log(request: pytest.FixtureRequest) -> Session:
    return load(request.param)


def loose(times: Any = None) -> Session:
    return Session("loose", check_payloads=False, clock=iter(times).__next__ if times else lambda: 0)


def rows(table: pd.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """The values of some columns, `None` for what is missing."""
    return [
        tuple(None if pd.isna(value) else value for value in row) for row in table[list(names)].itertuples(index=False)
    ]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# -------------------------------------------------------------------------------------------------------- replacements


def check_replacements(session: Session) -> None:
    history = SurfaceHistory(session)
    table = frames.replacements(session)
    found = fold_surface(session.events).replacements
    assert table["generation"].to_list() == list(range(1, len(found) + 1))
    expected = [
        (one.seq, one.start, one.end, len(one.shadowed_seqs), len(history.originals(one.seq)), history.depth(one.seq))
        for one in found
    ]
    assert rows(table, "seq", "start", "end", "shadowed", "originals", "depth") == expected
    assert table["nodes"].to_list() == [len(history.at(one.seq)) for one in found]
    price = {event.seq: METER.estimate_event(event) for event in session.events}
    saved = [sum(price[node] for node in one.shadowed_seqs) - price[one.seq] for one in found]
    assert table["saved_tokens"].to_list() == saved
    assert rows(table, "shadowed_by") == [(history.shadowed_by(one.seq),) for one in found]


def test_replacements_are_those_of_the_forest(log: Session) -> None:
    check_replacements(log)


@settings(max_examples=40)
@given(sessions())
def test_replacements_of_any_log_are_those_of_the_forest(session: Session) -> None:
    check_replacements(session)


# ------------------------------------------------------------------------------------------------------------- context


def parts(session: Session, at: int) -> list[tuple[str, Any, int]]:
    """A request after an event, piece by piece: what each is, what tells it from others, its tokens."""
    header: Any = {}
    for event in session.events[: at + 1]:
        if event.type == "request/header":
            data = event.data if isinstance(event.data, dict) else {}
            header = data.get("header") if isinstance(data.get("header"), dict) else {}
    found: list[tuple[str, Any, int]] = [
        (name, json.dumps(header[key]), METER.estimate_header({key: header[key]}))
        for name, key in (("system", "system"), ("tools", "tools"), ("prefix", "messagePrefix"))
        if header.get(key)
    ]
    for seq in SurfaceHistory(session).at(at):
        event = session.events[seq]
        found.append((kind(event), seq, METER.estimate_event(event)))
    return found


def check_context(session: Session) -> None:
    table = frames.context(session)
    asked = SurfaceHistory(session).requests()
    assert table["seq"].to_list() == asked
    before: list[tuple[str, Any, int]] | None = None
    for row, seq in zip(table.to_dict("records"), asked, strict=True):
        now = parts(session, seq - 1)
        sums: dict[str, int] = {}
        for name, _, size in now:
            sums[name] = sums.get(name, 0) + size
        for name in ("system", "tools", "prefix", "user", "assistant", "tool result", "context", "steering", "summary"):
            assert row[name.replace(" ", "_")] == sums.get(name, 0), (seq, name)
        total = sum(size for *_, size in now)
        assert row["total"] == total
        kept = 0
        for one, other in zip(before or (), now, strict=False):
            if one[:2] != other[:2]:
                break
            kept += one[2]
        assert row["kept"] == kept, seq
        assert row["fresh"] == total - kept
        if before is None:
            assert pd.isna(row["broken"])
            assert pd.isna(row["kept_share"])
        else:
            assert row["broken"] == sum(size for *_, size in before) - kept
        alone = frames.context(session, at=seq - 1).to_dict("records")[0]
        for name in ("request", "total", "kept", "nodes", "replacements", "summary", "system"):
            assert alone[name] == row[name], name
        assert pd.isna(alone["seq"])
        before = now


@pytest.mark.parametrize("path", [path for path in LOGS if path.stat().st_size < 200_000], ids=name_of)
def test_contexts_are_what_a_naive_walk_over_the_history_finds(path: Any) -> None:
    check_context(load(path))


@settings(max_examples=60)
@given(sessions())
def test_contexts_of_any_log_are_what_a_naive_walk_finds(session: Session) -> None:
    check_context(session)


def test_another_header_breaks_the_prefix_where_it_differs() -> None:
    session = loose()

    def ask(system: str, tools: Any) -> None:
        header = {"config": {"provider": "p", "model": "m"}, "system": system, "tools": tools}
        session.append("request/header", {"header": header, "reason": "change"})
        session.append("assistant/message", {"content": [text("x")]}, surface_op="append")

    ask("Be brief.", [])
    ask("Be brief.", [{"name": "read"}])
    ask("Be kind.", [{"name": "read"}])
    table = frames.context(session)
    system = METER.estimate_header({"system": "Be brief."})
    assert table["kept"].to_list() == [0, system, 0]


# --------------------------------------------------------------------------------------------------------------- usage


def test_usage_is_what_the_messages_carry(log: Session) -> None:
    table = frames.usage(log)
    answers = [event for event in log.events if event.type == "assistant/message" and event.surface_op == "append"]
    assert table["seq"].to_list() == [event.seq for event in answers]
    for row, event in zip(rows(table, "input", "output", "cache_read", "source"), answers, strict=True):
        usage = event.data.get("usage")
        if usage is not None:
            expected = (usage["inputTokens"], usage["outputTokens"], usage.get("cacheReadTokens"), "message")
            assert row == expected


@pytest.mark.parametrize(
    ("usage", "sanity", "total"),
    [
        (None, None, None),
        ({"inputTokens": 20, "outputTokens": 1}, "ok", 20),
        ({"inputTokens": 1, "cacheReadTokens": 18, "cacheWriteTokens": 1, "outputTokens": 1}, "ok", 20),
        ({"inputTokens": 0, "outputTokens": 1}, "too small", 0),
        ({"inputTokens": 1, "outputTokens": 1}, "too small", 1),
        ({"inputTokens": -20, "outputTokens": 1}, "not a count", None),
        ({"inputTokens": 20, "outputTokens": 1.5}, "not a count", 20),
        ({"inputTokens": "many"}, "not a count", None),
        ("{{usage}}", "not a count", None),
        ({"inputTokens": 20, "outputTokens": 10_000_001}, "too large", 20),
        ({"inputTokens": 2**52}, "too large", 2**52),
    ],
)
def test_a_record_that_cannot_be_true_is_flagged(usage: Any, sanity: str | None, total: int | None) -> None:
    session = loose()
    session.append("user/message", {"content": [text("hello " * 10)]}, surface_op="append")
    answer = {"content": []} if usage is None else {"content": [], "usage": usage}
    session.append("assistant/message", answer, surface_op="append")
    assert rows(frames.usage(session), "sanity", "total_input") == [(sanity, total)]


def test_usage_of_the_stream_is_taken_where_the_message_has_none() -> None:
    session = loose()
    chunk = {"type": "usage", "usage": {"inputTokens": 9, "outputTokens": 2}}
    session.append("step/start", {"turn": 1, "step": 1})
    session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": chunk})
    session.append("assistant/message", {"content": []}, surface_op="append")
    session.append("assistant/message", {"content": []}, surface_op="append")
    assert rows(frames.usage(session), "source", "input", "step") == [("stream", 9, 1), (None, None, 1)]


# ------------------------------------------------------------------------------------------------------ turns and steps


def test_turns_and_steps_are_counted_between_their_boundaries(log: Session) -> None:
    spans: list[list[SessionEvent]] = []
    for event in log.events:
        if event.type == "turn/start":
            spans.append([])
        spans[-1].append(event)
    table = frames.turns(log)
    assert table["events"].to_list() == [len(span) for span in spans]
    for name, type_ in (("calls", "tool/call"), ("steps", "step/start"), ("chunks", "assistant/chunk")):
        assert table[name].to_list() == [sum(event.type == type_ for event in span) for span in spans], name
    assert rows(table, "outcome") == [(span[-1].data["reason"]["kind"],) for span in spans]
    assert table["duration_ms"].to_list() == [span[-1].time - span[0].time for span in spans]
    steps = frames.steps(log)
    starts = [event for event in log.events if event.type == "step/start"]
    assert rows(steps, "turn", "step", "start") == [(e.data["turn"], e.data["step"], e.seq) for e in starts]
    assert not steps["is_open"].any()
    assert steps["chunks"].sum() == table["chunks"].sum()


def test_what_nothing_closed_is_open_and_an_end_alone_is_a_row() -> None:
    session = loose([0, *range(100, 1000, 10)])
    session.append("turn/end", {"turn": 1, "reason": {"kind": "error", "message": "no route"}})
    session.append("turn/start", {"turn": 2, "trigger": {"kind": "injection", "source": {"plugin": "cron"}}})
    session.append("step/start", {"step": 1})
    session.append("assistant/chunk", {"chunk": {"type": "finish", "reason": {"kind": "stop"}}})
    session.append("turn/start", {"turn": 3})
    session.append("step/end", {"turn": 3, "step": 4})
    table = frames.turns(session)
    expected = [
        (1, None, 0, False, "error", "no route"),
        (2, 1, None, True, None, None),
        (3, 4, None, True, None, None),
    ]
    assert rows(table, "turn", "start", "end", "is_open", "outcome", "reason") == expected
    assert rows(table, "trigger", "source") == [(None, None), ("injection", "plugin:cron"), (None, None)]
    steps = frames.steps(session)
    assert rows(steps, "turn", "step", "start", "end", "finish", "first_chunk_ms") == [
        (2, 1, 2, None, "stop", 10),
        (3, 4, None, 5, None, None),
    ]


# ------------------------------------------------------------------------------------------------------ tools and hooks


def test_each_call_of_a_real_log_has_its_result(log: Session) -> None:
    table = frames.tools(log)
    calls = {event.data["callId"]: event for event in log.events if event.type == "tool/call"}
    results = {event.data["callId"]: event for event in log.events if event.type == "tool/result"}
    assert set(table["call_id"]) == {*calls, *results}
    # One real log uses an id twice; the nearest call is the subject of the next test.
    once = table[~table["call_id"].duplicated(keep=False)]
    for call_id, call, result, duration in rows(once, "call_id", "call", "result", "duration_ms"):
        assert call == (calls[call_id].seq if call_id in calls else None)
        assert result == (results[call_id].seq if call_id in results else None)
        if call is not None and result is not None:
            assert duration == results[call_id].time - calls[call_id].time
    assert table["message"].notna().all()


def test_a_result_belongs_to_the_nearest_earlier_call_without_one() -> None:
    session = loose(range(0, 1000, 10))
    block = {"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"}
    session.append("assistant/message", {"content": [block, block]}, surface_op="append")
    session.append("tool/call", {"callId": "c", "name": "read", "arguments": "1"})
    session.append("tool/call", {"callId": "c", "name": "read", "arguments": "2"})
    session.append("tool/call", {"callId": "c", "name": "write", "arguments": "3"})
    error = {"name": "InterruptedError", "code": "interrupted"}
    session.append("tool/result", {"callId": "c", "content": [], "isError": True, "error": error}, surface_op="append")
    session.append("tool/result", {"callId": "d", "content": [text("no call")]}, surface_op="append")
    session.append("tool/result", {"content": []}, surface_op="append")
    session.append("tool/result", {"callId": "c", "content": []}, surface_op=Replace(4, 4), source_event_seqs=[4])
    table = frames.tools(session)
    assert rows(table, "message", "call", "result", "tool", "arguments") == [
        (0, 2, None, "read", "2"),
        (0, 1, None, "read", "1"),
        (None, 3, 4, "write", "3"),
        (None, None, 5, None, None),
        (None, None, 6, None, None),
    ]
    assert rows(table, "duration_ms", "error_code", "shadowed_by")[2] == (10, "interrupted", 7)


def check_hooks(session: Session) -> None:
    expected: list[list[Any]] = []
    for event in session.events:
        data = event.data if isinstance(event.data, dict) else {}
        handler = data.get("handlerId") if isinstance(data.get("handlerId"), str) else None
        if event.type == "hook/invoked":
            expected.append([event.seq, None, handler])
        elif event.type == "hook/result":
            free = [row for row in expected if row[0] is not None and row[1] is None and row[2] == handler is not None]
            if free:
                free[-1][1] = event.seq
            else:
                expected.append([None, event.seq, handler])
    table = frames.hooks(session)
    assert [list(row[:2]) for row in rows(table, "invoked", "result")] == [row[:2] for row in expected]


def test_hooks_are_joined_to_the_nearest_earlier_invocation(log: Session) -> None:
    check_hooks(log)


@settings(max_examples=40)
@given(sessions())
def test_hooks_of_any_log_are_joined_alike(session: Session) -> None:
    check_hooks(session)


# ------------------------------------------------------------------------------------ messages, todos, headers, trace


def test_messages_are_those_that_the_model_gets(log: Session) -> None:
    table = frames.messages(log)
    derived = [(seq, derive_event_message(log.events[seq])) for seq in log.surface.nodes]
    there = [(seq, message) for seq, message in derived if message is not None]
    assert rows(table, "seq", "role", "blocks") == [(seq, one["role"], len(one["content"])) for seq, one in there]
    assert table["tokens"].to_list() == [METER.estimate_message(message) for _, message in there]
    assert len(table) == len(log.derive_messages())


def test_a_context_message_is_shown_with_its_frame() -> None:
    session = loose()
    data = {"content": [text("cwd is /")], "source": {"kind": "plugin", "plugin": "env"}}
    session.append("context/message", data, surface_op="append")
    assert frames.messages(session)["text"].to_list() == ['<context source="plugin">\ncwd is /\n</context>']


def test_todos_have_a_row_for_each_item_and_the_latest_list_is_in_force() -> None:
    session = loose()
    items = [{"content": "a", "status": "pending"}, {"content": 7, "status": "later"}, "b"]
    session.append("todo/write", {"todos": items})
    session.append("todo/write", {"todos": "{{todos}}"})
    session.append("todo/write", {"todos": items[:1]})
    assert rows(frames.todos(session), "write", "position", "content", "status", "in_force") == [
        (1, 0, "a", "pending", False),
        (1, 1, None, "later", False),
        (1, 2, None, None, False),
        (3, 0, "a", "pending", True),
    ]


def test_headers_say_what_changed_and_until_when(log: Session) -> None:
    table = frames.headers(log)
    seqs = [event.seq for event in log.events if event.type == "request/header"]
    assert table["seq"].to_list() == seqs
    assert rows(table, "until") == [(seq,) for seq in [*seqs[1:], None][: len(seqs)]]
    for row, seq in zip(rows(table, "model", "provider", "reason"), seqs, strict=True):
        data = log.events[seq].data
        assert row == (data["header"]["config"]["model"], data["header"]["config"]["provider"], data["reason"])


def test_a_header_that_is_no_header_is_missing_and_not_an_error() -> None:
    session = loose()
    session.append("request/header", {"header": "{{header}}", "reason": 1})
    session.append("request/header", {"header": {"config": {}, "tools": "{{tools}}", "system": "x" * 8}})
    expected = [
        (None, 0, 0, None, 0),
        ("system, tools", None, 0, 8, METER.estimate_header({"tools": "{{tools}}", "system": "x" * 8})),
    ]
    assert rows(frames.headers(session), "changed", "tools", "prefix", "system_chars", "tokens") == expected


@pytest.mark.parametrize("words", ["the", "README", "no such words anywhere"])
def test_a_trace_is_that_of_the_history(words: str, log: Session) -> None:
    table = frames.trace(log, words)
    points = SurfaceHistory(log).trace(words)
    expected = [(point.request, point.presence, len(point.holders), point.taken_by) for point in points]
    assert rows(table, "seq", "presence", "holders", "taken_by") == expected


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="everywhere"):
        frames.trace(loose(), "")
