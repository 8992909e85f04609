"""What takes the place of a range."""

from typing import Any

import pytest

from dsh_session import samples
from dsh_session.compaction import Transcript, frame_summary, is_summary
from dsh_session.compaction.framing import CLOSING, OPENING, summary_blocks
from dsh_session.core.errors import CompactionError
from dsh_session.core.lossless import is_json_value

from .sessions import talked, text


def test_a_frame_says_what_it_holds_and_is_open_and_closed_once() -> None:
    blocks = frame_summary([text("one"), text("two")])
    assert [block["text"] for block in blocks[1:-1]] == ["one", "two"]
    assert blocks[0]["text"].endswith(f"\n\n{OPENING}")
    assert blocks[-1] == text(CLOSING)
    assert "".join(block["text"] for block in blocks).count(OPENING) == 1


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ("said", [text("said")]),
        (["one", text("two")], [text("one"), text("two")]),
        (text("said"), [text("said")]),
        (
            [text(""), text("said"), {"type": "image", "url": "u"}],
            [text(""), text("said"), {"type": "image", "url": "u"}],
        ),
    ],
)
def test_a_summary_may_be_text_or_blocks(given: Any, blocks: Any) -> None:
    assert summary_blocks(given) == blocks


def test_a_subclass_of_str_becomes_the_text_that_it_is() -> None:
    transcript = Transcript.of(talked(1), [1])
    for given in (transcript, [transcript], {"type": "text", "text": transcript}):
        (block,) = summary_blocks(given)
        assert is_json_value(block)
        assert block["text"] == transcript


@pytest.mark.parametrize("nothing", [None, "", " \n\t", [], [text(""), text(" ")], {"type": "image", "url": "u"}, {}])
def test_a_summary_that_says_nothing_is_refused(nothing: Any) -> None:
    with pytest.raises(CompactionError) as caught:
        summary_blocks(nothing)
    assert caught.value.code == "COMPACTION_EMPTY"


@pytest.mark.parametrize(
    "wrong", [7, b"bytes", [7], object(), [["nested"]], {"type": "tool-call"}, [text("said"), {"type": "tool-result"}]]
)
def test_what_is_no_summary_is_refused(wrong: Any) -> None:
    with pytest.raises(CompactionError) as caught:
        summary_blocks(wrong)
    assert caught.value.code == "COMPACTION_BAD_SUMMARY"


def test_a_message_that_replaced_others_is_a_summary_and_nothing_else_is() -> None:
    session = samples.load("pi-compacted-twice")
    replaced = {event.seq for event in session.events if isinstance(event.surface_op, dict)}
    assert {event.seq for event in session.events if is_summary(event)} == replaced
