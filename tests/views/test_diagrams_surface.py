from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Replace, Session, SessionEvent, fold_surface, load
from dsh_session.views import describe, diagrams
from dsh_session.views.palette import DARK, LIGHT
from dsh_session.views.window import ViewError
from tests.views.engines import ENGINES
from tests.views.hostile import HOSTILE, hostile_session

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Rect = tuple[float, float, float, float]


# --------------------------------------------------------------------------------------------- reading a picture back


@dataclass
class Picture:
    """What an SVG shows: outlines by id, text and tooltip by id, lines by their ends."""

    rects: dict[str, Rect] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    frames: dict[int, Rect] = field(default_factory=dict)
    edges: dict[tuple[str, str], ET.Element] = field(default_factory=dict)

    @property
    def nodes(self) -> set[str]:
        return {name for name in self.rects if re.fullmatch(r"n\d+", name)}

    def surface(self) -> list[str]:
        """The names from head to tail, along the arrows."""
        after = {tail: head for (tail, head), edge in self.edges.items() if edge.get("class") != "edge e-stands-for"}
        names, at = [], after.get("head", "tail")
        while at != "tail":
            names.append(at)
            at = after[at]
        return names

    def within(self, seq: int) -> list[str]:
        """The names of what stands in a frame and in no frame inside it, in reading order."""
        inner = [rect for other, rect in self.frames.items() if other != seq and inside(rect, self.frames[seq])]
        found = [
            name
            for name, rect in self.rects.items()
            if re.match(r"n\d|more-\d", name)
            and "log-only" not in self.classes[name]
            and inside(rect, self.frames[seq])
            and not any(inside(rect, frame) for frame in inner)
        ]
        return sorted(found, key=lambda name: (round(self.rects[name][3]), self.rects[name][0]))


def inside(small: Rect, large: Rect) -> bool:
    return large[0] <= small[0] and large[1] <= small[1] and small[2] <= large[2] and small[3] <= large[3]


def rect_of(group: ET.Element) -> Rect:
    for shape in group.iter():
        numbers = [float(n) for n in NUMBER.findall(shape.get("points") or shape.get("d") or "")]
        if shape.tag in {f"{SVG}polygon", f"{SVG}path"}:
            return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
    return 0, 0, 0, 0


def read(svg: str) -> Picture:
    picture = Picture()
    for group in ET.fromstring(svg.encode()).iter(f"{SVG}g"):
        sort, _, classes = group.get("class", "").partition(" ")
        ident = group.get("id", "")
        titles = [title.text or "" for title in group.iter(f"{SVG}title")]
        if sort == "node":
            assert ident not in picture.rects, f"two nodes are called {ident}"
            picture.rects[ident] = rect_of(group)
            picture.texts[ident] = "\n".join("".join(text.itertext()) for text in group.iter(f"{SVG}text"))
            picture.texts[ident] = picture.texts[ident].replace("\xa0", " ")
            picture.tips[ident] = titles[1] if len(titles) > 1 else ""
            picture.classes[ident] = classes
            assert titles[0] == ident
        elif sort == "cluster":
            picture.frames[int(ident.removeprefix("shadowed-by-"))] = rect_of(group)
        elif sort == "edge":
            tail, _, head = titles[0].partition("->")
            assert (tail, head) not in picture.edges
            picture.edges[tail, head] = group
    return picture


# -------------------------------------------------------------------------------------------------- logs to draw


def said(text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}, **more}


def replace(session: Session, start: int, stop: int, *cited: int, type_: Any = "user/message") -> int:
    """Replace positions of the surface."""
    nodes = list(session.surface.nodes)[start:stop]
    op = Replace(nodes[0], nodes[-1])
    event = session.append(type_, said("summed up"), surface_op=op, source_event_seqs=[*cited, *nodes])
    assert isinstance(event, SessionEvent)
    return event.seq


