"""The frame of messages: one row for each message that the model gets."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dsh_session.compaction.meter import TokenMeter
from dsh_session.core.messages import derive_event_message
from dsh_session.views.describe import KINDS
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.values import items, passing, record, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.views.frames.log import Logged

__all__ = ["MESSAGES", "Derived", "messages"]


class Derived(msgspec.Struct, gc=False):
    """One derived message.

    Attributes:
        position: Its place in the derived history, from 0.
        entry: The event that it is derived from.
        role: Its role.
        blocks: Content blocks.
        text: Its text blocks, frames included.
        reasoning: Characters of its reasoning blocks.
        tokens: Estimated tokens.
    """

    position: int
    entry: Entry
    role: str
    blocks: int
    text: str | None
    reasoning: int
    tokens: int


def _provider(row: Derived) -> str | None:
    route = row.entry.payload.provenance
    return None if route is None else route.provider


def _model(row: Derived) -> str | None:
    route = row.entry.payload.provenance
    return None if route is None else route.model


def _is_error(row: Derived) -> bool | None:
    return row.entry.payload.is_error if row.entry.event.type == "tool/result" else None


MESSAGES: Final[tuple[Column[Derived], ...]] = (
    Column(
        name="position",
        dtype="int64",
        doc="The message's place in the derived history, from 0.",
        read=attrgetter("position"),
    ),
    Column(name="seq", dtype="int64", doc="The event that it is derived from.", read=attrgetter("entry.event.seq")),
    Column(
        name="role",
        dtype="category",
        doc="Its role; a tool result comes in the user's.",
        read=attrgetter("role"),
        categories=("user", "assistant"),
    ),
    Column(name="kind", dtype="category", doc="What it is in a word.", read=attrgetter("entry.kind"), categories=KINDS),
    Column(
        name="turn",
        dtype="Int64",
        doc="The turn that its event names, else the one that was open.",
        read=attrgetter("entry.turn"),
    ),
    Column(
        name="step",
        dtype="Int64",
        doc="The step that its event names, else the one that was open.",
        read=attrgetter("entry.step"),
    ),
    Column(name="blocks", dtype="int64", doc="Its content blocks.", read=attrgetter("blocks")),
    Column(
        name="text",
        dtype="string",
        doc="Its text blocks as the model reads them, with the frame around context and steering.",
        read=attrgetter("text"),
    ),
    Column(
        name="reasoning",
        dtype="int64",
        doc="Characters of its reasoning blocks.",
        read=attrgetter("reasoning"),
    ),
    Column(name="calls", dtype="int64", doc="Tool calls in it.", read=attrgetter("entry.calls")),
    Column(
        name="call_id",
        dtype="string",
        doc="On a tool result, the call that it answers.",
        read=attrgetter("entry.payload.call_id"),
    ),
    Column(name="tool", dtype="string", doc="On a tool result, the tool of its call.", read=attrgetter("entry.tool")),
    Column(name="is_error", dtype="boolean", doc="Whether a tool result is an error.", read=_is_error),
    Column(name="provider", dtype="string", doc="Who ran the model that wrote it.", read=_provider),
    Column(name="model", dtype="string", doc="The model that wrote it.", read=_model),
    Column(name="tokens", dtype="int64", doc="Its estimated tokens.", read=attrgetter("tokens")),
)
"""The columns of `messages`."""


def messages(session: Logged, *, at: int | None = None, meter: TokenMeter | None = None) -> pd.DataFrame:
    """The derived history, one row per message in the order in which the model reads them.

    Args:
        session: Any session, or a history of one.
        at: The seq after which to look; -1 for the beginning, `None` for now.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `MESSAGES`; row labels are positions.
        `dsh_session.views.frames.columns("messages")` says what each holds.

    Raises:
        SurfaceError: `RANGE_NOT_FOUND` when there is no event `at`.

    Example:
        >>> from dsh_session import samples
        >>> table = messages(samples.load("pi-compacted-twice"))
        >>> table[["seq", "role", "kind", "tokens"]].head(2)
            seq  role     kind  tokens
        0  1589  user  summary      51
        1  1392  user     user      11
    """
    return frame(MESSAGES, _rows(session, at, meter or TokenMeter()))


def _rows(session: Logged, at: int | None, meter: TokenMeter) -> Iterator[Derived]:
    log = log_of(session, at=at)
    wanted = frozenset(log.nodes)
    found = {entry.event.seq: entry for entry in entries(log) if entry.event.seq in wanted}
    position = 0
    for seq in log.nodes:
        row = derived(position, found[seq], meter)
        if row is not None:
            yield row
            position += 1


def derived(position: int, entry: Entry, meter: TokenMeter) -> Derived | None:
    """The row of one message.

    Args:
        position: Its place in the history.
        entry: The event that it comes from.
        meter: What estimates tokens.

    Returns:
        The record, or `None` for an event that gives no message.
    """
    message = derive_event_message(passing(entry.event))
    if message is None:
        return None
    blocks = items(message["content"])
    reasoning = [block.get("text") for block in map(record, blocks) if block.get("type") == "reasoning"]
    return Derived(
        position,
        entry,
        message["role"],
        len(blocks),
        _text(blocks, entry),
        sum(len(string(text) or "") for text in reasoning),
        meter.estimate_message(message),
    )


def _text(blocks: list[Any], entry: Entry) -> str | None:
    if entry.event.type == "tool/result":
        return entry.text
    texts = _texts(blocks, "text")
    return "\n".join(texts) if texts else None


def _texts(blocks: list[Any], of: str) -> list[str]:
    found = (string(block.get("text")) for block in map(record, blocks) if block.get("type") == of)
    return [text for text in found if text is not None]
