"""Reading a picture back: what an SVG of a diagram shows, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Rect = tuple[float, float, float, float]


@dataclass
class Picture:
    """Outlines by id, text, tooltip and classes by id, frames by id, lines by their ends."""

    rects: dict[str, Rect] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    tips: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    dashes: dict[str, str | None] = field(default_factory=dict)
    frames: dict[str, Rect] = field(default_factory=dict)
    edges: dict[tuple[str, str], ET.Element] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    def within(self, frame: str) -> list[str]:
        """The names of what stands in a frame and in no frame inside it, in reading order."""
        outer = self.frames[frame]
        inner = [rect for name, rect in self.frames.items() if name != frame and inside(rect, outer)]
        found = [
            name
            for name, rect in self.rects.items()
            if inside(rect, outer) and not any(inside(rect, small) for small in inner)
        ]
        return sorted(found, key=lambda name: (round(self.rects[name][1]), self.rects[name][0]))

    def edges_of(self, classes: str) -> set[tuple[str, str]]:
        """The ends of the lines of a class, those of the legend aside."""
        return {
            ends
            for ends, edge in self.edges.items()
            if edge.get("class") == f"edge {classes}" and not ends[0].startswith("key-")
        }

    def dashes_of(self, tail: str, head: str) -> str | None:
        path = self.edges[tail, head].find(f".//{SVG}path")
        assert path is not None
        return path.get("stroke-dasharray")


def inside(small: Rect, large: Rect) -> bool:
    return large[0] <= small[0] and large[1] <= small[1] and small[2] <= large[2] and small[3] <= large[3]


def apart(one: Rect, other: Rect) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def read(svg: str) -> Picture:
    picture = Picture()
    for group in ET.fromstring(svg.encode()).iter(f"{SVG}g"):
        sort, _, classes = group.get("class", "").partition(" ")
        ident = group.get("id", "")
        picture.ids.append(ident)
        titles = [title.text or "" for title in group.iter(f"{SVG}title")]
        if sort in {"node", "cluster"}:
            rect, dash = _outline(group)
            picture.classes[ident] = classes
            picture.dashes[ident] = dash
            text = "\n".join("".join(text.itertext()) for text in group.iter(f"{SVG}text"))
            picture.texts[ident] = text.replace("\xa0", " ")
            picture.tips[ident] = titles[1] if len(titles) > 1 else ""
            (picture.frames if sort == "cluster" else picture.rects)[ident] = rect
        elif sort == "edge":
            tail, _, head = titles[0].partition("->")
            assert (tail, head) not in picture.edges
            picture.edges[tail, head] = group
    return picture


def _outline(group: ET.Element) -> tuple[Rect, str | None]:
    for shape in group.iter():
        if shape.tag in {f"{SVG}polygon", f"{SVG}path"}:
            numbers = [float(n) for n in NUMBER.findall(shape.get("points") or shape.get("d") or "")]
            rect = min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])
            return rect, shape.get("stroke-dasharray")
    return (0, 0, 0, 0), None


def check_geometry(picture: Picture) -> None:
    """No node overlaps another, no frame crosses another, every line ends at nodes, ids are unique."""
    drawn = [(name, rect) for name, rect in picture.rects.items() if rect[2] - rect[0] > 1]
    for (name, rect), (other, second) in combinations(drawn, 2):
        assert apart(rect, second), f"{name} and {other} overlap"
    for (name, rect), (other, second) in combinations(picture.frames.items(), 2):
        nested = inside(rect, second) or inside(second, rect)
        assert nested or apart(rect, second), f"frames {name} and {other} cross"
    for name, rect in drawn:
        for frame, around in picture.frames.items():
            assert apart(rect, around) or inside(rect, around), f"{name} sticks out of {frame}"
    for tail, head in picture.edges:
        if tail.startswith("key-"):  # a sample of a line in the legend, between two points that are not drawn
            continue
        assert {tail, head} <= set(picture.rects), f"{tail}->{head} ends nowhere"
    assert len(picture.ids) == len(set(picture.ids))
