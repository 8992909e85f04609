"""Forgetting without a summary."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Compact, Decision
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.policies.window import NOTHING_TO_CUT, Windowed


@dataclass(frozen=True)
class SlidingWindow(Windowed):
    """Forget everything but the newest part; one line says how much is gone, and no model is asked.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.compaction import TokenMeter
        >>> surface = TokenMeter().measure(samples.load("pi-compacted-twice"))
        >>> SlidingWindow(context_window=20_000).plan(surface).marker
        '[945 earlier messages were left out to make room]'
    """

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface."""
        left = self.enough_room(surface)
        if left is not None:
            return left
        cut = surface.tail_cut(self.retained)
        if not cut:
            return NOTHING_TO_CUT
        gone = sum(map(surface.originals, surface.nodes[:cut]))
        counted = "1 earlier message was" if gone == 1 else f"{gone} earlier messages were"
        marker = f"[{counted} left out to make room]"
        return Compact(surface.nodes[0], surface.nodes[cut - 1], marker, author="sliding-window")
