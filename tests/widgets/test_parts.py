from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets
import pytest

from dsh_session.widgets import parts
from dsh_session.widgets.button import Button
from dsh_session.widgets.notice import Notice
from tests.views.hostile import HOSTILE
from tests.widgets.ears import widgets_alive

if TYPE_CHECKING:
    from tests.widgets.ears import Wire

pytestmark = pytest.mark.usefixtures("nothing_left")


class Example(parts.Part):
    """A part with one control of each kind."""

    def __init__(self, said: str = "said") -> None:
        self.notice = Notice()
        self.hidden = parts.text("Hidden", "nobody sees this")
        self.button = parts.button("Do it", lambda: None, is_main=True)
        super().__init__(
            (
                parts.row(parts.text("Text", said), parts.area("Area", said)),
                parts.choice("Choice", [(said, 1), ("other", 2)], 1),
                parts.whole_number("Whole", 3),
                parts.number("Number", 0.5),
                parts.flag("Flag", value=True),
                parts.row(self.button, parts.button("Leave it", lambda: None)),
                self.hidden,
                self.notice,
            )
        )
        parts.show(self.hidden, is_shown=False)

    def _says(self) -> str:
        return "of an example"


def test_closing_closes_everything_that_it_is_made_of(wire: Wire) -> None:
    before = widgets_alive()
    example = Example()
    assert widgets_alive() > before + 20
    example.close()
    assert widgets_alive() == before
    assert wire.open == set()


def test_what_it_listens_to_is_taken_back_once_last_first() -> None:
    undone: list[int] = []
    example = Example()
    for number in (1, 2):
        example._at_close(lambda number=number: undone.append(number))  # type: ignore[misc]
    example.close()
    example.close()
    assert undone == [2, 1]


def test_a_part_within_a_part_ends_with_it() -> None:
    undone: list[str] = []
    inner = Example()
    inner._at_close(lambda: undone.append("inner"))
    outer = parts.Part([parts.column(inner)])
    outer.close()
    assert undone == ["inner"]


def test_the_snapshot_reads_like_the_form() -> None:
    example = Example()
    example.notice.say("all is well", "done")
    example.button.disabled = True
    html = example.snapshot()._repr_html_()
    for shown in ("Text", "said", "Whole", ">3<", "0.5", "yes", "[ Do it ] (not now) [ Leave it ]", "all is well"):
        assert shown in html
    assert "nobody sees this" not in html
    assert repr(example.snapshot()) == "<Snapshot: Example of an example>"
    assert repr(example) == "<Example of an example>"
    example.close()
    assert repr(example).endswith(", closed>")


@pytest.mark.parametrize("text", HOSTILE[:22], ids=range(22))
def test_nothing_typed_becomes_anything_but_text_in_the_snapshot(text: str) -> None:
    example = Example(text)
    example.notice.say(text, "error")
    html = example.snapshot()._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    html.encode()
    example.close()


def test_offering_other_options_keeps_a_value_that_is_still_there() -> None:
    control = parts.choice("Choice", ["a", "b"], "b")
    parts.offer(control, ["b", "c"], "b")
    assert control.value == "b"
    parts.offer(control, ["b", "c"], "c")
    assert control.value == "c"
    parts.close_tree(control)


def test_a_button_acts_on_the_answer_of_the_page_that_was_pressed() -> None:
    acts: list[str] = []
    sent: list[Any] = []
    button = Button(description="Do it")
    button.on_click(lambda: acts.append("done"))
    button.send = lambda content, buffers=None: sent.append((content, buffers))

    def hear(content: Any) -> None:
        button._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

    hear({"type": "press", "view": "1"})
    assert (acts, sent) == ([], [({"type": "settle", "view": "1"}, None)])
    hear({"type": "pressed", "view": "1"})
    assert acts == ["done"]
    button.disabled = True
    hear({"type": "pressed", "view": "1"})
    for nonsense in (None, [], {"type": "other"}, "press"):
        hear(nonsense)
    assert (acts, len(sent)) == (["done"], 1)
    parts.close_tree(button)


def test_every_control_has_a_label() -> None:
    example = Example()

    def walk(widget: Any) -> None:
        for inner in getattr(widget, "children", ()):
            walk(inner)
        if not hasattr(widget, "children") and not isinstance(widget, (Notice, ipywidgets.HTML)):
            assert widget.description

    walk(example)
    example.close()
