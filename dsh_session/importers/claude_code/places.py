"""Where each node of a path stands among the events, for the forks that leave there."""

from dsh_session.importers.claude_code.entries import CONTEXT, PROMPT
from dsh_session.importers.claude_code.nodes import Node


class Places:
    """Remembers where nodes stand in one session; a fork asks its parent for those that it shares.

    Attributes:
        end: How many events there are once the last turn is over.
    """

    def __init__(self, parent: "Places | None" = None) -> None:
        """Begin with nothing; `parent` is the one that a fork was taken from."""
        self.end = 0
        self._parent = parent
        self._counts: dict[Node, tuple[int, int]] = {}
        self._closed: dict[Node, tuple[int, bool]] = {}
        self._followers: dict[Node, Node] = {}
        self._previous: Node | None = None

    def close(self, node: Node, count: int, *, was_settled: bool) -> None:
        """Note how many events there were when the turn before a node was over.

        Args:
            node: The node.
            count: The number of events.
            was_settled: Whether that turn was over by itself.
        """
        self._closed[node] = count, was_settled

    def pass_by(self, node: Node, before: int, after: int) -> None:
        """Note how many events there were before a node, and after it; nodes come in their order."""
        if self._previous is not None:
            self._followers[self._previous] = node
        self._previous = node
        closed = self._closed.get(node)
        self._counts[node] = before if closed is None else closed[0], after

    def began(self, node: Node) -> int:
        """Give how many events there were before a node."""
        return self._count(node)[0]

    def shared_with(self, joint: Node, *, opens: str) -> int:
        """Give how many events a branch has in common with this session.

        Args:
            joint: The last node that they share.
            opens: The kind of the node that the branch goes on with.
        """
        follower = self._followers.get(joint)
        if follower is None and opens == PROMPT and joint in self._counts:
            return self.end
        if follower is not None and follower in self._closed:
            length, was_settled = self._closed[follower]
            if opens == PROMPT or (opens == CONTEXT and was_settled):
                return length
        return self._count(joint)[1]

    def _count(self, node: Node) -> tuple[int, int]:
        found = self._counts.get(node)
        if found is not None:
            return found
        assert self._parent is not None
        return self._parent._count(node)
