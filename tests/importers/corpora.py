"""The recorded logs of every format, found by what they hold."""

from functools import cache
from pathlib import Path

from dsh_session.importers import importers, recognise
from dsh_session.importers.registry import Importer

DATA = Path(__file__).parent.parent / "data"
LOGS = DATA / "logs"
_TEXTS = {".md", ".txt", ""}


@cache
def logs_by_format() -> dict[str, list[Path]]:
    """Give every log under ``tests/data/logs`` by its importer's name; a folder that is a log is one."""
    found: dict[str, list[Path]] = {importer.name: [] for importer in importers()}
    _collect(LOGS, found)
    return found


def _collect(folder: Path, found: dict[str, list[Path]]) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in _TEXTS:
            continue
        importer = recognise(path)
        if importer is not None:
            found[importer.name].append(path)
        elif path.is_dir():
            _collect(path, found)


def importer_named(name: str) -> Importer:
    return next(importer for importer in importers() if importer.name == name)


def all_logs() -> list[tuple[str, Path]]:
    return [(name, path) for name, paths in logs_by_format().items() for path in paths]


def small_logs(name: str, largest: int = 60_000) -> list[Path]:
    """Give the logs of a format that are quick to read, or its smallest."""
    by_size = sorted(logs_by_format()[name], key=lambda path: (size_of(path), path.name))
    return [path for path in by_size if size_of(path) <= largest] or by_size[:1]


def size_of(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def label_of(path: Path) -> str:
    """A log's name among all, for a test's id or a golden file."""
    return path.relative_to(LOGS).as_posix()
