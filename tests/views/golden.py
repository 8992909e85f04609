"""The DOT texts that the diagrams are compared with, and how they are written anew: `scripts/golden`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsh_session import load
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


def texts() -> Iterator[tuple[Path, str]]:
    """Each file and what it should hold."""
    for log in LOGS:
        session = session_of(log)
        for name in DIAGRAMS:
            yield FOLDER / f"{name}-{log}.dot", diagram_of(name)(session).dot


def write() -> int:
    """Write all files anew; gives how many have changed."""
    FOLDER.mkdir(exist_ok=True)
    changed = 0
    for path, text in texts():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            changed += 1
    return changed
