"""What a policy decides, and what a policy is."""

from typing import Any, NamedTuple, Protocol

from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.core.content import Content


class Compact(NamedTuple):
    """Replace a range of the surface.

    Attributes:
        start: Seq of the first node.
        end: Seq of the last node, in surface order.
        marker: What takes the range's place as it stands; None asks the summariser and frames its answer.
        author: Who wrote the marker, for the log.
    """

    start: int
    end: int
    marker: Content | None = None
    author: str = "marker"


class Shorten(NamedTuple):
    """Replace one tool result by a shorter one of the same call.

    Attributes:
        seq: The tool result.
        content: Its new content.
        author: Who shortened it, for the log.
    """

    seq: int
    content: Any
    author: str = "shortened"


class Leave(NamedTuple):
    """Replace nothing.

    Attributes:
        reason: Why, in a few words.
        is_satisfied: Whether that is because the history is small enough.
    """

    reason: str
    is_satisfied: bool = False


Decision = Compact | Shorten | Leave


class Policy(Protocol):
    """Says which range to replace: one method, asked again after each replacement."""

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface; called before every step, so a refusal should be quick."""
        ...
