import json
from pathlib import Path
from typing import Any

import pytest

from dsh_session.commands.convert import _files
from dsh_session.importers import Imported, ImportLogError, import_log, recognise
from dsh_session.importers.messages import IMPORTER
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS
from tests.importers.fuzzing import assert_sound

FOLDER = LOGS / "messages"


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def kinds(imported: Imported) -> list[str]:
    return [event.type for event in imported.session.events]


def of_type(imported: Imported, kind: str) -> list[Any]:
    return [event.data for event in imported.session.events if event.type == kind]


def read(value: Any, folder: Path) -> Imported:
    path = folder / "chat.json"
    path.write_text(json.dumps(value))
    assert recognise(path) is IMPORTER
    imported = IMPORTER.read(path)
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


def call(identity: str | None = "c", name: str = "run", arguments: str = "{}") -> dict[str, Any]:
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if identity is None else {"id": identity, **made}


def test_parallel_calls_of_openai_keep_their_order_and_their_results_theirs() -> None:
    imported = import_log(FOLDER / "openai-tools.json")
    assert [call["callId"] for call in of_type(imported, "tool/call")] == ["call_1", "call_2", "call_3"]
    assert [result["callId"] for result in of_type(imported, "tool/result")] == ["call_2", "call_1", "call_3"]
    header = imported.session.request_header()
    assert header is not None
    assert header["system"] == "You review small Python programs. Answer in one sentence."
    prompt = of_type(imported, "user/message")[0]["content"]
    assert prompt[1]["text"].startswith("[image: image/png, 70 bytes, sha256 ")
    assert imported.side_table.query("key == 'image'")["line"].tolist() == [2]
    answer = of_type(imported, "assistant/message")[2]["content"]
    assert [block["type"] for block in answer] == ["reasoning", "text", "tool-call"]


def test_results_of_anthropic_go_to_their_step_and_the_words_beside_them_steer() -> None:
    imported = import_log(FOLDER / "anthropic-blocks.jsonl")
    assert kinds(imported)[:9] == [
        "turn/start", "user/message", "step/start", "assistant/message", "tool/call", "tool/result",
        "steering/message", "step/end", "step/start",
    ]  # fmt: skip
    assert of_type(imported, "tool/result")[1]["isError"] is True
    assert codes(imported) == ["CALL_WITHOUT_RESULT", "NO_TIMES"]
    answer = of_type(imported, "assistant/message")[0]
    assert answer["usage"] == {"inputTokens": 120, "outputTokens": 40, "cacheReadTokens": 80}
    assert answer["provenance"]["model"] == "example-model"
    assert imported.side_table.query("key == 'reasoning_signature'")["value"].tolist() == ['"c2lnbmF0dXJl"']


def test_a_whole_request_gives_the_header() -> None:
    header = import_log(FOLDER / "request.json").session.request_header()
    assert header is not None
    assert header["config"] == {"provider": "unknown", "model": "example-model", "temperature": 0.2, "maxTokens": 1024}
    assert header["system"] == "You are a careful assistant."
    assert header["tools"][0]["parameters"]["required"] == ["place"]


def test_a_conversation_a_line_is_a_session_each() -> None:
    imported = import_log(FOLDER / "conversations.jsonl")
    answers = [session.derive_messages()[-1]["content"][0]["text"] for session in imported.sessions]
    assert answers == ["6", "20", "42"]


def test_items_of_the_responses_api_make_up_one_answer() -> None:
    imported = import_log(FOLDER / "responses-items.json")
    first, second = of_type(imported, "assistant/message")
    assert [block["type"] for block in first["content"]] == ["reasoning", "text", "tool-call"]
    assert [block["type"] for block in second["content"]] == ["text"]
    assert of_type(imported, "tool/result")[0]["content"] == [{"type": "text", "text": "09:30"}]


