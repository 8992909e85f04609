"""Lines of all versions become the same records."""

import json
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Session, fold_todos
from dsh_session.importers import recognise
from dsh_session.importers.codex.importer import IMPORTER
from dsh_session.importers.detection import Sample
from dsh_session.importers.pi.importer import IMPORTER as PI
from tests.importers.corpora import LOGS
from tests.importers.lines import write_lines

META = {"id": "old-session-1", "timestamp": "2025-05-01T00:00:00Z", "instructions": "Be good."}
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Run the tests."}]}
CALL = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": '{"output":"ok","metadata":{"exit_code":1}}'}
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "They pass."}]}
ITEMS = [USER, CALL, OUTPUT, ANSWER]


def surface(session: Session) -> list[str]:
    return [event.type for event in session.events if event.surface_op]


EXPECTED = ["user/message", "assistant/message", "tool/result", "assistant/message"]


def test_items_without_an_envelope_are_those_of_the_first_versions(read_rollout: Any) -> None:
    imported = read_rollout(META, {"record_type": "state"}, *ITEMS)
    assert surface(imported.session) == EXPECTED
    assert imported.session.id == "old-session-1"
    header = imported.session.request_header()
    assert header is not None
    assert header["system"] == "Be good."
    result = next(event for event in imported.session.events if event.type == "tool/result")
    assert result.data["meta"] == {"exit_code": 1}


def test_one_document_is_that_of_the_version_before_them(tmp_path: Path) -> None:
    path = tmp_path / "rollout.json"
    path.write_text(json.dumps({"session": META, "items": [*ITEMS, "odd"]}, indent=2), encoding="utf-8")
    assert recognise(path) is IMPORTER
    imported = IMPORTER.read(path)
    assert surface(imported.session) == EXPECTED
    assert imported.session.id == "old-session-1"


