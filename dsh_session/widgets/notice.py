"""A line that says what happened, for eyes and for screen readers."""

from importlib import resources
from typing import Any, Literal

import anywidget
import traitlets

from dsh_session.views.escape import cut, visible

Kind = Literal["info", "done", "busy", "warning", "error"]

_STATIC = resources.files(__package__).joinpath("static")
_LONGEST = 2000  # characters


class Notice(anywidget.AnyWidget):
    """A line of text with a kind; empty ones take no room.

    The text stays text in the browser, whatever it holds, and is announced when it changes.

    Attributes:
        text: What it says.
        kind: `info`, `done`, `busy`, `warning` or `error`; each has a sign and a border of its own.

    Example:
        >>> notice = Notice()
        >>> notice.say("appended as seq 4", "done")
        >>> notice
        <Notice done: appended as seq 4>
        >>> notice.close()
    """

    _esm: Any = _STATIC.joinpath("notice.js").read_text(encoding="utf-8")
    _css: Any = _STATIC.joinpath("forms.css").read_text(encoding="utf-8")
    text = traitlets.Unicode("").tag(sync=True)
    kind = traitlets.Unicode("info").tag(sync=True)

    def say(self, text: str, kind: Kind = "info") -> None:
        """Say something.

        Args:
            text: Plain text of any origin; what cannot be seen in it is made visible.
            kind: What sort of thing it is.
        """
        with self.hold_sync():
            self.kind = kind
            self.text = cut(visible(text), _LONGEST) if text else ""

    def clear(self) -> None:
        """Say nothing."""
        self.say("")

    def __repr__(self) -> str:
        return f"<Notice {self.kind}: {self.text}>"
