"""Fifty megabytes of Claude Code lines: ``python -m benchmarks.transcripts FILE`` writes them.

A recorded log with one compaction is repeated, each time with ids of its own, as one long conversation.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

RECORDED: Final = Path(__file__).parent.parent / "tests" / "data" / "logs" / "claude-code" / "compacted-auto.jsonl"
BYTES: Final = 50_000_000


def transcript(size: int = BYTES) -> Iterator[bytes]:
    """Give lines until there are so many bytes of them; the same ones on every machine."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    ids = sorted({found for line in lines for found in _ids(json.loads(line))})
    # Every second piece is an id.
    pieces = [re.split("(" + "|".join(ids) + ")", line) for line in lines]
    last = json.loads(lines[-1])["uuid"]
    written = turn = 0
    before = ""
    while True:
        names = {name: _renamed(name, turn) for name in ids}
        for number, line in enumerate(pieces):
            text = "".join(names[piece] if at % 2 else piece for at, piece in enumerate(line))
            if number == 0 and turn:
                text = text.replace('"parentUuid":null', f'"parentUuid":"{before}"', 1)
            yield text.encode() + b"\n"
            written += len(text.encode()) + 1
            if written >= size:
                return
        before = names[last]
        turn += 1


def _ids(line: dict[str, object]) -> Iterator[str]:
    yield str(line["uuid"])
    message = line.get("message")
    if isinstance(message, dict):
        if "id" in message:
            yield message["id"]
        content = message["content"]
        yield from (block["id"] for block in content if isinstance(content, list) and "id" in block)


def _renamed(name: str, turn: int) -> str:
    return hashlib.sha256(f"{turn} {name}".encode()).hexdigest()[: len(name)]


def main() -> None:
    """Write the lines into the file that is named."""
    with Path(sys.argv[1]).open("wb") as file:
        file.writelines(transcript())


if __name__ == "__main__":
    main()
