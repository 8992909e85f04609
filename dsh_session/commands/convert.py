"""``dsh-session convert``: any agent's log as sessions of format version 0, with everything else beside them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dsh_session.commands.talking import count, fail, say, warn
from dsh_session.commands.writing import is_device, write
from dsh_session.core.errors import SessionError
from dsh_session.core.session import Finding, Session
from dsh_session.importers.found import Imported
from dsh_session.importers.registry import import_log
from dsh_session.views.escape import cut, one_line

_SHOWN: Final = 10  # findings that are printed one by one
_TABLES: Final = (".csv", ".parquet")
_HINTS: Final = {
    "IMPORT_FOLDER": "dsh-session list FOLDER finds the logs in it",
    "IMPORT_UNKNOWN": "--format NAME reads it as one of these; dsh-session list FOLDER finds logs",
    "IMPORT_NO_SUCH_FORMAT": "without --format the log itself tells",
    "IMPORT_OPTION": "docs/importers.md lists the options of each format",
}


def convert_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Any agent's log: a file, or a folder that is one.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="SESSION",
            help="The session to write; LOG's name with .session.jsonl, in this folder.",
            show_default=False,
        ),
    ] = None,
    side_table: Annotated[
        Path | None,
        typer.Option(
            "--side-table",
            metavar="TABLE",
            help="Where what has no place in an event goes, as .csv or .parquet.",
            show_default=False,
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--format", help="The log's format, if it is not recognised.", show_default=False)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="An option of the format, such as compaction=exact.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a log of any agent as sessions: the main one, its forks and its sub-agents, a file each."""
    if side_table is not None and side_table.suffix not in _TABLES:
        fail(f"{side_table}: a table is a .csv or a .parquet file", "name it so")
    imported = _read(log, log_format, _options(option or []))
    nothing = next((one for one in imported.findings if one.code == "NOTHING_READ"), None)
    if nothing is not None:
        fail(f"{log}: as {log_format} {nothing.message} ({nothing.code})", "nothing was written")
    target = _target(log, output)
    if is_device(target):
        _pour(imported, target, side_table)
        return
    files = list(_files(imported, target))
    paths = [path for path, _ in files]
    for path in paths + ([] if side_table is None else [side_table]):
        _keep_the_log(path, log)
    _keep_others(paths, side_table)
    for path, session in files:
        _put(path, session.to_jsonl())
    for (path, session), what in zip(files, _kinds(imported), strict=True):
        replaced = session.surface.replace_generation
        say(
            f"Wrote {path}: {what} {cut(one_line(session.id[:400]), 80)}, {count(session.seq, 'event')}, "
            f"a surface of {count(len(session.surface), 'node')} after {count(replaced, 'replacement')}.",
            style="bold" if path == target else "",
        )
    if side_table is not None:
        _put_table(imported, side_table)
        say(f"Wrote {side_table}: {count(len(imported.book.side_rows), 'row')} with what has no place in an event.")
    elif imported.book.side_rows:
        number = len(imported.book.side_rows)
        have, them = ("has", "it") if number == 1 else ("have", "them")
        say(f"{count(number, 'value')} of the log {have} no place in an event; --side-table TABLE.csv keeps {them}.")
    _tell(imported.findings)


