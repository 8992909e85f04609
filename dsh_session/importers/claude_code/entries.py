"""The lines of a Claude Code log, each looked at once: what it is, and what it hangs on."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from dsh_session.core.lossless import MAX_SAFE_INTEGER
from dsh_session.importers.book import Book
from dsh_session.importers.claude_code.values import (
    Fields,
    boolean,
    fields_of,
    first_text,
    items,
    mapping,
    python,
    string,
)
from dsh_session.importers.reading import Line, decode, lines

RESPONSE: Final = "response"
PROMPT: Final = "prompt"
CONTEXT: Final = "context"
RESULT: Final = "result"
BOUNDARY: Final = "boundary"
SUMMARY: Final = "summary"
NOTE: Final = "note"
"""What hangs in the tree and is no message: hooks, attachments, progress, what the program says of itself."""
LOOSE: Final = "loose"
"""What is not in the tree at all: titles, snapshots, queues."""

_INJECTED: Final = (
    "<command-name>",
    "<command-message>",
    "<local-command",
    "<system-reminder>",
    "<task-notification>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
    "<user-prompt-submit-hook>",
    "<session-start-hook>",
    "Caveat:",
    "[Request interrupted by user",
)
_SECONDS: Final = 100_000_000_000  # a smaller number counts seconds


class Entry(msgspec.Struct, eq=False):
    """One line.

    Attributes:
        number: 1-based, in its file.
        file: The name of its file.
        raw: Its text.
        tree: Its fields, where the text had to be repaired to be read; None where it is read again when needed.
        type: The value of ``type``.
        kind: One of the constants of this module.
        uuid: Its id.
        parent_uuid: The id of the line it follows.
        time: Epoch milliseconds, if it has a time.
        message_id: The id of the response it is part of.
        session_id: The session that wrote it.
        agent_id: The sub-agent that wrote it.
        is_sidechain: Whether a sub-agent wrote it.
        calls: Ids of the tool calls it makes, or answers.
        is_weak: Whether its message has not the form of one, so that a second line of the same uuid counts.
        node: The node of the tree that it belongs to.
        place: Its place among the lines of its agent, from 0.
        copy_of: The line that it repeats.
    """

    number: int
    raw: bytes
    file: str
    type: str | None = None
    kind: str = LOOSE
    uuid: str | None = None
    parent_uuid: str | None = None
    time: int | None = None
    message_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    is_sidechain: bool = False
    calls: tuple[str, ...] = ()
    is_weak: bool = False
    tree: Fields | None = None
    node: Any = None
    place: int = 0
    copy_of: "Entry | None" = None

    def fields(self) -> Fields:
        """Read the line's fields again; each is JSON text until it is looked at."""
        if self.tree is not None:
            return dict(self.tree)
        try:
            return fields_of(self.raw)
        except ValueError:
            # The quick look saw nothing of what has to be repaired here.
            found = python(msgspec.Raw(self.raw))
            self.tree = found if type(found) is dict else {}
            return dict(self.tree)


# ------------------------------------------------------------------------------------------------------- the quick look


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    tool_use_id: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    content: str | list[_Block] | None = None


