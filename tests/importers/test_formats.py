"""Every recorded log of every format: sound sessions, every line accounted for, the golden text, the same twice."""

from pathlib import Path

import pytest

from dsh_session import Session
from dsh_session.importers import Imported, importers, recognise
from tests.importers import golden
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import all_logs, importer_named, label_of, small_logs
from tests.importers.fuzzing import assert_sound, run

LOGS = [pytest.param(name, path, id=f"{name}:{label_of(path)}") for name, path in all_logs()]
NAMES = [importer.name for importer in importers()]


@pytest.fixture(scope="module")
def imports() -> dict[Path, Imported]:
    """What was read already: reading is most of the time here."""
    return {}


def imported_once(imports: dict[Path, Imported], name: str, path: Path) -> Imported:
    if path not in imports:
        imports[path] = importer_named(name).read(path)
    return imports[path]


def test_every_format_has_a_recorded_log() -> None:
    assert [name for name in NAMES if not small_logs(name)] == []


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_a_log_gives_sound_sessions_and_every_line_is_accounted_for(
    name: str, path: Path, imports: dict[Path, Imported]
) -> None:
    imported = imported_once(imports, name, path)
    assert_sound(imported)
    assert_accounted(path, imported)


@pytest.mark.parametrize(("name", "path"), LOGS)
def test_a_log_becomes_what_it_became_before(name: str, path: Path, imports: dict[Path, Imported]) -> None:
    file = golden.golden_of(name, path)
    assert file.exists(), f"scripts/golden imports {name} writes {file.name}"
    assert golden.text_of(imported_once(imports, name, path)) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_depends_on_the_content_alone(name: str, tmp_path: Path) -> None:
    path = next((path for path in small_logs(name) if path.is_file()), None)
    if path is None:
        return  # folders keep their names, which belong to the format
    renamed = tmp_path / "renamed.data"
    renamed.write_bytes(path.read_bytes())
    importer = recognise(renamed)
    assert importer is not None
    assert importer.name == name
    first, second = importer.read(path).session, importer.read(renamed).session
    assert second.to_jsonl() == first.to_jsonl()


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_have_their_columns_whatever_is_in_them(name: str) -> None:
    imported = importer_named(name).read(small_logs(name)[0])
    side, sources = imported.side_table, imported.sources
    assert list(side.columns) == ["session", "seq", "file", "line", "key", "value"]
    assert list(sources.columns) == ["session", "seq", "file", "line"]
    assert str(side["seq"].dtype) == str(sources["seq"].dtype) == "Int64"
    assert len(sources) == len(imported.book.source_rows)
    assert isinstance(imported.session, Session)
    assert imported.agent in repr(imported)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_logs_are_read_as_far_as_they_go(name: str) -> None:
    assert run(importer_named(name), small_logs(name)[:6], cases=60, seed=1_000_000) > 0
