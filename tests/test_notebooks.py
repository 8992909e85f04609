"""What nbval does not see: a notebook that was never run passes it in silence."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted([*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "dsh_session" / "lab").glob("*.ipynb")])
MOST_CELLS = 15
HOME_OR_TEMPORARY = re.compile(r"(/(home|Users|root|tmp|var|work|opt|usr)/|[A-Z]:\\)[\w.-]*")
SHOWN_IN_LOGS = ("/home/user", "/Users/user")
"""Where the recorded sessions ran, made anonymous by those who published them."""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(output: Any) -> list[str]:
    parts = [output.get("text", ""), *output.get("traceback", [])]
    parts += [value for value in output.get("data", {}).values() if isinstance(value, str)]
    return parts


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def test_it_is_a_valid_notebook_whose_cells_have_ids_of_their_own(notebook: Any) -> None:
    nbformat.validate(notebook)
    ids = [cell["id"] for cell in notebook.cells]
    assert len(ids) == len(set(ids))


def test_it_is_short_enough_for_one_sitting(notebook: Any) -> None:
    assert 0 < len(notebook.cells) <= MOST_CELLS


def test_it_was_run_once_from_the_top(notebook: Any) -> None:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_every_cell_whose_last_line_shows_something_has_an_output(notebook: Any) -> None:
    for cell in code_cells(notebook):
        last = cell.source.rstrip().splitlines()[-1]
        shows = not last.startswith((" ", ")", "]", "}")) and not re.match(
            r"(import|from|del|pass)\b|[\w., ]+ = ", last
        )
        if shows and not last.rstrip().endswith(";"):
            assert cell.outputs, f"nothing to compare with: {last}"


def test_no_output_is_an_error_or_a_complaint(notebook: Any) -> None:
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            assert not any("UsageError" in text for text in texts(output))


def test_nothing_in_it_needs_a_kernel_or_changes_from_run_to_run(notebook: Any) -> None:
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert "execution" not in cell.metadata, "times of execution were written"
        for output in cell.get("outputs", []):
            assert not any(re.search(r"0x[0-9a-fA-F]{6,}", text) for text in texts(output))


def test_no_output_names_a_place_on_somebodys_machine(notebook: Any) -> None:
    for cell in code_cells(notebook):
        for text in (text for output in cell.outputs for text in texts(output)):
            for found in HOME_OR_TEMPORARY.finditer(text):
                is_cut = text[found.end() :][:1] == "…" and any(map(str.startswith, SHOWN_IN_LOGS, 2 * [found.group()]))
                named = f"{found.group()} in the output of: {cell.source}"
                assert is_cut or found.group().startswith(SHOWN_IN_LOGS), named


def test_it_begins_with_a_title_and_ends_with_what_was_seen(notebook: Any) -> None:
    first, last = notebook.cells[0], notebook.cells[-1]
    assert first.cell_type == last.cell_type == "markdown"
    assert first.source.startswith("# ")
