"""How many tokens the next request of a session would take.

Every node is estimated once, when first seen. Where the log records what a request really took,
that is preferred: the total is the recorded input of the latest request of the same route, plus
what the estimates have grown by since, or minus what they have shrunk by.
"""

from functools import partial
from typing import Any, NamedTuple

from dsh_session.compaction.counters import Counter, heuristic
from dsh_session.compaction.follower import Followed, Follower
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.core.errors import CompactionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.lossless import encode
from dsh_session.core.messages import derive_event_message
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import Plan
from dsh_session.core.turns import whole
from dsh_session.core.view import FixedView

MESSAGE_TOKENS = 4
"""What a message costs besides its blocks: its role and what separates it from the next."""

BLOCK_TOKENS = 4
"""What a content block, or a tool's schema, costs besides its texts: its type and its braces."""

UNBELIEVABLE = 8
"""A recorded input below this fraction of the estimate is not what the request took."""

_INPUT = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")

Route = tuple[Any, Any]
"""Provider and model."""


class RequestError(NamedTuple):
    """How far the estimate of one request was off.

    Attributes:
        seq: The assistant message that answered it.
        estimated: Tokens estimated for header and history.
        recorded: Input tokens that the provider counted, cached ones included.
        error: `estimated` less `recorded`.
        ratio: `estimated` by `recorded`; None where nothing was recorded but zero.
        is_believed: Whether the meter relies on the record; see `UNBELIEVABLE`.
    """

    seq: int
    estimated: int
    recorded: int
    error: int
    ratio: float | None
    is_believed: bool


class TokenMeter:
    """Measures what a session's next request would take (SPEC: "Compaction").

    The estimate of a message is `MESSAGE_TOKENS`, and for each block `BLOCK_TOKENS` and the tokens of
    its texts. A tool result's content counts block by block; a block of an unknown type counts as its
    JSON text. Override `estimate_event` or `estimate_message` for another formula.

    Args:
        counter: Gives the tokens of a text: `heuristic` (four characters each) by default, any
            callable, or one of `dsh_session.compaction.counters`.
        prefer_recorded: Whether recorded usage is preferred to estimates.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello there.") as turn, turn.step() as step:
        ...     message = step.assistant("Hi.")
        >>> measured = TokenMeter().measure(session)
        >>> measured.total, [(node, measured.tokens(node)) for node in measured.nodes], measured.revision
        (20, [(1, 11), (3, 9)], 6)
    """

    def __init__(self, counter: Counter = heuristic, *, prefer_recorded: bool = True) -> None:
        """Take the counter, and whether records are preferred."""
        self.counter = counter
        self.prefer_recorded = prefer_recorded
        self._accounts: Followed[Account] = Followed(partial(Account, self))

    # Estimates.

    def count_text(self, text: str) -> int:
        """Give the tokens of a text.

        Raises:
            CompactionError: ``COMPACTION_BAD_COUNT`` when the counter gives no whole number.
        """
        tokens = self.counter(text)
        if type(tokens) is not int or tokens < 0:
            raise CompactionError(
                "COMPACTION_BAD_COUNT", f"a counter gives a whole number of tokens, this one gave {name_of(tokens)}"
            )
        return tokens

    def estimate_blocks(self, blocks: Any) -> int:
        """Give the tokens of content blocks."""
        total = 0
        waiting = [blocks]
        while waiting:
            level = waiting.pop()
            for block in level if isinstance(level, list) else ():
                total += BLOCK_TOKENS
                kind = block.get("type") if isinstance(block, dict) else None
                if kind in ("text", "reasoning"):
                    total += self._count(block.get("text"))
                elif kind == "tool-call":
                    total += self._count(block.get("name")) + self._count(block.get("arguments"))
                elif kind == "tool-result":
                    waiting.append(block.get("content"))
                else:
                    total += self._count(block)
        return total

    def _count(self, value: Any) -> int:
        """Count a text, or the JSON text of what should be one."""
        if isinstance(value, str):
            return self.count_text(value)
        return 0 if value is None else self.count_text(encode(value).decode())

    def estimate_message(self, message: Any) -> int:
        """Give the tokens of a message: a dict with its ``content``."""
        return MESSAGE_TOKENS + self.estimate_blocks(message.get("content") if isinstance(message, dict) else None)

    def estimate_event(self, event: SessionEvent) -> int:
        """Give the tokens of the message that an event derives; 0 where it derives none."""
        message = derive_event_message(event)
        return 0 if message is None else self.estimate_message(message)

    def estimate_header(self, header: Any) -> int:
        """Give the tokens of a request header: system prompt, tools and message prefix."""
        if not isinstance(header, dict):
            return 0
        total = MESSAGE_TOKENS + self._count(header["system"]) if header.get("system") else 0
        for key, price in (("tools", self._price_of_tool), ("messagePrefix", self.estimate_message)):
            part = header.get(key)
            total += sum(map(price, part)) if isinstance(part, list) else self._count(part)
        return total

    def _price_of_tool(self, tool: Any) -> int:
        return BLOCK_TOKENS + self._count(tool)

    # Measuring.

    def measure(self, session: Session) -> MeasuredSurface:
        """Measure a session as it is now; O(events that are new since the last time).

        Returns:
            The total, the part of each surface node, and the log revision that they describe.
        """
        account = self._accounts.of(session)
        with account.lock:
            nodes = account.links.order()
            return MeasuredSurface(
                session=session,
                revision=account.seen,
                nodes=FixedView(nodes, len(nodes)),
                prices=account.prices,
                header_tokens=account.header,
                total=account.total(),
                estimate=self.estimate_blocks,
                recorded_at=account.anchor_seq(),
            )

    def error(self, session: Session) -> list[RequestError]:
        """Compare the estimate of every request with the usage that was recorded for it.

        Args:
            session: Any session.

        Returns:
            One row for each assistant message that carries usage, in log order;
            ``pandas.DataFrame(rows)`` makes a table of them.

        Example:
            >>> from dsh_session import Recorder, Session
            >>> session = Session("s", clock=lambda: 0)
            >>> with Recorder(session).turn("Hello there.") as turn, turn.step() as step:
            ...     message = step.assistant("Hi.", usage={"inputTokens": 10, "outputTokens": 2})
            >>> TokenMeter().error(session)
            [RequestError(seq=3, estimated=11, recorded=10, error=1, ratio=1.1, is_believed=True)]
        """
        account = Account(self, keeps_requests=True)
        account.follow(session)
        return account.requests


