from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Context, Session
from dsh_session.views import diagrams
from dsh_session.views.palette import DARK, LIGHT
from dsh_session.views.window import ViewError
from tests.core.stores import context, todo, turn
from tests.views.engines import ENGINES
from tests.views.hostile import HOSTILE, hostile_session

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Rect = tuple[float, float, float, float]


@dataclass
class Picture:
    """What an SVG shows: outlines, texts, tooltips, classes and dashes by id; the ends of the lines."""

    rects: dict[str, Rect] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    dashes: dict[str, str | None] = field(default_factory=dict)
    edges: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def lines(self, name: str) -> list[str]:
        return [line for line in self.texts[name].splitlines() if line.strip()]

    def named(self, identity: str) -> str:
        """The name of the box of a session whose id is short."""
        return next(name for name in self.boxes if self.lines(name)[0].startswith(f"{identity}  "))

    @property
    def boxes(self) -> list[str]:
        return [name for name in self.rects if re.fullmatch(r"s\d+", name)]

    def forks(self) -> set[tuple[str, str]]:
        """The arrows by the ids of the sessions at their ends."""
        heads = {
            name: self.lines(name)[0].split("  ")[0]
            for name in self.rects
            if re.match(r"s\d+$|missing|more|above", name)
        }
        return {(heads[tail], heads[head]) for tail, head in self.edges}


def draw(ctx: Context, **options: Any) -> Picture:
    return read(diagrams.lineage(ctx.sessions, **options).svg)


def read(svg: str) -> Picture:
    picture = Picture()
    for group in ET.fromstring(svg.encode()).iter(f"{SVG}g"):
        sort, _, classes = group.get("class", "").partition(" ")
        titles = [title.text or "" for title in group.iter(f"{SVG}title")]
        shapes = [each for each in group.iter() if each.tag in {f"{SVG}polygon", f"{SVG}path"}]
        if sort == "node":
            name = group.get("id", "")
            assert name not in picture.rects, f"two nodes are called {name}"
            picture.rects[name] = rect_of(shapes)
            lines = ("".join(text.itertext()) for text in group.iter(f"{SVG}text"))
            picture.texts[name] = "\n".join(lines).replace("\xa0", " ")
            picture.tips[name] = titles[1] if len(titles) > 1 else ""
            picture.classes[name] = classes
            picture.dashes[name] = shapes[0].get("stroke-dasharray") if shapes else None
        elif sort == "edge":
            tail, _, head = titles[0].partition("->")
            assert (tail, head) not in picture.edges
            picture.edges[tail, head] = shapes[0].get("stroke-dasharray")
    return picture


def rect_of(shapes: list[ET.Element]) -> Rect:
    for shape in shapes:
        numbers = [float(n) for n in NUMBER.findall(shape.get("points") or shape.get("d") or "")]
        return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
    return 0, 0, 0, 0


def family(ctx: Context) -> None:
    """One of everything: forks of forks, a delegate, a parent that is gone, a session without relatives."""
    source = ctx.sessions.create("tour")
    turn(source)
    turn(source, number=2)
    left = ctx.sessions.fork(source, child_session_id="left")
    turn(left, number=3)
    ctx.sessions.fork(source, 2, "right")
    ctx.sessions.fork(left, child_session_id="below")
    ctx.sessions.create("delegate", meta={"parentSession": "tour"})
    ctx.sessions.create("orphan", meta={"parentSession": "gone", "seedLength": 3}, seed=source.events[:3])
    ctx.sessions.create("alone")


# ------------------------------------------------------------------------------------------- where the store says it is


@pytest.mark.parametrize("engine", ENGINES)
def test_every_session_is_a_box_and_every_fork_an_arrow(engine: str) -> None:
    with context() as ctx:
        family(ctx)
        picture = draw(ctx, engine=engine)
    assert sorted(picture.lines(name)[0] for name in picture.boxes) == [
        "alone  created",
        "below  fork",
        "delegate  child",
        "left  fork",
        "orphan  fork",
        "right  fork",
        "tour  created",
    ]
    assert picture.forks() == {
        ("tour", "left"),
        ("tour", "right"),
        ("left", "below"),
        ("tour", "delegate"),
        ("gone", "orphan"),
    }