def sketch() -> Session:
    """Nested replacements by hand: 9 stands for 0, 1, 2; 12 for 9, 3; 13 rewrites 5."""
    session = Session("sketch", clock=lambda: 0, check_payloads=False)
    for at in range(6):
        session.append("tool/result" if at == 5 else "user/message", said(f"message {at}"), surface_op="append")
    session.append("turn/start", {"turn": 1})
    session.append("compact/start", {"turn": 1})
    session.append("compact/summary", {})
    assert replace(session, 0, 3, 7, 8) == 9
    session.append("compact/end", {"turn": 1})
    session.append("x/note", {})
    assert replace(session, 0, 2) == 12
    assert replace(session, 2, 3, type_="tool/result") == 13
    return session


def long(count: int) -> Session:
    session = Session("long", clock=lambda: 0, check_payloads=False)
    for at in range(count):
        session.append("assistant/message" if at % 2 else "user/message", said(f"message {at}"), surface_op="append")
    return session


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    session = Session("random", clock=lambda: 0, check_payloads=False)
    for _ in range(draw(st.integers(0, 25))):
        nodes = session.surface.nodes
        action = draw(st.integers(0, 3))
        if action == 0 and nodes:
            start = draw(st.integers(0, len(nodes) - 1))
            cited = draw(st.lists(st.sampled_from(range(session.seq)), unique=True, max_size=4))
            shadowed = list(nodes)[start : draw(st.integers(start + 1, len(nodes)))]
            sources = [*(seq for seq in cited if seq not in shadowed), *shadowed]
            op = Replace(shadowed[0], shadowed[-1])
            type_: Any = draw(st.sampled_from(["user/message", "tool/result", "context/message"]))
            session.append(type_, said(), surface_op=op, source_event_seqs=sources)
        elif action == 1:
            session.append("step/start", {"turn": 1, "step": 1})
        else:
            kind: Any = draw(st.sampled_from(["user/message", "assistant/message", "steering/message"]))
            session.append(kind, said(), surface_op="append")
    return session


windows = st.fixed_dictionaries(
    {},
    optional={
        "first": st.integers(0, 5),
        "last": st.integers(0, 5),
        "inside": st.integers(2, 6),
        "levels": st.integers(0, 4),
    },
)


# ------------------------------------------------------------------------------------------- where the log says it is


@pytest.mark.parametrize("engine", ENGINES)
def test_nodes_frames_and_edges_stand_where_the_log_says(engine: str) -> None:
    picture = read(diagrams.surface(sketch(), engine=engine).svg)
    assert picture.surface() == ["n12", "n4", "n13"]
    assert set(picture.frames) == {9, 12, 13}
    assert picture.within(12) == ["n9", "n3"]
    assert picture.within(9) == ["n0", "n1", "n2"]
    assert picture.within(13) == ["n5"]
    assert inside(picture.frames[9], picture.frames[12])
    assert not inside(picture.frames[13], picture.frames[12])
    stands = {ends for ends, edge in picture.edges.items() if edge.get("id", "").startswith("stands-for-")}
    assert stands == {("n12", "n9"), ("n9", "n0"), ("n13", "n5")}
    cites = {ends for ends, edge in picture.edges.items() if edge.get("id", "").startswith("cites-")}
    assert cites == {("n9", "n7"), ("n9", "n8")}
    assert {("n9", "n3"), ("n0", "n1"), ("n1", "n2")} <= set(picture.edges)


