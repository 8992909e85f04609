"""A disk that is full, broken, read-only or something else; a power cut at every moment."""

import errno
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Context, Session, SessionError, check_invariants, load
from dsh_session.persistence import JsonlPersistence, PersistenceError, SqlitePersistence, resume
from dsh_session.persistence.naming import log_path

from .disks import FaultyDisk, ForgetfulDisk, PowerCut, WatchedDisk
from .talk import EVENTS_PER_TURN, QuickDisk, Ticks, as_ordinary_user, bare, call, flush, say

Acknowledge = Callable[[int], None]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    # What fails between two flushes is logged, and told by the next flush.
    caplog.set_level(logging.CRITICAL, logger="dsh_session")


def _life(root: Path, disk: Any, acknowledge: Acknowledge) -> Session:
    """A session's life over two contexts: flushed turns, a long one that is not, a crash, a resume."""

    def surely(action: Callable[[], Any]) -> Any:
        """Do a thing that may fail once, as a caller does who was told so."""
        try:
            return action()
        except OSError:
            return action()

    with Context(clock=Ticks()) as ctx:
        ctx.plugin(JsonlPersistence(root, disk=disk))
        session: Session = surely(lambda: ctx.sessions.create("s", meta={"cwd": "/x"}))
        for turn in (1, 2):
            say(session, turn)
            surely(lambda: flush(ctx, session))
            acknowledge(session.seq)
        say(session, 3, words="long " * 20_000)  # written before anybody flushes
        call(session, 4)
        surely(lambda: flush(ctx, session))
        acknowledge(session.seq)
    acknowledge(session.seq)
    with Context(clock=Ticks()) as ctx:
        ctx.plugin(JsonlPersistence(root, disk=disk))
        session = surely(lambda: resume(ctx, "s"))
        acknowledge(session.seq)
        say(session, 5)
        surely(lambda: flush(ctx, session))
        acknowledge(session.seq)
    return session


class NoLinks(FaultyDisk):
    """A disk whose files have one name only."""

    def link(self, source: Path, target: Path) -> None:
        self._note("link")
        raise OSError(errno.EPERM, f"no second name for {source}", str(target))


def _steps(tmp_path: Path, kind: type[FaultyDisk] = FaultyDisk) -> list[str]:
    """What an undisturbed life asks of the disk, in order."""
    disk = kind({})
    _life(tmp_path / "undisturbed", disk, lambda _seq: None)
    return disk.log


# ------------------------------------------------------------------------------------------------- injected failures


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=["ENOSPC", "EIO", "EDQUOT"])
@pytest.mark.parametrize("kind", [FaultyDisk, NoLinks], ids=["by link", "by rename"])
def test_a_failure_at_any_call_is_told_and_loses_nothing(
    tmp_path: Path, kind: type[FaultyDisk], code: int, count: Callable[[str], None]
) -> None:
    steps = _steps(tmp_path, kind)
    way = "link" if kind is FaultyDisk else "rename"
    assert {"create", "write", "sync", way, "sync_folder", "make_folder", "open"} <= set(steps)
    failed: list[str] = []
    for number in range(len(steps)):
        root = tmp_path / f"root-{number}"
        disk = kind({number: code})
        stored: list[int] = []

        def acknowledge(seq: int, root: Path = root, stored: list[int] = stored) -> None:
            stored.append(seq)
            assert JsonlPersistence(root).load("s").seq >= seq

        session = _life(root, disk, acknowledge)
        assert JsonlPersistence(root).load("s").to_jsonl() == session.to_jsonl()
        assert check_invariants(session.events) == []
        # A draft's name that could not be removed does no harm: nothing looks for it.
        left = {path.name for path in root.rglob("*.*")}
        assert left == ({"s.jsonl", "s.tmp"} if disk.failed == ["unlink"] and "s.tmp" in left else {"s.jsonl"})
        failed += disk.failed
    kinds = ", ".join(f"{failed.count(name)} in {name}" for name in sorted(set(failed)))
    count(f"{errno.errorcode[code]} at each of {len(steps)} calls, by {way}: {len(failed)} failures ({kinds}), 0 lost")


