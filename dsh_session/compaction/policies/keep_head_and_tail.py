"""Keeping the task in its own words."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Compact, Decision
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.policies.window import NOTHING_TO_CUT, Windowed


@dataclass(frozen=True)
class KeepHeadAndTail(Windowed):
    """Summarise the middle: the first prompt stays in its own words, the newest part as with `Basic`.

    The head goes from the first node to the first prompt of a person, and on to where no tool call
    is open. A surface without such a prompt has no head.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.compaction import TokenMeter, without_compactions
        >>> surface = TokenMeter().measure(without_compactions(samples.load("pi-compacted-twice")))
        >>> surface.nodes[:3], KeepHeadAndTail(context_window=40_000).plan(surface).start
        ((1, 3, 6), 3)
    """

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface."""
        left = self.enough_room(surface)
        if left is not None:
            return left
        first = self._head(surface)
        cut = surface.tail_cut(self.retained, first=first)
        if cut <= first:
            return NOTHING_TO_CUT
        return Compact(surface.nodes[first], surface.nodes[cut - 1])

    def _head(self, surface: MeasuredSurface) -> int:
        """Give the position of the first node behind the head."""
        nodes = surface.nodes
        for position, seq in enumerate(nodes, 1):
            event = surface.event(seq)
            if event.type == "user/message" and event.surface_op == "append" and _is_person(event.data):
                return next(
                    (at for at in range(position, len(nodes)) if surface.balanced_before(nodes[at])), len(nodes)
                )
        return 0


def _is_person(data: object) -> bool:
    source = data.get("source") if isinstance(data, dict) else None
    return isinstance(source, dict) and source.get("kind") == "user"
