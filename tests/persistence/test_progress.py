"""A bar where somebody watches for more than a second, and silence everywhere else."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from dsh_session.persistence import progress
progress.DELAY = float(sys.argv[1])
with progress.meter("reading a\\x1b[31m\\nlog", 100) as advance:
    for _ in range(10):
        time.sleep(0.02)
        advance(10)
print("done", "tqdm" in sys.modules)
"""


def _run_in_terminal(*arguments: str) -> str:
    """Run the program with a terminal for its standard error; give what appears there."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, text=True) as program:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # which is how a terminal ends that nobody holds open
            while piece := os.read(ours, 4_096):
                shown += piece
        assert program.stdout is not None
        assert program.stdout.read().startswith("done")
    os.close(ours)
    assert program.returncode == 0
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_terminal_sees_a_bar_once_the_work_takes_long() -> None:
    shown = _run_in_terminal("0.0")
    assert "reading a?[31m?log" in shown
    assert "100" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_terminal_sees_nothing_of_work_that_is_quick() -> None:
    assert _run_in_terminal("5.0").strip() == ""


def test_a_pipe_sees_nothing_and_loads_nothing() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM, "0.0"], check=False, capture_output=True, text=True)
    assert (result.stdout, result.stderr, result.returncode) == ("done False\n", "", 0)


def test_a_notebook_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    from dsh_session.persistence import progress

    class ZMQInteractiveShell:
        """What IPython calls the shell of a notebook."""

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=ZMQInteractiveShell))
    assert progress._is_watched()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress._is_watched()


def test_a_program_that_reads_a_large_log_in_a_pipe_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = '{"type":"plugin/x","seq":%d,"time":1,"data":"' + "x" * 1_000_000 + '"}\n'
    path.write_bytes(
        b'{"type":"session","version":0,"id":"s","createdAt":5}\n' + "".join(line % seq for seq in range(20)).encode()
    )
    program = "import sys, dsh_session; print(dsh_session.load(sys.argv[1]).seq)"
    result = subprocess.run([sys.executable, "-c", program, str(path)], check=False, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("20\n", "")
