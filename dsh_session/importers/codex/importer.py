"""Reading a rollout of Codex."""

from pathlib import Path
from typing import Any, Final

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat.moments import moment
from dsh_session.importers.codex.lineage import copied_records, named_threads, parent_of, rollout_of
from dsh_session.importers.codex.records import ENVELOPES
from dsh_session.importers.codex.rollout import Rollout, is_response_part, read_rollout
from dsh_session.importers.codex.settings import first_settings
from dsh_session.importers.codex.writer import RolloutWriter, State
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.paths import MOST_BRANCHES, Boundary, Paths, find_paths
from dsh_session.importers.paths import Path as Branch

COMPACTIONS: Final = ("collapse", "exact")
"""How compactions are written; see `dsh_session.importers.codex.compaction`."""

_BARE: Final = frozenset({"function_call", "function_call_output", "local_shell_call", "custom_tool_call"})
_DEEPEST: Final = 4
"""How deep sub-agents of sub-agents are followed."""


class CodexImporter:
    """Reads rollouts of Codex.

    Attributes:
        name: ``"codex"``.
        agent: ``"Codex"``.
    """

    name = "codex"
    agent = "Codex"

    def recognises(self, sample: Sample) -> bool:
        """Tell whether a file holds a rollout, of today or of the first versions."""
        document = sample.document
        if isinstance(document, dict) and isinstance(document.get("session"), dict) and "items" in document:
            return isinstance(document["items"], list)
        if any(map(_is_record, sample.objects)):
            return True
        # Items without an envelope are the first versions' lines; in one list they are a request's.
        return document is None and any(map(_is_bare_item, sample.objects))

    def read(self, path: Path, *, compaction: str = "collapse", **options: Any) -> Imported:
        """Read a rollout, what it took back as forks, and the sub-agents whose rollouts lie beside it.

        Args:
            path: The file.
            compaction: ``"collapse"`` writes a compaction as one replacement of everything; ``"exact"``
                also writes the messages that it kept again, each citing the one that it repeats.
            options: Ignored.

        Raises:
            ValueError: For another `compaction`.
        """
        del options
        if compaction not in COMPACTIONS:
            raise ValueError(f"compaction must be one of {', '.join(COMPACTIONS)}, not {compaction!r}")
        book = Book(path.name)
        reading = _Reading(book, compaction)
        session = reading.read(path)
        return Imported(
            session,
            book,
            agent=self.agent,
            forks=reading.forks,
            subagents=reading.subagents,
            lineage=reading.lineage,
        )


IMPORTER: Final = CodexImporter()


def _is_record(line: dict[str, Any]) -> bool:
    kind = text_from(line.get("type"))
    payload = line.get("payload", line.get("item"))
    if kind in ENVELOPES and isinstance(payload, dict):
        return True
    if kind == "world_state" and isinstance(payload, dict):
        return True
    if kind == "thread.started" and "thread_id" in line:
        return True
    if line.get("record_type") == "state":
        return True
    return "instructions" in line and "id" in line and "timestamp" in line


def _is_bare_item(line: dict[str, Any]) -> bool:
    kind = text_from(line.get("type"))
    if kind == "message":
        content = line.get("content")
        return "role" in line and isinstance(content, list) and any(map(_is_part, content))
    if kind == "reasoning":
        return "encrypted_content" in line and "summary" in line
    return kind in _BARE and "call_id" in line


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("input_text", "output_text", "input_image")


