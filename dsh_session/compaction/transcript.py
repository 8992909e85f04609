"""A range of the surface as plain text, for whoever summarises it."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session

_LABELS = {"user/message": "User: ", "assistant/message": "Assistant: "}
_FRAMES = {"context/message": "[Context: ", "steering/message": "[Steering: "}


def render_transcript(source: Session | Sequence[SessionEvent | dict[str, Any]], seqs: Iterable[int]) -> str:
    """Write messages as a plain-text transcript.

    Args:
        source: A session, or its events or their wire forms from seq 0 on.
        seqs: Which events, in the order to write them. What produces no message, and a seq that the
            log does not have, is passed over.

    Returns:
        One paragraph for each message, with an empty line between them; a message of empty texts
        gives none.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("List the files.") as turn, turn.step() as step:
        ...     message = step.assistant("Let me look.", calls=[("c1", "bash", {"command": "ls"})])
        ...     result = step.result("c1", "README.md")
        >>> print(render_transcript(session, session.surface.nodes))
        User: List the files.
        <BLANKLINE>
        Assistant: Let me look.
        [tool-call: bash({"command":"ls"})]
        <BLANKLINE>
        Tool result (call c1): README.md
    """
    events = source.events if isinstance(source, Session) else source
    written = (_paragraph(events[seq]) for seq in seqs if type(seq) is int and 0 <= seq < len(events))
    return "\n\n".join(paragraph for paragraph in written if paragraph)


def render_blocks(blocks: Iterable[Any]) -> str:
    r"""Write content blocks as plain text, one below the other.

    Args:
        blocks: Content blocks. What is no block is passed over, a block of an unknown type is named.

    Example:
        >>> render_blocks([{"type": "reasoning", "text": "hm"}, {"type": "image", "url": "u"}])
        '[reasoning: hm]\n[image]'
    """
    # Tool results may lie in each other as deep as JSON allows, so they are opened without recursion.
    levels: list[tuple[Iterable[Any], list[str]]] = [(iter(blocks), [])]
    while True:
        rest, parts = levels[-1]
        for block in rest:
            if isinstance(block, dict) and block.get("type") == "tool-result":
                inner = block.get("content")
                levels.append((iter(inner if isinstance(inner, list) else ()), []))
                break
            parts.append(_plain(block))
        else:
            levels.pop()
            text = "\n".join(part for part in parts if part)
            if not levels:
                return text
            levels[-1][1].append(f"[tool-result: {text}]" if text else "[tool-result]")


def _plain(block: Any) -> str:
    if not isinstance(block, dict):
        return ""
    kind = block.get("type")
    if kind == "text":
        return _word(block, "text")
    if kind == "reasoning":
        text = _word(block, "text")
        return f"[reasoning: {text}]" if text else ""
    if kind == "tool-call":
        return f"[tool-call: {_word(block, 'name')}({_word(block, 'arguments')})]"
    return f"[{_word(block, 'type')}]"


def _paragraph(event: SessionEvent | dict[str, Any]) -> str:
    kind, data = (event.type, event.data) if isinstance(event, SessionEvent) else (event.get("type"), event.get("data"))
    if not isinstance(data, dict):
        return ""
    content = data.get("content")
    text = render_blocks(content) if isinstance(content, list) else ""
    if not text:
        return ""
    if kind in _LABELS:
        return f"{_LABELS[kind]}{text}"
    if kind in _FRAMES:
        return f"{_FRAMES[kind]}{text}]"
    if kind == "tool/result":
        label = "Tool error" if data.get("isError") else "Tool result"
        return f"{label} (call {_word(data, 'callId')}): {text}"
    return ""


def _word(part: dict[str, Any], key: str) -> str:
    value = part.get(key)
    return value if isinstance(value, str) else ""


class Transcript(str):
    """The transcript of a range: a `str`, with the events that it was written from.

    A summariser may read the text and nothing else; one that wants to know more has the events.

    Attributes:
        events: The events of the range, in surface order.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello."):
        ...     transcript = Transcript.of(session, session.surface.nodes)
        >>> transcript, transcript.events
        ('User: Hello.', (<SessionEvent 1 user/message>,))
    """

    __slots__ = ("events",)

    events: tuple[SessionEvent, ...]

    @classmethod
    def of(cls, session: Session, seqs: Iterable[int]) -> Self:
        """Write the events of these seqs."""
        chosen = tuple(seqs)
        made = cls(render_transcript(session, chosen))
        made.events = tuple(session.events[seq] for seq in chosen)
        return made
