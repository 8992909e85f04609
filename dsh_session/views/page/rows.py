"""The table of events: groups of rows, one group per turn, with gaps that say what they leave out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dsh_session.core.event import peek
from dsh_session.core.vocabulary import VOCABULARY
from dsh_session.views.describe import count_kinds, headline, text
from dsh_session.views.escape import cut, one_line
from dsh_session.views.frames.payload import line_of, read_line
from dsh_session.views.page.times import clock, day, duration, iso
from dsh_session.views.page.window import window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.core.session import Session
    from dsh_session.views.page.outline import Item, Outline, Turn

__all__ = ["Gap", "Group", "Row", "event_groups", "turn_title"]

_HEADLINE: Final = 140
_TEXT: Final = 3000
_LINE: Final = 1200
# So many chunks are joined for reading; a run of a hundred thousand is read where it was put together.
_CHUNKS: Final = 400
# A browser lays out the groups that are in sight, so none should be long.
_GROUP: Final = 150


@dataclass(frozen=True, slots=True)
class Row:
    """One event, or a run of chunks.

    Attributes:
        seq: Its seq, or the run's first.
        last: The run's last seq.
        kind: One of `dsh_session.views.describe.KINDS`.
        type: The event's type.
        error: Whether it is a tool result that says so.
        clock: The time of day.
        iso: The whole moment.
        place: Turn and step, such as `3.1`.
        headline: What it says in a line.
        text: What it says at length, where that is more.
        line: Its line in the log, cut where it is long.
        surface: `on`, `off` (replaced) or `log` (it never was on it).
        shadowed_by: The replacement that took it off.
        replaces: The range that it replaced.
        fault: Where its payload is not what its type declares, and how; empty where it is, or nothing is declared.
    """

    seq: int
    last: int
    kind: str
    type: str
    error: bool
    clock: str
    iso: str
    place: str
    headline: str
    text: str
    line: str
    surface: str
    shadowed_by: int | None
    replaces: tuple[int, int] | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that are not shown.

    Attributes:
        count: How many.
        first: Seq of the first.
        last: Seq of the last.
        kinds: How many of which kind, in words.
    """

    count: int
    first: int
    last: int
    kinds: str


@dataclass(slots=True)
class Group:
    """Rows that are shown together: those of one turn, or a part of a long one.

    Attributes:
        title: What the turn was about; empty for a gap between turns.
        rows: Its rows and gaps in log order.
    """

    title: str
    rows: list[Row | Gap]


def turn_title(turn: Turn) -> str:
    """A turn in a line.

    Args:
        turn: A turn of an outline.

    Returns:
        Its number, when, how long and how it ended.

    Example:
        >>> from dsh_session.views.page.outline import Turn
        >>> turn_title(Turn(True, 3, 10, 20, 0, 1500, steps=2, outcome="completed"))
        'Turn 3 · 1970-01-01 00:00:00 · 1.5 s · 2 steps · completed'
    """
    parts = [_name(turn), f"{day(turn.started)} {clock(turn.started)}", duration(turn.ended - turn.started)]
    if turn.steps:
        parts.append(f"{turn.steps:,} {'step' if turn.steps == 1 else 'steps'}")
    if turn.began:
        parts.append(one_line(cut(turn.outcome, 60)) if turn.outcome else "open")
    return " · ".join(parts)


