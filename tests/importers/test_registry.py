"""Which importers there are, in what order they are asked, and what another package must bring."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dsh_session
from dsh_session import SessionError, import_log, load
from dsh_session.importers import Importer, ImportLogError, importers, recognise
from dsh_session.importers.folders import list_folder
from dsh_session.importers.registry import options_of
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS, small_logs
from tests.importers.fuzzing import assert_sound

EXAMPLE = Path(__file__).parent / "example_package"
DIARY = b"5 they: how was it?\n6 I: good\nnonsense\n"
OWN = ["dsh", "dsh-later", "claude-code", "codex", "pi", "openhands", "inspect-ai", "swe-agent", "messages"]


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A diary, with the package that reads diaries on the path."""
    monkeypatch.syspath_prepend(EXAMPLE)
    path = tmp_path / "diary.txt"
    path.write_bytes(DIARY)
    return path


def entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Put a package on the path that brings one entry point."""
    info = folder / "dsh_odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dsh-odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dsh_session.importers]\nodd = {target}\n")
    monkeypatch.syspath_prepend(folder)


def test_the_package_s_own_importers_are_asked_first_and_in_a_fixed_order() -> None:
    assert [importer.name for importer in importers()][: len(OWN)] == OWN
    for importer in importers():
        assert isinstance(importer, Importer)
        assert importer.agent
        assert "options" not in options_of(importer)


def test_another_package_adds_a_format_by_an_entry_point(diary: Path) -> None:
    assert [importer.name for importer in importers()] == [*OWN, "diary"]
    imported = import_log(diary, me="myself")
    assert imported.agent == "A diary"
    assert load(diary).derive_messages()[-1]["provenance"]["model"] == "me"
    assert imported.session.derive_messages()[-1]["provenance"]["model"] == "myself"
    assert [(finding.code, finding.line) for finding in imported.findings] == [("BAD_LINE", 3)]
    assert_sound(imported)
    assert_accounted(diary, imported)


def test_without_that_package_its_logs_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "diary.txt"
    path.write_bytes(DIARY)
    assert recognise(path) is None


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("no_such_module:x", "cannot be loaded"),
        ("json:no_such_name", "cannot be loaded"),
        ("json:dumps", "is no importer; it needs name, agent, recognises and read"),
    ],
)
def test_a_package_that_brings_no_importer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, told: str
) -> None:
    entry_point(tmp_path, monkeypatch, target)
    with pytest.raises(ImportLogError, match=told) as caught:
        importers()
    assert caught.value.code == "IMPORT_PLUGIN"
    assert target in caught.value.message


BROKEN = """
class Raises:
    name = agent = "raises"
    def recognises(self, sample):
        raise RuntimeError("no idea")
    def read(self, path):
        raise NotImplementedError

class Reads(Raises):
    name = "reads"
    def recognises(self, sample):
        return sample.head.startswith(b"odd")

class Gives(Reads):
    def read(self, path):
        return None

class Needs:
    def __init__(self, something):
        pass

class Poses(Raises):
    name = "codex"
    def recognises(self, sample):
        return False
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Missing", "cannot be loaded"),
        ("Needs", "cannot be loaded"),
        ("Raises", "failed with RuntimeError: no idea"),
        ("Reads", "odd.txt: the entry point 'odd' .* failed with NotImplementedError"),
        ("Gives", "gave NoneType instead of Imported"),
    ],
)
def test_a_package_that_fails_is_named_and_spoils_no_other_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    log = small_logs("codex")[0]
    module = f"dsh_broken_{name.lower()}"
    (tmp_path / f"{module}.py").write_text(BROKEN)
    entry_point(tmp_path, monkeypatch, f"{module}:{name}")
    assert import_log(log).agent == import_log(log, format="codex").agent == "Codex"
    path = tmp_path / "odd.txt"
    path.write_bytes(b"odd")
    for read in (import_log, load):
        with pytest.raises(ImportLogError, match=told) as caught:
            read(path)
        assert caught.value.code == "IMPORT_PLUGIN"


