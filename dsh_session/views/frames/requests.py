"""What each request to a model held: the records of the frames `context` and `usage`.

The surface is followed once. Every node stands for a stretch of the messages that were appended, and a replacement for
the stretches of what it replaced; so the order of the surface is the order of those stretches, and the tokens
before any place are a sum over them, which a tree of partial sums gives in logarithmic time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dsh_session.compaction.meter import UNBELIEVABLE, TokenMeter
from dsh_session.core.event import Replace
from dsh_session.views.describe import kind
from dsh_session.views.frames.headers import parts_of
from dsh_session.views.frames.log import once
from dsh_session.views.frames.payload import line_of
from dsh_session.views.frames.values import count, data_of, number, record, string, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsh_session.core.event import SessionEvent
    from dsh_session.views.frames.log import Log

__all__ = ["KINDS_SENT", "MOST_TOKENS", "Request", "Usage", "next_request", "requests"]

KINDS_SENT: Final = ("user", "assistant", "tool result", "context", "steering", "summary")
"""The kinds of nodes that a request is made of."""

MOST_TOKENS: Final = 10_000_000
"""No model reads or writes as many tokens in one request; a record that says so counts something else."""


class Usage(msgspec.Struct, gc=False):
    """What was recorded of a request.

    Attributes:
        source: Where: on the message, or in the stream.
        input: Input tokens that were not cached.
        output: Output tokens.
        cache_read: Input tokens that were read from a cache.
        cache_write: Input tokens that were written to a cache.
        reasoning: Reasoning tokens.
        is_well_formed: Whether all that is there counts something.
    """

    source: str
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    is_well_formed: bool

    @property
    def total_input(self) -> int | None:
        """All input tokens, cached ones included."""
        return None if self.input is None else self.input + (self.cache_read or 0) + (self.cache_write or 0)


class Request(msgspec.Struct):
    """One request, as far as the log tells what it held.

    Attributes:
        request: Its number, from 1.
        seq: The message that answered it; `None` for one that was not made.
        time: When that was appended.
        turn: The turn that the answer names, else the open one.
        step: The step that the answer names, else the open one.
        provider: Who ran the model.
        model: The model.
        header: The seq of the request header in force.
        system: Tokens of the system prompt.
        tools: Tokens of the tool schemas.
        prefix: Tokens of the message prefix.
        kinds: Tokens of the surface by kind.
        nodes: Nodes of the surface.
        kept: Tokens at the beginning that stood at the beginning of the request before.
        before: Tokens of the request before; `None` for the first one.
        replacements: Replacements since the request before.
        summaries: Those of them that are summaries.
        usage: What was recorded.
    """

    request: int
    seq: int | None
    time: int | None
    turn: int | None
    step: int | None
    provider: str | None
    model: str | None
    header: int | None
    system: int
    tools: int
    prefix: int
    kinds: dict[str, int]
    nodes: int
    kept: int
    before: int | None
    replacements: int
    summaries: int
    usage: Usage | None

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.system + self.tools + self.prefix + sum(self.kinds.values())

    @property
    def sanity(self) -> str | None:
        """What is wrong with the recorded usage."""
        usage = self.usage
        if usage is None:
            return None
        total = usage.total_input
        if not usage.is_well_formed or total is None:
            return "not a count"
        if max(total, usage.output or 0, usage.reasoning or 0) > MOST_TOKENS:
            return "too large"
        return "too small" if total == 0 or total * UNBELIEVABLE < self.total else "ok"


def requests(log: Log, meter: TokenMeter) -> list[Request]:
    """Every request that was answered: an assistant message that entered by appending.

    Args:
        log: The log.
        meter: What estimates tokens.

    Returns:
        One record each, in log order. O(events × log(events)).

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.views.frames.log import log_of
        >>> found = requests(log_of(samples.load("pi-compacted-twice")), TokenMeter())
        >>> len(found), sum(request.replacements > 0 for request in found)
        (484, 2)
    """
    return once(log, ("requests", meter), lambda: [request for request in _walk(log, meter) if request.seq is not None])


def next_request(log: Log, meter: TokenMeter) -> Request:
    """The request that would be made next.

    Args:
        log: The log.
        meter: What estimates tokens.

    Returns:
        Its record; it has no answer, and the route is that of the header in force.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.views.frames.log import log_of
        >>> request = next_request(log_of(samples.load("pi-compacted-twice")), TokenMeter())
        >>> request.request, request.seq, request.nodes
        (485, None, 448)
    """
    *_, last = _walk(log, meter)
    return last


def _walk(log: Log, meter: TokenMeter) -> Iterator[Request]:
    reader = _Reader(meter, sum(event.surface_op is not None for event in log.events))
    for event in log.events:
        if event.type == "assistant/message" and event.surface_op == "append":
            yield reader.answered(event)
        reader.take(event)
    yield reader.request(None, {})


class _Reader:
    """Follows what the next request would hold."""

    def __init__(self, meter: TokenMeter, size: int) -> None:
        self._meter = meter
        self._made = 0
        self._before: int | None = None
        self._opened: SessionEvent | None = None
        self._in_step = False
        self._streamed: Usage | None = None
        # The header, and what of it stands at the beginning of the last request: all of it, or so many tokens.
        self._header: int | None = None
        self._parts: dict[str, Any] = {}
        self._sizes = dict.fromkeys(_PARTS, 0)
        self._sent: dict[str, Any] = {}
        # The surface: of each node its tokens, its kind and its place; the tokens by place and by kind.
        self._nodes: dict[int, tuple[int, str, int]] = {}
        self._by_kind = dict.fromkeys(KINDS_SENT, 0)
        self._sums = _Sums(size)
        self._links: dict[int, int | None] = {}
        self._back: dict[int, int | None] = {}
        self._tail: int | None = None
        self._places = 0
        self._unbroken = 0  # so many places are as they were in the last request
        self._replacements = self._summaries = 0

    def take(self, event: SessionEvent) -> None:
        """Take in the next event."""
        name = event.type
        if event.surface_op is not None:
            self._place(event)
        elif name == "request/header":
            self._header = event.seq
            self._parts = parts_of(event)
            self._sizes = {key: self._meter.estimate_header({key: self._parts.get(key)}) for key in _PARTS}
        elif name == "assistant/chunk":
            if b'"usage"' in line_of(event):
                chunk = record(data_of(event).get("chunk"))
                if chunk.get("type") == "usage":
                    self._streamed = _usage(chunk.get("usage"), "stream")
        elif name in _STARTS:
            # Nearly every answer names its turn and step itself; only for the others these are decoded.
            self._opened, self._in_step = event, name == "step/start"
            self._streamed = None
        elif name == "turn/end":
            self._opened = None
        elif name == "step/end":
            self._in_step = False

    def _place(self, event: SessionEvent) -> None:
        seq, op = event.seq, event.surface_op
        tokens, what = tokens_of(event, self._meter), kind(event)
        if isinstance(op, Replace):
            place = self._nodes[op.start][2]
            self._replacements += 1
            self._summaries += what == "summary"
            self._unbroken = min(self._unbroken, place)
            before, node = self._back[op.start], op.start
            while True:
                after = self._links.pop(node)
                del self._back[node]
                gone, its_kind, its_place = self._nodes.pop(node)
                self._sums.add(its_place, -gone)
                self._by_kind[its_kind] -= gone
                if node == op.end or after is None:
                    break
                node = after
        else:
            place, before, after = self._places, self._tail, None
            self._places += 1
        self._links[seq], self._back[seq] = after, before
        if before is not None:
            self._links[before] = seq
        if after is None:
            self._tail = seq
        else:
            self._back[after] = seq
        self._nodes[seq] = (tokens, what, place)
        self._sums.add(place, tokens)
        self._by_kind[what] += tokens

    def answered(self, event: SessionEvent) -> Request:
        """The request that a message answers, and from now on the one before."""
        found = self.request(event, data_of(event))
        self._made += 1
        self._before = found.total
        self._sent = self._parts
        self._unbroken = self._places
        self._replacements = self._summaries = 0
        self._streamed = None
        return found

    def request(self, event: SessionEvent | None, data: Mapping[str, Any]) -> Request:
        """What a request would hold now."""
        route = record(data.get("provenance") if event is not None else self._parts.get("config"))
        turn, step = number(data.get("turn")), number(data.get("step"))
        if self._opened is not None and (turn is None or step is None):
            opened = data_of(self._opened)
            turn = number(opened.get("turn")) if turn is None else turn
            step = number(opened.get("step")) if step is None and self._in_step else step
        return Request(
            self._made + 1,
            None if event is None else event.seq,
            None if event is None else event.time,
            turn,
            step,
            string(route.get("provider")),
            string(route.get("model")),
            self._header,
            self._sizes["system"],
            self._sizes["tools"],
            self._sizes["messagePrefix"],
            dict(self._by_kind),
            len(self._nodes),
            0 if self._before is None else self._kept(),
            self._before,
            self._replacements,
            self._summaries,
            _usage(data.get("usage"), "message") or (None if event is None else self._streamed),
        )

    def _kept(self) -> int:
        kept = 0
        for key in _PARTS:
            if self._sent.get(key) != self._parts.get(key):
                return kept
            kept += self._sizes[key]
        return kept + self._sums.before(self._unbroken)


_STARTS: Final = frozenset({"turn/start", "step/start"})
_PARTS: Final = ("system", "tools", "messagePrefix")
_COUNTS: Final = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def _usage(value: object, source: str) -> Usage | None:
    if value is None:
        return None
    usage = record(value)
    counts: dict[str, int | None] = dict.fromkeys(_COUNTS)
    strange = False
    for key in _COUNTS:
        given = usage.get(key)
        if given is not None:
            counts[key] = count(given)
            strange = strange or counts[key] is None
    return Usage(
        source,
        counts["inputTokens"],
        counts["outputTokens"],
        counts["cacheReadTokens"],
        counts["cacheWriteTokens"],
        counts["reasoningTokens"],
        not strange and counts["inputTokens"] is not None,
    )


class _Sums:
    """Numbers at places, and the sums of those before a place (Fenwick's tree)."""

    def __init__(self, size: int) -> None:
        self._tree = [0] * (size + 1)

    def add(self, place: int, value: int) -> None:
        """Add to the number at a place."""
        at = place + 1
        while at < len(self._tree):
            self._tree[at] += value
            at += at & -at

    def before(self, place: int) -> int:
        """The sum of the numbers at earlier places."""
        total = 0
        while place:
            total += self._tree[place]
            place &= place - 1
        return total
