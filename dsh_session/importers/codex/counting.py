"""Which token count of a Codex rollout belongs to which response.

A count follows its response, before or after the outputs of its tools, and most of them come twice.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dsh_session.importers.codex.records import COUNTS, STARTS, Record
from dsh_session.importers.codex.rollout import is_response_part
from dsh_session.importers.codex.usage import is_repeated, mark_of, size_and_window, usage_of


class Counting:
    """The token counts of one path.

    Attributes:
        mark: What tells the latest count from a repetition of it.
    """

    def __init__(
        self, path: Sequence[Record], mark: Any = None, is_part: Callable[[Record], bool] = is_response_part
    ) -> None:
        """Take the path, the latest count before it, and what tells the parts of responses."""
        self._is_part = is_part
        self.mark = mark
        self._path = path
        self._taken: set[int] = set()  # positions of counts that a response has
        self._doubted: Any = None

    def is_new(self, record: Record) -> bool:
        """Tell whether a record counts something, and something else than the latest count."""
        return usage_of(record.data) is not None and not is_repeated(mark_of(record.data), self.mark)

    def is_taken(self, at: int) -> bool:
        """Tell whether a response has the count at a position."""
        return at in self._taken

    def take_next(self, at: int) -> dict[str, int] | None:
        """Take the count of a response that is over: the first new one from a position on, before the next response.

        Args:
            at: The position of what ended the response.

        Returns:
            ``TokenUsage``; None where there is none.
        """
        for place in range(at, len(self._path)):
            record = self._path[place]
            if record.kind == "compacted" or (self._is_part(record) and place > at):
                return None
            if record.kind == "event":
                if record.type in STARTS:
                    return None
                is_count = record.type in COUNTS or (record.type == "turn.completed" and "usage" in record.data)
                if is_count and self.is_new(record):
                    self.mark = mark_of(record.data)
                    self._taken.add(place)
                    return usage_of(record.data)
        return None

    def doubt(self, record: Record) -> str | None:
        """Say, once for each count, that more tokens are reported for one request than the model's window holds."""
        size, window = size_and_window(record.data)
        if not window or not size or size <= window or mark_of(record.data) == self._doubted:
            return None
        self._doubted = mark_of(record.data)
        return f"a request of {size:,} tokens is reported for a window of {window:,}; the count cannot be right"
