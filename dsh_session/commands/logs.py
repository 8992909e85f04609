"""``dsh-session validate`` and ``dsh-session list``: what is wrong with logs, and which there are.

Whatever a log holds, what reaches the terminal passes `escape.visible` first; JSON is ASCII.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dsh_session.core.errors import SessionError
from dsh_session.persistence.catalog import find_logs, list_sessions, validate
from dsh_session.persistence.progress import meter
from dsh_session.persistence.protocol import StoredSession
from dsh_session.persistence.validation import UNREADABLE, LogFinding
from dsh_session.views.escape import cut, one_line, visible

_ROWS: Final = 2_000  # of a table; what is longer nobody reads in a terminal
_WIDE: Final = 100_000  # no line of a pipe is broken

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON array instead of a table.")]


def validate_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Logs, folders of logs, or databases of sessions.", show_default=False),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """List everything that is wrong with logs.

    The exit status is 0 when nothing is, 1 when something is, and 2 when a file cannot be read as a log.
    """
    tally = _Tally()
    findings = _all_findings(paths, tally)
    if as_json:
        _print_json(finding._asdict() for finding in findings)
    else:
        shown = list(islice(findings, _ROWS))
        more = sum(1 for _ in findings)
        if shown:
            _print_table(("file", "line", "byte", "seq", "rule", "code", "message"), map(_finding_cells, shown))
        if more:
            _say(f"… and {more:,} more; --json lists them all.")
        _say(tally.told())
    if tally.unreadable:
        raise typer.Exit(2)
    if tally.findings:
        raise typer.Exit(1)


def list_logs(
    root: Annotated[
        Path,
        typer.Argument(metavar="ROOT", help="A folder of logs, or a database of sessions.", show_default=False),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """List the sessions that are stored somewhere."""
    try:
        stored = list_sessions(root)
    except (OSError, SessionError) as error:
        _complain(f"{root}: {_text_of(error)}")
        raise typer.Exit(2) from None
    if as_json:
        _print_json(map(_stored_json, stored))
        return
    if stored:
        _print_table(("id", "created (UTC)", "events", "bytes", "cwd", "parent", "file"), map(_stored_cells, stored))
    broken = sum(session.error is not None for session in stored)
    unread = f"; {_count(broken, 'of them')} cannot be read, see dsh-session validate" if broken else ""
    _say(f"{_count(len(stored), 'session')}{unread}.")


# ------------------------------------------------------------------------------------------------------------ validate


class _Tally:
    """What was seen on the way."""

    def __init__(self) -> None:
        self.logs = 0
        self.faulty = 0
        self.findings = 0
        self.unreadable = 0

    def told(self) -> str:
        """Say it in a line."""
        if not self.findings and not self.unreadable:
            return f"{_count(self.logs, 'log')}, nothing wrong."
        found = f"{_count(self.findings, 'finding')} in {self.faulty:,} of {_count(self.logs, 'log')}"
        unread = f"; {_count(self.unreadable, 'file')} cannot be read as a log" if self.unreadable else ""
        return f"{found}{unread}."


def _all_findings(paths: list[Path], tally: _Tally) -> Iterator[LogFinding]:
    files = list(_files(paths, tally))
    sizes = [_size(file) for file in files]
    with meter("validating", sum(sizes)) as advance:
        for file, size in zip(files, sizes, strict=True):
            yield from _findings(file, tally)
            advance(size)


def _findings(file: Path, tally: _Tally) -> Iterator[LogFinding]:
    tally.logs += 1
    before = tally.findings
    try:
        for finding in validate(file):
            tally.findings += 1
            if finding.code in UNREADABLE:
                tally.unreadable += 1
            yield finding
    except (OSError, SessionError) as error:
        tally.unreadable += 1
        _complain(f"{file}: {_text_of(error)}")
    tally.faulty += tally.findings > before


def _files(paths: list[Path], tally: _Tally) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        try:
            yield from find_logs(path)
        except OSError as error:
            tally.unreadable += 1
            _complain(f"{error.filename or path}: {_text_of(error)}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _finding_cells(finding: LogFinding) -> tuple[str, ...]:
    seq = "" if finding.seq is None else str(finding.seq)
    place = (finding.file, str(finding.line), str(finding.offset), seq)
    return (*place, finding.rule, finding.code, cut(one_line(finding.message[:2_000]), 400))


# ---------------------------------------------------------------------------------------------------------------- list


def _stored_cells(stored: StoredSession) -> tuple[str, ...]:
    header = stored.header
    told = (
        ("", "", "") if header is None else (_moment(header.created_at), header.cwd or "", header.parent_session or "")
    )
    created, cwd, parent = (cut(one_line(text[:2_000]), 120) for text in told)
    if stored.error is not None:
        cwd = f"unreadable: {cut(one_line(_text_of(stored.error)[:2_000]), 120)}"
    counts = ("" if number is None else f"{number:,}" for number in (stored.events, stored.size))
    return (cut(one_line(stored.id[:2_000]), 80), created, *counts, cwd, parent, str(stored.path))


def _stored_json(stored: StoredSession) -> dict[str, Any]:
    header = stored.header
    return {
        "id": stored.id,
        "header": None if header is None else header.to_dict(),
        "path": str(stored.path),
        "bytes": stored.size,
        "events": stored.events,
        "modified": stored.modified,
        "error": None if stored.error is None else _text_of(stored.error),
    }


def _moment(milliseconds: float) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return f"{milliseconds} ms"


# ------------------------------------------------------------------------------------------------------------- talking


def _text_of(error: OSError | SessionError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{error.message} ({error.code})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 or noun.endswith('them') else 's'}"


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDE
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def _print_table(names: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        numeric = name in {"line", "byte", "seq", "events", "bytes"}
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    for row in rows:
        table.add_row(*(Text(visible(cell, lines=False)) for cell in row))
    _console().print(table)


def _print_json(values: Iterator[dict[str, Any]]) -> None:
    """Print one array, an element per line, as they come."""
    start = "["
    for value in values:
        sys.stdout.write(f"{start}\n{json.dumps(value)}")
        start = ","
    sys.stdout.write("[]\n" if start == "[" else "\n]\n")


def _say(text: str) -> None:
    _console().print(Text(visible(text, lines=False)), soft_wrap=True)


def _complain(text: str) -> None:
    _console(stderr=True).print(Text(visible(f"dsh-session: {text}", lines=False)), soft_wrap=True)
