"""Turns and steps as frames in frames, with their events in log order."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dsh_session.views import describe
from dsh_session.views.diagram import Diagram
from dsh_session.views.diagrams import legend
from dsh_session.views.diagrams.brackets import Step, Turn, nest
from dsh_session.views.diagrams.drawing import FONT
from dsh_session.views.diagrams.flow import RAIL, Flow, Item, flow
from dsh_session.views.diagrams.measure import fit, width
from dsh_session.views.diagrams.moment import check_seq, check_window, moment_of
from dsh_session.views.diagrams.sheet import TITLE, WIDTH, Sheet, ThemeName, origin, plural, seqs_line, session_name
from dsh_session.views.diagrams.units import MESSAGE, Unit, duration, is_synthetic, units_of
from dsh_session.views.escape import dot_html
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    import graphviz

    from dsh_session.views.diagrams.layout import Placed, Point
    from dsh_session.views.diagrams.moment import Moment, Source

__all__ = ["nesting"]

_HEIGHT: Final = 40.0
_HEAD: Final = 24.0
_FOOT: Final = 10.0
_GAP: Final = 14.0
_TURN_GAP: Final = 12.0
_PAD: Final = 10.0
_INSET: Final = 16.0
"""So far from the right end of a step's edge a line begins or ends at least."""
_SPAN: Final = 1


def nesting(
    session: Source,
    *,
    at: int | None = None,
    around: int | None = None,
    first: int | None = None,
    last: int | None = None,
    inside: int = 8,
    steps: int = 5,
    theme: ThemeName = "light",
    engine: str | None = None,
) -> Diagram:
    """Draw turns and steps as frames in frames, with the events of each in log order.

    A turn is a frame, its steps are frames in it; the boundary events are the frames. Chunks that follow each other
    are one dotted node with their number. Calls stand beneath each other, each joined to its result by a thick arrow
    with the time that it took. How a turn ended is said in words, by a sign and by its outline.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show the log as it was right after the event of this seq; None for now.
        around: A seq that must be in the picture, with the turns and steps around it.
        first: How many turns are shown from the beginning on; 1.
        last: How many turns are shown at the end; 4, or 1 with `around`.
        inside: How many events of a step are shown, at least 2; a call counts together with its result. Beside
            steps it is about as many.
        steps: How many parts of a turn are shown, at least 2: its steps, and what stands between them.
        theme: `light` or `dark`, for files; in a page a diagram takes the page's theme in any case.
        engine: What draws it: `pure`, `system`, a path, or None for the first that is there.

    Returns:
        A diagram. Its nodes are named `n<seq>`, runs of chunks `chunks-<seq>`, what is left out `more-<seq>`, its
        frames `turn-<seq>` and `step-<seq>` after their first event.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("tour")
        >>> with Recorder(session).turn("Hello") as turn:
        ...     with turn.step() as step:
        ...         event = step.assistant("Hello!")
        >>> nesting(session)
        <Diagram: turns and steps of tour after seq 5: 1 turn, 1 step, 6 events>

    See the seeds' "Turns and steps".
    """
    check_window(0, first=first, last=last)
    check_window(2, inside=inside, steps=steps)
    moment = moment_of(session, at)
    if around is not None:
        check_seq("around", around, len(moment.events))
    usual = 4 if around is None else 1
    window = _Window(1 if first is None else first, usual if last is None else last, inside, steps, around)
    return _Nesting(moment, window, theme).diagram(engine)