def test_frames_are_nested_in_the_text_too() -> None:
    dot = diagrams.surface(sketch()).dot
    nesting, open_ = {}, ["surface"]
    for line in map(str.strip, dot.splitlines()):
        if line.startswith("subgraph"):
            nesting[line.split()[1]] = open_[-1]
            open_.append(line.split()[1])
        elif line == "}":
            open_.pop()
        elif line.startswith(("n3 ", "n0 ")):
            nesting[line.split()[0]] = open_[-1]
    assert nesting == {
        "cluster_12": "surface",
        "cluster_9": "cluster_12",
        "cluster_13": "surface",
        "n3": "cluster_12",
        "n0": "cluster_9",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_neighbour_is_joined_by_next_and_by_prev_and_a_shadowed_one_by_its_order(engine: str) -> None:
    picture = read(diagrams.surface(sketch(), engine=engine).svg)

    def heads(tail: str, head: str) -> int:
        return sum(shape.tag == f"{SVG}polygon" for shape in picture.edges[tail, head].iter())

    assert heads("n12", "n4") == 2
    assert heads("n9", "n3") == 1
    assert heads("head", "n12") == 1
    assert heads("n13", "tail") == 1


def test_what_is_shadowed_is_dashed_what_is_left_out_is_dotted_and_what_is_live_is_solid() -> None:
    session = sketch()
    for _ in range(40):
        session.append("user/message", said(), surface_op="append")
    dashes: dict[str | None, str | None] = {}
    for group in ET.fromstring(diagrams.surface(session, levels=1).svg.encode()).iter(f"{SVG}g"):
        for shape in group.iter():
            if shape.tag in {f"{SVG}polygon", f"{SVG}path"}:
                dashes.setdefault(group.get("id"), shape.get("stroke-dasharray"))
    assert dashes["n12"] is None
    assert dashes["n3"] == "5,2"
    assert dashes["n9"] == "1,5"  # its own frame stays folded
    assert dashes["more-14"] == "1,5"


@given(sessions(), windows)
@settings(max_examples=60)
def test_any_log_in_any_window_shows_its_surface_in_order_and_every_count_adds_up(
    session: Session, window: dict[str, int]
) -> None:
    picture = read(diagrams.surface(session, **window).svg)
    folded = fold_surface(session.events)
    shadowed = {replacement.seq: replacement.shadowed_seqs for replacement in folded.replacements}
    check_chain(picture, picture.surface(), list(folded.nodes))
    for seq in picture.frames:
        check_chain(picture, picture.within(seq), shadowed[seq])


def check_chain(picture: Picture, names: list[str], seqs: list[int]) -> None:
    """The names are the seqs, runs of them counted instead of shown."""
    at = 0
    for name in names:
        if name.startswith("more-"):
            assert name == f"more-{seqs[at]}"
            (count,) = re.findall(r"… ([\d,]+) more", picture.texts[name])
            at += int(count.replace(",", ""))
        else:
            assert name == f"n{seqs[at]}"
            at += 1
    assert at == len(seqs)
    for tail, head in pairwise(names):
        assert (tail, head) in picture.edges


@given(sessions(), windows)
@settings(max_examples=60)
def test_no_node_overlaps_another_and_none_leaves_its_frame(session: Session, window: dict[str, int]) -> None:
    picture = read(diagrams.surface(session, **window).svg)
    rects = [(name, rect) for name, rect in picture.rects.items() if rect[2] > rect[0]]
    for at, (name, (left, top, right, bottom)) in enumerate(rects):
        for other, (x, y, x2, y2) in rects[at + 1 :]:
            apart = right <= x or x2 <= left or bottom <= y or y2 <= top
            assert apart, f"{name} and {other} overlap"
    frames = list(picture.frames.items())
    for at, (seq, frame) in enumerate(frames):
        for second, rect in frames[at + 1 :]:
            apart = frame[2] <= rect[0] or rect[2] <= frame[0] or frame[3] <= rect[1] or rect[3] <= frame[1]
            assert apart or inside(frame, rect) or inside(rect, frame), f"frames {seq} and {second} cross"


@given(sessions())
@settings(max_examples=25)
def test_at_shows_the_surface_as_it_was(session: Session) -> None:
    for at in range(0, session.seq, 5):
        picture = read(diagrams.surface(session, at=at, first=99).svg)
        assert picture.surface() == [f"n{seq}" for seq in fold_surface(session.events[: at + 1]).nodes]


@given(sessions(), st.data())
@settings(max_examples=40)
def test_around_shows_any_surface_event_wherever_it_is_folded(session: Session, data: st.DataObject) -> None:
    seqs = [event.seq for event in session.events if event.surface_op is not None]
    if not seqs:
        return
    seq = data.draw(st.sampled_from(seqs))
    picture = read(diagrams.surface(session, around=seq, levels=0).svg)
    assert f"n{seq}" in picture.nodes
    assert "chosen" in picture.classes[f"n{seq}"]


def test_around_a_log_only_event_shows_the_surface_event_before_it() -> None:
    picture = read(diagrams.surface(sketch(), around=8).svg)
    assert "chosen" in picture.classes["n5"]


def test_around_something_hundreds_of_levels_down_skips_levels_and_says_so() -> None:
    session = Session("deep", clock=lambda: 0, check_payloads=False)
    session.append("user/message", said("the first"), surface_op="append")
    for _ in range(300):
        session.append("user/message", said(), surface_op="append")
        replace(session, 0, len(session.surface))
    diagram = diagrams.surface(session, around=0)
    picture = read(diagram.svg)
    assert picture.within(2) == ["n0", "n1"]
    assert len(picture.frames) == 5
    assert "295 levels further down, shadowed by" in diagram.svg.replace("</tspan>", "").replace("<tspan", "")
    assert "dotted: left out or folded" in diagram.svg


# --------------------------------------------------------------------------------------------------- what it says


def test_the_title_counts_and_the_window_is_named() -> None:
    picture = read(diagrams.surface(long(1_000)).svg)
    assert picture.texts["title"] == "long  surface after seq 999: 1,000 nodes, 0 replacements"
    assert picture.texts["subtitle"].endswith("1,000 events in the log; 15 of 1,000 nodes shown.")
    assert picture.texts["more-3"].splitlines() == ["… 985 more", "492 user, 493 assistant"]
    assert "all" not in picture.texts["subtitle"]


def test_log_only_events_are_counted_aside() -> None:
    session = sketch()
    picture = read(diagrams.surface(session).svg)
    counts = Counter(describe.kind(event) for event in session.events if event.surface_op is None)
    assert picture.texts["log-only"] == f"Aside, in the log only: {describe.count_kinds(counts)}."
    assert counts.total() == 5


def test_a_replacement_says_how_many_originals_it_stands_for_through_all_levels() -> None:
    picture = read(diagrams.surface(sketch()).svg)
    assert picture.texts["n12"].splitlines()[:2] == ["12  summary", "stands for 4 originals"]
    assert picture.texts["n9"].splitlines()[1] == "stands for 3 originals"
    assert picture.texts["n13"].splitlines()[1] == "stands for 1 original"
    assert "took the place of 2 nodes (9, 3), stands for 4 originals" in picture.tips["n12"]


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    few = read(diagrams.surface(long(3)).svg).texts
    assert {name for name in few if name.startswith("key-")} == {"key-user", "key-assistant", "key-next"}
    many = read(diagrams.surface(sketch()).svg).texts
    assert {"key-summary", "key-tool-result", "key-stands-for", "key-shadowed"} <= set(many)
    assert "key-more" not in many
    assert "key-more" in read(diagrams.surface(long(100)).svg).texts
    assert "key-chosen" not in many
    assert "key-chosen" in read(diagrams.surface(sketch(), around=3).svg).texts


def test_a_tooltip_holds_the_whole_text_within_bounds() -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    session.append("user/message", said("one\ntwo\n" + "word " * 60), surface_op="append")
    session.append("user/message", said("word " * 1_000_000), surface_op="append")
    tips = read(diagrams.surface(session).svg).tips
    assert tips["n0"].startswith("0 user/message\none\ntwo\nword word")
    assert tips["n0"].rstrip().endswith("word")
    assert len(tips["n1"]) < 700
    assert tips["n1"].endswith("…")


def test_an_error_says_so_in_words() -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    session.append("tool/result", said("no such file", isError=True), surface_op="append")
    picture = read(diagrams.surface(session).svg)
    assert picture.texts["n0"].splitlines() == ["0  tool result, error", "no such file"]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 3_000])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_of_any_length_is_drawn_from_head_to_tail(count: int, engine: str) -> None:
    picture = read(diagrams.surface(long(count), engine=engine).svg)
    check_chain(picture, picture.surface(), list(range(count)))
    assert picture.texts["head"] == "head"


