"""How a measured figure becomes a verdict."""

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.measure import Inputs, Measurement, Stopwatch, Table, Unit, heading
from benchmarks.views import TABLE


def measured(figure: float, *, bound: float = 1.0) -> Measurement:
    table = Table()
    table.row("x", "a thing", bound=bound, unit="s")(lambda _: figure)
    return table.rows[0].measure(given())


def given(*, j: float = 0.5) -> Inputs:
    stand_in: Any = SimpleNamespace(j=lambda: j)
    return stand_in  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("figure", "verdict", "failed"),
    [(0.9, "within", False), (1.0, "within", False), (1.2, "over by 20%", False), (1.5, "MISSED by 50%", True)],
)
def test_a_row_fails_when_it_is_more_than_a_quarter_over_its_bound(figure: float, verdict: str, failed: bool) -> None:
    measurement = measured(figure)
    assert measurement.verdict == verdict
    assert measurement.failed is failed


@pytest.mark.parametrize(("unit", "figure"), [("J", 4.0), ("mJ", 4000.0), ("ms", 2000.0), ("s", 2.0), ("MiB", 2.0)])
def test_a_figure_is_in_the_unit_of_its_row(unit: Unit, figure: float) -> None:
    table = Table()
    table.row("x", "a thing", bound=1.0, unit=unit)(lambda _: 2.0)
    assert table.rows[0].measure(given(j=0.5)).figure == figure


def test_the_median_of_the_repetitions_counts() -> None:
    samples = iter([9.0, 1.0, 2.0])
    table = Table()
    table.row("x", "a thing", bound=1.0, unit="s", repetitions=3)(lambda _: next(samples))
    assert table.rows[0].measure(given()).figure == 2.0


def test_a_stopwatch_sums_its_blocks() -> None:
    watch = Stopwatch()
    with watch:
        first = watch.seconds
    once = watch.seconds
    with watch:
        pass
    assert first == 0.0
    assert 0.0 < once < watch.seconds


def test_the_table_is_one_and_its_rows_have_keys_of_their_own() -> None:
    keys = [row.key for row in TABLE.rows]
    assert len(keys) == len(set(keys))
    assert {"a", "c", "d", "e", "f", "g", "m", "i", "t", "p", "v"} <= set(keys)
    widths = {len(line.split("|")) for line in [*heading().splitlines(), str(measured(1.0))]}
    assert len(widths) == 1
