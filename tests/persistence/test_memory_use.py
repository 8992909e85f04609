"""A large log costs its text once."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .talk import bare

SIZE = 48_000_000

PROGRAM = """
import resource, sys
from pathlib import Path
import dsh_session
from dsh_session.persistence import JsonlPersistence, SqlitePersistence
from dsh_session.persistence.catalog import list_sessions, validate
from dsh_session.persistence.zstd import decompress
import zstandard

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says is the peak of the process that this one was forked from, too
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

small, large, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def work(path):
    if how == "load":
        return dsh_session.load(path)
    if how == "claim":
        store = JsonlPersistence(path.parent.parent)
        return store, store.claim(path.stem)
    if how == "validate":
        return sum(1 for _ in validate(path))
    if how == "list":
        return list_sessions(path.parent)
    if how == "append":
        store = JsonlPersistence(path.parent.parent)
        store.append(path.stem, [])
        return store
    if how == "sqlite":
        return SqlitePersistence(path).load(path.stem)

work(small)
before = peak()
kept = work(large)
print(peak() - before)
"""


def _large(folder: Path, name: str) -> Path:
    """A log of much text in lines of a few kilobytes, so that what an event costs beside its text does not count."""
    session = bare(name, 1)
    path = folder / name / "_no-cwd" / f"{name}.jsonl"
    path.parent.mkdir(parents=True)
    text = session.to_jsonl()
    path.write_bytes(text)
    if name == "large":
        with path.open("ab") as file:
            words = "x" * 4_000
            seq = session.seq
            for turn in range(2, SIZE // 4_000):
                step = f'{{"turn":{turn},"trigger":{{"kind":"x"}},"more":"{words}"}}'
                file.write(f'{{"type":"turn/start","seq":{seq},"time":1,"data":{step}}}\n'.encode())
                reason = f'{{"turn":{turn},"reason":{{"kind":"completed"}}}}'
                file.write(f'{{"type":"turn/end","seq":{seq + 1},"time":1,"data":{reason}}}\n'.encode())
                seq += 2
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("logs")
    return _large(folder, "small"), _large(folder, "large")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells a process's peak of memory in another way")
@pytest.mark.parametrize(
    ("how", "least", "most"),
    [
        ("load", 0.9, 1.45),
        ("claim", 0.9, 1.45),
        ("validate", 0.0, 0.3),
        ("list", 0.0, 0.3),
        ("append", 0.0, 0.3),
        ("sqlite", 0.9, 1.6),
        ("zstd", 0.9, 1.6),
    ],
)
def test_a_large_log_costs_its_text_once(
    logs: tuple[Path, Path], how: str, least: float, most: float, count: Callable[[str], None]
) -> None:
    small, large = logs
    size = large.stat().st_size
    if how == "sqlite":
        from dsh_session import load
        from dsh_session.persistence import SqlitePersistence

        small, large = (path.parent / f"{path.stem}.db" for path in logs)
        for path, database in zip(logs, (small, large), strict=True):
            SqlitePersistence(database).save(load(path))
    if how == "zstd":
        import zstandard

        small, large = (path.with_suffix(".jsonl.zstd") for path in logs)
        for path, compressed in zip(logs, (small, large), strict=True):
            compressed.write_bytes(zstandard.compress(path.read_bytes()))
    program = [sys.executable, "-c", PROGRAM, str(small), str(large), "load" if how == "zstd" else how]
    result = subprocess.run(program, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for compressed in {small, large} - set(logs):
        compressed.unlink()
    times = int(result.stdout) / size
    assert least <= times <= most
    count(f"memory: {how} of a log of {size / 1e6:.0f} MB takes {times:.2f} times its text at its peak")
