"""Who was forked from whom, and where."""

from typing import NamedTuple

from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore


class LineageNode(NamedTuple):
    """A session in the tree of forks.

    Attributes:
        session: The live session.
        parent_id: The id of the session it was forked from; None for one that was not. A parent
            that is not live leaves its child a root.
        boundary: Seq of the last event that it shares with its parent; None for no fork, -1 for
            the fork of an empty session.
        children: The live sessions that were forked from it, in store order.
    """

    session: Session
    parent_id: str | None
    boundary: int | None
    children: "list[LineageNode]"

    def __repr__(self) -> str:
        """Name the session and its place; the children are counted."""
        place = "" if self.parent_id is None else f", forked from {self.parent_id!r} at {self.boundary}"
        return f"<LineageNode {self.session.id!r}{place}, {len(self.children)} children>"


def lineage(store: SessionStore) -> list[LineageNode]:
    """Give the tree of live sessions.

    Args:
        store: A context's ``sessions``.

    Returns:
        The roots in store order: sessions that were not forked, whose parent is not live, or that
        claim to descend from themselves.

    Example:
        >>> from dsh_session import Context
        >>> with Context() as ctx:
        ...     parent = ctx.sessions.create("a")
        ...     child = ctx.sessions.fork(parent, child_session_id="b")
        ...     [(root.session.id, [node.session.id for node in root.children]) for root in lineage(ctx.sessions)]
        [('a', ['b'])]
    """
    nodes = {}
    for session in store.list():
        header = session.header
        length = header.seed_length
        boundary = None if header.parent_session is None or length is None else length - 1
        nodes[session.id] = LineageNode(session, header.parent_session, boundary, [])
    circular = _circular({identity: node.parent_id for identity, node in nodes.items() if node.parent_id in nodes})
    roots: list[LineageNode] = []
    for identity, node in nodes.items():
        parent = nodes.get(node.parent_id) if node.parent_id is not None and identity not in circular else None
        (roots if parent is None else parent.children).append(node)
    return roots


def _circular(parents: dict[str, str | None]) -> set[str]:
    """Give the ids that descend from themselves: headers may claim anything. Each chain is walked once."""
    circular: set[str] = set()
    seen: set[str] = set()
    for start in parents:
        chain: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in seen and at not in chain:
            chain[at] = None
            at = parents.get(at)
        if at is not None and at in chain:
            ids = list(chain)
            circular.update(ids[ids.index(at) :])
        seen.update(chain)
    return circular
