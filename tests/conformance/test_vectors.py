"""The reader itself: what it takes for equal decides what conformance means."""

import math
import re
from pathlib import Path

import pytest

from .vectors import Clock, difference, kinds, parse, passes_null, records

HERE = Path(__file__)


def test_every_kind_of_the_file_is_replayed() -> None:
    modules = (path.read_text(encoding="utf-8") for path in HERE.parent.glob("test_*.py") if path != HERE)
    assert {kind for text in modules for kind in re.findall(r'records\("([a-z-]+)"\)', text)} == kinds()


def test_every_record_has_its_own_id() -> None:
    ids = [parameter.id for kind in kinds() for parameter in records(kind)]
    assert len(ids) == len(set(ids)) == 249


def test_numbers_are_read_as_doubles() -> None:
    zero, large, largest, plain = parse("[-0, 9007199254740992, -9007199254740991, 7]")
    assert isinstance(zero, float)
    assert math.copysign(1, zero) == -1
    assert isinstance(large, float)
    assert isinstance(largest, int)
    assert isinstance(plain, int)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (1, 1.0),
        ({"a": [1, None]}, {"a": [1.0, None]}),
        ("anything", "$preamble$"),
        ({"10": 1, "9": 2}, {"9": 2, "10": 1}),
    ],
)
def test_equal_values_are_equal(ours: object, theirs: object) -> None:
    assert difference(ours, theirs) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "path"),
    [
        (True, 1, "$"),
        (0, False, "$"),
        ([1, True], [1, 1], "$[1]"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "$.a.b"),
        ({"a": 1}, {"a": 1, "b": None}, "$"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "$"),
        ([], [1], "$"),
        (None, {}, "$"),
        ("", "$error$", "$"),
        ("x", "y", "$"),
    ],
)
def test_a_difference_is_found_and_placed(ours: object, theirs: object, path: str) -> None:
    found = difference(ours, theirs)
    assert found is not None
    assert found.startswith(f"{path}: ")


def test_an_explicit_null_is_told_from_an_absent_argument() -> None:
    assert passes_null({"header": None}, "header")
    assert not passes_null({}, "header")
    assert not passes_null({"header": {}}, "header")


@pytest.mark.parametrize("now", [-1, 0.5, 2**53, float("inf"), float("nan"), True, "1"])
def test_a_clock_that_gives_no_time_is_known(now: object) -> None:
    assert Clock(now).refused


@pytest.mark.parametrize("now", [0, 1.0, 2**53 - 1])
def test_a_clock_that_gives_a_time_is_known(now: object) -> None:
    assert not Clock(now).refused
