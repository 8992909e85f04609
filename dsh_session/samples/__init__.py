"""Small real logs that ship with the package; `README.md` beside them names their sources and licences."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from dsh_session.core.jsonl import load as load_log

if TYPE_CHECKING:
    from dsh_session.core.session import Session

__all__ = ["agents", "load", "names", "path"]


def names() -> list[str]:
    """The names of the samples, sorted.

    Returns:
        What `path` and `load` accept.

    Example:
        >>> names()
        ['pi-compacted-twice']
    """
    return sorted(file.stem for file in _folder().glob("*.jsonl"))


def path(name: str) -> Path:
    """Where a sample lies.

    Args:
        name: One of `names()`.

    Returns:
        The path of its JSONL file, to be read only.

    Raises:
        KeyError: There is no such sample; the message names those there are.

    Example:
        >>> path("pi-compacted-twice").name
        'pi-compacted-twice.jsonl'
    """
    known = names()
    if name not in known:
        raise KeyError(f"no sample is called {name!r}; there are {', '.join(known)}")
    return _folder() / f"{name}.jsonl"


def load(name: str) -> Session:
    """A sample as a session.

    Args:
        name: One of `names()`.

    Returns:
        A new session over the sample's events.

    Raises:
        KeyError: There is no such sample; the message names those there are.

    Example:
        >>> session = load("pi-compacted-twice")
        >>> len(session.events), len(session.surface), session.surface.replace_generation
        (2540, 448, 2)
    """
    return load_log(path(name))


def agents() -> Path:
    """A folder with logs of other agents, laid out as they lay theirs out.

    Returns:
        The folder, to be read only; `dsh_session.importers.folders.list_folder` lists what is in it.

    Example:
        >>> from dsh_session.importers.folders import list_folder
        >>> [(log.agent, log.turns, log.compactions) for log in list_folder(agents())]
        [('Claude Code', 4, 1), ('Codex', 3, 0), ('pi', 2, 2)]
    """
    return _folder() / "agents"


def _folder() -> Path:
    return Path(str(resources.files(__name__)))
