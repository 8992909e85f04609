from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from dsh_session import Replace, samples

README = (resources.files("dsh_session.samples") / "README.md").read_text(encoding="utf-8")
RECORDED = Path(__file__).parent / "data" / "logs" / "v0-compacted"


def test_the_samples_are_named_in_order() -> None:
    assert samples.names() == ["pi-compacted-twice"]


@pytest.mark.parametrize("name", samples.names())
def test_a_sample_loads_without_findings_and_gives_its_bytes_back(name: str) -> None:
    session = samples.load(name)
    assert not session.findings
    assert session.to_jsonl() == samples.path(name).read_bytes()
    assert session.id == name


@pytest.mark.parametrize("name", samples.names())
def test_a_sample_has_its_source_and_licence_beside_it(name: str) -> None:
    part = README.split(f"### {name}.jsonl")[1]
    assert re.search(r"https://github\.com/\S+", part)
    assert re.search(r"commit `[0-9a-f]{10}`", part)
    assert "Permission is hereby granted" in part
    assert re.search(r"Copyright \(c\) \d{4} \w+", part)


def test_the_sample_is_the_recorded_session_byte_for_byte() -> None:
    name = "pi-compacted-twice.jsonl"
    assert samples.path("pi-compacted-twice").read_bytes() == (RECORDED / name).read_bytes()


def test_its_second_compaction_swallows_its_first() -> None:
    session = samples.load("pi-compacted-twice")
    first, second = [event for event in session.events if isinstance(event.surface_op, Replace)]
    assert isinstance(second.surface_op, Replace)
    assert second.surface_op.start == first.seq
    assert second.seq in session.surface
    assert first.seq not in session.surface


@pytest.mark.parametrize("open_", [samples.path, samples.load])
def test_an_unknown_sample_is_refused_with_the_names_of_those_there_are(open_: object) -> None:
    assert callable(open_)
    for name in ("pi", "../samples/pi-compacted-twice", "pi-compacted-twice.jsonl", ""):
        with pytest.raises(KeyError, match=f"no sample is called {name!r}; there are pi-compacted-twice"):
            open_(name)