def test_generations_stand_side_by_side_and_siblings_in_store_order_one_beneath_another() -> None:
    with context() as ctx:
        family(ctx)
        picture = draw(ctx)
    rect = {
        name: picture.rects[picture.named(name)] for name in ("tour", "left", "right", "below", "delegate", "alone")
    }
    assert rect["tour"][0] == rect["alone"][0] < rect["left"][0] == rect["right"][0] < rect["below"][0]
    assert rect["left"][1] < rect["right"][1] < rect["delegate"][1] < rect["alone"][1]
    assert rect["left"][1] <= rect["tour"][1] <= rect["delegate"][1]


def test_an_arrow_says_where_its_parent_was_cut() -> None:
    with context() as ctx:
        family(ctx)
        ctx.sessions.fork(ctx.sessions.create("blank"), child_session_id="of blank")
        ctx.sessions.create(
            "odd", meta={"parentSession": "tour", "seedLength": 2}, seed=ctx.sessions.list()[0].events[:2]
        )
        ctx.sessions.create("liar", meta={"parentSession": "tour", "seedLength": 100})
        picture = draw(ctx, rows=40)

    def said(identity: str) -> list[str]:
        name = picture.named(identity)
        return [picture.texts[part].strip() for part in (f"at-{name}", f"cut-{name}") if part in picture.texts]

    assert said("left") == ["at 5", "end of turn 2"]
    assert said("right") == ["at 2", "end of turn 1"]
    assert said("delegate") == ["shares nothing"]
    assert said("of blank") == ["at the start"]
    assert said("odd") == ["at 1", "user/message"]
    assert said("liar") == ["at 99", "beyond its log"]
    assert said("tour") == []


def test_bars_have_one_scale_and_show_what_is_shared_and_what_is_its_own() -> None:
    with context() as ctx:
        family(ctx)
        picture = draw(ctx)

    def bar(identity: str) -> tuple[float, float]:
        name = picture.named(identity)
        pieces = (picture.rects.get(f"{name}-{part}") for part in ("shared", "own"))
        shared, own = (0.0 if rect is None else rect[2] - rect[0] for rect in pieces)
        return shared, own

    whole = bar("left")[0] + bar("left")[1]
    assert bar("tour") == pytest.approx((0, whole * 6 / 9), abs=1)
    assert bar("left") == pytest.approx((whole * 6 / 9, whole * 3 / 9), abs=1)
    assert bar("right") == pytest.approx((whole * 3 / 9, 0), abs=1)
    assert bar("delegate") == (0, 0)
    box, piece = picture.rects[picture.named("left")], picture.rects[f"{picture.named('left')}-own"]
    assert box[0] < piece[0]
    assert piece[2] < box[2]
    assert box[1] < piece[1]
    assert piece[3] < box[3]


def test_boxes_say_how_much_is_shared_and_what_the_log_amounts_to() -> None:
    with context() as ctx:
        family(ctx)
        session = ctx.sessions.get("left")
        assert session is not None
        session.append(
            "user/message",
            {"content": [], "source": {"kind": "user"}},
            surface_op={"op": "replace", "start": 1, "end": 4},
            source_event_seqs=[1, 4],
        )
        picture = draw(ctx)
    assert picture.lines(picture.named("left")) == ["left  fork", "6 shared + 4 own", "3 turns, surface 2, 1 replaced"]
    assert picture.lines(picture.named("tour")) == ["tour  created", "6 events", "2 turns, surface 2"]
    assert picture.lines(picture.named("alone")) == ["alone  created", "0 events", "0 turns, surface 0"]


