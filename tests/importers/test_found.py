"""What an import gives, as tables."""

from pathlib import Path

import pytest

from dsh_session import import_log
from tests.importers.corpora import small_logs

HALF = (
    '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"a\\ud83d","timestamp":"2026-01-01T00:00:00Z",'
    '"message":{"role":"user","content":"hi"},"odd\\ud83d":1}\n'
)


def test_half_a_character_spoils_no_table(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(HALF)
    imported = import_log(path)
    assert imported.session.id == "a\ud83d"  # the log's own
    assert set(imported.sources["session"]) == {"a\ufffd"}
    for table in (imported.sources, imported.side_table):
        assert table["session"].dtype == table["file"].dtype == "str"
        assert len(table.to_csv().encode()) > 0


def test_a_name_that_is_no_unicode_spoils_no_table(tmp_path: Path) -> None:
    path = tmp_path / "latin-\udce9.jsonl"
    try:
        path.write_bytes(small_logs("codex")[0].read_bytes())
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    imported = import_log(path)
    assert set(imported.sources["file"]) | set(imported.side_table["file"]) == {"latin-\ufffd.jsonl"}


def test_the_tables_add_up_to_what_was_collected() -> None:
    imported = import_log(small_logs("codex")[-1])
    assert len(imported.side_table) == len(imported.book.side_rows)
    assert len(imported.sources) == len(imported.book.source_rows)
    assert list(imported.side_table.columns) == ["session", "seq", "file", "line", "key", "value"]
    assert imported.side_table is imported.side_table
