"""Which importers there are, in what order they are asked, and what another package must bring."""

import subprocess
import sys
from pathlib import Path

import pytest

import dsh_session
from dsh_session import SessionError, import_log, load
from dsh_session.importers import Importer, ImportLogError, importers, recognise
from dsh_session.importers.registry import options_of
from tests.importers.accounting import assert_accounted
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
