"""Doing nothing."""

from dataclasses import dataclass

from dsh_session.compaction.decision import Leave
from dsh_session.compaction.measured import MeasuredSurface


@dataclass(frozen=True)
class Never:
    """Replace nothing, whatever the size: what to compare the others with.

    Example:
        >>> from dsh_session import Session
        >>> from dsh_session.compaction import TokenMeter
        >>> Never().plan(TokenMeter().measure(Session("s"))).reason
        'never'
    """

    def plan(self, surface: MeasuredSurface) -> Leave:  # noqa: ARG002 (it is not looked at)
        """Decide to leave everything as it is."""
        return Leave("never", is_satisfied=True)
