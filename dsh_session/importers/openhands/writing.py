"""What both generations of OpenHands' events are written with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.book import Book
from dsh_session.importers.chat import moment
from dsh_session.importers.openhands.condensation import View
from dsh_session.importers.openhands.records import Record

PLUGIN: Final = "openhands"
_PICTURES: Final = frozenset({"screenshot", "screenshot_data", "set_of_marks"})


class Writer:
    """Writes one conversation; a generation's own class says what each event is.

    Attributes:
        make: Writes the session.
        book: The book.
        view: The events that the model is given.
        route: Provider and model, as far as they are known.
    """

    def __init__(self, make: Assembler, records: Sequence[Record], route: Mapping[str, str]) -> None:
        """Take what writes the session, and the events."""
        self.make = make
        self.book: Book = make.book
        self.records = self._once(records)
        self.route = dict(route)
        self.view = View(make)
        self._unknown: set[str] = set()

    def _once(self, records: Sequence[Record]) -> list[Record]:
        """Leave out events whose id came before, as resumed and merged logs hold them."""
        seen: set[str] = set()
        kept = []
        for record in records:
            if record.key and record.key in seen:
                self.at(record)
                self.make.finding("DUPLICATE_ID", f"the event {record.key:.80} comes twice; the first one counts")
                self.make.side("duplicate", record.event)
            else:
                seen.add(record.key)
                kept.append(record)
        return kept

    def at(self, record: Record, *further: Record) -> Assembler:
        """Say which event what follows comes from; further ones of the same file are named with it."""
        self.book.file = record.file
        lines = [record.line, *(other.line for other in further if other.file == record.file)]
        return self.make.at(lines, moment(record.event.get("timestamp")), file=record.file)

    def aside(self, record: Record, key: str, *, seq: int | None = None) -> None:
        """Keep a whole event that is none of the log's."""
        self.at(record)
        self.make.side(key, record.event, seq=seq)

    def rest(self, record: Record, known: frozenset[str], *, seq: int) -> None:
        """Keep the fields of an event that have no place in ours."""
        for name, value in record.event.items():
            if name not in known and value not in (None, "", [], {}):
                self.make.side(name, value, seq=seq)

    def apart(self, is_part: Callable[[dict[str, Any]], bool]) -> list[int]:
        """Give for each event, and for the end, the place of the next one that is no part of any step."""
        found = [len(self.records)] * (len(self.records) + 1)
        for at in range(len(self.records) - 1, -1, -1):
            found[at] = found[at + 1] if is_part(self.records[at].event) else at
        return found

    def unknown(self, kind: str) -> None:
        """Say, once for each, that events of a kind are not known."""
        if kind not in self._unknown:
            self._unknown.add(kind)
            named = f"of kind {kind!r:.80}" if kind else "without a kind"
            self.make.finding("UNKNOWN_TYPE", f"events {named} are not known; they went to the side table")

    def joined(self, first: Record, parts: Sequence[Record], seq: int) -> None:
        """Note that an event was made of events in other files too."""
        for part in parts:
            if part.file != first.file:
                self.book.source(self.make.id, seq, part.line, file=part.file)

    def moved(self, record: Record, seq: int) -> None:
        """Say that a result was written in the step of its call, and stood elsewhere."""
        self.make.side("moved", {"id": record.event.get("id"), "timestamp": record.event.get("timestamp")}, seq=seq)


def without_pictures(fields: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Part what an observation says beside its text from the pictures in it, which are large.

    Args:
        fields: The observation's further fields.

    Returns:
        The fields that are no pictures, None for nothing, and those that are.

    Example:
        >>> without_pictures({"url": "u", "screenshot": "data:image/png;base64,iVBORw0K", "set_of_marks": ""})
        ({'url': 'u', 'set_of_marks': ''}, {'screenshot': 'data:image/png;base64,iVBORw0K'})
    """
    pictures = {
        name: value
        for name, value in (fields or {}).items()
        if isinstance(value, str) and (value.startswith("data:image/") or (name in _PICTURES and value))
    }
    rest = {name: value for name, value in (fields or {}).items() if name not in pictures}
    return rest or None, pictures


def is_number(value: Any) -> TypeGuard[int]:
    """Tell whether a value is an integer, and no truth value."""
    return type(value) is int
