"""The frame of compactions: one row each, with what it took and what it gave."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dsh_session.compaction.meter import Account, TokenMeter
from dsh_session.compaction.pairing import Pairing
from dsh_session.core.event import Replace, peek
from dsh_session.core.turns import whole
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.payload import without_surrogates
from dsh_session.views.frames.values import passing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.frames.log import Logged

__all__ = ["COMPACTIONS", "Compaction", "compactions"]

_GAIN: Final = 10  # less than a tenth is little


class Compaction(msgspec.Struct):
    """One compaction: a bracket of events, or a replacement that stands in none.

    Attributes:
        seq: Its first event.
        time: When that was appended.
        turn: The turn that was open.
        trigger: What asked for it, where the log says so.
        replacement: The message that took the range's place.
        kind: What that is.
        start: First seq of the range.
        end: Last seq of the range.
        shadowed: Nodes of the range.
        shadowed_tokens: Their tokens.
        recorded_tokens: What the log says of them.
        replacement_tokens: Tokens of what took their place.
        nodes_before: Nodes of the surface before.
        nodes_after: Nodes of the surface after.
        tokens_before: Tokens of the surface before.
        tokens_after: Tokens of the surface after.
        provider: Who ran the model.
        model: The model, or the summariser.
        ended: When the bracket ended.
        error: Why it failed.
        first_shadowed: The first node of the range.
        first_kept: The node behind the range.
        is_bracket: Whether it began with a ``compact/start``.
        left_open: Whether the bracket has no end.
        little_gain: Whether it came after another and freed next to nothing.
        unbalanced: Whether it split a tool call from its result.
    """

    seq: int
    time: int
    turn: int | None
    tokens_before: int
    nodes_before: int
    tokens_after: int
    nodes_after: int
    is_bracket: bool
    trigger: str | None = None
    replacement: int | None = None
    kind: str | None = None
    start: int | None = None
    end: int | None = None
    shadowed: int = 0
    shadowed_tokens: int = 0
    recorded_tokens: int | None = None
    replacement_tokens: int = 0
    provider: str | None = None
    model: str | None = None
    ended: int | None = None
    error: str | None = None
    first_shadowed: int | None = None
    first_kept: int | None = None
    left_open: bool = False
    little_gain: bool = False
    unbalanced: bool = False


def _ratio(row: Compaction) -> float | None:
    return row.tokens_after / row.tokens_before if row.tokens_before else None


def _duration(row: Compaction) -> int | None:
    return None if row.ended is None else row.ended - row.time


def _is_empty(row: Compaction) -> bool:
    return row.replacement is None and row.error is None and not row.left_open


def _is_not_smaller(row: Compaction) -> bool:
    return row.replacement is not None and row.replacement_tokens >= row.shadowed_tokens


def _replacement_tokens(row: Compaction) -> int | None:
    return None if row.replacement is None else row.replacement_tokens


COMPACTIONS: Final[tuple[Column[Compaction], ...]] = (
    Column(
        name="seq",
        dtype="int64",
        doc="Its first event: the start of its bracket, if it has one.",
        read=attrgetter("seq"),
    ),
    Column(
        name="time",
        dtype="datetime64[ms, UTC]",
        doc="When it began, to the millisecond. NaT beyond the year 9999.",
        read=attrgetter("time"),
    ),
    Column(name="turn", dtype="Int64", doc="The turn that was open.", read=attrgetter("turn")),
    Column(
        name="trigger",
        dtype="category",
        doc="What asked for it, where the log says so: auto before a step.",
        read=attrgetter("trigger"),
        categories=("auto",),
    ),
    Column(
        name="replacement",
        dtype="Int64",
        doc="The message that took the range's place; NA where nothing was replaced.",
        read=attrgetter("replacement"),
    ),
    Column(
        name="kind",
        dtype="category",
        doc="What took the range's place: a summary, or a result that was shortened.",
        read=attrgetter("kind"),
        categories=("summary", "result", "other"),
    ),
    Column(name="start", dtype="Int64", doc="First seq of the range.", read=attrgetter("start")),
    Column(name="end", dtype="Int64", doc="Last seq of the range, in surface order.", read=attrgetter("end")),
    Column(name="shadowed", dtype="int64", doc="Nodes of the range.", read=attrgetter("shadowed")),
    Column(
        name="shadowed_tokens", dtype="int64", doc="Estimated tokens of the range.", read=attrgetter("shadowed_tokens")
    ),
    Column(
        name="recorded_tokens",
        dtype="Int64",
        doc="Tokens of the range as the log has them.",
        read=attrgetter("recorded_tokens"),
    ),
    Column(
        name="replacement_tokens",
        dtype="Int64",
        doc="Estimated tokens of what took the range's place.",
        read=_replacement_tokens,
    ),
    Column(name="nodes_before", dtype="int64", doc="Nodes of the surface before it.", read=attrgetter("nodes_before")),
    Column(name="nodes_after", dtype="int64", doc="Nodes of the surface after it.", read=attrgetter("nodes_after")),
    Column(
        name="tokens_before",
        dtype="int64",
        doc="Estimated tokens of the surface before it.",
        read=attrgetter("tokens_before"),
    ),
    Column(
        name="tokens_after",
        dtype="int64",
        doc="Estimated tokens of the surface after it.",
        read=attrgetter("tokens_after"),
    ),
    Column(
        name="ratio",
        dtype="Float64",
        doc="Tokens of the surface after it by those before it; NA for an empty surface.",
        read=_ratio,
    ),
    Column(
        name="provider",
        dtype="string",
        doc="Who ran the model; dsh_session where there was none.",
        read=attrgetter("provider"),
    ),
    Column(name="model", dtype="string", doc="The model, or the summariser's name.", read=attrgetter("model")),
    Column(
        name="duration", dtype="Int64", doc="Milliseconds from the start of the bracket to its end.", read=_duration
    ),
    Column(name="error", dtype="string", doc="Why it failed.", read=attrgetter("error")),
    Column(
        name="first_shadowed", dtype="Int64", doc="The first node that it shadowed.", read=attrgetter("first_shadowed")
    ),
    Column(
        name="first_kept",
        dtype="Int64",
        doc="The node behind the range; NA where the range went up to the tail.",
        read=attrgetter("first_kept"),
    ),
    Column(name="empty", dtype="bool", doc="It ended well and replaced nothing.", read=_is_empty),
    Column(
        name="not_smaller",
        dtype="bool",
        doc="What took the range's place is not smaller than the range.",
        read=_is_not_smaller,
    ),
    Column(
        name="little_gain",
        dtype="bool",
        doc="It is not the first one, and the surface lost less than a tenth of its tokens.",
        read=attrgetter("little_gain"),
    ),
    Column(
        name="unbalanced",
        dtype="bool",
        doc="An edge of the range split a tool call from its result.",
        read=attrgetter("unbalanced"),
    ),
    Column(
        name="left_open",
        dtype="bool",
        doc="The bracket has no end before the next one, the turn's boundary, or the end of the log.",
        read=attrgetter("left_open"),
    ),
)
"""The columns of `compactions`."""


def compactions(session: Logged, *, meter: TokenMeter | None = None) -> pd.DataFrame:
    """The compactions of a session, one row each in log order, those that failed included.

    A bracket is one row, whatever it replaced; a replacement that stands in no bracket is one as well.

    Args:
        session: Any session, or a history of one.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `COMPACTIONS`. `dsh_session.views.frames.columns("compactions")` says what each
        holds.

    Example:
        >>> from dsh_session import samples
        >>> table = compactions(samples.load("pi-compacted-twice"))
        >>> table[["seq", "shadowed", "nodes_before", "nodes_after", "first_kept"]]
            seq  shadowed  nodes_before  nodes_after  first_kept
        0   892       288           354           67         728
        1  1587       262           340           79        1392
    """
    return frame(COMPACTIONS, _rows(session, meter or TokenMeter()))


def _rows(session: Logged, meter: TokenMeter) -> Iterator[Compaction]:
    reader = _Reader(meter)
    for event in log_of(session).events:
        # What is measured is decoded, and a chunk never is.
        reader.take(event if event.type == "assistant/chunk" else passing(event))
    reader.leave_open()
    has_earlier = False
    for row in sorted(reader.rows, key=attrgetter("seq")):
        row.little_gain = has_earlier and _gains_little(row)
        has_earlier = has_earlier or row.replacement is not None
        yield row


def _gains_little(row: Compaction) -> bool:
    return row.replacement is not None and (row.tokens_before - row.tokens_after) * _GAIN < row.tokens_before


class _Reader:
    """Goes through a log and notes its compactions."""

    def __init__(self, meter: TokenMeter) -> None:
        self.rows: list[Compaction] = []
        self._account = Account(meter)
        self._pairing = Pairing()
        self._open: Compaction | None = None
        self._turn: int | None = None

    def take(self, event: SessionEvent) -> None:
        """Take in the next event."""
        op = event.surface_op
        if isinstance(op, Replace):
            self._replaced(event, op)
            return
        self._account.advance(event)
        self._pairing.advance(event)
        reader = _READERS.get(event.type)
        if reader is not None:
            data = peek(event)
            reader(self, event, data if isinstance(data, dict) else {})

    def leave_open(self) -> None:
        """Give up waiting for the end of the open bracket."""
        if self._open is not None:
            self._open.left_open = True
            self._open = None

    def _begun(self, event: SessionEvent, *, is_bracket: bool) -> Compaction:
        tokens, nodes = self._account.sum, self._account.links.ends[2]
        row = Compaction(event.seq, event.time, self._turn, tokens, nodes, tokens, nodes, is_bracket)
        self.rows.append(row)
        return row

    def _replaced(self, event: SessionEvent, op: Replace) -> None:
        links, account = self._account.links, self._account
        _, _, right, found, _, _ = links.replayed(event.seq, op)
        shadowed = found or []
        row = self._open or self._begun(event, is_bracket=False)
        was_result = event.type == "tool/result" and len(shadowed) == 1
        row.unbalanced |= not was_result and self._pairing.splits(op.start, op.end)
        if row.replacement is None:
            row.start, row.first_shadowed = op.start, shadowed[0]
        row.end = op.end
        row.first_kept = right if right >= 0 else None
        row.replacement = event.seq
        row.kind = _KINDS.get(event.type, "other")
        row.shadowed += len(shadowed)
        row.shadowed_tokens += sum(account.prices[seq] for seq in shadowed)
        account.advance(event)
        self._pairing.advance(event)
        row.replacement_tokens += account.prices[event.seq]
        row.tokens_after, row.nodes_after = account.sum, account.links.ends[2]

    # What the log says of a bracket.

    def _turn_starts(self, _event: SessionEvent, data: dict[str, Any]) -> None:
        self.leave_open()
        self._turn = whole(data.get("turn"))

    def _turn_ends(self, _event: SessionEvent, _data: dict[str, Any]) -> None:
        self.leave_open()
        self._turn = None

    def _starts(self, event: SessionEvent, data: dict[str, Any]) -> None:
        self.leave_open()
        self._open = self._begun(event, is_bracket=True)
        self._open.trigger = _text(data.get("trigger"))

    def _summarised(self, _event: SessionEvent, data: dict[str, Any]) -> None:
        if self._open is not None:
            self._open.provider, self._open.model = _text(data.get("provider")), _text(data.get("model"))
            self._open.recorded_tokens = whole(data.get("shadowedTokenCount"))

    def _ends(self, event: SessionEvent, data: dict[str, Any]) -> None:
        if self._open is not None:
            self._open.ended = event.time
            error = data.get("error")
            self._open.error = "not said" if error is not None and not isinstance(error, str) else _text(error)
            self._open = None


def _text(value: object) -> str | None:
    return without_surrogates(value) if isinstance(value, str) else None


_KINDS: Final = {"user/message": "summary", "tool/result": "result"}
_READERS: Final = {
    "turn/start": _Reader._turn_starts,
    "turn/end": _Reader._turn_ends,
    "compact/start": _Reader._starts,
    "compact/summary": _Reader._summarised,
    "compact/end": _Reader._ends,
}
