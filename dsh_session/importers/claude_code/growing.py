"""From lines to a tree: which line follows which, where the log says so, says it wrongly, or does not say it."""

from collections.abc import Iterable
from typing import Any, Final

from dsh_session.importers.book import Book
from dsh_session.importers.claude_code.circles import cut_circles
from dsh_session.importers.claude_code.entries import (
    BOUNDARY,
    CONTEXT,
    LOOSE,
    NOTE,
    PROMPT,
    RESPONSE,
    RESULT,
    SUMMARY,
    Entry,
)
from dsh_session.importers.claude_code.nodes import COMPACTION, Node, Tree
from dsh_session.importers.claude_code.sameness import Sayings
from dsh_session.importers.claude_code.values import items, mapping, string

_KEPT: Final = 20
"""How many times the lines of a log all its compactions may keep; a log with more is hostile."""


def grow(lines: Iterable[Entry], book: Book) -> tuple[Tree, list[Entry], list[Entry]]:
    """Make a tree of the lines of one agent.

    Lines of one response are one node. A line that repeats an earlier one is left out. Where the line
    that a line names as its parent is missing, the one before it in the file takes its place.

    Args:
        lines: In file order.
        book: Takes the findings.

    Returns:
        The tree, the lines that are not in it, and those that repeat another one.
    """
    grower = _Grower(list(lines), book)
    return grower.grow(), grower.loose, grower.copies