class _Reading:
    """One import: the rollout that was asked for, and those that it leads to."""

    def __init__(self, book: Book, compaction: str) -> None:
        self.book = book
        self.compaction = compaction
        self.forks: list[Session] = []
        self.subagents: list[Session] = []
        self.lineage: list[Descent] = []
        self._seen: set[Path] = set()
        self._ids: set[str] = set()

    def read(self, path: Path, *, parent: str | None = None, depth: int = 0) -> Session:
        """Read one rollout; `parent` is the session that started it as a sub-agent."""
        book = self.book
        self._seen.add(path.resolve())
        rollout = read_rollout(path, book)
        _note_doubts(rollout, book)
        found = find_paths(rollout.parents, rollout.leaf, lambda number: _matters(rollout, number))
        wire = self._header_of(rollout)
        if parent is not None:
            wire["parentSession"] = parent
        make = Assembler(wire, book, plugin="codex")
        begin = Boundary(0, 0, State(first_settings(rollout.meta)))
        writers = [RolloutWriter(rollout, found.paths[0].entries, make, begin, compaction=self.compaction)]
        writers[0].write()
        self._inherit(rollout, found, writers[0], path)
        session = make.finish()
        for branch in found.paths[1:]:
            writers.append(self._fork(rollout, branch, writers))
        self._note_loose(rollout, found, wire["id"])
        if depth < _DEEPEST:
            for writer in writers:
                self._follow(writer, path, depth)
        return session

    def _fork(self, rollout: Rollout, branch: Branch, writers: list[RolloutWriter]) -> RolloutWriter:
        assert branch.parent is not None
        left = writers[branch.parent]
        begin = left.boundaries.before(branch.shared)
        line = rollout.records[branch.entries[branch.shared]].line
        identity = self._free_id(f"{writers[0].make.id}~{line}")
        if any(_is_told(rollout, number) for number in branch.entries[begin.position : branch.shared]):
            told = "what was taken back begins in the middle of a turn; the fork shares what is before that turn"
            self.book.finding("BRANCH_MID_TURN", told, line)
        child = left.make.branch(identity, begin.length)
        writer = RolloutWriter(
            rollout, branch.entries, child, begin, originals=left.originals, compaction=self.compaction
        )
        writer.write()
        self.forks.append(child.finish())
        self.lineage.append(Descent(identity, left.make.id, begin.length, "fork"))
        return writer

    # ------------------------------------------------------------------------------------------------- other rollouts

    def _follow(self, writer: RolloutWriter, beside: Path, depth: int) -> None:
        """Read the rollouts of the sub-agents that a session started."""
        for output, call in writer.spawned:
            for identity in named_threads(output):
                file = rollout_of(identity, beside)
                if file is None or file.resolve() in self._seen:
                    continue
                before = self.book.file
                self.book.file = file.name
                try:
                    agent = self.read(file, parent=writer.make.id, depth=depth + 1)
                except OSError:
                    continue
                finally:
                    self.book.file = before
                self.subagents.append(agent)
                self.lineage.append(Descent(agent.id, writer.make.id, 0, "subagent", call))

    def _inherit(self, rollout: Rollout, found: Paths, writer: RolloutWriter, beside: Path) -> None:
        """Say which leading events of a fork are copies of the thread that it was forked from."""
        parent = parent_of(rollout.meta)
        if parent is None or parent.is_agent:
            return
        file = rollout_of(parent.id, beside)
        if file is None:
            return
        try:
            copied = copied_records(rollout, found.paths[0].entries, file)
        except OSError:
            return
        length = writer.boundaries.before(copied).length
        if length:
            writer.make.inherit(length)
        told = f"the first {copied} records are copies of the thread {parent.id!r}; {length} events came from it"
        self.book.finding("INHERITED", told, rollout.meta_line)
        self.lineage.append(Descent(writer.make.id, parent.id, length, "fork"))

    # -------------------------------------------------------------------------------------------------- header and rest

    def _header_of(self, rollout: Rollout) -> dict[str, Any]:
        meta = rollout.meta
        if rollout.meta_line is None:
            told = "the rollout has no session header; its id and its time were made up from the lines"
            self.book.finding("NO_HEADER", told)
        created = moment(meta.get("timestamp"))
        times = (record.time for record in rollout.records if record.time is not None)
        wire: dict[str, Any] = {
            "id": self._free_id(text_from(meta.get("id", meta.get("session_id"))) or "codex-rollout"),
            "createdAt": next(times, 0) if created is None else created,
        }
        if isinstance(meta.get("cwd"), str):
            wire["cwd"] = meta["cwd"]
        parent = parent_of(meta)
        if parent is not None:
            wire["parentSession"] = parent.id
        return wire

    def _free_id(self, wanted: str) -> str:
        identity, number = wanted, 2
        while identity in self._ids:
            identity, number = f"{wanted}~{number}", number + 1
        self._ids.add(identity)
        return identity

    def _note_loose(self, rollout: Rollout, found: Paths, session: str) -> None:
        """Keep what is on no path in the side table."""
        for number in (*found.aside, *found.left_out):
            record = rollout.records[number]
            value = record.data if record.raw is None else record.raw
            self.book.side(record.type or record.kind, value, line=record.line, session=session)
        if found.left_out:
            told = (
                f"the rollout goes back more than {MOST_BRANCHES} times; what was left after that is in the side table"
            )
            self.book.finding("TOO_MANY_BRANCHES", told, rollout.records[found.left_out[0]].line)


def _note_doubts(rollout: Rollout, book: Book) -> None:
    """Say what is ambiguous, or elsewhere, in a rollout as a whole."""
    unconfirmed = rollout.prompts.unconfirmed
    if unconfirmed:
        told = f"{len(unconfirmed)} user messages that no event tells of were taken for context, not for prompts"
        book.finding("UNCONFIRMED_PROMPTS", told, rollout.records[min(unconfirmed)].line)
    if isinstance(rollout.meta.get("history_base"), dict):
        told = "the conversation begins in another rollout, whose history is not copied here"
        book.finding("HISTORY_ELSEWHERE", told, rollout.meta_line)


def _is_told(rollout: Rollout, number: int) -> bool:
    """Tell whether a record becomes events, and not rows of the side table alone."""
    return rollout.records[number].kind == "item" or _matters(rollout, number)


def _matters(rollout: Rollout, number: int) -> bool:
    record = rollout.records[number]
    return is_response_part(record) or record.kind == "compacted" or number in rollout.prompts.prompts
