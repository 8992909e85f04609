"""Whether lines say the same; whatever a log repeats, no line of it is read again for each of the others."""

from collections.abc import Hashable
from hashlib import blake2b
from typing import Any, Final

import msgspec

from dsh_session.importers.book import text_of
from dsh_session.importers.claude_code.entries import Entry
from dsh_session.importers.claude_code.nodes import Node
from dsh_session.importers.claude_code.values import items, mapping

_SHORT: Final = 32  # bytes that are kept as they are; longer text is known by its digest


class _Message(msgspec.Struct, gc=False):
    content: msgspec.Raw


class _Line(msgspec.Struct, gc=False):
    message: _Message


_line = msgspec.json.Decoder(_Line).decode


def mark_of(value: Any) -> Hashable:
    """Give what is the same for values that are the same, and for no others; it is small, however long they are.

    Args:
        value: A value, unread in part or in whole; what is unread differs from what was read.

    Example:
        >>> mark_of(msgspec.Raw(b'"a"')) == mark_of(msgspec.Raw(b'"a"')), mark_of([1]) == mark_of([2])
        (True, False)
    """
    try:
        return _mark_of(value)
    except RecursionError:
        return text_of(value)


def _mark_of(value: Any) -> Hashable:
    kind = type(value)
    if kind is msgspec.Raw:
        raw = bytes(value)
        return raw if len(raw) <= _SHORT else (len(raw), blake2b(raw, digest_size=16).digest())
    if kind is dict:
        return frozenset([(key, _mark_of(item)) for key, item in value.items()])
    if kind is list:
        return tuple([_mark_of(item) for item in value])
    return value  # type: ignore[no-any-return]  # a text, a number, a constant


class Sayings:
    """What messages say, as marks of their blocks."""

    def __init__(self) -> None:
        """Begin with no line read."""
        self._groups: dict[str | None, tuple[Node, set[Hashable]]] = {}
        self._read: dict[str | None, int] = {}
        self._twins: dict[Node, tuple[Hashable, ...]] = {}
        self._last: tuple[Entry, tuple[Hashable, ...]] | None = None

    def repeats(self, entry: Entry, group: Node) -> bool:
        """Tell whether all blocks of a line stand in a response already.

        Args:
            entry: The line.
            group: The response of the same id; lines that it gets later are read when it is asked about again.
        """
        name = entry.message_id
        known = self._groups.get(name)
        if known is None or known[0] is not group:
            known = self._groups[name] = group, set()
            self._read[name] = 0
        said = known[1]
        lines = group.entries
        for at in range(self._read[name], len(lines)):
            said.update(self._marks(lines[at]))
        self._read[name] = len(lines)
        return said.issuperset(self._marks(entry))

    def is_twin(self, entry: Entry, node: Node) -> bool:
        """Tell whether a line says what the first line of a node does."""
        first = self._twins.get(node)
        if first is None:
            first = self._twins[node] = self._marks(node.entries[0])
        return first == self._marks(entry)

    def _marks(self, entry: Entry) -> tuple[Hashable, ...]:
        """Give the marks of a line's blocks; the line before is often asked about once more."""
        last = self._last
        if last is None or last[0] is not entry:
            last = self._last = entry, tuple([mark_of(block) for block in _content(entry)])
        return last[1]


def _content(entry: Entry) -> list[Any]:
    if entry.tree is None:
        try:
            return items(_line(entry.raw).message.content)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            pass
    message = mapping(entry.fields().get("message"))
    return [] if message is None else items(message.get("content"))