def _options(given: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            fail(f"--option {text}: an option is NAME=VALUE", "such as --option compaction=exact")
        before = options.get(name)
        # Who names an option twice means both.
        options[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return options


def _read(log: Path, log_format: str | None, options: dict[str, Any]) -> Imported:
    try:
        return import_log(log, format=log_format, **options)
    except SessionError as error:
        fail(f"{log}: {error.message.removeprefix(f'{log}: ')} ({error.code})", _HINTS.get(error.code))
    except OSError as error:
        fail(f"{error.filename or log}: {error.strerror or error}", "check the path")
    except ValueError as error:
        # An importer says so about the value of an option; without options it is a fault of ours.
        if not options:
            raise
        fail(f"{log}: {error}", "docs/importers.md lists the options of each format")


def _target(log: Path, output: Path | None) -> Path:
    if output is not None:
        if output.is_dir():
            fail(f"{output} is a folder", f"name a file in it, such as -o {output / 'session.jsonl'}")
        return output
    target = Path(f"{log.stem or log.resolve().name}.session.jsonl")
    if target.exists():
        fail(f"{target} is there already", "name another one with -o SESSION, or that one to replace it")
    return target


def _files(imported: Imported, target: Path) -> Iterator[tuple[Path, Session]]:
    """Give each session its file: beside the main one, under its name."""
    yield target, imported.session
    stem = target.name.removesuffix(".jsonl")
    further = (("fork", imported.forks), ("subagent", imported.subagents), ("other", imported.others))
    for kind, sessions in further:
        for number, session in enumerate(sessions, 1):
            yield target.with_name(f"{stem}.{kind}-{number}.jsonl"), session


def _kinds(imported: Imported) -> list[str]:
    further = (("a fork,", imported.forks), ("a sub-agent,", imported.subagents), ("another session,", imported.others))
    return ["the session", *(told for told, sessions in further for _ in sessions)]


def _keep_the_log(path: Path, log: Path) -> None:
    with suppress(OSError):
        if path.samefile(log):
            fail(f"{path} is the log itself", "choose another name")


def _keep_others(paths: list[Path], side_table: Path | None) -> None:
    """Refuse to overwrite what nobody named: a further session's file that is there, a session by its table."""
    if side_table is not None:
        if not side_table.parent.is_dir():
            fail(f"{side_table} cannot be written: there is no folder {side_table.parent}", "choose another place")
        if side_table.resolve() in {path.resolve() for path in paths}:
            fail(f"{side_table} cannot be a session and a table at once", "name another --side-table")
    target, *further = paths
    taken = None if target.exists() else next((path for path in further if path.exists()), None)
    if taken is not None:
        fail(f"{taken} is there already, and a fork or a sub-agent would go there", "name another -o SESSION")


def _pour(imported: Imported, target: Path, side_table: Path | None) -> None:
    """Write the main session to a pipe or a device, and nothing else there; what is said goes to stderr."""
    _put(target, imported.session.to_jsonl())
    if side_table is not None:
        _put_table(imported, side_table)
    further = len(imported.sessions) - 1
    if further:
        warn(f"{count(further, 'further session')} of the log cannot go to {target}; -o SESSION.jsonl writes all.")
    if imported.findings:
        warn(f"{count(len(imported.findings), 'finding')}: {_kinds_of(imported.findings)}")


def _put(path: Path, content: bytes) -> None:
    try:
        write(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror or error}", "choose another place")


def _put_table(imported: Imported, path: Path) -> None:
    from dsh_session.views import export  # pandas, which a conversion without a table does without

    try:
        (export.to_csv if path.suffix == ".csv" else export.to_parquet)(imported.side_table, path)
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror or error}", "choose another place")
    except ImportError as error:
        fail(str(error))


def _kinds_of(findings: tuple[Finding, ...]) -> str:
    return ", ".join(f"{number:,} {code}" for code, number in Counter(one.code for one in findings).items())


def _tell(findings: tuple[Finding, ...]) -> None:
    """Say what was found: each kind with its number, and the first few in full."""
    if not findings:
        say("Nothing had to be repaired or left out.")
        return
    say(f"{count(len(findings), 'finding')}: {_kinds_of(findings)}", style="yellow")
    for one in findings[:_SHOWN]:
        place = "" if one.line is None else f"line {one.line}: "
        message = one.message.removeprefix(place)
        say(f"  {one.code}: {place}{cut(one_line(message[:2_000]), 300)}", style="yellow")
    if len(findings) > _SHOWN:
        say(f"  … and {len(findings) - _SHOWN:,} more", style="yellow")
