"""``dsh-session convert`` and the listing of other agents' logs, as somebody types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dsh_session import cli, import_log, load
from dsh_session.lab.log import LOG_VARIABLE, SESSION_VARIABLE, open_log
from tests.importers.corpora import LOGS, small_logs

SEVERAL = LOGS / "messages" / "conversations.jsonl"
FORKED = LOGS / "dsh-2026-08" / "subagent-fork.1.jsonl"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def refuse(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_log_becomes_a_session_in_a_file_that_loads(here: Path) -> None:
    log = LOGS / "dsh-2026-08" / "compaction-recovery.jsonl"
    result = run("convert", log, "-o", "session.jsonl")
    assert result.exit_code == 0
    assert result.stdout.startswith("Wrote session.jsonl: the session {{sessionId}}, 27 events, a surface of 4 nodes")
    assert "after 1 replacement." in result.stdout
    assert "--side-table TABLE.csv keeps them." in result.stdout
    assert "1 finding: 1 NO_TIMES" in result.stdout
    assert load(here / "session.jsonl").to_jsonl() == import_log(log).session.to_jsonl()


def test_forks_and_sub_agents_get_files_of_their_own(here: Path) -> None:
    log = next(path for path in small_logs("pi") + small_logs("codex") if import_log(path).forks)
    imported = import_log(log)
    assert run("convert", log, "-o", "out.jsonl").exit_code == 0
    assert load(here / "out.fork-1.jsonl").to_jsonl() == imported.forks[0].to_jsonl()
    assert len(list(here.iterdir())) == len(imported.sessions)


def test_without_a_name_it_is_the_log_s_and_nothing_is_overwritten(here: Path) -> None:
    log = LOGS / "dsh-2026-08" / "todo-write.jsonl"
    assert run("convert", log).exit_code == 0
    assert (here / "todo-write.session.jsonl").exists()
    assert "todo-write.session.jsonl is there already" in refuse("convert", log)
    assert run("convert", log, "-o", "todo-write.session.jsonl").exit_code == 0


def test_what_nobody_named_is_not_overwritten(here: Path) -> None:
    log = next(path for path in small_logs("pi") + small_logs("codex") if import_log(path).forks)
    (here / "s.fork-1.jsonl").write_text("mine")
    assert "s.fork-1.jsonl is there already" in refuse("convert", log, "-o", "s.jsonl")
    assert [path.name for path in here.iterdir()] == ["s.fork-1.jsonl"]
    (here / "s.jsonl").touch()  # who replaces the session replaces its forks, too
    assert run("convert", log, "-o", "s.jsonl").exit_code == 0
    assert (here / "s.fork-1.jsonl").read_bytes() == import_log(log).forks[0].to_jsonl()


def test_a_table_is_never_written_over_a_session_nor_into_no_folder(here: Path) -> None:
    log = small_logs("codex")[0]
    assert "cannot be a session and a table at once" in refuse("convert", log, "-o", "x.csv", "--side-table", "x.csv")
    assert "there is no folder none" in refuse("convert", log, "-o", "x.jsonl", "--side-table", "none/x.csv")
    assert list(here.iterdir()) == []


def test_a_pipe_gets_the_session_and_nothing_else(here: Path) -> None:
    log = next(path for path in small_logs("pi") + small_logs("codex") if import_log(path).forks)
    command = [sys.executable, "-m", "dsh_session.cli", "convert", str(log), "-o", "/dev/stdout"]
    result = subprocess.run(command, check=True, capture_output=True, cwd=here)
    assert result.stdout == import_log(log).session.to_jsonl()
    assert b"further session" in result.stderr
    assert list(here.iterdir()) == []


def test_one_value_is_one(here: Path) -> None:
    (here / "x.jsonl").write_text('{"role": "user", "content": "hi", "odd": 1}')
    told = "1 value of the log has no place in an event; --side-table TABLE.csv keeps it."
    assert told in run("convert", "x.jsonl", "-o", "s.jsonl").stdout


def test_a_package_that_fails_is_told_and_the_rest_is_listed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_logs("codex")[0].read_bytes()
    packages = here / ".git"
    info = packages / "dsh_gone-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dsh-gone\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dsh_session.importers]\ngone = no_such_module:x\n")
    monkeypatch.syspath_prepend(packages)
    (here / "log.jsonl").write_bytes(log)
    (here / "odd.txt").write_text("odd")
    result = run("list", here)
    assert (result.exit_code, "Codex" in result.stdout) == (0, True)
    assert result.stderr.startswith("dsh-session: the entry point 'gone' (no_such_module:x) cannot be loaded")
    assert "cannot be loaded" in run("list", here / "odd.txt").stderr
    assert "(IMPORT_PLUGIN)" in refuse("report", here / "odd.txt")


def test_a_log_is_never_overwritten_by_itself(here: Path) -> None:
    path = here / "x.jsonl"
    path.write_bytes(FORKED.read_bytes())
    assert "is the log itself" in refuse("convert", path, "-o", path)
    (here / "link.csv").symlink_to(path)
    assert "is the log itself" in refuse("convert", path, "-o", "y.jsonl", "--side-table", "link.csv")
    assert path.read_bytes() == FORKED.read_bytes()
    assert not (here / "y.jsonl").exists()


def test_the_side_table_is_written_and_holds_no_formula(here: Path) -> None:
    log = LOGS / "dsh-2026-08" / "packed-chunks.jsonl"
    result = run("convert", log, "-o", "s.jsonl", "--side-table", "side.csv")
    assert result.exit_code == 0
    rows = (here / "side.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "session,seq,file,line,key,value"
    assert f"Wrote side.csv: {len(rows) - 1} rows" in result.stdout
    run("convert", log, "-o", "s.jsonl", "--side-table", "side.parquet")
    assert (here / "side.parquet").stat().st_size > 0
    assert "a table is a .csv or a .parquet file" in refuse("convert", log, "--side-table", "side.xlsx")


@pytest.mark.usefixtures("here")
def test_an_option_reaches_the_importer_and_another_is_refused() -> None:
    log = small_logs("codex")[0]
    assert run("convert", log, "-o", "s.jsonl", "--option", "compaction=exact").exit_code == 0
    assert "takes no option 'shade'; it takes compaction" in refuse("convert", log, "--option", "shade=blue")
    assert "compaction must be one of" in refuse("convert", log, "--option", "compaction=odd")
    assert "an option is NAME=VALUE" in refuse("convert", log, "--option", "compaction")
    assert "there is no format 'x'" in refuse("convert", log, "--format", "x")


def test_an_option_may_be_a_file_or_several(here: Path) -> None:
    log = LOGS / "claude-code" / "plain-03eb5929.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for number, part in enumerate((lines[:20], lines[20:40], lines[40:])):
        (here / f"{number}.jsonl").write_bytes(b"".join(part))
    earlier = ("--option", "earlier=0.jsonl", "--option", "earlier=1.jsonl")
    assert run("convert", "2.jsonl", "-o", "s.jsonl", *earlier).exit_code == 0
    assert load(here / "s.jsonl").to_jsonl() == import_log(log).session.to_jsonl()
    (here / "01.jsonl").write_bytes(b"".join(lines[:40]))
    assert run("convert", "2.jsonl", "-o", "s.jsonl", "--option", "earlier=01.jsonl").exit_code == 0
    assert load(here / "s.jsonl").to_jsonl() == import_log(log).session.to_jsonl()
    assert "none.jsonl: No such file" in refuse("convert", "2.jsonl", "-o", "s.jsonl", "--option", "earlier=none.jsonl")


def test_what_is_no_log_is_refused_in_two_lines(here: Path) -> None:
    (here / "x").write_text("nothing")
    first, second = refuse("convert", "x").splitlines()
    assert re.fullmatch(r"dsh-session: x: no known format; known are .* \(IMPORT_UNKNOWN\)", first)
    assert second.startswith("  ")
    assert "(IMPORT_FOLDER)" in refuse("convert", ".")
    assert "No such file or directory" in refuse("convert", "none")


def test_a_hostile_log_steers_no_terminal(here: Path) -> None:
    hostile = "\x1b[31mred\x07\u202e"
    header = {"type": "session", "version": 0, "id": hostile, "createdAt": 5, "delegationDepth": 0, "cwd": hostile}
    odd = {"type": hostile, "data": {}, "seq": 0, "time": 5}
    path = here / "x\x1b[31m.jsonl"
    path.write_text(json.dumps(header) + "\n" + json.dumps(odd) + "\n")
    for result in (
        run("convert", path, "-o", "s.jsonl"),
        run("list", here),
        run("list", "--json", here),
        run("report", path),
    ):
        assert result.exit_code == 0, result.output
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.output)


# --------------------------------------------------------------------------------------------------- other agents' logs


def test_a_folder_of_any_agent_is_listed_newest_first(here: Path) -> None:
    for name in ("codex", "pi"):
        path = small_logs(name)[0]
        (here / f"{name}-{path.name}").write_bytes(path.read_bytes())
    (here / "child.jsonl").write_bytes(FORKED.read_bytes())
    result = run("list", here)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[1].split()[:6] == ["agent", "date", "(UTC)", "turns", "compactions", "size"]
    dates = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d", result.stdout)
    assert dates == sorted(dates, reverse=True)
    assert lines[-1].startswith("2 logs; 1 log of sub-agents beside them, --all lists those too.")
    assert "(sub-agent)" in run("list", "--all", here).stdout
    listed = json.loads(run("list", "--json", "--all", here).stdout)
    assert {log["format"] for log in listed} == {"codex", "pi", "dsh-later"}
    assert {log["turns"] is None for log in listed} == {False}


def test_one_log_of_any_agent_is_listed_too() -> None:
    assert "Codex" in run("list", small_logs("codex")[0]).stdout


@pytest.mark.parametrize("name", ["claude-code", "codex", "pi", "openhands", "inspect-ai", "swe-agent", "messages"])
def test_a_page_is_written_about_a_log_of_any_agent(here: Path, name: str) -> None:
    log = small_logs(name)[0]
    result = run("report", log, "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert (here / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "Next: " in result.stdout


def test_the_tour_opens_a_log_of_any_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_logs("codex")[0]
    monkeypatch.setenv(LOG_VARIABLE, str(log))
    assert open_log().to_jsonl() == import_log(log).session.to_jsonl()


def test_a_page_shows_a_session_among_its_forks(here: Path) -> None:
    log = next(path for path in small_logs("claude-code") if import_log(path).forks)
    result = run("report", log, "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert "The log holds 2 sessions, and this is number 1; --session NUMBER or ID shows another one" in result.stdout
    assert import_log(log).forks[0].id in (here / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("by", ["number", "id"])
def test_a_page_is_about_the_session_that_is_named_and_tells_of_the_others(here: Path, by: str) -> None:
    sessions = import_log(SEVERAL).sessions
    assert len(sessions) > 1
    wanted = "2" if by == "number" else sessions[1].id
    result = run("report", SEVERAL, "--session", wanted, "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert f"It shows the session {sessions[1].id}: " in result.stdout
    assert f"The log holds {len(sessions)} sessions, and this is number 2;" in result.stdout
    assert f"1 = {sessions[0].id}, 2 = {sessions[1].id}" in result.stdout
    assert f"--session {wanted}" in result.stdout.splitlines()[-1]
    title = re.search(r"<title>(.*?)</title>", (here / "page.html").read_text(encoding="utf-8"))
    assert title is not None
    assert sessions[1].id in title[1]


@pytest.mark.parametrize("wanted", ["0", "99", "-1", "²", "nobody", ""])
@pytest.mark.parametrize("command", ["report", "lab"])
def test_a_session_that_is_not_there_is_refused_with_those_that_are(here: Path, command: str, wanted: str) -> None:
    said = refuse(command, SEVERAL, "--session", wanted)
    assert "there is no session with the number or id" in said
    assert f"1 = {import_log(SEVERAL).session.id}, 2 = " in said
    assert "NO_SUCH_SESSION" in said
    assert not list(here.iterdir())


def test_the_tour_opens_the_session_that_was_named_and_says_which_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions = import_log(SEVERAL).sessions
    monkeypatch.setenv(LOG_VARIABLE, str(SEVERAL))
    monkeypatch.delenv(SESSION_VARIABLE, raising=False)
    assert open_log().id == sessions[0].id
    assert capsys.readouterr().out.startswith(f"Session 1 of {len(sessions)} in this log. open_log(NUMBER or ID) opens")
    assert open_log(2).id == open_log(sessions[1].id).id == sessions[1].id
    monkeypatch.setenv(SESSION_VARIABLE, "2")
    assert open_log().id == sessions[1].id


def test_a_wrong_format_of_which_nothing_is_read_is_refused_and_nothing_is_written(here: Path) -> None:
    for output in ("session.jsonl", "/dev/stdout"):
        said = refuse("convert", small_logs("codex")[0], "--format", "claude-code", "-o", output)
        assert "as claude-code nothing in the file is a message of Claude Code" in said
        assert "it is a log of Codex: read it as 'codex', or name no format (NOTHING_READ)" in said
        assert said.count("\n") == 2
    assert not list(here.iterdir())
