"""A real JupyterLab or Notebook 7 with a real kernel, for the tests of what a person does there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

SCREENSHOTS = "DSH_SESSION_SCREENSHOTS"
"""Names the folder in which screenshots are kept; a test's own temporary folder by default."""


def _environment(home: Path) -> dict[str, str]:
    """An environment in which nothing of the user's own is read or written."""
    variables = dict(os.environ)
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    for name, folder in names.items():
        (home / folder).mkdir(parents=True)
        variables[name] = str(home / folder)
    # Without this it asks, in a pop-up over the page, whether to fetch news.
    quiet = home / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    return variables


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.loads(answer.read())


@contextmanager
def server(app: str, folder: Path, home: Path) -> Iterator[str]:
    """Run a server over a folder and give its address; `app` is `lab` or `notebook`."""
    port = _free_port()
    base = f"http://127.0.0.1:{port}"
    arguments = [
        *(sys.executable, "-m", "jupyter", app, "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}"),
        *("--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True"),
        *(f"--ServerApp.root_dir={folder}", "--LabApp.news_url="),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with (home.parent / f"{app}.log").open("wb") as log:
        process = subprocess.Popen(
            arguments, env=_environment(home), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _await(lambda: _get(f"{base}/api"), f"no {app} server answered", seconds=40)
            yield base
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


def _await(ask: Any, what: str, *, seconds: float = 30.0) -> Any:
    """Ask again until there is an answer."""
    end = time.monotonic() + seconds
    while True:
        try:
            answer = ask()
        except (OSError, ValueError):
            answer = None
        if answer:
            return answer
        assert time.monotonic() < end, what
        time.sleep(0.1)


def open_notebook(page: Page, base: str, app: str, name: str) -> None:
    """Open a notebook, and wait until its kernel hears the page: the toolbar says idle too early."""
    page.goto(f"{base}/lab/tree/{name}?reset" if app == "lab" else f"{base}/notebooks/{name}")
    page.wait_for_selector(".jp-Notebook")

    def is_ready() -> bool:
        sessions = _get(f"{base}/api/sessions")
        kernel = sessions[0]["kernel"] if sessions else {}
        return kernel.get("execution_state") == "idle" and kernel.get("connections", 0) > 0

    _await(is_ready, "no kernel became idle", seconds=60)


def run_all(page: Page) -> None:
    """Choose "Run All Cells"."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def written(path: Path, ask: Any, what: str, *, seconds: float = 20.0) -> Any:
    """Wait until a file that the kernel writes holds what is asked for, and give what `ask` made of its lines."""

    def look() -> Any:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return ask(lines)

    return _await(look, what, seconds=seconds)


def write_notebook(path: Path, cells: list[str]) -> None:
    """Write a notebook of code cells."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(notebook, path)
