"""JupyterLab on a copy of the tour that the user may edit."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import quote

import platformdirs

from dsh_session.lab.log import LOG_VARIABLE, SESSION_VARIABLE

__all__ = ["LabError", "Prepared", "command", "environment", "prepare", "start", "working_folder"]

_TOUR: Final = "tour.ipynb"
# Whether a program can take this process's place.
_CAN_BECOME = os.name == "posix"


class LabError(Exception):
    """JupyterLab cannot be started; the message says what to do."""


class Prepared(NamedTuple):
    """A copy of the tour, ready to be opened.

    Attributes:
        notebook: The copy.
        kept: Where an edited copy from before was moved to, if there was one.
    """

    notebook: Path
    kept: Path | None


def working_folder() -> Path:
    """Where the user's copy of the tour lies by default.

    Returns:
        A folder among the user's own data; it may not exist yet.

    Example:
        >>> working_folder().name
        'tour'
    """
    return Path(platformdirs.user_data_dir("dsh-session", appauthor=False)) / "tour"


def prepare(folder: Path) -> Prepared:
    """Put a fresh copy of the tour into a folder.

    A copy that was edited is never lost: it is moved aside, to `tour-1.ipynb` and on. One that was only run is
    replaced.

    Args:
        folder: Where the copy goes; made if it does not exist.

    Returns:
        The copy, and where an edited one went.

    Raises:
        LabError: The folder cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     prepare(Path(folder)).notebook.name
        'tour.ipynb'
    """
    packaged = resources.files("dsh_session.lab") / _TOUR
    notebook = folder / _TOUR
    fresh = packaged.read_text(encoding="utf-8")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = None
        if notebook.exists() and _sources(notebook.read_text(encoding="utf-8", errors="replace")) != _sources(fresh):
            kept = _free(folder)
            notebook.rename(kept)
        notebook.write_text(fresh, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LabError(
            f"the tour cannot be copied to {folder}: {error.strerror or error}; choose another --folder"
        ) from error
    return Prepared(notebook, kept)


def _sources(notebook: str) -> Any:
    """What a person writes in a notebook, without what running it adds."""
    try:
        cells = json.loads(notebook)["cells"]
        return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None  # no notebook: somebody's file, to be kept


def _free(folder: Path) -> Path:
    stem, suffix = _TOUR.split(".")
    number = 1
    while (path := folder / f"{stem}-{number}.{suffix}").exists():
        number += 1
    return path


def command(notebook: Path, *, browser: bool = True, port: int | None = None) -> list[str]:
    """The command that opens a notebook in JupyterLab.

    Args:
        notebook: The notebook; its folder becomes the server's root.
        browser: Open a browser.
        port: The port to listen on; the next free one by default.

    Returns:
        The program and its arguments, for this Python.

    Example:
        >>> command(Path("tour.ipynb"), browser=False)[1:4]
        ['-m', 'jupyterlab', '--no-browser']
    """
    root = os.name == "posix" and os.geteuid() == 0
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        *([] if browser else ["--no-browser"]),
        *([] if port is None else [f"--port={port}"]),
        # In a container root is the only user there is, and the server listens on this machine alone.
        *(["--allow-root"] if root else []),
        f"--ServerApp.root_dir={notebook.parent}",
        # The address that is opened, or printed for a server, leads to the notebook.
        f"--LabApp.default_url=/lab/tree/{quote(notebook.name)}",
        # Nothing here asks the network for anything.
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]


def environment(log: Path | None, session: str | None = None) -> dict[str, str]:
    """The environment of the server and its kernels.

    Args:
        log: The log that the tour shall open; the packaged sample by default.
        session: Which session of it, by number or id; the main one by default.

    Returns:
        This process's environment with the log's absolute path in it, and the session.

    Example:
        >>> "DSH_SESSION_LOG" in environment(None)
        False
    """
    variables = dict(os.environ)
    variables.pop(LOG_VARIABLE, None)
    variables.pop(SESSION_VARIABLE, None)
    if log is not None:
        variables[LOG_VARIABLE] = str(log.resolve())
    if session is not None:
        variables[SESSION_VARIABLE] = session
    # The kernel of this environment, and not one of the same name among the user's own.
    variables.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    return variables


def start(
    notebook: Path, log: Path | None, *, session: str | None = None, browser: bool = True, port: int | None = None
) -> NoReturn:
    """Become JupyterLab, on a notebook.

    Args:
        notebook: The notebook to open.
        log: The log that it shall show; the packaged sample by default.
        session: Which session of it, by number or id; the main one by default.
        browser: Open a browser.
        port: The port to listen on; the next free one by default.

    Raises:
        LabError: JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise LabError(f"JupyterLab is not installed; run {shlex.quote(sys.executable)} -m pip install jupyterlab")
    arguments = command(notebook, browser=browser, port=port)
    variables = environment(log, session)
    sys.stdout.flush()
    sys.stderr.flush()
    if _CAN_BECOME:
        # The server takes this process's place, so that signals and the terminal are its own.
        os.execve(arguments[0], arguments, variables)  # noqa: S606 -- our own interpreter, no shell
    process = subprocess.Popen(arguments, env=variables)  # noqa: S603 -- our own interpreter, no shell
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server asks whether to stop; wait for its answer
    sys.exit(process.wait())
