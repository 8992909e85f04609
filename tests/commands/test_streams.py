"""Commands whose output cannot be written, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from dsh_session import samples

SAMPLE = samples.path("pi-compacted-twice")
COMMANDS = {
    "list": ["list", "{folder}"],
    "list as JSON": ["list", "{folder}", "--json"],
    "validate": ["validate", "{folder}"],
    "validate as JSON": ["validate", "{folder}", "--json"],
    "report": ["report", "{log}", "-o", "{folder}/page.html"],
    "convert": ["convert", "{log}", "-o", "{folder}/session.jsonl"],
    "convert into the pipe": ["convert", "{log}", "-o", "/dev/stdout"],
    "help": ["--help"],
}
COMMAND = [sys.executable, "-m", "dsh_session.cli"]
NOWHERE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")


@pytest.fixture(params=COMMANDS.values(), ids=COMMANDS)
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    log = tmp_path / "log.jsonl"
    log.write_bytes(SAMPLE.read_bytes())
    return [*COMMAND, *(word.format(folder=tmp_path, log=log) for word in request.param)]


@NOWHERE
def test_a_full_disk_under_the_output_is_one_line_and_exit_code_2(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be written: No space left on device" in done.stderr
    assert done.stderr.count("\n") == 2
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_heard_enough_is_told_nothing(command: list[str]) -> None:
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    told = running.stderr.read()
    running.stderr.close()
    assert running.wait() == 1
    assert not told


@NOWHERE
def test_an_answer_reaches_the_output_where_nobody_can_be_told_of_errors(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout


def test_closed_streams_take_everything(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(SAMPLE.read_bytes())
    line = f'exec "{sys.executable}" -m dsh_session.cli validate "{log}" >&- 2>&-'
    assert subprocess.run(["/bin/sh", "-c", line], check=False).returncode == 0
    line = f'exec "{sys.executable}" -m dsh_session.cli validate "{log}.missing" >&- 2>&-'
    assert subprocess.run(["/bin/sh", "-c", line], check=False).returncode == 2
