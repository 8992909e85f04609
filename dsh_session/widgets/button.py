"""A button that acts when all that was typed before it has arrived."""

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import anywidget
import traitlets

_STATIC = resources.files(__package__).joinpath("static")


class Button(anywidget.AnyWidget):
    """Something to do.

    A click of a plain button may overtake what was typed just before it. This one asks its page first, and acts on the
    answer, which travels behind everything else that was said.

    Attributes:
        description: What it does; its name for a screen reader.
        tooltip: More about that.
        disabled: Whether it does nothing now; it keeps the focus.
        main: Whether it is what a form is for.
        expanded: Whether what it opens is open; None for one that opens nothing.

    Example:
        >>> button = Button(description="Append")
        >>> button.on_click(lambda: print("appended"))
        >>> button.click()
        appended
        >>> button
        <Button Append>
        >>> button.close()
    """

    _esm: Any = _STATIC.joinpath("button.js").read_text(encoding="utf-8")
    _css: Any = _STATIC.joinpath("forms.css").read_text(encoding="utf-8")
    description = traitlets.Unicode("").tag(sync=True)
    tooltip = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(default_value=False).tag(sync=True)
    main = traitlets.Bool(default_value=False).tag(sync=True)
    expanded = traitlets.Bool(default_value=None, allow_none=True).tag(sync=True)

    def __init__(self, **values: Any) -> None:
        """Take the traits' values."""
        self._acts: list[Callable[[], Any]] = []
        super().__init__(**values)
        self.on_msg(self._heard)

    def on_click(self, act: Callable[[], Any]) -> None:
        """Call a function at each click."""
        self._acts.append(act)

    def click(self) -> None:
        """Do it, as a click does; nothing while it is disabled."""
        if not self.disabled:
            for act in list(self._acts):
                act()

    def _heard(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, Mapping):
            return
        if content.get("type") == "press":
            self.send({"type": "settle", "view": content.get("view")})
        elif content.get("type") == "pressed":
            self.click()

    def close(self) -> None:
        """Close it; it acts no more."""
        self._acts.clear()
        super().close()

    def __repr__(self) -> str:
        return f"<Button {self.description}{', disabled' if self.disabled else ''}>"
