"""The raw log beside the surface: what was appended, and what became of it."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.moment import check_seq, check_window, ends_of, moment_of
from dsh_session.views.diagrams.sheet import TITLE, WIDTH, Sheet, ThemeName, origin, plural, seqs_line, session_name
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.views.diagrams.moment import Moment, Source
    from dsh_session.views.diagrams.sheet import Look

__all__ = ["log"]

_ROW: Final = 28.0
_PITCH: Final = 38.0
_LEFT: Final = 320.0
_RIGHT: Final = 230.0
_HEAD: Final = 22.0
_SPAN: Final = 5


def log(
    session: Source,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw the raw log beside the surface, to see how the one follows from the other.

    Left stands every event in the order in which it was appended: nothing ever leaves. Right stands the surface: what
    the model sees, in its order. A line leads from an event to its node. What was appended stands on the same height
    as far as there is room; a replacement, which comes late in the log, stands where what it replaced stood, and its
    dashed line goes up to there. What is shadowed has lost its line. Chunks that follow each other are one row.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show the log up to the event of this seq; None for all of it.
        around: A seq that must be in the picture, with its neighbours.
        first: How many rows of the log are shown from the beginning on; 12, or 2 with `around`.
        last: How many rows are shown at the end; 16, or 4 with `around`.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. A row of the log is named `e<seq>`, a run of chunks `chunks-<seq>`, a node of the surface `n<seq>`;
        what is left out of the log is `more-<seq>`, of the surface `more-nodes-<seq>`.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> event = session.append("user/message", said, surface_op="append")
        >>> log(session)
        <Diagram: log and surface of tour: 1 event, 1 node>

    See the seeds' "Surface types".
    """
    check_window(0, first=first, last=last)
    moment = moment_of(session, at)
    if around is not None:
        check_seq("around", around, len(moment.events))
    window = ends_of(first, last, (12, 16) if around is None else (2, 4))
    return _Log(moment, window, around, theme).diagram(engine)


class _Row(NamedTuple):
    """A row of the log: an event, a run of chunks, or a run that is left out."""

    name: str
    seqs: Sequence[int]
    y: float


