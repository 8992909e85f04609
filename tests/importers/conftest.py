"""What the tests of several formats share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsh_session.importers.claude_code import IMPORTER as CLAUDE_CODE
from dsh_session.importers.codex.importer import IMPORTER as CODEX
from dsh_session.importers.found import Imported
from dsh_session.importers.pi.importer import IMPORTER as PI
from dsh_session.importers.registry import Importer
from tests.importers.accounting import assert_accounted
from tests.importers.fuzzing import assert_sound
from tests.importers.lines import write_lines

collect_ignore = ["example_package"]  # it is put on the path by the tests that want it, and only for them

Read = Callable[..., Imported]


def reader(importer: Importer, folder: Path) -> Read:
    """Give what reads lines, and checks what always holds."""

    def read(*values: Any, name: str = "log.jsonl", **options: Any) -> Imported:
        path = write_lines(folder / name, *values)
        imported = importer.read(path, **options)
        assert_sound(imported)
        assert_accounted(path, imported)
        return imported

    return read


@pytest.fixture
def read_pi(tmp_path: Path) -> Read:
    """Reads lines as a session of pi."""
    return reader(PI, tmp_path)


@pytest.fixture
def read_rollout(tmp_path: Path) -> Read:
    """Reads lines as a rollout of Codex."""
    return reader(CODEX, tmp_path)


@pytest.fixture
def read_claude(tmp_path: Path) -> Read:
    """Reads lines as a log of Claude Code."""
    return reader(CLAUDE_CODE, tmp_path)
