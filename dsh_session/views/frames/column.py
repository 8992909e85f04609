"""Columns of frames, declared as data.

A frame is a tuple of `Column`s and a stream of records. Each column knows its name, its dtype, what it means and
how it is read from one record, so that a frame's documentation, its dtypes and its values come from one place,
and a frame of no rows has the dtypes of a frame of a million.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Column", "Dtype", "describe_columns", "frame"]

Record = TypeVar("Record")
Dtype = Literal["int64", "Int64", "Float64", "bool", "boolean", "string", "category", "datetime64[ms, UTC]"]

# Python's own storage: the same dtype with and without pyarrow, and quicker to fill from Python strings.
_STRING: Final = pd.StringDtype("python")
# Python's datetime, which printing and exporting go through, ends with the year 9999.
_LAST_TIME: Final = 253_402_300_799_999
# Records are read in blocks, so that a long log never has all of its decoded payloads in memory.
_BLOCK: Final = 2048
# No seq, turn or count can be this small.
_MISSING: Final = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class Column(Generic[Record]):
    """One column: what it is called, what it holds, and how it is read from a record.

    Attributes:
        name: The column's name in the frame.
        dtype: The pandas dtype, the same for every log. `int64` and `bool` are never missing; in the others a
            value that a record does not have, or that is not what it should be, is `NA` (`NaT` for a time).
        doc: What the column says, with its unit.
        read: Takes a record, gives a Python value or `None`.
        of: The tags of the records that can have a value; the others are not read, and hold `NA`, 0 or `False`.
        categories: For `category`: the values there are, in their order. Values beyond them, where a log may
            bring new ones, follow in alphabetical order.

    Example:
        >>> size = Column[str](name="size", dtype="int64", doc="characters", read=len)
        >>> frame([size], ["one", "three"])["size"].to_list()
        [3, 5]
    """

    name: str
    dtype: Dtype
    doc: str
    read: Callable[[Record], object]
    of: frozenset[str] | None = None
    categories: tuple[str, ...] = ()


def frame(
    columns: Sequence[Column[Record]], records: Iterable[Record], *, tag: Callable[[Record], str] | None = None
) -> pd.DataFrame:
    """A frame with one row per record.

    Args:
        columns: What to read of each record, in the frame's order.
        records: Any iterable; it is walked once, in blocks.
        tag: The tag of a record, for columns that are declared to be `of` some; without it they are read of all.

    Returns:
        A frame over a `RangeIndex`, with exactly the declared dtypes whether or not there are records.

    Example:
        >>> letters = Column[str](name="letters", dtype="string", doc="the word", read=str)
        >>> str(frame([letters], []).dtypes["letters"])
        'string'
    """
    builders = [_BUILDERS[column.dtype](column.categories) for column in columns]
    # Columns of the same tags share the records that they are read of, and the rows that these stand in.
    groups: dict[frozenset[str] | None, list[tuple[Column[Record], _Builder]]] = {}
    for column, builder in zip(columns, builders, strict=True):
        groups.setdefault(column.of if tag else None, []).append((column, builder))
    rows: dict[frozenset[str], list[np.ndarray[Any, Any]]] = {of: [] for of in groups if of is not None}
    length = 0
    for block in _blocks(records):
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(map(tag, block) if tag else ()):
            places[name].append(place)
        for of, members in groups.items():
            chosen = block
            if of is not None:
                here = [place for name in of.intersection(places) for place in places[name]]
                rows[of].append(np.array(here, dtype=np.int64) + length)
                chosen = [block[place] for place in here]
            for column, builder in members:
                builder.add(map(column.read, chosen), len(chosen))
        length += len(block)
    arrays = {
        column.name: _spread(builder.finish(), rows[column.of], length) if tag and column.of else builder.finish()
        for column, builder in zip(columns, builders, strict=True)
    }
    return pd.DataFrame(arrays, copy=False)


def _spread(array: Any, rows: list[np.ndarray[Any, Any]], length: int) -> Any:
    """Put the values that were read into their rows; what was not read is missing."""
    where = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    if isinstance(array, np.ndarray):
        whole = np.zeros(length, array.dtype)
        whole[where] = array
        return whole
    places = np.full(length, -1)
    places[where] = np.arange(len(where))
    return array.take(places, allow_fill=True)


def describe_columns(columns: Sequence[Column[Record]]) -> pd.DataFrame:
    """The columns of a frame, as a frame.

    Args:
        columns: The declarations.

    Returns:
        One row per column: `column`, `dtype`, `doc`.

    Example:
        >>> size = Column[str](name="size", dtype="int64", doc="characters", read=len)
        >>> describe_columns([size]).to_dict("records")
        [{'column': 'size', 'dtype': 'int64', 'doc': 'characters'}]
    """
    table = [(column.name, column.dtype, column.doc) for column in columns]
    return pd.DataFrame(table, columns=["column", "dtype", "doc"], dtype=_STRING)


def _blocks(records: Iterable[Record]) -> Iterator[list[Record]]:
    walk = iter(records)
    while block := list(islice(walk, _BLOCK)):
        yield block


# ------------------------------------------------------------------------------------- Python values to pandas arrays
# A builder takes the values of a column block by block and keeps them in the form that pandas will have: the
# Python objects of a block are gone before those of the next one are made. None stands for what is missing.


class _Builder:
    """Numbers, as they are."""

    kind: type[np.generic] = np.int64

    def __init__(self, categories: tuple[str, ...]) -> None:
        self.parts: list[Any] = []
        self.categories = categories

    def add(self, values: Iterator[Any], count: int) -> None:
        self.parts.append(np.fromiter(values, self.kind, count))

    def whole(self) -> Any:
        return np.concatenate(self.parts) if self.parts else np.empty(0, self.kind)

    def finish(self) -> Any:
        return self.whole()


class _Integers(_Builder):
    """Integers with gaps."""

    def add(self, values: Iterator[Any], count: int) -> None:
        block = list(values)
        gaps = block.count(None)
        if gaps == count:
            self.parts.append(np.full(count, _MISSING))
        elif gaps:
            super().add((_MISSING if value is None else value for value in block), count)
        else:
            super().add(iter(block), count)

    def finish(self) -> Any:
        numbers = self.whole()
        return pd.arrays.IntegerArray(numbers, numbers == _MISSING)


class _Fractions(_Builder):
    """Fractions with gaps."""

    kind = np.float64

    def add(self, values: Iterator[Any], count: int) -> None:
        super().add((np.nan if value is None else value for value in values), count)

    def finish(self) -> Any:
        numbers = self.whole()
        return pd.arrays.FloatingArray(numbers, np.isnan(numbers))


class _Truths(_Builder):
    """Truth values without gaps."""

    kind = np.bool_


class _NullableTruths(_Builder):
    """Truth values with gaps."""

    kind = np.int8

    def add(self, values: Iterator[Any], count: int) -> None:
        super().add((-1 if value is None else value for value in values), count)

    def finish(self) -> Any:
        numbers = self.whole()
        return pd.arrays.BooleanArray(numbers == 1, numbers < 0)


class _Strings(_Builder):
    """Texts, as the Python strings that they are."""

    def add(self, values: Iterator[Any], count: int) -> None:  # noqa: ARG002 -- one signature for all
        self.parts.extend(values)

    def finish(self) -> Any:
        texts = np.empty(len(self.parts), dtype=object)
        texts[:] = self.parts
        return pd.arrays.StringArray(texts)


class _Codes(dict[Any, int]):
    """A number for each new value, in the order in which they come."""

    def __missing__(self, value: str) -> int:
        code = self[value] = len(self) - 1
        return code


class _Categories(_Builder):
    """Words out of a short list."""

    kind = np.int32

    def __init__(self, categories: tuple[str, ...]) -> None:
        super().__init__(categories)
        self.codes = _Codes({None: -1})
        for name in categories:
            self.codes[name]

    def add(self, values: Iterator[Any], count: int) -> None:
        super().add(map(self.codes.__getitem__, values), count)

    def finish(self) -> Any:
        known = len(self.categories)
        names = [name for name in self.codes if name is not None]
        categories = [*names[:known], *sorted(names[known:])]
        # From the order in which values came to the order of the categories; -1 stays -1.
        order = np.array([*(categories.index(name) for name in names), -1], dtype=np.int32)
        dtype = pd.CategoricalDtype(pd.Index(categories, dtype=_STRING))
        return pd.Categorical.from_codes(order[self.whole()], dtype=dtype)


class _Times(_Integers):
    """Epoch milliseconds with gaps; the number that stands for a gap is numpy's for no time."""

    def finish(self) -> Any:
        milliseconds = self.whole()
        times = milliseconds.astype("datetime64[ms]")
        times[milliseconds > _LAST_TIME] = np.datetime64("NaT", "ms")
        return pd.Series(times).dt.tz_localize("UTC").array


_BUILDERS: Final[dict[str, type[_Builder]]] = {
    "int64": _Builder,
    "Int64": _Integers,
    "Float64": _Fractions,
    "bool": _Truths,
    "boolean": _NullableTruths,
    "string": _Strings,
    "category": _Categories,
    "datetime64[ms, UTC]": _Times,
}