def test_a_parent_that_is_not_live_is_dotted_and_stands_above_all_its_children_once() -> None:
    with context() as ctx:
        for name in ("a", "b"):
            ctx.sessions.create(name, meta={"parentSession": "gone", "seedLength": 0})
        picture = draw(ctx)
    assert picture.lines("missing-0") == ["gone", "not in this store"]
    assert picture.dashes["missing-0"] == "1,5"
    assert set(picture.edges) == {("missing-0", "s0"), ("missing-0", "s1")}
    assert set(picture.edges.values()) == {"1,5"}


def test_a_child_that_shares_nothing_is_dashed_and_a_fork_is_solid() -> None:
    with context() as ctx:
        family(ctx)
        picture = draw(ctx)
    tour, left, delegate = (picture.named(name) for name in ("tour", "left", "delegate"))
    assert (picture.dashes[delegate], picture.edges[tour, delegate]) == ("5,2", "5,2")
    assert (picture.dashes[left], picture.edges[tour, left]) == (None, None)
    assert picture.dashes[f"{left}-shared"] == "5,2"
    assert picture.dashes[f"{left}-own"] is None


def test_the_selected_session_has_a_thick_frame() -> None:
    with context() as ctx:
        family(ctx)
        svg = diagrams.lineage(ctx.sessions, selected="left").svg
    picture = read(svg)
    assert [name for name in picture.boxes if "chosen" in picture.classes[name]] == [picture.named("left")]
    assert "key-chosen" in picture.rects


def test_the_title_and_the_description_count() -> None:
    with context() as ctx:
        family(ctx)
        diagram = diagrams.lineage(ctx.sessions)
        said = "lineage of 7 sessions: 4 forks, 1 sharing nothing, 1 parent not in this store"
        assert repr(diagram) == f"<Diagram: {said}>"
        assert read(diagram.svg).texts["title"] == f"store  {said}"


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    with context() as ctx:
        ctx.sessions.create("a")
        assert not [name for name in draw(ctx).rects if name.startswith("key-")]
        family(ctx)
        few = {name for name in draw(ctx).rects if re.fullmatch(r"key-\w+", name)}
        assert few == {"key-shared", "key-own", "key-missing", "key-child"}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_store_is_drawn(engine: str) -> None:
    with context() as ctx:
        picture = draw(ctx, engine=engine)
    assert picture.texts["title"] == "store  lineage of 0 sessions"
    assert picture.texts["subtitle"] == "No session is live."


def test_sessions_that_claim_to_descend_from_themselves_are_drawn() -> None:
    with context() as ctx:
        ctx.sessions.create("self", meta={"parentSession": "self", "seedLength": 0})
        ctx.sessions.create("a", meta={"parentSession": "b"})
        ctx.sessions.create("b", meta={"parentSession": "a"})
        ctx.sessions.create("below", meta={"parentSession": "a"})
        picture = draw(ctx)
        assert picture.forks() == {("a", "below")}
        assert len(picture.boxes) == 4
        assert draw(ctx, selected="below").boxes


# ------------------------------------------------------------------------------------------------------- large stores


def test_what_is_left_out_is_counted() -> None:
    with context() as ctx:
        source = ctx.sessions.create("source")
        turn(source)
        for number in range(100):
            ctx.sessions.fork(source, child_session_id=f"fork {number}")
        picture = draw(ctx, rows=6)
    assert [picture.lines(name)[0] for name in picture.rects if name.startswith("more")] == ["… 95 more"]
    assert picture.texts["subtitle"].endswith("6 of 101 sessions shown.")
    assert len(picture.boxes) == 6


def test_the_selected_session_is_in_the_picture_wherever_it_is() -> None:
    with context() as ctx:
        source = ctx.sessions.create("source")
        turn(source)
        for number in range(100):
            ctx.sessions.fork(source, child_session_id=f"fork {number}")
        deep = "fork 50"
        for number in range(30):
            deep = ctx.sessions.fork(deep, child_session_id=f"deep {number}").id
        assert "chosen" in (picture := draw(ctx, selected="fork 70", rows=6)).classes[picture.named("fork 70")]
        picture = draw(ctx, selected="deep 20")
        assert "chosen" in picture.classes[picture.named("deep 20")]
        assert picture.lines("above") == ["… 21 levels up"]
        assert {("deep 19", "deep 20"), ("… 21 levels up", "deep 19")} <= picture.forks()
        assert "s0" not in picture.boxes


