"""Rows: a table that other tools can read, one version at a time."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Context, SessionError, loads
from dsh_session.persistence import PersistenceError, SqlitePersistence, resume
from dsh_session.persistence.sqlite import SCHEMA

from .talk import EVENTS_PER_TURN, bare, call, flush, say


def _query(path: Path, text: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute(text).fetchall()
        connection.commit()
        return rows
    finally:
        connection.close()


def _code(action: Any) -> str:
    with pytest.raises(SessionError) as caught:
        action()
    return caught.value.code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def test_there_is_one_row_per_event_in_columns_of_their_own(path: Path) -> None:
    session = bare("s", 1, cwd="/x")
    SqlitePersistence(path).save(session)
    columns = [row[1] for row in _query(path, "PRAGMA table_info(events)")]
    assert columns == ["session_id", "seq", "type", "time", "data", "source_event_seqs", "surface_op"]
    rows = _query(path, "SELECT * FROM events ORDER BY seq")
    for (identity, seq, kind, time, data, sources, op), event in zip(rows, session.events, strict=True):
        assert (identity, seq, kind, time) == ("s", event.seq, event.type, event.time)
        assert json.loads(data) == event.data
        assert (None if sources is None else json.loads(sources)) == event.source_event_seqs
        assert (None if op is None else json.loads(op)) == event.surface_op
    assert _query(path, "SELECT count(*) FROM spellings") == [(0,)]
    assert _query(path, "SELECT json_extract(data, '$.content[0].text') FROM events WHERE type = 'user/message'") == [
        ("hello",)
    ]


def test_the_journal_is_a_write_ahead_log_and_nothing_is_left_beside_the_database(path: Path) -> None:
    with Context() as ctx:
        ctx.plugin(SqlitePersistence(path))
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        assert _query(path, "PRAGMA journal_mode") == [("wal",)]
        assert len([entry for entry in path.parent.iterdir() if entry.suffix == ".lock"]) == 1
    SqlitePersistence(path).load("s")
    assert [entry.name for entry in path.parent.iterdir()] == ["sessions.db"]


def test_a_line_that_is_spelt_in_another_way_is_kept_beside_its_row(path: Path) -> None:
    text = bare("s", 1).to_jsonl() + b'{"seq":6,"type":"plugin/x","time":1,"data":{"a":1,"a":2}}\n'
    SqlitePersistence(path).save(loads(text))
    assert _query(path, "SELECT seq FROM spellings") == [(6,)]
    assert SqlitePersistence(path).load("s").to_jsonl() == text


def test_a_newer_schema_is_refused_and_not_touched(path: Path) -> None:
    SqlitePersistence(path).save(bare("s", 1))
    assert _query(path, "PRAGMA user_version") == [(SCHEMA,)]
    _query(path, f"PRAGMA user_version = {SCHEMA + 1}")
    before = path.read_bytes()
    store = SqlitePersistence(path)
    for attempt in (store.list, lambda: store.load("s"), lambda: store.save(bare("t", 1)), lambda: store.claim("s")):
        with pytest.raises(PersistenceError, match="update dsh_session") as caught:
            attempt()
        assert caught.value.code == "SCHEMA_NEWER"
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["text", "another database", "our number, other tables"])
def test_a_file_that_is_something_else_is_refused_and_not_touched(path: Path, content: str) -> None:
    if content == "text":
        path.write_bytes(b"precious notes\n" * 1_000)
    else:
        _query(path, "CREATE TABLE precious (notes)")
        if content == "our number, other tables":
            _query(path, f"PRAGMA user_version = {SCHEMA}")
    before = path.read_bytes()
    store = SqlitePersistence(path)
    for attempt in (store.list, lambda: store.load("s"), lambda: store.save(bare("t", 1)), lambda: store.claim("s")):
        assert _code(attempt) == "NOT_A_DATABASE"
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.write_bytes(b"")
    store = SqlitePersistence(path)
    assert store.list() == []
    assert _code(lambda: store.load("s")) == "SESSION_NOT_STORED"
    store.save(bare("s", 1))
    assert store.load("s").seq == EVENTS_PER_TURN


def test_an_empty_id_has_a_place_here(path: Path) -> None:
    SqlitePersistence(path).save(bare("", 1))
    assert SqlitePersistence(path).load("").id == ""


def test_ids_are_unique_whatever_the_working_directory(path: Path) -> None:
    store = SqlitePersistence(path)
    store.save(bare("s", 1, cwd="/a"))
    assert _code(lambda: store.save(bare("s", 1, cwd="/b"))) == "SESSION_STORED"
    assert store.load("s", cwd="/b").header.cwd == "/a"


def test_a_damaged_table_gives_the_precise_error(path: Path) -> None:
    store = SqlitePersistence(path)
    for identity in "abcd":
        store.save(bare(identity, 2))
    _query(path, "DELETE FROM events WHERE session_id = 'a' AND seq = 3")
    _query(path, "UPDATE events SET data = '{' WHERE session_id = 'b' AND seq = 3")
    _query(path, "UPDATE events SET data = '{' WHERE session_id = 'c' AND seq = 11")
    _query(path, "UPDATE sessions SET header = '{}' WHERE session_id = 'd'")
    codes = {"a": "JSONL_GAP", "b": "JSONL_CORRUPT", "d": "JSONL_BAD_HEADER"}
    for identity, code in codes.items():
        with pytest.raises(SessionError, match=rf"sessions\.db, session '{identity}'") as caught:
            store.load(identity)
        assert (caught.value.code, caught.value.line) == (code, 1 if identity == "d" else 5)
        assert _code(lambda identity=identity: store.claim(identity)) == code
    errors = {stored.id: getattr(stored.error, "code", None) for stored in store.list()}
    assert errors == {"a": None, "b": None, "c": None, "d": "JSONL_BAD_HEADER"}
    # After the last turn/end it is a torn tail, which a resume cuts off.
    assert store.load("c").seq == 11
    with Context() as ctx:
        ctx.plugin(store)
        session = resume(ctx, "c")
        assert [finding.code for finding in session.findings] == ["TORN_TAIL", "INTERRUPTED_TURN"]
        assert store.load("c").to_jsonl() == session.to_jsonl()


def test_rows_that_something_else_added_are_not_written_over(path: Path) -> None:
    with Context() as ctx:
        ctx.plugin(SqlitePersistence(path))
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        _query(path, "INSERT INTO events VALUES ('s', 6, 'x', 1, '{}', NULL, NULL)")
        call(session, 2)
        with pytest.raises(PersistenceError) as caught:
            flush(ctx, session)
        assert caught.value.code == "LOG_CHANGED"
        _query(path, "DELETE FROM events WHERE seq = 6")
        flush(ctx, session)
    assert SqlitePersistence(path).load("s").to_jsonl() == session.to_jsonl()


def test_a_database_that_somebody_locks_is_told_and_nothing_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: real(*args, **{**options, "timeout": 0.05}))
    with Context() as ctx:
        ctx.plugin(SqlitePersistence(path))
        session = ctx.sessions.create("s")
        say(session, 1)
        flush(ctx, session)
        other = real(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        say(session, 2)
        with pytest.raises(OSError, match="locked"):
            flush(ctx, session)
        other.execute("ROLLBACK")
        other.close()
        flush(ctx, session)
    assert SqlitePersistence(path).load("s").to_jsonl() == session.to_jsonl()


def test_processes_that_make_one_database_together_each_keep_their_session(path: Path) -> None:
    program = """
