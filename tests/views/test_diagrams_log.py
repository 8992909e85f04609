from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings

from dsh_session import Session
from dsh_session.views import diagrams
from tests.views.engines import ENGINES
from tests.views.golden import session_of
from tests.views.made import nested
from tests.views.pictures import Picture, read
from tests.views.test_diagrams_surface import sessions, sketch


def column(picture: Picture, *prefixes: str) -> list[str]:
    names = [name for name in picture.rects if name.startswith(prefixes) and name[-1].isdigit()]
    return sorted(names, key=lambda name: picture.rects[name][1])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_log_stands_left_and_the_surface_right_each_in_its_order(engine: str) -> None:
    picture = read(diagrams.log(sketch(), engine=engine).svg)
    assert column(picture, "e") == [f"e{seq}" for seq in range(14)]
    assert column(picture, "n") == ["n12", "n4", "n13"]
    assert picture.edges_of("e-enters") == {("e4", "n4")}
    assert picture.edges_of("e-stands-for") == {("e12", "n12"), ("e13", "n13")}
    assert max(picture.rects[f"e{seq}"][2] for seq in range(14)) < picture.rects["n4"][0]


def test_a_replacement_stands_where_the_first_that_it_stands_for_stood() -> None:
    rects = read(diagrams.log(sketch()).svg).rects
    assert rects["n12"][1] == rects["e0"][1]
    assert rects["n4"][1] == rects["e4"][1]
    assert rects["n13"][1] == rects["e5"][1]


@given(sessions())
@settings(max_examples=40)
def test_any_log_shows_every_event_and_a_line_for_each_node(session: Session) -> None:
    picture = read(diagrams.log(session, first=99).svg)
    nodes = list(session.surface.nodes)
    assert column(picture, "e") == [f"e{seq}" for seq in range(session.seq)]
    assert column(picture, "n") == [f"n{seq}" for seq in nodes]
    assert picture.edges_of("e-enters") | picture.edges_of("e-stands-for") == {(f"e{seq}", f"n{seq}") for seq in nodes}
    assert {(f"n{a}", f"n{b}") for a, b in pairwise(nodes)} == picture.edges_of("e-next")
    for event in session.events:
        shadowed = event.surface_op is not None and event.seq not in nodes
        assert (picture.dashes[f"e{event.seq}"] == "5,2") == shadowed


def test_chunks_are_one_row_and_what_is_left_out_is_counted_on_both_sides() -> None:
    picture = read(diagrams.log(nested(), first=99).svg)
    assert picture.texts["chunks-4"].split("\n") == ["3 chunks", "4 … 6"]
    picture = read(diagrams.log(session_of("pi")).svg)
    rows = sum(name.startswith("e") and name[1:].isdigit() for name in picture.rects)
    left_out = [text.split("\n")[0] for name, text in picture.texts.items() if name.startswith("more-")]
    on_the_left = [text for text in left_out if "more," in text]
    on_the_right = [text for text in left_out if "more node" in text]

    def total(texts: list[str]) -> int:
        return sum(int(text.split(" ")[1].replace(",", "")) for text in texts)

    assert rows + total(on_the_left) == 2540
    assert sum(name.startswith("n") and name[1:].isdigit() for name in picture.rects) + total(on_the_right) == 448
