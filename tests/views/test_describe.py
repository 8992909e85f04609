from __future__ import annotations

import time
import unicodedata
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session, SessionEvent, loads
from dsh_session.views import describe
from tests.strategies import json_values
from tests.views.hostile import HOSTILE, ODD, hostile_session

MESSAGES = ["user/message", "assistant/message", "tool/result", "context/message", "steering/message"]
LOG_ONLY = [
    *("turn/start", "turn/end", "step/start", "step/end", "assistant/chunk", "tool/call", "todo/write"),
    *("compact/start", "compact/summary", "compact/end", "hook/invoked", "hook/result", "prompt/blocked", "x/unknown"),
]
FIELDS = {
    "turn/start": ["turn", "trigger"],
    "turn/end": ["turn", "reason"],
    "step/start": ["turn", "step"],
    "step/end": ["turn", "step"],
    "assistant/chunk": ["turn", "step", "chunk"],
    "tool/call": ["turn", "step", "callId", "name", "arguments"],
    "todo/write": ["todos"],
    "compact/start": ["turn"],
    "compact/summary": ["summary", "shadowedSeqs"],
    "compact/end": ["turn", "error"],
    "hook/invoked": ["handlerId", "point"],
    "hook/result": ["handlerId", "point", "decision", "stderrSummary"],
    "prompt/blocked": ["content", "source", "reason"],
    "x/unknown": ["a", "b"],
}


def logged(type_: Any, data: Any) -> SessionEvent:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    if type_ in MESSAGES:
        return session.append(type_, data, surface_op="append")
    return session.append(type_, data)


def one(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("type_", "data", "kind", "line"),
    [
        ("user/message", {"content": one("What does\nREADME say?")}, "user", "What does README say?"),
        ("user/message", {"content": []}, "user", "empty"),
        ("user/message", {"content": [{"type": "image", "data": "…"}]}, "user", "[image]"),
        ("context/message", {"content": one("a file changed")}, "context", "a file changed"),
        ("steering/message", {"content": one("faster")}, "steering", "faster"),
        ("tool/result", {"content": one("3 failed"), "isError": True}, "tool result", "error: 3 failed"),
        ("tool/result", {"content": one("# Hello"), "isError": False}, "tool result", "# Hello"),
        ("tool/call", {"name": "read", "arguments": '{"a": 1}'}, "tool call", 'read {"a": 1}'),
        ("turn/end", {"turn": 3, "reason": {"kind": "completed"}}, "turn", "turn 3 ends: completed"),
        (
            *("turn/end", {"turn": 1, "reason": {"kind": "error", "step": 1, "message": "no key"}}),
            *("turn", "turn 1 ends: error, no key"),
        ),
        (
            *(
                "turn/start",
                {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "plugin", "plugin": "cron"}}},
            ),
            *("turn", "turn 1 starts: message from cron"),
        ),
        ("step/start", {"turn": 1, "step": 2}, "step", "turn 1, step 2 starts"),
        ("step/end", {"turn": 1, "step": 2}, "step", "turn 1, step 2 ends"),
        ("assistant/chunk", {"chunk": {"type": "text-delta", "index": 0, "text": "Hel"}}, "chunk", "text-delta Hel"),
        (
            *(
                "request/header",
                {"header": {"config": {"provider": "p", "model": "m"}, "tools": []}, "reason": "initial"},
            ),
            *("header", "p/m 0 tools (initial)"),
        ),
        (
            *("request/header", {"header": {"config": {"provider": "p", "model": "m"}, "tools": "{{tools}}"}}),
            *("header", "p/m tools {{tools}}"),
        ),
        (
            *(
                "todo/write",
                {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]},
            ),
            *("todo", "1 of 2 todos done, now: b"),
        ),
        ("compact/start", {"turn": 4}, "compaction", "compaction starts in turn 4"),
        (
            *("compact/summary", {"summary": one("all of it"), "shadowedSeqs": [1, 2]}),
            *("compaction", "summary of 2 nodes: all of it"),
        ),
        ("compact/end", {"turn": 4, "error": "empty range"}, "compaction", "compaction fails: empty range"),
        ("compact/end", {"turn": 4}, "compaction", "compaction ends"),
        ("hook/invoked", {"handlerId": "claude:Stop:1", "point": "Stop"}, "hook", "claude:Stop:1 invoked"),
        ("hook/result", {"handlerId": "h", "decision": "block", "stderrSummary": "no"}, "hook", "h says block: no"),
        (
            *("prompt/blocked", {"content": one("delete it"), "reason": "policy"}),
            *("blocked prompt", "delete it (blocked: policy)"),
        ),
        ("permission/preset", {"preset": "read", "n": 2}, "other", "preset: read, n: 2"),
    ],
)
def test_an_event_is_described_in_a_word_and_a_line(type_: str, data: Any, kind: str, line: str) -> None:
    event = logged(type_, data)
    assert describe.kind(event) == kind
    assert describe.headline(event) == line


