"""What a long log costs: memory in proportion to its file, and nothing that grows faster than it."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.transcripts import transcript

SIZE = 16_000_000

MEASURE = """
import sys
from pathlib import Path
from dsh_session.importers import import_log

def of_this_process(key):
    # Unlike the figure of getrusage, this one begins anew with the program.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

import_log(sys.argv[2])  # what the first import loads is not the log's
before = of_this_process("VmRSS")
imported = import_log(sys.argv[1])
print(of_this_process("VmHWM") - before, imported.session.seq, len(imported.session.surface.nodes))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux tells it")
def test_a_long_log_takes_at_most_three_times_its_size(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.writelines(transcript(SIZE))
    small = tmp_path / "small.jsonl"
    small.write_bytes(b"".join(transcript(20_000)))
    command = [sys.executable, "-c", MEASURE, str(path), str(small)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    taken, events, nodes = map(int, told.split())
    assert events > 20_000
    assert 0 < nodes < 1000
    assert taken <= 3 * path.stat().st_size
