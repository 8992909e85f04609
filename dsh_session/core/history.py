"""The surface at every moment: the replacement forest.

A replacement is the parent of the nodes that it shadows. The current surface is the forest's
roots in order; the surface at an earlier moment is what is left when every root that was born
later is opened. Now and then the roots of the time are kept, and opening starts from the next ones:
a summary of a summary of a summary is not opened through all its levels. So time travel costs the
size of its answer, however long the log is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from dsh_session.core import display
from dsh_session.core.errors import SurfaceError
from dsh_session.core.event import SessionEvent
from dsh_session.core.frozen import FrozenDict, FrozenList
from dsh_session.core.messages import derive_event_message, kind_of
from dsh_session.core.request import fold_request_header
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import Links, SurfaceReplacement, surface_parts
from dsh_session.core.trace import TracePoint, trace

Events = Iterable[SessionEvent | dict[str, Any]]


class Lifetime(NamedTuple):
    """When a node was on the surface.

    Attributes:
        entered: The seq that put it there, which is its own.
        left: Seq of the replacement that shadowed it; None while it is there.
    """

    entered: int
    left: int | None


class SurfaceDiff(NamedTuple):
    """How the surface changed between two moments; seqs in surface order.

    Attributes:
        kept: On the surface at both.
        entered: At the second only.
        left: At the first only.
    """

    kept: tuple[int, ...]
    entered: tuple[int, ...]
    left: tuple[int, ...]


class ModelRequest(NamedTuple):
    """All that a model got.

    Attributes:
        config: Route and sampling settings; None before the first ``request/header``.
        system: The system prompt, if there was one.
        tools: The tool schemas.
        message_prefix: The messages before the derived history.
        messages: The derived history.
    """

    config: FrozenDict | None
    system: str | None
    tools: FrozenList | tuple[()]
    message_prefix: FrozenList | tuple[()]
    messages: list[FrozenDict]


class SurfaceHistory:
    """A log's surface at every moment.

    Built in one pass. Made of a `Session`, it follows it: each call takes in what was appended
    since the last one. A seq given as a moment means "after that event"; -1 is the beginning.

    Example:
        >>> from dsh_session import Replace, Session, SurfaceHistory
        >>> session = Session("s", clock=lambda: 0)
        >>> data = {"content": [], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", data, surface_op="append")
        >>> event = session.append("user/message", data, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> history = SurfaceHistory(session)
        >>> history.at(2), history.at(3), history.originals(3), history.lifetime(0)
        ((0, 1, 2), (3, 2), (0, 1), Lifetime(entered=0, left=3))
    """

    def __init__(self, events: Session | Events) -> None:
        """Take a session, or events or wire dicts from seq 0 on.

        Raises:
            SurfaceError: For a log that breaks a surface rule; see `dsh_session.fold_surface`.
        """
        self._session = events if isinstance(events, Session) else None
        self._events: list[SessionEvent | dict[str, Any]] = []
        self._links = Links()
        self._replacements: dict[int, SurfaceReplacement] = {}
        self._shadowed_by: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._appended: list[int] = []
        self._headers: list[int] = []
        self._kept: list[tuple[int, list[int]]] = []
        self._since_kept = 0
        self.extend(events.events if isinstance(events, Session) else events)

    def extend(self, events: Events) -> None:
        """Take in the events that follow; O(their number).

        Raises:
            SurfaceError: For the first one that breaks a surface rule; those before it are in.
        """
        for event in events:
            self._take(event)

    def _take(self, event: SessionEvent | dict[str, Any]) -> None:
        seq = len(self._events)
        kind, own, op, sources = surface_parts(event)
        if own != seq or type(own) is bool:
            raise SurfaceError("LOG_NOT_CONTIGUOUS", f"event {seq} has seq {name_of(own)}", index=seq)
        if isinstance(event, SessionEvent) and event.surface_op is not None:
            plan = self._links.replayed(seq, event.surface_op)
        else:
            checked = self._links.plan(seq, kind if isinstance(kind, str) else "", op, sources)
            if checked is None:
                if kind == "request/header":
                    self._headers.append(seq)
                self._events.append(event)
                return
            plan = checked
        self._links.apply(plan)
        shadowed = plan[3]
        if shadowed is None:
            self._appended.append(seq)
        else:
            self._replacements[seq] = SurfaceReplacement(seq, int(op["start"]), int(op["end"]), shadowed)
            self._depths[seq] = 1 + max(self._depths.get(node, 0) for node in shadowed)
            for node in shadowed:
                self._shadowed_by[node] = seq
        self._events.append(event)
        self._keep(seq, 0 if shadowed is None else len(shadowed))

    def _keep(self, seq: int, shadowed: int) -> None:
        """Keep the roots as often as nodes came and went: that costs each of them one place in a list."""
        self._since_kept += 1 + shadowed
        if shadowed and self._since_kept >= self._links.ends[2]:
            # The links may append later nodes to this list; what is later is cut off by its rank.
            self._kept.append((seq, self._links.order()))
            self._since_kept = 0

    def _follow(self) -> None:
        if self._session is not None and self._session.seq != len(self._events):
            for event in self._session.events[len(self._events) :]:
                self._take(event)

    def __len__(self) -> int:
        """Give the number of events."""
        self._follow()
        return len(self._events)

    @property
    def events(self) -> tuple[SessionEvent | dict[str, Any], ...]:
        """The events as they were given."""
        self._follow()
        return tuple(self._events)

    # The forest.

    @property
    def replacements(self) -> list[SurfaceReplacement]:
        """Every replacement with what it shadowed, in log order."""
        self._follow()
        return list(self._replacements.values())

    def shadowed_by(self, seq: int) -> int | None:
        """Give the replacement that took a node off the surface, or None while it is there."""
        self._require_node(seq)
        return self._shadowed_by.get(seq)

    def children(self, seq: int) -> tuple[int, ...]:
        """Give the nodes that a replacement shadowed, in surface order; none for other nodes."""
        self._require_node(seq)
        replacement = self._replacements.get(seq)
        return () if replacement is None else tuple(replacement.shadowed_seqs)

    def originals(self, seq: int) -> tuple[int, ...]:
        """Give everything that a node stands for, down to the first events, in order.

        A node that replaced nothing stands for itself.
        """
        self._require_node(seq)
        originals = []
        stack = [iter([seq])]
        while stack:
            for node in stack[-1]:
                replacement = self._replacements.get(node)
                if replacement is not None:
                    stack.append(iter(replacement.shadowed_seqs))
                    break
                originals.append(node)
            else:
                stack.pop()
        return tuple(originals)

    def depth(self, seq: int) -> int:
        """Give how many levels of replacements stand below a node; 0 for one that replaced nothing."""
        self._require_node(seq)
        return self._depths.get(seq, 0)

    def lifetime(self, seq: int) -> Lifetime:
        """Give when a node entered the surface and what shadowed it."""
        self._require_node(seq)
        return Lifetime(seq, self._shadowed_by.get(seq))

    # Moments.

    def at(self, seq: int) -> tuple[int, ...]:
        """Give the surface's seqs after an event, in model-visible order.

        Args:
            seq: The event's seq; -1 for the beginning.

        Raises:
            SurfaceError: ``RANGE_NOT_FOUND`` when there is no such event.
        """
        self._require_moment(seq)
        at = bisect_left(self._kept, seq, key=itemgetter(0))
        roots = self._kept[at][1] if at < len(self._kept) else self._links.order()
        nodes = []
        stack = [iter(self._born(roots, seq))]
        while stack:
            for node in stack[-1]:
                if node <= seq:
                    nodes.append(node)
                else:
                    stack.append(iter(self._born(self._replacements[node].shadowed_seqs, seq)))
                    break
            else:
                stack.pop()
        return tuple(nodes)

    def _born(self, nodes: list[int], moment: int) -> list[int]:
        """Cut off the nodes of which no part was there yet: ranks rise along the surface."""
        return nodes[: bisect_right(nodes, moment, key=self._links.rank)]

    def messages_at(self, seq: int) -> list[FrozenDict]:
        """Give the messages that a model would have got after an event."""
        messages = (derive_event_message(self._events[node]) for node in self.at(seq))
        return [message for message in messages if message is not None]

    def request_at(self, seq: int) -> ModelRequest:
        """Give all that a model would have got after an event: header, prefix and messages."""
        self._require_moment(seq)
        at = bisect_right(self._headers, seq)
        header = fold_request_header([self._events[self._headers[at - 1]]]) if at else None
        header = header or {}
        return ModelRequest(
            header.get("config"),
            header.get("system"),
            header.get("tools", ()),
            header.get("messagePrefix", ()),
            self.messages_at(seq),
        )

    def transcript(self) -> tuple[int, ...]:
        """Give what a person saw: the seqs of everything that entered by appending, in order."""
        self._follow()
        return tuple(self._appended)

    def diff(self, a: int, b: int) -> SurfaceDiff:
        """Compare the surfaces after two events."""
        before, after = self.at(a), self.at(b)
        in_before, in_after = set(before), set(after)
        return SurfaceDiff(
            tuple(node for node in after if node in in_before),
            tuple(node for node in after if node not in in_before),
            tuple(node for node in before if node not in in_after),
        )

    def requests(self) -> list[int]:
        """Give the seqs of the assistant messages that entered by appending: one answered request each."""
        self._follow()
        return [seq for seq in self._appended if kind_of(self._events[seq]) == "assistant/message"]

    def trace(self, text: str) -> list[TracePoint]:
        """Follow a text through every request; see `dsh_session.core.trace.trace`."""
        return trace(self, text)

    # Guards.

    def _require_node(self, seq: int) -> None:
        self._follow()
        known = type(seq) is int and 0 <= seq < len(self._events)
        if not known or (seq not in self._replacements and not self._is_appended(seq)):
            raise SurfaceError("RANGE_NOT_FOUND", f"seq {name_of(seq)} was never a node of the surface")

    def _is_appended(self, seq: int) -> bool:
        at = bisect_right(self._appended, seq)
        return at > 0 and self._appended[at - 1] == seq

    def _require_moment(self, seq: int) -> None:
        self._follow()
        if type(seq) is not int or not -1 <= seq < len(self._events):
            raise SurfaceError(
                "RANGE_NOT_FOUND",
                f"there is no moment {name_of(seq)}: the log has {len(self._events)} events, -1 is its start",
            )

    def __repr__(self) -> str:
        """Name events and replacements."""
        return f"<SurfaceHistory {len(self)} events, {len(self._replacements)} replacements>"

    def _repr_html_(self) -> str | None:
        return display.html(self)
