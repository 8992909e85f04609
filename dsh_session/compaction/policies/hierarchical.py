"""Summaries of summaries, kept as levels."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Compact, Decision
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.policies.window import NOTHING_TO_CUT, Windowed


@dataclass(frozen=True)
class Hierarchical(Windowed):
    """Summarise messages, then summaries, then summaries of those: what is long ago gets shorter and shorter.

    The surface begins with summaries, coarse ones first. New messages become a summary of level 1
    of their own, and the earlier ones stay as they are. As soon as `fan_out` summaries of one level
    stand side by side they become one of the next level.

    Attributes:
        fan_out: How many summaries of one level become one of the next.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.compaction import TokenMeter
        >>> surface = TokenMeter().measure(samples.load("pi-compacted-twice"))
        >>> decision = Hierarchical(context_window=20_000).plan(surface)
        >>> surface.nodes[0], decision.start
        (1589, 1392)
    """

    fan_out: int = 4

    def __post_init__(self) -> None:
        """Refuse values that could never work."""
        super().__post_init__()
        self._require(type(self.fan_out) is int and self.fan_out > 1, "fan_out", "at least 2")

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface."""
        left = self.enough_room(surface)
        if left is not None:
            return left
        levels = self._levels(surface)
        group = self._group(levels)
        if group is not None:
            return Compact(surface.nodes[group[0]], surface.nodes[group[1]])
        first = len(levels)
        cut = surface.tail_cut(self.retained, first=first)
        if cut > first:
            return Compact(surface.nodes[first], surface.nodes[cut - 1])
        if len(levels) > 1:
            # Nothing but summaries can give way.
            return Compact(surface.nodes[0], surface.nodes[len(levels) - 1])
        return NOTHING_TO_CUT

    def _levels(self, surface: MeasuredSurface) -> list[int]:
        """Give the levels of the summaries that the surface begins with."""
        levels = []
        for seq in surface.nodes:
            level = surface.level(seq)
            if not level:
                break
            levels.append(level)
        return levels

    def _group(self, levels: list[int]) -> tuple[int, int] | None:
        """Find the last `fan_out` summaries of one level that stand side by side."""
        for end in range(len(levels), self.fan_out - 1, -1):
            if len(set(levels[end - self.fan_out : end])) == 1:
                return end - self.fan_out, end - 1
        return None
