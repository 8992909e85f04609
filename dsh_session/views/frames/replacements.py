"""The frame of replacements: one row for each time that a message took the place of others."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.compaction.meter import TokenMeter
from dsh_session.views.describe import KINDS
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries, originals_of
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.places import NAMED_TURN, SEQ
from dsh_session.views.frames.values import tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.core.surface import SurfaceReplacement
    from dsh_session.views.frames.log import Logged

__all__ = ["REPLACEMENTS", "Replaced", "replacements"]


class Replaced(msgspec.Struct, gc=False):
    """One replacement.

    Attributes:
        generation: Its number, from 1.
        entry: The event that replaced.
        change: What it replaced.
        originals: How many appended messages it stands for.
        depth: How many levels of replacements it is made of, from 1.
        nodes: Nodes of the surface after it.
        tokens: Its own tokens.
        shadowed_tokens: The tokens of the nodes that it replaced.
    """

    generation: int
    entry: Entry
    change: SurfaceReplacement
    originals: int
    depth: int
    nodes: int
    tokens: int
    shadowed_tokens: int


REPLACEMENTS: Final[tuple[Column[Replaced], ...]] = (
    Column(
        name="generation",
        dtype="int64",
        doc="The replacement's number in the log, from 1.",
        read=attrgetter("generation"),
    ),
    SEQ,
    Column(
        name="time",
        dtype="datetime64[ms, UTC]",
        doc="When it was appended, to the millisecond. NaT beyond the year 9999.",
        read=attrgetter("entry.event.time"),
    ),
    Column(
        name="kind",
        dtype="category",
        doc="What took the place, in a word: a summary, or a tool result that was shortened.",
        read=attrgetter("entry.kind"),
        categories=KINDS,
    ),
    NAMED_TURN,
    Column(
        name="start", dtype="int64", doc="First seq of the range that it replaced.", read=attrgetter("change.start")
    ),
    Column(name="end", dtype="int64", doc="Last seq of that range, in surface order.", read=attrgetter("change.end")),
    Column(
        name="shadowed",
        dtype="int64",
        doc="Nodes that it replaced itself.",
        read=lambda row: len(row.change.shadowed_seqs),
    ),
    Column(
        name="originals",
        dtype="int64",
        doc="Appended messages that it stands for, through all the replacements that it replaced.",
        read=attrgetter("originals"),
    ),
    Column(
        name="depth",
        dtype="int64",
        doc="Levels of replacements that it is made of; 1 if it replaced appended messages only.",
        read=attrgetter("depth"),
    ),
    Column(name="nodes", dtype="int64", doc="Nodes of the surface after it.", read=attrgetter("nodes")),
    Column(name="tokens", dtype="int64", doc="Its estimated tokens.", read=attrgetter("tokens")),
    Column(
        name="shadowed_tokens",
        dtype="int64",
        doc="Estimated tokens of the nodes that it replaced.",
        read=attrgetter("shadowed_tokens"),
    ),
    Column(
        name="saved_tokens",
        dtype="int64",
        doc="Estimated tokens by which the surface became smaller; negative where it grew.",
        read=lambda row: row.shadowed_tokens - row.tokens,
    ),
    Column(name="text", dtype="string", doc="The text blocks of the message.", read=attrgetter("entry.text")),
    Column(
        name="shadowed_by",
        dtype="Int64",
        doc="The seq of the later replacement that took it off the surface; NA while it is there.",
        read=attrgetter("entry.shadowed_by"),
    ),
    Column(
        name="on_surface", dtype="bool", doc="Whether it is on the surface now.", read=attrgetter("entry.on_surface")
    ),
)
"""The columns of `replacements`."""


def replacements(session: Logged, *, meter: TokenMeter | None = None) -> pd.DataFrame:
    """The replacements of a session, one row each in log order: what stands for what.

    Args:
        session: Any session, or a history of one.
        meter: What estimates tokens; four characters for a token by default.

    Returns:
        A frame with the columns of `REPLACEMENTS`. `dsh_session.views.frames.columns("replacements")` says what each
        holds.

    Example:
        >>> from dsh_session import samples
        >>> replacements(samples.load("pi-compacted-twice"))[["seq", "shadowed", "originals", "depth", "nodes"]]
            seq  shadowed  originals  depth  nodes
        0   894       288        288      1     67
        1  1589       262        549      2     79
    """
    return frame(REPLACEMENTS, _rows(session, meter or TokenMeter()))


def _rows(session: Logged, meter: TokenMeter) -> Iterator[Replaced]:
    log = log_of(session)
    changes = {change.seq: change for change in log.replacements}
    if not changes:
        return
    originals = originals_of(log.replacements)
    depths: dict[int, int] = {}
    tokens: dict[int, int] = {}
    nodes = generation = 0
    for entry in entries(log):
        seq = entry.event.seq
        if entry.event.surface_op is None:
            continue
        tokens[seq] = tokens_of(entry.event, meter)
        nodes += 1
        change = changes.get(seq)
        if change is None:
            continue
        shadowed = change.shadowed_seqs
        depths[seq] = 1 + max(depths.get(node, 0) for node in shadowed)
        nodes -= len(shadowed)
        generation += 1
        yield Replaced(
            generation,
            entry,
            change,
            originals[seq],
            depths[seq],
            nodes,
            tokens[seq],
            sum(tokens[node] for node in shadowed),
        )
