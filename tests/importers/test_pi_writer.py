"""What the entries of a pi session become."""

from typing import Any

import pytest

from dsh_session import Session
from dsh_session.importers.found import Imported
from tests.importers.pi_entries import HEADER, assistant, entry, result, user


def types(session: Session) -> list[str]:
    return [event.type for event in session.events]


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def ends(session: Session) -> list[Any]:
    return [dict(event.data["reason"]) for event in session.events if event.type == "turn/end"]


def test_a_prompt_is_a_turn_and_a_response_a_step(read_pi: Any) -> None:
    session = read_pi(
        HEADER, user("a", None), assistant("b", "a", "c1"), result("c", "b", "c1"), assistant("d", "c")
    ).session
    assert types(session) == [
        *("turn/start", "user/message"),
        *("step/start", "request/header", "assistant/message", "tool/call", "tool/result", "step/end"),
        *("step/start", "assistant/message", "step/end", "turn/end"),
    ]
    assert session.header.to_dict() == {"version": 0, "id": "s", "createdAt": 1767225600000, "cwd": "/p"}


def test_usage_is_taken_as_it_is_and_the_cost_goes_to_the_side_table(read_pi: Any) -> None:
    usage = {"input": 3, "output": 5, "cacheRead": 7, "cacheWrite": 11, "totalTokens": 26, "cost": {"total": 0.5}}
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", usage=usage))
    event = imported.session.events[4]
    assert event.data["usage"] == {"inputTokens": 3, "outputTokens": 5, "cacheReadTokens": 7, "cacheWriteTokens": 11}
    row = imported.side_table.query("key == 'cost'").iloc[0]
    assert (row["seq"], row["line"], row["value"]) == (event.seq, 3, '{"total":0.5}')


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("stop", {"kind": "completed"}),
        ("length", {"kind": "max-tokens"}),
        ("aborted", {"kind": "aborted", "reason": "why"}),
        ("error", {"kind": "error", "step": 1, "message": "why"}),
    ],
)
def test_the_last_response_says_how_a_turn_ends(read_pi: Any, stop: str, reason: Any) -> None:
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", stop=stop, errorMessage="why"), user("c", "b"))
    assert ends(imported.session) == [reason, {"kind": "completed"}]


def test_a_response_that_failed_and_came_again_does_not_end_its_turn(read_pi: Any) -> None:
    failed = assistant("b", "a", stop="error", errorMessage="overloaded")
    session = read_pi(HEADER, user("a", None), failed, assistant("c", "b")).session
    assert ends(session) == [{"kind": "completed"}]
    assert session.events[-1].data["turn"] == 1


def test_a_message_while_calls_are_open_is_steering(read_pi: Any) -> None:
    session = read_pi(
        HEADER, user("a", None), assistant("b", "a", "c1"), user("c", "b", "Stop that."), result("d", "c", "c1")
    ).session
    assert "steering/message" in types(session)
    assert types(session).count("turn/start") == 1


def test_a_message_typed_before_the_last_result_is_steering(read_pi: Any) -> None:
    """It waited for the tools to be done; in the recorded session three did."""
    answered = result("c", "b", "c1")
    early = user("d", "c", "And the other file.", timestamp=1)
    late = user("d", "c", "And the other file.", timestamp=10**13)
    steered = read_pi(HEADER, user("a", None), assistant("b", "a", "c1"), answered, early, assistant("e", "d")).session
    asked = read_pi(HEADER, user("a", None), assistant("b", "a", "c1"), answered, late, assistant("e", "d")).session
    assert types(steered).count("steering/message") == 1
    assert types(asked).count("turn/start") == 2


