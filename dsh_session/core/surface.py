"""The surface: the linked list of message-producing events, and its one transition.

`Links` is the machine: `Links.plan` checks a candidate event and says what would change, or
refuses; `Links.apply` does it. Live append, seeding and `fold_surface` all go through this pair.
`SessionSurface` is what others see of it, read-only.

The list is held as ``prev``/``next`` links in lists indexed by seq. A node also has a *rank*:
its own seq when it was appended, the rank of its range's start when it replaced one. Ranks rise
along the surface, which makes "does start stand before end?" a comparison and finding a node's
position a bisection; no question needs a walk over the whole list.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from dsh_session.core import display
from dsh_session.core.errors import SurfaceError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.lossless import MAX_SAFE_INTEGER
from dsh_session.core.shapes import name_of
from dsh_session.core.view import FixedView
from dsh_session.core.vocabulary import SURFACE_TYPES

UNSET: Any = msgspec.UNSET
"""Stands for a key that is not there, where None would be a null that is."""

_NONE = -1  # no neighbour on this side
_OFF = -2  # not on the surface
_INTS = {int}
_MANY_SPLICES = 64  # one splice costs about as much as walking over this many nodes


class SurfaceNode(NamedTuple):
    """One node of the linked list.

    Attributes:
        seq: The event's seq.
        prev: Seq of the node before it; None at the head.
        next: Seq of the node after it; None at the tail.
    """

    seq: int
    prev: int | None
    next: int | None


class SurfaceReplacement(NamedTuple):
    """One replacement, as `fold_surface` saw it.

    Attributes:
        seq: The event that replaced.
        start: The declared first seq of the range.
        end: The declared last seq of the range.
        shadowed_seqs: The nodes it took the place of, in surface order.
    """

    seq: int
    start: int
    end: int
    shadowed_seqs: list[int]


class SurfaceFold(NamedTuple):
    """A whole log, folded.

    Attributes:
        nodes: The surface's seqs in model-visible order.
        replacements: The replacements in log order.
    """

    nodes: list[int]
    replacements: list[SurfaceReplacement]


Plan = tuple[int, int, int, list[int] | None, int, int]
"""What an accepted event changes: its seq, its neighbours to be on the left and right, what it
shadows (None for an append), and the ranks of its range's first and last node."""