class _Look(msgspec.Struct, gc=False):
    type: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 (the log's names)
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    subtype: str | None = None
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    message: _Message | None = None


_look = msgspec.json.Decoder(_Look).decode


def entries(source: Path | bytes, book: Book) -> Iterator[Entry]:
    """Give the lines of a log that can be read.

    Args:
        source: A file, or its bytes.
        book: Takes the findings.

    Yields:
        Entries in file order. What is no object goes to the side table.

    Example:
        >>> book = Book("log.jsonl")
        >>> line = b'{"type":"user","uuid":"a","message":{"content":"Hello"}}'
        >>> [(entry.kind, entry.uuid) for entry in entries(line, book)]
        [('prompt', 'a')]
    """
    times = Times()
    of_text, minutes, rests = times.of_text, times.minutes, times.rests
    shared: dict[str, str] = {}
    share = shared.setdefault
    file = book.file
    for line in lines(source, book):
        try:
            look = _look(line.raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            slow = _slowly(line, file, book, times)
            if slow is not None:
                yield slow
            continue
        kind, session, stamp = look.type, look.sessionId, look.timestamp
        time: int | None = None
        if stamp is not None:
            # As `of_text` does, for nearly all of them.
            minute, rest = minutes.get(stamp[:16]), rests.get(stamp[16:])
            time = of_text(stamp) if minute is None or rest is None else minute + rest
        if kind is not None:
            kind = share(kind, kind)
        if session is not None:
            session = share(session, session)
        entry = Entry(
            line.number,
            line.raw,
            file,
            kind,
            LOOSE,
            look.uuid,
            look.parentUuid,
            time,
            None,
            session,
            look.agentId,
            look.isSidechain is True,
        )
        message = look.message
        if kind == "assistant":
            if message is not None:
                entry.kind = RESPONSE
                if message.id:
                    entry.message_id = share(message.id, message.id)
                content = message.content
                entry.is_weak = content is None
                if type(content) is list:
                    calls = [block.id for block in content if block.type == "tool_use" and block.id]
                    if calls:
                        entry.calls = tuple(calls)
        elif kind == "user" and message is not None:
            entry.is_weak = message.content is None
            text, entry.calls = _said(message.content, entry)
            is_meta, is_summary = look.isMeta is True, look.isCompactSummary is True
            entry.kind = user_kind(text, entry.calls, is_meta=is_meta, is_summary=is_summary)
        if entry.kind == LOOSE:
            if look.subtype == "compact_boundary" and kind == "system":
                entry.kind = BOUNDARY
                entry.is_weak = True
            elif entry.uuid is not None:
                # What hangs in the tree is one of its links, whatever it is.
                entry.kind = NOTE
                entry.is_weak = True
        yield entry


def _said(content: str | list[_Block] | None, entry: Entry) -> tuple[str, tuple[str, ...]]:
    """Give the first text of a user's message, unless it answers calls, and the calls that it answers."""
    if type(content) is str:
        return content, ()
    answers = [block.tool_use_id or "" for block in content or () if block.type == "tool_result"]  # type: ignore[union-attr]
    return "" if answers else first_text((mapping(entry.fields().get("message")) or {}).get("content")), tuple(answers)


def user_kind(text: str, answers: tuple[str, ...], *, is_meta: bool, is_summary: bool) -> str:
    """Tell what a line of type ``user`` is: few of them were typed by a person.

    Example:
        >>> user_kind("Fix it", (), is_meta=False, is_summary=False)
        'prompt'
        >>> user_kind("<command-name>/exit</command-name>", (), is_meta=False, is_summary=False)
        'context'
    """
    if is_summary:
        return SUMMARY
    if answers:
        return RESULT
    return CONTEXT if is_meta or text.startswith(_INJECTED) else PROMPT


def _slowly(line: Line, file: str, book: Book, times: "Times") -> Entry | None:
    """Look at a line whose fields have other types than usual, or that had to be repaired."""
    try:
        tree = None
        fields = fields_of(line.raw)
    except ValueError:
        value = decode(line, book)
        if not isinstance(value, dict):
            if value is not None:
                book.side("noObject", value, line=line.number)
            return None
        tree = fields = value
    entry = Entry(line.number, line.raw, file, tree=tree)
    entry.type = string(fields.get("type"))
    entry.uuid = string(fields.get("uuid"))
    entry.parent_uuid = string(fields.get("parentUuid"))
    entry.time = times.of(fields.get("timestamp"))
    entry.session_id = string(fields.get("sessionId"))
    entry.agent_id = string(fields.get("agentId"))
    entry.is_sidechain = boolean(fields.get("isSidechain"))
    if entry.type == "system" and string(fields.get("subtype")) == "compact_boundary":
        entry.kind = BOUNDARY
    elif entry.uuid is not None:
        entry.kind = NOTE
    if entry.type not in ("assistant", "user"):
        return entry
    message = mapping(fields.get("message"))
    entry.is_weak = message is None or not items(message.get("content"))
    if message is None:
        text = string(fields.get("message"))
        if text is None:
            told = f"line {line.number}: a line of type {entry.type!r} without a message; it is in the side table"
            book.finding("NO_MESSAGE", told, line.number)
            return entry
        told = f"line {line.number}: the message is a text instead of an object; the text was taken"
        book.finding("MESSAGE_IS_TEXT", told, line.number)
        message = {"content": text}
    blocks = [mapping(block) or {} for block in items(message.get("content"))]
    kinds = [string(block.get("type")) for block in blocks]
    if entry.type == "assistant":
        entry.kind = RESPONSE
        entry.message_id = string(message.get("id")) or None
        calls = [string(block.get("id")) for block, kind in zip(blocks, kinds, strict=True) if kind == "tool_use"]
        entry.calls = tuple(call for call in calls if call)
        return entry
    answered = [block for block, kind in zip(blocks, kinds, strict=True) if kind == "tool_result"]
    entry.calls = tuple(string(block.get("tool_use_id")) or "" for block in answered)
    texts = (string(block) or string((mapping(block) or {}).get("text")) for block in items(message.get("content")))
    text = next((text for text in texts if text), "")
    is_meta, is_summary = boolean(fields.get("isMeta")), boolean(fields.get("isCompactSummary"))
    entry.kind = user_kind(text, entry.calls, is_meta=is_meta, is_summary=is_summary)
    return entry


# --------------------------------------------------------------------------------------------------------------- times


class Times:
    """Reads the times of a log; lines that are near each other share most of theirs.

    Example:
        >>> Times().of("2025-07-19T22:21:00.576Z"), Times().of(1752963660), Times().of("yesterday")
        (1752963660576, 1752963660000, None)
    """

    def __init__(self) -> None:
        """Begin with no time seen."""
        self.minutes: dict[str, int] = {}
        self.rests: dict[str, int] = {}  # of a minute, in milliseconds

    def of(self, value: Any) -> int | None:
        """Give a time in epoch milliseconds; None for what is none."""
        if type(value) is msgspec.Raw:
            text = string(value)
            value = text if text is not None else number(value)
        if type(value) is str:
            return self.of_text(value)
        if type(value) in (int, float) and 0 <= value <= MAX_SAFE_INTEGER:
            return int(value * 1000) if value < _SECONDS else int(value)
        return None

    def of_text(self, text: str) -> int | None:
        """Give a time in epoch milliseconds out of text; None for what is none."""
        minute, rest = self.minutes.get(text[:16]), self.rests.get(text[16:])
        if minute is not None and rest is not None:
            return minute + rest
        # What the agent writes: 2025-07-19T22:21:00.576Z.
        if len(text) == 24 and text[23] == "Z" and text[16] == ":" and text[19] == ".":
            minute = _parsed(f"{text[:16]}:00Z")
            # Seconds and milliseconds read as one number are milliseconds.
            digits = text[17:19] + text[20:23]
            if minute is None or not digits.isdecimal():
                return None
            self.minutes[text[:16]], self.rests[text[16:]] = minute, int(digits)
            return minute + int(digits)
        return _parsed(text)


def number(value: Any) -> int | float | None:
    """Give a number out of JSON text; None for anything else."""
    try:
        found = msgspec.json.decode(value)
    except msgspec.MsgspecError:
        return None
    return found if type(found) in (int, float) else None


def _parsed(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        found = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
    return found if 0 <= found <= MAX_SAFE_INTEGER else None
