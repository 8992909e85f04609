"""Finding logs wherever they lie."""

import sqlite3
from pathlib import Path

import pytest
import zstandard

from dsh_session import SessionError
from dsh_session.persistence import JsonlPersistence, SqlitePersistence
from dsh_session.persistence.catalog import find_logs, is_database, list_sessions, validate

from .talk import QuickDisk, bare


def _tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    JsonlPersistence(root, disk=QuickDisk()).save(bare("a", 1, cwd="/x"))
    deep = root / "--home--" / "b"
    deep.mkdir(parents=True)
    (deep / "session.jsonl.zstd").write_bytes(zstandard.compress(bare("b", 1).to_jsonl()))
    (root / "top.jsonl").write_bytes(bare("c", 1).to_jsonl()[:-20])
    (root / "notes.txt").write_bytes(b"")
    (root / "again").symlink_to(root)
    return root


def test_logs_are_found_in_any_layout_and_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    found = [path.relative_to(root).as_posix() for path in find_logs(root)]
    assert found == ["--home--/b/session.jsonl.zstd", "cwd-b3d1db318671/a.jsonl", "top.jsonl"]
    assert [stored.id for stored in list_sessions(root)] == ["b", "a", "c"]


def test_a_database_and_a_single_file_are_listed_too(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    SqlitePersistence(path).save(bare("s", 1))
    assert is_database(path)
    assert [(stored.id, stored.events) for stored in list_sessions(path)] == [("s", 6)]
    log = tmp_path / "one.jsonl"
    log.write_bytes(bare("one", 1).to_jsonl())
    assert not is_database(log)
    assert [stored.id for stored in list_sessions(log)] == ["one"]
    with pytest.raises(FileNotFoundError):
        list_sessions(tmp_path / "absent")


def test_a_database_is_validated_session_by_session(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    for name in "ab":
        SqlitePersistence(path).save(bare(name, 2))
    assert list(validate(path)) == []
    connection = sqlite3.connect(path)
    connection.execute("UPDATE events SET data = '{}' WHERE session_id = 'b' AND seq = 0")
    connection.commit()
    connection.close()
    told = [(finding.file, finding.line, finding.seq, finding.rule) for finding in validate(path)]
    assert told == [
        (f"{path}, session 'b'", 2, 0, "payload"),
        (f"{path}, session 'b'", 2, 0, "turn-number"),
    ]


def test_a_database_of_something_else_cannot_be_validated(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.commit()
    connection.close()
    for attempt in (lambda: list(validate(path)), lambda: list_sessions(path)):
        with pytest.raises(SessionError) as caught:
            attempt()
        assert caught.value.code == "NOT_A_DATABASE"
