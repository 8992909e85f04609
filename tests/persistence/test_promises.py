"""The page on durability: its example runs, and every promise names a test that is there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "durability.md").read_text(encoding="utf-8")


def test_the_example_runs_and_prints_what_the_page_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```\{code-block\} python\n:class: example\n\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (output,) = re.findall(r"^```\{code-block\} text\n:class: output\n\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    result = subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == (output, "")
    assert [path.name for path in tmp_path.rglob("*.*")] == ["tour.jsonl"]


def test_every_promise_names_a_test_that_is_there() -> None:
    named = re.findall(r"\| `(test_\w+\.py)::(test_\w+)` \|", PAGE)
    rows = PAGE.split("| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert len(named) == len(rows) >= 30
    there: set[tuple[str, str]] = set()
    for module in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                # The contract's tests are run by test_contract.
                there.add(("test_contract.py" if module.name == "contract.py" else module.name, node.name))
    assert set(named) <= there, set(named) - there
    assert len(set(named)) == len(named)