class Links:
    """The linked list and the checks that guard it.

    Attributes:
        ends: Head, tail, count, generation, and the log's length after the last event taken in:
            one value, so that it is never half-changed.
    """

    __slots__ = ("_next", "_order", "_prev", "_ranks", "_splices", "ends")

    def __init__(self) -> None:
        """Start with an empty surface."""
        self.ends = (_NONE, _NONE, 0, 0, 0)
        self._prev: list[int] = []
        self._next: list[int] = []
        self._ranks: dict[int, int] = {}
        self._order: list[int] = []
        self._splices: list[tuple[int, int, int]] = []

    def copy(self) -> "Links":
        """Give an independent copy; costs a pointer per event."""
        twin = Links()
        twin.ends = self.ends
        twin._prev, twin._next = self._prev.copy(), self._next.copy()
        twin._ranks, twin._order = self._ranks.copy(), self._order.copy()
        twin._splices = self._splices.copy()
        return twin

    # The transition.

    def plan(self, seq: int, kind: str, op: Any, sources: Any) -> Plan | None:
        """Check a candidate against the surface rules.

        Args:
            seq: The candidate's seq, known to be the next one.
            kind: Its event type.
            op: Its ``surfaceOp`` as a plain JSON value, `UNSET` where there is none.
            sources: Its ``sourceEventSeqs`` likewise.

        Returns:
            What to apply, or None for a log-only event.

        Raises:
            SurfaceError: For the first rule that it breaks.
        """
        if kind not in SURFACE_TYPES:
            if op is not UNSET or sources is not UNSET:
                raise SurfaceError(
                    "SURFACE_NOT_ELIGIBLE",
                    f"seq {seq}: {kind!r} is log-only and takes neither surfaceOp nor sourceEventSeqs",
                )
            return None
        if type(op) is str and op == "append":
            if sources is not UNSET:
                self._check_sources(seq, kind, sources)
            return seq, self.ends[1], _NONE, None, seq, seq
        if op is UNSET:
            raise SurfaceError(
                "SURFACE_MARKER_REQUIRED",
                f'seq {seq}: {kind!r} produces a message and needs surface_op: "append", or Replace(start, end)',
            )
        start, end = _range_of(seq, op)
        next_ = self._next
        if start >= len(next_) or next_[start] == _OFF:
            raise self._not_found(f"seq {seq}: surfaceOp.start {start}")
        if end >= len(next_) or next_[end] == _OFF:
            raise self._not_found(f"seq {seq}: surfaceOp.end {end}")
        first, last = self._ranks.get(start, start), self._ranks.get(end, end)
        if first > last:
            raise SurfaceError(
                "RANGE_REVERSED", f"seq {seq}: surfaceOp.start {start} stands after end {end} on the surface; swap them"
            )
        cited = self._check_sources(seq, kind, sources) if sources is not UNSET else set()
        shadowed = [start]
        at = start
        while at != end:
            at = next_[at]
            shadowed.append(at)
        if not cited.issuperset(shadowed):
            named = [node for node in shadowed if node not in cited]
            raise SurfaceError(
                "PROVENANCE_MISSING",
                f"seq {seq}: a replacement cites every node it shadows; sourceEventSeqs lacks {_listed(named)}",
            )
        return seq, self._prev[start], next_[end], shadowed, first, last

    def replayed(self, seq: int, op: "str | Replace") -> Plan:
        """Give the plan of an event that was accepted at this very state before."""
        if not isinstance(op, Replace):
            return seq, self.ends[1], _NONE, None, seq, seq
        start, end = op.start, op.end
        shadowed = list(self._between(start, end))
        return seq, self._prev[start], self._next[end], shadowed, self.rank(start), self.rank(end)

    def apply(self, plan: Plan) -> None:
        """Change the list as planned. Doing it again, after an interruption, changes nothing more."""
        seq, left, right, shadowed, rank, last_rank = plan
        if shadowed is None:
            self.push(seq)
            return
        head, tail, count, generation, _ = self.ends
        prev, next_ = self._prev, self._next
        _reach(prev, seq)
        _reach(next_, seq)
        if not self._splices:
            self._catch_up()
        self._ranks[seq] = rank
        self._splices.append((rank, last_rank, seq))
        for node in shadowed:
            next_[node] = prev[node] = _OFF
        prev[seq] = left
        next_[seq] = right
        if left == _NONE:
            head = seq
        else:
            next_[left] = seq
        if right == _NONE:
            tail = seq
        else:
            prev[right] = seq
        self.ends = (head, tail, count - len(shadowed) + 1, generation + 1, seq + 1)

    def push(self, seq: int) -> None:
        """Put a node that may enter by appending, which the caller knows, at the tail."""
        head, tail, count, generation, _ = self.ends
        prev, next_ = self._prev, self._next
        gap = seq - len(prev)
        if gap >= 0 and len(next_) == len(prev):
            if gap:
                unused = [_OFF] * gap
                prev += unused
                next_ += unused
            prev.append(tail)
            next_.append(_NONE)
        else:  # what an interruption left half done
            _reach(prev, seq)
            _reach(next_, seq)
            prev[seq] = tail
            next_[seq] = _NONE
        if self._splices:
            self._splices.append((seq, seq, seq))
        if tail == _NONE:
            head = seq
        else:
            next_[tail] = seq
        self.ends = (head, seq, count + 1, generation, seq + 1)

    def _check_sources(self, seq: int, kind: str, sources: Any) -> set[Any]:
        if not isinstance(sources, list):
            raise SurfaceError(
                "PROVENANCE_NOT_ARRAY", f"seq {seq}: sourceEventSeqs must be a list, not {name_of(sources)}"
            )
        if not sources:
            if kind != "assistant/message":
                raise SurfaceError(
                    "PROVENANCE_EMPTY",
                    f"seq {seq}: sourceEventSeqs of {kind!r} is empty; leave it out, only assistant/message may say []",
                )
            return set()
        if set(map(type, sources)) != _INTS or min(sources) < 0 or max(sources) > MAX_SAFE_INTEGER:
            wrong = [(at, source) for at, source in enumerate(sources) if not is_seq(source)]
            if wrong:
                at, source = wrong[0]
                raise SurfaceError(
                    "PROVENANCE_NOT_SEQ", f"seq {seq}: sourceEventSeqs[{at}] is {name_of(source)}, no seq"
                )
        distinct = set(sources)
        if len(distinct) != len(sources):
            counts = Counter(sources)
            twice = next(source for source in sources if counts[source] > 1)
            raise SurfaceError("PROVENANCE_DUPLICATE", f"seq {seq}: sourceEventSeqs names {twice} twice")
        if max(sources) >= seq:
            late = next(source for source in sources if source >= seq)
            raise SurfaceError(
                "PROVENANCE_NOT_EARLIER",
                f"seq {seq}: sourceEventSeqs names {late}, which is not earlier than the event",
            )
        return distinct

    # Reading.

    def holds(self, seq: Any) -> bool:
        """Tell whether a seq is on the surface now; O(1)."""
        return bool(0 <= seq < len(self._next) and self._next[seq] != _OFF)

    def rank(self, seq: int) -> int:
        """Give a node's rank; it outlives the node."""
        return self._ranks.get(seq, seq)

    def node(self, seq: int) -> SurfaceNode:
        """Give one node; O(1)."""
        if type(seq) is not int or not self.holds(seq):
            raise self._not_found(f"seq {name_of(seq)}")
        left, right = self._prev[seq], self._next[seq]
        return SurfaceNode(seq, None if left == _NONE else left, None if right == _NONE else right)

    def order(self) -> list[int]:
        """Give the seqs in surface order, in a list that only ever grows until the next replacement."""
        splices = self._splices
        if splices:
            if len(splices) > _MANY_SPLICES and len(splices) * _MANY_SPLICES > self.ends[2]:
                self._order = list(self._between(self.ends[0], self.ends[1]))
            else:
                order = self._order.copy()
                for splice in splices:
                    self.splice(order, splice)
                self._order = order
            self._splices = []
        self._catch_up()
        return self._order

    def splice(self, seqs: list[int], splice: tuple[int, int, int]) -> tuple[int, int]:
        """Put a replacement into a list of seqs in surface order; O(log n) and one shift.

        Returns:
            The positions from and to which the list was replaced.
        """
        first, last, seq = splice
        start = bisect_left(seqs, first, key=self.rank)
        stop = bisect_right(seqs, last, lo=start, key=self.rank)
        seqs[start:stop] = [seq]
        return start, stop

    def _catch_up(self) -> None:
        """Take appended nodes into the cached order; costs O(1) per append, whenever it runs."""
        order = self._order
        after = self._next[order[-1]] if order else self.ends[0]
        while after >= 0:
            order.append(after)
            after = self._next[after]

    def _between(self, start: int, end: int) -> Iterator[int]:
        if start == _NONE:
            return
        at = start
        while at != end:
            yield at
            at = self._next[at]
        yield at

    def _not_found(self, what: str) -> SurfaceError:
        head, tail, count, _, _ = self.ends
        summary = f"{count} nodes, {head} to {tail}" if count else "it is empty"
        return SurfaceError("RANGE_NOT_FOUND", f"{what} is not on the surface ({summary})")