def event_groups(session: Session, outline: Outline, limit: int) -> list[Group]:
    """The rows of the table of events.

    Args:
        session: The session.
        outline: Its outline.
        limit: How many rows may be shown; of a longer log the beginning, the end and what lies around
            replacements.

    Returns:
        Groups in log order; rows and gaps together cover every event once.
    """
    items = [item for turn in outline.turns for item in turn.items]
    firsts = [turn.first for turn in outline.turns]
    starts = [item.first for item in items]
    events = session.events
    replacements = [bisect_left(starts, replacement.seq) for replacement in outline.replacements]
    on_surface = frozenset(outline.nodes)

    def turn_at(seq: int) -> Turn:
        return outline.turns[bisect_right(firsts, seq) - 1]

    groups: list[Group] = []
    shown_turn: Turn | None = None
    done = 0
    for run in window(len(items), limit, marks=replacements):
        if run.start > done:
            gap = _gap(items[done : run.start])
            # A gap within one turn stays in its group; one that spans turns stands alone.
            if groups and turn_at(starts[run.start - 1]) is shown_turn:
                groups[-1].rows.append(gap)
            else:
                groups.append(Group("", [gap]))
        for item in items[run.start : run.stop]:
            turn = turn_at(item.first)
            if turn is not shown_turn:
                groups.append(Group(turn_title(turn), []))
                shown_turn = turn
            elif len(groups[-1].rows) >= _GROUP:
                groups.append(Group(f"{_name(turn)}, continued", []))
            groups[-1].rows.append(_row(events, item, outline, on_surface))
        done = run.stop
    if done < len(items):
        groups.append(Group("", [_gap(items[done:])]))
    return groups


def _name(turn: Turn) -> str:
    return f"Turn {'?' if turn.number is None else turn.number}" if turn.began else "Before the first turn"


def _gap(items: Sequence[Item]) -> Gap:
    kinds: Counter[str] = Counter()
    for item in items:
        kinds[item.kind] += item.last - item.first + 1
    return Gap(kinds.total(), items[0].first, items[-1].last, count_kinds(kinds))


def _replaces(event: SessionEvent) -> tuple[int, int] | None:
    op = event.surface_op
    return None if op is None or isinstance(op, str) else (op.start, op.end)


def _row(events: Sequence[SessionEvent], item: Item, outline: Outline, on_surface: frozenset[int]) -> Row:
    event = events[item.first]
    replaced_by = outline.shadowed_by.get(item.first)
    if item.last > item.first:
        said = _joined(events[item.first : min(item.last + 1, item.first + _CHUNKS)])
        count = item.last - item.first + 1
        line, more = (
            cut(f"{count:,} chunks: {one_line(said[: 4 * _HEADLINE]) or 'no text'}", _HEADLINE),
            cut(said, _TEXT),
        )
    else:
        line, more = headline(event, _HEADLINE), text(event, _TEXT)
    place = ".".join(str(number) for number in (item.turn, item.step) if number is not None)
    return Row(
        seq=item.first,
        last=item.last,
        kind=item.kind,
        type=event.type,
        error=item.kind == "tool result" and read_line(event).data.is_error is True,
        clock=clock(event.time),
        iso=iso(event.time),
        place=place,
        headline=line,
        text=more if len(more) > len(line) or "\n" in more else "",
        line=_line(event),
        surface="on" if item.first in on_surface else "off" if replaced_by is not None else "log",
        shadowed_by=replaced_by,
        replaces=_replaces(event),
        fault=_fault(event),
    )


def _fault(event: SessionEvent) -> str:
    shape = VOCABULARY.shape(event.type)
    try:
        found = None if shape is None else shape.fault(peek(event))
    except (RecursionError, ValueError):  # nested too deep, or a number that the interpreter refuses to write
        found = "", "cannot be checked: it is too deep or too large"
    return "" if found is None else cut(one_line(f"${found[0]} {found[1]}"[: 4 * _HEADLINE]), _HEADLINE)


def _line(event: SessionEvent) -> str:
    raw = line_of(event)
    return cut(raw[: 4 * _LINE].decode("utf-8", "replace"), _LINE)


_DELTAS: Final = {"text-delta": "says", "reasoning-delta": "thinks", "tool-call-delta": "calls with"}


def _joined(chunks: Sequence[SessionEvent]) -> str:
    """What a run of chunks adds up to, a line for each block."""
    lines: list[tuple[str, list[str]]] = []
    for event in chunks:
        chunk = read_line(event).data.chunk
        verb = _DELTAS.get(chunk.type or "") if chunk is not None else None
        if chunk is None or verb is None:
            continue
        if not lines or lines[-1][0] != verb:
            lines.append((verb, []))
        lines[-1][1].append((chunk.text or chunk.arguments_delta or "")[:_TEXT])
    return "\n".join(f"{verb}: {''.join(parts)}" for verb, parts in lines)
