"""SWE-agent's trajectories, and those of mini-swe-agent.

The history is what the model saw, so it is what becomes messages. Where the agent's commands are
text in an answer, as with models that call no tools, their output is a message in the role of the user
that no person wrote: context, not a prompt. The trajectory's own steps go to the side table, each beside
its answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat import chat_message
from dsh_session.importers.chat.digest import digest_of, free_id, is_handy
from dsh_session.importers.chat.routes import route_of
from dsh_session.importers.chat.writer import ChatWriter, Placed
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.reading import document
from dsh_session.importers.registry import ImportLogError

_PLUGIN: Final = "swe-agent"
_NAMES: Final = ("*.traj", "*.traj.json")


class Run(NamedTuple):
    """One run of the agent.

    Attributes:
        history: The messages, as (entry, message).
        steps: The trajectory's own steps, as (entry, step).
        facts: Everything else.
    """

    history: list[tuple[int, dict[str, Any]]]
    steps: list[tuple[int, Any]]
    facts: dict[str, Any]


class SweAgent:
    """Reads trajectories of SWE-agent and of mini-swe-agent."""

    name = "swe-agent"
    agent = "SWE-agent"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by a history or a trajectory of the agent's, or by a trajectory format."""
        found = sample.document if isinstance(sample.document, dict) else None
        if found is None:
            return False
        if isinstance(found.get("trajectory_format"), str) or _is_step(_first(found.get("trajectory"))):
            return True
        if "info" in found and isinstance(found.get("messages"), list):
            return isinstance(found["info"], dict) and bool({"exit_status", "model_stats"} & found["info"].keys())
        first = _first(found.get("history"))
        if isinstance(first, dict) and "role" in first and ("agent" in first or "message_type" in first):
            return True
        return isinstance(_first(found.get("attempts")), dict) and "history" in _first(found["attempts"])

    def find(self, folder: Path) -> Iterator[Path]:
        """Give the trajectories below a folder."""
        for pattern in _NAMES:
            yield from sorted(folder.rglob(pattern))

    def read(self, path: Path, **_options: Any) -> Imported:
        """Read a log.

        Raises:
            ImportLogError: ``IMPORT_EMPTY`` when it holds neither a history nor a trajectory.
            OSError: When it cannot be opened.
        """
        book = Book(path.name)
        found = document(path, book)
        runs = list(_runs(found, book)) if isinstance(found, dict) else []
        if not runs:
            told = f"{path}: there is neither a history nor a trajectory in it"
            raise ImportLogError("IMPORT_EMPTY", told)
        sessions: list[Session] = []
        subagents: list[Session] = []
        lineage: list[Descent] = []
        taken: set[str] = set()
        for run in runs:
            by_agent = _by_agent(run)
            main = by_agent.pop(0)
            session = _write(main, run, _identity(run, taken), book)
            sessions.append(session)
            for further in by_agent:
                name = text_from(further[0][1].get("agent"))
                identity = free_id(f"{session.id}-{name}" if is_handy(name) else f"{session.id}-agent", taken)
                subagents.append(_write(further, None, identity, book, parent=session.id))
                lineage.append(Descent(identity, session.id, 0, "subagent"))
        return Imported(sessions[0], book, agent=self.agent, subagents=subagents, lineage=lineage, others=sessions[1:])


def _runs(found: dict[str, Any], book: Book) -> Iterator[Run]:
    """Give the runs of a document, their entries numbered through: messages, then steps."""
    attempts = found.get("attempts")
    parts = [{key: value for key, value in found.items() if key != "attempts" or not isinstance(attempts, list)}]
    for attempt in attempts if isinstance(attempts, list) else ():
        if isinstance(attempt, dict) and attempt.get("history") != found.get("history"):
            parts.append(attempt)
        else:
            book.side("attempt", attempt, line=None)
    number = 0
    for part in parts:
        history: list[tuple[int, dict[str, Any]]] = []
        steps: list[tuple[int, Any]] = []
        for key in ("history", "messages", "trajectory"):
            values = part.get(key)
            for value in values if isinstance(values, list) else ():
                number += 1
                if key == "trajectory":
                    steps.append((number, value))
                elif key == "messages" and isinstance(value, dict) and value.get("role") == "exit":
                    book.side("exit", value, line=number)  # how the run ended; no model sees it
                elif isinstance(value, dict):
                    history.append((number, value))
                else:
                    book.side("entry", value, line=number)
                    book.finding("NOT_A_MESSAGE", "a message that is no object; it went to the side table", number)
        facts = {
            key: value
            for key, value in part.items()
            if key not in ("history", "messages", "trajectory") or not isinstance(value, list)
        }
        if history or steps:
            yield Run(history, steps, facts)
        elif facts:
            book.side("facts", facts, line=None)
    book.entries[book.file] = number


