"""The importer of Claude Code's logs."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from dsh_session.core.quiet import no_collections
from dsh_session.core.session import Session
from dsh_session.importers.book import Book, text_of
from dsh_session.importers.claude_code.agents import (
    Agent,
    Calls,
    agent_files,
    description_of,
    has_agent_files,
    sidechains,
)
from dsh_session.importers.claude_code.entries import Entry, entries
from dsh_session.importers.claude_code.growing import grow
from dsh_session.importers.claude_code.sessions import write_tree
from dsh_session.importers.claude_code.values import Fields, fields_of, string
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported

_MESSAGES: Final = frozenset({"user", "assistant", "system", "progress", "attachment"})
_OTHERS: Final = {
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "last-prompt": "lastPrompt",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
    "permission-mode": "permissionMode",
}

# Names, modes and results of the whole: nothing of them is part of the conversation.
_AROUND: Final = frozenset({"agent-name", "agent-setting", "mode", "result", "tag"})


class ClaudeCode:
    """Reads the logs of Claude Code: ``~/.claude/projects/<folder>/<session>.jsonl``.

    Attributes:
        name: The format's name.
        agent: The agent's name for people.
    """

    name = "claude-code"
    agent = "Claude Code"

    def recognises(self, sample: Sample) -> bool:
        """Tell whether a log is one of Claude Code's: its lines name their parents as no other's do."""
        return any(map(_is_line, sample.objects))

    def read(self, path: Path, *, earlier: str | Path | Iterable[str | Path] = (), **options: Any) -> Imported:
        """Read a log, and those of its sub-agents beside it.

        Args:
            path: The log.
            earlier: The log that this one continues, or several, the earliest first, for a session that was
                compacted into a new file.
            options: None are known.

        Returns:
            The session of the path that the log ends with, a fork for each other path, the sub-agents.

        Raises:
            TypeError: For an option that is not known.
            OSError: When a file cannot be opened.
        """
        if options:
            raise TypeError(f"the importer of Claude Code's logs takes no option {', '.join(sorted(options))}")
        path = Path(path)
        reading = _Reading(path)
        with no_collections():
            for one in map(Path, [earlier] if isinstance(earlier, (str, Path)) else earlier):
                reading.take(one, one.name)
            reading.take(path, path.name)
            return reading.finish()

    def find(self, folder: Path) -> Iterator[Path]:
        """Give the logs below a folder, without those of sub-agents, which belong to another one."""
        for path in sorted(Path(folder).rglob("*.jsonl")):
            if not path.name.startswith("agent-") and path.is_file():
                yield path


class _Reading:
    """Reading one log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._book = Book(path.name)
        self._lines: list[Entry] = []
        self._forks: list[Session] = []
        self._lineage: list[Descent] = []
        self._taken: set[str] = set()

    def take(self, path: Path, name: str) -> None:
        """Read a file's lines."""
        self._book.file = name
        self._lines += entries(path, self._book)

    def finish(self) -> Imported:
        """Make sessions of what was read."""
        lines, self._lines = self._lines, []
        mine = [entry for entry in lines if not entry.is_sidechain]
        subagents: list[Session] = []
        if len(mine) < len(lines) and not any(entry.uuid for entry in mine):
            session = self._write_agent_alone(lines)
        else:
            aside = [entry for entry in lines if entry.is_sidechain]
            del lines
            calls = Calls(mine) if aside or has_agent_files(self._path) else None
            session = self._write(mine, self._identity(mine), None)
            if calls is not None:
                subagents = self._write_agents(session.id, calls, aside)
        return Imported(
            session,
            self._book,
            agent=ClaudeCode.agent,
            forks=self._forks,
            subagents=subagents,
            lineage=self._lineage,
        )

    def _identity(self, lines: list[Entry]) -> str:
        """Name a session as the line that it ends with does."""
        tree_lines = (entry.session_id for entry in reversed(lines) if entry.uuid is not None)
        found = next(filter(None, tree_lines), None) or next((one.session_id for one in lines if one.session_id), None)
        if found is not None:
            return found
        digest = hashlib.sha256()
        for entry in lines[:100]:
            digest.update(entry.raw)
        return f"claude-code-{digest.hexdigest()[:12]}"

    def _write(self, lines: list[Entry], identity: str, parent: str | None) -> Session:
        self._report_unknown(lines)
        tree, loose, copies = grow(lines, self._book)
        self._note_lines(loose, copies, identity)
        # From here on each line is kept by the one that needs it, and let go of when it is written.
        lines.clear()
        del loose, copies
        self._taken.add(identity)
        written = write_tree(tree, self._book, identity=identity, parent=parent, taken=self._taken)
        self._forks += written.forks
        self._lineage += written.lineage
        return written.session

    # -------------------------------------------------------------------------------------------------- sub-agents

    def _write_agent_alone(self, lines: list[Entry]) -> Session:
        """Read a sub-agent's own log."""
        owner = next((entry.session_id for entry in lines if entry.session_id), None)
        agent = next((entry.agent_id for entry in lines if entry.agent_id), None)
        return self._write(lines, f"{owner or 'claude-code'}-agent-{agent or self._path.stem}", owner)

    def _write_agents(self, owner: str, calls: Calls, aside: list[Entry]) -> list[Session]:
        agents: list[tuple[Agent, bytes | None]] = [(agent, None) for agent in sidechains(aside)]
        for path in agent_files(self._path, calls.by_name):
            self.take(path, path.relative_to(self._path.parent).as_posix())
            lines, self._lines = self._lines, []
            name = next((entry.agent_id for entry in lines if entry.agent_id), path.stem.removeprefix("agent-"))
            agents.append((Agent(name, lines), description_of(path)))
        sessions = []
        for agent, description in agents:
            first = agent.lines[0] if agent.lines else None
            name = agent.name or (f"{first.uuid or first.number}" if first is not None else "empty")
            identity = _distinct(f"{owner}-agent-{name}", self._taken)
            call = calls.of(agent)
            if description is not None:
                told = _described(description)
                self._book.side(
                    "agent",
                    description if told else text_of(description.decode("utf-8", "replace")),
                    line=None,
                    session=identity,
                )
                call = call or string(told.get("toolUseId"))
            sessions.append(self._write(agent.lines, identity, owner))
            self._lineage.append(Descent(identity, owner, 0, "subagent", call))
        self._book.file = self._path.name
        return sessions

    # -------------------------------------------------------------------------------------- lines outside the tree

    def _report_unknown(self, lines: list[Entry]) -> None:
        known = _MESSAGES | _OTHERS.keys() | _AROUND
        counts: dict[str, int] = {}
        firsts: dict[str, int] = {}
        for entry in lines:
            kind = entry.type
            if kind is not None and kind not in known:
                counts[kind] = counts.get(kind, 0) + 1
                firsts.setdefault(kind, entry.number)
        for kind in sorted(counts):
            first = firsts[kind]
            told = f"lines of type {kind!r:.80} are not known ({counts[kind]} of them, the first at line {first})"
            self._book.finding("UNKNOWN_TYPE", f"{told}; they are in the side table", first)

    def _note_lines(self, loose: list[Entry], copies: list[Entry], identity: str) -> None:
        book = self._book
        for entry in loose:
            whole = entry.raw if entry.tree is None else text_of(entry.tree)
            book.side(entry.type or "unknown", whole, line=entry.number, session=identity, file=entry.file)
        for entry, difference in zip(copies, _differences(copies), strict=True):
            book.side("copy", difference, line=entry.number, session=identity, file=entry.file)
        if copies:
            first = copies[0].number
            told = f"{len(copies)} lines repeat another one, the first at line {first}; they were left out"
            if len(copies) == 1:
                told = f"line {first} repeats another one; it was left out"
            book.finding("COPIES", told, first)


