"""The policy of the original harness."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Compact, Decision
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.policies.window import NOTHING_TO_CUT, Windowed


@dataclass(frozen=True)
class Basic(Windowed):
    """Summarise everything but the newest part, an earlier summary included (SPEC: "Compaction").

    When the next request would take `threshold_ratio` of the window or more, the newest nodes worth
    `retain_tokens` are kept, the cut is moved back until it splits no tool call from its result, and
    all before it is replaced by one summary.

    Example:
        >>> Basic(context_window=128_000).threshold, Basic(context_window=128_000).retained
        (102400, 20480)
    """

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface."""
        left = self.enough_room(surface)
        if left is not None:
            return left
        cut = surface.tail_cut(self.retained)
        return Compact(surface.nodes[0], surface.nodes[cut - 1]) if cut else NOTHING_TO_CUT