def test_the_stream_of_a_run_is_read_too(read_rollout: Any) -> None:
    def completed(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "item.completed", "item": {"id": "i", "type": kind, **fields}}

    imported = read_rollout(
        {"type": "thread.started", "thread_id": "thread-1"},
        {"type": "turn.started"},
        completed("reasoning", text="Hm."),
        completed("command_execution", command="ls", aggregated_output="a\n", exit_code=1, status="failed"),
        completed("agent_message", text="Done."),
        {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
        {"type": "turn.started"},
        {"type": "turn.failed", "error": {"message": "quota"}},
    )
    session = imported.session
    assert session.id == "thread-1"
    messages = [event.data for event in session.events if event.type == "assistant/message"]
    assert [[block["type"] for block in message["content"]] for message in messages] == [
        ["reasoning", "tool-call"],
        ["text"],  # it was said after the result, by the next request
    ]
    assert messages[1]["usage"] == {"inputTokens": 5, "outputTokens": 2, "cacheReadTokens": 4}
    result = next(event for event in session.events if event.type == "tool/result")
    assert (result.data["isError"], result.data["meta"]) == (True, {"exit_code": 1})


def test_events_are_the_source_where_there_are_no_items(read_rollout: Any) -> None:
    def event(kind: str, **fields: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": {"type": kind, **fields}}

    session = read_rollout(
        event("user_message", message="Hello."),
        event("agent_reasoning", text="A greeting."),
        event("agent_message", message="Hi."),
        event(
            "item_completed", item={"type": "FileChange", "id": "f", "changes": [{"path": "a"}], "status": "completed"}
        ),
    ).session
    assert surface(session) == ["user/message", "assistant/message", "tool/result"]
    message = next(event for event in session.events if event.type == "assistant/message")
    assert [block["type"] for block in message.data["content"]] == ["reasoning", "text", "tool-call"]


def finished(kind: str, **fields: Any) -> dict[str, Any]:
    payload = {"type": "item_completed", "thread_id": "t", "turn_id": "u", "item": {"type": kind, **fields}}
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload}


def test_a_rollout_in_pages_says_everything_in_finished_items(read_rollout: Any) -> None:
    image = {"type": "image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    said = [{"type": "input_text", "text": "Found it."}]
    session = read_rollout(
        finished("UserMessage", id="a", content=[{"type": "text", "text": "Look."}, image]),
        finished("DynamicToolCall", id="b", tool="look", arguments={}, success=True, content_items=said),
        finished("ContextCompaction", id="c"),
        finished("AgentMessage", id="d", content=[{"type": "Text", "text": "It is there."}]),
    ).session
    assert surface(session) == ["user/message", "assistant/message", "tool/result", "assistant/message"]
    texts = [message["content"] for message in session.derive_messages()]
    assert [block["text"].split(",")[0] for block in texts[0]] == ["Look.", "[image: image/png"]
    assert texts[2][0]["content"] == [{"type": "text", "text": "Found it."}]
    assert texts[3] == [{"type": "text", "text": "It is there."}]


def test_a_todo_list_of_the_stream_is_one_and_no_tool(read_rollout: Any) -> None:
    steps = [{"text": "Look.", "completed": True}, {"text": "Mend.", "completed": False}]
    session = read_rollout(
        {"type": "thread.started", "thread_id": "thread-1"},
        {"type": "item.completed", "item": {"id": "a", "type": "agent_message", "text": "First a plan."}},
        {"type": "item.completed", "item": {"id": "b", "type": "todo_list", "items": steps}},
        {"type": "item.completed", "item": {"id": "c", "type": "error", "message": "careful"}},
    ).session
    assert [event.type for event in session.events if event.type == "tool/call"] == []
    assert [todo["status"] for todo in fold_todos(session.events) or []] == ["completed", "pending"]


def test_payloads_without_a_type_are_messages() -> None:
    session = IMPORTER.read(LOGS / "codex" / "standard_session.jsonl").session
    assert surface(session) == ["user/message", "assistant/message"]


def test_a_log_that_drifted_is_read_as_what_it_resembles() -> None:
    session = IMPORTER.read(LOGS / "codex" / "schema_drift.jsonl").session
    assert surface(session) == EXPECTED
    assert [event.data["arguments"] for event in session.events if event.type == "tool/call"] == [
        '{"text":"hello","to":"es"}',
    ]


@pytest.mark.parametrize(("name", "responses"), [("codex_050_legacy", 1), ("codex_052_raw", 2), ("fork-parent", 178)])
def test_a_rollout_of_counts_alone_has_a_response_without_content_for_each(name: str, responses: int) -> None:
    imported = IMPORTER.read(LOGS / "codex" / f"{name}.jsonl")
    messages = [event.data for event in imported.session.events if event.type == "assistant/message"]
    assert len(messages) == responses
    assert all(message["content"] == [] and "usage" in message for message in messages)
    assert imported.session.derive_messages() == []
    assert [finding.code for finding in imported.findings] == ["COUNTS_ONLY"]


def test_a_call_that_comes_twice_without_results_is_said() -> None:
    imported = IMPORTER.read(LOGS / "codex" / "function_calls.jsonl")
    assert [finding.code for finding in imported.findings] == [
        *("DUPLICATE_CALL", "CALL_WITHOUT_RESULT", "CALL_WITHOUT_RESULT"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [META, *ITEMS],
        [CALL, OUTPUT],
        [{"type": "session_meta", "payload": {"id": "x"}}],
        ["{broken", {"type": "event_msg", "payload": {"type": "x"}}],
        [{"type": "thread.started", "thread_id": "t"}],
    ],
)
def test_a_rollout_is_recognised_by_its_lines(tmp_path: Path, lines: list[Any]) -> None:
    assert recognise(write_lines(tmp_path / "any.data", *lines)) is IMPORTER


@pytest.mark.parametrize("name", ["empty-range", "v1-session", "openclaw-small", "made-tree"])
def test_the_logs_of_others_are_not(name: str) -> None:
    found = recognise(LOGS / "pi" / f"{name}.jsonl")
    assert found is not None
    assert found.name == "pi"


@pytest.mark.parametrize(
    "value", [{"type": {}}, {"type": []}, {"type": "message", "message": {"role": {}}}, [], None, 5]
)
def test_lines_of_no_type_are_recognised_by_nobody(tmp_path: Path, value: Any) -> None:
    sample = Sample.of(write_lines(tmp_path / "any.data", value))
    assert not IMPORTER.recognises(sample)
    assert not PI.recognises(sample)
