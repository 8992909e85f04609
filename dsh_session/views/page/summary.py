"""What the page says about a log as a whole: where it comes from, its turns, its replacements, its request header."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dsh_session.core.errors import SessionError
from dsh_session.views.describe import count_kinds, headline
from dsh_session.views.escape import cut, one_line
from dsh_session.views.frames.entries import originals_of
from dsh_session.views.page.messages import parts_of, pretty
from dsh_session.views.page.times import clock, day, duration, iso
from dsh_session.views.page.window import window

if TYPE_CHECKING:
    from dsh_session.core.session import Session
    from dsh_session.views.page.messages import Part
    from dsh_session.views.page.outline import Outline, Turn

__all__ = ["Overview", "ReplacementRow", "TurnGap", "TurnRow", "overview", "replacements", "request", "turns"]

_TURNS: Final = 400
_REPLACEMENTS: Final = 200
_TOOLS: Final = 12
_HEADLINE: Final = 120


@dataclass(frozen=True, slots=True)
class Overview:
    """The head of the page.

    Attributes:
        id: The session's id.
        facts: Names and values: when, where, what it was forked from.
        numbers: Counts with their nouns.
        tools: The tools that were called most, with how often.
        more_tools: How many others were called.
    """

    id: str
    facts: list[tuple[str, str]]
    numbers: list[tuple[int, str]]
    tools: list[tuple[str, int]]
    more_tools: int


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A row of the table of turns.

    Attributes:
        name: Its number, `?` where the log gives none, or `before` for what lies before the first turn.
        first: Seq of its first event.
        last: Seq of its last event.
        trigger: What started it.
        prompt: Its first user message, in a line.
        steps: How many steps began.
        tools: Which tools were called, in words.
        outcome: Why it ended, or `open`.
        reason: What the end says beyond that.
        state: `completed`, `open` or `other`, for the eye.
        date: The date, where it differs from that of the turn before.
        started: The time of day.
        iso: The same for a program.
        duration: How long it took.
    """

    name: str
    first: int
    last: int
    trigger: str
    prompt: str
    steps: int
    tools: str
    outcome: str
    reason: str
    state: str
    date: str
    started: str
    iso: str
    duration: str


@dataclass(frozen=True, slots=True)
class TurnGap:
    """Turns that are not shown.

    Attributes:
        count: How many.
        first: Seq of the first one's first event.
        last: Seq of the last one's last event.
    """

    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ReplacementRow:
    """A row of the table of replacements.

    Attributes:
        seq: The event that replaced.
        headline: What it says in a line.
        start: First seq of the range.
        end: Last seq of the range, in surface order.
        shadowed: How many nodes it took off the surface.
        kinds: Of which kinds they were, in words.
        originals: How many appended messages it stands for, through all replacements.
        before: Characters of what it replaced.
        after: Its own characters.
        shadowed_by: The later replacement that took it off the surface itself.
    """

    seq: int
    headline: str
    start: int
    end: int
    shadowed: int
    kinds: str
    originals: int
    before: int
    after: int
    shadowed_by: int | None


def overview(session: Session, outline: Outline) -> Overview:
    """The head of the page.

    Args:
        session: The session.
        outline: Its outline.

    Returns:
        Facts and numbers, in plain text.
    """
    header = session.header
    events = session.events
    facts = [("Created", _moment(header.created_at))]
    if events:
        span = duration(events[-1].time - events[0].time)
        facts.append(("Events", f"{_moment(events[0].time)} to {_moment(events[-1].time)} ({span})"))
    if header.cwd is not None:
        facts.append(("Folder", _line(header.cwd, 300)))
    if header.parent_session is not None:
        facts.append(("Forked from", _line(header.parent_session, 300)))
    if header.seed_length is not None:
        facts.append(("Inherited events", f"{header.seed_length:,}"))
    facts.append(("Format", f"version {header.version}"))
    tools = outline.tools
    numbers = [
        (outline.length, "event", "events"),
        (outline.started_turns, "turn", "turns"),
        (outline.steps, "step", "steps"),
        (tools.total(), "tool call", "tool calls"),
        (len(outline.nodes), "surface node", "surface nodes"),
        (len(outline.replacements), "replacement", "replacements"),
    ]
    return Overview(
        id=_line(session.id, 200),
        facts=facts,
        numbers=[(number, one if number == 1 else many) for number, one, many in numbers],
        tools=[(_line(name, 60), count) for name, count in tools.most_common(_TOOLS)],
        more_tools=max(len(tools) - _TOOLS, 0),
    )