names = st.sampled_from("abcdefghijkl")
claims = st.dictionaries(names, st.tuples(st.none() | names, st.none() | st.integers(0, 9)))


@settings(max_examples=40)
@given(claims, st.integers(4, 12), st.integers(1, 4), st.booleans(), st.data())
def test_whatever_headers_claim_counts_add_up_and_nothing_overlaps(
    claimed: dict[str, tuple[str | None, int | None]], rows: int, levels: int, choose: bool, data: st.DataObject
) -> None:
    with context() as ctx:
        for name, (parent, length) in claimed.items():
            meta = {"parentSession": parent, "seedLength": length}
            session = ctx.sessions.create(name, meta={key: value for key, value in meta.items() if value is not None})
            for _ in range(ord(name) % 5):
                todo(session)
        selected = data.draw(st.sampled_from(sorted(claimed))) if choose and claimed else None
        picture = draw(ctx, rows=rows, levels=levels, selected=selected)
    shown = len(picture.boxes)
    if "above" not in picture.rects:
        hidden = sum(
            int(re.findall(r"\d+", picture.texts[name])[0]) for name in picture.rects if name.startswith("more")
        )
        ghosts = len({parent for parent, _ in claimed.values() if parent is not None and parent not in claimed})
        drawn = sum(name.startswith("missing") for name in picture.rects)
        assert shown + hidden + drawn == len(claimed) + ghosts
    if selected is not None:
        assert selected in [picture.lines(name)[0].split("  ")[0] for name in picture.boxes]
    boxes = [
        (name, rect) for name, rect in picture.rects.items() if re.match(r"(s\d+|missing-\d+|more-\d+|above)$", name)
    ]
    for (name, a), (other, b) in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], f"{name} and {other} overlap"


@pytest.mark.parametrize("shape", ["roots", "one parent", "a chain"])
def test_ten_thousand_sessions_are_drawn_at_once(shape: str) -> None:
    with context() as ctx:
        for number in range(10_000):
            parent = {"roots": None, "one parent": "s0", "a chain": f"s{number - 1}"}[shape]
            ctx.sessions.create(
                f"s{number}", meta={"parentSession": parent, "seedLength": 0} if parent and number else None
            )
        started = time.perf_counter()
        svg = diagrams.lineage(ctx.sessions, selected="s9999").svg
        taken = time.perf_counter() - started
    assert len(svg) < 100_000
    assert "of 10,000 sessions shown" in "".join(ET.fromstring(svg.encode()).itertext()).replace("\xa0", " ")
    assert taken < 5, "a quarter of a second where nothing else runs"


# ------------------------------------------------------------------------------------------------------ hostile stores


