"""Shortening what tools have said."""

from dataclasses import dataclass
from typing import Any

from dsh_session.compaction.decision import Decision, Leave, Shorten
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.policies.window import Windowed
from dsh_session.core.event import SessionEvent

AUTHOR = "prune-tool-results"
_SHARE = 8  # a result keeps this part of its text
_TRIFLE = 10_000  # a saving below this part of the window is not worth the events that record it


@dataclass(frozen=True)
class PruneToolResults(Windowed):
    """Replace large tool results by their beginning and end, the largest first, until there is room.

    The call keeps its answer, and only the answer's content changes. The results among the newest
    nodes worth `retain_tokens` stay whole, and one that was shortened is not shortened again.

    The rules between events know no result outside its step: guard such sessions with
    ``invariants(allow_result_rewrite=True)``, which exempts exactly these.

    Attributes:
        max_chars: What a shortened result keeps at most, in characters; four fifths of it from the
            beginning. An eighth of the text is kept in any case where that is less.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> from dsh_session.compaction import TokenMeter
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Count.") as turn, turn.step() as step:
        ...     message = step.assistant(calls=[("c1", "bash", {"command": "seq 900"})])
        ...     result = step.result("c1", " ".join(map(str, range(900))))
        >>> policy = PruneToolResults(context_window=1000, retain_tokens=0, max_chars=30)
        >>> print(policy.plan(TokenMeter().measure(session)).content[0]["text"])
        0 1 2 3 4 5 6 7 8 9 10 1
        [3459 characters pruned]
        98 899
    """

    max_chars: int = 5120

    def __post_init__(self) -> None:
        """Refuse values that could never work."""
        super().__post_init__()
        self._require(type(self.max_chars) is int and self.max_chars >= 0, "max_chars", "not negative")

    def plan(self, surface: MeasuredSurface) -> Decision:
        """Decide by a measured surface."""
        left = self.enough_room(surface)
        if left is not None:
            return left
        worth = max(1, self.context_window // _TRIFLE)
        for seq in self._prunable(surface):
            whole = surface.event(seq).data["content"]
            pruned = self._pruned(whole)
            if surface.estimate(whole) - surface.estimate(pruned) >= worth:
                return Shorten(seq, pruned, author=AUTHOR)
            if all(map(_is_text, whole)):
                break  # a shorter text would save less
        return Leave("no tool result before the newest part can be shortened")

    def _prunable(self, surface: MeasuredSurface) -> list[int]:
        """Give the whole results that may be shortened, the largest first."""
        kept = 0
        cut = len(surface.nodes)
        while cut and kept < self.retained:
            cut -= 1
            kept += surface.tokens(surface.nodes[cut])
        events = surface.session.events
        whole = [seq for seq in surface.nodes[:cut] if _is_whole_result(events[seq])]
        return sorted(whole, key=surface.tokens, reverse=True)

    def _pruned(self, content: list[Any]) -> list[Any]:
        """Give what is left of a result's content; blocks that are no text stay."""
        texts = [block["text"] for block in content if _is_text(block)]
        text = "\n".join(texts)
        kept = min(self.max_chars, len(text) // _SHARE)
        tail = kept // 5
        head = kept - tail
        marker = f"[{len(text) - kept} characters pruned]"
        parts = [text[:head], marker, text[len(text) - tail :]]
        pruned = {"type": "text", "text": "\n".join(part for part in parts if part)}
        return [pruned, *(block for block in content if not _is_text(block))]


def _is_whole_result(event: SessionEvent) -> bool:
    return event.type == "tool/result" and event.surface_op == "append"


def _is_text(block: Any) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)
