"""Recognising and reading OpenHands' conversations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat import moment
from dsh_session.importers.chat.digest import digest_of, free_id, is_handy
from dsh_session.importers.chat.routes import route_of
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.openhands.branches import tree_of
from dsh_session.importers.openhands.delegates import Delegate, without_delegates
from dsh_session.importers.openhands.records import (
    EVENT_FILE,
    HISTORIES,
    Conversation,
    Record,
    event_files,
    events_folder,
    object_of,
    read_conversations,
)
from dsh_session.importers.openhands.v0 import FirstGeneration
from dsh_session.importers.openhands.v0_shapes import is_first_generation
from dsh_session.importers.openhands.v1 import SecondGeneration, is_second_generation
from dsh_session.importers.openhands.writing import PLUGIN
from dsh_session.importers.registry import ImportLogError

_DEEPEST: Final = 20


class OpenHands:
    """Reads conversations of OpenHands, of both generations.

    A log is a folder of event files (or the conversation's folder around it), a JSON list of events,
    lines, or an evaluation's output with a history in each line.
    """

    name = "openhands"
    agent = "OpenHands"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by events with a kind, or by actions and observations."""
        if sample.is_dir:
            return _is_conversation(sample.path)
        votes = [is_second_generation(value) or is_first_generation(value) for value in sample.objects]
        if votes and sum(votes) * 2 > len(votes):
            return True
        return any(_holds_history(value) for value in sample.objects)

    def find(self, folder: Path) -> Iterator[Path]:
        """Give the folders of conversations below a folder."""
        yield from _conversations(folder, 0)

    def read(self, path: Path, **_options: Any) -> Imported:
        """Read a log.

        Raises:
            ImportLogError: ``IMPORT_EMPTY`` when it holds no event.
            OSError: When it cannot be opened.
        """
        book = Book("" if path.is_dir() else path.name)
        conversations = read_conversations(path, book)
        for empty in (found for found in conversations if not found.records and found.state):
            book.side("run", empty.state, line=empty.line)
        conversations = [found for found in conversations if found.records]
        if not conversations:
            raise ImportLogError("IMPORT_EMPTY", f"{path}: there is no event of OpenHands' in it")
        found = _Found(book)
        for conversation in conversations:
            found.take(conversation, is_folder=path.is_dir())
        return Imported(
            found.sessions[0],
            book,
            agent=self.agent,
            forks=found.forks,
            subagents=found.subagents,
            lineage=found.lineage,
            others=found.sessions[1:],
        )


class _Found:
    """The sessions of a log, as they are written."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.sessions: list[Session] = []
        self.forks: list[Session] = []
        self.subagents: list[Session] = []
        self.lineage: list[Descent] = []
        self._taken: set[str] = set()

    def take(self, conversation: Conversation, *, is_folder: bool) -> None:
        """Write a conversation with all that belongs to it."""
        book = self.book
        identity = _identity(conversation, self._taken)
        if conversation.state and not is_folder:
            book.side("run", conversation.state, line=conversation.line, session=identity)
        tree = tree_of(conversation.records, conversation.state.get("leaf_event_id"), book)
        for record in tree.left:
            book.side("left_behind", record.event, line=record.line, session=identity, file=record.file)
        records, delegates = without_delegates(tree.active)
        main = _written(identity, records, conversation, book)
        self.sessions.append(main.finish())
        for number, path in enumerate(tree.forks, 1):
            self._fork(main, free_id(f"{identity}-branch-{number}", self._taken), path, conversation)
        names: dict[int, str] = {}
        for delegate in delegates:
            parent = identity if delegate.parent is None else names.get(id(delegate.parent), identity)
            names[id(delegate)] = name = _child_identity(identity, delegate, self._taken)
            self.subagents.append(_written(name, delegate.records, conversation, book, parent).finish())
            self.lineage.append(Descent(name, parent, 0, "subagent", delegate.call or None))

    def _fork(self, main: Assembler, name: str, path: list[Record], conversation: Conversation) -> None:
        """Write a branch that was left behind.

        It is written from its first event, for what it forgot and what not depends on all of them; what
        it has in common with the active path is told of once.
        """
        apart = Book(self.book._first)
        make = _written(name, path, conversation, apart, main.id)
        length, common = _shared(main, make)
        make._wire["seedLength"] = length
        session = make.finish()
        self.book.side_rows += [row for row in apart.side_rows if row[1] is None or row[1] >= length]
        for _, first, stop, file, lines in apart.source_runs:
            if stop > length:
                self.book.source_runs.append((name, max(first, length), stop, file, lines))
        known = set(self.book.findings)
        for at, finding in enumerate(apart.findings):
            if finding not in known:
                if at in apart.places:
                    self.book.places[len(self.book.findings)] = apart.places[at]
                self.book.findings.append(finding)
        if common > length:
            told = f"the fork {name} leaves in the middle of a turn; it begins at the last turn's end"
            self.book.finding("BRANCH_MID_TURN", told)
        self.forks.append(session)
        self.lineage.append(Descent(name, main.id, length, "fork"))


def _shared(main: Assembler, other: Assembler) -> tuple[int, int]:
    """Give how many leading events two logs share up to a turn's end, and how many in all."""
    length = common = 0
    for one, two in zip(main._log, other._log, strict=False):
        if one.to_json() != two.to_json():
            break
        common += 1
        if one.type == "turn/end":
            length = common
    return length, common


def _written(
    identity: str, records: list[Record], conversation: Conversation, book: Book, parent: str | None = None
) -> Assembler:
    times = (moment(record.event.get("timestamp")) for record in records)
    header: dict[str, Any] = {"id": identity, "createdAt": next((time for time in times if time is not None), 0)}
    if parent:
        header["parentSession"] = parent
    directory = object_of(conversation.state, "workspace").get("working_dir")
    if isinstance(directory, str) and directory.startswith("/"):
        header["cwd"] = directory
    make = Assembler(header, book, plugin=PLUGIN)
    kinds = sum(1 if is_second_generation(record.event) else -1 for record in records)
    route = _route(conversation.state)
    writer: FirstGeneration | SecondGeneration
    writer = SecondGeneration(make, records, route) if kinds > 0 else FirstGeneration(make, records, route)
    writer.write()
    return make


def _route(state: dict[str, Any]) -> dict[str, str]:
    llm = object_of(object_of(state, "agent"), "llm") or object_of(object_of(state, "metadata"), "llm_config")
    return route_of(llm.get("model"))


def _identity(conversation: Conversation, taken: set[str]) -> str:
    """Give a session's id, from what the log holds: its own, a run's name, or a sum over its events."""
    own = text_from(conversation.state.get("id")) or conversation.name
    if not is_handy(own):
        own = f"openhands-{digest_of([record.event for record in conversation.records])}"
    return free_id(own, taken)


def _child_identity(parent: str, delegate: Delegate, taken: set[str]) -> str:
    return free_id(f"{parent}-{delegate.name}" if is_handy(delegate.name) else f"{parent}-delegate", taken)


def _holds_history(value: dict[str, Any]) -> bool:
    history = next((value[key] for key in HISTORIES if isinstance(value.get(key), list)), None)
    if history is None or "messages" in value:
        return False
    flat = [item for entry in history[:6] for item in (entry if isinstance(entry, list) else [entry])]
    return any(is_first_generation(item) or is_second_generation(item) for item in flat)


def _is_conversation(folder: Path) -> bool:
    events = events_folder(folder)
    if events is None:
        return False
    first = event_files(events)[0]
    if first.name.startswith("event-"):
        return True
    head = Sample.of(first)
    return any(is_first_generation(value) for value in head.objects)


def _conversations(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    names = {entry.name for entry in entries}
    if ("events" in names or any(map(EVENT_FILE.fullmatch, names))) and _is_conversation(folder):
        yield folder
        return
    if depth < _DEEPEST:
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                yield from _conversations(entry, depth + 1)


IMPORTER = OpenHands()
