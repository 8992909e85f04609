from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings

from dsh_session import Session, SurfaceHistory, load
from dsh_session.views import diagrams
from tests.views.engines import ENGINES
from tests.views.golden import session_of
from tests.views.made import Writer, nested
from tests.views.pictures import Picture, read
from tests.views.test_diagrams_surface import LOGS, sessions, sketch


def numbered(names: list[str]) -> list[int]:
    return [int(name[1:]) for name in names if name[0] == "n"]


def check_forest(picture: Picture, history: SurfaceHistory) -> None:
    """Each frame holds what its replacement shadowed, in order, counts included; each is joined to its replacement."""
    assert ordered(picture, "surface") == list(history.at(len(history) - 1))
    for frame in picture.frames:
        if frame == "surface":
            continue
        seq = int(frame.removeprefix("shadowed-by-"))
        children = list(history.children(seq))
        assert ordered(picture, frame) == children
        first = picture.within(frame)[0]
        assert (f"n{seq}", first) in picture.edges_of("e-stands-for")
        # Level by level: the frame stands right of its replacement.
        assert picture.frames[frame][0] > picture.rects[f"n{seq}"][2]


def ordered(picture: Picture, frame: str) -> list[int]:
    names = picture.within(frame)
    for above, below in pairwise(names):
        assert (above, below) in picture.edges
    return [seq for name in names for seq in counted(picture, name)]


def counted(picture: Picture, name: str) -> list[int]:
    """The seqs that a name stands for; of a count the first ones are in its tooltip, which names up to twelve."""
    if name.startswith("n"):
        return [int(name[1:])]
    listed = picture.tips[name].split("\n")[0].partition(", ")[2]
    assert "…" not in listed, "this test wants small logs"
    return [int(seq) for seq in listed.split(", ")]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_forest_stands_level_by_level_where_the_log_says(engine: str) -> None:
    picture = read(diagrams.replacements(sketch(), engine=engine).svg)
    assert picture.within("surface") == ["n12", "n4", "n13"]
    assert set(picture.frames) == {"surface", "shadowed-by-12", "shadowed-by-9", "shadowed-by-13"}
    assert picture.within("shadowed-by-12") == ["n9", "n3"]
    assert picture.within("shadowed-by-9") == ["n0", "n1", "n2"]
    assert picture.within("shadowed-by-13") == ["n5"]
    assert picture.edges_of("e-stands-for") == {("n12", "n9"), ("n9", "n0"), ("n13", "n5")}
    left = {frame: rect[0] for frame, rect in picture.frames.items()}
    assert left["surface"] < left["shadowed-by-12"] == left["shadowed-by-13"] < left["shadowed-by-9"]


@given(sessions())
@settings(max_examples=40)
def test_any_forest_holds_what_the_history_says(session: Session) -> None:
    picture = read(diagrams.replacements(session, inside=30, first=30).svg)
    check_forest(picture, SurfaceHistory(session))


def test_the_title_counts_originals_replacements_and_levels() -> None:
    said = diagrams.replacements(nested()).description
    assert said.endswith("5 surface nodes for 11 originals, 4 replacements, 4 levels")


def test_a_replacement_that_is_not_opened_is_dotted_and_one_that_is_shadowed_dashed() -> None:
    picture = read(diagrams.replacements(nested(), levels=1).svg)
    assert picture.dashes["n26"] == "1,5"
    assert picture.dashes["n25"] == "5,2"
    assert picture.dashes["n54"] is None
    assert "dotted: left out or folded" in picture.texts["key-more"]


def test_replacements_in_the_middle_of_a_long_surface_are_kept() -> None:
    write = Writer("long")
    for at in range(200):
        write.say("user/message", f"message {at}")
    kept = [write.replace(at, at + 1, "pruned", type_="tool/result") for at in (50, 100, 150)]
    picture = read(diagrams.replacements(write.session).svg)
    assert {f"n{seq}" for seq in kept} <= set(picture.rects)
    assert {f"shadowed-by-{seq}" for seq in kept} < set(picture.frames)
    assert "of its 200 nodes" in picture.texts["subtitle"]


def test_around_opens_the_frames_down_to_what_was_asked_for() -> None:
    picture = read(diagrams.replacements(session_of("pi"), around=300).svg)
    chosen = [name for name, classes in picture.classes.items() if "chosen" in classes and not name.startswith("key")]
    assert len(chosen) == 1
    assert chosen[0] in picture.within("shadowed-by-894")


def test_hundreds_of_levels_are_skipped_in_words() -> None:
    write = Writer("deep")
    write.say("user/message", "the first")
    for _ in range(300):
        write.say("user/message", "more")
        write.replace(0, 2, "summed up")
    picture = read(diagrams.replacements(write.session, around=0).svg)
    assert "n0" in picture.rects
    assert any("levels down" in picture.texts[frame] for frame in picture.frames)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_recorded_log_shows_a_frame_for_each_replacement(path: Any) -> None:
    session = load(path)
    picture = read(diagrams.replacements(session).svg)
    expected = {f"shadowed-by-{one.seq}" for one in SurfaceHistory(session).replacements}
    assert set(picture.frames) == {"surface", *expected}
