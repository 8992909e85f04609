"""A type checker refuses a message without a surface operation, and a log-only event with one."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SNIPPETS = TESTS / "snippets"
ROOT = TESTS.parent.parent
MARK = "# refused"


@cache
def _complaints() -> dict[str, dict[int, list[str]]]:
    """Run the checker once over both snippets, strictly and without the house's exceptions; give its errors by line."""
    files = sorted(SNIPPETS.glob("*.py"))
    options = [
        "--config-file=",
        "--ignore-missing-imports",
        "--strict",
        "--no-error-summary",
        "--no-color-output",
        "--hide-error-context",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stderr == ""
    out = done.stdout
    found: dict[str, dict[int, list[str]]] = {path.name: {} for path in files}
    for line in out.splitlines():
        match = re.match(r"(?P<file>.+?):(?P<line>\d+): (?P<level>error|note): (?P<text>.*)", line)
        assert match, line
        if match["level"] == "error":
            found[Path(match["file"]).name].setdefault(int(match["line"]), []).append(match["text"])
    return found


def _marked() -> list[tuple[int, str]]:
    lines = (SNIPPETS / "refused.py").read_text().splitlines()
    return [(number, line) for number, line in enumerate(lines, start=1) if line.endswith(MARK)]


def test_what_is_right_passes() -> None:
    assert _complaints()["accepted.py"] == {}


@pytest.mark.parametrize(("number", "line"), _marked(), ids=[f"line {n}" for n, _ in _marked()])
def test_what_is_wrong_is_refused_where_it_stands(number: int, line: str) -> None:
    assert number in _complaints()["refused.py"], line


def test_nothing_else_is_refused() -> None:
    assert set(_complaints()["refused.py"]) == {number for number, _ in _marked()}


def test_the_checker_points_at_the_append() -> None:
    complaints = _complaints()["refused.py"]
    for number, line in _marked():
        if line.startswith("session.append("):
            assert any("append" in text or "TypedDict" in text for text in complaints[number]), complaints[number]