def test_results_that_come_late_are_moved_and_ids_may_be_used_again(tmp_path: Path) -> None:
    imported = read(
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [call("c"), call("d")]},
            {"role": "tool", "tool_call_id": "c", "content": "first"},
            {"role": "user", "content": "Hurry."},
            {"role": "tool", "tool_call_id": "d", "content": "late"},
            {"role": "assistant", "content": None, "tool_calls": [call("c")]},
            {"role": "tool", "tool_call_id": "c", "content": "second"},
        ],
        tmp_path,
    )
    results = [(result["callId"], result["content"][0]["text"]) for result in of_type(imported, "tool/result")]
    assert results == [("c", "first"), ("d", "late"), ("c", "second")]
    assert codes(imported) == ["NO_TIMES"]
    assert imported.side_table.query("key == 'moved'")["line"].tolist() == [5]


def test_calls_and_results_without_ids_are_paired_in_order(tmp_path: Path) -> None:
    imported = read(
        [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "", "function_call": {"name": "run", "arguments": "{}"}},
            {"role": "function", "name": "run", "content": "done"},
        ],
        tmp_path,
    )
    assert of_type(imported, "tool/result")[0]["isError"] is False
    assert codes(imported) == ["PAIRED_IN_ORDER", "NO_TIMES"]


def test_results_before_their_call_and_for_no_call_are_context(tmp_path: Path) -> None:
    imported = read(
        [
            {"role": "tool", "tool_call_id": "c", "content": "too early"},
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [call("c")]},
        ],
        tmp_path,
    )
    assert codes(imported) == ["RESULT_WITHOUT_CALL", "CALL_WITHOUT_RESULT", "NO_TIMES"]
    assert kinds(imported)[:3] == ["turn/start", "context/message", "turn/end"]


def test_system_messages_lead_or_are_context_and_strange_roles_are_told_of(tmp_path: Path) -> None:
    imported = read(
        [
            {"role": "system", "content": "One."},
            {"role": "developer", "content": "Two."},
            {"role": "user", "content": "Go."},
            {"role": "system", "content": "Three."},
            {"role": "assistant", "content": "Gone."},
            {"role": "critic", "content": "Slow."},
        ],
        tmp_path,
    )
    header = imported.session.request_header()
    assert header is not None
    assert header["system"] == "One.\n\nTwo."
    sources = [context["source"]["plugin"] for context in of_type(imported, "context/message")]
    assert sources == ["messages-system", "messages-critic"]
    assert codes(imported) == ["UNKNOWN_ROLE", "NO_TIMES"]


def test_other_names_for_roles_and_content_are_understood(tmp_path: Path) -> None:
    imported = read(
        {"conversations": [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]}, tmp_path
    )
    assert [message["role"] for message in imported.session.derive_messages()] == ["user", "assistant"]


def test_times_of_messages_are_the_events_times(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Hi.", "timestamp": "2026-01-01T00:00:00Z"},
        {"role": "assistant", "content": "Hello.", "timestamp": 1767225601.5},
    ]
    imported = read(messages, tmp_path)
    assert imported.session.header.created_at == 1767225600000
    assert [event.time for event in imported.session.events] == [1767225600000] * 2 + [1767225601500] * 4
    assert codes(imported) == []


def test_without_times_events_are_a_millisecond_apart(tmp_path: Path) -> None:
    imported = read([{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}], tmp_path)
    assert [event.time for event in imported.session.events] == list(range(6))


def test_the_same_content_has_the_same_id_and_two_alike_have_two(tmp_path: Path) -> None:
    one = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    path = tmp_path / "two.jsonl"
    path.write_text(f"{json.dumps(one)}\n{json.dumps(one)}\n")
    first, second = IMPORTER.read(path).sessions
    assert second.id == f"{first.id}-2"
    assert read(one, tmp_path).session.id == first.id


