"""The sessions of a store as a picture: who was forked from whom, where, and how much they share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dsh_session.core.lineage import LineageNode
from dsh_session.core.lineage import lineage as lineage_of
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams.ancestry import (
    Above,
    Item,
    Missing,
    cut_to,
    cut_words,
    events_line,
    forest_of,
    name_of,
    path_to,
    shared_of,
    sort_of,
    state_line,
    tip_of,
)
from dsh_session.views.diagrams.drawing import label
from dsh_session.views.diagrams.measure import fit, width
from dsh_session.views.diagrams.moment import check_window
from dsh_session.views.diagrams.sheet import Sheet, plural
from dsh_session.views.diagrams.tree import Window, place, prune, walk
from dsh_session.views.escape import dot_html
from dsh_session.views.reading import check_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.store import SessionStore
    from dsh_session.views.diagrams.layout import Point
    from dsh_session.views.diagrams.sheet import ThemeName
    from dsh_session.views.diagrams.tree import Branch, Spot

__all__ = ["lineage"]

_NODE: Final = (168.0, 60.0)
_BAR: Final = (148.0, 8.0)
_GHOST: Final = (132.0, 34.0)
_MORE: Final = (92.0, 26.0)
_COLUMN: Final = _NODE[0] + 112.0
_ROW: Final = _NODE[1] + 14.0
_TOP: Final = 44.0
_TRUNK: Final = 14.0
"""How far right of a parent the line to its children turns."""
_SMALL: Final = 9.0
_BOLD: Final = 1.12
"""How much wider a bold letter is."""


def lineage(
    store: SessionStore,
    *,
    selected: str | None = None,
    rows: int = 20,
    levels: int = 3,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw the live sessions of a store as the forest of their forks.

    Each session is a box with a bar: dashed and grey what it shares with its parent, solid and blue what is its own,
    one scale for all. An arrow leads from a parent to a fork and says where the parent was cut. A parent that is not in
    the store is dotted; the box of a child that shares nothing with its parent is dashed. What is left out of a large
    store is a dotted box that says how many sessions it hides.

    What is shared is what the headers say, as far as the logs go.

    Args:
        store: A context's `sessions`.
        selected: The id of a session that must be in the picture, and is drawn with a thick frame.
        rows: How many rows the picture has at most, from 4 on; the way to `selected` may take a few more.
        levels: How many generations are shown, from 1 on.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. Its sessions are named `s0`, `s1`, … in store order, missing parents `missing-0`, …, what is left out
        `more-0`, ….

    Raises:
        TypeError: For something that is no store.
        ViewError: `VIEW_SESSION` when `selected` is not live, `VIEW_WINDOW` for a number that is none.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context(clock=lambda: 0) as ctx:
        ...     with Recorder(ctx.sessions.create("tour")).turn("Hello."):
        ...         pass
        ...     child = ctx.sessions.fork("tour", child_session_id="other")
        ...     print(lineage(ctx.sessions, selected="other"))
        <Diagram: lineage of 2 sessions: 1 fork>

    See the seeds' "Live-session fork API".
    """
    check_store(store)
    check_window(4, rows=rows)
    check_window(1, levels=levels)
    roots = lineage_of(store)
    picture = _Picture(roots, selected, Window(rows, levels), theme)
    return Diagram(picture.sheet.graph, picture.description, engine=engine)


