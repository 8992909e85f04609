"""``dsh-session list``: the logs of any agent below a folder, and what happened in each."""

import json
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dsh_session.commands.logs import JsonOption, list_logs
from dsh_session.commands.talking import count, fail, say, size, table, warn
from dsh_session.importers.detection import Sample
from dsh_session.importers.folders import FoundLog, describe, list_folder
from dsh_session.importers.registry import ImportLogError, recognise_sample
from dsh_session.persistence.catalog import is_database
from dsh_session.views.escape import cut, one_line

_ROWS: Final = 2_000  # of a table; what is longer nobody reads in a terminal
_OWN: Final = "dsh"


def list_any(
    root: Annotated[
        Path,
        typer.Argument(
            metavar="ROOT",
            help="A folder of any agent's logs, such as ~/.claude/projects, or a database of sessions.",
            show_default=False,
        ),
    ],
    *,
    everything: Annotated[bool, typer.Option("--all", help="List the logs of sub-agents, too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the logs or sessions that are stored somewhere."""
    root = root.expanduser()
    found = _found(root)
    if all(log.format == _OWN for log in found):
        list_logs(root, as_json=as_json)
        return
    found.sort(key=lambda log: (-(log.created or 0), str(log.path)))
    shown = [log for log in found if everything or not log.is_subagent]
    if as_json:
        rows = ",\n".join(json.dumps(_json(log)) for log in shown)
        sys.stdout.write(f"[\n{rows}\n]\n" if rows else "[]\n")
        return
    names = ("agent", "date (UTC)", "turns", "compactions", "size", "id", "cwd", "file")
    numbers = frozenset({"turns", "compactions", "size"})
    table(names, [_cells(log) for log in shown[:_ROWS]], numbers=numbers)
    if len(shown) > _ROWS:
        say(f"… and {len(shown) - _ROWS:,} more; --json lists them all.")
    hidden = len(found) - len(shown)
    aside = f"; {count(hidden, 'log')} of sub-agents beside them, --all lists those too" if hidden else ""
    say(f"{count(len(shown), 'log')}{aside}. Next: dsh-session report FILE, or dsh-session convert FILE")


def _found(root: Path) -> list[FoundLog]:
    try:
        if root.is_dir():
            return _listed(root)
        sample = Sample.of(root)  # refuses a pipe before anybody opens it
        if is_database(root):
            return []
    except OSError as error:
        fail(f"{error.filename or root}: {error.strerror or error}")
    try:
        importer = recognise_sample(sample)
    except ImportLogError as error:
        _warn(error)
        return []
    return [] if importer is None else [describe(sample, importer)]


def _listed(root: Path) -> list[FoundLog]:
    """List a folder; what other packages' importers fail at is said once each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = list(list_folder(root))
    for text in dict.fromkeys(str(one.message) for one in caught):
        _warn(text)
    return found


def _warn(what: object) -> None:
    warn(f"dsh-session: {cut(one_line(str(what)[:2_000]), 400)}")


def _cells(log: FoundLog) -> tuple[str, ...]:
    agent = f"{log.agent} (sub-agent)" if log.is_subagent else log.agent
    counts = ("" if number is None else f"{number:,}" for number in (log.turns, log.compactions))
    texts = (cut(one_line((text or "")[:2_000]), 80) for text in (log.id, log.cwd))
    file = str(log.path) if log.error is None else f"{log.path}: {cut(one_line(log.error[:2_000]), 120)}"
    return (agent, _moment(log.created), *counts, size(log.size), *texts, file)


def _json(log: FoundLog) -> dict[str, Any]:
    return {**log._asdict(), "path": str(log.path), "created": log.created}


def _moment(milliseconds: float | None) -> str:
    try:
        return datetime.fromtimestamp((milliseconds or 0) / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return f"{milliseconds} ms"
