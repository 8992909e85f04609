"""Diagrams as Mermaid text, for places that draw Mermaid and nothing else: a README, an issue, a wiki.

The text holds the structure and the words; the shapes and lines are Mermaid's own. Everything from a log is escaped:
nothing in it can open a node, a directive or markup.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from dsh_session.views import describe
from dsh_session.views.diagrams.brackets import Step, Turn, nest
from dsh_session.views.diagrams.moment import check_window, moment_of
from dsh_session.views.escape import one_line
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.diagrams.folds import Folds
    from dsh_session.views.diagrams.moment import Source

__all__ = ["mermaid_text", "nesting", "surface"]

_SAID: Final = 48
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,!?()+/=")
# By kind: what opens and closes a node of that shape in Mermaid.
_SHAPES: Final = {
    "user": ("([", "])"),
    "assistant": ("[", "]"),
    "tool result": (">", "]"),
    "tool call": (">", "]"),
    "summary": ("[[", "]]"),
    "steering": ("{{", "}}"),
    "context": ("[/", "/]"),
}
_CLASSES: Final = (
    "classDef shadowed stroke-dasharray:5 3,opacity:0.7",
    "classDef more stroke-dasharray:1 4",
    "classDef bad stroke-width:3px,stroke-dasharray:6 3",
    "classDef failed stroke-width:4px",
    "classDef open stroke-dasharray:3 3",
)


def mermaid_text(text: str) -> str:
    """Text inside the double quotes of a Mermaid label.

    Args:
        text: Any string.

    Returns:
        One line; what may mean something to Mermaid, Markdown or HTML is a numeric code that Mermaid shows as itself.

    Example:
        >>> mermaid_text('say "hi" <b>')
        'say #34;hi#34; #60;b#62;'
    """
    return "".join(char if char in _PLAIN or ord(char) > 0x7F else f"#{ord(char)};" for char in one_line(text))


def surface(
    session: Source, *, at: int | None = None, first: int = 3, last: int = 12, inside: int = 4, levels: int = 2
) -> str:
    """Write the surface as a Mermaid flowchart: the linked list, and behind each replacement what it stands for.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show the surface as it was right after the event of this seq; None for now.
        first: How many nodes are shown from the head on.
        last: How many nodes are shown at the tail.
        inside: How many nodes are shown of what a replacement shadows, at least 2.
        levels: How many levels of replacements are opened.

    Returns:
        Mermaid text. Its nodes are named `n<seq>`, its subgraphs `shadowed_by_<seq>`, what is left out `more_<seq>`.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> event = session.append("user/message", said, surface_op="append")
        >>> print(surface(session))
        flowchart LR
          head((head))
          n0(["0 user: hello"])
          tail((tail))
          head --> n0
          n0 <--> tail

    See the seeds' "Surface types".
    """
    check_window(0, first=first, last=last, levels=levels)
    check_window(2, inside=inside)
    moment = moment_of(session, at)
    return "\n".join(_surface(moment.events, moment.folds, (first, last, inside, levels)))


def _surface(events: Sequence[SessionEvent], folds: Folds, window: tuple[int, int, int, int]) -> Iterator[str]:
    first, last, inside, levels = window
    yield "flowchart LR"
    yield "  head((head))"
    names: list[str] = []
    frames: list[tuple[int, int]] = []
    grey: list[str] = []
    for name, line, seq in _chain(events, folds.nodes, first, last):
        names.append(name)
        yield f"  {line}"
        if seq is not None and seq in folds.shadowed and levels:
            frames.append((seq, 1))
    yield "  tail((tail))"
    for above, below in pairwise(["head", *names, "tail"]):
        yield f"  {above} {'-->' if above == 'head' else '<-->'} {below}"
    while frames:
        owner, level = frames.pop(0)
        behind = folds.shadowed[owner]
        yield f'  subgraph shadowed_by_{owner}["{len(behind):,} shadowed by {owner}"]'
        inner: list[str] = []
        tail = max(inside // 3, 1)
        for name, line, seq in _chain(events, behind, inside - tail, tail):
            inner.append(name)
            grey.append(name)
            yield f"    {line}"
            if seq is not None and seq in folds.shadowed and level < levels:
                frames.append((seq, level + 1))
        yield from (f"    {above} --> {below}" for above, below in pairwise(inner))
        yield "  end"
        yield f"  n{owner} -. stands for .-> shadowed_by_{owner}"
    yield from _styled({"shadowed": grey, "more": [name for name in names if name.startswith("more_")]})


def _chain(
    events: Sequence[SessionEvent], seqs: Sequence[int], first: int, last: int
) -> Iterator[tuple[str, str, int | None]]:
    """The nodes of a list: name, definition, seq."""
    for part in choose(len(seqs), first=first, last=last):
        if isinstance(part, Gap):
            missing = seqs[part.start : part.stop]
            yield f"more_{missing[0]}", _more(events, missing), None
        else:
            yield f"n{seqs[part]}", _node(events[seqs[part]]), seqs[part]


def _node(event: SessionEvent) -> str:
    kind = describe.kind(event)
    before, after = _SHAPES.get(kind, ("[", "]"))
    name = kind if kind in _SHAPES else event.type[:60]
    error = ", error" if describe.is_error(event) else ""
    said = describe.headline(event, _SAID).removeprefix("error: ")
    return f'n{event.seq}{before}"{event.seq} {mermaid_text(name)}{error}: {mermaid_text(said)}"{after}'


def _more(events: Sequence[SessionEvent], seqs: Sequence[int]) -> str:
    kinds = describe.count_kinds(Counter(describe.kind(events[seq]) for seq in seqs))
    return f'more_{seqs[0]}["… {len(seqs):,} more: {kinds}"]'


def _styled(classes: dict[str, list[str]]) -> Iterator[str]:
    """The classes that are used, and the nodes that have them; one statement each, so that no line grows long."""
    for name, nodes in classes.items():
        if nodes:
            yield next(f"  {line}" for line in _CLASSES if line.split()[1] == name)
            yield from (f"  class {node} {name}" for node in nodes)


def nesting(session: Source, *, at: int | None = None, first: int = 1, last: int = 4, inside: int = 8) -> str:
    """Write turns and steps as a Mermaid flowchart: subgraphs in subgraphs, with their events in log order.

    Args:
        session: A session, or a `SurfaceHistory`.
        at: Show the log as it was right after the event of this seq; None for now.
        first: How many turns are shown from the beginning on.
        last: How many turns are shown at the end.
        inside: How many events of a step, and how many steps of a turn, are shown, at least 2.

    Returns:
        Mermaid text. Its nodes are named `n<seq>`, runs of chunks `chunks_<seq>`, what is left out `more_<seq>`, its
        subgraphs `turn_<seq>` and `step_<seq>`.

    Raises:
        ViewError: `VIEW_SEQ` for a seq that is not in the log, `VIEW_WINDOW` for a negative number.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("tour")
        >>> with Recorder(session).turn("Hello") as turn:
        ...     with turn.step() as step:
        ...         event = step.assistant("Hello!")
        >>> print(nesting(session))
        flowchart TB
          subgraph turn_0["turn 1: completed"]
            n1(["1 user: Hello"])
            subgraph step_2["step 1"]
              direction LR
              n3["3 assistant: Hello!"]
            end
            n1 --> n3
          end

    See the seeds' "Turns and steps".
    """
    check_window(0, first=first, last=last)
    check_window(2, inside=inside)
    moment = moment_of(session, at)
    return "\n".join(_Nesting(moment.events, inside).lines(first, last))


class _Nesting:
    def __init__(self, events: Sequence[SessionEvent], inside: int) -> None:
        self.events = events
        self.inside = inside
        self.classes: dict[str, list[str]] = {"more": [], "bad": [], "failed": [], "open": []}

    def lines(self, first: int, last: int) -> Iterator[str]:
        yield "flowchart TB"
        groups = _grouped(nest(self.events), Turn)
        ends: list[tuple[str, str]] = []
        for part in choose(len(groups), first=first, last=last):
            if isinstance(part, Gap):
                seqs = [seq for group in groups[part.start : part.stop] for each in group for seq in _seqs(each)]
                yield f"  {self._gap(seqs)}"
                ends.append((f"more_{seqs[0]}", f"more_{seqs[0]}"))
                continue
            body: list[str] = []
            each = groups[part][0]
            if isinstance(each, Turn):
                name = f"turn_{each.start}"
                self._mark(name, each)
                why = f", {mermaid_text(each.why[:_SAID])}" if each.why else ""
                turn = f"turn {mermaid_text(each.number)}: {mermaid_text(each.outcome)}{why}"
                yield f'  subgraph {name}["{turn}"]'
                names = self._parts(each.parts, body)
                yield from (f"    {line}" for line in body)
                yield "  end"
                ends.append((name, name))
            else:
                names = self._run(_seqs_of(groups[part]), body)
                yield from (f"  {line}" for line in body)
                ends.append((names[0], names[-1]))
        for (_, above), (below, _) in pairwise(ends):
            yield f"  {above} --> {below}"
        yield from _styled(self.classes)

    def _mark(self, name: str, turn: Turn) -> None:
        classes = {"t-bad": "failed" if turn.outcome == "error" else "bad", "t-quiet": "bad", "t-open": "open"}
        wanted = classes.get(turn.state.classes)
        if wanted:
            self.classes[wanted].append(name)

    def _parts(self, parts: Sequence[Step | int], body: list[str]) -> list[str]:
        """Steps and what lies beside them; gives the names at the ends."""
        joints: list[tuple[str, str]] = []
        groups = _grouped(parts, Step)
        tail = max(self.inside // 3, 1)
        for part in choose(len(groups), first=self.inside - tail, last=tail):
            if isinstance(part, Gap):
                seqs = [seq for group in groups[part.start : part.stop] for each in group for seq in _seqs(each)]
                body.append(self._gap(seqs))
                joints.append((f"more_{seqs[0]}", f"more_{seqs[0]}"))
                continue
            each = groups[part][0]
            if isinstance(each, Step):
                body.append(f'subgraph step_{each.start}["step {mermaid_text(each.number)}"]')
                inner: list[str] = ["direction LR"]
                names = self._run(each.seqs, inner)
                body.extend(f"  {line}" for line in inner)
                body.append("end")
                names = names or [f"step_{each.start}"]
            else:
                names = self._run(_seqs_of(groups[part]), body)
            joints.append((names[0], names[-1]))
        body.extend(f"{above} --> {below}" for (_, above), (below, _) in pairwise(joints))
        return [name for joint in joints for name in joint]

    def _run(self, seqs: Sequence[int], body: list[str]) -> list[str]:
        """Events one after the other, chunks counted; gives their names."""
        runs: list[list[int]] = []
        for is_chunk, group in groupby(seqs, lambda seq: self.events[seq].type == "assistant/chunk"):
            run = list(group)
            runs += [run] if is_chunk else [[seq] for seq in run]
        names: list[str] = []
        tail = max(self.inside // 3, 1)
        for part in choose(len(runs), first=self.inside - tail, last=tail):
            if isinstance(part, Gap):
                missing = [seq for run in runs[part.start : part.stop] for seq in run]
                body.append(self._gap(missing))
                names.append(f"more_{missing[0]}")
            elif self.events[runs[part][0]].type == "assistant/chunk":
                run = runs[part]
                name = f"chunks_{run[0]}"
                where = f"1 chunk, {run[0]}" if len(run) == 1 else f"{len(run):,} chunks, {run[0]} … {run[-1]}"
                body.append(f'{name}["{where}"]')
                self.classes["more"].append(name)
                names.append(name)
            else:
                body.append(_node(self.events[runs[part][0]]))
                names.append(f"n{runs[part][0]}")
        body.extend(f"{above} --> {below}" for above, below in pairwise(names))
        return names

    def _gap(self, seqs: Sequence[int]) -> str:
        self.classes["more"].append(f"more_{seqs[0]}")
        return _more(self.events, seqs)


def _grouped(parts: Sequence[Turn | Step | int], frame: type[Turn | Step]) -> list[list[Turn | Step | int]]:
    """Frames one by one, and runs of what lies between them."""
    return [list(group) for _, group in groupby(parts, lambda part: id(part) if isinstance(part, frame) else 0)]


def _seqs(part: Turn | Step | int) -> Sequence[int]:
    return (part,) if isinstance(part, int) else range(part.start, part.stop + 1)


def _seqs_of(group: Sequence[Turn | Step | int]) -> list[int]:
    return [part for part in group if isinstance(part, int)]