def _differences(copies: list[Entry]) -> list[bytes]:
    """Say which lines lines repeat, and where they differ from them, as text.

    Args:
        copies: Lines that repeat others; one that many repeat is read once.
    """
    told = [b""] * len(copies)
    groups: dict[Entry, list[int]] = {}
    for at, entry in enumerate(copies):
        assert entry.copy_of is not None
        groups.setdefault(entry.copy_of, []).append(at)
    for first, places in groups.items():
        its: Fields | None = None
        for at in places:
            entry = copies[at]
            row: Fields = {"of": first.number}
            if entry.raw != first.raw:
                its = first.fields() if its is None else its
                row["differs"] = {key: value for key, value in entry.fields().items() if its.get(key) != value}
            told[at] = text_of(row)
    return told


def _described(description: bytes) -> Fields:
    try:
        return fields_of(description)
    except ValueError:
        return {}


def _distinct(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found = f"{name}~{number}"
        number += 1
    return found


def _is_line(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _MESSAGES:
        if "uuid" in value and ("parentUuid" in value or "isSidechain" in value or "sessionId" in value):
            return True
        # Exports leave out the ids, and what `claude -p` streams has no parents.
        message = value.get("message")
        is_message = isinstance(message, dict) and message.get("role") == kind
        return is_message and ("sessionId" in value or "session_id" in value)
    return kind in _OTHERS and _OTHERS[kind] in value


IMPORTER: Final = ClaudeCode()
