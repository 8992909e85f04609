"""What a log of 99,996 events adds to a process: ``python -m benchmarks.memory`` prints MiB.

A process of its own, because memory that another measurement has freed would be reused unseen.
"""

import gc
import resource
import sys
from pathlib import Path

from benchmarks.inputs import CONVERSATION_TURNS, conversation
from benchmarks.rows import filled

MIB = 2**20


def resident() -> float:
    """Resident memory of this process in MiB; where the system does not tell, its peak."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * resource.getpagesize() / MIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MIB if sys.platform == "darwin" else peak * 1024 / MIB


def main() -> None:
    """Append the conversation, whose operations are made one by one and forgotten."""
    gc.collect()
    before = resident()
    session = filled(conversation(CONVERSATION_TURNS))
    gc.collect()
    print(resident() - before)
    del session


if __name__ == "__main__":
    main()