def _reach(links: list[int], seq: int) -> None:
    """Make a list of links long enough for a seq; what lies between are log-only events."""
    gap = seq + 1 - len(links)
    if gap > 0:
        links.extend([_OFF] * gap)


def is_seq(value: Any) -> bool:
    """Tell whether a value is a seq or time: a non-negative integer, an integral float included."""
    if type(value) is float:
        return value.is_integer() and 0 <= value <= MAX_SAFE_INTEGER
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER


def _range_of(seq: int, op: Any) -> tuple[int, int]:
    if isinstance(op, dict) and len(op) == 3 and op.get("op") == "replace":
        start, end = op.get("start"), op.get("end")
        if type(start) is int and type(end) is int and 0 <= start <= MAX_SAFE_INTEGER and 0 <= end <= MAX_SAFE_INTEGER:
            return start, end
    if not isinstance(op, dict):
        raise SurfaceError("BAD_SURFACE_OP", f'seq {seq}: surfaceOp must be "append" or an object, not {name_of(op)}')
    if op.keys() != {"op", "start", "end"} or op["op"] != "replace" or not is_seq(op["start"]) or not is_seq(op["end"]):
        raise SurfaceError(
            "BAD_REPLACE_SHAPE",
            f'seq {seq}: surfaceOp must be exactly {{"op": "replace", "start": seq, "end": seq}}, not {_cut(repr(op))}',
        )
    return int(op["start"]), int(op["end"])


