"""What a summariser is and what it gives."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from dsh_session.compaction.transcript import Transcript
from dsh_session.core.content import Content

PROVIDER = "dsh_session"
"""The provider of a summary that no model wrote."""

BY_HAND = "by-hand"
"""The model of a summary whose author gave no name."""


class Summary(NamedTuple):
    """A summary that says where it comes from.

    Attributes:
        content: Text or content blocks.
        provider: Who ran the model.
        model: The model, or the summariser's name.
        max_tokens: The limit that the model was given, if it was.
    """

    content: Content
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None

    @classmethod
    def of(cls, told: Any) -> "Summary":
        """Take what a summariser gave: a summary, or its content alone.

        Example:
            >>> Summary.of("We renamed it.")
            Summary(content='We renamed it.', provider=None, model=None, max_tokens=None)
        """
        return told if isinstance(told, Summary) else cls(told)


Summarise = Callable[[Transcript], Any]
"""Takes a transcript, which is a `str`, and gives text, content blocks or a `Summary`."""

SummariseAsync = Callable[[Transcript], Awaitable[Any] | Any]
"""The same, or a coroutine function of it."""


def name_of_summariser(summarise: Any) -> str:
    """Give the name that stands in the log for a summariser that gives none.

    Example:
        >>> name_of_summariser(len), name_of_summariser(lambda transcript: "")
        ('len', 'lambda')
    """
    name = getattr(summarise, "name", None) or getattr(summarise, "__name__", None) or type(summarise).__name__
    return name.strip("<>") if isinstance(name, str) else BY_HAND
