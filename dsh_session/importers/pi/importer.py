"""Reading a session file of pi, oh-my-pi, or a program that writes like them."""

from pathlib import Path
from typing import Any, Final

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat.moments import moment
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.paths import MOST_BRANCHES, Paths, find_paths
from dsh_session.importers.paths import Path as BranchPath
from dsh_session.importers.pi.entries import KNOWN, PiLog, read_entries, unwrapped
from dsh_session.importers.pi.lineage import copied_entries, parent_id
from dsh_session.importers.pi.writer import EntryWriter

ROLES: Final = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"})
NEWEST: Final = 3
"""The newest format version that is known."""


class PiImporter:
    """Reads session files of pi and oh-my-pi.

    Attributes:
        name: ``"pi"``.
        agent: ``"pi"``.
    """

    name = "pi"
    agent = "pi"

    def recognises(self, sample: Sample) -> bool:
        """Tell whether a file holds a pi session: by its header, or by entries that lost it."""
        for line in map(unwrapped, sample.objects):
            kind = text_from(line.get("type"))
            if kind == "session":
                return "createdAt" not in line and ("timestamp" in line or "cwd" in line)
            message = line.get("message")
            if kind == "message" and isinstance(message, dict) and text_from(message.get("role")) in ROLES:
                return True
            if kind in KNOWN and "parentId" in line and "timestamp" in line:
                return True
        return False

    def read(self, path: Path, **options: Any) -> Imported:
        """Read a session file: the active path, and every other branch as a fork."""
        del options
        book = Book(path.name)
        return self.read_source(path, book, beside=path)

    def read_source(self, source: Path | bytes, book: Book, *, beside: Path | None = None) -> Imported:
        """Read a session from a file or from its bytes.

        Args:
            source: The file, or its bytes.
            book: Takes the findings.
            beside: Where the file lies: the session it was forked from may lie there too.
        """
        log = read_entries(source, book)
        found = find_paths(
            log.parents, log.leaf, lambda number: log.entries[number].matters and number not in log.copies
        )
        wire = _header_of(log, book)
        make = Assembler(wire, book, plugin="pi")
        writers = [EntryWriter(log, found.paths[0].entries, make)]
        writers[0].write()
        lineage = _inherit(log, found, writers[0], beside)
        sessions = [make.finish()]
        taken = {make.id}
        for path in found.paths[1:]:
            assert path.parent is not None
            parent = writers[path.parent]
            begin = parent.boundaries.before(path.shared)
            _note_branch(
                log,
                path,
                parent,
                is_mid_turn=any(log.entries[number].matters for number in path.entries[begin.position : path.shared]),
            )
            last = next(log.entries[number] for number in reversed(path.entries) if log.entries[number].matters)
            identity = f"{make.id}~{last.id or last.line}"
            if identity in taken:
                identity = f"{make.id}~{last.line}"
            taken.add(identity)
            child = parent.make.branch(identity, begin.length)
            writer = EntryWriter(log, path.entries, child, begin, parent.nodes)
            writer.write()
            writers.append(writer)
            sessions.append(child.finish())
            lineage.append(Descent(identity, parent.make.id, begin.length, "fork"))
        _note_loose(log, found, book, make.id)
        return Imported(sessions[0], book, agent=self.agent, forks=sessions[1:], lineage=lineage)


IMPORTER: Final = PiImporter()


def _header_of(log: PiLog, book: Book) -> dict[str, Any]:
    header = log.header
    if log.header_line is None:
        book.finding("NO_HEADER", "the file has no session header; its id and its time were made up from the entries")
    version = header.get("version", 1)
    if version not in (1, 2, NEWEST):
        told = f"the session's format version is {version!r}, newer than {NEWEST}; it was read as far as it is known"
        book.finding("NEWER_VERSION", told, log.header_line)
    times = (entry.time for entry in log.entries if entry.time is not None)
    created = moment(header.get("timestamp"))
    wire: dict[str, Any] = {
        "id": text_from(header.get("id")) or "pi-session",
        "createdAt": next(times, 0) if created is None else created,
    }
    if isinstance(header.get("cwd"), str):
        wire["cwd"] = header["cwd"]
    parent = parent_id(header)
    if parent:
        wire["parentSession"] = parent
    return wire


def _inherit(log: PiLog, found: Paths, writer: EntryWriter, beside: Path | None) -> list[Descent]:
    """Say which leading events of the session are copies of the session that it was forked from."""
    parent = parent_id(log.header)
    path = found.paths[0].entries
    copied = None if parent is None or beside is None else copied_entries(log, path, beside)
    if parent is None or copied is None:
        return []
    length = writer.boundaries.before(copied).length
    if length:
        writer.make.inherit(length)
    writer.make.at(log.header_line)
    told = f"the first {copied} entries are copies of the session {parent!r}; {length} events came from it"
    writer.make.finding("INHERITED", told)
    return [Descent(writer.make.id, parent, length, "fork")]


def _note_branch(log: PiLog, path: BranchPath, parent: EntryWriter, *, is_mid_turn: bool) -> None:
    own = [log.entries[number] for number in path.entries[path.shared :]]
    parent.make.at(own[0].line)
    if is_mid_turn:
        told = "a branch leaves its path in the middle of a turn; the fork shares what is before that turn"
        parent.make.finding("BRANCH_MID_TURN", told)
    if all(entry.kind == "compaction" or not entry.matters for entry in own):
        parent.make.finding("ORPHAN_COMPACTION", "a branch that holds a compaction and no message; it is a fork")


def _note_loose(log: PiLog, found: Paths, book: Book, session: str) -> None:
    """Keep what is on no path in the side table."""
    for number in found.aside:
        entry = log.entries[number]
        key = "duplicate" if number in log.copies else entry.kind or "entry"
        book.side(key, entry.data, line=entry.line, session=session)
    for number in found.left_out:
        entry = log.entries[number]
        book.side("left_out", entry.data, line=entry.line, session=session)
    if found.left_out:
        told = f"the session has more than {MOST_BRANCHES} branches; those after them are kept in the side table"
        book.finding("TOO_MANY_BRANCHES", told, log.entries[found.left_out[0]].line)
