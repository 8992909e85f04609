"""What a diagram of forks is made of: sessions as branches, below parents that may be missing, and words for them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from dsh_session.core.event import peek
from dsh_session.core.lineage import LineageNode
from dsh_session.views.diagrams.sheet import plural
from dsh_session.views.diagrams.tree import Branch, walk
from dsh_session.views.escape import cut, one_line
from dsh_session.views.payload import field, words
from dsh_session.views.window import ViewError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsh_session.core.session import Session

__all__ = [
    "Above",
    "Item",
    "Missing",
    "Sort",
    "cut_to",
    "cut_words",
    "events_line",
    "forest_of",
    "name_of",
    "path_to",
    "shared_of",
    "sort_of",
    "state_line",
    "tip_of",
]

Sort: TypeAlias = Literal["created", "fork", "child", "missing", "above"]


class Missing(NamedTuple):
    """A parent that a header names and that is not live."""

    identity: str


class Above(NamedTuple):
    """Ancestors that are left out, so many of them."""

    levels: int


Item: TypeAlias = LineageNode | Missing | Above
"""What a branch stands for."""


def forest_of(roots: Sequence[LineageNode]) -> tuple[list[Branch[Item]], dict[int, Branch[Item]]]:
    """Put sessions below their parents, those included that are not live.

    Args:
        roots: What `dsh_session.lineage` gives.

    Returns:
        The roots of the forest; and the parent of each branch below them, by the branch's `id`.
    """
    live = {node.session.id for node in _nodes(roots)}
    forest: list[Branch[Item]] = []
    above: dict[int, Branch[Item]] = {}
    missing: dict[str, Branch[Item]] = {}
    waiting: list[tuple[LineageNode, Branch[Item]]] = []
    for root in roots:
        branch: Branch[Item] = Branch(root)
        waiting.append((root, branch))
        if root.parent_id is None or root.parent_id in live:
            forest.append(branch)
            continue
        if root.parent_id not in missing:
            missing[root.parent_id] = Branch(Missing(root.parent_id))
            forest.append(missing[root.parent_id])
        missing[root.parent_id].children.append(branch)
        above[id(branch)] = missing[root.parent_id]
    while waiting:
        node, branch = waiting.pop()
        for child in node.children:
            below: Branch[Item] = Branch(child)
            branch.children.append(below)
            above[id(below)] = branch
            waiting.append((child, below))
    return forest, above


def _nodes(roots: Sequence[LineageNode]) -> Iterator[LineageNode]:
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def path_to(forest: Sequence[Branch[Item]], above: dict[int, Branch[Item]], selected: str) -> list[Branch[Item]]:
    """The way from a root to a session.

    Args:
        forest: The whole forest.
        above: The parent of each branch, as `forest_of` gives it.
        selected: The session's id.

    Returns:
        The branches on the way, the session's own last.

    Raises:
        ViewError: `VIEW_SESSION` when there is no such session.
    """
    found = next(
        (each for each in walk(forest) if isinstance(each.item, LineageNode) and each.item.session.id == selected), None
    )
    if found is None:
        raise ViewError("VIEW_SESSION", f"selected={cut(selected, 60)!r}: there is no live session of this id")
    path = [found]
    while id(path[-1]) in above:
        path.append(above[id(path[-1])])
    return path[::-1]


def cut_to(
    forest: list[Branch[Item]], path: list[Branch[Item]], levels: int
) -> tuple[list[Branch[Item]], list[Branch[Item]]]:
    """Make one box of the beginning of a way that is longer than the picture has levels.

    Args:
        forest: The whole forest.
        path: A way down from one of its roots.
        levels: How many levels are shown.

    Returns:
        The forest and the way, as they are or cut down.
    """
    if len(path) <= levels:
        return forest, path
    kept = path[-max(levels - 1, 1) :]
    root: Branch[Item] = Branch(Above(len(path) - len(kept)), [kept[0]])
    return [root], [root, *kept]


def sort_of(item: Item) -> Sort:
    """What an item is.

    Args:
        item: Any item.

    Returns:
        `created` for a session without a parent, `fork` for one that shares a prefix with its parent, if only an empty
        one, `child` for one that shares nothing; `missing` and `above` for what is no session.

    Example:
        >>> sort_of(Missing("gone"))
        'missing'
    """
    if isinstance(item, Missing):
        return "missing"
    if isinstance(item, Above):
        return "above"
    if item.parent_id is None:
        return "created"
    return "child" if item.boundary is None else "fork"


def shared_of(node: LineageNode) -> int:
    """How many events a session has from its parent: what its header says, as far as its log goes."""
    return 0 if node.boundary is None else min(node.boundary + 1, len(node.session.events))


def name_of(text: str) -> str:
    """An id on one line."""
    return cut(one_line(text[:400]), 60) or "(no name)"


def events_line(events: int, shared: int) -> str:
    """How long a log is, and how much of it is shared, in a line."""
    return f"{shared:,} shared + {events - shared:,} own" if shared else plural(events, "event")


def state_line(session: Session) -> str:
    """What a log amounts to, in a line."""
    types = Counter(event.type for event in session.events)
    parts = [plural(types["turn/start"], "turn"), f"surface {len(session.surface):,}"]
    replaced = session.surface.replace_generation
    if replaced:
        parts.append(f"{replaced:,} replaced")
    return ", ".join(parts)


def cut_words(node: LineageNode) -> tuple[str, str]:
    """Where a parent was cut.

    Args:
        node: A session that has a parent.

    Returns:
        The seq, as markup, and what stands there, as plain text.
    """
    at = node.boundary
    if at is None:
        return "shares nothing", ""
    if at < 0:
        return "at the start", ""
    events = node.session.events
    if at >= len(events):
        return f"at <b>{at}</b>", "beyond its log"
    event = events[at]
    if event.type != "turn/end":
        return f"at <b>{at}</b>", one_line(event.type[:60])
    number = words(field(peek(event), "turn"), 12)
    return f"at <b>{at}</b>", f"end of turn {number or '?'}"


def tip_of(node: LineageNode, events: int, shared: int) -> str:
    """What a tooltip says of a session: plain text in lines."""
    header = node.session.header
    lines = [name_of(node.session.id), events_line(events, shared)]
    if node.parent_id is not None:
        lines.append(f"from {name_of(node.parent_id)}")
    if header.cwd is not None:
        lines.append(f"in {cut(one_line(header.cwd[:400]), 120)}")
    return "\n".join(lines)
