from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Session, load
from dsh_session.views import diagrams
from dsh_session.views.window import ViewError
from tests.views.engines import ENGINES
from tests.views.made import Writer, nested
from tests.views.pictures import read
from tests.views.test_diagrams_surface import LOGS, sessions


def behind(session: Session, seq: int) -> set[int]:
    """All that an event comes from, by the definition."""
    sources = set(session.events[seq].source_event_seqs or ())
    return sources.union(*(behind(session, source) for source in sources))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_summary_comes_from_what_it_cites_down_to_the_chunks(engine: str) -> None:
    picture = read(diagrams.provenance(nested(), 24, engine=engine).svg)
    assert picture.within("messages") == ["n24"]
    assert picture.within("sources-of-24") == ["n23", "n11"]
    assert picture.within("sources-of-23") == ["n21", "n22", "n1", "n7", "n10"]
    assert picture.within("sources-of-7") == ["chunks-4"]
    assert picture.within("sources-of-11") == ["n8"]
    assert "3 chunks" in picture.texts["chunks-4"]
    assert picture.edges_of("e-comes-from") == {
        ("n24", "n23"),
        ("n23", "n21"),
        ("n11", "n8"),
        ("n7", "chunks-4"),
        ("n10", "n9"),
    }
    assert "chosen" in picture.classes["n24"]


@given(sessions(), st.data())
@settings(max_examples=40)
def test_any_event_stands_before_all_that_it_cites(session: Session, data: st.DataObject) -> None:
    if not session.seq:
        return
    seq = data.draw(st.integers(0, session.seq - 1))
    diagram = diagrams.provenance(session, seq, inside=60, levels=12)
    picture = read(diagram.svg)
    shown = {int(name[1:].partition("-")[0]) for name in picture.rects if name.startswith("n") and name[1:2].isdigit()}
    everything = behind(session, seq)
    assert shown <= everything | {seq}
    assert set(session.events[seq].source_event_seqs or ()) <= shown
    assert diagram.description.endswith(f"{len(everything):,} event{'' if len(everything) == 1 else 's'}")


def test_what_is_opened_once_is_not_opened_again() -> None:
    write = Writer("twice")
    first = write.say("user/message", "one")
    second = write.say("user/message", "two", sources=[first])
    write.say("user/message", "three", sources=[first, second])
    write.say("user/message", "four", sources=[second])
    picture = read(diagrams.provenance(write.session, first=9).svg)
    assert list(picture.frames) == ["messages", "sources-of-1", "sources-of-2", "sources-of-3"]
    assert picture.within("sources-of-3") == ["n1-of-3"]
    assert picture.dashes["n1-of-3"] == "1,5"


def test_what_comes_from_nothing_says_so() -> None:
    picture = read(diagrams.provenance(nested(), 1).svg)
    assert list(picture.frames) == ["messages"]
    assert "cites nothing" in picture.texts["n1"]


def test_long_lists_of_sources_are_counted() -> None:
    write = Writer("many")
    notes = [write.log("x/note") for _ in range(50)]
    write.say("user/message", "all", sources=notes)
    picture = read(diagrams.provenance(write.session, 50).svg)
    assert "… 45 more" in picture.texts["more-4"]
    assert "50 events" in picture.texts["title"]


def test_a_seq_that_is_not_there_is_refused() -> None:
    with pytest.raises(ViewError, match="seq=99"):
        diagrams.provenance(nested(), 99)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_message_of_a_recorded_log_has_a_picture(path: Any) -> None:
    session = load(path)
    for seq in list(session.surface.nodes)[-2:]:
        picture = read(diagrams.provenance(session, seq).svg)
        cites = bool(session.events[seq].source_event_seqs)
        assert (f"sources-of-{seq}" in picture.frames) == cites
