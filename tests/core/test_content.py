"""From plain words to content blocks, prompts and call arguments."""

from types import MappingProxyType
from typing import Any

import pytest

from dsh_session import Session, SessionError
from dsh_session.core.content import arguments_of, blocks_of, prompts_of, todo_of

from .payloads import text

IMAGE = {"type": "image", "url": "u"}


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("hi", [text("hi")]),
        ("", [text("")]),
        ([], []),
        (IMAGE, [IMAGE]),
        (MappingProxyType(IMAGE), [IMAGE]),
        (["hi", IMAGE], [text("hi"), IMAGE]),
        (("hi",), [text("hi")]),
    ],
)
def test_words_become_blocks(content: Any, blocks: list[Any]) -> None:
    assert blocks_of(content) == blocks
    assert all(type(block) is dict for block in blocks_of(content))


def test_the_blocks_of_a_logged_event_are_taken_as_they_are() -> None:
    log = Session("s", clock=lambda: 0)
    event = log.append("user/message", {"content": [IMAGE], "source": {"kind": "user"}}, surface_op="append")
    again = log.append(
        "user/message", {"content": blocks_of(event.data["content"]), "source": {"kind": "user"}}, surface_op="append"
    )
    assert again.data == event.data


@pytest.mark.parametrize("content", [None, 5, b"hi", [None], [["hi"]], {"hi"}, iter("hi")])
def test_what_is_no_content_is_refused(content: Any) -> None:
    with pytest.raises(TypeError, match="must be a str"):
        blocks_of(content)


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        (None, []),
        ([], []),
        ("hi", [[text("hi")]]),
        (IMAGE, [[IMAGE]]),
        ([text("a"), IMAGE], [[text("a"), IMAGE]]),
        (["a", "b"], [[text("a")], [text("b")]]),
        (["a", [IMAGE, "b"]], [[text("a")], [IMAGE, text("b")]]),
        ([[IMAGE], [text("b")]], [[IMAGE], [text("b")]]),
        ([[]], [[]]),
    ],
)
def test_a_prompt_is_one_or_several(prompt: Any, prompts: list[Any]) -> None:
    assert prompts_of(prompt) == prompts


@pytest.mark.parametrize("prompt", [5, b"hi", ["a", IMAGE], [IMAGE, [IMAGE]], [None], iter("hi")])
def test_what_is_no_prompt_is_refused(prompt: Any) -> None:
    with pytest.raises(TypeError):
        prompts_of(prompt)


@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        ("", ""),
        ('{"a": ', '{"a": '),
        ({}, "{}"),
        ({"a": [1, 2.5, None, "ä"], "b": {}}, '{"a":[1,2.5,null,"ä"],"b":{}}'),
        (MappingProxyType({"a": 1}), '{"a":1}'),
        ([1], "[1]"),
        ({"a": "\ud83d"}, '{"a":"\\ud83d"}'),
    ],
)
def test_arguments_become_the_raw_text(arguments: Any, raw: str) -> None:
    assert arguments_of(arguments) == raw


@pytest.mark.parametrize("arguments", [{"a": float("nan")}, {1: 2}, {"a": (1,)}, b"{}", {"a": -0.0}])
def test_arguments_that_json_cannot_hold_are_refused(arguments: Any) -> None:
    with pytest.raises(SessionError) as caught:
        arguments_of(arguments)
    assert caught.value.code == "NOT_JSON"


@pytest.mark.parametrize("item", [None, ("a",), ("a", "b", "c"), ["a", "pending"], 5])
def test_what_is_no_todo_is_refused(item: Any) -> None:
    with pytest.raises(TypeError, match="a todo must be"):
        todo_of(item)


def test_a_todo_in_wire_form_is_copied() -> None:
    item = {"content": "a", "status": "pending"}
    assert todo_of(item) == item
    assert todo_of(item) is not item
