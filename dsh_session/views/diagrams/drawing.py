"""Placed things as DOT text: nodes, frames and lines with their places, for `layout=nop2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import graphviz

from dsh_session.views.escape import dot_html, dot_tooltip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.views.diagrams.layout import Point
    from dsh_session.views.palette import Theme

__all__ = ["FONT", "Drawing", "bezier", "label", "left"]

FONT: Final = "Helvetica"
_ARROW: Final = 7.0
"""How long an arrowhead is, in points, at the arrow size of `Drawing`."""
_CORNER: Final = 5.0
# An outline of this shape is drawn so much lower than the room it is given.
_LOWER: Final = {"cds": 12.0}


class Drawing:
    """A `graphviz.Digraph` that is filled with things whose places are known.

    Places are points, y down; DOT wants y up, so the height of the whole is needed first.

    Example:
        >>> from dsh_session.views.palette import LIGHT
        >>> drawing = Drawing("surface", 100.0, LIGHT)
        >>> drawing.node("n1", (50, 20), (90, 30), label("1"), classes="boxed")
        >>> 'pos="50,80"' in drawing.graph.source
        True
    """

    def __init__(self, name: str, height: float, theme: Theme) -> None:
        """Start an empty drawing.

        Args:
            name: The graph's name in the DOT text.
            height: The height of the whole, in points.
            theme: The colours.
        """
        self.theme = theme
        self._height = height
        self.graph = graphviz.Digraph(
            name,
            graph_attr={
                "layout": "nop2",
                "bgcolor": theme.page,
                "fontname": FONT,
                "fontcolor": theme.ink,
                "outputorder": "edgesfirst",
                "pad": "0.15",
                "splines": "true",
            },
            node_attr={
                "shape": "box",
                "style": "filled",
                "fixedsize": "true",
                "fontname": FONT,
                "fontsize": "10",
                "fontcolor": theme.ink,
                "color": theme.border,
                "fillcolor": theme.fill_plain,
                "penwidth": "1.2",
            },
            edge_attr={"color": theme.border, "arrowsize": "0.7"},
        )

    def node(
        self,
        name: str,
        place: Point,
        size: tuple[float, float],
        text: str,
        *,
        classes: str,
        tooltip: str = "",
        into: graphviz.Digraph | None = None,
        **attributes: str,
    ) -> None:
        """Draw a node.

        Args:
            name: Its name, which is its id too.
            place: The middle of its outline.
            size: Width and height of its outline.
            text: An HTML-like label (`label`, `left`).
            classes: What it is, for style sheets.
            tooltip: Plain text.
            into: The frame that it stands in.
            attributes: Further attributes of DOT.
        """
        x, y = place
        width, height = size
        height += _LOWER.get(attributes.get("shape", ""), 0.0)
        (into or self.graph).node(
            name,
            text,
            _attributes={"class": classes},
            id=name,
            pos=f"{x:g},{self._height - y:g}",
            width=f"{width / 72:.4f}",
            height=f"{height / 72:.4f}",
            tooltip=dot_tooltip(tooltip or " "),
            **attributes,
        )

    def frame(
        self,
        name: str,
        corner: Point,
        size: tuple[float, float],
        text: str,
        tooltip: str,
        *,
        ident: str = "",
        classes: str = "frame",
        **attributes: str,
    ) -> graphviz.Digraph:
        """Open a frame; `close` puts it into the drawing once it is filled.

        Args:
            name: Its name, without Graphviz's `cluster_`.
            corner: Its upper left corner.
            size: Its width and height.
            text: A line of HTML-like markup that stands at its upper edge.
            tooltip: Plain text.
            ident: Its id; `shadowed-by-` and the name if empty.
            classes: What it is, for style sheets.
            attributes: Attributes of DOT that are not those of a frame of shadowed nodes.

        Returns:
            The frame, to be given to `node` and `close`.
        """
        x, y = corner
        width, height = size
        top = self._height - y
        frame = graphviz.Digraph(name=f"cluster_{name}")
        usual = {
            "style": "dashed,rounded,filled",
            "color": self.theme.border_shadowed,
            "fillcolor": self.theme.panel,
            "fontcolor": self.theme.muted,
            "fontsize": "9",
        }
        frame.attr(
            "graph",
            _attributes={"class": classes},
            id=ident or f"shadowed-by-{name}",
            bb=f"{x:g},{top - height:g},{x + width:g},{top:g}",
            label=left(text, width - 20, 12),
            lp=f"{x + width / 2:g},{top - 11:g}",
            lwidth=f"{(width - 20) / 72:.4f}",
            lheight="0.1667",
            fontname=FONT,
            tooltip=dot_tooltip(tooltip),
            **{**usual, **attributes},
        )
        return frame

    def close(self, frame: graphviz.Digraph, into: graphviz.Digraph | None = None) -> None:
        """Put a filled frame into the drawing, or into the frame around it."""
        (into or self.graph).subgraph(frame)

    def edge(
        self, tail: str, head: str, points: Sequence[Point], *, classes: str, both: bool = False, **attributes: str
    ) -> None:
        """Draw a line with a head.

        Args:
            tail: The name of the node where it begins.
            head: The name of the node where it ends.
            points: Its corners, both ends included.
            classes: What it is, for style sheets.
            both: Whether there is a hollow head at its beginning too.
            attributes: Further attributes of DOT.
        """
        start, *curve, end = bezier(points, start=_ARROW if both else 0.0)
        flipped = [f"{x:.5g},{self._height - y:.6g}" for x, y in curve]
        ends = [f"e,{end[0]:.5g},{self._height - end[1]:.6g}"]
        if both:
            ends.insert(0, f"s,{start[0]:.5g},{self._height - start[1]:.6g}")
            attributes = {"dir": "both", "arrowtail": "onormal", **attributes}
        pos = " ".join([*ends, *flipped])
        self.graph.edge(tail, head, _attributes={"class": classes}, pos=pos, **attributes)


def bezier(points: Sequence[Point], *, start: float = 0.0, end: float = _ARROW) -> list[Point]:
    """A line with rounded corners, as Graphviz wants it.

    Args:
        points: The corners, both ends included, at least two.
        start: How much of the beginning an arrowhead takes, in points.
        end: How much of the end an arrowhead takes.

    Returns:
        The tip at the beginning, 3n + 1 control points, the tip at the end.

    Example:
        >>> bezier([(0, 0), (100, 0)], end=10)
        [(0, 0), (0.0, 0.0), (0.0, 0.0), (90.0, 0.0), (90.0, 0.0), (100, 0)]
    """
    corners = list(points)
    corners[0] = _toward(points[0], points[1], start)
    corners[-1] = _toward(points[-1], points[-2], end)
    curve: list[Point] = [corners[0]]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        into, out = _toward(corner, before, _CORNER), _toward(corner, after, _CORNER)
        curve += [curve[-1], into, into, corner, corner, out]
    curve += [curve[-1], corners[-1], corners[-1]]
    return [points[0], *curve, points[-1]]


def _toward(here: Point, there: Point, distance: float) -> Point:
    """A point at this distance from here on the way there, but not beyond the middle."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    length = (dx * dx + dy * dy) ** 0.5
    share = min(distance / length, 0.5) if length else 0.0
    return here[0] + dx * share, here[1] + dy * share