class _Log:
    def __init__(self, moment: Moment, window: tuple[int, int], around: int | None, theme: ThemeName) -> None:
        self.moment = moment
        self.events = moment.events
        self.around = around
        self.name = session_name(moment.name)
        self.on_surface = frozenset(moment.folds.nodes)
        self.sheet = Sheet("log", theme)
        self.rows = self._rows(*window)
        self.places = {row.seqs[0]: row.y for row in self.rows if row.name.startswith("e")}
        self.folded = any(not row.name.startswith("e") for row in self.rows)
        self._title()
        bottom = max(self._draw_log(), self._draw_surface())
        legend.draw(self.sheet, self._key(), bottom + 12, WIDTH)

    def diagram(self, engine: str | None) -> Diagram:
        return Diagram(self.sheet.graph, f"log and surface of {self.name}: {self._counts()}", engine=engine)

    def _counts(self) -> str:
        return f"{plural(len(self.events), 'event')}, {plural(len(self.moment.folds.nodes), 'node')}"

    def _title(self) -> None:
        shown = len(self.places)
        said = "Left: all that was appended. Right: what the model sees of it."
        if shown < len(self.events):
            said += f" {shown:,} of {plural(len(self.events), 'event')} shown one by one."
        self.sheet.title(self.name, f"the log beside the surface: {self._counts()}", said)
        self.sheet.line("log-head", "<b>the log</b>, in the order of its seqs", 0, TITLE + 8, _LEFT, size=10)
        self.sheet.line("surface-head", "<b>the surface</b>, head to tail", WIDTH - _RIGHT, TITLE + 8, _RIGHT, size=10)

    def _rows(self, first: int, last: int) -> list[_Row]:
        chunks = [event.type == "assistant/chunk" for event in self.events]
        # A row begins with every event but a chunk that follows another one.
        starts = [seq for seq, (before, here) in enumerate(pairwise([False, *chunks])) if not (before and here)]
        stops = [*starts[1:], len(chunks)]
        around = None if self.around is None else bisect_right(starts, self.around) - 1
        # The replacements are what the picture is for.
        replaced = list(self.moment.folds.shadowed)[-3:] if around is None else []
        also = [bisect_right(starts, seq) - 1 for seq in replaced]
        rows: list[_Row] = []
        y = TITLE + _HEAD + _ROW / 2
        for part in choose(len(starts), first=first, last=last, around=around, span=_SPAN, also=also):
            if isinstance(part, Gap):
                seqs: Sequence[int] = range(starts[part.start], stops[part.stop - 1])
                rows.append(_Row(f"more-{seqs[0]}", seqs, y))
            else:
                seqs = range(starts[part], stops[part])
                rows.append(_Row(f"e{seqs[0]}" if len(seqs) == 1 else f"chunks-{seqs[0]}", seqs, y))
            y += _PITCH
        return rows

    def _look(self, seq: int) -> Look:
        if seq in self.on_surface:
            return "live"
        return "shadowed" if seq in self.moment.folds.shadowed_by else "log-only"

    def _draw_log(self) -> float:
        size = (_LEFT, _ROW)
        for name, seqs, y in self.rows:
            place = (_LEFT / 2, y)
            if name.startswith("e"):
                event = self.events[seqs[0]]
                by = self.moment.folds.shadowed_by.get(event.seq)
                tip = f"shadowed by {by}" if by is not None else origin(event, self.moment.folds)
                self.sheet.event(
                    name, event, place, size, look=self._look(event.seq), tip=tip, chosen=event.seq == self.around
                )
            else:
                count = f"{len(seqs):,}"
                head = f"{count} chunks" if name.startswith("chunks-") else f"… {count} more, {seqs_line(seqs)}"
                self.sheet.more(name, self.events, seqs, place, size, head=head)
        for above, below in pairwise(self.rows):
            self.sheet.edge(
                above.name,
                below.name,
                [(_LEFT / 2, above.y + _ROW / 2), (_LEFT / 2, below.y - _ROW / 2)],
                classes="e-order",
                id=f"{above.name}-{below.name}",
                color=self.sheet.theme.border_shadowed,
            )
        return self.rows[-1].y + _ROW / 2 if self.rows else TITLE + _HEAD

    # --------------------------------------------------------------------------------------------- the surface

    def _draw_surface(self) -> float:
        """Draw the nodes whose events are in the picture, each as near to its event as the ones above let it be."""
        x, size = WIDTH - _RIGHT / 2, (_RIGHT, _ROW)
        before: tuple[str, float] | None = None
        y = TITLE + _HEAD - _PITCH + _ROW / 2
        for shown, group in groupby(self.moment.folds.nodes, lambda seq: seq in self.places):
            run = list(group)
            for seqs in [[seq] for seq in run] if shown else [run]:
                y = max(y + _PITCH, self._wanted(seqs[0]) if shown else 0.0)
                name = f"n{seqs[0]}" if shown else f"more-nodes-{seqs[0]}"
                if shown:
                    event = self.events[seqs[0]]
                    tip = origin(event, self.moment.folds)
                    self.sheet.event(name, event, (x, y), size, tip=tip, chosen=event.seq == self.around)
                    self._line(event.seq, y)
                else:
                    self.sheet.more(name, self.events, seqs, (x, y), size, head=f"… {plural(len(seqs), 'more node')}")
                    self.folded = True
                if before is not None:
                    self.sheet.edge(
                        before[0],
                        name,
                        [(x, before[1] + _ROW / 2), (x, y - _ROW / 2)],
                        classes="e-next",
                        id=f"{before[0]}-{name}",
                    )
                before = (name, y)
        if before is None:
            self.sheet.line("empty", "nothing is on the surface", WIDTH - _RIGHT, y + _PITCH, _RIGHT)
        return y + _ROW / 2

    def _wanted(self, seq: int) -> float:
        """The height of an event; of a replacement that of the first event that it stands for."""
        shadowed = self.moment.folds.shadowed
        way = [seq]
        while way[-1] in shadowed:
            way.append(shadowed[way[-1]][0])
        if len(way) == 1:
            return self.places[seq]
        return next((self.places[node] for node in reversed(way[1:]) if node in self.places), 0.0)

    def _line(self, seq: int, y: float) -> None:
        theme = self.sheet.theme
        replaces = seq in self.moment.folds.shadowed
        self.sheet.edge(
            f"e{seq}",
            f"n{seq}",
            [(_LEFT, self.places[seq]), (WIDTH - _RIGHT, y)],
            classes="e-stands-for" if replaces else "e-enters",
            id=f"enters-{seq}",
            color=theme.stands_for if replaces else theme.border,
            style="dashed" if replaces else "solid",
            penwidth="1.6" if replaces else "1",
        )

    def _key(self) -> list[legend.Entry]:
        seqs = list(self.places)
        looks = {self._look(seq) for seq in seqs}
        replaced = any(seq in self.on_surface and seq in self.moment.folds.shadowed for seq in seqs)
        words = [
            ("enters", "appended to the surface", "live" in looks),
            ("stands-for", "takes the place of others", replaced),
            ("shadowed", "grey, dashed: shadowed", "shadowed" in looks),
            ("log-only", "thin: in the log only", "log-only" in looks),
            ("more", "dotted: counted", self.folded),
            ("chosen", "thick: asked for", self.around in self.places),
        ]
        return [
            *legend.of_kinds({describe.kind(self.events[seq]) for seq in seqs}),
            *(legend.Entry(name, text, shape=False) for name, text, there in words if there),
        ]
