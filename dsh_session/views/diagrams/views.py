"""What a person saw beside what the model sees."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.moment import check_window, ends_of, moment_of, surface_seq
from dsh_session.views.diagrams.sheet import TITLE, WIDTH, Sheet, ThemeName, origin, plural, session_name
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    import graphviz

    from dsh_session.views.diagrams.moment import Moment, Source

__all__ = ["views"]

_NODE: Final = 40.0
_GAP: Final = 12.0
_COLUMN: Final = 300.0
_PAD: Final = 10.0
_LEFT: Final = _PAD + _COLUMN / 2
_RIGHT: Final = WIDTH - _COLUMN / 2 - _PAD
_HEAD: Final = 22.0
_FRAME_HEAD: Final = 20.0
_KEEP: Final = 4
_SPAN: Final = 2


def views(
    session: Source,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    inside: int = 4,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw what a person saw beside what the model sees.

    A person saw everything that was appended to the surface, in its order (`SurfaceHistory.transcript`); the model
    sees the surface. What both have stands side by side. What the model sees a replacement of stands in a frame,
    grey and dashed, beside the replacement that stands for it.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show both as they were right after the event of this seq; None for now.
        around: A seq that must be in the picture. Where it is log-only, the surface event before it is meant.
        first: How many nodes of the surface are shown from the head on; 3, or 1 with `around`.
        last: How many nodes of it are shown at the tail; 6, or 1 with `around`.
        inside: How many messages are shown of those that a replacement stands for, at least 2.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. What a person saw is named `p<seq>`, what the model sees `n<seq>`, a frame `replaced-by-<seq>`;
        what is left out is `more-p<seq>` on the left and `more-n<seq>` on the right.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Replace, Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", said, surface_op="append")
        >>> event = session.append("user/message", said, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> views(session)
        <Diagram: two views of tour after seq 3: a person saw 3 messages, the model sees 2>

    See the seeds' "Derived history".
    """
    check_window(0, first=first, last=last)
    check_window(2, inside=inside)
    moment = moment_of(session, at)
    chosen = surface_seq(moment.events, around)
    window = _Window(*ends_of(first, last, (3, 6) if chosen is None else (1, 1)), inside, chosen)
    return _Views(moment, window, theme).diagram(engine)


class _Window(NamedTuple):
    first: int
    last: int
    inside: int
    chosen: int | None


