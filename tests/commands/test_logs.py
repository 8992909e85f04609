"""``dsh-session validate`` and ``dsh-session list``, as somebody types them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dsh_session import cli
from dsh_session.persistence import JsonlPersistence, SqlitePersistence
from tests.persistence.talk import QuickDisk, as_ordinary_user, bare, call

HOSTILE = "\x1b[31mred\x07 \u202etxt.exe [bold]markup[/bold]"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two clean logs, in folders of the original's layout."""
    store = JsonlPersistence(tmp_path / "root", disk=QuickDisk())
    store.save(bare("one", 2, cwd="/home/user"))
    session = bare("two", 1, parentSession="one", seedLength=6)
    call(session, 2)
    store.save(session)
    return store.root


def _break(root: Path) -> Path:
    (path,) = root.rglob("two.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"garbage\n", *lines[3:]]) + b"torn")
    return path


def test_clean_logs_are_told_and_the_status_is_0(root: Path) -> None:
    result = run("validate", root)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "2 logs, nothing wrong.\n", "")
    result = run("validate", "--json", *sorted(root.rglob("*.jsonl")))
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])


def test_findings_are_a_table_with_every_place_and_the_status_is_1(root: Path) -> None:
    path = _break(root)
    result = run("validate", root)
    assert result.exit_code == 1
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["file", "line", "byte", "seq", "rule", "code", "message"] in lines
    offset = len(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert [str(path), "3", str(offset), "1", "json", "JSONL_CORRUPT"] in [line[:6] for line in lines]
    assert any(line[4:6] == ["tail", "TORN_TAIL"] for line in lines)
    assert result.stdout.endswith("2 findings in 1 of 2 logs.\n")


def test_findings_are_json_for_a_program(root: Path) -> None:
    path = _break(root)
    result = run("validate", root, "--json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)
    assert [set(finding) for finding in findings] == [{"file", "line", "offset", "seq", "rule", "code", "message"}] * 2
    assert (findings[0]["file"], findings[0]["line"], findings[0]["seq"]) == (str(path), 3, 1)
    assert result.stdout.isascii()


@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n\x1a\n", b'{"type":"session","version":7,"id":"s","createdAt":1}\n']
)
def test_what_is_no_log_is_told_and_the_status_is_2(root: Path, content: bytes) -> None:
    (root / "odd.jsonl").write_bytes(content)
    result = run("validate", root)
    assert result.exit_code == 2
    assert "1 file cannot be read as a log" in result.stdout
    assert "JSONL_" in result.stdout


def test_a_file_that_is_not_there_is_told_and_the_others_are_judged(root: Path) -> None:
    path = _break(root)
    result = run("validate", "--json", root / "absent.jsonl", path)
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)) == 2
    assert result.stderr == f"dsh-session: {root / 'absent.jsonl'}: No such file or directory\n"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are something else on Windows")
def test_a_file_and_a_folder_that_may_not_be_read_are_told(root: Path) -> None:
    folder = root / "closed"
    folder.mkdir()
    for parent in (root, *root.parents[:3]):
        if os.geteuid() == 0:
            parent.chmod(0o755)
    file = root / "closed.jsonl"
    file.write_bytes(b"")
    file.chmod(0)
    folder.chmod(0)
    with as_ordinary_user():
        result = run("validate", folder, file)
    folder.chmod(0o755)
    assert result.exit_code == 2
    assert result.stderr.count("Permission denied") == 2


def test_a_folder_without_logs_is_told(tmp_path: Path) -> None:
    result = run("validate", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "0 logs, nothing wrong.\n")


def test_a_database_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    SqlitePersistence(path).save(bare("s", 1))
    assert run("validate", path).exit_code == 0
    (tmp_path / "other.db").write_bytes(path.read_bytes()[:3_000])
    result = run("validate", tmp_path / "other.db")
    assert result.exit_code == 2
    assert "NOT_A_DATABASE" in result.stderr


def test_a_hostile_log_steers_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mname\n.jsonl"
    kind = json.dumps(HOSTILE + "\ud83d")
    path.write_bytes(
        b'{"type":"session","version":0,"id":%b,"createdAt":1e308,"cwd":%b}\n' % (kind.encode(), kind.encode())
        + b'{"type":%b,"seq":0,"time":1,"data":{%b:1,%b:2}}\n' % ((kind.encode(),) * 3)
    )
    for arguments in (
        ["validate", path],
        ["validate", "--json", path],
        ["list", tmp_path],
        ["list", "--json", tmp_path],
    ):
        result = run(*arguments)
        for unwanted in ("\x1b", "\x07", "\u202e"):
            assert unwanted not in result.stdout
        if "--json" in arguments:
            json.loads(result.stdout)
        else:
            assert "markup[/bold]" in result.stdout
    assert run("list", "--json", tmp_path).exit_code == 0


def test_very_many_findings_are_cut_in_a_table_and_not_in_json(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = b'{"type":"todo/write","seq":%d,"time":1,"data":{}}\n'
    path.write_bytes(bare("s", 0).to_jsonl() + b"".join(line % seq for seq in range(1_500)))
    result = run("validate", path)
    assert result.stdout.count("PAYLOAD_INVALID") == 1_000
    assert "… and 1,000 more; --json lists them all." in result.stdout
    assert "3,000 findings in 1 of 1 log." in result.stdout
    assert len(json.loads(run("validate", "--json", path).stdout)) == 3_000


def test_sessions_are_listed_with_what_their_headers_say(root: Path) -> None:
    result = run("list", root)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[1] == ["id", "created", "(UTC)", "events", "bytes", "cwd", "parent", "file"]
    (one,) = [row for row in rows if row[:1] == ["one"]]
    path = next(root.rglob("one.jsonl"))
    assert one[1:] == ["1970-01-01", "00:00:00", f"{path.stat().st_size:,}", "/home/user", str(path)]
    assert result.stdout.endswith("2 sessions.\n")


def test_a_list_is_json_for_a_program(root: Path, tmp_path: Path) -> None:
    (root / "odd.jsonl").write_bytes(b"")
    listed: list[Any] = json.loads(run("list", "--json", root).stdout)
    told = {each["id"]: each for each in listed}
    assert set(told) == {"one", "two", "odd"}
    assert told["one"]["header"]["cwd"] == "/home/user"
    assert told["two"]["header"]["parentSession"] == "one"
    assert told["odd"]["header"] is None
    assert "JSONL_BAD_HEADER" in told["odd"]["error"]
    assert "1 of them cannot be read" in run("list", root).stdout
    path = tmp_path / "s.db"
    SqlitePersistence(path).save(bare("s", 1))
    assert json.loads(run("list", "--json", path).stdout)[0]["events"] == 6
    (tmp_path / "none").mkdir()
    assert json.loads(run("list", "--json", tmp_path / "none").stdout) == []


def test_a_place_that_cannot_be_listed_is_told(tmp_path: Path) -> None:
    result = run("list", tmp_path / "absent")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"dsh-session: {tmp_path / 'absent'}: No such file or directory\n"


def test_the_installed_command_has_both(root: Path) -> None:
    for name, text in (("validate", "2 logs, nothing wrong."), ("list", "2 sessions.")):
        command = [sys.executable, "-m", "dsh_session.cli", name, str(root)]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")
        assert text in result.stdout
