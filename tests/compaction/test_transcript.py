"""Messages as plain text; the exact spelling is in the conformance scripts."""

from typing import Any

import pytest
from hypothesis import given

from dsh_session import Session
from dsh_session.compaction import Transcript, render_blocks, render_transcript
from tests.strategies import json_values

from .sessions import call, say, session, talked, text


def test_each_kind_of_message_has_its_label() -> None:
    log = session()
    open_ = {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}}
    log.append("turn/start", open_)
    say(log, "asked")
    say(log, "noted", "context/message")
    say(log, "steered", "steering/message", turn=1)
    place = {"turn": 1, "step": 1}
    for is_error in (False, True):
        data: Any = {**place, "callId": "c1", "content": [text("out")], "isError": is_error}
        log.append("tool/result", data, surface_op="append")
    assert render_transcript(log, log.surface.nodes).split("\n\n") == [
        "User: asked",
        "[Context: noted]",
        "[Steering: steered]",
        "Tool result (call c1): out",
        "Tool error (call c1): out",
    ]


def test_a_message_that_says_nothing_gives_no_paragraph() -> None:
    log = session()
    say(log, "")
    say(log, "something")
    assert render_transcript(log, log.surface.nodes) == "User: something"


@pytest.mark.parametrize(
    ("blocks", "written"),
    [
        ([text("a"), text("b")], "a\nb"),
        ([text(""), {"type": "reasoning", "text": ""}], ""),
        ([{"type": "reasoning", "text": "hm"}], "[reasoning: hm]"),
        ([call("ls", '{"a": 1}')], '[tool-call: ls({"a": 1})]'),
        ([{"type": "tool-result", "content": [text("a"), {"type": "image"}]}], "[tool-result: a\n[image]]"),
        ([{"type": "tool-result", "content": []}], "[tool-result]"),
        ([{"type": "tool-result"}, text("after")], "[tool-result]\nafter"),
        ([{"type": "tool-result", "content": [{"type": "tool-result", "content": [text("x")]}, text("y")]}], None),
        ([{"type": "made-up", "text": "not read"}], "[made-up]"),
        ([None, 7, "text", [], {}, {"type": 3}], "[]\n[]"),
        ([{"type": "text", "text": 3}, {"type": "tool-call", "name": None}], "[tool-call: ()]"),
    ],
)
def test_blocks_are_written_one_below_the_other(blocks: Any, written: str | None) -> None:
    assert render_blocks(blocks) == (written if written is not None else "[tool-result: [tool-result: x]\ny]")


def test_results_in_results_are_opened_however_deep_they_lie() -> None:
    block = text("core")
    for _ in range(5_000):
        block = {"type": "tool-result", "content": [block]}
    assert render_blocks([block]).count("[tool-result: ") == 5_000


@given(json_values())
def test_any_payload_is_written_without_a_crash(data: Any) -> None:
    for kind in ("user/message", "assistant/message", "tool/result", "context/message", "steering/message"):
        for payload in (data, {"content": data}, {"content": [data]}):
            assert isinstance(render_transcript([{"type": kind, "data": payload}], [0]), str)


def test_seqs_that_the_log_does_not_have_are_passed_over() -> None:
    log = talked(1)
    seqs: Any = [-1, 10**9, True, 1.0, None, 1]
    assert render_transcript(log, seqs) == render_transcript(log, [1])


def test_a_transcript_is_a_text_with_its_events() -> None:
    log = talked(1)
    transcript = Transcript.of(log, [3, 1])
    assert transcript == render_transcript(log, [3, 1])
    assert [event.seq for event in transcript.events] == [3, 1]
    assert Transcript.of(Session("empty"), []) == ""
