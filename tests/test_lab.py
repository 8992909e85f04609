from __future__ import annotations

import json
import os
import sys
from importlib import resources
from pathlib import Path

import nbformat
import pytest

from dsh_session import lab, samples
from dsh_session.lab.server import LabError, command, environment, prepare, start, working_folder

TOUR = (resources.files("dsh_session.lab") / "tour.ipynb").read_text(encoding="utf-8")


def test_the_log_of_the_tour_is_the_sample_unless_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSH_SESSION_LOG", raising=False)
    assert lab.open_log().to_jsonl() == samples.load("pi-compacted-twice").to_jsonl()
    path = tmp_path / "my log.jsonl"
    path.write_text('{"type":"session","version":0,"id":"mine","createdAt":5}\n')
    monkeypatch.setenv("DSH_SESSION_LOG", str(path))
    assert lab.open_log().id == "mine"


def test_the_tour_is_copied_as_it_ships(tmp_path: Path) -> None:
    tour = prepare(tmp_path / "new" / "folder")
    assert tour.notebook == tmp_path / "new" / "folder" / "tour.ipynb"
    assert tour.kept is None
    assert tour.notebook.read_text(encoding="utf-8") == TOUR


def test_a_copy_that_was_only_run_is_replaced(tmp_path: Path) -> None:
    notebook = json.loads(TOUR)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"], cell["source"] = [], None, "".join(cell["source"])
    (tmp_path / "tour.ipynb").write_text(json.dumps(notebook))
    assert prepare(tmp_path).kept is None
    assert (tmp_path / "tour.ipynb").read_text(encoding="utf-8") == TOUR
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "content", [TOUR.replace("A tour of a session", "My notes"), "no notebook", "[]", "[" * 100_000]
)
def test_a_copy_that_was_edited_is_moved_aside_and_nothing_is_lost(tmp_path: Path, content: str) -> None:
    (tmp_path / "tour-1.ipynb").write_text("an older one")
    (tmp_path / "tour.ipynb").write_text(content, encoding="utf-8")
    assert prepare(tmp_path).kept == tmp_path / "tour-2.ipynb"
    assert (tmp_path / "tour-2.ipynb").read_text(encoding="utf-8") == content
    assert (tmp_path / "tour-1.ipynb").read_text() == "an older one"
    assert (tmp_path / "tour.ipynb").read_text(encoding="utf-8") == TOUR


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match=r"cannot be copied to .*choose another --folder"):
        prepare(tmp_path / "file")


def test_the_server_is_this_pythons_and_shows_the_notebook(tmp_path: Path) -> None:
    words = command(tmp_path / "tour 1.ipynb", browser=False, port=9000)
    assert words[:3] == [sys.executable, "-m", "jupyterlab"]
    assert {"--no-browser", "--port=9000", "--LabApp.default_url=/lab/tree/tour%201.ipynb"} <= set(words)
    assert f"--ServerApp.root_dir={tmp_path}" in words


@pytest.mark.skipif(os.name != "posix", reason="there is no root elsewhere")
@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_root_is_allowed_where_it_is_the_user(monkeypatch: pytest.MonkeyPatch, user: int, allowed: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("--allow-root" in command(Path("tour.ipynb"))) is allowed


def test_the_log_reaches_the_kernel_by_its_absolute_path_and_an_older_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSH_SESSION_LOG", "/left/over.jsonl")
    assert environment(Path("a b.jsonl"))["DSH_SESSION_LOG"] == str(tmp_path / "a b.jsonl")
    assert "DSH_SESSION_LOG" not in environment(None)
    assert environment(None)["JUPYTER_PREFER_ENV_PATH"] == "1"


def test_where_processes_cannot_be_replaced_the_server_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        def __init__(self, words: list[str], env: dict[str, str]) -> None:
            assert words == command(Path("tour.ipynb"))
            assert "DSH_SESSION_LOG" not in env

        def wait(self) -> int:
            return 3

    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("dsh_session.lab.server._CAN_BECOME", False)
    with pytest.raises(SystemExit) as stopped:
        start(Path("tour.ipynb"), None)
    assert stopped.value.code == 3


def test_the_working_folder_belongs_to_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = working_folder()
    assert folder.name == "tour"
    if sys.platform == "linux":
        assert folder == tmp_path / "dsh-session" / "tour"


def test_the_tour_is_about_whichever_log_is_open() -> None:
    notebook = nbformat.reads(TOUR, as_version=4)
    source = "\n".join(cell.source for cell in notebook.cells)
    assert "lab.open_log()" in source
    assert "pi-compacted-twice" not in source
