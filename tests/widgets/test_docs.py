"""The examples of the documentation's page run as they stand, and the names of the package are what it says."""

import doctest
from pathlib import Path

from dsh_session import widgets

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "widgets.md"


def test_the_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert result.attempted >= 30
    assert result.failed == 0


def test_every_part_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in ("Stepper", "Panels", "AppendForm", "CompactForm", "ForkForm", "Lineage"):
        assert f"| `{name}` |" in text


def test_the_public_names_are_sorted_and_described() -> None:
    names = widgets.__all__
    assert list(names) == sorted(names, key=lambda name: (name[0].islower(), name))
    for name in names:
        assert getattr(widgets, name).__doc__
