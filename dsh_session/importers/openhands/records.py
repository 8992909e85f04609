"""The events of an OpenHands conversation: a folder of files, a list, lines, or an evaluation's output."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat.entries import entries
from dsh_session.importers.reading import document

EVENT_FILE: Final = re.compile(r"(?:event-(\d+)-.*|(\d+))\.json")
STATE_FILE: Final = "base_state.json"
_EVENTS: Final = "events"
HISTORIES: Final = ("history", "trajectory", "events", "items")
"""The fields that hold a conversation's events: in an evaluation's output, and in what the servers answer."""
_ABOVE: Final = f"../{STATE_FILE}"


class Record(NamedTuple):
    """One event and where it stands.

    Attributes:
        event: Its fields.
        file: The file.
        line: The line, or the entry of a file that is one list.
    """

    event: dict[str, Any]
    file: str
    line: int

    @property
    def key(self) -> str:
        """The event's id as text; "" where it has none."""
        return text_from(self.event.get("id"))

    def object(self, name: str) -> dict[str, Any]:
        """A field that should be an object; an empty one where it is not."""
        return object_of(self.event, name)


class Conversation(NamedTuple):
    """One conversation.

    Attributes:
        records: Its events, in order.
        name: What the log calls it; "" for nothing.
        state: What is known beside the events: the conversation's base state, or a run's facts.
        line: The line that the facts stand in; None for none.
    """

    records: list[Record]
    name: str
    state: dict[str, Any]
    line: int | None = None


def object_of(value: Any, name: str) -> dict[str, Any]:
    """Give a field that should be an object; an empty one where it is not.

    Example:
        >>> object_of({"args": {"a": 1}}, "args"), object_of({"args": None}, "args"), object_of(3, "args")
        ({'a': 1}, {}, {})
    """
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def event_files(folder: Path) -> list[Path]:
    """Give the files of a folder that hold one event each, in the order of their numbers."""
    found = []
    for path in folder.iterdir():
        match = EVENT_FILE.fullmatch(path.name)
        if match and path.is_file():
            found.append((int(match.group(1) or match.group(2)), path.name, path))
    return [path for _, _, path in sorted(found)]


def events_folder(folder: Path) -> Path | None:
    """Give the folder that a conversation's event files lie in: this one, or ``events`` in it."""
    for candidate in (folder, folder / _EVENTS):
        if candidate.is_dir() and event_files(candidate):
            return candidate
    return None


def read_conversations(path: Path, book: Book) -> list[Conversation]:
    """Read all conversations of a file or folder.

    Args:
        path: A conversation's folder, its folder of events, or a file.
        book: Takes the findings.

    Raises:
        OSError: When it cannot be opened.
    """
    if path.is_dir():
        return [_from_folder(path, book)]
    whole: list[Record] = []
    runs: list[Conversation] = []
    for number, value in entries(path, book):
        run = _run(value, book.file, number, book)
        if run is not None:
            runs.append(run)
        elif isinstance(value, dict):
            whole.append(Record(value, book.file, number))
        elif isinstance(value, list):
            items = list(_flat(value, number, book))
            whole.extend(Record(item, book.file, number) for item in items)
            if not items:
                book.side("entry", value, line=number)
        else:
            book.side("entry", value, line=number)
            book.finding("NOT_AN_EVENT", "an entry that is no object; it went to the side table", number)
    return [Conversation(whole, "", {}), *runs] if whole or not runs else runs


def _from_folder(path: Path, book: Book) -> Conversation:
    folder = events_folder(path)
    records: list[Record] = []
    state: dict[str, Any] = {}
    for base, name in ((path, STATE_FILE), (path.parent if folder == path and path.name == _EVENTS else None, _ABOVE)):
        if base is None or not (base / STATE_FILE).is_file():
            continue
        value = _open(base / STATE_FILE, name, book)
        if value is not None:
            book.side("base_state", value, line=1)
            state = value if isinstance(value, dict) else {}
        break
    _tell_of_others(path, folder, book)
    expected = None
    for file in event_files(folder) if folder else []:
        match = EVENT_FILE.fullmatch(file.name)
        number = int(match.group(1) or match.group(2)) if match else 0
        if expected is not None and number != expected:
            told = (
                f"event files {expected} to {number - 1} are missing"
                if number > expected
                else f"event {number} comes twice"
            )
            book.finding("MISSING_EVENTS", told)
        expected = number + 1
        value = _open(file, file.relative_to(path).as_posix(), book)
        if isinstance(value, dict):
            records.append(Record(value, book.file, 1))
        elif value is not None:
            book.side("entry", value, line=1)
            book.finding("NOT_AN_EVENT", f"{file.name} holds no object; it went to the side table", 1)
    return Conversation(records, "", state)


def _tell_of_others(path: Path, events: Path | None, book: Book) -> None:
    """Name the files of a conversation's folder that hold no events; they are left alone."""
    others = {
        file.relative_to(path).as_posix(): file.stat().st_size
        for file in sorted(path.iterdir())
        if file.is_file() and file.name != STATE_FILE and (path != events or not EVENT_FILE.fullmatch(file.name))
    }
    if others:
        book.file = ""
        named = ", ".join(list(others)[:3])
        book.side("other_files", others, line=None)
        book.finding("OTHER_FILES", f"{len(others)} files beside the events were not read: {named:.200}")


def _open(path: Path, name: str, book: Book) -> Any:
    book.file = name
    book.entries[name] = 1
    try:
        data = path.read_bytes()
    except OSError as error:
        book.finding("UNREADABLE_FILE", f"it cannot be read: {error.strerror}", 1)
        return None
    book.span(1, data.count(b"\n") + 1)
    return document(data, book)


def _run(value: Any, file: str, number: int, book: Book) -> Conversation | None:
    """Read one line of an evaluation's output: a run's facts and its history."""
    if not isinstance(value, dict) or any(key in value for key in ("action", "observation", "kind")):
        return None
    name = next((key for key in HISTORIES if isinstance(value.get(key), list)), None)
    if name is None:
        # A run that failed before it began has no history.
        return Conversation([], "", value, number) if "instance_id" in value and "history" in value else None
    facts = {key: item for key, item in value.items() if key != name}
    records = [Record(item, file, number) for item in _flat(value[name], number, book)]
    return Conversation(records, text_from(value.get("instance_id")), facts, number)


def _flat(values: list[Any], number: int, book: Book) -> Iterator[dict[str, Any]]:
    """Give events of a list, which older histories hold as pairs of an action and its observation."""
    for value in values:
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield item
                else:
                    book.side("entry", item, line=number)
        elif value is not None:
            book.side("entry", value, line=number)