def label(head: str, lines: Sequence[str] = (), *, bold: str = "") -> str:
    """A centred HTML-like label: a line, and smaller lines beneath it.

    Args:
        head: The first line, plain text.
        lines: The others, plain text.
        bold: Plain text that stands before the first line, in bold.

    Returns:
        The label for Graphviz.

    Example:
        >>> label("user", ["Hello <b>"], bold="1")
        '<<b>1</b>  user<br/><font point-size="9">Hello &lt;b&gt;</font>>'
    """
    first = f"<b>{dot_html(bold)}</b>  {dot_html(head)}" if bold else dot_html(head)
    rest = "".join(f'<br/><font point-size="9">{dot_html(line) or " "}</font>' for line in lines)
    return f"<{first}{rest}>"


def left(markup: str, width: float, height: float) -> str:
    """A line that starts at the left edge, however wide its font turns out to be.

    Args:
        markup: HTML-like markup, its text escaped.
        width: The room it has, in points.
        height: The same, downwards.

    Returns:
        The label for Graphviz.
    """
    return (
        '<<table border="0" cellborder="0" cellpadding="0" cellspacing="0" fixedsize="true" '
        f'width="{width:.0f}" height="{height:.0f}"><tr><td align="left" balign="left">{markup}</td></tr></table>>'
    )