def test_what_a_person_ran_and_what_programs_inserted_is_context(read_pi: Any) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "README.md", "exitCode": 2}
    hidden = {**shell, "excludeFromContext": True}
    imported = read_pi(
        HEADER,
        user("a", None),
        entry("b", "a", "message", message=shell),
        entry("c", "b", "message", message=hidden),
        entry("d", "c", "message", message={"role": "hookMessage", "customType": "x", "content": "Note."}),
        entry("e", "d", "custom_message", customType="y", content=[{"type": "text", "text": "More."}], display=True),
        entry("f", "e", "branch_summary", fromId="zz", summary="We tried."),
    )
    context = [event.data for event in imported.session.events if event.type == "context/message"]
    sources = [data["source"]["plugin"] for data in context]
    assert sources == ["pi-bashExecution", "pi-custom", "pi-custom", "pi-branch_summary"]
    assert context[0]["content"][0]["text"] == "$ ls\nREADME.md\n(exit code 2)"
    assert context[2]["meta"] == {"customType": "y", "display": True}
    assert list(imported.side_table["key"]).count("bashExecution") == 1


def test_what_oh_my_pi_puts_before_the_model_is_context(read_pi: Any) -> None:
    python = {"role": "pythonExecution", "code": "1+1", "output": "2", "exitCode": 0, "cancelled": False}
    image = {"data": "aA==", "mimeType": "image/png"}
    files = [{"path": "a.md", "content": "Hi."}, {"path": "b.png", "content": "", "image": image}]
    imported = read_pi(
        HEADER,
        user("a", None),
        entry("b", "a", "message", message=python),
        entry("c", "b", "message", message={"role": "fileMention", "files": files}),
        entry("d", "c", "message", message={"role": "developer", "content": [{"type": "text", "text": "Go on."}]}),
        entry("e", "d", "message", message={"role": "compactionSummary", "summary": "Before."}),
    )
    context = [event.data for event in imported.session.events if event.type == "context/message"]
    assert [data["source"]["plugin"] for data in context] == [
        *("pi-pythonExecution", "pi-fileMention", "pi-developer", "pi-compactionSummary"),
    ]
    texts = [[block["text"] for block in data["content"]] for data in context]
    assert texts[0] == [">>> 1+1\n2"]
    assert texts[1][:2] == ["a.md\nHi.", "b.png"]
    assert texts[1][2].startswith("[image: image/png, 1 byte")
    assert (texts[2], texts[3]) == (["Go on."], ["Before."])
    assert codes(imported) == []


def test_messages_whose_fields_stand_beside_the_entrys_are_read(read_pi: Any) -> None:
    imported = read_pi(
        HEADER,
        entry("a", None, "message", role="user", content="Hello."),
        entry("b", "a", "message", role="assistant", content=[{"type": "text", "text": "Hi."}]),
    )
    assert [message["content"][0]["text"] for message in imported.session.derive_messages()] == ["Hello.", "Hi."]
    assert codes(imported) == []


def test_reasoning_keeps_its_text_and_its_signature_goes_to_the_side_table(read_pi: Any) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "sig", "redacted": False}
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", content=[thinking]))
    assert imported.session.events[4].data["content"] == [{"type": "reasoning", "text": "Hm."}]
    assert imported.side_table.query("key == 'thinkingSignature'")["value"].tolist() == ['"sig"']


def test_an_image_is_a_line_of_text_with_its_size_and_hash(read_pi: Any) -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    prompt = entry("a", None, "message", message={"role": "user", "content": [image]})
    session = read_pi(HEADER, prompt).session
    assert session.events[1].data["content"][0]["text"].startswith("[image: image/png, 2 bytes, sha256 ")