def test_an_assistant_message_says_what_it_says_and_whom_it_calls() -> None:
    call = {"type": "tool-call", "id": "c", "name": "read", "arguments": "{}"}
    both = logged("assistant/message", {"content": [*one("Let me look."), call, {**call, "name": "bash"}, call]})
    assert describe.headline(both) == "Let me look. · calls read ×2, bash"
    assert describe.call_names(both) == ["read", "bash", "read"]
    long = logged("assistant/message", {"content": [*one("word " * 100), call]})
    assert describe.headline(long, 60).endswith("… · calls read")
    thought = logged("assistant/message", {"content": [{"type": "reasoning", "text": "hm"}]})
    assert describe.headline(thought) == "thinks: hm"


def test_a_user_message_that_replaces_or_comes_from_compaction_is_a_summary() -> None:
    session = Session("s", clock=lambda: 0)
    said: Any = {"content": [], "source": {"kind": "user"}}
    first = session.append("user/message", said, surface_op="append")
    second = session.append("user/message", said, surface_op=Replace(0, 0), source_event_seqs=[0])
    made: Any = {"content": [], "source": {"kind": "plugin", "plugin": "compact"}}
    third = session.append("user/message", made, surface_op="append")
    assert [describe.kind(event) for event in (first, second, third)] == ["user", "summary", "summary"]


def test_every_word_for_a_kind_is_in_the_list_of_kinds() -> None:
    assert {describe.kind(event) for event in hostile_session().events} <= set(describe.KINDS)
    assert len(set(describe.KINDS)) == len(describe.KINDS)


def test_counts_of_boundaries_do_not_pass_for_counts_of_turns() -> None:
    counts = {"turn": 2, "chunk": 1200, "other": 1, "summary": 1, "tool result": 1}
    assert describe.count_kinds(counts) == "1 tool result, 1 summary, 2 turn boundaries, 1,200 chunks, 1 other"
    assert describe.count_kinds({}) == ""


def plain(text: str) -> bool:
    return all(unicodedata.category(char) not in {"Cc", "Cs"} for char in text)


def check(event: SessionEvent) -> None:
    for limit in (1, 20, 80):
        line = describe.headline(event, limit)
        assert len(line) <= limit
        assert plain(line)
    assert plain(describe.text(event, 500).replace("\n", "").replace("\t", ""))
    assert len(describe.text(event, 500)) <= 500
    assert describe.kind(event) in describe.KINDS
    assert all(map(plain, describe.call_names(event)))
    assert isinstance(describe.is_error(event), bool)


@pytest.mark.parametrize("type_", LOG_ONLY)
def test_a_log_only_event_may_hold_anything(type_: str) -> None:
    for data in ODD:
        check(logged(type_, data))
    for value, field in product(ODD, FIELDS[type_]):
        check(logged(type_, {field: value}))


@pytest.mark.parametrize("type_", MESSAGES)
def test_a_message_may_hold_any_blocks(type_: str) -> None:
    for value in ODD:
        for key in ("type", "text", "name", "arguments", "content"):
            check(logged(type_, {"content": [{"type": "text", key: value}]}))
            check(logged(type_, {"content": [{"type": "tool-call", key: value}]}))
            check(logged(type_, {"content": [{"type": "tool-result", key: value}]}))
        check(logged(type_, {"content": [], "source": value, "isError": value}))


def test_a_recorded_log_with_placeholders_and_nulls_is_described() -> None:
    log = loads(
        b'{"type":"session","version":0,"id":"s","createdAt":0}\n'
        b'{"type":"x/y","seq":0,"time":0,"data":{"content":null}}\n'
        b'{"type":"compact/summary","seq":1,"time":0,"data":{"summary":null,"shadowedSeqs":"{{seqs}}"}}\n'
        b'{"type":"turn/end","seq":2,"time":0,"data":{"turn":123456789012345678901234567890,"reason":null}}\n'
        b'{"type":"tool/call","seq":3,"time":0,"data":{"name":"\\ud83d","arguments":{"a":1}}}\n'
    )
    assert [describe.headline(event, 60) for event in log.events] == [
        "content:",
        "summary: no content",
        "turn 1234567890123456789… ends",
        "\ufffd 1 field",
    ]


@given(st.sampled_from(LOG_ONLY), json_values())
def test_no_payload_stops_a_description(type_: str, data: Any) -> None:
    check(logged(type_, data))
    check(logged(type_, dict.fromkeys(FIELDS[type_], data)))


def test_hostile_texts_are_described_in_plain_text() -> None:
    for event in hostile_session().events:
        check(event)
    for text in HOSTILE:
        check(logged(f"x/{text[:1000]}", {text[:1000]: text}))


def test_a_payload_nested_as_deep_as_a_log_may_be_is_described() -> None:
    data: Any = []
    for _ in range(450):
        data = [data]
    block: Any = {"type": "text", "text": "deep"}
    for _ in range(150):
        block = {"type": "tool-result", "content": [block]}
    check(logged("x/deep", {"a": data}))
    check(logged("user/message", {"content": [block]}))


def test_a_message_of_very_many_blocks_or_a_megabyte_is_described_at_once() -> None:
    many = logged("assistant/message", {"content": [{"type": "tool-call", "name": "a"}] * 100_000})
    long = logged("user/message", {"content": one(" " * 999_999 + "x")})
    start = time.perf_counter()
    check(many)
    check(long)
    assert time.perf_counter() - start < 5
    assert describe.headline(many) == "calls a ×50"