def _by_agent(run: Run) -> list[list[tuple[int, dict[str, Any]]]]:
    """Part a history by the agents that take part in it; the one that comes first is the main one."""
    parts: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    first = next((text_from(message.get("agent")) for _, message in run.history if message.get("agent")), "")
    for entry, message in run.history or _from_steps(run.steps):
        parts.setdefault(text_from(message.get("agent")) or first, []).append((entry, message))
    return list(parts.values()) or [[]]


def _from_steps(steps: Sequence[tuple[int, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Make a history of a trajectory that comes without one."""
    made: list[tuple[int, dict[str, Any]]] = []
    for at, (entry, step) in enumerate(steps):
        if not isinstance(step, dict):
            continue
        query = step.get("query")
        if at == 0 and isinstance(query, list):
            made += [(entry, message) for message in query if isinstance(message, dict) and "role" in message]
        said = step.get("response") or step.get("thought")
        made.append((entry, {"role": "assistant", "content": said}))
        if step.get("observation") is not None:
            made.append((entry, {"role": "user", "content": step["observation"], "message_type": "observation"}))
    return made


def _write(
    history: Sequence[tuple[int, dict[str, Any]]],
    run: Run | None,
    identity: str,
    book: Book,
    *,
    parent: str | None = None,
) -> Session:
    placed = [Placed(entry, chat_message(_opened(message))) for entry, message in history]
    first = next((item.message.time for item in placed if item.message.time is not None), None)
    header: dict[str, Any] = {"id": identity, "createdAt": first or 0}
    if parent:
        header["parentSession"] = parent
    make = Assembler(header, book, plugin=_PLUGIN)
    route = _route(run.facts) if run else {}
    kinds = _context_kinds([message for _, message in history])
    writer = ChatWriter(make, route, context_kind=kinds.__getitem__)
    if run:
        make.at(None)
        for key, value in run.facts.items():
            make.side(key, value)
    writer.write(placed, header={"config": route} if route else None)
    if run:
        for at, (entry, step) in enumerate(run.steps):
            book.side(
                "step", step, line=entry, session=identity, seq=writer.answers[at] if at < len(writer.answers) else None
            )
    make.end_turn(_reason(run.facts) if run else None)
    return make.finish()


def _context_kinds(messages: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Tell of each message in the role of the user what it is: None for the task, the rest is context."""
    kinds: list[str | None] = []
    has_answered = False
    for message in messages:
        if message.get("role") == "assistant":
            has_answered = True
        extra = message.get("extra")
        has_failed = isinstance(extra, dict) and bool(extra.get("interrupt_type"))  # the answer was of no use
        if message.get("is_demo") is True or message.get("message_type") == "demonstration":
            kinds.append("demonstration")
        else:
            kinds.append("observation" if has_answered or has_failed else None)
    return kinds


def _opened(message: dict[str, Any]) -> dict[str, Any]:
    """Bring what mini-swe-agent keeps in ``extra`` to where other messages have it."""
    extra = message.get("extra")
    if not isinstance(extra, dict):
        return message
    response = extra.get("response")
    response = response if isinstance(response, dict) else {}
    brought = {"timestamp": extra.get("timestamp"), "usage": response.get("usage"), "model": response.get("model")}
    return {**{key: value for key, value in brought.items() if value is not None}, **message}


def _reason(facts: Mapping[str, Any]) -> dict[str, Any]:
    info = facts.get("info")
    status = info.get("exit_status") if isinstance(info, dict) else None
    if not isinstance(status, str) or not status or status.lower().startswith("submitted"):
        return {"kind": "completed"}
    return {"kind": "error", "message": f"the run ended with {status}", "code": status}


def _route(facts: Mapping[str, Any]) -> dict[str, str]:
    """Find the model's name, in the run's configuration or in what it was replayed from."""
    info = facts.get("info")
    config = info.get("config") if isinstance(info, dict) else None
    replay = facts.get("replay_config")
    if isinstance(replay, str):
        try:
            replay = msgspec.json.decode(replay)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            replay = None
    for holder in (config, replay.get("agent") if isinstance(replay, dict) else None):
        model = holder.get("model") if isinstance(holder, dict) else None
        if isinstance(model, dict):
            route = route_of(model.get("model_name") or model.get("name"))
            if route:
                return route
    return {}


def _identity(run: Run, taken: set[str]) -> str:
    own = text_from(run.facts.get("instance_id"))
    values = [message for _, message in run.history] or [step for _, step in run.steps]
    return free_id(own if own and is_handy(own) else f"swe-agent-{digest_of(values)}", taken)


def _is_step(value: Any) -> bool:
    return isinstance(value, dict) and "action" in value and "observation" in value


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None


IMPORTER = SweAgent()
