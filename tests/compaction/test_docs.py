"""The examples of the documentation's page run as they stand."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "compaction.md"


def test_the_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert result.attempted >= 15
    assert result.failed == 0


def test_every_public_name_that_the_page_shows_is_there() -> None:
    import re

    from dsh_session import compaction
    from dsh_session.compaction import policies, summarisers

    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"from dsh_session\.compaction import (.+)", text))
    for names in named:
        for name in names.split(", "):
            assert name in compaction.__all__, name
    # And all policies and summarisers that there are.
    for name in [*policies.__all__, *summarisers.__all__]:
        assert f"`{name}" in text