def hostile_store(ctx: Context) -> None:
    for number, text in enumerate(HOSTILE):
        session = ctx.sessions.create(
            f"{text}{number}", meta={"parentSession": text, "seedLength": 1, "cwd": f"/{text}"}
        )
        session.append("turn/end", {"turn": text, "reason": {"kind": text}})
        child = ctx.sessions.create(f"child {number}", meta={"parentSession": session.id, "seedLength": 1})
        child.append(text[:1_000] or "plugin/empty", {})
    ctx.sessions.enter(hostile_session())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hostile_store_becomes_nothing_but_text(engine: str) -> None:
    with context(check_payloads=False) as ctx:
        hostile_store(ctx)
        diagram = diagrams.lineage(ctx.sessions, rows=200, engine=engine)
        root = ET.fromstring(diagram.svg.encode())
        everything = diagram.svg + diagram.dot + repr(diagram)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "g", "title", "text", "tspan", "polygon", "polyline", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not any(name.lower().startswith("on") or "href" in name or name == "style" for name in attributes)
    assert not set(everything) & set("\x00\x07\x1b\x7f\x85\ud83d\u202e\u202d\u2066\u200f\u200b\ufeff\ufffe")
    assert len(read(diagram.svg).boxes) == 2 * len(HOSTILE) + 1
    assert len(everything) < 1_000_000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text", ["修复解析器中的一个错误并运行所有测试用例", "W" * 300, "שלום עולם זה מבחן ארוך", "words " * 50]
)
def test_a_long_name_stays_in_its_box(text: str, engine: str) -> None:
    with context() as ctx:
        ctx.sessions.create(text, meta={"parentSession": f"of {text}", "seedLength": 0})
        svg = diagrams.lineage(ctx.sessions, engine=engine).svg
    for group in ET.fromstring(svg.encode()).iter(f"{SVG}g"):
        if group.get("id") in {"s0", "missing-0"}:
            left, _, right, _ = rect_of([each for each in group.iter() if each.tag in {f"{SVG}polygon", f"{SVG}path"}])
            for line in group.iter(f"{SVG}text"):
                said = [(float(run.get("font-size", 9)), run.text or "") for run in line]
                wide = sum(size * sum(1.0 if ord(char) > 0x2E80 else 0.55 for char in words) for size, words in said)
                assert wide <= right - left, "".join(line.itertext())


# ------------------------------------------------------------------------------------------------------------ the rest


def test_a_drawing_is_the_same_every_time_and_changes_nothing() -> None:
    with context() as ctx:
        family(ctx)
        before = [session.to_jsonl() for session in ctx.sessions.list()]
        assert diagrams.lineage(ctx.sessions).dot == diagrams.lineage(ctx.sessions).dot
        assert [session.to_jsonl() for session in ctx.sessions.list()] == before


def test_themes_differ_in_colour_alone() -> None:
    with context() as ctx:
        family(ctx)
        light, dark = (diagrams.lineage(ctx.sessions, theme=theme, engine="pure").svg for theme in ("light", "dark"))  # type: ignore[arg-type]
    assert LIGHT.selection.lower() in light.lower()
    assert DARK.selection.lower() in dark.lower()
    assert (read(light).rects, read(light).texts) == (read(dark).rects, read(dark).texts)


def test_both_engines_put_everything_in_the_same_place() -> None:
    with context() as ctx:
        family(ctx)
        pictures = [draw(ctx, engine=engine) for engine in ENGINES]
    for picture in pictures[1:]:
        assert picture.rects.keys() == pictures[0].rects.keys()
        for name in picture.boxes:
            assert picture.rects[name] == pytest.approx(pictures[0].rects[name], abs=1.5)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"selected": "nobody"}, "VIEW_SESSION"),
        ({"selected": "<script>" * 1_000}, "VIEW_SESSION"),
        ({"rows": 3}, "VIEW_WINDOW"),
        ({"rows": 4.5}, "VIEW_WINDOW"),
        ({"rows": True}, "VIEW_WINDOW"),
        ({"levels": 0}, "VIEW_WINDOW"),
        ({"levels": "2"}, "VIEW_WINDOW"),
    ],
    ids=repr,
)
def test_what_cannot_be_drawn_is_refused_by_name(options: dict[str, Any], code: str) -> None:
    with context() as ctx:
        ctx.sessions.create("s")
        with pytest.raises(ViewError) as caught:
            diagrams.lineage(ctx.sessions, **options)
    assert caught.value.code == code
    assert next(iter(options)) in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_session_that_was_loaded_from_elsewhere_is_drawn_with_what_it_claims() -> None:
    session = Session(
        "copy", seed=[], header={"version": 0, "id": "copy", "createdAt": -0.5, "parentSession": "original"}
    )
    with context() as ctx:
        ctx.sessions.enter(session)
        picture = draw(ctx)
    assert picture.forks() == {("original", "copy")}
