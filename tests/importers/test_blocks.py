"""Content of any shape becomes blocks that every reader accepts; what has no place in them is kept."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import is_json_value
from dsh_session.core.lossless import MAX_RECORDED_INTEGER, copy_json
from dsh_session.core.vocabulary import VOCABULARY
from dsh_session.importers.blocks import arguments_from, lawful_blocks, lawful_json, text_from
from dsh_session.importers.lawful import config_from, error_from, reason_from, todos_from, usage_from

PNG = base64.b64encode(b"a picture").decode()


def made(content: Any) -> tuple[list[Any], list[tuple[str, Any]]]:
    kept: list[tuple[str, Any]] = []
    return lawful_blocks(content, lambda *row: kept.append(row)), kept


def test_lawful_content_is_passed_on_as_it_is() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "reasoning", "text": "b"},
        {"type": "tool-call", "id": "c", "name": "d", "arguments": "{}"},
    ]
    blocks, kept = made(content)
    assert blocks is content
    assert kept == []


@pytest.mark.parametrize("content", [None, [], [None]])
def test_nothing_is_no_blocks(content: Any) -> None:
    assert made(content) == ([], [])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ],
)
def test_an_image_becomes_a_line_and_its_hash_is_kept_and_nothing_of_its_bytes(block: dict[str, Any]) -> None:
    blocks, ((key, value),) = made([block])
    assert blocks[0]["text"].startswith("[image: image/png, 9 bytes, sha256 ")
    assert (key, value["bytes"], len(value["sha256"])) == ("image", 9, 64)
    assert PNG not in json.dumps([blocks, value])


def test_an_image_elsewhere_is_named_by_its_address() -> None:
    blocks, kept = made({"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}})
    assert blocks == [{"type": "text", "text": "[image: https://example.org/x.png]"}]
    assert kept == [("image", "https://example.org/x.png")]


def test_unknown_blocks_are_named_and_kept() -> None:
    blocks, kept = made([{"type": "hologram", "x": 1}, {"type": "note", "text": "seen"}, {"x": 2}, 7])
    assert [block["text"] for block in blocks] == ["[hologram]", "seen", "[unknown block]", "[number: 7]"]
    assert [key for key, _ in kept] == ["block.hologram", "block.note", "block", "content"]


def test_further_fields_of_a_known_block_are_kept_beside_it() -> None:
    blocks, kept = made([{"type": "text", "text": "a", "cache_control": {"type": "x"}}])
    assert blocks == [{"type": "text", "text": "a"}]
    assert kept == [("block.text", {"cache_control": {"type": "x"}})]


def test_results_inside_messages_are_lawful_throughout() -> None:
    inner = {"type": "tool-result", "toolCallId": 5, "content": "x", "isError": "no"}
    assert made(inner)[0] == [{"type": "tool-result", "toolCallId": "5", "content": [{"type": "text", "text": "x"}]}]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud83d"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "id", "name", "arguments", "content", "source", "data", "url", "image_url"]
            ),
            inner | st.sampled_from(["text", "tool-call", "tool-result", "image", "reasoning"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(junk)
def test_any_content_becomes_blocks_of_the_declared_shape(content: Any) -> None:
    blocks, _ = made(content)
    shape = VOCABULARY.shape("user/message")
    assert shape is not None
    assert shape.fault({"content": blocks, "source": {"kind": "user"}}) is None
    assert is_json_value(blocks)


@given(junk)
def test_any_value_becomes_one_that_no_reader_loses_anything_of(value: Any) -> None:
    lawful = lawful_json(value)
    copy_json(lawful, largest=MAX_RECORDED_INTEGER)
    assert isinstance(text_from(value), str)
    json.loads(arguments_from(value) if not isinstance(value, str) else "{}")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (b'{"a":-0}', {"a": 0}),
        (b'{"a":-0.0}', {"a": "-0.0"}),
        (b'{"a":1e999}', {"a": "1e999"}),
        (b'{"a":"\xc3\xa4"}', {"a": "ä"}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}),
        (b"[" * 600 + b"]" * 600, None),
        (b'{"a":', '{"a":'),
    ],
)
def test_raw_text_is_taken_as_it_is_or_mended(raw: bytes, value: Any) -> None:
    lawful = lawful_json(msgspec.Raw(raw))
    if isinstance(lawful, msgspec.Raw):
        lawful = msgspec.json.decode(lawful)
    if value is None:
        copy_json(lawful)
    else:
        assert lawful == value


# ------------------------------------------------------------------------------------------------------- small values


@given(junk)
def test_any_value_gives_small_values_of_the_declared_shapes(value: Any) -> None:
    reason = reason_from(value if isinstance(value, (str, dict)) else None, 3)
    tests = {
        "turn/end": {"turn": 1, "reason": reason},
        "todo/write": {"todos": todos_from(value)},
        "tool/result": {"turn": 1, "step": 1, "callId": "", "content": [], "isError": True, "error": error_from(value)},
    }
    usage = usage_from(value)
    if usage is not None:
        route = {"provider": "p", "model": "m"}
        tests["assistant/message"] = {"turn": 1, "step": 1, "content": [], "provenance": route, "usage": usage}
    if isinstance(value, dict):
        config = {
            "provider": "p",
            "model": "m",
            **config_from({**value, "temperature": value.get("text"), "stop": value}),
        }
        tests["request/header"] = {"header": {"config": config}, "reason": "change"}
    for kind, data in tests.items():
        shape = VOCABULARY.shape(kind)
        assert shape is not None
        assert shape.fault(data) is None
