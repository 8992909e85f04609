"""A response that is being collected: the items between two requests."""

from collections.abc import Iterator
from typing import Any

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.finished import Finished
from dsh_session.importers.codex.items import aside_of, blocks_of, call_of, plain_text, reasoning_of
from dsh_session.importers.codex.records import Record


class Draft:
    """The parts of one response, in the order in which they came.

    Attributes:
        parts: Items, or the events that stand for them.
        finished: Tools of which the log holds call and result at once.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.parts: list[Record] = []
        self.finished: list[Finished] = []
        self._calls: dict[int, dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self.parts)

    def add(self, record: Record) -> None:
        """Add a part."""
        self.parts.append(record)

    @property
    def has_results(self) -> bool:
        """Whether a tool has answered: what comes next is another response."""
        return bool(self.finished)

    def finish(self, record: Record, item: Finished) -> None:
        """Add a tool that was called and has answered."""
        self._calls[len(self.parts)] = item.call
        self.parts.append(record)
        self.finished.append(item)

    @property
    def lines(self) -> list[int]:
        """The lines of all parts."""
        return list(dict.fromkeys(record.line for record in self.parts))

    @property
    def time(self) -> int | None:
        """When the last part came."""
        return next((record.time for record in reversed(self.parts) if record.time is not None), None)

    def blocks(self) -> list[Any]:
        """Give the content of the response."""
        made: list[Any] = []
        for at, record in enumerate(self.parts):
            if at in self._calls:
                made.append(self._calls[at])
            elif record.kind == "event":
                kind = "reasoning" if record.type == "agent_reasoning" else "text"
                made.append({"type": kind, "text": _spoken_text(record)})
            elif record.type == "message":
                made += blocks_of(record.data.get("content"))
            elif record.type == "reasoning":
                made += reasoning_of(record.data)
            else:
                made.append(call_of(record))
        return made

    def texts(self) -> Iterator[tuple[str, str]]:
        """Give the role and the text of each message in it."""
        for record in self.parts:
            if record.type == "message":
                yield "assistant", plain_text(record.data.get("content"))
            elif record.type == "agent_message":
                yield "assistant", _spoken_text(record)

    def aside(self) -> Iterator[tuple[int, str, Any]]:
        """Give what the parts hold that has no place in a block, as (line, key, value)."""
        for record in self.parts:
            if record.kind != "item":
                continue
            rest = aside_of(record.data)
            if record.type == "reasoning" and record.data.get("content") and record.data.get("summary"):
                rest["summary"] = record.data["summary"]
            for key, value in rest.items():
                yield record.line, f"{record.type}.{key}", value


def _spoken_text(record: Record) -> str:
    return text_from(record.data.get("message", record.data.get("text")))
