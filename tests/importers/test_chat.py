from typing import Any

import pytest

from dsh_session.importers.chat import chat_message, moment, said, tool_schemas, usage_of
from dsh_session.importers.chat.messages import is_chat_message


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2026-01-01T00:00:00Z", 1767225600000),
        ("2026-01-01T01:00:00.123456+01:00", 1767225600123),
        ("2026-01-01", 1767225600000),
        (1767225600, 1767225600000),
        (1767225600.25, 1767225600250),
        (1767225600000, 1767225600000),
        (1767225600000000, 1767225600000),
        (1767225600000000000, 1767225600000),
        ("1969-12-31T23:59:59Z", None),
        ("not a time at all", None),
        ("9" * 500, None),
        (float("nan"), None),
        (-1, None),
        (10**400, None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_times_of_any_kind_are_milliseconds_or_nothing(value: Any, time: int | None) -> None:
    assert moment(value) == time


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        # what is read from a cache is a part of OpenAI's prompt tokens
        (
            {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6},
             "completion_tokens_details": {"reasoning_tokens": 3}},
            {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 6, "reasoningTokens": 3},
        ),
        # and not of Anthropic's input tokens
        (
            {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2},
            {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 6, "cacheWriteTokens": 2},
        ),
        # where the names could mean either, the total decides
        (
            {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_tokens_cache_read": 6},
            {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 6},
        ),
        (
            {"input_tokens": 3, "output_tokens": 4, "total_tokens": 13, "input_tokens_cache_read": 6},
            {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 6},
        ),
        ({"prompt_tokens": 9.0}, {"inputTokens": 9, "outputTokens": 0}),
        ({"prompt_tokens": -1, "completion_tokens": "4"}, None),
        ({"cost": 1}, None),
        (None, None),
        ([], None),
    ],
)  # fmt: skip
def test_counts_are_disjoint(raw: Any, usage: dict[str, int] | None) -> None:
    assert usage_of(raw) == usage


def test_reasoning_that_is_hidden_leaves_an_empty_block_and_its_secret_aside() -> None:
    found = said(
        [
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "reasoning", "reasoning": "cipher", "redacted": True, "summary": "Thought about it."},
            {"type": "reasoning", "summary": [{"text": "One."}, {"text": "Two."}], "encrypted_content": "x"},
        ]
    )
    assert [block["text"] for block in found.blocks] == ["", "Thought about it.", "One.\n\nTwo."]
    assert found.aside == [
        ("reasoning_data", "secret"),
        ("redacted_reasoning", "cipher"),
        ("reasoning_encrypted_content", "x"),
    ]


def test_a_tool_that_the_provider_ran_is_a_call_with_its_answer() -> None:
    part = {
        "type": "tool_use",
        "tool_type": "web_search",
        "id": "s",
        "name": "web",
        "arguments": "{}",
        "result": "found",
    }
    found = said([part])
    assert found.blocks == [{"type": "tool-call", "id": "s", "name": "web", "arguments": "{}"}]
    assert found.answers[0].content == [{"type": "text", "text": "found"}]


def test_thinking_blocks_and_reasoning_content_that_say_the_same_are_one_block() -> None:
    raw = {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_content": "Hm.",
        "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}],
    }
    message = chat_message(raw)
    assert [block["text"] for block in message.blocks] == ["Hm.", "Yes."]
    assert message.aside == [("reasoning_signature", "s")]


def test_fields_that_have_no_place_are_kept_aside() -> None:
    message = chat_message({"role": "user", "content": "Hi.", "id": "m1", "refusal": None, "annotations": []})
    assert message.aside == [("id", "m1")]


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"role": "user", "content": None}, True),
        ({"role": "assistant", "tool_calls": []}, True),
        ({"from": "gpt", "value": "x"}, True),
        ({"type": "function_call_output", "call_id": "c", "output": ""}, True),
        ({"role": "user"}, False),
        ({"role": ["user"], "content": ""}, False),
        ({"type": "user", "message": {"role": "user", "content": "x"}}, False),
        ("user", False),
    ],
)
def test_messages_are_told_from_other_lines(value: Any, is_one: bool) -> None:
    assert is_chat_message(value) is is_one


def test_tools_of_any_api_are_schemas() -> None:
    tools = [
        {"type": "function", "function": {"name": "a", "description": "A."}},
        {"name": "b", "input_schema": {"type": "object"}},
        {"type": "web_search"},
        "c",
        {},
        5,
    ]
    assert [(tool["name"], tool["parameters"]) for tool in tool_schemas(tools)] == [
        ("a", {}),
        ("b", {"type": "object"}),
        ("web_search", {}),
        ("c", {}),
    ]
    assert tool_schemas("none") == []


def test_a_whole_response_is_one_answer() -> None:
    output = [
        {"type": "reasoning", "summary": [{"text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
        "no item",
    ]
    usage = {"input_tokens": 5, "output_tokens": 2}
    message = chat_message(
        {"object": "response", "output": output, "model": "m", "usage": usage, "created_at": 1767225600}
    )
    assert [block["type"] for block in message.blocks] == ["reasoning", "text", "tool-call"]
    assert (message.role, message.model, message.time) == ("assistant", "m", 1767225600000)
    assert message.usage == {"inputTokens": 5, "outputTokens": 2}