def turns(session: Session, outline: Outline) -> list[TurnRow | TurnGap]:
    """The rows of the table of turns.

    Args:
        session: The session.
        outline: Its outline.

    Returns:
        Rows in log order, with a gap where there are too many for a table.
    """
    rows: list[TurnRow | TurnGap] = []
    done = 0
    date = ""
    for run in window(len(outline.turns), _TURNS):
        if run.start > done:
            rows.append(TurnGap(run.start - done, outline.turns[done].first, outline.turns[run.start - 1].last))
        for turn in outline.turns[run.start : run.stop]:
            today = day(turn.started)
            rows.append(_turn(session, turn, "" if today == date else today))
            date = today
        done = run.stop
    return rows


def replacements(session: Session, outline: Outline) -> tuple[list[ReplacementRow], int]:
    """The rows of the table of replacements.

    Args:
        session: The session.
        outline: Its outline.

    Returns:
        The latest ones in log order, and how many earlier ones are left out.
    """
    every = outline.replacements
    originals = originals_of(every)
    rows = [
        ReplacementRow(
            seq=replacement.seq,
            headline=headline(session.events[replacement.seq], _HEADLINE),
            start=replacement.start,
            end=replacement.end,
            shadowed=len(replacement.shadowed_seqs),
            kinds=count_kinds(Counter(outline.kind_of[seq] for seq in replacement.shadowed_seqs)),
            originals=originals[replacement.seq],
            before=sum(outline.chars[seq] for seq in replacement.shadowed_seqs),
            after=outline.chars[replacement.seq],
            shadowed_by=outline.shadowed_by.get(replacement.seq),
        )
        for replacement in every[-_REPLACEMENTS:]
    ]
    return rows, max(len(every) - _REPLACEMENTS, 0)


def request(session: Session) -> list[tuple[str, tuple[Part, ...]]]:
    """The request header in force: what a model gets beside the messages.

    Args:
        session: The session.

    Returns:
        A name and what to read for each of its fields; nothing where no header was logged.
    """
    try:
        header = session.request_header()
    except SessionError as error:  # written with the checks off; a view shows it and goes on
        return [("Not readable", parts_of([{"type": "text", "text": error.message}])[0])]
    if header is None:
        return []
    fields = []
    for name, title in (
        ("config", "Configuration"),
        ("system", "System prompt"),
        ("tools", "Tools"),
        ("messagePrefix", "Message prefix"),
    ):
        value = header.get(name)
        if value is not None:
            text = value if isinstance(value, str) else pretty(value)
            fields.append((title, parts_of([{"type": "text", "text": text}])[0]))
    return fields


def _turn(session: Session, turn: Turn, date: str) -> TurnRow:
    tools = [
        f"{_line(name, 40)} ×{count:,}" if count > 1 else _line(name, 40) for name, count in turn.tools.most_common(4)
    ]
    if len(turn.tools) > 4:
        tools.append(f"{len(turn.tools) - 4:,} more")
    open_ = turn.began and turn.outcome is None
    return TurnRow(
        name="before" if not turn.began else "?" if turn.number is None else f"{turn.number}",
        first=turn.first,
        last=turn.last,
        trigger=_line(_trigger(turn), 80),
        prompt="" if turn.prompt is None else headline(session.events[turn.prompt], _HEADLINE),
        steps=turn.steps,
        tools=", ".join(tools),
        outcome="open" if open_ else _line(turn.outcome or "", 60),
        reason=_line(turn.reason or "", 120),
        state="open" if open_ else "completed" if turn.outcome in {"completed", None} else "other",
        date=date,
        started=clock(turn.started),
        iso=iso(turn.started),
        duration=duration(turn.ended - turn.started),
    )


def _trigger(turn: Turn) -> str:
    """Who started a turn; how, where it was not by a message."""
    if turn.trigger in {"message", None}:
        return turn.source or ""
    return f"{turn.trigger}: {turn.source}" if turn.source else turn.trigger or ""


def _line(text: str, limit: int) -> str:
    return cut(one_line(text[: 4 * limit + 64]), limit)


def _moment(time: float) -> str:
    return f"{day(time)} {clock(time)}"
