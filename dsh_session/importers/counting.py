"""Counting prompts and compactions of a log without importing it.

A few fields of each line are read, the rest is skipped.

The counts are what an import would mostly give; where a prompt is told from injected text by more than its
line, they may differ from it by a little.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dsh_session.core.errors import PersistenceError
from dsh_session.core.jsonl import Lines
from dsh_session.core.source import DamagedSourceError, TornSourceError, read_pieces


class Counts(NamedTuple):
    """What was counted in one log.

    Attributes:
        turns: Prompts, or marked turns.
        compactions: Compactions, empty ones included.
    """

    turns: int
    compactions: int


class _Message(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class _ClaudeLine(msgspec.Struct, gc=False):
    type: Any = None
    subtype: Any = None
    isMeta: Any = None  # noqa: N815 (their names)
    isSidechain: Any = None  # noqa: N815
    isCompactSummary: Any = None  # noqa: N815
    message: msgspec.Raw = msgspec.Raw(b"{}")


class _CodexLine(msgspec.Struct, gc=False):
    type: Any = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _PiLine(msgspec.Struct, gc=False):
    type: Any = None
    message: msgspec.Raw = msgspec.Raw(b"{}")


class _Type(msgspec.Struct, gc=False):
    type: Any = None


_claude = msgspec.json.Decoder(_ClaudeLine).decode
_codex = msgspec.json.Decoder(_CodexLine).decode
_pi = msgspec.json.Decoder(_PiLine).decode
_message = msgspec.json.Decoder(_Message).decode
_type = msgspec.json.Decoder(_Type).decode
_INJECTED: Final = re.compile(
    rb'"(?:<command-|<local-command|<system-reminder|<bash-|<user-memory|Caveat:|\[Request interrupted'
    rb"|<environment_context|<user_instructions|# AGENTS|<turn_aborted|<skill)"
)


_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

NOTHING, TURN, COMPACTION, PERHAPS = range(4)
"""What a line is; a turn that is told by its text counts only where none is marked."""


def _claude_line(line: bytes) -> int:
    if b'"user"' not in line and b"compact_boundary" not in line:
        return NOTHING
    read = _claude(line)
    if read.type == "system":
        return COMPACTION if read.subtype == "compact_boundary" else NOTHING
    if read.type != "user" or read.isMeta or read.isSidechain or read.isCompactSummary:
        return NOTHING
    return TURN if _is_prompt(bytes(_message(read.message).content)) else NOTHING


def _is_prompt(content: bytes) -> bool:
    """Tell what a person typed from tool results and what was put in beside it."""
    if content[:1] == b'"':
        return _INJECTED.match(content) is None
    return content[:1] == b"[" and b'"tool_result"' not in content and _INJECTED.search(content) is None


def _codex_line(line: bytes) -> int:
    # Most lines are none of these, and looking for a word is far cheaper than reading JSON.
    if b'"user' not in line and b'"compacted"' not in line:
        return NOTHING
    read = _codex(line)
    if read.type == "compacted":
        return COMPACTION
    payload = bytes(read.payload)
    if read.type == "event_msg":
        return TURN if _type(payload).type == "user_message" else NOTHING
    if read.type != "response_item" or _type(payload).type not in ("message", None):
        return NOTHING
    message = _message(payload)
    return PERHAPS if message.role == "user" and _is_prompt(bytes(message.content)) else NOTHING


def _pi_line(line: bytes) -> int:
    if b'"user"' not in line and b'"compaction"' not in line:
        return NOTHING
    read = _pi(line)
    if read.type in ("compaction", "reset_boundary", "context_edit"):  # all of them replace part of the surface
        return COMPACTION
    return TURN if read.type == "message" and _message(read.message).role == "user" else NOTHING


def _dsh_line(line: bytes) -> int:
    if b"/start" not in line:
        return NOTHING
    kind = _type(line).type
    return TURN if kind == "turn/start" else COMPACTION if kind in ("compact/start", "compaction/start") else NOTHING


_LINES: Final[dict[str, Callable[[bytes], int]]] = {
    "claude-code": _claude_line,
    "codex": _codex_line,
    "dsh": _dsh_line,
    "dsh-later": _dsh_line,
    "pi": _pi_line,
}


def count(path: Path, name: str) -> Counts | None:
    """Count a log's prompts and compactions.

    Args:
        path: A file of lines.
        name: Its format.

    Returns:
        The counts; None for a format that is not counted this way.

    Raises:
        OSError: When it cannot be read.

    Example:
        >>> from dsh_session import samples
        >>> count(samples.path("pi-compacted-twice"), "dsh")
        Counts(turns=57, compactions=2)
    """
    tell = _LINES.get(name)
    if tell is None:
        return None
    found = [0, 0, 0, 0]
    for line in _lines(path):
        found[_told(line, tell)] += 1
    return Counts(found[TURN] or found[PERHAPS], found[COMPACTION])


def _told(line: bytes, tell: Callable[[bytes], int]) -> int:
    try:
        return tell(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        # Half of a character that was cut in two makes a line no worse to count.
        return tell(_SURROGATE.sub(rb"\\ufffd", line))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return NOTHING


def _lines(path: Path) -> Iterator[bytes]:
    text = Lines(read_pieces(path))
    try:
        for batch in text.batches():
            yield from batch
    except (TornSourceError, DamagedSourceError, PersistenceError):
        return
    yield text.tail