@pytest.mark.parametrize("name", ["write", "sync", "link", "sync_folder"])
def test_a_flush_that_fails_is_raised_and_says_what_is_waiting(tmp_path: Path, name: str) -> None:
    disk = FaultyDisk({})
    with Context() as ctx:
        store = JsonlPersistence(tmp_path / "root", disk=disk)
        ctx.plugin(store)
        session = ctx.sessions.create("s")
        session.append("plugin/note", 1)
        for attempt in range(3):  # a disk that stays full
            disk.faults = {}
            disk.before = lambda called, number: disk.faults.update({number: errno.ENOSPC} if called == name else {})
            with pytest.raises(OSError) as caught:
                flush(ctx, session)
            assert caught.value.errno == errno.ENOSPC
            assert f"{attempt + 1} events from seq 0 on are not durable" in caught.value.__notes__[0]
            session.append("plugin/note", attempt)
        disk.before = lambda _called, _number: None
        disk.faults = {}
        flush(ctx, session)
        assert JsonlPersistence(tmp_path / "root").load("s").to_jsonl() == session.to_jsonl()


def test_after_a_failed_sync_the_bytes_are_written_again(tmp_path: Path) -> None:
    disk = FaultyDisk({})
    with Context() as ctx:
        ctx.plugin(JsonlPersistence(tmp_path / "root", disk=disk))
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        say(session, 2)
        disk.faults = {len(disk.log): errno.EIO}
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            flush(ctx, session)
        assert disk.failed == ["sync"]
        done = len(disk.log)
        flush(ctx, session)
        assert disk.log[done:] == ["truncate", "sync", "write", "sync"]


def test_a_close_that_fails_is_raised_and_the_session_can_still_be_saved(tmp_path: Path) -> None:
    disk = FaultyDisk({})
    store = JsonlPersistence(tmp_path / "root", disk=disk)
    ctx = Context()
    ctx.plugin(store)
    session = ctx.sessions.create("s")
    call(session, 1)
    disk.before = lambda called, number: disk.faults.update({number: errno.ENOSPC} if called == "write" else {})
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        ctx.close()
    disk.before = lambda _called, _number: None
    store.save(session)
    assert store.load("s").to_jsonl() == session.to_jsonl()


def test_several_sessions_that_cannot_be_written_are_all_reported(tmp_path: Path) -> None:
    disk = FaultyDisk({})
    ctx = Context()
    ctx.plugin(JsonlPersistence(tmp_path / "root", disk=disk))
    for name in "abc":
        ctx.sessions.create(name).append("plugin/note", name)
    disk.before = lambda called, number: disk.faults.update({number: errno.EIO} if called == "sync" else {})
    with pytest.raises(ExceptionGroup) as caught:
        ctx.close()
    assert len(caught.value.exceptions) == 3
    disk.before, disk.faults = (lambda _called, _number: None), {}
    for name in "abc":
        JsonlPersistence(tmp_path / "root").save(bare(name))


