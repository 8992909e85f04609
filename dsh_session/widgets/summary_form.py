"""Choosing what takes a range's place: a text by hand, or a summariser."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from traitlets import TraitError

from dsh_session.compaction.summarisers import ChatSummariser, extractive
from dsh_session.compaction.summary import BY_HAND, Summary
from dsh_session.core.errors import SessionError
from dsh_session.widgets import parts
from dsh_session.widgets.notice import Notice

NAME_BY_HAND = "by hand"
_EXTRACTIVE = "extractive, without a model"
_MODEL = "the configured model"


class SummaryForm:
    """A choice of summarisers, and a text area for a summary by hand.

    Attributes:
        widget: The box of controls.
        notice: What is wrong with the summary.
        names: What can summarise, by the names that are offered.

    Example:
        >>> form = SummaryForm({"shouting": str.upper}, lambda: None)
        >>> form.names[-1], form.name
        ('shouting', 'by hand')
        >>> form.text = "We renamed it."
        >>> form.summarise("…").content
        'We renamed it.'
        >>> form.close()
    """

    def __init__(self, more: Mapping[str, Any] | None, changed: Callable[[], Any]) -> None:
        """Offer summarisers.

        Args:
            more: Further ones by name. A model is offered by itself where the environment configures one.
            changed: Called after each change.
        """
        self._summarisers: dict[str, Any] = {
            NAME_BY_HAND: None,
            _EXTRACTIVE: extractive,
            **configured_model(),
            **(more or {}),
        }
        self.names = tuple(self._summarisers)
        self.notice = Notice()
        self._choice = parts.choice("Summary", list(self.names), NAME_BY_HAND)
        self._text = parts.area("Summary text", rows=5)
        self.widget = parts.column(self._choice, self._text, self.notice)
        for control in (self._choice, self._text):
            control.observe(lambda _: self._on_change(changed), "value")

    def _on_change(self, changed: Callable[[], Any]) -> None:
        parts.show(self._text, self.is_by_hand)
        changed()

    @property
    def name(self) -> str:
        """The chosen one's name."""
        name: str = self._choice.value
        return name

    @name.setter
    def name(self, value: str) -> None:
        if value == extractive.__name__ and value not in self.names:
            value = _EXTRACTIVE
        if value not in self.names:
            raise TraitError(f"summariser={value!r}: give one of {', '.join(map(repr, self.names))}")
        self._choice.value = value

    @property
    def is_by_hand(self) -> bool:
        """Whether the summary is the text in the form."""
        return self.name == NAME_BY_HAND

    @property
    def text(self) -> str:
        """The text by hand; setting it chooses it."""
        text: str = self._text.value
        return text

    @text.setter
    def text(self, value: str) -> None:
        self._choice.value = NAME_BY_HAND
        self._text.value = value

    @property
    def summarise(self) -> Any:
        """What summarises. The text by hand answers every transcript, and the log says that it was written by hand."""
        if not self.is_by_hand:
            return self._summarisers[self.name]
        text = self.text
        return lambda _transcript: Summary(text, model=BY_HAND)

    @property
    def answers_at_once(self) -> bool:
        """Whether it may be asked for a preview, and by a notebook that waits: it is no model."""
        return self.is_by_hand or self._summarisers[self.name] is extractive

    def enable(self, is_enabled: bool) -> None:  # noqa: FBT001 (the value is what it is about)
        """Let the form be changed, or not."""
        self._choice.disabled = self._text.disabled = not is_enabled

    def clear(self) -> None:
        """Give up the text."""
        self._text.value = ""

    def close(self) -> None:
        """Close the controls."""
        parts.close_tree(self.widget)


def configured_model() -> dict[str, Any]:
    """Offer the model that the environment configures, if it configures one; see `ChatSummariser`."""
    if not os.environ.get("DSH_SESSION_CHAT_URL"):
        return {}
    try:
        return {_MODEL: ChatSummariser()}
    except SessionError:  # without a model's name, or without the library
        return {}
