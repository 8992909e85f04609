from __future__ import annotations

import pytest
from hypothesis import given, settings

from dsh_session import Session, SurfaceHistory
from dsh_session.views import diagrams
from tests.views.engines import ENGINES
from tests.views.golden import session_of
from tests.views.made import nested
from tests.views.pictures import Picture, read
from tests.views.test_diagrams_surface import sessions, sketch


def column(picture: Picture, prefix: str) -> list[int]:
    names = [name for name in picture.rects if name.startswith(prefix) and name[1:].isdigit()]
    return [int(name[1:]) for name in sorted(names, key=lambda name: picture.rects[name][1])]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_person_saw_stands_beside_what_the_model_sees(engine: str) -> None:
    picture = read(diagrams.views(sketch(), engine=engine).svg)
    assert column(picture, "p") == [0, 1, 2, 3, 4, 5]
    assert column(picture, "n") == [12, 4, 13]
    assert picture.within("replaced-by-12") == ["p0", "p1", "p2", "p3"]
    assert picture.within("replaced-by-13") == ["p5"]
    assert picture.edges_of("e-same") == {("p4", "n4")}
    assert picture.edges_of("e-stands-for") == {("n12", "p0"), ("n13", "p5")}
    assert picture.rects["p4"][1] == picture.rects["n4"][1]


@given(sessions())
@settings(max_examples=40)
def test_the_left_is_the_transcript_and_the_right_the_surface(session: Session) -> None:
    history = SurfaceHistory(session)
    picture = read(diagrams.views(session, first=99, inside=99).svg)
    assert column(picture, "p") == list(history.transcript())
    assert column(picture, "n") == list(session.surface.nodes)
    for frame in picture.frames:
        seq = int(frame.removeprefix("replaced-by-"))
        assert picture.within(frame) == [f"p{original}" for original in history.originals(seq)]


def test_counts_on_both_sides_add_up() -> None:
    session = session_of("pi")
    picture = read(diagrams.views(session).svg)

    def total(prefix: str) -> int:
        left_out = [text for name, text in picture.texts.items() if name.startswith(f"more-{prefix}")]
        return len(column(picture, prefix)) + sum(int(text.split(" ")[1].replace(",", "")) for text in left_out)

    assert total("p") == len(SurfaceHistory(session).transcript())
    assert total("n") == len(session.surface.nodes)
    assert diagrams.views(session).description.endswith("a person saw 996 messages, the model sees 448")


def test_what_the_model_no_longer_sees_is_dashed() -> None:
    picture = read(diagrams.views(nested()).svg)
    assert picture.dashes["p1"] == "5,2"
    assert picture.dashes["n54"] is None
    assert "no longer seen by the model" in picture.texts["key-shadowed"]
