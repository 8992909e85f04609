"""What the model gets: the derived messages, each with the event that it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from dsh_session.core.messages import derive_event_message
from dsh_session.views.describe import headline
from dsh_session.views.escape import cut
from dsh_session.views.page.window import window

if TYPE_CHECKING:
    from dsh_session.core.session import Session
    from dsh_session.views.page.outline import Outline

__all__ = ["Message", "MessageGap", "Part", "messages", "parts_of", "pretty"]

_HEADLINE: Final = 120
_PARTS: Final = 40
_TEXT: Final = 6000
# Nested containers are written out so deep and no deeper; how deep is the log's to choose.
_DEPTH: Final = 12
_LARGEST: Final = 10**30


@dataclass(frozen=True, slots=True)
class Part:
    """A content block, ready to be read.

    Attributes:
        tag: What it is, such as `text` or `tool-call`.
        label: What else its head says: a tool's name, a call's id.
        text: What it says.
        more: Characters that were left out.
    """

    tag: str
    label: str
    text: str
    more: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the derived history.

    Attributes:
        position: Its place in the history, from 0.
        seq: The event that it comes from.
        role: `user` or `assistant`.
        kind: One of `dsh_session.views.describe.KINDS`.
        headline: What it says in a line.
        chars: Characters of all its texts.
        parts: Its content blocks.
        more_parts: How many more blocks there are.
    """

    position: int
    seq: int
    role: str
    kind: str
    headline: str
    chars: int
    parts: tuple[Part, ...]
    more_parts: int


@dataclass(frozen=True, slots=True)
class MessageGap:
    """Messages that are not shown.

    Attributes:
        count: How many.
        first: Place of the first.
        last: Place of the last.
        chars: Characters of them all.
    """

    count: int
    first: int
    last: int
    chars: int


def messages(session: Session, outline: Outline, limit: int) -> list[Message | MessageGap]:
    """The derived history, in the model's order.

    Args:
        session: The session.
        outline: Its outline.
        limit: How many messages may be shown; of a longer history the beginning, the end and the summaries.

    Returns:
        Messages, and gaps for those that are left out.
    """
    events = session.events
    seqs = [seq for seq in outline.nodes if seq not in outline.silent]
    marks = [place for place, seq in enumerate(seqs) if not isinstance(events[seq].surface_op, str)]
    shown: list[Message | MessageGap] = []
    done = 0
    for run in window(len(seqs), limit, marks=marks, around=1):
        if run.start > done:
            shown.append(_gap(seqs, done, run.start, outline))
        for place in run:
            event = events[seqs[place]]
            message: Mapping[str, Any] = derive_event_message(event) or {}
            parts, more = parts_of(message.get("content"))
            shown.append(
                Message(
                    position=place,
                    seq=event.seq,
                    role=str(message.get("role")),
                    kind=outline.kind_of[event.seq],
                    headline=headline(event, _HEADLINE),
                    chars=outline.chars[event.seq],
                    parts=parts,
                    more_parts=more,
                )
            )
        done = run.stop
    if done < len(seqs):
        shown.append(_gap(seqs, done, len(seqs), outline))
    return shown


def parts_of(content: object) -> tuple[tuple[Part, ...], int]:
    """The content blocks of a message, ready to be read.

    Args:
        content: Whatever a message holds as its content.

    Returns:
        The first blocks, and how many more there are.

    Example:
        >>> parts_of([{"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}])
        ((Part(tag='tool-call', label='read · c1', text='{}', more=0),), 0)
    """
    if not isinstance(content, list):
        return (_part("content", "", pretty(content)),), 0
    return tuple(_block(block) for block in islice(content, _PARTS)), max(len(content) - _PARTS, 0)


def pretty(value: object) -> str:
    """Any JSON value, written out over several lines.

    Args:
        value: The value; what lies too deep, or beyond the first hundred items, is an ellipsis.

    Returns:
        JSON, but for the ellipses.

    Example:
        >>> print(pretty({"model": "m", "stop": []}))
        {
          "model": "m",
          "stop": []
        }
    """
    return json.dumps(_bounded(value, _DEPTH), indent=2, ensure_ascii=False)


def _gap(seqs: list[int], first: int, stop: int, outline: Outline) -> MessageGap:
    return MessageGap(stop - first, first, stop - 1, sum(outline.chars[seq] for seq in seqs[first:stop]))


def _block(block: object) -> Part:
    if not isinstance(block, Mapping):
        return _part("block", "", pretty(block))
    tag = block.get("type")
    text = block.get("text")
    if not isinstance(tag, str):
        return _part("block", "", pretty(block))
    if tag in {"text", "reasoning"} and isinstance(text, str):
        return _part(tag, "", text)
    if tag == "tool-call":
        return _part("tool-call", _label(block.get("name"), block.get("id")), _loose(block.get("arguments")))
    if tag == "tool-result":
        error = "error" if block.get("isError") is True else None
        return _part("tool-result", _label(error, block.get("toolCallId")), _result(block.get("content")))
    return _part(cut(tag, 80) or "block", "", pretty(block))


def _result(content: object) -> str:
    """A tool result's text; where it holds anything but texts, the whole as JSON."""
    if isinstance(content, list):
        texts = [item.get("text") if isinstance(item, Mapping) else None for item in islice(content, _PARTS)]
        if len(content) <= _PARTS and all(isinstance(text, str) for text in texts):
            return "\n".join(text for text in texts if isinstance(text, str))
    return pretty(content)


def _loose(value: object) -> str:
    return value if isinstance(value, str) else pretty(value)


def _label(*words: object) -> str:
    return " · ".join(cut(word, 80) for word in words if isinstance(word, str) and word)


def _part(tag: str, label: str, text: str) -> Part:
    shown = cut(text, _TEXT)
    hidden = 0 if shown == text else len(text) - len(shown) + 1  # the last character shown is an ellipsis
    return Part(tag, label, shown, hidden)


def _bounded(value: object, depth: int) -> Any:
    if isinstance(value, str):
        return cut(value, _TEXT)
    if isinstance(value, Mapping):
        if not depth:
            return "…"
        shown = {cut(str(key), 200): _bounded(item, depth - 1) for key, item in islice(value.items(), 100)}
        return {**shown, "…": f"{len(value) - 100:,} more"} if len(value) > 100 else shown
    if isinstance(value, list):
        if not depth:
            return "…"
        items = [_bounded(item, depth - 1) for item in islice(value, 100)]
        return [*items, f"… {len(value) - 100:,} more"] if len(value) > 100 else items
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a very large integer"  # the interpreter refuses to write one of many thousand digits
    return value
