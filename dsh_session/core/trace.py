"""Why did it forget? Where a text was, request by request."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from dsh_session.core.event import SessionEvent
from dsh_session.core.messages import derive_event_message, kind_of
from dsh_session.core.view import FixedView

if TYPE_CHECKING:
    from dsh_session.core.history import SurfaceHistory

Presence = Literal["not yet", "verbatim", "summary", "gone"]
"""How a request had a text: it had not been said; in an original message or in the request header;
only in a summary's words; no longer at all."""


class TracePoint(NamedTuple):
    """One request, and whether the model had the text.

    Attributes:
        request: Seq of the assistant message that answered the request.
        presence: How the model had the text.
        holders: Seqs of what held it, in the order in which the model read it: the request header in
            force (system prompt, tools, message prefix), then nodes of the surface.
        taken_by: For ``summary`` and ``gone``: seq of the replacement, or of the next header, that
            took the last original holder away; of the last summary, for a text that only a summary said.
    """

    request: int
    presence: Presence
    holders: Sequence[int]
    taken_by: int | None


def trace(history: "SurfaceHistory", text: str) -> list[TracePoint]:
    """Follow a text through every request of a session.

    Args:
        history: The session's history.
        text: What to look for, exactly, in all that a model reads of a message or of the request
            header; it must not be empty.

    Returns:
        One point per request, in log order; a request is known by the assistant message that
        answered it, and its surface is the one just before.

    Raises:
        TypeError: For something else than text.
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
    if not isinstance(text, str):
        raise TypeError(f"the text to look for must be a str, not {type(text).__name__}")
    if not text:
        raise ValueError("an empty text is everywhere; give the words to look for")
    events = history.events  # first: a session that grows meanwhile only adds to what follows
    sweep = _Sweep(text)
    replacements = {replacement.seq: replacement.shadowed_seqs for replacement in history.replacements}
    appended, requests = set(history.transcript()), set(history.requests())
    points = []
    for seq, event in enumerate(events):
        if seq in requests:
            points.append(sweep.point(seq))
        if seq in appended:
            sweep.append(seq, event)
        elif seq in replacements:
            sweep.replace(seq, event, replacements[seq])
        elif kind_of(event) == "request/header":
            sweep.header(seq, event)
    return points


class _Sweep:
    """What holds the text, event by event: the cost of a request does not grow with the log."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._holders: list[int] = []  # in the order in which the model reads them; a header comes first
        self._seen = 0  # so many of them stand in points that were given away
        self._has_header = False
        self._summaries: set[int] = set()  # those holders that are a replacement's words
        self._ranks: dict[int, int] = {}  # a replacement stands where the first of its nodes entered
        self._original_taken: int | None = None
        self._taken: int | None = None
        self._said = False

    def append(self, seq: int, event: SessionEvent | dict[str, Any]) -> None:
        if _holds(event, self._text):
            self._said = True
            self._holders.append(seq)

    def replace(self, seq: int, event: SessionEvent | dict[str, Any], shadowed: Sequence[int]) -> None:
        rank = self._ranks[seq] = self._rank(shadowed[0])
        start = bisect_left(self._holders, rank, int(self._has_header), key=self._rank)
        stop = bisect_right(self._holders, self._rank(shadowed[-1]), start, key=self._rank)
        taken, is_holder = self._holders[start:stop], _holds(event, self._text)
        if not taken and not is_holder:
            return
        self._put(start, stop, seq if is_holder else None)
        self._said = True
        if is_holder and kind_of(event) == "user/message":
            self._summaries.add(seq)
        self._take(taken, seq)

    def header(self, seq: int, event: SessionEvent | dict[str, Any]) -> None:
        is_holder = any(self._text in found for found in _header_texts(event))
        if not self._has_header and not is_holder:
            return
        taken = self._holders[: int(self._has_header)]
        self._put(0, len(taken), seq if is_holder else None)
        self._has_header, self._said = is_holder, True
        self._take(taken, seq)

    def point(self, request: int) -> TracePoint:
        holders = self._holders
        self._seen = len(holders)
        view = FixedView(holders, len(holders))
        if len(holders) > len(self._summaries):
            return TracePoint(request, "verbatim", view, None)
        if holders:
            return TracePoint(request, "summary", view, self._original_taken)
        taken_by = self._taken if self._original_taken is None else self._original_taken
        return TracePoint(request, "gone" if self._said else "not yet", view, taken_by)

    def _rank(self, seq: int) -> int:
        return self._ranks.get(seq, seq)

    def _put(self, start: int, stop: int, seq: int | None) -> None:
        """Exchange holders; a list that points look at is left to them."""
        if start < self._seen:
            self._holders = self._holders.copy()
            self._seen = 0
        self._holders[start:stop] = [] if seq is None else [seq]

    def _take(self, taken: list[int], by: int) -> None:
        if taken:
            self._taken = by
        if any(seq not in self._summaries for seq in taken):
            self._original_taken = by
        self._summaries.difference_update(taken)


def _holds(event: SessionEvent | dict[str, Any], text: str) -> bool:
    message = derive_event_message(event)
    return message is not None and any(text in found for found in _texts(message["content"]))


def _header_texts(event: SessionEvent | dict[str, Any]) -> list[str]:
    """Give every string that a model reads in a request header; a malformed one may hold anything."""
    data = event.data if isinstance(event, SessionEvent) else event.get("data")
    header = data.get("header") if isinstance(data, dict) else None
    if not isinstance(header, dict):
        return []
    prefix = header.get("messagePrefix")
    messages = prefix if isinstance(prefix, list) else []
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    return _texts([header.get("system"), header.get("tools"), contents])


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
