"""The pages about the formats: their examples run, and they name the findings that there are."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("name", ["codex", "pi"])
def test_the_examples_of_a_page_run(name: str) -> None:
    results = doctest.testfile(
        str(ROOT / "docs" / "importers" / f"{name}.md"),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("name", ["codex", "pi"])
def test_a_page_names_every_finding_of_its_format_alone(name: str) -> None:
    modules = (ROOT / "dsh_session" / "importers" / name).glob("*.py")
    codes = {code for module in modules for code in re.findall(r'finding(?:_once)?\("([A-Z_]+)"', module.read_text())}
    assert codes
    page = (ROOT / "docs" / "importers" / f"{name}.md").read_text(encoding="utf-8")
    common = {"BRANCH_MID_TURN", "FURTHER_HEADER", "NEWER_VERSION", "NOT_AN_OBJECT", "NO_HEADER", "TOO_MANY_BRANCHES"}
    assert {code for code in codes - common if f"`{code}`" not in page} == set()