def _cut(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"


def _listed(seqs: list[int]) -> str:
    shown = ", ".join(map(str, seqs[:10]))
    return shown if len(seqs) <= 10 else f"{shown} and {len(seqs) - 10} more"


class SessionSurface:
    """A session's surface, read-only and live (the seeds' ``SessionSurface``).

    It iterates over `SurfaceNode`s from head to tail; ``len`` counts them; ``seq in surface``
    asks for one.

    Example:
        >>> from dsh_session import Replace, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> data = {"content": [], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", data, surface_op="append")
        >>> event = session.append("user/message", data, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> session.surface.nodes, session.surface.node(3)
        ((3, 2), SurfaceNode(seq=3, prev=None, next=2))
    """

    __slots__ = ("__links", "__lock")

    def __init__(self, links: Any, lock: Any) -> None:
        """Take a function that gives the up-to-date links, and what guards them."""
        if hasattr(self, "_SessionSurface__links"):
            raise TypeError("the surface cannot be changed: it follows from the log")
        object.__setattr__(self, "_SessionSurface__links", links)
        object.__setattr__(self, "_SessionSurface__lock", lock)

    __links: Any
    __lock: Any

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: the surface changes by appending events alone."""
        raise TypeError(f"the surface cannot be changed: {name} follows from the log; append an event instead")

    @property
    def nodes(self) -> FixedView[int]:
        """The seqs in model-visible order, as an immutable sequence of fixed length."""
        with self.__lock:
            order = self.__links().order()
            return FixedView(order, len(order))

    @property
    def replace_generation(self) -> int:
        """How many replacements were committed."""
        generation: int = self.__links().ends[3]
        return generation

    @property
    def head(self) -> int | None:
        """Seq of the first node, or None."""
        head: int = self.__links().ends[0]
        return None if head == _NONE else head

    @property
    def tail(self) -> int | None:
        """Seq of the last node, or None."""
        tail: int = self.__links().ends[1]
        return None if tail == _NONE else tail

    def node(self, seq: int) -> SurfaceNode:
        """Give one node with its neighbours.

        Args:
            seq: A seq that is on the surface now.

        Raises:
            SurfaceError: ``RANGE_NOT_FOUND`` when it is not.
        """
        with self.__lock:
            node: SurfaceNode = self.__links().node(seq)
            return node

    def __len__(self) -> int:
        """Give the number of nodes."""
        count: int = self.__links().ends[2]
        return count

    def __contains__(self, seq: object) -> bool:
        """Tell whether a seq is on the surface now."""
        return type(seq) is int and self.__links().holds(seq)

    def __iter__(self) -> Iterator[SurfaceNode]:
        """Iterate over the nodes as they are now, from head to tail."""
        before: int | None = None
        seq: int | None = None
        for after in self.nodes:
            if seq is not None:
                yield SurfaceNode(seq, before, after)
            before, seq = seq, after
        if seq is not None:
            yield SurfaceNode(seq, before, None)

    def __repr__(self) -> str:
        """Say how many nodes and replacements there are."""
        return f"<SessionSurface {len(self)} nodes, {self.replace_generation} replacements>"

    def _repr_html_(self) -> str | None:
        return display.html(self)


def fold_surface(events: Iterable[SessionEvent | dict[str, Any]]) -> SurfaceFold:
    """Replay the surface operations of a whole log (the seeds' ``foldSurface``).

    Args:
        events: Events or wire dicts, from seq 0 on.

    Returns:
        The final nodes and every replacement with what it shadowed.

    Raises:
        SurfaceError: ``LOG_NOT_CONTIGUOUS`` or the surface rule that an event breaks; `index` is
            the event's position.

    Example:
        >>> from dsh_session import Replace
        >>> message = {"type": "user/message", "time": 0, "data": {}}
        >>> log = [
        ...     {**message, "seq": 0, "surfaceOp": "append"},
        ...     {**message, "seq": 1, "surfaceOp": Replace(0, 0), "sourceEventSeqs": [0]},
        ... ]
        >>> fold_surface(log)
        SurfaceFold(nodes=[1], replacements=[SurfaceReplacement(seq=1, start=0, end=0, shadowed_seqs=[0])])
    """
    links = Links()
    replacements = []
    event: Any
    for index, event in enumerate(events):
        if event.__class__ is dict:
            kind, own_seq = event.get("type"), event.get("seq")
            op, sources = event.get("surfaceOp", UNSET), event.get("sourceEventSeqs", UNSET)
        else:
            kind, own_seq, op, sources = surface_parts(event)
        if own_seq != index or type(own_seq) is bool:
            raise SurfaceError("LOG_NOT_CONTIGUOUS", f"event {index} has seq {name_of(own_seq)}", index=index)
        if not isinstance(kind, str):
            kind = ""
        try:
            plan = links.plan(index, kind, op, sources)
        except SurfaceError as error:
            raise error.at(index=index) from None
        if plan is not None:
            links.apply(plan)
            shadowed = plan[3]
            if shadowed is not None:
                replacements.append(SurfaceReplacement(index, int(op["start"]), int(op["end"]), shadowed))
    return SurfaceFold(links.order(), replacements)


def surface_parts(event: Any) -> tuple[Any, Any, Any, Any]:
    """Give type, seq, surfaceOp and sourceEventSeqs of an event or its wire form."""
    if isinstance(event, SessionEvent):
        op: Any = event.surface_op
        if op is None:
            return event.type, event.seq, UNSET, UNSET
        sources = event.source_event_seqs
        return event.type, event.seq, op, UNSET if sources is None else list(sources)
    if not isinstance(event, dict):
        raise SurfaceError("LOG_NOT_CONTIGUOUS", f"{name_of(event)} is no event")
    return event.get("type"), event.get("seq"), event.get("surfaceOp", UNSET), event.get("sourceEventSeqs", UNSET)
