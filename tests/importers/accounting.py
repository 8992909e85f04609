"""Adding up: every line of a source must be in events, in the side table or in the findings."""

import json
import zipfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from dsh_session.core.source import DamagedSourceError, TornSourceError
from dsh_session.importers.found import Imported
from dsh_session.persistence.zstd import decompress


def assert_accounted(path: Path, imported: Imported) -> None:
    """Fail, naming the lines, where something is neither in events, nor in the side table, nor in findings."""
    told = accounted_lines(path, imported)
    missing = {
        file: sorted(lines - told.get(file, set()))
        for file, lines in source_lines(path, imported).items()
        if lines - told.get(file, set())
    }
    assert not missing, f"{path.name}: lines that are nowhere, by file: { {f: ls[:20] for f, ls in missing.items()} }"


def accounted_lines(path: Path, imported: Imported) -> dict[str, set[int]]:
    """Give the lines that an import tells of, by file; a value that spans several lines tells of all of them."""
    told: dict[str, set[int]] = defaultdict(set)
    for _, _, file, line in imported.book.source_rows:
        told[file].add(line)
    for row in imported.book.side_rows:
        if row[3] is not None:
            told[row[2]].add(row[3])
    for at, finding in enumerate(imported.findings):
        if finding.line is not None:
            told[imported.book.places.get(at, _main(path, imported))].add(finding.line)
    for file, spans in imported.book.spans.items():
        for first, last in spans:
            if first in told[file]:
                told[file].update(range(first, last + 1))
    return told


def source_lines(path: Path, imported: Imported) -> dict[str, set[int]]:
    """Count, by other means than the importers', what there is to account for: lines, entries, members."""
    if path.is_dir():
        inner = [file for file in sorted(path.rglob("*")) if file.is_file()]
        return {file.relative_to(path).as_posix(): _units(file.read_bytes()) for file in inner}
    members = _members(path)
    if members is not None:
        # A member without declared entries counts as one.
        return {name: set(range(1, imported.book.entries.get(name, 1) + 1)) for name in members}
    main = _main(path, imported)
    declared = imported.book.entries.get(main)
    data = path.read_bytes()
    if declared is not None:
        value = _json(data)
        if isinstance(value, list):
            assert declared == len(value), f"{path.name} holds {len(value)} entries, the importer counts {declared}"
        return {main: set(range(1, declared + 1))}
    found = {main: _units(data)}
    # Further files that the import says it has read.
    named = {row[2] for row in imported.book.side_rows} | {run[3] for run in imported.book.source_runs}
    for name in sorted(named - {main}):
        further = path.parent / name
        if name and further.is_file() and name not in imported.book.entries:
            found[name] = _units(further.read_bytes())
    return found


def _members(path: Path) -> list[str] | None:
    """Give the names of what an archive holds; None for what is none, or has no directory any more."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return [name for name in archive.namelist() if name[-1:] != "/"]
    except (zipfile.BadZipFile, OSError, ValueError):
        return None


def _main(path: Path, imported: Imported) -> str:
    return imported.book._first or path.name


def _units(data: bytes) -> set[int]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.decode("utf-16", "replace").encode()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        data = _decompressed(data)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return {number for number, line in enumerate(lines, 1) if line.strip()}


def _decompressed(data: bytes) -> bytes:
    parts = []
    with suppress(TornSourceError, DamagedSourceError):
        for part in decompress([data]):
            parts.append(part)  # noqa: PERF402 -- what came before the damage counts
    return b"".join(parts)


def _json(data: bytes) -> object:
    try:
        return json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None
