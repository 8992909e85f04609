"""A measured surface: what a policy decides by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dsh_session.compaction.framing import is_summary
from dsh_session.compaction.pairing import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.core.errors import CompactionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of


class MeasuredSurface(NamedTuple):
    """A session's surface with the tokens of each node, at one moment.

    Attributes:
        session: The session; it may have grown since.
        revision: How many events the log had.
        nodes: The seqs that were on the surface, from head to tail.
        prices: Tokens by seq; more seqs than `nodes` may be in it.
        header_tokens: Tokens of system prompt, tools and message prefix.
        total: Tokens that the next request would take, recorded usage preferred.
        estimate: Gives the tokens of content blocks, as the meter that measured would count them.
        recorded_at: Seq of the answer whose recorded usage `total` starts from; None for estimates.
    """

    session: Session
    revision: int
    nodes: Sequence[int]
    prices: Mapping[int, int]
    header_tokens: int
    total: int
    estimate: Callable[[Any], int]
    recorded_at: int | None = None

    def tokens(self, seq: int) -> int:
        """Give the tokens of one node.

        Raises:
            CompactionError: ``COMPACTION_NOT_MEASURED`` for a seq that never was a node.
        """
        if seq not in self.prices:
            raise CompactionError("COMPACTION_NOT_MEASURED", f"seq {name_of(seq)} is no node of this surface")
        return self.prices[seq]

    def event(self, seq: int) -> SessionEvent:
        """Give a node's event."""
        return self.session.events[seq]

    def balanced_before(self, seq: int) -> bool:
        """Tell whether no tool call is open before a node; see `tool_pairing_balanced_before`."""
        return tool_pairing_balanced_before(self.session, seq)

    def balanced_after(self, seq: int) -> bool:
        """Tell whether no tool call is open after a node; see `tool_pairing_balanced_after`."""
        return tool_pairing_balanced_after(self.session, seq)

    def tail_cut(self, retain_tokens: int, *, first: int = 0) -> int:
        """Find where the newest nodes begin that are worth keeping.

        From the tail, nodes are kept until they are worth `retain_tokens`, one at the least; then the
        cut moves towards the head until no tool call is open there.

        Args:
            retain_tokens: What the kept nodes should be worth.
            first: The position before which the cut does not go.

        Returns:
            The position of the first node to keep; `first` when there is nothing to cut off.

        Raises:
            PairingError: ``PAIRING_ORPHAN_RESULT`` when the surface holds a result without a call.

        Example:
            >>> from dsh_session import samples
            >>> from dsh_session.compaction import TokenMeter
            >>> measured = TokenMeter().measure(samples.load("pi-compacted-twice"))
            >>> len(measured.nodes), measured.tail_cut(2000), measured.tail_cut(10**6)
            (448, 415, 0)
        """
        nodes = self.nodes
        cut = len(nodes)
        kept = 0
        while cut > first:
            cut -= 1
            kept += self.prices[nodes[cut]]
            if kept >= retain_tokens:
                break
        while cut > first and not self.balanced_before(nodes[cut]):
            cut -= 1
        return max(cut, first)

    def level(self, seq: int) -> int:
        """Give how many levels of summaries stand in a node: 0 for a message, 1 for a summary of messages.

        Example:
            >>> from dsh_session import samples
            >>> from dsh_session.compaction import TokenMeter
            >>> measured = TokenMeter().measure(samples.load("pi-compacted-twice"))
            >>> [measured.level(seq) for seq in measured.nodes[:2]]
            [2, 0]
        """
        levels: dict[int, int] = {}
        for at, below in self._from_below(seq):
            deepest = max((levels[node] for node in below), default=0)
            levels[at] = deepest + 1 if is_summary(self.event(at)) else deepest
        return levels[seq]

    def originals(self, seq: int) -> int:
        """Give how many messages a node stands for, down to those that replaced nothing; 1 for one of these.

        Example:
            >>> from dsh_session import samples
            >>> from dsh_session.compaction import TokenMeter
            >>> measured = TokenMeter().measure(samples.load("pi-compacted-twice"))
            >>> [measured.originals(seq) for seq in measured.nodes[:2]]
            [549, 1]
        """
        counts: dict[int, int] = {}
        for at, below in self._from_below(seq):
            counts[at] = sum(counts[node] for node in below) if below else 1
        return counts[seq]

    def _from_below(self, seq: int) -> Iterator[tuple[int, list[int]]]:
        """Walk over all that a node stands for, what is below before what is above."""
        known: set[int] = set()
        waiting = [seq]
        while waiting:
            at = waiting[-1]
            event = self.event(at)
            # A replacement cites what it shadows, and the records of its bracket, which are no messages.
            cited = event.source_event_seqs if isinstance(event.surface_op, dict) else None
            below = [node for node in cited or () if self.event(node).surface_op is not None]
            unknown = [node for node in below if node not in known]
            if unknown:
                waiting += unknown
                continue
            waiting.pop()
            if at not in known:
                known.add(at)
                yield at, below
