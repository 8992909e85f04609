from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dsh_session import Session, __version__, cli, load, samples
from dsh_session.views.page import page

if TYPE_CHECKING:
    from typer.testing import Result

ROOT = Path(__file__).parent.parent
HEADER = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'
START = b'{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}\n'
END = b'{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dsh-session"])
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def refuse(*arguments: str) -> str:
    """Run a command that must fail: code 2, nothing on stdout, no traceback. Gives what stderr says."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert isinstance(result.exception, SystemExit)
    return result.stderr


# -------------------------------------------------------------------------------------------------------------- report


def test_without_arguments_it_reports_on_the_sample_and_says_what_to_try_next(here: Path) -> None:
    result = run("report")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"Wrote pi-compacted-twice\.html \(\d\.\d MB\)\. Open it in a browser; .*", lines[0])
    assert "2,540 events in 57 turns, a surface of 448 nodes after 2 replacements" in lines[1]
    assert lines[-1].startswith("Next: dsh-session lab ")
    assert (here / "pi-compacted-twice.html").read_text(encoding="utf-8") == page(samples.load("pi-compacted-twice"))
    assert [path.name for path in here.iterdir()] == ["pi-compacted-twice.html"]


def test_a_page_goes_where_it_is_told_and_replaces_what_was_there(here: Path) -> None:
    (here / "out.html").write_text("notes of mine, named on purpose")
    result = run("report", str(samples.path("pi-compacted-twice")), "-o", "out.html", "--rows", "10")
    assert result.exit_code == 0
    assert (here / "out.html").read_text(encoding="utf-8") == page(samples.load("pi-compacted-twice"), rows=10)


def test_the_default_page_has_the_logs_name_and_replaces_an_older_page_only(here: Path) -> None:
    log = here / "logs" / "my log.jsonl"
    log.parent.mkdir()
    log.write_bytes(HEADER + START + END)
    assert run("report", str(log)).exit_code == 0
    assert run("report", str(log)).exit_code == 0
    (here / "my log.html").write_text("notes of mine")
    said = refuse("report", str(log))
    assert said == (
        "dsh-session: my log.html is there already and is not a page of dsh-session\n  name another one with -o PAGE\n"
    )
    assert (here / "my log.html").read_text() == "notes of mine"


def test_the_log_is_never_overwritten(here: Path) -> None:
    log = here / "log.jsonl"
    log.write_bytes(HEADER)
    (here / "same.html").hardlink_to(log)
    for name in ("log.jsonl", "./log.jsonl", "same.html"):
        assert "is the log itself" in refuse("report", "log.jsonl", "-o", name)
    assert log.read_bytes() == HEADER


@pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX")
def test_a_page_has_the_mode_of_any_new_file_and_a_link_to_it_stays_a_link(here: Path) -> None:
    (here / "pages").mkdir()
    (here / "latest.html").symlink_to(here / "pages" / "page.html")
    old = os.umask(0o027)
    try:
        assert run("report", "-o", "latest.html").exit_code == 0
    finally:
        os.umask(old)
    assert (here / "latest.html").is_symlink()
    assert stat.S_IMODE((here / "pages" / "page.html").stat().st_mode) == 0o640


def test_a_page_that_cannot_be_written_is_an_error_and_leaves_nothing_behind(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no/where.html cannot be written: No such file or directory" in refuse("report", "-o", "no/where.html")
    (here / "folder").mkdir()
    assert "folder is a folder" in refuse("report", "-o", "folder")

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    (here / "old.html").write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    assert "No space left on device" in refuse("report", "-o", "old.html")
    assert (here / "old.html").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == ["folder", "old.html"]


def test_a_log_with_findings_is_shown_and_they_are_told(here: Path) -> None:
    (here / "torn.jsonl").write_bytes(HEADER + START + b'{"type":"turn/e')
    result = run("report", "torn.jsonl")
    assert result.exit_code == 0
    assert "Note: line 3 has no line break (15 bytes); it was left out" in result.stdout
    assert "1 event in 1 turn, a surface of 0 nodes after 0 replacements" in result.stdout
    assert "Next: dsh-session lab torn.jsonl " in result.stdout


@pytest.mark.parametrize(
    ("content", "place", "code", "what"),
    [
        (b"", "log.jsonl:1: ", "JSONL_NO_HEADER", "empty"),
        (b"\x00\xff\n", "log.jsonl:1", "JSONL_BAD_HEADER", "no session header"),
        (b'{"type":"session","id":"s","createdAt":5}\n', "log.jsonl:1: ", "JSONL_BAD_HEADER", "version must be 0"),
        (
            HEADER + b'{"type":"turn/start","seq":0,"time":1,"data":{]}}\n' + END,
            "log.jsonl:2:47: ",
            "JSONL_CORRUPT",
            "",
        ),
        (HEADER + START + START + END, "log.jsonl:3: ", "JSONL_GAP", "seq"),
        (
            HEADER + b'{"type":"assistant/message","seq":0,"time":1,"data":{"content":[]},"surfaceOp":"append"}\n',
            "log.jsonl:2: ",
            "MISSING_ROUTE",
            "provider",
        ),
    ],
    ids=["empty", "binary", "no version", "no JSON", "gap", "no route"],
)
@pytest.mark.parametrize("command", ["report", "lab"])
def test_a_log_that_cannot_be_read_names_file_line_and_column_and_what_to_do(
    here: Path, command: str, content: bytes, place: str, code: str, what: str
) -> None:
    (here / "log.jsonl").write_bytes(content)
    first, second = refuse(command, "log.jsonl").splitlines()
    assert first.startswith(f"dsh-session: {place}")
    assert first.endswith(f"({code})")
    assert what in first
    assert first.count("log.jsonl") == 1
    assert second.startswith("  ")
    assert list(here.iterdir()) == [here / "log.jsonl"]


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_path_that_is_no_file_is_refused(here: Path, name: str) -> None:
    first, second = refuse("report", name).splitlines()
    assert first.startswith(f"dsh-session: {name}: ")
    assert second
    assert list(here.iterdir()) == []


def test_nothing_of_a_log_acts_on_the_terminal(here: Path) -> None:
    session = Session("s\x1b[31m[bold]x\r\n[/] :smile: \u202e", clock=lambda: 0)
    name = "a\x1b]0;title\x07 [red]b.jsonl"
    (here / name).write_bytes(session.to_jsonl())
    for said in (run("report", name).output, refuse("report", f"missing {name}")):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said)
        assert "[red]b.jsonl" in said
    assert "s␛[31m[bold]x [/] :smile: [RLO]" in run("report", name).output


def test_a_name_that_is_no_unicode_is_shown_and_works(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    try:
        (here / name).write_bytes(HEADER)
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    result = run("report", name)
    assert result.exit_code == 0
    assert "caf\ufffd.html" in result.stdout
    assert (here / os.fsdecode(b"caf\xe9.html")).exists()


def test_a_long_log_gives_a_page_of_bounded_size(here: Path) -> None:
    session = Session("long", check_payloads=False, clock=lambda: 0)
    for _ in range(20_000):
        session.append("assistant/chunk", {"chunk": {"type": "text-delta", "index": 0, "text": "x"}})
    for number in range(20_000):
        session.append("hook/result", {"decision": "pass", "handlerId": f"h{number}"})
    (here / "long.jsonl").write_bytes(session.to_jsonl())
    result = run("report", "long.jsonl")
    assert result.exit_code == 0
    assert (here / "long.html").stat().st_size < 8_000_000


# ----------------------------------------------------------------------------------------------------------------- lab


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the server would have been started with."""
    calls: list[Any] = []

    def exec_(program: str, arguments: list[str], variables: dict[str, str]) -> None:
        calls.append((program, arguments, variables))
        raise SystemExit(0)

    monkeypatch.setattr("dsh_session.lab.server._CAN_BECOME", True)
    monkeypatch.setattr(os, "execve", exec_, raising=False)
    return calls


