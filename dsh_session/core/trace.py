"""Why did it forget? Where a text was, request by request."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dsh_session.core.event import SessionEvent
from dsh_session.core.messages import derive_event_message, kind_of

if TYPE_CHECKING:
    from dsh_session.core.history import SurfaceHistory

Presence = Literal["not yet", "verbatim", "summary", "gone"]
"""How a request had a text: it had not been said; in an original message; only in a replacement's
words; no longer at all."""


class TracePoint(NamedTuple):
    """One request, and whether the model had the text.

    Attributes:
        request: Seq of the assistant message that answered the request.
        presence: How the model had the text.
        holders: The nodes on the surface that held it, in surface order.
        taken_by: For ``summary`` and ``gone``: seq of the replacement that took the last original
            holder away.
    """

    request: int
    presence: Presence
    holders: tuple[int, ...]
    taken_by: int | None


def trace(history: "SurfaceHistory", text: str) -> list[TracePoint]:
    """Follow a text through every request of a session.

    Args:
        history: The session's history.
        text: What to look for, exactly; it must not be empty.

    Returns:
        One point per request, in log order; a request is known by the assistant message that
        answered it, and its surface is the one just before.

    Raises:
        ValueError: For an empty text.

    Example:
        >>> from dsh_session import Session, SurfaceHistory
        >>> session = Session("s", clock=lambda: 0)
        >>> event = session.append(
        ...     "user/message",
        ...     {"content": [{"type": "text", "text": "use port 8080"}], "source": {"kind": "user"}},
        ...     surface_op="append",
        ... )
        >>> answer = {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}}
        >>> event = session.append("assistant/message", answer, surface_op="append")
        >>> SurfaceHistory(session).trace("8080")
        [TracePoint(request=1, presence='verbatim', holders=(0,), taken_by=None)]
    """
    if not text:
        raise ValueError("an empty text is everywhere; give the words to look for")
    replacing = {replacement.seq for replacement in history.replacements}
    events = history.events
    lives = []
    for seq in sorted({*history.transcript(), *replacing}):
        if _holds(events[seq], text):
            is_summary = seq in replacing and kind_of(events[seq]) == "user/message"
            lives.append((seq, history.lifetime(seq).left, is_summary))
    return [_point(request, lives, history) for request in history.requests()]


def _point(request: int, lives: list[tuple[int, int | None, bool]], history: "SurfaceHistory") -> TracePoint:
    said = [(seq, left, is_summary) for seq, left, is_summary in lives if seq < request]
    there = [(seq, is_summary) for seq, left, is_summary in said if left is None or left > request]
    holders = tuple(seq for seq, _ in there)
    if len(holders) > 1:
        standing = {seq: at for at, seq in enumerate(history.at(request - 1))}
        holders = tuple(sorted(holders, key=standing.__getitem__))
    if any(not is_summary for _, is_summary in there):
        return TracePoint(request, "verbatim", holders, None)
    taken = [left for _, left, is_summary in said if not is_summary and left is not None]
    taken_by = max(taken, default=None)
    if there:
        return TracePoint(request, "summary", holders, taken_by)
    return TracePoint(request, "gone" if said else "not yet", (), taken_by)


def _holds(event: SessionEvent | dict[str, Any], text: str) -> bool:
    message = derive_event_message(event)
    return message is not None and any(text in found for found in _texts(message["content"]))


def _texts(content: Any) -> list[str]:
    """Give every string that a model reads in content blocks: not the names of their fields."""
    found: list[str] = []
    stack = [content]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            stack.extend(value for key, value in item.items() if key != "type")
        elif isinstance(item, list):
            stack.extend(item)
    return found
