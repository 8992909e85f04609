"""What every part of the explorer is made of: labelled controls, and an end that leaves nothing behind."""

from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets

from dsh_session.core.session import Session
from dsh_session.views.escape import cut, html_text, one_line
from dsh_session.views.html import repr_css
from dsh_session.widgets.button import Button
from dsh_session.widgets.live import Batch, follow
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.snapshot import Snapshot

_SHORT = 26
"""Labels of at most so many characters stand in a column of their own."""


class Part(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A box of controls that can be used alone.

    Closing it takes back what it listens to and closes every control in it, so that no comm stays open.
    """

    _is_closed = True  # until it is made: one that was refused has nothing to close

    def __init__(self, children: "tuple[Any, ...] | list[Any]" = ()) -> None:
        """Put controls below each other."""
        self._undo: list[Callable[[], Any]] = []
        self._batches: list[Batch] = []
        self._is_closed = False
        super().__init__(tuple(children))
        self.add_class("dsh-part")

    def _at_close(self, undo: Callable[[], Any]) -> None:
        """Remember something to take back when this is closed."""
        self._undo.append(undo)

    def _follow(self, session: Session, act: Callable[[], Any]) -> None:
        """Call a function, in batches, whenever a session has grown, until this is closed."""
        batch, end = follow(session, act)
        self._batched(batch, end)

    def _batched(self, batch: Batch, end: Callable[[], Any]) -> None:
        """Take over a batch, and what ends it."""
        self._batches.append(batch)
        self._at_close(end)

    def take_in(self) -> None:
        """Take in at once what was heard of and has not been shown yet."""
        for batch in self._batches:
            batch.flush()

    def close(self) -> None:
        """Take back what it listens to, and close it with all that is in it; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        while self._undo:
            self._undo.pop()()
        for widget in _inside(self):
            close_tree(widget)
        super().close()

    def snapshot(self) -> Any:
        """Give what the form holds as static HTML, which needs no kernel."""
        self.take_in()
        rows = [f'<tr><th scope="row">{name}</th><td class="dsh-said">{value}</td></tr>' for name, value in _held(self)]
        table = f"<table><tbody>{''.join(rows)}</tbody></table>"
        says = html_text(self._says())
        head = f'<header>{html_text(type(self).__name__)} <span class="dsh-muted">{says}</span></header>'
        return Snapshot(f'<style>{repr_css()}</style><div class="dsh dsh-repr">{head}{table}</div>', repr(self)[1:-1])

    def _says(self) -> str:
        """What it shows, for its repr."""
        return ""

    def __repr__(self) -> str:
        self.take_in()
        says = cut(one_line(self._says()), 90)
        return f"<{type(self).__name__}{f' {says}' if says else ''}{', closed' if self._is_closed else ''}>"


def _held(widget: Any) -> Iterator[tuple[str, str]]:
    """Give what can be read in a box: the labels of its controls with their values, and its notices."""
    if getattr(widget.layout, "display", None) == "none":
        return
    if isinstance(widget, Notice):
        if widget.text:
            yield "", f"<i>{html_text(widget.text)}</i>"
    elif hasattr(widget, "children") and widget.children and all(map(_is_button, widget.children)):
        yield "", " ".join(map(_button_text, widget.children))
    elif _is_button(widget):
        yield "", _button_text(widget)
    elif isinstance(widget, ipywidgets.HTML):
        yield "", widget.value
    elif hasattr(widget, "children"):
        for inner in widget.children:
            yield from _held(inner)
    elif hasattr(widget, "description"):
        value = getattr(widget, "label", None) if hasattr(widget, "options") else widget.value
        shown = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
        yield (
            html_text(widget.description),
            f'<bdi style="white-space: pre-wrap">{html_text(cut(str(shown), 2000))}</bdi>',
        )


def _is_button(widget: Any) -> bool:
    return isinstance(widget, Button)


def _button_text(widget: Any) -> str:
    return f"[ {html_text(widget.description)} ]{' (not now)' if widget.disabled else ''}"


def close_tree(widget: Any) -> None:
    """Close a widget and everything that it is made of, layouts and styles included."""
    if not isinstance(widget, Part):
        for inner in _inside(widget):
            close_tree(inner)
    widget.close()


def _inside(widget: Any) -> Iterator[Any]:
    yield from getattr(widget, "children", ())
    for name in ("layout", "style"):
        inner = getattr(widget, name, None)
        if isinstance(inner, ipywidgets.Widget):
            yield inner


# Controls: each has a visible label, which is its name for a screen reader.


def _entry(label: str) -> dict[str, str]:
    return {"description_width": "12em" if len(label) <= _SHORT else "initial"}


def text(label: str, value: str = "", *, placeholder: str = "") -> Any:
    """One line of text."""
    return ipywidgets.Text(value, description=label, placeholder=placeholder, style=_entry(label))


def area(label: str, value: str = "", *, rows: int = 2, placeholder: str = "") -> Any:
    """Several lines of text."""
    return ipywidgets.Textarea(
        value, description=label, placeholder=placeholder, rows=rows, style=_entry(label), layout={"width": "52em"}
    )


def whole_number(label: str, value: int = 0) -> Any:
    """A whole number."""
    return ipywidgets.IntText(value, description=label, style=_entry(label))


def number(label: str, value: float = 0.0) -> Any:
    """A number."""
    return ipywidgets.FloatText(value, description=label, style=_entry(label))


def choice(label: str, options: Any, value: Any) -> Any:
    """One of a few; the options are values, or pairs of what is shown and the value."""
    return ipywidgets.Dropdown(options=options, value=value, description=label, style=_entry(label))


def offer(control: Any, options: Any, value: Any) -> None:
    """Let a choice offer other options; what observes it may hear of the first of them in between."""
    with control.hold_sync():
        if tuple(control.options) != tuple(options):
            control.options = options
        control.value = value


def flag(label: str, value: bool = False) -> Any:  # noqa: FBT001, FBT002 (the value is what it is about)
    """Yes or no."""
    return ipywidgets.Checkbox(value, description=label, indent=False)


def button(label: str, act: Callable[[], Any], *, is_main: bool = False, tooltip: str = "") -> Button:
    """Something to do."""
    made = Button(description=label, tooltip=tooltip, main=is_main)
    made.on_click(act)
    return made


def row(*children: Any) -> Any:
    """Controls side by side, on further lines where there is no room."""
    return ipywidgets.Box(children, layout={"display": "flex", "flex_flow": "row wrap", "align_items": "center"})


def column(*children: Any) -> Any:
    """Controls below each other."""
    return ipywidgets.VBox(children)


def show(widget: Any, is_shown: bool) -> None:  # noqa: FBT001 (the value is what it is about)
    """Show a widget, or take it out of the layout and out of reach."""
    widget.layout.display = None if is_shown else "none"
