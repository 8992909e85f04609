from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dsh_session import load
from dsh_session.views import export, frames
from dsh_session.views.export import to_csv, to_parquet
from tests.views.drawn_logs import COMPACTED
from tests.views.hostile import HOSTILE, hostile_session

if TYPE_CHECKING:
    from pathlib import Path

NAMES = sorted(set(frames.COLUMNS) - {"sessions", "trace"})
FORMULA = re.compile(r"\s*[=+\-@]|[\t\r\n]")


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    session = hostile_session(lambda at: HOSTILE[at % len(HOSTILE)][:500])
    return {name: getattr(frames, name)(session) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_of_a_hostile_log_starts_a_formula(name: str, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    path = to_csv(tables[name], tmp_path / "table.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(tables[name]) + 1
    numeric = {at for at, column in enumerate(frames.COLUMNS[name]) if column.dtype not in {"string", "category"}}
    for row in rows:
        for at, cell in enumerate(row):
            assert at in numeric or FORMULA.match(cell) is None
            assert "\x1b" not in cell
            assert "\x00" not in cell


@pytest.mark.parametrize("name", NAMES)
def test_parquet_gives_back_values_and_dtypes(name: str, tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    table = tables[name]
    again = pd.read_parquet(to_parquet(table, tmp_path / "table.parquet"))
    assert list(again.columns) == list(table.columns)
    for column in frames.COLUMNS[name]:
        expected = [None if pd.isna(value) else value for value in table[column.name]]
        assert [None if pd.isna(value) else value for value in again[column.name]] == expected, column.name
        if column.dtype != "category":
            assert again.dtypes[column.name] == column.dtype, column.name


def test_numbers_stay_numbers_and_what_is_missing_is_empty(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "=name": ["+1", None],
            "n": pd.array([-3, None], dtype="Int64"),
            "yes": pd.array([True, None], dtype="boolean"),
        }
    )
    assert to_csv(table, tmp_path / "t.csv").read_bytes() == b"'=name,n,yes\n'+1,-3,True\n,,\n"
    assert table.columns[0] == "=name"
    assert table["=name"][0] == "+1"


def test_columns_of_one_name_are_written_each(tmp_path: Path) -> None:
    table = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert to_csv(table, tmp_path / "t.csv").read_text(encoding="utf-8") == "x,x\n'=a,'=b\n"


@pytest.mark.parametrize("path", COMPACTED, ids=lambda path: path.stem)
def test_a_real_log_comes_back_from_csv(path: Path, tmp_path: Path) -> None:
    table = frames.context(load(path))
    again = pd.read_csv(to_csv(table, tmp_path / "context.csv"))
    assert again["total"].to_list() == table["total"].to_list()
    assert again["kept"].to_list() == table["kept"].to_list()


@pytest.mark.parametrize("write", [to_csv, to_parquet])
def test_a_file_that_cannot_be_written_leaves_what_was_there(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "table"
    target.write_text("old", encoding="utf-8")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", fail)
    with pytest.raises(OSError, match="disk is full"):
        write(pd.DataFrame({"a": [1]}), target)
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
    assert target.read_text(encoding="utf-8") == "old"


def test_without_pyarrow_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'dsh-session\[parquet\]'"):
        to_parquet(pd.DataFrame({"a": [1]}), tmp_path / "t.parquet")