import sys
from dsh_session.persistence import SqlitePersistence
from tests.persistence.talk import bare
for number in range(5):
    SqlitePersistence(sys.argv[1]).save(bare(f"{sys.argv[2]}-{number}", 2))
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program, str(path)]
    writers = [subprocess.Popen([*command, name], cwd=root, stderr=subprocess.PIPE) for name in "abc"]
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [(b"", 0)] * 3
    store = SqlitePersistence(path)
    assert [stored.events for stored in store.list()] == [2 * EVENTS_PER_TURN] * 15
    assert store.load("b-3").to_jsonl() == bare("b-3", 2).to_jsonl()


def test_a_list_tells_events_and_the_last_ones_time(path: Path) -> None:
    store = SqlitePersistence(path)
    store.save(bare("s", 2))
    store.save(bare("empty", 0))
    empty, full = store.list()
    assert (empty.id, empty.events, empty.modified) == ("empty", 0, None)
    assert (full.id, full.events, full.modified) == ("s", 12, bare("s", 2).events[-1].time)
    assert (full.path, full.size, full.error) == (path, None, None)
    assert store.locate("s") == path
    assert repr(store) == f"SqlitePersistence({str(path)!r})"


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot fork")
def test_a_forked_child_opens_the_database_anew(path: Path) -> None:
    program = """
import os, sys
from dsh_session import Context
from dsh_session.persistence import SessionLockedError, SqlitePersistence
from tests.persistence.talk import bare, flush, say
store = SqlitePersistence(sys.argv[1])
with Context() as ctx:
    ctx.plugin(store)
    session = ctx.sessions.create("parent")
    say(session, 1)
    flush(ctx, session)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.append("parent", [])
            store.append("parent", session.events)
            say(session, 2)
            store.append("parent", session.events)
        except SessionLockedError:
            code = 0
        store.save(bare("child", 1))
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    say(session, 2)
assert store.load("parent").to_jsonl() == session.to_jsonl()
assert store.load("child").seq == 6
"""
    root = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=root, check=False, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
