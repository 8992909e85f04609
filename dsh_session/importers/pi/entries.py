"""The lines of a pi session as entries of a tree (format versions 1 to 3, oh-my-pi's and OpenClaw's variants)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.importers.book import Book
from dsh_session.importers.chat.moments import moment
from dsh_session.importers.paths import ROOT
from dsh_session.importers.reading import decode, lines

SURFACE: Final = frozenset(
    {"message", "custom_message", "branch_summary", "compaction", "context_edit", "reset_boundary"}
)
"""The entry types that change what a model sees."""

KNOWN: Final = SURFACE | {
    "active_tools_change",
    "archive",
    "configuration_update",
    "credential_pin",
    "custom",
    "label",
    "leaf",
    "mode_change",
    "model_change",
    "model_change_rejected",
    "model_usage",
    "service_tier_change",
    "session_exit",
    "session_info",
    "session_init",
    "thinking_level_change",
    "title_change",
    "ttsr_injection",
    "usage",
}
"""The entry types that are about; all others are kept in the side table, with a finding."""


class Entry(NamedTuple):
    """One line that is part of the tree.

    Attributes:
        line: Its 1-based line.
        kind: Its type, such as ``"message"``.
        id: Its id; "" where it has none.
        time: Epoch milliseconds; None where it does not say.
        data: The whole line.
    """

    line: int
    kind: str
    id: str
    time: int | None
    data: dict[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        """The message that it holds; an empty one where it holds none."""
        message = self.data.get("message")
        if message is None and self.kind == "message" and isinstance(self.data.get("role"), str):
            # Some write the message's fields beside the entry's.
            return {key: value for key, value in self.data.items() if key not in ("type", "id", "parentId")}
        return message if isinstance(message, dict) else {}

    @property
    def matters(self) -> bool:
        """Whether it changes what a model sees."""
        return self.kind in SURFACE


class PiLog(NamedTuple):
    """A session file taken apart.

    Attributes:
        header: Its header; empty where it has none.
        header_line: The line of the header.
        entries: Its entries, in file order.
        parents: For each entry the number of the one before it, or `ROOT`.
        leaf: The active leaf.
        array: For each JSON line of the file, header included, the number of its entry; None where it is
            none. Version 1 points into this.
        numbers: The entries by their ids.
        copies: Entries that repeat an earlier line as it is.
    """

    header: dict[str, Any]
    header_line: int | None
    entries: list[Entry]
    parents: list[int]
    leaf: int
    array: list[int | None]
    numbers: dict[str, int]
    copies: set[int]


def read_entries(source: Path | bytes, book: Book) -> PiLog:
    """Read a session file.

    Args:
        source: The file, or its bytes.
        book: Takes the findings, and what is no entry.
    """
    header: dict[str, Any] = {}
    header_line: int | None = None
    entries: list[Entry] = []
    array: list[int | None] = []
    for line in lines(source, book):
        value = decode(line, book)
        if value is None:
            continue
        array.append(None)
        if not isinstance(value, dict):
            book.finding("NOT_AN_OBJECT", "a line that is no JSON object is kept in the side table", line.number)
            book.side("line", value, line=line.number)
            continue
        value = unwrapped(value)
        kind = value.get("type")
        if kind == "session" and "message" not in value:
            if header_line is None:
                header, header_line = value, line.number
            else:
                book.finding("FURTHER_HEADER", "a further session header is kept in the side table", line.number)
            book.side("session", value, line=line.number)
        elif kind == "title":
            book.side("title", value, line=line.number)
        else:
            array[-1] = len(entries)
            entries.append(_entry(value, line.number))
    tree = _tree(entries, header, book)
    return PiLog(header, header_line, entries, *tree[:2], array, *tree[2:])


def unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Give the entry that a line holds: newer programs put a line around it that says what it is.

    Example:
        >>> unwrapped({"kind": "entry", "lane": "main", "entry": {"type": "label", "id": "a"}})
        {'type': 'label', 'id': 'a'}
        >>> unwrapped({"kind": "lane", "lane": "main", "leafId": "a"})
        {'kind': 'lane', 'lane': 'main', 'leafId': 'a', 'type': 'leaf', 'targetId': 'a'}
    """
    kind = value.get("kind", value.get("type"))
    inner = value.get("entry", value.get("data"))
    if kind == "entry" and isinstance(inner, dict) and isinstance(inner.get("type"), str):
        return inner
    if kind == "lane" and "leafId" in value and "type" not in value:
        return {**value, "type": "leaf", "targetId": value["leafId"]}
    if kind in ("record", "fact") and "type" not in value:
        return {**value, "type": "custom"}
    return value


def _entry(value: dict[str, Any], line: int) -> Entry:
    kind = value.get("type")
    if not isinstance(kind, str):
        kind = "message" if isinstance(value.get("message"), dict) else ""
    if kind == "hookMessage":
        kind = "custom_message"
    message = value.get("message")
    time = moment(value.get("timestamp"))
    if time is None and isinstance(message, dict):
        time = moment(message.get("timestamp"))
    identity = value.get("id")
    return Entry(line, kind, identity if isinstance(identity, str) else "", time, value)


def _tree(entries: list[Entry], header: dict[str, Any], book: Book) -> tuple[list[int], int, dict[str, int], set[int]]:
    """Find every entry's parent, which is always one before it in the file, and the active leaf."""
    parents: list[int] = []
    numbers: dict[str, int] = {}
    calls: set[str] = set()
    missing: list[int] = []
    copies: set[int] = set()
    at = ROOT  # where the next entry goes that names no parent
    for number, entry in enumerate(entries):
        doubled = entry.id and entry.id in numbers
        if doubled:
            message = f"the id {entry.id!r} stands in an earlier line as well, and means that one"
            book.finding("DUPLICATE_ID", message, entry.line)
        parent = entry.data.get("parentId", 0)
        before = number - 1 if at == ROOT else at
        if parent is None:
            found = ROOT
        elif not isinstance(parent, str):
            found = before
        elif parent in numbers:
            found = numbers[parent]
        else:
            # OpenClaw writes the session's id, or that of a tool call.
            found = before
            if parent != header.get("id") and parent not in calls:
                missing.append(entry.line)
        if doubled and entries[numbers[entry.id]].data == entry.data:
            # A second copy of a line: it stays where it is, and nothing hangs on it.
            parents.append(parents[numbers[entry.id]])
            copies.add(number)
            continue
        parents.append(found)
        if entry.id and not doubled:
            numbers[entry.id] = number
        calls.update(call_ids(entry))
        at = number
        if entry.kind == "leaf":
            at = _leaf(entry, numbers, number, book)
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        message = (
            f"{len(missing)} entries name a parent that is not there before them (lines {shown}); file order was taken"
        )
        book.finding("MISSING_PARENT", message, missing[0])
    return parents, at, numbers, copies


def _leaf(entry: Entry, numbers: dict[str, int], number: int, book: Book) -> int:
    target = entry.data.get("targetId")
    if isinstance(target, str) and target in numbers:
        return numbers[target]
    message = f"the active leaf is {target!r}, which is no entry before this line; the entry before it was taken"
    book.finding("LEAF_NOT_FOUND", message, entry.line)
    return number


def call_ids(entry: Entry) -> Iterable[str]:
    """Give the ids of the tool calls that an entry holds."""
    content = entry.message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "toolCall" and isinstance(block.get("id"), str):
            yield block["id"]
