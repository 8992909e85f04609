"""The pages about importers: their examples run as they stand, and every code that an import may give is explained."""

import doctest
import re
from pathlib import Path

import pytest

from dsh_session.importers import importers

ROOT = Path(__file__).resolve().parent.parent.parent
FRAME = ROOT / "docs" / "importers.md"
PAGES = sorted((ROOT / "docs" / "importers").glob("*.md"))
CODE = re.compile(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"')
NO_CODES = {"TOOL_NOT_STARTED", "TOOL_OUTCOME_UNKNOWN"}  # words of a log


@pytest.mark.parametrize("page", [FRAME, *PAGES], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=options)
    assert result.attempted or ">>>" not in page.read_text(encoding="utf-8")
    assert result.failed == 0


def test_every_format_has_a_page_and_a_row() -> None:
    text = FRAME.read_text(encoding="utf-8")
    for importer in importers():
        assert f"| `{importer.name}` | " in text
    for page in re.findall(r"\(importers/(\S+)\)", text):
        assert (ROOT / "docs" / "importers" / page).exists(), page


def test_every_code_is_explained() -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in (FRAME, *PAGES))
    modules = (ROOT / "dsh_session" / "importers").rglob("*.py")
    codes = {code for module in modules for code in CODE.findall(module.read_text(encoding="utf-8"))}
    assert sorted(code for code in codes - NO_CODES if f"`{code}`" not in told) == []
