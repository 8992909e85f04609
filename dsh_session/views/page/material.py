"""What all parts of the page are made of: the log, read once, and what was worked out of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from dsh_session.compaction.meter import BLOCK_TOKENS, MESSAGE_TOKENS, TokenMeter
from dsh_session.views.frames.entries import Entry, entries
from dsh_session.views.page.outline import Outline, outline
from dsh_session.views.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.core.session import Session
    from dsh_session.core.store import SessionStore

__all__ = ["Material", "Prices"]


class Material:
    """A session, and what the parts of its page share, each worked out when it is first wanted.

    Attributes:
        session: The session; a live one may grow meanwhile, what is here does not.
        store: The store that it lives in, for its relatives; or `None`.
        rows: How many rows the table of events may have.

    Example:
        >>> from dsh_session import samples
        >>> material = Material(samples.load("pi-compacted-twice"))
        >>> len(material.entries), len(material.outline.turns)
        (2540, 57)
    """

    def __init__(self, session: Session, store: SessionStore | None = None, rows: int = 1500) -> None:
        """Take what the page is about; nothing is read yet."""
        self.session = session
        self.store = store
        self.rows = rows

    @cached_property
    def reading(self) -> Reading:
        """The log as it is now, folded."""
        return Reading.of(self.session)

    @property
    def events(self) -> Sequence[SessionEvent]:
        """Its events."""
        return self.reading.events

    @cached_property
    def entries(self) -> list[Entry]:
        """Its events in their places; an event's seq is its index."""
        return list(entries(self.reading))

    @cached_property
    def outline(self) -> Outline:
        """Its turns, and what is where."""
        return outline(self.reading)

    @cached_property
    def meter(self) -> Prices:
        """What estimates tokens, each event once."""
        return Prices(self.entries)


class Prices(TokenMeter):
    """The usual estimate of tokens, of events that were read already: none is decoded twice.

    Example:
        >>> from dsh_session import samples
        >>> material = Material(samples.load("pi-compacted-twice"))
        >>> [Prices(material.entries).estimate_event(event) for event in material.events[:4]]
        [0, 52, 0, 55]
    """

    def __init__(self, read: Sequence[Entry]) -> None:
        """Take the events of one log."""
        super().__init__()
        self._read = read
        self._prices: dict[int, int] = {}

    def estimate_event(self, event: SessionEvent) -> int:
        """Give the tokens of the message that an event of this log derives."""
        seq = event.seq
        price = self._prices.get(seq)
        if price is None:
            price = self._of_entry(self._read[seq]) if event.type in _PLAIN else None
            price = self._prices[seq] = super().estimate_event(event) if price is None else price
        return price

    def _of_entry(self, entry: Entry) -> int | None:
        """The same from what was read; `None` where the payload holds more than that."""
        blocks: Any = entry.payload.content
        if entry.type == "assistant/message" and not blocks:
            return None if blocks is None else 0
        size = MESSAGE_TOKENS + (BLOCK_TOKENS if entry.type == "tool/result" else 0)
        waiting = [blocks]
        while waiting:
            level = waiting.pop()
            if level is None:
                return None
            for block in level:
                tag = block.type
                size += BLOCK_TOKENS
                if tag == "tool-result":
                    waiting.append(block.content)
                elif tag in _SAID and block.text is not None:
                    size += self.count_text(block.text)
                elif tag == "tool-call" and block.name is not None and block.arguments is not None:
                    size += self.count_text(block.name) + self.count_text(block.arguments)
                else:
                    return None
        return size


_PLAIN = frozenset({"user/message", "assistant/message", "tool/result"})
_SAID = frozenset({"text", "reasoning"})
