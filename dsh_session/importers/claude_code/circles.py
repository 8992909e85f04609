"""Nodes that are their own ancestors, which no program means and a damaged log may say."""

from typing import Final

from dsh_session.importers.book import Book
from dsh_session.importers.claude_code.nodes import Node

_MENDED: Final = 100
"""How many circles are mended by looking for another parent; a log with more is hostile."""


def cut_circles(nodes: list[Node], book: Book) -> None:
    """See to it that every way up ends: a node that is its own ancestor follows the one before it instead.

    Args:
        nodes: All nodes, in file order.
        book: Takes a finding ``CYCLE`` for each circle.
    """
    done: set[Node] = set()
    mended = 0
    for start in nodes:
        way: list[Node] = []
        on_way: set[Node] = set()
        node: Node | None = start
        while node is not None and node not in done and node not in on_way:
            way.append(node)
            on_way.add(node)
            node = node.parent
        if node is not None and node in on_way:
            circle = way[way.index(node) :]
            first = min(circle, key=lambda one: one.place)
            told = f"line {first.entries[0].number} follows itself in a circle; the circle was cut there"
            book.finding("CYCLE", told, first.entries[0].number)
            mended += 1
            first.parent = _before(nodes, first, circle) if mended <= _MENDED else None
        done.update(way)


def _before(nodes: list[Node], first: Node, circle: list[Node]) -> Node | None:
    """Give the last node before one in the file, unless it leads back to it."""
    closed = set(circle)
    found: Node | None = None
    for node in nodes:
        if node.place >= first.place:
            break
        found = node
    above = found
    seen: set[Node] = set()
    while above is not None and above not in seen:
        if above in closed:
            return None
        seen.add(above)
        above = above.parent
    return found