class _Window(NamedTuple):
    first: int
    last: int
    inside: int
    steps: int
    around: int | None

    @property
    def beside(self) -> tuple[int, int]:
        """How many events that lie in no step are shown, at the beginning and at the end of their row."""
        last = max(self.inside // 3, 2)
        return max(self.inside - last - 2, 4), last


def _on(node: Placed, x: float) -> float:
    """The place on a node's upper or lower edge: at x, for a straight line, or in its middle."""
    middle = _PAD + node.x
    return x if abs(x - middle) <= 0.3 * node.width else middle  # a hexagon's edges are no longer


class _Nesting:
    def __init__(self, moment: Moment, window: _Window, theme: ThemeName) -> None:
        self.moment = moment
        self.events = moment.events
        self.window = window
        self.name = session_name(moment.name)
        self.parts = nest(moment.events)
        self.turns = [part for part in self.parts if isinstance(part, Turn)]
        self.on_surface = frozenset(moment.folds.nodes)
        self.sheet = Sheet("nesting", theme)
        self.seqs: dict[str, int] = {}
        self.runs: dict[str, tuple[str, Sequence[int]]] = {}
        self.marks: dict[str, str] = {}
        self.calls: dict[str, tuple[int, int | None]] = {}
        self.keys: set[str] = set()
        self.hidden = 0
        bottom = self._body(TITLE)
        steps = f"{plural(len(self.turns), 'turn')}, {plural(sum(len(turn.steps) for turn in self.turns), 'step')}"
        self.counts = f"{steps}, {plural(len(self.events), 'event')}"
        chunks = sum(len(seqs) for name, (_, seqs) in self.runs.items() if name.startswith("chunks-"))
        said = "Read it like a text: a frame is a turn, a frame in it a step."
        said += f" {plural(chunks, 'chunk')} {'is' if chunks == 1 else 'are'} folded into counts." if chunks else ""
        said += f" {plural(self.hidden, 'event')} left out." if self.hidden else ""
        self.sheet.title(self.name, f"turns and steps: {self.counts}", said)
        legend.draw(self.sheet, self._key(), bottom + 8, WIDTH)

    def diagram(self, engine: str | None) -> Diagram:
        after = f" after seq {len(self.events) - 1}" if self.events else ""
        return Diagram(self.sheet.graph, f"turns and steps of {self.name}{after}: {self.counts}", engine=engine)

    # ------------------------------------------------------------------------------------------------- turns

    def _body(self, y: float) -> float:
        """Draw turns, and what lies between them, one below the other."""
        groups = [
            list(group) for _, group in groupby(self.parts, lambda part: id(part) if isinstance(part, Turn) else 0)
        ]
        around = next((at for at, group in enumerate(groups) if self._has(group)), None)
        shown = choose(len(groups), first=self.window.first, last=self.window.last, around=around, span=_SPAN)
        for part in shown:
            if isinstance(part, Gap):
                y = self._skipped([each for group in groups[part.start : part.stop] for each in group], y)
            elif isinstance(turn := groups[part][0], Turn):
                y = self._turn(turn, y)
            else:
                y = self._loose([each for each in groups[part] if not isinstance(each, Turn)], y)
            y += _TURN_GAP
        if not groups:
            self.sheet.line("empty", "The log is empty.", 0, y + 8, WIDTH)
            y += 20
        return y

    def _has(self, group: Sequence[Turn | Step | int]) -> bool:
        """Whether the event that was asked for lies in a run of parts."""
        seq = self.window.around
        if seq is None:
            return False
        return any(part == seq if isinstance(part, int) else part.start <= seq <= part.stop for part in group)

    def _skipped(self, parts: Sequence[Turn | int], y: float) -> float:
        turns = [part for part in parts if isinstance(part, Turn)]
        ends = (parts[0], parts[-1])
        start = ends[0].start if isinstance(ends[0], Turn) else ends[0]
        stop = ends[1].stop if isinstance(ends[1], Turn) else ends[1]
        outcomes = Counter(turn.outcome for turn in turns)
        said = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common(5))
        head = f"… {plural(len(turns), 'more turn')}, {start} … {stop}: {said}"
        self.hidden += stop - start + 1
        self.keys.add("more")
        self.sheet.dotted(f"more-{start}", head, [], head, (WIDTH / 2, y + 11), (WIDTH, 22))
        return y + 22

    def _loose(self, seqs: Sequence[int], y: float) -> float:
        """Draw what lies outside any turn: a row without a frame."""
        units = self._windowed(units_of(self.events, seqs, open_=False), *self.window.beside)
        placed = flow(self._items(units), WIDTH, _HEIGHT)
        self._rows(placed, (0, y), None)
        return y + placed.height

    def _turn(self, turn: Turn, y: float) -> float:
        blocks = self._blocks(turn)
        across = max([block.width for block in blocks] + [0.0]) + 2 * _PAD
        across = min(max(across, 330.0 if not turn.why else 480.0), WIDTH)
        head, tip = self._turn_head(turn, across)
        state = turn.state
        height = _HEAD + sum(block.height + _GAP for block in blocks) - (_GAP if blocks else 0) + _FOOT
        theme = self.sheet.theme
        cluster = self.sheet.frame(
            f"turn_{turn.start}",
            (0, y),
            (across, height),
            head,
            tip,
            ident=f"turn-{turn.start}",
            classes=f"frame {state.classes}",
            style=f"filled,{state.style}",
            color=getattr(theme, state.colour),
            penwidth=state.penwidth,
            fontcolor=theme.ink,
            fontsize="10",
        )
        self.keys.add(state.key)
        below = y + _HEAD
        ends: list[tuple[_Block, float]] = []
        for block in blocks:
            self._block(block, turn, (_PAD, below), cluster)
            ends.append((block, below))
            below += block.height + _GAP
        self.sheet.close(cluster)
        for (upper, top), (lower, start) in pairwise(ends):
            self._joint(upper, top, lower, start)
        return y + height

    def _turn_head(self, turn: Turn, room: float) -> tuple[str, str]:
        """What stands in a turn's frame, cut to the frame's width in points, and its tooltip."""
        state = turn.state
        ems = (room - 2 * _PAD) / 10
        where = seqs_line(range(turn.start, turn.stop + 1))
        # What a log may choose freely is cut; bold letters are a tenth wider.
        number = fit(str(turn.number), 9)
        ems -= 1.1 * width(f"turn {number}  {where}  {state.mark} ")
        outcome = fit(turn.outcome, ems / 1.1)
        ems -= 1.1 * width(f"{outcome}: ")
        why = fit(turn.why, ems) if ems > 2 else ""
        bad = turn.outcome != "completed"
        colour = getattr(self.sheet.theme, state.colour if state.classes in {"t-bad", "t-open"} else "ink")
        word = dot_html(f"{state.mark} {outcome}{':' if why else ''}".strip())
        said = f'<font color="{colour}"><b>{word}</b></font>' if bad else word
        head = f"<b>turn {dot_html(number)}</b>  {where}  {said} {dot_html(why)}"
        trigger = describe.headline(self.events[turn.start], 200)
        steps = plural(len(turn.steps), "step")
        return head, f"{trigger}\n{steps}, {turn.outcome}{f': {turn.why}' if turn.why else ''}"

    # ---------------------------------------------------------------------------------------- what is in a turn

    def _blocks(self, turn: Turn) -> list[_Block]:
        """The rows and the steps of a turn, in order, placed but not drawn."""
        groups = [
            list(group) for _, group in groupby(turn.parts, lambda part: id(part) if isinstance(part, Step) else 0)
        ]
        around = next((at for at, group in enumerate(groups) if self._has(group)), None)
        room = WIDTH - 2 * _PAD
        blocks: list[_Block] = []
        last = max(self.window.steps * 2 // 5, 1)
        for part in choose(len(groups), first=self.window.steps - last, last=last, around=around, span=_SPAN):
            if isinstance(part, Gap):
                blocks.append(self._gap_block([each for group in groups[part.start : part.stop] for each in group]))
                continue
            inner = groups[part][0]
            if isinstance(inner, Step):
                placed = flow(self._step_items(turn, inner), room - 2, _HEIGHT)
                height = _HEAD - 2 + placed.height + _FOOT - (0 if placed.nodes else 6)
                blocks.append(_Block(placed, max(placed.width + 2, 210.0), height, inner))
            else:
                seqs = [seq for seq in groups[part] if isinstance(seq, int)]
                units = units_of(self.events, seqs, open_=turn.outcome == "open")
                placed = flow(self._items(self._windowed(units, *self.window.beside)), room, _HEIGHT)
                blocks.append(_Block(placed, placed.width, placed.height, None))
        return blocks

    def _gap_block(self, parts: Sequence[Step | int]) -> _Block:
        steps = [part for part in parts if isinstance(part, Step)]
        seqs = [seq for part in parts for seq in ([part] if isinstance(part, int) else part.seqs)]
        first = parts[0]
        start = first if isinstance(first, int) else first.start
        name = f"more-{start}"
        self.hidden += len(seqs) + sum(1 + step.closed for step in steps)
        self.runs[name] = (f"… {plural(len(steps), 'more step')}", seqs or [start])
        self.keys.add("more")
        placed = flow([Item(name, WIDTH - 2 * _PAD - 2 * RAIL)], WIDTH - 2 * _PAD, _HEIGHT)
        return _Block(placed, placed.width, placed.height, None)

    def _step_items(self, turn: Turn, step: Step) -> list[Item]:
        units = units_of(self.events, step.seqs, open_=turn.outcome == "open" and not step.closed)
        last = max(self.window.inside // 3, 1)
        items = self._items(self._windowed(units, self.window.inside - last, last))
        spoken = any(self.events[seq].type == "assistant/message" for seq in step.seqs)
        streamed = any(self.events[seq].type == "assistant/chunk" for seq in step.seqs)
        if streamed and not spoken and turn.outcome != "open":
            name = f"cut-{step.start}"
            self.marks[name] = "× no message: cut off"
            items.append(Item(name, 132.0))
        return items

    def _windowed(self, units: list[Unit], first: int, last: int) -> list[Unit]:
        around = next((at for at, unit in enumerate(units) if self.window.around in unit.seqs), None)
        result: list[Unit] = []
        for part in choose(len(units), first=first, last=last, around=around, span=_SPAN):
            if isinstance(part, Gap):
                seqs = [seq for unit in units[part.start : part.stop] for seq in unit.seqs]
                name = f"more-{seqs[0]}"
                self.runs[name] = (f"… {len(seqs):,} more", seqs)
                self.hidden += len(seqs)
                self.keys.add("more")
                result.append(Unit(Item(name, MESSAGE), seqs))
            else:
                result.append(units[part])
        return result

    def _items(self, units: Sequence[Unit]) -> list[Item]:
        for unit in units:
            if unit.item.name.startswith("chunks-"):
                self.runs[unit.item.name] = (plural(len(unit.seqs), "chunk"), unit.seqs)
                self.keys.add("chunks")
            elif not unit.item.name.startswith("more-"):
                for seq in unit.seqs:
                    self.seqs[f"n{seq}"] = seq
                if unit.item.answer:
                    self._call(unit)
        return [unit.item for unit in units]

    def _call(self, unit: Unit) -> None:
        answer = unit.seqs[1] if len(unit.seqs) > 1 else None
        self.calls[unit.item.name] = (unit.seqs[0], answer)
        if answer is None:
            self.marks[unit.item.answer] = "… no result yet" if unit.item.answer.startswith("wait-") else "× no result"

    # ------------------------------------------------------------------------------------------------ drawing

    def _block(self, block: _Block, turn: Turn, corner: Point, into: graphviz.Digraph) -> None:
        step = block.step
        if step is None:
            self._rows(block.flow, corner, into)
            return
        theme, x, y = self.sheet.theme, *corner
        bad = turn.state.classes == "t-bad" and step is turn.steps[-1]
        ended = "" if step.closed else "  … no end"
        frame = self.sheet.frame(
            f"step_{step.start}",
            corner,
            (block.width, block.height),
            f"step {dot_html(step.number)}  {seqs_line(range(step.start, step.stop + 1))}{ended}",
            describe.headline(self.events[step.start], 200),
            ident=f"step-{step.start}",
            classes=f"frame step{' s-bad' if bad else ''}",
            style=f"filled,{turn.state.style}" if bad else "filled,rounded" if step.closed else "filled,rounded,dashed",
            color=theme.error_text if bad else theme.border_shadowed,
            fillcolor=theme.page,
            penwidth="1.2" if bad else "0.9",
        )
        self._rows(block.flow, (x, y + _HEAD - 2), frame)
        self.sheet.close(frame, into)
        self.keys.add("step")

    def _rows(self, placed: Flow, corner: Point, into: graphviz.Digraph | None) -> None:
        x, y = corner
        for node in placed.nodes:
            self._node(node._replace(x=node.x + x, y=node.y + y), into)
        for path in placed.paths:
            points = [(px + x, py + y) for px, py in path.points]
            if path.role == "call":
                self._call_line(path.tail, path.head, points)
            else:
                self._order(path.tail, path.head, points)

    def _order(self, tail: str, head: str, points: list[Point]) -> None:
        self.sheet.edge(
            tail, head, points, classes="e-order", id=f"{tail}-{head}", color=self.sheet.theme.border_shadowed
        )

    def _call_line(self, tail: str, head: str, points: list[Point]) -> None:
        call, answer = self.calls[tail]
        never = answer is None or is_synthetic(self.events[answer])
        self.keys.add("never" if never else "call")
        colour = self.sheet.theme.error_text if never else self.sheet.theme.call_to_result
        took = (
            "waits"
            if head.startswith("wait-")
            else "never"
            if never
            else duration(self.events[answer or call].time - self.events[call].time)
        )
        (left, y), (right, _) = points[0], points[-1]
        text: dict[str, Any] = {
            "label": took,
            "lp": f"{(left + right) / 2 - 2:g},{-(y - 7):g}",
            "fontsize": "9",
            "fontname": FONT,
            "fontcolor": colour,
        }
        if not took:
            text = {}
        self.sheet.edge(
            tail,
            head,
            points,
            classes="e-never" if never else "e-call",
            id=f"{tail}-{head}",
            color=colour,
            style="dashed" if never else "solid",
            penwidth="2",
            **text,
        )

    def _node(self, node: Placed, into: graphviz.Digraph | None) -> None:
        place, size = (node.x, node.y), (node.width, node.height)
        if node.name in self.marks:
            self.sheet.marked(node.name, self.marks[node.name], place, (node.width, node.height - 8), into=into)
        elif node.name in self.runs:
            head, seqs = self.runs[node.name]
            chunks = node.name.startswith("chunks-")
            if chunks or node.width > 200:
                self.sheet.more(node.name, self.events, seqs, place, size, head=head, into=into)
            else:
                self.sheet.more(node.name, self.events, seqs, place, size, into=into)
        else:
            event = self.events[self.seqs[node.name]]
            on = event.seq in self.on_surface
            shadowed = event.seq in self.moment.folds.shadowed_by
            self.sheet.event(
                node.name,
                event,
                place,
                size,
                look="live" if on else "shadowed" if shadowed else "log-only",
                tip=origin(event, self.moment.folds),
                chosen=event.seq == self.window.around,
                into=into,
            )

    def _joint(self, upper: _Block, top: float, lower: _Block, start: float) -> None:
        """The line from one block of a turn to the next one below it."""
        if not upper.flow.nodes or not lower.flow.nodes:
            return
        last, first = upper.flow.nodes[-1], lower.flow.nodes[0]
        end_y = start if lower.step else start + first.y - first.height / 2
        end_x = _PAD + first.x
        if upper.step:  # from its lower edge, which may be narrower than what stands below
            begin = (min(end_x, _PAD + upper.width - _INSET), top + upper.height)
            end_x = end_x if lower.step else _on(first, begin[0])
        else:
            begin = (_PAD + last.x, top + last.y + last.height / 2)
            if lower.step:
                end_x = min(begin[0], _PAD + lower.width - _INSET)
                begin = (_on(last, end_x), begin[1])
        if abs(begin[0] - end_x) < 8:
            points = [begin, (begin[0], end_y)]
        else:
            middle = (begin[1] + end_y) / 2 - 1
            points = [begin, (begin[0], middle), (end_x, middle), (end_x, end_y)]
        self._order(last.name, first.name, points)

    def _key(self) -> list[legend.Entry]:
        events = [self.events[seq] for seq in self.seqs.values()]
        shadowed = any(event.seq in self.moment.folds.shadowed_by for event in events)
        aside = any(event.surface_op is None and event.type != "tool/call" for event in events)
        present = [
            ("call", "call to result"),
            ("never", "no result"),
            *([("shadowed", "grey, dashed: shadowed")] if shadowed else []),
            *([("log-only", "thin: in the log only")] if aside else []),
            ("chunks", "dotted: chunks, counted"),
            ("more", "dotted: left out"),
            *((key, word) for key, word in _WORDS.items()),
        ]
        keys = self.keys | {"shadowed", "log-only"}
        entries = [
            legend.Entry("more" if name == "chunks" else name, text, shape=False)
            for name, text in present
            if name in keys and not (name == "more" and "chunks" in keys)
        ]
        if self.window.around in self.seqs.values():
            entries.append(legend.Entry("chosen", "thick: asked for", shape=False))
        return [*legend.of_kinds({describe.kind(event) for event in events}), *entries]


_WORDS: Final = {
    "turn-completed": "turn",
    "turn-open": "open turn",
    "turn-aborted": "aborted turn",
    "turn-interrupted": "interrupted turn",
    "turn-error": "turn with an error",
    "turn-rejected": "rejected turn",
    "turn-limit": "turn cut by max-tokens",
    "turn-other": "turn that ended otherwise",
    "step": "step",
}


class _Block(NamedTuple):
    """A part of a turn that has been placed: a row, or a step with its frame."""

    flow: Flow
    width: float
    height: float
    step: Step | None