def test_a_log_without_a_surface_is_drawn() -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    session.append("turn/start", {})
    picture = read(diagrams.surface(session).svg)
    assert ("head", "tail") in picture.edges
    assert picture.texts["log-only"].endswith("1 turn boundary.")


# ------------------------------------------------------------------------------------------------- text in its box


def text_width(font_size: float, text: str) -> float:
    """A generous estimate that knows nothing of the one that the diagrams use."""
    wide = sum(1.0 if ord(char) > 0x2E80 else 0.55 for char in text)
    return wide * font_size


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "修复解析器中的一个错误并运行所有测试用例然后写一份很长的报告",
        "שלום עולם זה מבחן ארוך מאוד של טקסט מימין לשמאל",
        "مرحبا بالعالم هذا اختبار طويل للنص من اليمين إلى اليسار",
        "a" * 300,
        "an ordinary sentence of English that is rather longer than a box",
    ],
    ids=["chinese", "hebrew", "arabic", "one word", "english"],
)
def test_text_in_any_script_stays_in_its_box(text: str, engine: str) -> None:
    session = hostile_session(lambda at: f"{text}{at}")
    for group in ET.fromstring(diagrams.surface(session, engine=engine).svg.encode()).iter(f"{SVG}g"):
        if re.fullmatch(r"n\d+", group.get("id", "")) and "log-only" not in group.get("class", ""):
            left, _, right, _ = rect_of(group)
            room = right - left - (24 if "k-result" in group.get("class", "") else 0)  # the tip on either side
            for line in group.iter(f"{SVG}text"):
                runs = [(float(run.get("font-size", 9)), run.text or "") for run in line]
                assert sum(text_width(*run) for run in runs) <= room, "".join(line.itertext())
                assert line.get("text-anchor") == "middle"


