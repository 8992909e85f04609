"""Sub-agents: lines of a sidechain, files of their own, and the tool calls that started them."""

import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from dsh_session.importers.claude_code.entries import CONTEXT, NOTE, PROMPT, RESPONSE, RESULT, Entry
from dsh_session.importers.claude_code.values import items, mapping, string

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
_STARTERS: Final = frozenset({"Task", "Agent"})


class Agent:
    """One sub-agent.

    Attributes:
        name: Its id; None for a sidechain of an old log.
        lines: Its lines.
    """

    def __init__(self, name: str | None, lines: list[Entry]) -> None:
        """Take its lines."""
        self.name = name
        self.lines = lines

    @property
    def first_words(self) -> str | None:
        """What it was asked."""
        first = next((entry for entry in self.lines if entry.kind in (PROMPT, CONTEXT)), None)
        if first is None:
            return None
        content = (mapping(first.fields().get("message")) or {}).get("content")
        text = string(content)
        if text is not None:
            return text
        return next((string((mapping(item) or {}).get("text")) for item in items(content)), None)


def sidechains(lines: Iterable[Entry]) -> list[Agent]:
    """Tell the sub-agents of one file apart: by their ids, or by which line follows which.

    Args:
        lines: The lines of all sidechains of a log, in file order.
    """
    by_name: dict[str, Agent] = {}
    by_uuid: dict[str, Agent] = {}
    found: list[Agent] = []
    for entry in lines:
        agent = None if entry.agent_id is None else by_name.get(entry.agent_id)
        if agent is None and entry.agent_id is None:
            agent = by_uuid.get(entry.parent_uuid or "")
            # A line whose parent is missing goes on with what was being said; a new prompt does not.
            if agent is None and found and not (entry.parent_uuid is None and entry.kind == PROMPT):
                agent = found[-1]
        if agent is None:
            agent = Agent(entry.agent_id, [])
            found.append(agent)
            if entry.agent_id is not None:
                by_name[entry.agent_id] = agent
        agent.lines.append(entry)
        if entry.uuid is not None:
            by_uuid.setdefault(entry.uuid, agent)
    return found


class Calls:
    """Which tool call of a log started which sub-agent.

    Attributes:
        by_name: The call's id, by the sub-agent's.
    """

    def __init__(self, lines: Iterable[Entry]) -> None:
        """Look through the lines of the session that started them."""
        self.by_name: dict[str, str] = {}
        self._by_words: dict[str, deque[str]] = {}
        for entry in lines:
            if entry.kind == RESULT and b"agentId" in entry.raw:
                result = mapping(entry.fields().get("toolUseResult"))
                self._note(string((result or {}).get("agentId")), entry.calls[0])
            elif entry.kind == NOTE and entry.type == "progress" and b"agentId" in entry.raw:
                fields = entry.fields()
                name = string((mapping(fields.get("data")) or {}).get("agentId"))
                self._note(name, string(fields.get("parentToolUseID")) or string(fields.get("toolUseID")))
            elif entry.kind == RESPONSE and entry.calls and b'"prompt"' in entry.raw:
                self._note_words(entry)

    def _note(self, name: str | None, call: str | None) -> None:
        if name and call:
            self.by_name.setdefault(name, call)

    def _note_words(self, entry: Entry) -> None:
        content = (mapping(entry.fields().get("message")) or {}).get("content")
        for item in items(content):
            block = mapping(item) or {}
            if string(block.get("name")) in _STARTERS:
                words = string((mapping(block.get("input")) or {}).get("prompt"))
                call = string(block.get("id"))
                if words and call:
                    self._by_words.setdefault(words, deque()).append(call)

    def of(self, agent: Agent) -> str | None:
        """Give the id of the call that started a sub-agent, as the log says it, or by what it was asked."""
        if agent.name is not None and agent.name in self.by_name:
            return self.by_name[agent.name]
        waiting = self._by_words.get(agent.first_words or "")
        return waiting.popleft() if waiting else None


def has_agent_files(path: Path) -> bool:
    """Tell whether there may be logs of sub-agents near a log."""
    return path.with_suffix("").is_dir() or next(path.parent.glob("agent-*.jsonl"), None) is not None


def agent_files(path: Path, names: Iterable[str]) -> list[Path]:
    """Give the logs of the sub-agents of a log: in its own folder, or beside it as older versions had them.

    Args:
        path: The log.
        names: The ids of the sub-agents that it names.
    """
    found = sorted(path.with_suffix("").glob("subagents/**/agent-*.jsonl"))
    known = {one.name for one in found}
    # An id comes from a log: it names a file in this folder, or none.
    for name in sorted(set(names)):
        beside = path.parent / f"agent-{name}.jsonl"
        if _NAME.match(name) and beside.name not in known and beside != path and beside.is_file():
            found.append(beside)
    return [one for one in found if one.is_file()]


def description_of(path: Path) -> Any | None:
    """Give what stands about a sub-agent beside its log, as text; None where nothing does."""
    beside = path.with_name(f"{path.stem}.meta.json")
    try:
        return beside.read_bytes() if beside.is_file() else None
    except OSError:
        return None
