"""Writing the rows of one path, in order, with the answers that stand further on brought to their calls."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from dsh_session.importers.ahead import Ahead
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.paths import Boundaries, Boundary


class Row(Protocol):
    """A line of a log, taken apart."""

    @property
    def line(self) -> int:
        """Its 1-based line."""

    @property
    def time(self) -> int | None:
        """Epoch milliseconds; None where it does not say."""


R = TypeVar("R", bound=Row)


class PathWriter(ABC, Generic[R]):
    """Writes the rows of a path, from a boundary on; a format says what a row becomes.

    Args:
        path: All rows of the path.
        make: What writes the session; it holds the events before the boundary already.
        begin: The boundary.

    Attributes:
        path: The rows.
        make: What writes the session.
        boundaries: Where the session may be forked.
        ahead: Where calls and their answers are.
        at: The position of the row that is being written.
    """

    def __init__(self, path: Sequence[R], make: Assembler, begin: Boundary) -> None:
        """Take the path, and go to the boundary."""
        self.path = path
        self.make = make
        self.boundaries = Boundaries(begin)
        self.ahead = Ahead()
        self.at = begin.position
        self._reach = begin.position
        self._before: R | None = None

    # What a format adds.

    @abstractmethod
    def take(self, row: R) -> None:
        """Write what a row becomes."""

    @abstractmethod
    def take_answer(self, row: R, at: int) -> None:
        """Write the answer to a call, which stands at a position further on."""

    @abstractmethod
    def end_turn(self) -> None:
        """End the open turn, if there is one, and note the boundary."""

    def finish(self) -> None:
        """Write what is left when the path is over."""
        self.end_turn()

    # What they have in common.

    def write(self) -> None:
        """Write everything, and close the last turn."""
        for at in range(self.at, len(self.path)):
            if at in self.ahead.done:
                continue
            self.at = at
            row = self.path[at]
            self.make.at(row.line, row.time)
            self.take(row)
            self._before = row
        self.at = len(self.path)
        self.finish()

    def bring_answers(self) -> None:
        """Bring the answers to the calls of the open step here that stand further on: it is about to end."""
        make = self.make
        for call in make.pending:
            at = self.ahead.take(call, self.at)
            if at is None:
                continue
            row = self.path[at]
            make.at(row.line, row.time)
            self.take_answer(row, at)
            make.side("moved", {"call": call, "line": row.line})
            self._reach = max(self._reach, at + 1)
        self.return_to_row()

    def return_to_row(self) -> None:
        """Say again that what follows comes from the row that is being written."""
        if self.at < len(self.path):
            self.make.at(self.path[self.at].line, self.path[self.at].time)

    def end_turn_before(self) -> None:
        """End the open turn because something else begins: when the last row of it was written."""
        if self._before is not None:
            self.make.at(self._before.line, self._before.time)
        self.end_turn()
        self.return_to_row()

    def note_boundary(self, state: Any, *, own_rows: int = 0) -> None:
        """Note that a turn has ended.

        Args:
            state: What a fork from here has to know.
            own_rows: How many of the rows from the current one on belong to that turn.
        """
        position = min(self.at + own_rows, len(self.path))
        self.boundaries.note(Boundary(max(position, self._reach), self.make.last + 1, state))