def test_a_package_that_fails_stops_no_other_package(diary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_point(diary.parent, monkeypatch, "no_such_module:x")
    assert import_log(diary).agent == import_log(diary, format="diary").agent == "A diary"


def test_a_package_that_fails_stops_no_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.jsonl").write_bytes(small_logs("codex")[0].read_bytes())
    (tmp_path / "odd.txt").write_bytes(b"odd")
    for name, told in (("Missing", "cannot be loaded"), ("Raises", "no idea")):
        folder = tmp_path / ".git" / name  # where nothing is looked for
        folder.mkdir(parents=True)
        module = f"dsh_list_{name.lower()}"
        (folder / f"{module}.py").write_text(BROKEN)
        with monkeypatch.context() as patch:
            entry_point(folder, patch, f"{module}:{name}")
            with pytest.warns(RuntimeWarning, match=told):
                found = list(list_folder(tmp_path))
        assert [log.agent for log in found] == ["Codex"]


def test_nobody_takes_the_name_of_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_logs("codex")[0]
    (tmp_path / "dsh_poser.py").write_text(BROKEN)
    entry_point(tmp_path, monkeypatch, "dsh_poser:Poses")
    assert import_log(log, format="codex").agent == "Codex"


LONG = 'a "word"\n' * 10_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("messages", [{"role": "system", "content": LONG}, {"role": "user", "content": "hi"}]),
        ("messages", {"messages": [{"role": "user", "content": LONG}]}),
        ("messages", {"content": LONG, "role": "user"}),
        ("swe-agent", {"trajectory": [{"action": "ls", "observation": LONG, "thought": "t"}], "history": []}),
        ("openhands", [{"id": 0, "source": "user", "message": LONG, "action": "message", "args": {"content": LONG}}]),
        ("codex", {"type": "session_meta", "payload": {"base_instructions": {"text": LONG}, "id": "a", "cwd": "/"}}),
    ],
)
def test_a_log_that_begins_with_a_long_text_is_recognised(tmp_path: Path, name: str, text: Any) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps(text))
    importer = recognise(path)
    assert importer is not None
    assert importer.name == name


def test_with_whatever_line_a_claude_code_log_begins_it_is_one(tmp_path: Path) -> None:
    lines = (LOGS / "claude-code" / "plain-03eb5929.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log"
    for at in range(len(lines)):
        path.write_bytes(b"".join(lines[at:]))
        importer = recognise(path)
        assert importer is not None
        assert importer.name == "claude-code", lines[at][:200]


def test_a_long_line_that_is_no_json_hides_no_lines_after_it(tmp_path: Path) -> None:
    log = small_logs("codex")[0]
    path = tmp_path / "log"
    path.write_bytes(b"[" * 100_000 + b"\n" + log.read_bytes())
    imported = import_log(path)
    assert imported.session.seq == import_log(log).session.seq
    assert [(finding.code, finding.line) for finding in imported.findings][:1] == [("BAD_LINE", 1)]


def test_an_option_that_a_format_does_not_take_is_refused(diary: Path) -> None:
    with pytest.raises(ImportLogError, match="takes no option 'you'; it takes me") as caught:
        import_log(diary, you="x")
    assert caught.value.code == "IMPORT_OPTION"
    assert isinstance(caught.value, SessionError)


def test_a_format_can_be_named(diary: Path) -> None:
    assert import_log(diary, format="diary").session.seq == import_log(diary).session.seq


def test_the_package_alone_loads_no_importer_and_a_version_0_log_needs_none() -> None:
    code = (
        "import sys, dsh_session\n"
        "from dsh_session import samples\n"
        "dsh_session.load(samples.path('pi-compacted-twice'))\n"
        "print([name for name in sys.modules if name.startswith('dsh_session.importers') or name == 'pandas'])"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "[]\n"


def test_importing_a_log_without_looking_at_its_tables_needs_no_pandas() -> None:
    log = Path(dsh_session.__file__).parent / "samples" / "pi-compacted-twice.jsonl"
    code = (
        "import sys, dsh_session\n"
        f"imported = dsh_session.import_log({str(log)!r})\n"
        "print('pandas' in sys.modules, len(imported.sources), 'pandas' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "False 2540 True\n"


@pytest.mark.parametrize(
    ("log", "asked", "told"),
    [
        ("codex/compacted-remote.jsonl", "claude-code", "it is a log of Codex: read it as 'codex', or name no format"),
        ("openhands/condensed.v0.json", "pi", "it is a log of OpenHands: read it as 'openhands', or name no format"),
    ],
)
def test_a_wrong_format_that_reads_nothing_says_which_one_is_right(log: str, asked: str, told: str) -> None:
    imported = import_log(LOGS / log, format=asked)
    finding = imported.findings[-1]
    assert imported.session.seq == 0
    assert finding.code == "NOTHING_READ"
    assert "so the session is empty" in finding.message
    assert finding.message.endswith(told)
    assert imported.session.findings == list(imported.findings)


def test_a_format_that_reads_nothing_of_its_own_or_of_nobodys_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"type":"summary","summary":"A title","leafUuid":"x"}\n')
    assert import_log(path, format="claude-code").findings[-1].message.endswith("it holds titles, and no conversation")
    assert import_log(path).findings == ()
    path.write_text('{"a":1}\n')
    assert "it has no format that is known" in import_log(path, format="claude-code").findings[-1].message


def test_a_format_that_reads_something_says_nothing_of_it() -> None:
    imported = import_log(LOGS / "claude-code" / "dag_fork.jsonl", format="claude-code")
    assert "NOTHING_READ" not in [finding.code for finding in imported.findings]
