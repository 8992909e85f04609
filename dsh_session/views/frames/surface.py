"""The frame of the surface: one row per node, in the order in which the model reads them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from dsh_session.views.describe import KINDS
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import Entry, entries, originals_of
from dsh_session.views.frames.log import log_of
from dsh_session.views.frames.places import NAMED_TURN, SEQ

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from dsh_session.views.frames.log import Log, Logged

__all__ = ["SURFACE", "Node", "surface"]

_TYPES: Final = ("user/message", "assistant/message", "tool/result", "context/message", "steering/message")


class Node(msgspec.Struct, gc=False):
    """A node of the surface with its neighbours and what it stands for.

    Attributes:
        position: Its place, from 0 at the head.
        prev: The seq before it.
        next: The seq after it.
        entry: Its event.
        shadows: How many nodes it replaced itself.
        originals: How many appended messages it stands for, through all replacements; 1 if it replaced none.
    """

    position: int
    prev: int | None
    next: int | None
    entry: Entry
    shadows: int
    originals: int


def _role(node: Node) -> str | None:
    entry = node.entry
    if entry.event.type != "assistant/message":
        return "user"
    return "assistant" if entry.payload.content else None


def _start(node: Node) -> int | None:
    op = node.entry.event.surface_op
    return None if op is None or isinstance(op, str) else op.start


def _end(node: Node) -> int | None:
    op = node.entry.event.surface_op
    return None if op is None or isinstance(op, str) else op.end


SURFACE: Final[tuple[Column[Node], ...]] = (
    Column(name="position", dtype="int64", doc="The node's place, from 0 at the head.", read=attrgetter("position")),
    SEQ,
    Column(name="prev", dtype="Int64", doc="The seq before it; NA at the head.", read=attrgetter("prev")),
    Column(name="next", dtype="Int64", doc="The seq after it; NA at the tail.", read=attrgetter("next")),
    Column(name="kind", dtype="category", doc="What it is in a word.", read=attrgetter("entry.kind"), categories=KINDS),
    Column(
        name="type",
        dtype="category",
        doc="The event's type, as the log spells it.",
        read=attrgetter("entry.type"),
        categories=_TYPES,
    ),
    Column(
        name="role",
        dtype="category",
        doc="The role of the message that the model gets; NA where an empty assistant message gives none.",
        read=_role,
        categories=("user", "assistant"),
    ),
    NAMED_TURN,
    Column(
        name="step",
        dtype="Int64",
        doc="The step that it names, else the one that was open.",
        read=attrgetter("entry.step"),
    ),
    Column(name="tool", dtype="string", doc="On a tool result, the tool of its call.", read=attrgetter("entry.tool")),
    Column(name="text", dtype="string", doc="The text blocks of the message.", read=attrgetter("entry.text")),
    Column(
        name="chars",
        dtype="Int64",
        doc="Characters of all its texts, reasoning and tool call arguments included.",
        read=attrgetter("entry.chars"),
    ),
    Column(name="calls", dtype="int64", doc="Tool calls in the message.", read=attrgetter("entry.calls")),
    Column(name="replace_start", dtype="Int64", doc="First seq of the range that it replaced.", read=_start),
    Column(name="replace_end", dtype="Int64", doc="Last seq of that range, in surface order.", read=_end),
    Column(name="shadows", dtype="int64", doc="Nodes that it replaced itself.", read=attrgetter("shadows")),
    Column(
        name="originals",
        dtype="int64",
        doc="Appended messages that it stands for, through all replacements; 1 if it replaced none.",
        read=attrgetter("originals"),
    ),
)
"""The columns of `surface`."""


def surface(session: Logged, *, at: int | None = None) -> pd.DataFrame:
    """The surface of a session, one row per node from head to tail, now or at any moment.

    Args:
        session: Any session, or a history of one.
        at: The seq after which to look; -1 for the beginning, `None` for now.

    Returns:
        A frame with the columns of `SURFACE`; row labels are positions. `dsh_session.views.frames.columns("surface")`
        says what each holds.

    Raises:
        SurfaceError: `RANGE_NOT_FOUND` when there is no event `at`.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> def say(text, op):
        ...     data = {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}}
        ...     return session.append(
        ...         "user/message", data, surface_op=op, source_event_seqs=None if op == "append" else [0, 1]
        ...     )
        >>> _ = say("one", "append"), say("two", "append"), say("both", {"op": "replace", "start": 0, "end": 1})
        >>> _ = say("three", "append")
        >>> surface(session)[["seq", "prev", "next", "text", "originals"]]
           seq  prev  next   text  originals
        0    2  <NA>     3   both          2
        1    3     2  <NA>  three          1
        >>> surface(session, at=1)["text"].to_list()
        ['one', 'two']
    """
    return frame(SURFACE, _nodes(log_of(session, at=at)))


def _nodes(log: Log) -> Iterator[Node]:
    nodes = log.nodes
    wanted = frozenset(nodes)
    shadows = {replacement.seq: len(replacement.shadowed_seqs) for replacement in log.replacements}
    originals = originals_of(log.replacements)
    on_surface = {entry.event.seq: entry for entry in entries(log) if entry.event.seq in wanted}
    for position, seq in enumerate(nodes):
        before = nodes[position - 1] if position else None
        after = nodes[position + 1] if position + 1 < len(nodes) else None
        yield Node(position, before, after, on_surface[seq], shadows.get(seq, 0), originals.get(seq, 1))