def test_both_engines_put_everything_in_the_same_place() -> None:
    session = sketch()
    pictures = [read(diagrams.surface(session, engine=engine).svg) for engine in ENGINES]
    for picture in pictures[1:]:
        assert picture.rects.keys() == pictures[0].rects.keys()
        for name in picture.nodes:
            width, height = (sub(picture.rects[name], at) for at in (0, 1))
            assert (width, height) == pytest.approx(tuple(sub(pictures[0].rects[name], at) for at in (0, 1)), abs=1.5)


def sub(rect: Rect, at: int) -> float:
    return rect[at + 2] - rect[at]


# ---------------------------------------------------------------------------------------------------- hostile logs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hostile_log_becomes_nothing_but_text(engine: str) -> None:
    session = hostile_session(name="<script>alert(1)</script>]]>\x00\ud83d\\N\u202e")
    diagram = diagrams.surface(session, first=99, inside=9, levels=4, engine=engine)
    root = ET.fromstring(diagram.svg.encode())
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "g", "title", "text", "tspan", "polygon", "polyline", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not any(name.lower().startswith("on") or "href" in name or name == "style" for name in attributes)
    picture = read(diagram.svg)
    check_chain(picture, picture.surface(), list(session.surface.nodes))
    everything = diagram.svg + diagram.dot + repr(diagram)
    assert not set(everything) & set("\x00\x07\x1b\x7f\x85\ud83d\u202e\u202d\u2066\u200f\u200b\ufeff\ufffe")
    assert picture.texts["title"].startswith("<script>alert(1)</script>]]>")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [text[:3000] for text in HOSTILE], ids=range(len(HOSTILE)))
def test_each_hostile_text_is_shown_as_it_is_or_cut(text: str, engine: str) -> None:
    session = Session(text or "empty", clock=lambda: 0, check_payloads=False)
    session.append("user/message", said(text), surface_op="append")
    session.append("steering/message", said(f"x{text}"), surface_op="append")
    session.append(f"plugin/{text}", {text: text})
    replace(session, 0, 1, 2)
    event = session.events[0]
    picture = read(diagrams.surface(session, engine=engine).svg)
    shown = picture.texts["n0"].removeprefix("0  user").strip("\n")
    whole = describe.headline(event, 1000).replace("    ", " ")
    assert whole.startswith(shown.removesuffix("…").rstrip()), (shown, whole)
    tip = picture.tips["n0"].partition("\n")[2]
    assert describe.text(event, 600).split() == tip.split()


def test_the_text_of_a_diagram_has_one_edge_per_statement_and_no_url() -> None:
    dot = diagrams.surface(long(3_000), first=1_000, last=1_000).dot
    assert max(line.count("->") for line in dot.splitlines()) == 1
    assert not re.search(r"(?i)\b(url|href)\s*=", dot)