def test_the_model_and_its_level_of_thinking_are_headers_of_the_next_request(read_pi: Any) -> None:
    session = read_pi(
        HEADER,
        entry("a", None, "model_change", provider="q", modelId="n"),
        entry("b", "a", "thinking_level_change", thinkingLevel="high"),
        user("c", "b"),
        assistant("d", "c"),
        entry("e", "d", "model_change", model="r/o", role="default"),
        user("f", "e"),
        entry("g", "f", "message", message={"role": "assistant", "content": [], "stopReason": "stop"}),
    ).session
    headers = [event.data for event in session.events if event.type == "request/header"]
    assert [header["reason"] for header in headers] == ["initial", "change"]
    assert headers[0]["header"]["config"] == {"provider": "p", "model": "m", "thinkingLevel": "high"}
    assert headers[1]["header"]["config"] == {"provider": "r", "model": "o", "thinkingLevel": "high"}


def test_a_system_prompt_in_blocks_is_one_text(read_pi: Any) -> None:
    start = entry("a", None, "session_init", systemPrompt=["Be kind.", "Be quick."], task="t", tools=["read"])
    session = read_pi(HEADER, start, user("b", "a"), assistant("c", "b")).session
    header = session.request_header()
    assert header is not None
    assert header["system"] == "Be kind.\n\nBe quick."


def test_a_result_behind_the_next_response_is_brought_to_its_step(read_pi: Any) -> None:
    late = result("d", "c", "c1")
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", "c1"), assistant("c", "b"), late)
    step = [event for event in imported.session.events if event.type == "tool/result"]
    assert step[0].data["isError"] is False
    assert step[0].data["step"] == 1
    assert imported.side_table.query("key == 'moved'")["line"].tolist() == [5]
    assert codes(imported) == []


def test_a_call_without_a_result_gets_one_and_a_result_without_a_call_is_context(read_pi: Any) -> None:
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", "c1"), result("c", "b", "elsewhere"))
    assert codes(imported) == ["RESULT_WITHOUT_CALL", "CALL_WITHOUT_RESULT"]
    results = [event.data for event in imported.session.events if event.type == "tool/result"]
    assert results[0]["error"]["code"] == "interrupted"


def test_a_second_result_for_a_call_is_context(read_pi: Any) -> None:
    again = result("d", "c", "c1", isError=True)
    imported = read_pi(HEADER, user("a", None), assistant("b", "a", "c1"), result("c", "b", "c1"), again)
    assert codes(imported) == ["RESULT_WITHOUT_CALL"]


def test_unknown_types_and_roles_are_said(read_pi: Any) -> None:
    imported = read_pi(
        HEADER,
        entry("a", None, "something_new", value=1),
        entry("b", "a", "message", message={"role": "narrator", "content": "Later."}),
        entry("c", "b", "message", message={"role": "narrator"}),
        entry("d", "c", "message", message="a message that is a string"),
    )
    assert codes(imported) == ["UNKNOWN_TYPE", "UNKNOWN_ROLE", "UNKNOWN_ROLE", "UNKNOWN_ROLE"]
    assert types(imported.session) == ["turn/start", "context/message", "turn/end"]


def test_a_system_message_is_the_header_of_the_next_request(read_pi: Any) -> None:
    system = {"role": "system", "content": "Be kind.", "tools": [{"name": "read", "parameters": {"type": "object"}}]}
    session = read_pi(HEADER, entry("a", None, "message", message=system), user("b", "a"), assistant("c", "b")).session
    header = session.request_header()
    assert header is not None
    assert header["system"] == "Be kind."
    assert header["tools"] == [{"name": "read", "description": "", "parameters": {"type": "object"}}]


def test_entries_in_an_envelope_are_read_as_entries(read_pi: Any) -> None:
    lines = [
        {"kind": "entry", "lane": "main", "entry": value}
        for value in (user("a", None), assistant("b", "a"), user("c", "b"))
    ]
    fact = {"kind": "fact", "seq": 3, "fact": "name", "name": "x"}
    imported = read_pi(HEADER, *lines, fact, {"kind": "lane", "lane": "main", "leafId": "b"})
    assert [event.type for event in imported.session.events if event.surface_op] == [
        "user/message",
        "assistant/message",
    ]
    assert len(imported.forks) == 1
    assert codes(imported) == []
