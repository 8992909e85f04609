"""What a row of the table is, and how one is measured.

Machines differ and are shared, so a time is given in J: what `json.dumps` of the standard library takes for every event
of the conversation, in the same process, at the same moment. Each repetition of a row is preceded by one of J, and the
two medians are divided; a neighbour who slows both leaves the ratio alone.
"""

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, Self

from benchmarks import inputs
from benchmarks.inputs import Json, Operation

Unit = Literal["J", "mJ", "ms", "s", "MiB", "times"]

TOLERANCE: Final = 1.25
"""A row fails when it is more than a quarter over its bound: shared machines are not that steady."""


class Inputs:
    """The logs that rows run on, made once and kept out of the garbage collector's rounds."""

    def __init__(self) -> None:
        self.conversation: list[Operation] = list(inputs.conversation(inputs.CONVERSATION_TURNS))
        self.events: list[Json] = inputs.log_of(self.conversation)
        self.lines: bytes = inputs.lines_of(self.events)
        self.replaced: dict[int, tuple[list[Json], list[int]]] = {
            size: inputs.replaced(size) for size in (20_000, 40_000)
        }
        if inputs.digest(self.events) != inputs.CONVERSATION:
            msg = "the conversation is not the one that the bounds were set for: run python -m benchmarks.inputs"
            raise AssertionError(msg)
        gc.collect()
        gc.freeze()

    @cached_property
    def turns(self) -> list[list[Operation]]:
        """The conversation, turn by turn."""
        return [self.conversation[start : start + 13] for start in range(0, len(self.conversation), 13)]

    def j(self) -> float:
        """Seconds for one J."""
        with Stopwatch() as watch:
            for event in self.events:
                json.dumps(event)
        return watch.seconds


class Stopwatch:
    """Sums the time that is spent in its ``with`` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started = 0.0

    def __enter__(self) -> Self:
        self._started = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds += time.perf_counter() - self._started


Run = Callable[[Inputs], float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        key: The letter it is called by.
        what: What is done, in a reader's words.
        bound: What it may take, in ``unit``.
        unit: What the bound and the measured figure are in.
        original: What the original implementation takes, as text; empty where it has no such thing.
        run: One repetition: seconds for a time, the figure itself for ``MiB`` and ``times``.
        repetitions: How many of them; their median counts.
    """

    key: str
    what: str
    bound: float
    unit: Unit
    original: str
    run: Run
    repetitions: int = 5

    def measure(self, given: Inputs) -> "Measurement":
        """Run it, each time after one J, and put the median in this row's unit."""
        samples, js = [], []
        for _ in range(self.repetitions):
            if self.unit in {"J", "mJ"}:
                js.append(given.j())
            gc.collect()
            samples.append(self.run(given))
        figure = statistics.median(samples)
        match self.unit:
            case "J":
                figure /= statistics.median(js)
            case "mJ":
                figure *= 1000 / statistics.median(js)
            case "ms":
                figure *= 1000
        return Measurement(row=self, figure=figure)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A row with the figure that was measured."""

    row: Row
    figure: float

    @property
    def excess(self) -> float:
        """How far over the bound, as a share of it; negative below."""
        return self.figure / self.row.bound - 1

    @property
    def failed(self) -> bool:
        """Whether it is over by more than what noise explains."""
        return self.figure > TOLERANCE * self.row.bound

    @property
    def verdict(self) -> str:
        """In words."""
        if self.excess <= 0:
            return "within"
        return f"{'MISSED' if self.failed else 'over'} by {self.excess:.0%}"

    def __str__(self) -> str:
        row = self.row
        bound, figure = (f"{value:.3g} {row.unit}" for value in (row.bound, self.figure))
        return line(row.key, row.what, row.original, f"≤ {bound}", figure, self.verdict)


def line(*cells: str) -> str:
    """One line of a Markdown table that is also easy on the eye in a terminal."""
    widths = (2, 88, 10, 12, 12, 8)
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def heading() -> str:
    """The table's first two lines."""
    return line("", "what", "original", "bound", "measured", "verdict") + "\n" + line(*["---"] * 6)


@dataclass
class Table:
    """The rows, in the order in which they were declared."""

    rows: list[Row] = field(default_factory=list)

    def row(
        self, key: str, what: str, *, bound: float, unit: Unit = "J", original: str = "", repetitions: int = 5
    ) -> Callable[[Run], Run]:
        """Declare the function beneath as a row."""

        def declare(run: Run) -> Run:
            self.rows.append(
                Row(key=key, what=what, bound=bound, unit=unit, original=original, run=run, repetitions=repetitions)
            )
            return run

        return declare
