"""Tool results that stand further on in a log than the end of the step that asked for them."""

from bisect import bisect_left


class Ahead:
    """Where on a path tools are called and where they answer.

    Attributes:
        done: Positions of answers that were taken out of their order.

    Example:
        >>> ahead = Ahead()
        >>> ahead.note_call("c1", 0)
        >>> ahead.note_answer("c1", 5)
        >>> ahead.take("c1", 2), ahead.take("c1", 2), ahead.done
        (5, None, {5})
    """

    def __init__(self) -> None:
        """Begin with an empty path."""
        self.done: set[int] = set()
        self._calls: dict[str, list[int]] = {}
        self._answers: dict[str, list[int]] = {}

    def note_call(self, call: str, at: int) -> None:
        """Note a call; positions rise."""
        self._calls.setdefault(call, []).append(at)

    def note_answer(self, call: str, at: int) -> None:
        """Note an answer; positions rise."""
        self._answers.setdefault(call, []).append(at)

    def is_answered(self, call: str) -> bool:
        """Tell whether there is an answer to a call anywhere on the path."""
        return call in self._answers

    def take(self, call: str, at: int) -> int | None:
        """Take the next answer to a call from a position on, unless the call is made anew before it.

        Args:
            call: The id of the call.
            at: The position of what is being written.

        Returns:
            The position of the answer; None when there is none.
        """
        there = self._answers.get(call, [])
        place = bisect_left(there, at)
        while place < len(there) and there[place] in self.done:
            place += 1
        if place == len(there):
            return None
        asked = self._calls.get(call, [])
        again = bisect_left(asked, at)
        if again < len(asked) and asked[again] < there[place]:
            return None
        self.done.add(there[place])
        return there[place]