class _Grower:
    def __init__(self, lines: list[Entry], book: Book) -> None:
        self.book = book
        self.loose: list[Entry] = []
        self.copies: list[Entry] = []
        self._lines = lines
        self._by_uuid: dict[str, Entry] = {}
        self._nodes: list[Node] = []
        self._preamble: list[Entry] = []
        self._messages: dict[str, Node] = {}
        self._calls: dict[str, Node] = {}
        self._siblings: dict[tuple[Node, int, str], Node] = {}
        self._sayings = Sayings()
        self._compactions: list[Node] = []
        self._late: list[tuple[Entry, Entry]] = []
        self._early: list[Entry] = []
        self._previous: Entry | None = None
        self._run: set[str] = set()
        self._is_linked = False
        self._room = _KEPT * len(lines)

    def grow(self) -> Tree:
        self._register()
        for place, entry in enumerate(self._lines):
            if entry.copy_of is not None:
                self.copies.append(entry)
                if entry.uuid is not None:
                    self._run.add(entry.uuid)
                continue
            if entry.kind == LOOSE:
                self.loose.append(entry)
                continue
            self._put(entry, place)
            if entry.copy_of is None:
                self._previous = entry
                self._run.clear()
        self._settle()
        cut_circles(self._nodes, self.book)
        # Where lines come before the ones that they follow, and where a compaction wrote again what it had kept,
        # the last node is not the end of its path.
        followed = {node.parent for node in self._nodes}
        leaf = next((node for node in reversed(self._nodes) if node not in followed), None)
        return Tree(self._nodes, self._preamble, leaf)

    def _register(self) -> None:
        """Learn all ids, and which line repeats which."""
        by_uuid = self._by_uuid
        for place, entry in enumerate(self._lines):
            entry.place = place
            uuid = entry.uuid
            if uuid is None:
                continue
            first = by_uuid.setdefault(uuid, entry)
            if first is entry or entry.kind == LOOSE:
                continue
            if first.kind == LOOSE or (first.is_weak and not entry.is_weak):
                # The first one has no message that can be read: it is the one to leave.
                first.copy_of, first.kind = entry, LOOSE if first.kind == LOOSE else first.kind
                by_uuid[uuid] = entry
            else:
                entry.copy_of = first
        self._is_linked = any(entry.parent_uuid in by_uuid for entry in self._lines if entry.parent_uuid is not None)

    # ------------------------------------------------------------------------------------------------------ one line

    def _put(self, entry: Entry, place: int) -> None:
        """Put a line where it belongs."""
        kind = entry.kind
        if kind == RESULT:
            self._attach_result(entry)
        elif kind == BOUNDARY:
            self._add_boundary(entry, place)
        elif kind == NOTE:
            self._attach(entry, self._parent_of(entry, place))
        elif kind == SUMMARY:
            self._add_summary(entry, self._parent_of(entry, place), place)
        elif kind == RESPONSE:
            self._put_response(entry, place)
        else:
            self._add(entry, self._parent_of(entry, place), place)

    def _put_response(self, entry: Entry, place: int) -> None:
        group = None if entry.message_id is None else self._messages.get(entry.message_id)
        if group is None:
            self._add(entry, self._parent_of(entry, place), place)
            return
        named = None if entry.parent_uuid is None else self._by_uuid.get(entry.parent_uuid)
        if named is not None and named.node is group:
            # The log says itself that the line follows the others.
            self._join(entry, group)
        elif self._sayings.repeats(entry, group):
            self._repeat(entry, group.entries[0])
        else:
            parent = self._parent_of(entry, place)
            if parent is group:
                self._join(entry, group)
            else:
                self._add(entry, parent, place)

    def _join(self, entry: Entry, group: Node) -> None:
        """Take a further line of a response."""
        group.entries.append(entry)
        entry.node = group
        if entry.calls:
            self._note_calls(entry, group)
        entry.uuid = entry.parent_uuid = None

    def _add(self, entry: Entry, parent: Node | None, place: int) -> None:
        node = Node(entry.kind, entry, parent, place)
        if parent is not None and entry.time is not None:
            twin = self._siblings.setdefault((parent, entry.time, entry.kind), node)
            if twin is not node and self._sayings.is_twin(entry, twin):
                # The same words at the same moment: a compaction has written its history again.
                self._repeat(entry, twin.entries[0])
                return
        self._nodes.append(node)
        if entry.kind == RESPONSE:
            if entry.message_id is not None:
                self._messages[entry.message_id] = node
            self._note_calls(entry, node)
        compaction = self._kept_by(entry, place)
        if compaction is not None:
            # Written again after the compaction that kept it: it stands before it.
            node.parent, compaction.parent = compaction.parent, node
            node.kept_by = compaction

    def _note_calls(self, entry: Entry, node: Node) -> None:
        for call in entry.calls:
            self._calls[call] = node
        # In a long log the names that the tree is grown with are many: they are let go of when they are read.
        entry.calls = ()

    def _repeat(self, entry: Entry, first: Entry) -> None:
        entry.copy_of = first
        entry.node = first.node
        self.copies.append(entry)

    # -------------------------------------------------------------------------------------------------------- parents

    def _parent_of(self, entry: Entry, place: int) -> Node | None:
        """Give the node that a line follows, whatever the log says."""
        previous = self._previous
        before: Node | None = None if previous is None else previous.node
        name = entry.parent_uuid
        if name is None:
            begins = entry.kind in (PROMPT, CONTEXT) and self._is_linked
            if begins and before is not None:
                self._note_root(entry)
            return None if begins else before
        parent = self._by_uuid.get(name)
        if parent is None or parent is entry:
            what = "which is not in the log" if parent is None else "which is itself"
            done = "it is the first" if previous is None else "it was put after the line before it"
            self.book.finding(
                "DANGLING_PARENT", f"line {entry.number} follows {_short(name)}, {what}; {done}", entry.number
            )
            return before
        if name in self._run and parent is not previous and entry.kind != PROMPT:
            told = f"line {entry.number} follows a repeated line; it was put after the last line that was new"
            self.book.finding("FOLLOWS_A_COPY", told, entry.number)
            return before
        if parent.place > place and parent.node is None:
            self._late.append((entry, parent))
            return before
        node: Node | None = parent.node
        if node is None and before is not None:
            if entry.kind not in (PROMPT, CONTEXT):
                return before
            self._note_root(entry)
        return self._across(entry, node, place, before)

    def _note_root(self, entry: Entry) -> None:
        told = f"line {entry.number}: a second beginning; what was before it is a session of its own"
        self.book.finding("SECOND_ROOT", told, entry.number)

    def _across(self, entry: Entry, node: Node | None, place: int, before: Node | None) -> Node | None:
        """Mind the compactions that lie between a line and the one that it follows."""
        if node is None or not self._compactions:
            return node
        kept_by = node.kept_by
        if kept_by is not None and kept_by.place < place and entry not in kept_by.kept:
            return kept_by
        latest = self._compactions[-1]
        if node.place < latest.place and node is not latest and entry.kind != PROMPT and entry not in latest.kept:
            # Going back is something that a person does, with a prompt.
            told = f"line {entry.number} follows a line from before a compaction; it was put after the line before it"
            self.book.finding("CHAIN_JUMPS_BACK", told, entry.number)
            return before
        return node

    # ---------------------------------------------------------------------------------------------------- attachments

    def _attach(self, entry: Entry, owner: Node | None) -> None:
        entry.node = owner
        if owner is None:
            if not self._late or self._late[-1][0] is not entry:
                self._preamble.append(entry)
        elif not self._late or self._late[-1][0] is not entry:
            owner.attached.append(entry)

    def _owner_of(self, entry: Entry) -> Node | None:
        """Give the response with the call that a result answers."""
        for call in entry.calls:
            owner = self._calls.get(call)
            if owner is not None:
                return owner
        return None

    def _attach_result(self, entry: Entry) -> None:
        owner = self._owner_of(entry)
        if owner is not None:
            entry.node = owner
            entry.calls = ()
            entry.uuid = entry.parent_uuid = None
            owner.attached.append(entry)
            return
        self._early.append(entry)
        named = None if entry.parent_uuid is None else self._by_uuid.get(entry.parent_uuid)
        previous = self._previous
        entry.node = None if previous is None else previous.node
        if named is not None and named.node is not None:
            entry.node = named.node

    # ----------------------------------------------------------------------------------------------------- compactions

    def _add_boundary(self, entry: Entry, place: int) -> None:
        fields = entry.fields()
        if entry.uuid is None:
            told = f"line {entry.number}: a compaction without a uuid; the lines after it follow it by their order only"
            self.book.finding("BOUNDARY_WITHOUT_ID", told, entry.number)
        kept = self._kept(entry, mapping(fields.get("compactMetadata")) or {}, place)
        before = [one for one in kept if one.place < place and one.node is not None]
        last: Node | None = None if self._previous is None else self._previous.node
        parent = last
        if before:
            parent = max(before, key=lambda one: one.place).node
        else:
            name = string(fields.get("logicalParentUuid")) or entry.parent_uuid
            named = None if name is None else self._by_uuid.get(name)
            if named is not None and named.node is not None and named is not entry:
                parent = last if name in self._run else named.node
            elif name is not None:
                told = (
                    f"line {entry.number}: the compaction follows {_short(name)}, which is not in the log before it; "
                    "it was put after the line before it"
                )
                self.book.finding("DANGLING_PARENT", told, entry.number)
        parent = self._across(entry, parent, place, last)
        node = Node(COMPACTION, entry, parent, place)
        node.kept = frozenset(kept)
        for one in before:
            one.node.kept_by = node
        self._nodes.append(node)
        self._compactions.append(node)

    def _add_summary(self, entry: Entry, parent: Node | None, place: int) -> None:
        if parent is not None and parent.kind == COMPACTION and all(one.kind != SUMMARY for one in parent.entries):
            parent.entries.append(entry)
            entry.node = parent
            return
        node = Node(COMPACTION, entry, parent, place)
        self._nodes.append(node)
        self._compactions.append(node)

    def _kept(self, entry: Entry, metadata: dict[str, Any], place: int) -> set[Entry]:
        """Give the lines that a compaction says it left as they were."""
        kept: set[Entry] = set()
        listed = mapping(metadata.get("preservedMessages"))
        if listed is not None:
            names = (string(name) for name in items(listed.get("uuids")))
            kept.update(self._by_uuid[name] for name in names if name in self._by_uuid)
        segment = mapping(metadata.get("preservedSegment"))
        if segment is not None:
            head = self._by_uuid.get(string(segment.get("headUuid")) or "")
            tail = self._by_uuid.get(string(segment.get("tailUuid")) or "")
            if head is not None and head.place < place:
                last = place if tail is None else min(place - 1, tail.place)
                # The chain of such lines is sometimes written wrongly; their order never is.
                last = min(last, head.place + max(self._room, 0))
                self._room -= last - head.place
                span = self._lines[head.place : last + 1]
                kept.update(one for one in span if one.copy_of is None and one.kind not in (LOOSE, BOUNDARY, SUMMARY))
            if tail is not None:
                kept.add(tail)
        kept.discard(entry)
        if (listed is not None or segment is not None) and not kept:
            told = f"line {entry.number}: none of the lines that the compaction kept is in the log"
            self.book.finding("KEPT_LINES_MISSING", told, entry.number)
        return {one for one in kept if one.copy_of is None}

    def _kept_by(self, entry: Entry, place: int) -> Node | None:
        """Give the compaction that kept a line and wrote it again, if there is one."""
        if not self._compactions:
            return None
        latest = self._compactions[-1]
        return latest if latest.place < place and entry in latest.kept else None

    # --------------------------------------------------------------------------------------------------- at the end

    def _settle(self) -> None:
        """Place what names a line that comes later in the file."""
        for entry, parent in self._late:
            owner: Node | None = parent.node
            if entry.kind == NOTE:
                entry.node = owner = owner or entry.node
                self._attach_late(entry, owner)
            elif owner is not None and entry.node is not owner and entry.node.entries[0] is entry:
                entry.node.parent = owner
        for entry in self._early:
            owner = entry.node = self._owner_of(entry) or entry.node
            self._attach_late(entry, owner)

    def _attach_late(self, entry: Entry, owner: Node | None) -> None:
        if owner is None:
            self._preamble.append(entry)
        else:
            owner.attached.append(entry)
            owner.is_mixed = True


def _short(name: str) -> str:
    return ascii(name if len(name) <= 40 else f"{name[:39]}…")
