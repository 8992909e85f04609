"""What a conversation is made of once lines that belong together are one: prompts, responses, compactions."""

from collections.abc import Iterator
from typing import Final

from dsh_session.importers.claude_code.entries import BOUNDARY, CONTEXT, PROMPT, RESPONSE, Entry
from dsh_session.importers.paths import MOST_BRANCHES

COMPACTION: Final = BOUNDARY
"""A boundary and the summary that follows it are one node."""


_AGAIN: Final = 20_000
"""How many nodes may be written again for forks in the middle of turns, beside four times those of the log."""


class Node:
    """One moment of a conversation.

    Attributes:
        kind: ``"prompt"``, ``"context"``, ``"response"`` or ``"boundary"``.
        entries: Its lines: those of one response, or a boundary and its summary.
        attached: Lines that belong to it and are none of the conversation's own moments: the results of
            its calls, hooks, attachments, progress.
        parent: What came before it; None at the beginning.
        place: The place of its first line among the lines of the log, from 0.
        kept: Of a compaction: the lines that it left as they were.
        kept_by: The latest compaction that left this node as it was.
        is_mixed: Whether `attached` may not be in file order.
    """

    __slots__ = ("attached", "entries", "is_mixed", "kept", "kept_by", "kind", "parent", "place")

    def __init__(self, kind: str, entry: Entry, parent: "Node | None", place: int) -> None:
        """Begin with one line."""
        self.kind = kind
        self.entries = [entry]
        self.attached: list[Entry] = []
        self.parent = parent
        self.place = place
        self.kept: frozenset[Entry] = frozenset()
        self.kept_by: Node | None = None
        self.is_mixed = False
        entry.node = self

    def release(self) -> None:
        """Let go of everything: nobody asks for it any more."""
        self.release_lines()
        self.parent = None

    def release_lines(self) -> None:
        """Let go of the lines, and they of it; what it follows stays known."""
        for entry in self.entries:
            entry.node = None
        for entry in self.attached:
            entry.node = None
        self.entries = self.attached = []

    @property
    def speaks(self) -> bool:
        """Whether somebody says something here: a person or the model."""
        return self.kind in (PROMPT, RESPONSE)

    @property
    def opens(self) -> bool:
        """Whether a turn may begin here."""
        return self.kind in (PROMPT, CONTEXT)


class Tree:
    """The lines of one agent, as a tree.

    Attributes:
        nodes: In file order of their first lines.
        preamble: Lines before the first node that hang in the tree.
        leaf: Where the conversation stands now; None in a log without any.
    """

    def __init__(self, nodes: list[Node], preamble: list[Entry], leaf: Node | None) -> None:
        """Take what was grown."""
        self.nodes = nodes
        self.preamble = preamble
        self.leaf = leaf

    def path(self, leaf: Node | None = None) -> list[Node]:
        """Give the nodes from the beginning to a leaf; by default to where the conversation stands."""
        found = []
        node = self.leaf if leaf is None else leaf
        while node is not None:
            found.append(node)
            node = node.parent
        found.reverse()
        return found

    def kept(self) -> frozenset[Entry]:
        """Give all lines that some compaction kept."""
        return frozenset().union(*(node.kept for node in self.nodes if node.kept))

    def again(self, branches: list[list[Node]]) -> set[Entry]:
        """Give the lines that may be written more than once: those of the turns that branches leave."""
        found: set[Entry] = set()
        for branch in branches:
            node = branch[0].parent
            while node is not None and node.entries[0] not in found:
                found.update(node.entries)
                found.update(node.attached)
                node = None if node.kind == PROMPT else node.parent
        return found

    def consumed(self, path: list[Node]) -> Iterator[Node]:
        """Give the nodes of a path one by one, and keep none of them nor of the tree."""
        self.nodes = []
        self.leaf = None
        path.reverse()
        while path:
            yield path.pop()

    def branches(self) -> tuple[list[list[Node]], list[Entry]]:
        """Give what was left behind: from each place where the conversation took another way, to the leaf there.

        The first node's parent is on the active path or in an earlier branch, or there is none. What
        was left behind without a word of a person or the model is attached to where it hangs.

        Returns:
            The branches, and the lines of those beyond `MOST_BRANCHES`, or that would have too much of
            their parents written again.
        """
        budget = _AGAIN + 4 * len(self.nodes)
        turns = _Turns()
        covered = set(self.path())
        parents = {node.parent for node in self.nodes}
        found: list[list[Node]] = []
        left_out: list[Entry] = []
        lost: set[Node] = set()
        barren: set[Node] = set()
        loose = []
        hung: dict[Node, Node] = {}  # by node of a loose end: what its lines are attached to
        for leaf in self.nodes:
            if leaf in parents or leaf in covered:
                continue
            branch, joint = _way_up(leaf, covered, barren)
            if not any(one.speaks for one in branch):
                barren.update(branch)
                loose.append(leaf)
                continue
            covered.update(branch)
            cost = turns.length_to(joint)
            if len(found) < MOST_BRANCHES and joint not in lost and cost < budget:
                budget -= cost
                found.append(branch)
            else:
                left_out += _lines_of(branch)
                lost.update(branch)
        for leaf in loose:
            branch, joint = _way_up(leaf, covered, set())
            covered.update(branch)
            if joint is None or joint in lost:
                left_out += _lines_of(branch)
                lost.update(branch)
            elif branch:
                # Where nothing was said there is nothing to fork.
                owner = hung.get(joint, joint)
                owner.attached += _lines_of(branch)
                owner.is_mixed = True
                hung.update(dict.fromkeys(branch, owner))
        return found, left_out


def _way_up(leaf: Node, covered: set[Node], barren: set[Node]) -> tuple[list[Node], Node | None]:
    """Give the nodes down to a leaf from the first that is not covered, and what is above them.

    Above a node that is barren nobody says anything that is not covered: if nobody has below it either, the
    way ends there.
    """
    branch: list[Node] = []
    node: Node | None = leaf
    speaks = False
    while node is not None and node not in covered:
        if not speaks and node in barren:
            break
        branch.append(node)
        speaks = speaks or node.speaks
        node = node.parent
    branch.reverse()
    return branch, node


def _lines_of(branch: list[Node]) -> list[Entry]:
    return [entry for node in branch for entry in (*node.entries, *node.attached)]


class _Turns:
    """How long turns are up to a node: many branches leave from one turn, each a little further on."""

    def __init__(self) -> None:
        self._lengths: dict[Node, int] = {}

    def length_to(self, node: Node | None) -> int:
        """Count the nodes from the prompt of a node's turn to the node; a node is passed by once."""
        lengths = self._lengths
        way = []
        while node is not None and node not in lengths:
            way.append(node)
            node = None if node.kind == PROMPT else node.parent
        count = 0 if node is None else lengths[node]
        for one in reversed(way):
            count += 1
            lengths[one] = count
        return count
