"""The DOT texts that the diagrams are compared with, and how they are written anew: `scripts/golden`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsh_session import Context, Recorder, load
from dsh_session.views import diagrams
from tests.views.made import nested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsh_session import Session
    from dsh_session.views.diagram import Diagram

DATA = Path(__file__).parent.parent / "data"
FOLDER = DATA / "golden"
DIAGRAMS = ("surface", "replacements", "nesting", "provenance", "log", "views")
LOGS = {
    "claude-code": "v0-compacted/claude-code-compacted-auto.jsonl",
    "openhands": "v0-compacted/openhands-condensed-twice.jsonl",
    "pi": "v0-compacted/pi-compacted-twice.jsonl",
    "parallel": "dsh-v0/parallel-tool-calls.jsonl",
    "nested": "",
}


def session_of(log: str) -> Session:
    return load(DATA / "logs" / LOGS[log]) if LOGS[log] else nested()


def diagram_of(name: str) -> Callable[..., Diagram]:
    draw: Callable[..., Diagram] = getattr(diagrams, name)
    return draw


def drawn(name: str, log: str) -> Diagram:
    """A diagram of a log; for the lineage, of a store that holds it and its forks."""
    return _family(log) if name == "lineage" else diagram_of(name)(session_of(log))


def _family(log: str) -> Diagram:
    with Context(clock=lambda: 0) as ctx:
        # The nested log has payloads that no store takes for a seed: forks of a few plain turns stand for it.
        parent = ctx.sessions.create(log, seed=session_of(log).events if LOGS[log] else ())
        for number in range(0 if LOGS[log] else 3):
            with Recorder(parent).turn(f"question {number}") as turn, turn.step() as step:
                step.assistant(f"answer {number}")
        ends = [event.seq for event in parent.events if event.type == "turn/end"]
        ctx.sessions.fork(parent, ends[0], "early")
        late = ctx.sessions.fork(parent, ends[-1], "late")
        ctx.sessions.fork(late, ends[len(ends) // 2], "grandchild")
        return diagrams.lineage(ctx.sessions, selected="grandchild")


def texts() -> Iterator[tuple[Path, str]]:
    """Each file and what it should hold."""
    for log in LOGS:
        for name in (*DIAGRAMS, "lineage"):
            yield FOLDER / f"{name}-{log}.dot", drawn(name, log).dot


def write() -> int:
    """Write all files anew; gives how many have changed."""
    FOLDER.mkdir(exist_ok=True)
    changed = 0
    for path, text in texts():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            changed += 1
    return changed
