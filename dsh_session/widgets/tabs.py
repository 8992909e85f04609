"""Tabs over one panel of static HTML."""

from importlib import resources
from typing import Any

import anywidget
import traitlets

_STATIC = resources.files(__package__).joinpath("static")


class Tabs(anywidget.AnyWidget):
    """A list of tabs; what the chosen one shows is written by the kernel when it is asked for.

    Arrow keys, Home and End go from tab to tab.

    Attributes:
        label: What the tabs are, for screen readers.
        names: The tabs' names.
        selected: The chosen one's place.
        html: What is shown. It becomes part of the page as it stands: every text of a log in it is escaped.

    Example:
        >>> tabs = Tabs(names=["Event", "Messages"])
        >>> tabs
        <Tabs Event, Messages: Event>
        >>> tabs.close()
    """

    _esm: Any = _STATIC.joinpath("tabs.js").read_text(encoding="utf-8")
    _css: Any = _STATIC.joinpath("forms.css").read_text(encoding="utf-8")
    label = traitlets.Unicode("").tag(sync=True)
    names: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    html = traitlets.Unicode("").tag(sync=True)

    @traitlets.validate("selected")
    def _in_range(self, proposal: dict[str, int]) -> int:
        return max(0, min(proposal["value"], len(self.names) - 1))

    def __repr__(self) -> str:
        chosen = self.names[self.selected] if self.names else "none"
        return f"<Tabs {', '.join(self.names)}: {chosen}>"