# ------------------------------------------------------------------------------------------------------ real logs


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_recorded_log_is_drawn(path: Path) -> None:
    session = load(path)
    picture = read(diagrams.surface(session).svg)
    check_chain(picture, picture.surface(), list(session.surface.nodes))
    shadowed = {replacement.seq: replacement.shadowed_seqs for replacement in fold_surface(session.events).replacements}
    assert set(picture.frames) == set(shadowed)
    for seq in picture.frames:
        check_chain(picture, picture.within(seq), shadowed[seq])


def test_the_page_of_diagrams_is_a_sorted_list_of_functions() -> None:
    assert diagrams.__all__ == sorted(diagrams.__all__)
    assert all(callable(getattr(diagrams, name)) for name in diagrams.__all__)


def test_there_are_recorded_logs_to_draw() -> None:
    assert len(LOGS) > 15


def test_a_diagram_is_the_same_every_time() -> None:
    assert diagrams.surface(sketch()).dot == diagrams.surface(sketch()).dot
    assert diagrams.surface(sketch(), engine="pure").svg == diagrams.surface(sketch(), engine="pure").svg


def test_drawing_leaves_the_session_as_it_was() -> None:
    session = sketch()
    before = session.to_jsonl(), list(session.surface.nodes)
    assert diagrams.surface(session, at=9, around=3).svg
    assert (session.to_jsonl(), list(session.surface.nodes)) == before


# -------------------------------------------------------------------------------------------------------- arguments


def test_themes_differ_in_colour_alone() -> None:
    light, dark = (diagrams.surface(sketch(), theme=theme, engine="pure").svg for theme in ("light", "dark"))  # type: ignore[arg-type]
    assert LIGHT.fill_summary.lower() in light.lower()
    assert DARK.fill_summary.lower() in dark.lower()
    assert f'fill="{LIGHT.page.lower()}"' in light.lower().replace('fill="white"', f'fill="{LIGHT.page.lower()}"')
    assert f'fill="{DARK.page.lower()}"' in dark.lower()
    assert read(light).rects == read(dark).rects
    assert read(light).texts == read(dark).texts


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"at": 14}, "VIEW_SEQ"),
        ({"at": -1}, "VIEW_SEQ"),
        ({"at": True}, "VIEW_SEQ"),
        ({"around": 14}, "VIEW_SEQ"),
        ({"around": "3"}, "VIEW_SEQ"),
        ({"at": 3, "around": 4}, "VIEW_SEQ"),
        ({"first": -1}, "VIEW_WINDOW"),
        ({"last": 1.5}, "VIEW_WINDOW"),
        ({"inside": 1}, "VIEW_WINDOW"),
        ({"levels": -1}, "VIEW_WINDOW"),
        ({"levels": 13}, "VIEW_WINDOW"),
        ({"first": True}, "VIEW_WINDOW"),
    ],
)
def test_a_window_that_is_none_is_refused_by_name(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ViewError) as caught:
        diagrams.surface(sketch(), **arguments)
    assert caught.value.code == code
    assert next(reversed(arguments)) in str(caught.value)


def test_the_window_is_the_readers_to_choose() -> None:
    session = long(100)
    assert read(diagrams.surface(session, first=2, last=1).svg).surface() == ["n0", "n1", "more-2", "n99"]
    assert read(diagrams.surface(session, first=0, last=0).svg).surface() == ["more-0"]
    around = read(diagrams.surface(session, around=50).svg).surface()
    assert around == ["n0", "more-1", *(f"n{seq}" for seq in range(47, 54)), "more-54", "n99"]


# ------------------------------------------------------------------------------------------------------------ speed


def test_a_log_of_a_hundred_thousand_events_is_drawn_at_once() -> None:
    session = Session("big", clock=lambda: 0, check_payloads=False)
    text, step = said("a line of text"), {"turn": 1, "step": 1}
    for at in range(20_000):
        session.append("user/message", text, surface_op="append")
        for _ in range(4):
            session.append("step/start", step)
        if at % 100 == 99:
            replace(session, at // 100, len(session.surface) - 50 if at > 100 else 50)
    start = time.perf_counter()
    svg = diagrams.surface(session).svg
    taken = time.perf_counter() - start
    assert len(svg) < 300_000
    assert taken < 6, "about half a second where nothing else runs"