def test_lab_opens_a_copy_of_the_tour_on_the_sample(here: Path, started: list[Any]) -> None:
    result = run("lab", "--folder", "tour here")
    assert result.exit_code == 0, result.output
    notebook = here / "tour here" / "tour.ipynb"
    assert notebook.exists()
    assert f"Opening {notebook}" in result.stdout
    ((program, arguments, variables),) = started
    assert program == sys.executable
    assert "--no-browser" not in arguments
    assert f"--ServerApp.root_dir={here / 'tour here'}" in arguments
    assert "DSH_SESSION_LOG" not in variables
    assert "DSH_SESSION_CHOICE" not in variables


@pytest.mark.usefixtures("here")
def test_lab_hands_over_which_session_is_meant_and_an_older_choice_is_not(
    started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ROOT / "tests" / "data" / "logs" / "messages" / "conversations.jsonl"
    result = run("lab", str(log), "--session", "2", "--folder", ".")
    assert result.exit_code == 0, result.output
    assert re.search(r"The log holds \d sessions, and the tour opens number 2: 1 = .*, 2 = ", result.stdout)
    assert started[0][2]["DSH_SESSION_CHOICE"] == "2"
    monkeypatch.setenv("DSH_SESSION_CHOICE", "3")
    assert run("lab", str(log), "--folder", ".").exit_code == 0
    assert "DSH_SESSION_CHOICE" not in started[1][2]


def test_lab_hands_over_the_log_and_how_to_serve(here: Path, started: list[Any]) -> None:
    (here / "my log.jsonl").write_bytes(HEADER)
    result = run("lab", "my log.jsonl", "--no-browser", "--port", "9123", "--folder", ".")
    assert result.exit_code == 0, result.output
    ((_, arguments, variables),) = started
    assert {"--no-browser", "--port=9123"} <= set(arguments)
    assert variables["DSH_SESSION_LOG"] == str(here / "my log.jsonl")


def test_lab_says_where_an_edited_tour_went(here: Path, started: list[Any]) -> None:
    (here / "tour.ipynb").write_text("{}")
    result = run("lab", "--folder", ".")
    assert f"You had edited the tour; your copy is now {here / 'tour-1.ipynb'}." in result.stdout
    assert (here / "tour-1.ipynb").read_text() == "{}"
    assert started


def test_lab_without_jupyterlab_says_what_to_install(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    result = run("lab", "--folder", str(here))
    assert result.exit_code == 2
    assert "-m pip install jupyterlab" in result.stderr


def test_lab_in_a_folder_that_cannot_be_written_says_so(here: Path) -> None:
    (here / "file").write_text("")
    said = refuse("lab", "--folder", "file/tour")
    assert "the tour cannot be copied to" in said
    assert "choose another --folder" in said


# ----------------------------------------------------------------------------------------------------- the program


def test_the_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"dsh-session {__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_names_the_commands(arguments: list[str]) -> None:
    output = run(*arguments).output
    assert re.search(r"^  report +Write one", output, re.MULTILINE)
    assert re.search(r"^  lab +Start JupyterLab", output, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments", [["reprot"], ["report", "--rows", "0"], ["lab", "--port", "99999"], ["report", "a", "b"]]
)
def test_wrong_usage_ends_with_code_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("program", "path", "shown"),
    [
        (".venv/bin/dsh-session", "", ".venv/bin/dsh-session lab"),
        ("/my env/bin/dsh-session", "", "'/my env/bin/dsh-session' lab"),
        ("/opt/bin/dsh-session", "/opt/bin/dsh-session", "dsh-session lab"),
        ("/x/pytest/__main__.py", "", "dsh-session lab"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="quoted for a POSIX shell")
def test_the_next_command_is_spelt_as_this_one_was_called(
    here: Path, monkeypatch: pytest.MonkeyPatch, program: str, path: str, shown: str
) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr("shutil.which", lambda _: path or None)
    (here / "a 'b'.jsonl").write_bytes(HEADER)
    assert f"Next: {shown}   (JupyterLab" in run("report").stdout
    assert f"""Next: {shown} 'a '"'"'b'"'"'.jsonl'   (""" in run("report", "a 'b'.jsonl").stdout


def test_the_program_itself_runs_in_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    session = Session("naïve – ☃", clock=lambda: 0)
    (tmp_path / "log.jsonl").write_bytes(session.to_jsonl())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "dsh_session.cli", "report", "log.jsonl"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"na?ve ? ?" in done.stdout
    assert load(tmp_path / "log.jsonl").id == "naïve – ☃"