class _Picture:
    """One drawing of a forest: a part is chosen and placed, then everything is drawn in its place."""

    def __init__(self, roots: Sequence[LineageNode], selected: str | None, window: Window, theme: ThemeName) -> None:
        forest, above = forest_of(roots)
        items = [branch.item for branch in walk(forest) if branch.item is not None]
        sessions = [item for item in items if isinstance(item, LineageNode)]
        self.sheet = Sheet("lineage", theme)
        self.selected = selected
        self.names = {node.session.id: f"s{at}" for at, node in enumerate(sessions)}
        self.counts = Counter(map(sort_of, items))
        self.scale = max((len(node.session.events) for node in sessions), default=0)
        path: list[Branch[Item]] = []
        if selected is not None:
            forest, path = cut_to(forest, path_to(forest, above, selected), window.levels)
            window = window._replace(levels=max(window.levels, len(path)))
        self.spots = place(prune(forest, window, path))
        self.numbers: Counter[str] = Counter()
        self.used: set[str] = set()
        self._title()
        drawn: list[str] = []
        for spot in self.spots:
            drawn.append(self._spot(spot))
            if spot.parent is not None:
                self._arrow(self.spots[spot.parent], drawn[spot.parent], spot, drawn[-1])
        rows = max((spot.row for spot in self.spots), default=0.0)
        self._key(_TOP + (rows + 1) * _ROW + 4)

    @property
    def description(self) -> str:
        """What is to be seen, in a line."""
        parts = [plural(self.counts["fork"], "fork")] if self.counts["fork"] else []
        if self.counts["child"]:
            parts.append(f"{self.counts['child']:,} sharing nothing")
        if self.counts["missing"]:
            parts.append(f"{plural(self.counts['missing'], 'parent')} not in this store")
        said = f"lineage of {plural(len(self.names), 'session')}"
        return f"{said}: {', '.join(parts)}" if parts else said

    def _title(self) -> None:
        shown = sum(isinstance(spot.branch.item, LineageNode) for spot in self.spots)
        said = "An arrow says where the parent was cut; all bars have one scale, in events."
        if not self.names:
            said = "No session is live."
        elif shown < len(self.names):
            said += f" {shown:,} of {plural(len(self.names), 'session')} shown."
        self.sheet.title("store", self.description, said)

    # What stands in a spot.

    def _spot(self, spot: Spot[Item]) -> str:
        """Draw a branch and give its name."""
        item = spot.branch.item
        x, y = spot.level * _COLUMN, _TOP + spot.row * _ROW + _NODE[1] / 2
        across, height = _size(item)
        place = (x + across / 2, y)
        if isinstance(item, LineageNode):
            name = self.names[item.session.id]
            self._session(name, item, place)
        elif isinstance(item, Missing):
            name = self._numbered("missing")
            identity = name_of(item.identity)
            tip = f"{identity}\nA header names this parent, which is not live in this store."
            self.sheet.dotted(
                name, fit(identity, (across - 8) / 10), ["not in this store"], tip, place, (across, height)
            )
            self.used.add("missing")
        elif isinstance(item, Above):
            name = "above"
            tip = f"{plural(item.levels, 'ancestor')} not shown"
            self.sheet.dotted(name, f"… {plural(item.levels, 'level')} up", [], tip, place, (across, height))
        else:
            name = self._numbered("more")
            self.used.add("missing")
            tip = f"{plural(spot.branch.left_out, 'session')} not shown"
            self.sheet.dotted(name, f"… {spot.branch.left_out:,} more", [], tip, place, (across, height))
        return name

    def _numbered(self, sort: str) -> str:
        self.numbers[sort] += 1
        return f"{sort}-{self.numbers[sort] - 1}"

    def _session(self, name: str, node: LineageNode, place: Point) -> None:
        session, theme, sort = node.session, self.sheet.theme, sort_of(node)
        chosen = session.id == self.selected
        events, shared = len(session.events), shared_of(node)
        self.used.update({sort, "chosen"} if chosen else {sort})
        lines = (events_line(events, shared), state_line(session))
        self.sheet.node(
            name,
            place,
            _NODE,
            label(
                sort,
                # The bar stands in the last line.
                [*(fit(line, (_NODE[0] - 12) / _SMALL) for line in lines), " "],
                bold=fit(name_of(session.id), ((_NODE[0] - 16) / 10 - width(sort) - 0.7) / _BOLD),
            ),
            classes=f"boxed centred{' chosen' if chosen else ''}",
            tooltip=tip_of(node, events, shared),
            style="rounded,filled,dashed" if sort == "child" else "rounded,filled",
            fillcolor=theme.fill_plain,
            color=theme.selection if chosen else theme.border,
            penwidth="3" if chosen else "1.2",
        )
        self._bar(name, (place[0] - _BAR[0] / 2, place[1] + _NODE[1] / 2 - 10), events, shared)

    def _bar(self, name: str, start: Point, events: int, shared: int) -> None:
        x, y = start
        if shared:
            self.used.add("shared")
            x = self._piece(f"{name}-shared", (x, y), self._length(shared))
        if events > shared:
            self.used.add("own")
            self._piece(f"{name}-own", (x, y), self._length(events - shared))

    def _length(self, events: int) -> float:
        # What is there can be seen, however little it is beside the longest.
        return max(_BAR[0] * events / self.scale, 2.0)

    def _piece(self, name: str, start: Point, length: float) -> float:
        theme, own = self.sheet.theme, name.endswith("own")
        self.sheet.node(
            name,
            (start[0] + length / 2, start[1]),
            (length, _BAR[1]),
            label(" "),
            classes="own" if own else "k-shadowed",
            style="filled" if own else "filled,dashed",
            fillcolor=theme.selection if own else theme.fill_shadowed,
            color=theme.border if own else theme.border_shadowed,
            penwidth="0.8",
        )
        return start[0] + length

    # The arrow to it.

    def _arrow(self, parent: Spot[Item], tail: str, spot: Spot[Item], head: str) -> None:
        item, origin = spot.branch.item, parent.branch.item
        start = (parent.level * _COLUMN + _size(origin)[0], _TOP + parent.row * _ROW + _NODE[1] / 2)
        end = (spot.level * _COLUMN, _TOP + spot.row * _ROW + _NODE[1] / 2)
        turn = parent.level * _COLUMN + _NODE[0] + _TRUNK
        hollow = not isinstance(item, LineageNode) or not isinstance(origin, LineageNode)
        alone = isinstance(item, LineageNode) and item.boundary is None
        theme = self.sheet.theme
        self.sheet.edge(
            *(tail, head, [start, end] if start[1] == end[1] else [start, (turn, start[1]), (turn, end[1]), end]),
            classes="e-shadowed" if hollow else "e-next",
            id=f"{tail}-{head}",
            color=theme.border_shadowed if hollow else theme.border,
            style="dotted" if hollow else "dashed" if alone else "solid",
        )
        if isinstance(item, LineageNode):
            x, across = turn + 5, end[0] - turn - 13
            at, what = cut_words(item)
            self.sheet.line(f"at-{head}", at, x, end[1] - 8, across)
            if what:
                self.sheet.line(f"cut-{head}", dot_html(fit(what, across / _SMALL)), x, end[1] + 7, across)

    # What it all means.

    def _key(self, y: float) -> None:
        theme, x = self.sheet.theme, 0.0
        for sort, style, said in (
            ("shared", "filled,dashed", "shared with the parent"),
            ("own", "filled", "its own"),
            ("missing", "rounded,dotted", "dotted: not in this store, or not shown"),
            ("child", "rounded,dashed", "dashed: shares nothing"),
            ("chosen", "rounded", "thick: selected"),
        ):
            if sort not in self.used:
                continue
            across = width(said) * _SMALL + 10
            self.sheet.node(
                f"key-{sort}",
                (x + 14, y + 10),
                (28, _BAR[1] if sort in {"shared", "own"} else 14),
                label(" "),
                classes={"shared": "k-shadowed", "own": "own", "missing": "more", "chosen": "chosen"}.get(sort, "key"),
                style=style if "filled" in style else f"{style},filled",
                fillcolor={"own": theme.selection, "shared": theme.fill_shadowed}.get(sort, theme.fill_plain),
                color={
                    "shared": theme.border_shadowed,
                    "missing": theme.border_shadowed,
                    "chosen": theme.selection,
                }.get(sort, theme.border),
                penwidth="3" if sort == "chosen" else "1",
            )
            self.sheet.line(f"key-{sort}-text", dot_html(said), x + 34, y + 10, across)
            x += 34 + across + 8


def _size(item: Item | None) -> tuple[float, float]:
    return _NODE if isinstance(item, LineageNode) else _GHOST if isinstance(item, Missing) else _MORE