@pytest.mark.parametrize("answer", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_where_files_have_one_name_only_the_first_file_appears_all_the_same(tmp_path: Path, answer: int) -> None:
    disk = FaultyDisk({})
    disk.before = lambda called, number: disk.faults.update({number: answer} if called == "link" else {})
    store = JsonlPersistence(tmp_path / "root", disk=disk)
    store.save(bare("s", 2))
    assert disk.failed == ["link"]
    assert "rename" in disk.log
    assert store.load("s").to_jsonl() == bare("s", 2).to_jsonl()
    with pytest.raises(PersistenceError):
        store.create(bare("s").header)
    assert [path.name for path in (tmp_path / "root" / "_no-cwd").iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("supported", [True, False], ids=["by link", "by rename"])
def test_a_file_that_appears_at_the_last_moment_is_not_written_over(tmp_path: Path, supported: bool) -> None:
    path = log_path(tmp_path, "s")
    disk = FaultyDisk({})

    def before(called: str, number: int) -> None:
        if called == "link":
            path.write_bytes(b"somebody else's")
            if not supported:
                disk.faults[number] = errno.EPERM

    disk.before = before
    store = JsonlPersistence(tmp_path, disk=disk)
    with pytest.raises(PersistenceError) as caught:
        store.create(bare("s").header)
    assert caught.value.code == "SESSION_STORED"
    assert path.read_bytes() == b"somebody else's"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failed_rename_leaves_nothing_behind(tmp_path: Path) -> None:
    disk = FaultyDisk({})

    def before(called: str, number: int) -> None:
        if called in ("link", "rename"):
            disk.faults[number] = errno.EPERM if called == "link" else errno.EIO

    disk.before = before
    store = JsonlPersistence(tmp_path, disk=disk)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        store.create(bare("s").header)
    assert list((tmp_path / "_no-cwd").iterdir()) == []


def test_a_link_whose_answer_got_lost_is_recognised(tmp_path: Path) -> None:
    class Network(QuickDisk):
        def link(self, source: Path, target: Path) -> None:
            super().link(source, target)
            raise FileExistsError(errno.EEXIST, "the first try went through", str(target))

    store = JsonlPersistence(tmp_path, disk=Network())
    store.save(bare("s", 1))
    assert store.load("s").to_jsonl() == bare("s", 1).to_jsonl()


@pytest.mark.parametrize("size", [1, 100])
def test_a_disk_that_writes_little_at_a_time_is_asked_again(tmp_path: Path, size: int) -> None:
    class Slow(QuickDisk):
        def write(self, file: int, data: bytes | memoryview, offset: int) -> int:
            return super().write(file, data[:size], offset)

    store = JsonlPersistence(tmp_path, disk=Slow())
    store.save(bare("s", 3))
    assert store.load("s").to_jsonl() == bare("s", 3).to_jsonl()


def test_an_interruption_at_any_call_loses_nothing(tmp_path: Path, count: Callable[[str], None]) -> None:
    steps = _steps(tmp_path)
    interrupted = 0
    for number in range(len(steps)):
        disk = WatchedDisk()

        def before(_called: str, at: int, number: int = number) -> None:
            if at == number:
                raise KeyboardInterrupt

        disk.before = before
        store = JsonlPersistence(tmp_path / f"root-{number}", disk=disk)
        sessions = [bare("s", 1), bare("s", 3)]
        for session in sessions:
            try:
                store.save(session)
            except KeyboardInterrupt:
                interrupted += 1
                store.save(session)
            assert store.load("s").to_jsonl() == session.to_jsonl()
        assert [path.name for path in store.root.rglob("*.*")] == ["s.jsonl"]
    assert interrupted > 8
    count(f"KeyboardInterrupt at {interrupted} calls of a save, 0 events lost")


# ------------------------------------------------------------------------------------------------------- a power cut


def _cut_power(tmp_path: Path, faults: dict[int, int], number: int, chances: list[random.Random | None]) -> int | None:
    """Live until a call, cut the power there, and look at what is left; None when the life was shorter."""
    base = tmp_path / "disk"
    base.mkdir()
    disk = ForgetfulDisk(base, faults)
    acknowledged = [0]

    def before(_called: str, at: int) -> None:
        if at == number:
            raise PowerCut

    disk.before = before
    try:
        _life(base / "root", disk, acknowledged.append)
    except PowerCut:
        ended = False
    else:
        ended = True
    for at, chance in enumerate(chances):
        left = tmp_path / f"left-{at}"
        disk.after_power_cut(left, chance)
        _assert_kept(left / "root", acknowledged[-1])
        shutil.rmtree(left)
    shutil.rmtree(base)
    return None if ended else acknowledged[-1]


def _assert_kept(root: Path, acknowledged: int) -> None:
    """What was flushed is there, and the session goes on."""
    store = JsonlPersistence(root, disk=QuickDisk())
    if not acknowledged and not (root / log_path(Path(), "s", "/x")).exists():
        return
    stored = store.load("s")
    assert stored.seq >= acknowledged
    assert [event.seq for event in stored.events] == list(range(stored.seq))
    with Context() as ctx:
        ctx.plugin(store)
        session = resume(ctx, "s")
        session.append("turn/start", {"turn": 99, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        flush(ctx, session)
    assert store.load("s").to_jsonl() == session.to_jsonl()


def test_a_power_cut_at_any_call_leaves_everything_that_was_flushed(
    tmp_path: Path, count: Callable[[str], None]
) -> None:
    cuts = looked = 0
    chance = random.Random(4)
    kept = set()
    for number in range(1_000):
        chances = [None, *(random.Random(chance.random()) for _ in range(4))]
        acknowledged = _cut_power(tmp_path, {}, number, chances)
        looked += len(chances)
        if acknowledged is None:
            break
        cuts += 1
        kept.add(acknowledged)
    assert cuts >= 25
    assert len(kept) >= 5
    count(f"power cut at each of {cuts} calls, {looked} states of the disk looked at, 0 flushed events lost")


def test_a_power_cut_after_a_failure_leaves_everything_that_was_flushed(
    tmp_path: Path, count: Callable[[str], None]
) -> None:
    steps = _steps(tmp_path)
    chance = random.Random(5)
    cuts = 0
    for failing in range(len(steps)):
        for number in chance.sample(range(failing, len(steps) + 8), 4):
            cuts += _cut_power(tmp_path, {failing: errno.EIO}, number, [None, random.Random(number)]) is not None
    assert cuts > 50
    count(f"power cut after an EIO, {cuts} pairs of moments, 0 flushed events lost")


def test_the_forgetful_disk_forgets(tmp_path: Path) -> None:
    """The instrument works: without its syncs the very same life loses what it was told is durable."""

    class Careless(ForgetfulDisk):
        def sync(self, file: int) -> None:
            pass

    class CarelessWithNames(ForgetfulDisk):
        def sync_folder(self, path: Path) -> None:
            pass

    for kind in (Careless, CarelessWithNames):
        base = tmp_path / kind.__name__
        base.mkdir()
        disk = kind(base)
        _life(base / "root", disk, lambda _seq: None)
        disk.after_power_cut(tmp_path / f"left-{kind.__name__}")
        with pytest.raises((SessionError, AssertionError)):
            _assert_kept(tmp_path / f"left-{kind.__name__}" / "root", 1)


# ----------------------------------------------------------------------------------------------- the real thing

TINY = """
import json, subprocess, sys
from pathlib import Path
sys.path.insert(0, {repository!r})
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + sys.argv[2], "tmpfs", sys.argv[1]], check=True)
from dsh_session import Context
from dsh_session.persistence import JsonlPersistence, SqlitePersistence, resume
from tests.persistence.talk import flush, say
import logging
logging.disable()
folder = Path(sys.argv[1])
def make():
    return JsonlPersistence(folder / "root") if sys.argv[3] == "jsonl" else SqlitePersistence(folder / "s.db")
(folder / "ballast").write_bytes(b"x" * int(sys.argv[4]))
failures, durable = [], 0
ctx = Context()
ctx.plugin(make())
session = ctx.sessions.create("s")
for turn in range(1, 500):
    say(session, turn, words="x" * 700)
    try:
        flush(ctx, session)
        durable = session.seq
    except OSError as error:
        failures.append(error.errno)
        if len(failures) == 3:
            break
full = make().load("s")
(folder / "ballast").unlink()
flush(ctx, session)
after = make().load("s")
ctx.close()
with Context() as ctx:
    ctx.plugin(make())
    say(resume(ctx, "s"), turn + 1)
print(json.dumps({{"failures": failures, "durable": durable, "full": full.seq, "events": session.seq,
    "same": after.to_jsonl() == session.to_jsonl(), "resumed": make().load("s").seq}}))
"""


def _own_mounts() -> list[str] | None:
    """The command in front of a program that may mount something nobody else sees; None where that cannot be."""
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        probe = [*command, "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
        if shutil.which("unshare") and subprocess.run(probe, check=False, capture_output=True).returncode == 0:
            return command
    return None


@pytest.mark.parametrize(("kind", "size", "ballast"), [("jsonl", "64k", 16_000), ("sqlite", "400k", 150_000)])
def test_a_disk_that_is_really_full_is_told_and_loses_nothing(
    tmp_path: Path, kind: str, size: str, ballast: int, count: Callable[[str], None]
) -> None:
    command = _own_mounts()
    if command is None:
        pytest.skip("no tmpfs can be mounted here: that takes Linux with root, or with user namespaces")
    program = TINY.format(repository=str(Path(__file__).parents[2]))
    run = [*command, sys.executable, "-c", program, str(tmp_path), size, kind, str(ballast)]
    result = subprocess.run(run, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["failures"] == [errno.ENOSPC] * 3
    assert told["full"] >= told["durable"] > 0
    assert told["events"] == told["durable"] + 3 * EVENTS_PER_TURN
    assert told["same"]
    assert told["resumed"] == told["events"] + EVENTS_PER_TURN
    count(
        f"a full tmpfs of {size} ({kind}): {told['durable']} events durable when it was full, 3 flushes failed, 0 lost"
    )


LIMITED = """
import errno, json, logging, resource, signal, sys
from pathlib import Path
sys.path.insert(0, {repository!r})
from dsh_session import Context
from dsh_session.persistence import JsonlPersistence
from tests.persistence.talk import flush, say
logging.disable()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
store = JsonlPersistence(Path(sys.argv[1]) / "root")
failures = 0
with Context() as ctx:
    ctx.plugin(store)
    session = ctx.sessions.create("s")
    for turn in range(1, 60):
        say(session, turn)
        try:
            flush(ctx, session)
            durable = session.seq
        except OSError as error:
            assert error.errno == errno.EFBIG, error
            failures += 1
    assert JsonlPersistence(store.root).load("s").seq >= durable
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    flush(ctx, session)
    assert store.load("s").to_jsonl() == session.to_jsonl()
print(json.dumps([durable, failures, session.seq]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's size")
def test_a_write_that_the_system_cuts_short_is_told_and_loses_nothing(
    tmp_path: Path, count: Callable[[str], None]
) -> None:
    program = LIMITED.format(repository=str(Path(__file__).parents[2]))
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    durable, failures, events = json.loads(result.stdout)
    assert failures > 5
    assert durable < events
    count(f"a limit on file size: {failures} flushes failed with EFBIG in mid-line, 0 of {events} events lost")


# ------------------------------------------------------------------------------------- folders that are not as expected


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that an ordinary user can reach, which a test's own folder is not for root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777)
    shutil.rmtree(folder)


def _make(kind: str, folder: Path) -> Any:
    if kind == "jsonl":
        return JsonlPersistence(folder / "root", disk=QuickDisk())
    return SqlitePersistence(folder / "root" / "s.db")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are something else on Windows")
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_read_only_folder_is_read_and_not_written(shared: Path, kind: str) -> None:
    _make(kind, shared).save(bare("s", 1))
    for path in sorted(shared.rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in shared.rglob("*")}
    with as_ordinary_user():
        store = _make(kind, shared)
        assert store.load("s").to_jsonl() == bare("s", 1).to_jsonl()
        assert [stored.id for stored in store.list()] == ["s"]
        for attempt in (lambda: store.save(bare("t", 1)), lambda: store.claim("s"), lambda: store.save(bare("s", 2))):
            with pytest.raises(PermissionError):
                attempt()
        with Context() as ctx:
            ctx.plugin(store)
            with pytest.raises(PermissionError):
                resume(ctx, "s")
            other = ctx.sessions.create("other")
            other.append("plugin/note", 1)
            with pytest.raises(PermissionError):
                flush(ctx, other)
            assert {path: path.stat().st_mtime_ns for path in shared.rglob("*")} == before
            _let_write(shared)
            flush(ctx, other)
    assert _make(kind, shared).load("other").seq == 1


def _let_write(folder: Path) -> None:
    """Give the folders back, as root does meanwhile."""
    user = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    for path in folder.rglob("*"):
        path.chmod(0o777)
    if os.getuid() == 0:
        os.seteuid(user)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are something else on Windows")
def test_a_root_whose_parent_cannot_be_read_is_used_all_the_same(shared: Path) -> None:
    root = shared / "above" / "root"
    root.mkdir(parents=True)
    root.chmod(0o777)
    root.parent.chmod(0o711)
    with as_ordinary_user():
        store = JsonlPersistence(root)
        store.save(bare("s", 1))
        assert store.load("s").seq == EVENTS_PER_TURN


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_missing_folders_are_made_with_the_first_session(tmp_path: Path, kind: str) -> None:
    store = _make(kind, tmp_path / "a" / "b" / "c")
    assert store.list() == []
    with pytest.raises(PersistenceError) as caught:
        store.load("s")
    assert caught.value.code == "SESSION_NOT_STORED"
    assert list(tmp_path.iterdir()) == []
    store.save(bare("s"))
    assert store.load("s").seq == EVENTS_PER_TURN


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_a_folder_that_disappears_is_told_and_what_is_new_is_written_once_it_can_be(tmp_path: Path, kind: str) -> None:
    with Context() as ctx:
        ctx.plugin(_make(kind, tmp_path))
        session = ctx.sessions.create("s")
        (tmp_path / "root").write_bytes(b"")  # a file where the folder should be
        say(session, 1)
        with pytest.raises(OSError, match="root"):
            flush(ctx, session)
        (tmp_path / "root").unlink()
        flush(ctx, session)
    assert _make(kind, tmp_path).load("s").to_jsonl() == session.to_jsonl()


def test_a_folder_where_the_file_should_be_is_told(tmp_path: Path) -> None:
    path = log_path(tmp_path, "s")
    path.mkdir(parents=True)
    store = JsonlPersistence(tmp_path)
    with pytest.raises(PersistenceError) as caught:
        store.create(bare("s").header)
    assert caught.value.code == "SESSION_STORED"
    with pytest.raises(IsADirectoryError):
        store.load("s")
    with pytest.raises(IsADirectoryError):
        store.claim("s")
    assert store.list() == []
    with Context() as ctx:
        ctx.plugin(store)
        with pytest.raises(IsADirectoryError):
            ctx.sessions.create("s")
    (tmp_path / "sessions.db").mkdir()
    with pytest.raises(OSError, match=r"sessions\.db"):
        SqlitePersistence(tmp_path / "sessions.db").save(bare("s"))


def test_a_symbolic_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    victim = outside / "s.jsonl"
    victim.write_bytes(bare("s", 1).to_jsonl())
    before = victim.read_bytes()
    store = JsonlPersistence(root)
    for folder, file in ((root / "_no-cwd", None), (root / "cwd-000000000000", root / "cwd-000000000000" / "s.jsonl")):
        if file is None:
            folder.symlink_to(outside)
        else:
            folder.mkdir()
            file.symlink_to(victim)
        for attempt in (
            lambda: store.load("s", cwd=None) if file is None else store.load("s"),  # noqa: B023 (called at once)
            lambda: store.claim("s", cwd=None) if file is None else store.claim("s"),  # noqa: B023
        ):
            with pytest.raises(PersistenceError) as caught:
                attempt()
            assert caught.value.code == "OUTSIDE_ROOT"
    with pytest.raises(PersistenceError) as caught:
        store.create(bare("t").header)
    assert caught.value.code == "OUTSIDE_ROOT"
    assert (victim.read_bytes(), list(outside.iterdir())) == (before, [victim])


def test_a_root_that_is_a_link_itself_and_links_within_it_are_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    store = JsonlPersistence(tmp_path / "root")
    store.save(bare("s", 1))
    assert load(log_path(tmp_path / "real", "s")).seq == EVENTS_PER_TURN
    (tmp_path / "real" / "cwd-0").mkdir()
    (tmp_path / "real" / "cwd-0" / "t.jsonl").symlink_to(tmp_path / "real" / "cwd-0" / "u.jsonl")
    (tmp_path / "real" / "cwd-0" / "u.jsonl").write_bytes(bare("t", 1).to_jsonl())
    with Context() as ctx:
        ctx.plugin(store)
        say(resume(ctx, "t"), 2)
    assert load(tmp_path / "real" / "cwd-0" / "u.jsonl").seq == 2 * EVENTS_PER_TURN


# ------------------------------------------------------------------------------------------------ somebody else's hands


@pytest.mark.parametrize("how", ["appended", "truncated", "deleted", "replaced", "moved"])
def test_a_log_that_something_else_changed_is_not_written_to(tmp_path: Path, how: str) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    path = log_path(tmp_path, "s")
    ctx = Context()
    ctx.plugin(store)
    session = ctx.sessions.create("s")
    say(session, 1)
    flush(ctx, session)
    before = path.read_bytes()
    if how == "appended":
        path.write_bytes(before + b"{}\n")
    elif how == "truncated":
        path.write_bytes(before[:-1])
    elif how == "deleted":
        path.unlink()
    elif how == "replaced":
        path.unlink()
        path.write_bytes(before)
    else:
        path.rename(tmp_path / "elsewhere")
    after = path.read_bytes() if path.exists() else None
    say(session, 2)
    for _ in range(2):
        with pytest.raises(PersistenceError, match=r"s\.jsonl") as caught:
            flush(ctx, session)
        assert caught.value.code == "LOG_CHANGED"
    assert (path.read_bytes() if path.exists() else None) == after
    with pytest.raises(PersistenceError):
        ctx.close()
    assert (path.read_bytes() if path.exists() else None) == after


def test_a_log_that_grows_between_claim_and_append_is_not_cut(tmp_path: Path) -> None:
    store = JsonlPersistence(tmp_path, disk=QuickDisk())
    store.save(bare("s", 2))
    path = log_path(tmp_path, "s")
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9]) + b'{"torn')
    store.claim("s")
    path.write_bytes(whole)  # by a program that knows nothing of locks
    with pytest.raises(PersistenceError) as caught:
        store.append("s", [])
    assert caught.value.code == "LOG_CHANGED"
    assert path.read_bytes() == whole
