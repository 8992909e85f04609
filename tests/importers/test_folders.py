"""Finding logs in folders, and what is said of each without importing it."""

import os
from pathlib import Path
from time import perf_counter

import pytest

from dsh_session.importers import import_log
from dsh_session.importers.counting import count
from dsh_session.importers.folders import find, list_folder
from tests.importers.corpora import LOGS, logs_by_format, small_logs

ASIDE = {"claude-code", "codex", "pi"}  # whose logs hold several branches: the counts are of all of them


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with logs of several agents among other things."""
    for name, folder in (
        ("codex", ".codex/sessions/2026/03"),
        ("pi", ".pi/agent/sessions/x"),
        ("dsh-later", "dsh"),
        ("openhands", "openhands"),
    ):
        path = small_logs(name)[0]
        target = tmp_path / folder / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            target.mkdir()
            for file in path.iterdir():
                (target / file.name).write_bytes(file.read_bytes())
        else:
            target.write_bytes(path.read_bytes())
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "log.jsonl").write_bytes(small_logs("codex")[0].read_bytes())
    return tmp_path


def test_logs_are_found_by_what_they_hold_wherever_they_lie(home: Path) -> None:
    found = {path.relative_to(home).parts[0]: importer.name for path, importer in find(home)}
    assert found == {".codex": "codex", ".pi": "pi", "dsh": "dsh-later", "openhands": "openhands"}


def test_a_folder_that_is_a_log_is_found_as_one() -> None:
    folders = [path for path in logs_by_format()["openhands"] if path.is_dir()]
    found = [path for path, _ in find(LOGS / "openhands")]
    assert folders
    assert set(folders) <= set(found)
    assert not [path for path in found for folder in folders if folder in path.parents]


def test_links_that_go_round_and_pipes_are_passed_over(home: Path) -> None:
    before = [path for path, _ in find(home)]
    (home / "loop").symlink_to(home)
    (home / "gone").symlink_to(home / "nowhere")
    os.mkfifo(home / "pipe")
    assert [path for path, _ in find(home)] == before


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(list_folder(tmp_path / "none"))


def test_of_each_log_agent_date_counts_and_size_are_told(home: Path) -> None:
    for log in list_folder(home):
        imported = import_log(log.path)
        assert log.agent == imported.agent
        assert log.error is None
        assert log.size > 0
        assert log.created is not None
        assert log.turns is not None
        if log.path.is_file():
            assert log.size == log.path.stat().st_size


def counted() -> list[tuple[str, Path]]:
    return [(name, path) for name, paths in logs_by_format().items() for path in paths if path.is_file()]


@pytest.mark.parametrize(("name", "path"), counted(), ids=lambda value: value if isinstance(value, str) else value.name)
def test_what_is_counted_is_what_an_import_gives(name: str, path: Path) -> None:
    counts = count(path, name)
    if counts is None:
        return  # it is imported to be counted
    imported = import_log(path)
    kinds = [event.type for session in imported.sessions for event in session.events]
    main = [event.type for event in imported.session.events]
    prompts = [event for event in imported.session.events if event.type == "turn/start"]
    prompted = [event for event in prompts if event.data["trigger"]["kind"] == "message"]
    # Edits of the context, which are written like compactions, are none to count.
    edits = sum(row[4] in ("context_edit", "reset_boundary") for row in imported.book.side_rows)
    assert main.count("compact/start") - edits <= counts.compactions <= kinds.count("compact/start")
    if name in ASIDE:
        assert len(prompted) - 1 <= counts.turns <= kinds.count("turn/start") + 2
    else:
        assert len(prompted) <= counts.turns <= len(prompts)


def test_broken_lines_do_not_count_and_do_not_stop_the_count(tmp_path: Path) -> None:
    data = (LOGS / "dsh-v0" / "multi-turn.jsonl").read_bytes()
    path = tmp_path / "x"
    path.write_bytes(data.replace(b"\n", b'\n{"type":"turn/start"\n\xff\n', 3))
    assert count(path, "dsh") == count(LOGS / "dsh-v0" / "multi-turn.jsonl", "dsh")


def test_half_a_character_stops_no_count(tmp_path: Path) -> None:
    line = b'{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"cut \\ud83d"}}\n'
    path = tmp_path / "x"
    path.write_bytes(line + line.replace(b'"u"', b'"v"').replace(b"null", b'"u"'))
    assert count(path, "claude-code") == (2, 0)


@pytest.mark.parametrize(
    ("time", "created"),
    [
        ("1750000000", 1_750_000_000_000),
        ("1750000000000", 1_750_000_000_000),
        ('"2026-01-01T00:00:00Z"', 1_767_225_600_000),
        *(
            (odd, None)
            for odd in ("1e300", "1e17", "1" + "0" * 400, "-5", '"0001-01-01"', '"9999-12-31T23:00:00-23:00"')
        ),
    ],
)
def test_what_a_log_says_of_itself_fits_into_a_table(tmp_path: Path, time: str, created: float | None) -> None:
    path = tmp_path / "x.jsonl"
    line = '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"a\\ud83d","timestamp":%s,"message":{}}'
    path.write_text(line % time)
    os.utime(path, (5, 5))  # when it was written counts where the log says nothing
    (log,) = list_folder(tmp_path)
    assert (log.created, log.id) == (5000 if created is None else created, "a\ufffd")


def test_a_thousand_logs_are_listed_in_seconds(tmp_path: Path) -> None:
    data = small_logs("codex")[-1].read_bytes()
    for number in range(1000):
        (tmp_path / f"{number}.jsonl").write_bytes(data)
    start = perf_counter()
    assert len(list(list_folder(tmp_path))) == 1000
    assert perf_counter() - start < 15
