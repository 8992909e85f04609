"""What policies of a limited context window have in common."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Leave
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.core.errors import CompactionError
from dsh_session.core.shapes import name_of

RETAINED = 0.16
"""How much of the window the newest nodes get that are kept as they are."""


@dataclass(frozen=True)
class Windowed:
    """A context window, how full it may get, and what is kept of its newest part.

    Attributes:
        context_window: Tokens that the model takes.
        threshold_ratio: From this part of the window on something is done.
        retain_tokens: What the newest nodes should be worth that are kept as they are; None for 0.16 of
            the window.
    """

    context_window: int
    threshold_ratio: float = 0.8
    retain_tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that could never work.

        Raises:
            CompactionError: ``COMPACTION_POLICY``.
        """
        self._require(type(self.context_window) is int and self.context_window > 0, "context_window", "positive")
        ratio = self.threshold_ratio
        self._require(type(ratio) in (int, float) and 0 < ratio <= 1, "threshold_ratio", "above 0 and at most 1")
        kept = self.retain_tokens
        self._require(kept is None or (type(kept) is int and kept >= 0), "retain_tokens", "None or not negative")
        self._require(
            self.retained < self.threshold or self.threshold <= 1,
            "retain_tokens",
            f"below the threshold, {self.threshold}",
        )

    def _require(self, is_right: object, name: str, what: str) -> None:
        if not is_right:
            raise CompactionError(
                "COMPACTION_POLICY",
                f"{name} of {type(self).__name__} must be {what}, not {name_of(getattr(self, name))}",
            )

    @property
    def threshold(self) -> int:
        """Tokens from which on something is done."""
        return int(self.context_window * self.threshold_ratio)

    @property
    def retained(self) -> int:
        """Tokens that the newest nodes should be worth."""
        return int(self.context_window * RETAINED) if self.retain_tokens is None else self.retain_tokens

    def enough_room(self, surface: MeasuredSurface) -> Leave | None:
        """Say that nothing needs doing, if so."""
        if surface.total < self.threshold:
            return Leave(f"{surface.total} of {self.threshold} tokens", is_satisfied=True)
        return None


NOTHING_TO_CUT = Leave("all that could be cut off is worth keeping, or belongs to an open step")
