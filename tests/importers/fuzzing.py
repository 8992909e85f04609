"""Reading damaged copies of real logs: whatever is done to them, an import gives lawful sessions and never fails."""

import json
import shutil
import signal
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from dsh_session import check_invariants, loads
from dsh_session.importers.found import Imported
from dsh_session.importers.registry import Importer, ImportLogError
from tests.importers.accounting import assert_accounted

SECONDS = 20
"""What no import of a small log may take."""

_JUNK: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**40, "", "x", "\u0000", "\ud83d", [], {}, [None], {"type": None}, [[[]]],
    "assistant", {"a": {"b": []}}, float("nan"), -0.0, [1, "two", {"three": 3}], {"role": "user", "content": 5},
    {"type": "text"},
]  # fmt: skip


def mutations(data: bytes, seed: int) -> bytes:
    """Damage a log in one to four ways, the same for the same seed.

    Args:
        data: A log: lines, or one document.
        seed: Says which.
    """
    random = Random(seed)
    for _ in range(random.choice((1, 1, 2, 2, 3, 4))):
        data = _mutated(data, random)
    return data


def _mutated(data: bytes, random: Random) -> bytes:
    if random.random() < 0.12:
        return random.choice((_cut, _flipped, _with_mark))(data, random)
    document = _document(data)
    if document is not None:
        return _dumped(_changed(document, random))
    lines = data.split(b"\n")
    change = random.choice((_deleted, _doubled, _swapped, _moved, _truncated, _typed, _typed, _typed, _typed, _junked))
    return b"\n".join(change(lines, random))


def _document(data: bytes) -> Any:
    """Give the value of a file that is one document rather than lines."""
    if data.count(b"\n") > 1 and data[:1] == b"{" and b"\n{" in data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flipped(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _with_mark(data: bytes, random: Random) -> bytes:
    return random.choice((b"\xef\xbb\xbf", b"\x00", b"\n\n", b"null\n", b"[]\n")) + data


def _deleted(lines: list[bytes], random: Random) -> list[bytes]:
    at = random.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def _doubled(lines: list[bytes], random: Random) -> list[bytes]:
    at, to = random.randrange(len(lines)), random.randrange(len(lines) + 1)
    return [*lines[:to], lines[at], *lines[to:]]


def _swapped(lines: list[bytes], random: Random) -> list[bytes]:
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return lines


def _moved(lines: list[bytes], random: Random) -> list[bytes]:
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randrange(len(lines) + 1), line)
    return lines


def _truncated(lines: list[bytes], random: Random) -> list[bytes]:
    at = random.randrange(len(lines))
    lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
    return lines


def _junked(lines: list[bytes], random: Random) -> list[bytes]:
    lines.insert(random.randrange(len(lines) + 1), _dumped(random.choice(_JUNK)))
    return lines


def _typed(lines: list[bytes], random: Random) -> list[bytes]:
    at = random.randrange(len(lines))
    with suppress(ValueError, RecursionError):
        lines[at] = _dumped(_changed(json.loads(lines[at]), random))
    return lines


def _changed(value: Any, random: Random) -> Any:
    """Change one place of a value: its type, its keys, the order or number of its items."""
    places = list(_places(value))
    if not places:
        return random.choice(_JUNK)
    outer, key = random.choice(places)
    way = random.randrange(6)
    if way == 0:
        del outer[key]
    elif way == 1 and isinstance(outer, list):
        outer.insert(random.randrange(len(outer) + 1), outer[key])
    elif way == 2 and isinstance(outer, list):
        random.shuffle(outer)
    elif way == 1 and isinstance(outer, dict):
        outer[f"{key}x"] = outer.pop(key)
    elif way == 3:
        # A value from elsewhere in the same file: ids that point to the wrong place.
        other, where = random.choice(places)
        if not isinstance(other[where], (dict, list)):
            outer[key] = other[where]
    else:
        outer[key] = random.choice(_JUNK)
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [value]
    while waiting:
        outer = waiting.pop()
        items = outer.items() if isinstance(outer, dict) else enumerate(outer) if isinstance(outer, list) else ()
        for key, item in items:
            yield outer, key
            if isinstance(item, (dict, list)):
                waiting.append(item)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


# ---------------------------------------------------------------------------------------------------------- running


def run(importer: Importer, files: Sequence[Path], cases: int, seed: int = 0) -> int:
    """Read so many damaged logs.

    Args:
        importer: What reads them.
        files: Sound logs of its format; small ones, they are read once per case.
        cases: How many.
        seed: The first case's seed; case `n` can be had again with ``seed + n`` and one case.

    Returns:
        In how many cases there was something to read.

    Raises:
        AssertionError: With the seed and the file, for the first case that fails.
    """
    read = 0
    for number in range(seed, seed + cases):
        path = files[number % len(files)]
        try:
            read += one(importer, path, number)
        except Exception as error:
            raise AssertionError(f"{importer.name}: seed {number} of {path.name}: {error!r}") from error
    return read


def one(importer: Importer, path: Path, seed: int) -> bool:
    """Read one damaged log; tells whether there was anything to read."""
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / path.name
        write_damaged(path, damaged, seed)
        with _within(SECONDS):
            try:
                imported = importer.read(damaged)
            except ImportLogError:
                return False
        assert_sound(imported)
        assert_accounted(damaged, imported)
    return True


def write_damaged(path: Path, damaged: Path, seed: int) -> None:
    """Write a damaged copy: of a folder or an archive, one of its files is damaged or missing."""
    if path.is_dir():
        shutil.copytree(path, damaged)
        files = [file for file in sorted(damaged.rglob("*")) if file.is_file()]
        chosen = files[Random(seed).randrange(len(files))]
        if seed % 7 == 0:
            chosen.unlink()
        else:
            chosen.write_bytes(mutations(chosen.read_bytes(), seed))
    elif zipfile.is_zipfile(path) and seed % 5:
        damaged.write_bytes(_damaged_archive(path, seed))
    else:
        damaged.write_bytes(mutations(path.read_bytes(), seed))


def _damaged_archive(path: Path, seed: int) -> bytes:
    random = Random(seed)
    buffer = BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        names = source.namelist()
        chosen = random.choice(names)
        for name in names:
            data = source.read(name)
            if name == chosen:
                if seed % 6 == 0:
                    continue
                data = mutations(data, seed)
            target.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def assert_sound(imported: Imported) -> None:
    """Every session passes the invariants and is read back from its own text; the tables can be made."""
    ids = [session.id for session in imported.sessions]
    assert len(set(ids)) == len(ids), f"two sessions have one id: {ids}"
    for session in imported.sessions:
        violations = check_invariants(session.events, allow_result_rewrite=True)
        assert not violations, violations[:3]
        again = loads(session.to_jsonl())
        assert {finding.code for finding in again.findings} <= {"HEADER_CWD_RELATIVE"}
        assert again.seq == session.seq
        assert list(again.surface.nodes) == list(session.surface.nodes)
        session.derive_messages()
        for child in imported.lineage:
            if child.session == session.id:
                assert session.header.parent_session == child.parent
    seqs = {session.id: session.seq for session in imported.sessions}
    for row in imported.book.side_rows:
        assert row[1] is None or (row[0] in seqs and 0 <= row[1] <= seqs[row[0]])
    for name, first, stop, _, _ in imported.book.source_runs:
        assert 0 <= first < stop <= seqs.get(name, -1)


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    """Interrupt what hangs."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not over after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
