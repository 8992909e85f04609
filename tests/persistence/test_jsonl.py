"""Files: the original's layout, and what else may lie in a root."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dsh_session import Context, SessionError, load
from dsh_session.persistence import JsonlPersistence, PersistenceError, SessionLockedError, resume
from dsh_session.persistence.naming import log_path

from .talk import EVENTS_PER_TURN, QuickDisk, bare, call, flush, say


def _store(root: Path) -> JsonlPersistence:
    return JsonlPersistence(root, disk=QuickDisk())


def _code(action: Any) -> str:
    with pytest.raises(SessionError) as caught:
        action()
    return caught.value.code


def test_a_log_is_a_header_line_and_a_line_per_event_in_the_originals_place(tmp_path: Path) -> None:
    with Context(clock=lambda: 7) as ctx:
        ctx.plugin(_store(tmp_path))
        session = ctx.sessions.create("a/b", meta={"cwd": "/home/user/project"})
        say(session, 1)
    path = tmp_path / "cwd-9dad1e4e08b0" / "a~002Fb.jsonl"
    lines = path.read_bytes().split(b"\n")
    assert json.loads(lines[0]) == {
        "type": "session",
        "version": 0,
        "id": "a/b",
        "createdAt": 7,
        "cwd": "/home/user/project",
    }
    assert lines[1:-1] == [event.to_json().encode() for event in session.events]
    assert lines[-1] == b""
    assert path.read_bytes() == session.to_jsonl()
    assert load(path).derive_messages() == session.derive_messages()


def test_an_appended_log_keeps_its_file(tmp_path: Path) -> None:
    store = _store(tmp_path)
    path = log_path(tmp_path, "s")
    with Context() as ctx:
        ctx.plugin(store)
        session = ctx.sessions.create("s")
        inodes = set()
        for turn in range(1, 4):
            say(session, turn)
            flush(ctx, session)
            inodes.add(path.stat().st_ino)
            assert path.read_bytes() == session.to_jsonl()
            assert sorted(entry.name for entry in path.parent.iterdir()) == ["s.jsonl", "s.lock"]
            assert (path.parent / "s.lock").read_text() == f"{os.getpid()}\n"
    assert len(inodes) == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["s.jsonl"]


def test_what_a_dead_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    folder = tmp_path / "_no-cwd"
    folder.mkdir()
    (folder / "s.tmp").write_bytes(b"half a log")
    (folder / "s.lock").write_bytes(b"1\n")
    store = _store(tmp_path)
    assert store.list() == []
    store.save(bare("s", 1))
    assert store.load("s").to_jsonl() == bare("s", 1).to_jsonl()
    assert [entry.name for entry in folder.iterdir()] == ["s.jsonl"]


def test_one_id_in_two_working_directories_is_two_sessions(tmp_path: Path) -> None:
    store = _store(tmp_path)
    for cwd in ("/a", "/b"):
        store.save(bare("s", 1, cwd=cwd))
    store.save(bare("s", 2))
    for attempt in (store.load, store.claim, lambda name: store.append(name, [])):
        assert _code(lambda attempt=attempt: attempt("s")) == "SESSION_AMBIGUOUS"
    assert store.load("s", cwd="/b").header.cwd == "/b"
    assert store.load("s", cwd=None).seq == 2 * EVENTS_PER_TURN
    assert _code(lambda: store.load("s", cwd="/c")) == "SESSION_NOT_STORED"
    with Context() as ctx:
        ctx.plugin(store)
        assert _code(lambda: resume(ctx, "s")) == "SESSION_AMBIGUOUS"
        session = resume(ctx, "s", cwd="/a")
        say(session, 2)
    assert store.load("s", cwd="/a").to_jsonl() == session.to_jsonl()
    assert store.load("s", cwd="/b").seq == EVENTS_PER_TURN
    assert len(store.list()) == 3


def test_a_log_that_lies_in_another_folder_is_found_and_goes_on_there(tmp_path: Path) -> None:
    path = tmp_path / "anything" / "s.jsonl"
    path.parent.mkdir()
    path.write_bytes(bare("s", 1, cwd="/moved").to_jsonl())
    with Context() as ctx:
        ctx.plugin(_store(tmp_path))
        session = resume(ctx, "s")
        say(session, 2)
    assert path.read_bytes() == session.to_jsonl()
    assert [entry.name for entry in tmp_path.iterdir()] == ["anything"]


def test_a_file_that_holds_another_session_than_its_name_says_is_not_taken_for_it(tmp_path: Path) -> None:
    path = log_path(tmp_path, "s")
    path.parent.mkdir()
    path.write_bytes(bare("other", 1).to_jsonl())
    store = _store(tmp_path)
    for attempt in (store.load, store.claim, lambda name: store.append(name, [])):
        assert _code(lambda attempt=attempt: attempt("s")) == "SESSION_NOT_STORED"
    # As on a file system that does not tell Other from other.
    with pytest.raises(PersistenceError, match=r"session 'other'.*does not tell the two names apart") as caught:
        store.create(bare("s").header)
    assert caught.value.code == "SESSION_STORED"
    assert path.read_bytes() == bare("other", 1).to_jsonl()


def test_what_cannot_be_read_is_listed_with_its_error(tmp_path: Path) -> None:
    folder = tmp_path / "cwd-x"
    folder.mkdir()
    files = {
        "empty.jsonl": b"",
        "binary.jsonl": b"\x89PNG\r\n\x1a\n\0\0",
        "future.jsonl": b'{"type":"session","version":9,"id":"from the future","createdAt":1}\n',
        "endless.jsonl": b"x" * 3_000_000,
        "fine.jsonl": bare("fine", 1).to_jsonl(),
        "damaged later.jsonl": bare("damaged later", 1).to_jsonl() + b"\0\n{}\n",
        "notes.txt": b"",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "dangling.jsonl").symlink_to(folder / "nothing")
    (tmp_path / "stray.jsonl").write_bytes(bare("stray").to_jsonl())
    listed = {stored.path.name: stored for stored in _store(tmp_path).list()}
    assert set(listed) == (set(files) | {"dangling.jsonl"}) - {"notes.txt"}
    told = {name: getattr(stored.error, "code", type(stored.error).__name__) for name, stored in listed.items()}
    assert told == {
        "empty.jsonl": "JSONL_BAD_HEADER",
        "binary.jsonl": "JSONL_BAD_HEADER",
        "future.jsonl": "JSONL_BAD_HEADER",
        "endless.jsonl": "JSONL_BAD_HEADER",
        "fine.jsonl": "NoneType",
        "damaged later.jsonl": "NoneType",
        "dangling.jsonl": "FileNotFoundError",
    }
    assert listed["future.jsonl"].id == "from the future"
    assert listed["empty.jsonl"].id == "empty"
    assert listed["fine.jsonl"].size == len(files["fine.jsonl"])
    assert listed["fine.jsonl"].modified is not None


def test_a_compressed_log_is_read_and_not_continued(tmp_path: Path) -> None:
    whole = bare("s", 2).to_jsonl()
    for extension in ("zstd", "zst"):
        root = tmp_path / extension
        path = log_path(root, "s").with_suffix(f".jsonl.{extension}")
        path.parent.mkdir(parents=True)
        path.write_bytes(zstandard.compress(whole[:300]) + zstandard.compress(whole[300:]))
        before = path.read_bytes()
        store = _store(root)
        assert store.load("s").to_jsonl() == whole
        assert [stored.id for stored in store.list()] == ["s"]
        assert _code(lambda store=store: store.claim("s")) == "COMPRESSED_LOG"
        assert _code(lambda store=store: store.append("s", [])) == "COMPRESSED_LOG"
        assert _code(lambda store=store: store.create(bare("s").header)) == "SESSION_STORED"
        with Context() as ctx:
            ctx.plugin(store)
            assert _code(lambda ctx=ctx: resume(ctx, "s")) == "COMPRESSED_LOG"
        assert path.read_bytes() == before
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_torn_tail_is_cut_by_a_resume_and_by_nothing_else(tmp_path: Path) -> None:
    whole = bare("s", 2).to_jsonl()
    path = log_path(tmp_path, "s")
    path.parent.mkdir()
    path.write_bytes(whole + b'{"type":"turn/st')
    store = _store(tmp_path)
    assert store.load("s").to_jsonl() == whole
    assert store.claim("s").to_jsonl() == whole
    store.release("s")
    assert path.read_bytes() == whole + b'{"type":"turn/st'
    with Context() as ctx:
        ctx.plugin(store)
        session = resume(ctx, "s")
        assert [finding.code for finding in session.findings] == ["TORN_TAIL"]
        assert path.read_bytes() == whole
        call(session, 3)
    assert path.read_bytes() == session.to_jsonl()


def test_a_byte_order_mark_stays_where_it_is(tmp_path: Path) -> None:
    path = log_path(tmp_path, "s")
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf" + bare("s", 1).to_jsonl() + b"torn")
    with Context() as ctx:
        ctx.plugin(_store(tmp_path))
        session = resume(ctx, "s")
        say(session, 2)
    assert path.read_bytes() == b"\xef\xbb\xbf" + session.to_jsonl()


def test_a_log_of_a_header_alone_goes_on(tmp_path: Path) -> None:
    _store(tmp_path).save(bare("s", 0))
    with Context() as ctx:
        ctx.plugin(_store(tmp_path))
        session = resume(ctx, "s")
        say(session, 1)
    assert _store(tmp_path).load("s").to_jsonl() == session.to_jsonl()


def test_appending_by_hand_to_a_log_looks_at_its_seqs_only(tmp_path: Path) -> None:
    whole = bare("s", 2)
    lines = whole.to_jsonl().splitlines(keepends=True)
    path = log_path(tmp_path, "s")
    path.parent.mkdir()
    path.write_bytes(b"".join(lines[:7]) + b"torn")
    store = _store(tmp_path)
    assert store.append("s", whole.events[4:]) == whole.seq
    store.release("s")
    assert path.read_bytes() == whole.to_jsonl()
    path.write_bytes(b'{"type":"session","version":9,"id":"s","createdAt":1}\n')
    assert _code(lambda: store.append("s", [])) == "JSONL_BAD_HEADER"
    path.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    assert _code(lambda: store.append("s", whole.events)) == "JSONL_GAP"
    path.write_bytes(b"")
    assert _code(lambda: store.append("s", whole.events)) == "JSONL_NO_HEADER"


def test_one_object_writes_a_session_once(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.create(bare("s").header)
    for attempt in (lambda: store.create(bare("s").header), lambda: store.claim("s")):
        with pytest.raises(SessionLockedError, match="this very object") as caught:
            attempt()
        assert caught.value.pid == os.getpid()
    store.release("s")
    store.claim("s")


def test_the_folder_is_the_one_that_was_meant_when_the_object_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = _store(Path("root"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.save(bare("s", 1))
    assert (tmp_path / "root" / "_no-cwd" / "s.jsonl").exists()
    assert repr(store) == f"JsonlPersistence({str(tmp_path / 'root')!r})"


def test_a_forgotten_object_lets_its_sessions_go(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.create(bare("s").header)
    del store
    _store(tmp_path).claim("s")


def test_a_context_that_is_forgotten_lets_its_sessions_go(tmp_path: Path) -> None:
    import gc

    ctx = Context()
    ctx.plugin(_store(tmp_path))
    session = ctx.sessions.create("s")
    say(session, 1)
    flush(ctx, session)
    del ctx, session
    gc.collect()
    _store(tmp_path).claim("s")