class _Anchor(NamedTuple):
    """A request whose real size is known."""

    seq: int
    estimated: int
    recorded: int


class Account(Follower):
    """The running total of one session.

    Attributes:
        prices: Tokens by seq, of every node that ever was on the surface; none of them changes.
        header: Tokens of the request header in force.
        sum: Tokens of the nodes that are on the surface.
        requests: The comparisons, where they are kept.
    """

    def __init__(self, meter: TokenMeter, *, keeps_requests: bool = False) -> None:
        """Take what estimates."""
        self._meter = meter
        self._keeps_requests = keeps_requests
        super().__init__()

    def restart(self) -> None:
        """Start with an empty log."""
        super().restart()
        self.prices: dict[int, int] = {}
        self.header = 0
        self.sum = 0
        self.requests: list[RequestError] = []
        self._anchors: dict[Route, _Anchor] = {}
        self._route: Route | None = None

    def take(self, event: SessionEvent, plan: Plan | None) -> None:
        """Add what an event brings and take away what it shadows."""
        if plan is None:
            if event.type == "request/header":
                self._take_header(event.data)
            return
        if event.type == "assistant/message" and plan[3] is None:
            self._take_answer(event.seq, event.data)
        price = self.prices[event.seq] = self._meter.estimate_event(event)
        self.sum += price - sum(self.prices[node] for node in plan[3] or ())

    def _take_header(self, data: Any) -> None:
        header = data.get("header") if isinstance(data, dict) else None
        self.header = self._meter.estimate_header(header)
        config = header.get("config") if isinstance(header, dict) else None
        self._route = _route(config)

    def _take_answer(self, seq: int, data: Any) -> None:
        """Compare, before the answer itself is on the surface, with what its request took."""
        route = _route(data.get("provenance"))
        if route is not None:
            self._route = route
        recorded = _recorded_input(data.get("usage"))
        if recorded is None:
            return
        estimated = self.header + self.sum
        is_believed = recorded * UNBELIEVABLE >= estimated and recorded > 0
        if is_believed and route is not None:
            self._anchors[route] = _Anchor(seq, estimated, recorded)
        if self._keeps_requests:
            ratio = round(estimated / recorded, 3) if recorded else None
            self.requests.append(RequestError(seq, estimated, recorded, estimated - recorded, ratio, is_believed))

    def total(self) -> int:
        """Give the tokens of the next request."""
        estimated = self.header + self.sum
        anchor = self._anchor()
        if anchor is None:
            return estimated
        change = estimated - anchor.estimated
        if change < 0 and anchor.recorded < anchor.estimated:
            # The estimates are too high, so what has gone was smaller as well.
            return anchor.recorded * estimated // anchor.estimated
        return anchor.recorded + change

    def anchor_seq(self) -> int | None:
        """Give the answer whose recorded usage the total starts from."""
        anchor = self._anchor()
        return None if anchor is None else anchor.seq

    def _anchor(self) -> _Anchor | None:
        if self._route is None or not self._meter.prefer_recorded:
            return None
        return self._anchors.get(self._route)


def _route(config: Any) -> Route | None:
    if not isinstance(config, dict):
        return None
    provider, model = config.get("provider"), config.get("model")
    return (provider, model) if isinstance(provider, str) and isinstance(model, str) else None


def _recorded_input(usage: Any) -> int | None:
    """Give the input tokens of a usage record, cached ones included; None where it holds no such numbers."""
    if not isinstance(usage, dict) or usage.get("inputTokens") is None:
        return None
    total = 0
    for key in _INPUT:
        count = whole(usage.get(key, 0))
        if count is None or count < 0:
            return None
        total += count
    return total


DEFAULT_METER = TokenMeter()
"""What measures where no meter is given; it remembers what it has seen."""
