from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dsh_session import VOCABULARY
from dsh_session.core.vocabulary import CORE_TYPES
from dsh_session.widgets import parts
from dsh_session.widgets.fields import blank, field_for
from dsh_session.widgets.leaves import FieldError
from tests.core.payloads import payload
from tests.views.hostile import HOSTILE, ODD

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")


class Made:
    """Fields that are closed at the end, and how often one of them was changed."""

    def __init__(self) -> None:
        self.fields: list[Any] = []
        self.changes = 0

    def __call__(self, event_type: str, value: Any) -> Any:
        field = field_for("", VOCABULARY.shape(event_type), value, self.changed)
        self.fields.append(field)
        return field

    def changed(self) -> None:
        self.changes += 1


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made()
    yield made
    for field in made.fields:
        parts.close_tree(field.widget)


def controls(widget: Any) -> dict[str, Any]:
    """The controls of a box by their labels."""
    found = {}
    for child in getattr(widget, "children", ()):
        found |= controls(child)
    if getattr(widget, "description", ""):
        assert widget.description not in found, "two controls of one name"
        found[widget.description] = widget
    return found


@pytest.mark.parametrize("event_type", CORE_TYPES)
def test_a_field_gives_back_the_payload_that_it_was_given(event_type: str, made: Made) -> None:
    assert made(event_type, payload(event_type)).read() == payload(event_type)


@pytest.mark.parametrize("event_type", [*CORE_TYPES, "compact/start", "compact/summary", "compact/end"])
def test_the_blank_of_a_type_has_its_shape(event_type: str, made: Made) -> None:
    shape = VOCABULARY.shape(event_type)
    assert shape is not None
    assert shape.fault(blank(shape)) is None
    assert made(event_type, blank(shape)).read() == blank(shape)


@pytest.mark.parametrize("value", [*ODD, {"turn": "1"}, {"turn": 1, "step": 1, "more": {"deep": [1, None]}}])
@pytest.mark.parametrize("event_type", ["step/start", "user/message", "todo/write", "assistant/message"])
def test_a_value_that_the_shape_does_not_fit_is_kept_as_json(event_type: str, value: Any, made: Made) -> None:
    assert made(event_type, value).read() == value


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_comes_back_as_it_was(text: str, made: Made) -> None:
    value = payload("tool/call") | {"name": text, "callId": text, text[:50] or "k": text[:50]}
    assert made("tool/call", value).read() == value


def test_unknown_members_of_an_open_sum_are_kept(made: Made) -> None:
    value = {
        "content": [{"type": "image", "url": "u"}, {"type": "text", "text": "t", "cache": True}],
        "source": {"kind": "x"},
    }
    assert made("user/message", value).read() == value


def test_every_control_has_a_label_of_its_own(made: Made) -> None:
    block = {"type": "tool-result", "toolCallId": "c", "content": [{"type": "text", "text": ""}], "isError": True}
    field = made(
        "tool/result", payload("tool/result") | {"content": [block, block], "error": {"name": "a", "code": "b"}}
    )
    assert {"turn", "content[1].content[0].text", "content[0].isError", "with error", "error.code"} <= set(
        controls(field.widget)
    )


def test_an_optional_key_is_there_when_it_is_asked_for(made: Made) -> None:
    field = made("assistant/message", payload("assistant/message"))
    there = controls(field.widget)
    there["with usage"].value = True
    there["usage.inputTokens"].value = 12
    assert field.read()["usage"] == {"inputTokens": 12, "outputTokens": 0}
    there["with usage"].value = False
    assert field.read() == payload("assistant/message")
    there["with usage"].value = True
    assert field.read()["usage"]["inputTokens"] == 12, "what was typed is still there"
    assert made.changes == 4


def test_items_are_added_and_removed_and_the_others_keep_what_was_typed(made: Made) -> None:
    field = made("todo/write", payload("todo/write"))
    there = controls(field.widget)
    there["todos[0].content"].value = "first"
    there["Add to todos"].click()
    there["Add to todos"].click()
    controls(field.widget)["todos[2].content"].value = "third"
    assert [item["content"] for item in field.read()["todos"]] == ["first", "", "third"]
    controls(field.widget)["Remove todos[1]"].click()
    assert [item["content"] for item in field.read()["todos"]] == ["first", "third"]
    assert "todos[1].content" in controls(field.widget)
    assert "todos[2].content" not in controls(field.widget)


