"""The outline of a log: its turns, and its events with runs of chunks taken together.

One pass over the log gives everything that the page says about all of it. What is kept of an event is a few
numbers, so that a log of a million chunks has a small outline.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from dsh_session.views.frames.entries import entries
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.payload import Tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.core.surface import SurfaceReplacement
    from dsh_session.views.frames.entries import Entry
    from dsh_session.views.frames.log import Logged

__all__ = ["Item", "Outline", "Turn", "outline"]


class Item(NamedTuple):
    """One event, or a run of chunks of one step.

    Attributes:
        first: Its seq, or the run's first.
        last: The same, or the run's last.
        kind: One of `dsh_session.views.describe.KINDS`.
        turn: Its turn's number, where one is known.
        step: Its step's number, where one is known.
    """

    first: int
    last: int
    kind: str
    turn: int | None
    step: int | None


@dataclass(slots=True)
class Turn:
    """What happened between a `turn/start` and the next one.

    Attributes:
        began: Whether a `turn/start` opens it; events before the first one lie in a turn that never began.
        number: The number that the log gives it, if it does.
        first: Seq of its first event.
        last: Seq of its last event.
        started: Epoch milliseconds of its first event.
        ended: Epoch milliseconds of its last event.
        trigger: What started it, such as `message`.
        source: Who did.
        prompt: Seq of its first user message, or of a prompt that was blocked.
        steps: How many steps began.
        tools: How often each tool was called.
        outcome: Why it ended; `None` for a turn without an end.
        reason: What the end says beyond that.
        items: Its events.
    """

    began: bool
    number: int | None
    first: int
    last: int
    started: int
    ended: int
    trigger: str | None = None
    source: str | None = None
    prompt: int | None = None
    steps: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    outcome: str | None = None
    reason: str | None = None
    items: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """What the page says about the whole log.

    Attributes:
        nodes: The surface in the model's order, as it was when the walk began: a live session may grow meanwhile.
        length: How many events were walked.
        turns: Its turns in log order; events before the first one lie in one that never began.
        kinds: How many events of each kind there are.
        replacements: All replacements.
        shadowed_by: Which of them took which event off the surface.
        chars: Characters of each event that is or was on the surface, by seq.
        kind_of: Its kind, likewise.
        silent: Seqs of surface events that give no message: assistant messages without content.
    """

    nodes: Sequence[int] = ()
    length: int = 0
    turns: list[Turn] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    replacements: Sequence[SurfaceReplacement] = ()
    shadowed_by: dict[int, int] = field(default_factory=dict)
    chars: dict[int, int] = field(default_factory=dict)
    kind_of: dict[int, str] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)

    @property
    def steps(self) -> int:
        """How many steps began."""
        return sum(turn.steps for turn in self.turns)

    @property
    def tools(self) -> Counter[str]:
        """How often each tool was called."""
        total: Counter[str] = Counter()
        for turn in self.turns:
            total.update(turn.tools)
        return total

    @property
    def started_turns(self) -> int:
        """How many turns began."""
        return sum(turn.began for turn in self.turns)


def outline(session: Logged) -> Outline:
    """Walk a log once and note what is where.

    Args:
        session: Any session, or a `Reading` of one.

    Returns:
        Its outline.

    Example:
        >>> from dsh_session import samples
        >>> found = outline(samples.load("pi-compacted-twice"))
        >>> len(found.turns), found.steps, found.tools.most_common(1)
        (57, 484, [('bash', 206)])
    """
    log = log_of(session)
    found = Outline(nodes=log.nodes, replacements=log.replacements, length=len(log.events))
    kinds: list[str] = []
    turn: Turn | None = None
    entry: Entry | None = None
    run: Item | None = None  # chunks, of which more may come
    for entry in entries(log):
        kind = entry.kind
        kinds.append(kind)
        if kind == "chunk" and run is not None and run.turn == entry.turn and run.step == entry.step:
            continue
        event = entry.event
        seq = event.seq
        if run is not None and turn is not None:
            turn.items.append(run._replace(last=seq - 1))
            run = None
        if turn is None or entry.type == "turn/start":
            if turn is not None:
                _close(turn, log.events[seq - 1])
            turn = Turn(entry.type == "turn/start", entry.turn, seq, seq, event.time, event.time)
            found.turns.append(turn)
        item = Item(seq, seq, kind, entry.turn, entry.step)
        if kind == "chunk":
            run = item
            continue
        turn.items.append(item)
        _note(turn, entry)
        if event.surface_op is not None:
            if entry.shadowed_by is not None:
                found.shadowed_by[seq] = entry.shadowed_by
            found.chars[seq] = entry.chars or 0
            found.kind_of[seq] = kind
            if entry.type == "assistant/message" and not entry.payload.content:
                found.silent.add(seq)
    if turn is not None and entry is not None:
        if run is not None:
            turn.items.append(run._replace(last=entry.event.seq))
        _close(turn, entry.event)
    found.kinds.update(kinds)
    return found


def _close(turn: Turn, event: SessionEvent) -> None:
    turn.last, turn.ended = event.seq, event.time


def _note(turn: Turn, entry: Entry) -> None:
    """What an event says about its turn."""
    payload = entry.payload
    match entry.type:
        case "turn/start" if payload.trigger is not None:
            turn.trigger = payload.trigger.kind
            source = payload.trigger.source
            turn.source = (source.plugin or source.kind) if source else None
        case "turn/end":
            reason = payload.reason
            turn.outcome = (reason.kind if isinstance(reason, Tag) else reason) or "ended"
            turn.reason = entry.text
        case "step/start":
            turn.steps += 1
        case "tool/call":
            turn.tools[payload.name or "?"] += 1
        case "user/message" | "prompt/blocked" if turn.prompt is None and entry.kind != "summary":
            turn.prompt = entry.event.seq