@pytest.mark.parametrize(
    "content", [5, {"a": 1}, [None, 3, {"type": "unheard-of", "x": 1}, "text"], {"type": "text"}, []]
)
def test_content_of_any_kind_is_read(content: Any, tmp_path: Path) -> None:
    imported = read([{"role": "user", "content": content}, {"role": "assistant", "content": content}], tmp_path)
    assert kinds(imported).count("user/message") == 1


def test_blocks_that_hold_blocks_without_end_are_text(tmp_path: Path) -> None:
    content: Any = "deep"
    for _ in range(200):
        content = [{"type": "tool_result", "tool_use_id": "c", "content": content}]
    imported = read([{"role": "user", "content": "Go."}, {"role": "user", "content": content}], tmp_path)
    assert "RESULT_WITHOUT_CALL" in codes(imported)


def test_what_is_no_message_goes_to_the_side_table(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"role": "user", "content": "Hi."}\n{"meta": 1}\n[]\n"x"\n{broken\n{"role": "assistant"}\n')
    imported = IMPORTER.read(path)
    assert_sound(imported)
    assert_accounted(path, imported)
    assert codes(imported)[:1] == ["BAD_LINE"]
    assert imported.side_table.query("key == 'entry'")["line"].tolist() == [2, 3, 4]


def test_nothing_to_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text("{}")
    with pytest.raises(ImportLogError) as caught:
        IMPORTER.read(path)
    assert caught.value.code == "IMPORT_EMPTY"


def test_many_results_far_from_their_calls_take_no_time(tmp_path: Path) -> None:
    count = 4_000
    messages = [{"role": "user", "content": "Go."}]
    messages += [{"role": "assistant", "content": "", "tool_calls": [call(f"c{n}")]} for n in range(count)]
    messages += [{"role": "tool", "tool_call_id": f"c{n}", "content": ""} for n in range(count)]
    path = tmp_path / "far.json"
    path.write_text(json.dumps(messages))
    imported = IMPORTER.read(path)
    assert kinds(imported).count("tool/result") == count
    assert codes(imported) == ["NO_TIMES"]


def test_further_conversations_get_files_of_their_own(tmp_path: Path) -> None:
    imported = import_log(FOLDER / "conversations.jsonl")
    names = [path.name for path, _ in _files(imported, tmp_path / "chat.jsonl")]
    assert names == ["chat.jsonl", "chat.other-1.jsonl", "chat.other-2.jsonl"]


def test_tools_that_the_provider_ran_bring_their_results(tmp_path: Path) -> None:
    imported = read(
        [
            {"role": "user", "content": "Go."},
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "q"}},
            {"type": "mcp_call", "id": "m", "name": "look", "server_label": "s", "arguments": "{}", "output": "Found."},
            {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
            {"type": "computer_call_output", "call_id": "c", "output": "Clicked."},
        ],
        tmp_path,
    )
    calls = of_type(imported, "tool/call")
    assert [one["name"] for one in calls] == ["web_search", "look", "computer"]
    assert [one["arguments"] for one in calls] == ['{"query":"q"}', "{}", '{"type":"click"}']
    results = {one["callId"]: [block["text"] for block in one["content"]] for one in of_type(imported, "tool/result")}
    assert results == {"w": [], "m": ["Found."], "c": ["Clicked."]}
    assert codes(imported) == ["NO_TIMES"]


def test_a_call_that_training_data_writes_as_text_is_a_call(tmp_path: Path) -> None:
    turns = [
        {"from": "human", "value": "Go."},
        {"from": "function_call", "value": '{"name": "look", "arguments": {"a": 1}}'},
        {"from": "observation", "value": "Found."},
        {"from": "gpt", "value": "Done."},
    ]
    imported = read({"conversations": turns}, tmp_path)
    assert [(one["name"], one["arguments"]) for one in of_type(imported, "tool/call")] == [("look", '{"a":1}')]
    assert of_type(imported, "tool/result")[0]["content"][0]["text"] == "Found."
    assert codes(imported) == ["PAIRED_IN_ORDER", "NO_TIMES"]