def test_a_half_written_item_survives_adding_and_stops_removing(made: Made) -> None:
    field = made("user/message", payload("user/message") | {"content": [{"type": "image"}, {"type": "image"}]})
    json = controls(field.widget)["content[0] (JSON)"]
    json.value = '{"type": '
    controls(field.widget)["Add to content"].click()
    controls(field.widget)["Remove content[1]"].click()
    assert controls(field.widget)["content[0] (JSON)"].value == '{"type": '
    with pytest.raises(FieldError) as refused:
        field.read()
    assert (refused.value.path, refused.value.code) == (".content[0]", "NOT_JSON")
    controls(field.widget)["Remove content[0]"].click()
    assert len(field.read()["content"]) == 2


def test_another_tag_takes_over_what_fits_and_the_way_back_loses_nothing(made: Made) -> None:
    field = made("user/message", payload("user/message"))
    controls(field.widget)["content[0].text"].value = "said"
    kind = controls(field.widget)["content[0] type"]
    kind.value = "reasoning"
    assert field.read()["content"] == [{"type": "reasoning", "text": "said"}]
    kind.value = "tool-call"
    controls(field.widget)["content[0].name"].value = "bash"
    kind.value = "text"
    assert field.read()["content"] == [{"type": "text", "text": "said"}]
    kind.value = "tool-call"
    assert field.read()["content"][0]["name"] == "bash"


def test_a_number_without_a_fraction_is_a_whole_one(made: Made) -> None:
    value = {"header": {"config": {"provider": "p", "model": "m", "temperature": 1}}, "reason": "initial"}
    field = made("request/header", value)
    assert field.read() == value
    controls(field.widget)["header.config.temperature"].value = 0.5
    assert field.read()["header"]["config"]["temperature"] == 0.5


def test_a_path_leads_to_the_innermost_field(made: Made) -> None:
    field = made("user/message", payload("user/message"))
    assert field.find(".content[0].text").path == ".content[0].text"
    assert field.find(".content[7].text").path == ".content"
    assert field.find(".nothing").path == ""


FILLED: list[tuple[str, Any, Any, bool]] = [
    ("step/start", {"turn": 1, "step": 1}, {"turn": 2, "step": 1}, True),
    ("todo/write", {"todos": []}, {"todos": [{"content": "a", "status": "pending"}]}, False),
    (
        "todo/write",
        {"todos": [{"content": "a", "status": "pending"}]},
        {"todos": [{"content": "b", "status": "completed"}]},
        True,
    ),
    ("step/start", {"turn": 1, "step": 1}, {"turn": 2, "step": 1, "more": 1}, False),
    ("step/start", {"turn": 1, "step": 1, "more": 1}, {"turn": 2, "step": 1, "more": 1}, True),
    ("step/start", {"turn": 1, "step": 1, "more": 1}, {"turn": 2, "step": 1, "more": 2}, False),
    ("step/start", {"turn": 1, "step": 1}, {"turn": "one", "step": 1}, False),
    ("step/start", {"turn": 1, "step": 1}, [], False),
]


@pytest.mark.parametrize(("event_type", "value", "other", "is_filled"), FILLED)
def test_another_value_goes_into_the_controls_that_are_there_or_calls_for_others(
    event_type: str, value: Any, other: Any, is_filled: bool, made: Made
) -> None:
    field = made(event_type, value)
    before = controls(field.widget)
    assert field.fill(other) is is_filled
    assert controls(field.widget) == before
    if is_filled:
        assert field.read() == other


@pytest.mark.parametrize("event_type", CORE_TYPES)
def test_every_payload_can_be_filled_in_again(event_type: str, made: Made) -> None:
    value = payload(event_type)
    assert made(event_type, value).fill(value)
