"""One writer per session, whoever dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsh_session.persistence import SessionLockedError
from dsh_session.persistence.lock import SessionLock

HOLDER = """
import sys, time
from pathlib import Path
from dsh_session.persistence.lock import SessionLock
lock = SessionLock(Path(sys.argv[1]), "s")
print("held", flush=True)
time.sleep(60)
"""


def _hold(path: Path) -> "subprocess.Popen[bytes]":
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def test_another_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "s.lock"
    holder = _hold(path)
    try:
        with pytest.raises(SessionLockedError, match=f"process {holder.pid} ") as caught:
            SessionLock(path, "s")
        assert (caught.value.code, caught.value.pid) == ("SESSION_LOCKED", holder.pid)
        assert "'s'" in str(caught.value)
        assert path.exists()
    finally:
        holder.kill()
        holder.communicate()
    # It died without a word; nothing has to be cleaned up.
    assert path.exists()
    SessionLock(path, "s").release()
    assert not path.exists()


def test_the_same_process_cannot_take_it_twice(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path / "s.lock", "s")
    with pytest.raises(SessionLockedError, match="this process") as caught:
        SessionLock(tmp_path / "s.lock", "s")
    assert caught.value.pid == os.getpid()
    lock.release()
    lock.release()
    SessionLock(tmp_path / "s.lock", "s").release()


def test_a_lock_that_is_forgotten_is_let_go(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path / "s.lock", "s")
    del lock
    SessionLock(tmp_path / "s.lock", "s").release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [b"", b"0\n", b"1\n", b"999999999\n", b"not a number", b"\xff\0", b"9" * 4000])
def test_a_file_that_is_left_over_does_not_block_whatever_it_says(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "s.lock"
    path.write_bytes(text)
    lock = SessionLock(path, "s")
    assert path.read_bytes() == f"{os.getpid()}\n".encode()
    lock.release()


@pytest.mark.parametrize("text", ["", "x", "9" * 12])
def test_a_holder_that_cannot_be_learnt_is_another_process(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.lock"
    lock = SessionLock(path, "s")
    path.write_text(text)
    with pytest.raises(SessionLockedError, match="another process") as caught:
        SessionLock(path, "s")
    assert caught.value.pid is None
    lock.release()


def test_a_symbolic_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"precious")
    (tmp_path / "s.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        SessionLock(tmp_path / "s.lock", "s")
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


FORKING = """
import os, signal, sys, time
from pathlib import Path
from dsh_session.persistence import SessionLockedError
from dsh_session.persistence.lock import SessionLock
path = Path(sys.argv[1])
lock = SessionLock(path, "s")
read, write = os.pipe()
child = os.fork()
if child == 0:
    try:
        lock.require_own()
    except SessionLockedError as error:
        os.write(write, b"refused" if error.pid == os.getppid() else b"refused, with a wrong pid")
    else:
        os.write(write, b"allowed")
    lock.release()
    time.sleep(60)
print(os.read(read, 100).decode())
lock.require_own()
try:
    SessionLock(path, "s")
except SessionLockedError:
    print("still held")
lock.release()
SessionLock(path, "s").release()
print("free while the child lives on")
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_neither_has_the_lock_nor_keeps_it(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", FORKING, str(tmp_path / "s.lock")], check=False, capture_output=True, text=True
    )
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["refused", "still held", "free while the child lives on"]


def test_many_processes_that_race_for_one_lock_never_hold_it_together(tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from dsh_session.persistence import SessionLockedError
from dsh_session.persistence.lock import SessionLock
folder = Path(sys.argv[1])
taken = 0
end = time.monotonic() + 20
while taken < 60 and time.monotonic() < end:
    try:
        lock = SessionLock(folder / "s.lock", "s")
    except SessionLockedError:
        continue
    (folder / "inside").touch(exist_ok=False)
    (folder / "inside").unlink()
    lock.release()
    taken += 1
print(taken)
"""
    racers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for racer in racers:
        out, err = racer.communicate()
        assert (out, err, racer.returncode) == (b"60\n", b"", 0)
    assert list(tmp_path.iterdir()) == []