class _Views:
    def __init__(self, moment: Moment, window: _Window, theme: ThemeName) -> None:
        self.moment = moment
        self.events = moment.events
        self.folds = moment.folds
        self.window = window
        self.name = session_name(moment.name)
        self.sheet = Sheet("views", theme)
        self.left: list[tuple[str, float]] = []
        self.right: list[tuple[str, float]] = []
        self.seqs: set[int] = set()
        self.folded = False
        self.saw = sum(self.folds.originals.get(seq, 1) for seq in self.folds.nodes)
        bottom = self._body(TITLE + _HEAD)
        self._title()
        self._order()
        legend.draw(self.sheet, self._key(), bottom + 6, WIDTH)

    def diagram(self, engine: str | None) -> Diagram:
        after = f" after seq {len(self.events) - 1}" if self.events else ""
        return Diagram(self.sheet.graph, f"two views of {self.name}{after}: {self._counts()}", engine=engine)

    def _counts(self) -> str:
        return f"a person saw {plural(self.saw, 'message')}, the model sees {len(self.folds.nodes):,}"

    def _title(self) -> None:
        said = "Side by side: in both. In a frame: replaced for the model by what stands to its right."
        count = len(self.folds.nodes)
        shown = sum(name.startswith("n") for name, _ in self.right)
        said += f" {shown:,} of {plural(count, 'node')} shown." if shown < count else ""
        self.sheet.title(self.name, self._counts(), said)
        y = TITLE + 8
        self.sheet.line("person", "<b>what a person saw</b>", _PAD, y, _COLUMN, size=10)
        self.sheet.line("model", "<b>what the model sees</b>", _RIGHT - _COLUMN / 2, y, _COLUMN, size=10)

    def _body(self, y: float) -> float:
        nodes = self.folds.nodes
        way = set() if self.window.chosen is None else set(self.folds.path(self.window.chosen))
        around = next((at for at, seq in enumerate(nodes) if seq in way), None) if way else None
        kept = [at for at, seq in enumerate(nodes) if seq in self.folds.shadowed]
        also = kept[:_KEEP] if around is None else []
        shown = choose(len(nodes), first=self.window.first, last=self.window.last, around=around, span=_SPAN, also=also)
        for part in shown:
            if isinstance(part, Gap):
                y = self._left_out(nodes[part.start : part.stop], y)
            elif nodes[part] in self.folds.shadowed:
                y = self._replaced(nodes[part], y)
            else:
                y = self._same(nodes[part], y)
            y += _GAP
        if not nodes:
            self.sheet.line("empty", "Nothing was said yet.", _PAD, y + 8, WIDTH)
            y += 20
        return y

    def _same(self, seq: int, y: float) -> float:
        """Draw a message that both have."""
        middle = y + _NODE / 2
        self._node(f"p{seq}", seq, _LEFT, middle, self.left)
        self._node(f"n{seq}", seq, _RIGHT, middle, self.right)
        self.sheet.edge(
            f"p{seq}",
            f"n{seq}",
            [(_LEFT + _COLUMN / 2, middle), (_RIGHT - _COLUMN / 2, middle)],
            classes="e-same",
            id=f"same-{seq}",
            color=self.sheet.theme.border,
        )
        return y + _NODE

    def _left_out(self, seqs: Sequence[int], y: float) -> float:
        """Draw what is in neither column of the picture, counted for each."""
        self.folded = True
        middle = y + _NODE / 2
        originals = [original for seq in seqs for original in self._originals(seq)]
        for name, what, x, column in (
            (f"more-p{seqs[0]}", originals, _LEFT, self.left),
            (f"more-n{seqs[0]}", seqs, _RIGHT, self.right),
        ):
            self.sheet.more(name, self.events, what, (x, middle), (_COLUMN, _NODE))
            column.append((name, middle))
        return y + _NODE

    def _replaced(self, seq: int, y: float) -> float:
        """Draw what a replacement stands for in a frame, and the replacement beside it."""
        originals = self._originals(seq)
        chosen = self.window.chosen
        around = originals.index(chosen) if chosen in originals else None
        last = max(self.window.inside // 3, 1)
        shown = choose(len(originals), first=self.window.inside - last, last=last, around=around, span=1)
        height = _FRAME_HEAD + len(shown) * (_NODE + _GAP) - _GAP + _PAD
        frame = self.sheet.frame(
            f"replaced_by_{seq}",
            (0, y),
            (_COLUMN + 2 * _PAD, height),
            f"{plural(len(originals), 'message')}, seen as <b>{seq}</b>",
            f"{seq} stands for {plural(len(originals), 'message')}",
            ident=f"replaced-by-{seq}",
        )
        inner = y + _FRAME_HEAD + _NODE / 2
        for part in shown:
            if isinstance(part, Gap):
                missing = originals[part.start : part.stop]
                name = f"more-p{missing[0]}"
                self.sheet.more(name, self.events, missing, (_LEFT, inner), (_COLUMN, _NODE), into=frame)
                self.left.append((name, inner))
                self.folded = True
            else:
                self._node(f"p{originals[part]}", originals[part], _LEFT, inner, self.left, shadowed=True, into=frame)
            inner += _NODE + _GAP
        self.sheet.close(frame)
        middle = y + height / 2
        self._node(f"n{seq}", seq, _RIGHT, middle, self.right)
        theme = self.sheet.theme
        self.sheet.edge(
            f"n{seq}",
            f"p{originals[0]}",
            [(_RIGHT - _COLUMN / 2, middle), (_COLUMN + 2 * _PAD, middle)],
            classes="e-stands-for",
            id=f"stands-for-{seq}",
            color=theme.stands_for,
            style="dashed",
            penwidth="1.6",
        )
        return y + height

    def _originals(self, seq: int) -> list[int]:
        """What a node stands for, down to what was appended, in order; a node that replaced nothing for itself."""
        found: list[int] = []
        waiting = [seq]
        while waiting:
            node = waiting.pop()
            behind = self.folds.shadowed.get(node)
            if behind is None:
                found.append(node)
            else:
                waiting.extend(reversed(behind))
        return found

    def _node(
        self,
        name: str,
        seq: int,
        x: float,
        y: float,
        column: list[tuple[str, float]],
        *,
        shadowed: bool = False,
        into: graphviz.Digraph | None = None,
    ) -> None:
        event = self.events[seq]
        originals = self.folds.originals.get(seq)
        self.seqs.add(seq)
        column.append((name, y))
        self.sheet.event(
            name,
            event,
            (x, y),
            (_COLUMN, _NODE),
            look="shadowed" if shadowed else "live",
            note=f"stands for {plural(originals, 'message')}" if originals is not None else "",
            tip=origin(event, self.folds),
            chosen=seq == self.window.chosen,
            into=into,
        )

    def _order(self) -> None:
        for column, x in ((self.left, _LEFT), (self.right, _RIGHT)):
            for (above, top), (below, bottom) in pairwise(column):
                self.sheet.edge(
                    above,
                    below,
                    [(x, top + _NODE / 2), (x, bottom - _NODE / 2)],
                    classes="e-order",
                    id=f"{above}-{below}",
                    color=self.sheet.theme.border_shadowed,
                )

    def _key(self) -> list[legend.Entry]:
        replaced = any(seq in self.folds.shadowed for seq in self.seqs)
        words = [
            ("same", "in both", any(name.startswith("n") for name, _ in self.right)),
            ("stands-for", "stands for all in the frame", replaced),
            ("shadowed", "grey, dashed: no longer seen by the model", replaced),
            ("more", "dotted: left out", self.folded),
            ("chosen", "thick: asked for", self.window.chosen is not None),
        ]
        return [
            *legend.of_kinds({describe.kind(self.events[seq]) for seq in self.seqs}),
            *(legend.Entry(name, text, shape=False) for name, text, there in words if there),
        ]
