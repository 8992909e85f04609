"""`dsh-session`: what the package does, from a terminal.

Whatever a log holds, what reaches the terminal is plain text: it passes `escape.visible` first. Errors go to stderr,
with the place and what to do, and end with exit code 2; there is no traceback for a bad log.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsh_session import Context, SessionError, __version__
from dsh_session.commands import convert_log, list_any, validate_logs
from dsh_session.commands.streams import run
from dsh_session.commands.talking import count as _count
from dsh_session.commands.talking import fail as _fail
from dsh_session.commands.talking import say as _say
from dsh_session.commands.talking import size as _size
from dsh_session.commands.writing import write as _write
from dsh_session.lab.choice import choose, listed
from dsh_session.lab.log import SAMPLE, sessions_of
from dsh_session.views.escape import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.session import Session

__all__ = ["app", "main"]

_GENERATOR = b'<meta name="generator" content="dsh_session">'
_NO_LOG = (
    'a version-0 log begins with a line like {"type": "session", "version": 0, …}; logs of Claude Code, Codex, pi, '
    "OpenHands, Inspect AI, SWE-agent and plain lists of messages are recognised by what they hold"
)
_HINTS = {
    "IMPORT_FOLDER": "dsh-session list FOLDER finds the logs in it",
    "JSONL_NO_HEADER": _NO_LOG,
    "JSONL_BAD_HEADER": _NO_LOG,
    "JSONL_CORRUPT": "repair that line, or cut the file before it",
    "JSONL_GAP": "events are missing or out of order there; look for the whole file",
    "MISSING_ROUTE": "add provider and model to that line; without them nobody knows which model spoke",
    "LEGACY_HEADER": "this log was written before format version 0 was settled; it cannot be replayed",
}

app = typer.Typer(
    name="dsh-session",
    help="See what happened in an agent's session, and what the model saw of it.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

LogArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[LOG]", help="Any agent's log; a recorded sample by default.", show_default=False),
]
SessionOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="NUMBER|ID",
        help="Which session of a log that holds several; the main one by default.",
        show_default=False,
    ),
]


def _version(value: bool) -> None:  # noqa: FBT001 -- typer calls it
    if value:
        _say(f"dsh-session {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def report(
    log: LogArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE",
            help="The page to write; LOG's name with .html, in this folder.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows the table of events may have.")] = 1500,
    wanted: SessionOption = None,
) -> None:
    """Write one self-contained HTML page about a log."""
    sessions, at = _open(log, wanted)
    session = sessions[at]
    target = _target(log, output)
    content = _page_of(session, sessions, rows).encode("utf-8", "replace")
    try:
        _write(target, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{target} cannot be written: {error.strerror or error}", "choose another place with -o PAGE")
    turns = sum(event.type == "turn/start" for event in session.events)
    surface = session.surface
    _say(f"Wrote {target} ({_size(len(content))}). Open it in a browser; it needs no network.", style="bold")
    _say(
        f"It shows the session {cut(one_line(session.id[:400]), 80)}: "
        f"{_count(session.seq, 'event')} in {_count(turns, 'turn')}, "
        f"a surface of {_count(len(surface), 'node')} after {_count(surface.replace_generation, 'replacement')}, "
        "and the messages that the model gets."
    )
    if len(sessions) > 1:
        _say(
            f"The log holds {len(sessions):,} sessions, and this is number {at + 1}; "
            "--session NUMBER or ID shows another one, dsh-session convert writes them all."
        )
        _say(f"  {listed(sessions)}")
    for finding in session.findings[:5]:
        _say(f"Note: {finding.message}", style="yellow")
    if len(session.findings) > 5:
        _say(f"Note: {_count(len(session.findings) - 5, 'more finding')}, see the page.", style="yellow")
    _say(f"Next: {_command('lab', log, wanted)}   (JupyterLab, on a tour of this log)")


@app.command()
def lab(
    log: LogArgument = None,
    *,
    browser: Annotated[bool, typer.Option(help="Open a browser; --no-browser for a server.")] = True,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port to listen on.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where your copy of the tour goes; a folder among your own data by default.", show_default=False
        ),
    ] = None,
    wanted: SessionOption = None,
) -> None:
    """Start JupyterLab on a tour of a log."""
    from dsh_session.lab.server import LabError, prepare, start, working_folder

    if log is not None or wanted is not None:
        sessions, at = _open(log, wanted)  # a log that cannot be read is better reported here than in a cell
        if len(sessions) > 1:
            _say(f"The log holds {len(sessions):,} sessions, and the tour opens number {at + 1}: {listed(sessions)}")
    try:
        tour = prepare((folder or working_folder()).resolve())
        if tour.kept is not None:
            _say(f"You had edited the tour; your copy is now {tour.kept}.")
        _say(f"Opening {tour.notebook}. Stop the server with Ctrl-C.")
        start(tour.notebook, log, session=wanted, browser=browser, port=port)
    except LabError as error:
        _fail(str(error))


app.command("validate")(validate_logs)
app.command("list")(list_any)
app.command("convert")(convert_log)


def main() -> None:
    """Run the command line of this process."""
    run(app)


# -------------------------------------------------------------------------------------------------- reading, writing


def _open(log: Path | None, wanted: str | None) -> tuple[tuple[Session, ...], int]:
    """Read a log: all sessions that are in it, and the position of the one that is wanted."""
    try:
        sessions = sessions_of(log)
        return sessions, choose(sessions, wanted)
    except SessionError as error:
        # The message names the file as well; one name, with line and column behind it, is enough.
        message = error.message
        log = Path(SAMPLE) if log is None else log
        for told in (f"{log}: ", f"line {error.line}: ", f"column {error.column}: "):
            message = message.removeprefix(told)
        place = "".join(f":{number}" for number in (error.line, error.column) if number is not None)
        _fail(f"{log}{place}: {message} ({error.code})", _HINTS.get(error.code))
    except OSError as error:
        _fail(f"{log}: {error.strerror or error}", "check the path")


def _page_of(session: Session, sessions: Sequence[Session], rows: int) -> str:
    from dsh_session.views.page import page  # pandas and jinja2, which --help does not need

    if len(sessions) == 1:
        return page(session, rows=rows)
    with Context() as ctx:
        for one in sessions:
            ctx.sessions.enter(one)
        return page(session, rows=rows, store=ctx.sessions)


def _target(log: Path | None, output: Path | None) -> Path:
    """Where the page goes; never over the log, and by default never over a file that is no page of ours."""
    if output is not None:
        if output.is_dir():
            _fail(f"{output} is a folder", f"name a file in it, such as -o {output / 'page.html'}")
        with suppress(OSError):
            if log is not None and output.samefile(log):
                _fail(f"{output} is the log itself", "choose another name for the page")
        return output
    target = Path(f"{SAMPLE if log is None else log.stem}.html")
    with suppress(FileNotFoundError):
        try:
            ours = _GENERATOR in target.read_bytes()[:4000]
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            ours = False
        if not ours:
            _fail(f"{target} is there already and is not a page of dsh-session", "name another one with -o PAGE")
    return target


# ---------------------------------------------------------------------------------------------------- talking


def _command(name: str, log: Path | None, wanted: str | None) -> str:
    """How to call another command, spelt as this one was called."""
    program = sys.argv[0] if Path(sys.argv[0]).stem == "dsh-session" else "dsh-session"
    found = shutil.which("dsh-session")
    if found is not None and Path(found) == Path(program):
        program = "dsh-session"
    words = [program, name, *([] if log is None else [str(log)])]
    words += [] if wanted is None else ["--session", wanted]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


if __name__ == "__main__":
    main()
