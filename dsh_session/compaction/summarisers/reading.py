"""Reading a transcript back: who said what, and what tools were called with."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dsh_session.compaction.framing import CLOSING, OPENING, is_summary
from dsh_session.compaction.transcript import Transcript, render_blocks
from dsh_session.core.event import SessionEvent

_PARAGRAPH = re.compile(
    r"(?:\A|\n\n)(?:(User|Assistant|Tool result \(call .*?\)|Tool error \(call .*?\)): |\[(Context|Steering): )"
)
_CALL = re.compile(r"\[tool-call: (.*?)\((.*)\)\]")
_REASONING = re.compile(r"\[reasoning: .*?\]$", re.DOTALL | re.MULTILINE)
_FILE_KEYS = ("path", "file_path", "filePath", "notebook_path", "filename", "file")
_COMMAND_KEYS = ("command", "cmd", "script")


class Call(NamedTuple):
    """A tool call.

    Attributes:
        id: Its id; empty where only the text is known.
        tool: The tool's name.
        arguments: The raw text of its arguments.
    """

    id: str
    tool: str
    arguments: str


class Said(NamedTuple):
    """One message.

    Attributes:
        role: ``user``, ``assistant``, ``tool``, ``error``, ``summary`` or ``context``.
        text: What was said, tool calls aside.
        calls: The tools that it called.
        call_id: The call that it answers.
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""


def read_transcript(transcript: str) -> list[Said]:
    r"""Read a transcript: from its events where it has them, from the text otherwise.

    Example:
        >>> read_transcript("User: Look.\n\nAssistant: I do.\n[tool-call: ls({})]")[1]
        Said(role='assistant', text='I do.', calls=(Call(id='', tool='ls', arguments='{}'),), call_id='')
    """
    events = getattr(transcript, "events", None) if isinstance(transcript, Transcript) else None
    if events is None:
        return list(_from_text(transcript))
    return [_from_event(event) for event in events]


def _from_event(event: SessionEvent) -> Said:
    data: Any = event.data
    content = data["content"]
    text = render_blocks([block for block in content if block.get("type") != "tool-call"]).strip()
    if is_summary(event):
        return Said("summary", _unframed(text))
    if event.type == "tool/result":
        return Said("error" if data.get("isError") else "tool", text, call_id=str(data.get("callId", "")))
    if event.type != "assistant/message":
        return Said("context" if event.type == "context/message" else "user", text)
    said = render_blocks([block for block in content if block.get("type") == "text"]).strip()
    calls = [
        Call(*(block[key] if isinstance(block.get(key), str) else "" for key in ("id", "name", "arguments")))
        for block in content
        if block.get("type") == "tool-call"
    ]
    return Said("assistant", said, tuple(calls))


def _from_text(text: str) -> Iterator[Said]:
    parts = _PARAGRAPH.split(text)
    for label, frame, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        words = body.strip()
        if frame is not None:
            yield Said("context" if frame == "Context" else "user", words.removesuffix("]"))
        elif label == "User":
            yield Said("summary", _unframed(words)) if OPENING in words else Said("user", words)
        elif label == "Assistant":
            calls = tuple(Call("", tool, arguments) for tool, arguments in _CALL.findall(words))
            yield Said("assistant", _CALL.sub("", _REASONING.sub("", words)).strip(), calls)
        else:
            yield Said("error" if label.startswith("Tool error") else "tool", words)


def _unframed(text: str) -> str:
    _, opened, inner = text.partition(OPENING)
    return (inner.rpartition(CLOSING)[0] if CLOSING in inner else inner).strip() if opened else text


def files_of(call: Call) -> list[str]:
    """Give the files that a call names in its arguments.

    Example:
        >>> files_of(Call("c1", "read", '{"path": "README.md"}'))
        ['README.md']
    """
    return [value for value in _values(call, _FILE_KEYS) if isinstance(value, str) and value.strip()]


def commands_of(call: Call) -> list[str]:
    """Give the commands that a call runs.

    Example:
        >>> commands_of(Call("c1", "shell", '{"command": ["bash", "-lc", "ls"]}'))
        ['bash -lc ls']
    """
    found = []
    for value in _values(call, _COMMAND_KEYS):
        if isinstance(value, list):
            value = " ".join(part for part in value if isinstance(part, str))  # noqa: PLW2901 (the same command, as text)
        if isinstance(value, str) and value.strip():
            found.append(value)
    return found


def _values(call: Call, keys: Iterable[str]) -> list[Any]:
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return []
    return [arguments[key] for key in keys if key in arguments] if isinstance(arguments, dict) else []
