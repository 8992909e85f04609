"""Why did it forget? Where a text was, request by request."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast, overload

from dsh_session.core.event import SessionEvent
from dsh_session.core.messages import derive_event_message, kind_of
from dsh_session.core.view import FixedView

if TYPE_CHECKING:
    from dsh_session.core.history import SurfaceHistory

Presence = Literal["not yet", "verbatim", "summary", "gone"]
"""How a request had a text: it had not been said; in an original message or in the request header;
only in a summary's words; no longer at all."""


# The place of a request header among what a model reads.
_BEFORE_ALL: Final = -1
# Fields of blocks and tools that hold a JSON value with keys of its own.
_VALUES: Final = frozenset({"arguments", "input", "parameters", "inputSchema", "input_schema"})


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
            header: texts, names, and the keys, strings and numbers of arguments and parameters, but not
            the names of the format's own fields. It is found within one of them; it must not be empty.

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
        self._lives = _Lives()
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
            self._lives.enter(seq, seq)

    def replace(self, seq: int, event: SessionEvent | dict[str, Any], shadowed: Sequence[int]) -> None:
        rank = self._ranks[seq] = self._rank(shadowed[0])
        start = bisect_left(self._holders, rank, int(self._has_header), key=self._rank)
        stop = bisect_right(self._holders, self._rank(shadowed[-1]), start, key=self._rank)
        taken, is_holder = self._holders[start:stop], _holds(event, self._text)
        if not taken and not is_holder:
            return
        self._put(start, stop, seq if is_holder else None, rank)
        self._said = True
        if is_holder and kind_of(event) == "user/message":
            self._summaries.add(seq)
        self._take(taken, seq)

    def header(self, seq: int, event: SessionEvent | dict[str, Any]) -> None:
        is_holder = any(self._text in found for found in _header_texts(event))
        if not self._has_header and not is_holder:
            return
        taken = self._holders[: int(self._has_header)]
        self._put(0, len(taken), seq if is_holder else None, _BEFORE_ALL)
        self._has_header, self._said = is_holder, True
        self._take(taken, seq)

    def point(self, request: int) -> TracePoint:
        holders = self._holders
        view = _Holders(self._lives, request, holders)
        if len(holders) > len(self._summaries):
            return TracePoint(request, "verbatim", view, None)
        if holders:
            return TracePoint(request, "summary", view, self._original_taken)
        taken_by = self._taken if self._original_taken is None else self._original_taken
        return TracePoint(request, "gone" if self._said else "not yet", view, taken_by)

    def _rank(self, seq: int) -> int:
        return self._ranks.get(seq, seq)

    def _put(self, start: int, stop: int, seq: int | None, rank: int) -> None:
        self._holders[start:stop] = [] if seq is None else [seq]
        if seq is not None:
            self._lives.enter(seq, rank)

    def _take(self, taken: list[int], by: int) -> None:
        if taken:
            self._taken = by
            self._lives.leave(taken, by)
        if any(seq not in self._summaries for seq in taken):
            self._original_taken = by
        self._summaries.difference_update(taken)


class _Lives:
    """When each holder came and went: so every request shares one list, however often the surface changed."""

    def __init__(self) -> None:
        self._ranks: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._ordered: list[int] = []

    def enter(self, seq: int, rank: int) -> None:
        self._ranks[seq] = rank

    def leave(self, seqs: list[int], by: int) -> None:
        self._left.update(dict.fromkeys(seqs, by))

    def before(self, request: int) -> list[int]:
        """Give the holders just before a request, in the order in which the model read them."""
        if len(self._ordered) != len(self._ranks):
            # Those of one rank were never there together: one took the other's place.
            self._ordered = sorted(self._ranks, key=self._ranks.__getitem__)
        left = self._left
        return [seq for seq in self._ordered if seq < request <= left.get(seq, request)]


class _Holders(FixedView[int]):
    """The holders of one request: their number, the first and the last are known, the others looked up when needed."""

    __slots__ = ("_ends", "_found", "_lives", "_request")

    _ends: tuple[int, ...]
    _found: list[int] | None
    _lives: _Lives
    _request: int

    def __init__(self, lives: _Lives, request: int, holders: list[int]) -> None:
        ends = (holders[0], holders[-1]) if holders else ()
        state = (("_ends", ends), ("_found", None), ("_lives", lives), ("_request", request), ("_length", len(holders)))
        for name, value in state:
            object.__setattr__(self, name, value)

    @property
    def _items(self) -> list[int]:  # type: ignore[override]  # what the view shows, made when it is needed
        if self._found is None:
            object.__setattr__(self, "_found", self._lives.before(self._request))
        return cast("list[int]", self._found)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[int, ...]: ...
    def __getitem__(self, at: int | slice) -> int | tuple[int, ...]:
        return self._ends[at] if self._ends and at in (0, -1) else super().__getitem__(at)

    def __iter__(self) -> Iterator[int]:
        # Who looks at each request in turn shall not keep them all.
        return iter(self._lives.before(self._request) if self._found is None else self._found)


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
    """Give every text that a model reads in content blocks or tools.

    The names of a block's own fields are the format's and not read. All of a JSON value that stands in a block is:
    a call's arguments and a tool's parameters with their keys, their strings and their numbers.
    """
    found: list[str] = []
    stack: list[tuple[Any, bool]] = [(content, False)]
    while stack:
        item, is_data = stack.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            stack.extend((value, is_data) for value in item)
        elif isinstance(item, dict):
            if is_data:
                found.extend(key for key in item if isinstance(key, str))
                stack.extend((value, True) for value in item.values())
            else:
                stack.extend(_fields(item))
        elif is_data and isinstance(item, int | float) and not isinstance(item, bool):
            found.append(_digits(item))
    return found


def _fields(block: dict[Any, Any]) -> Iterator[tuple[Any, bool]]:
    """Give what the fields of a block hold, each with whether it is a JSON value with keys of its own."""
    for key, value in block.items():
        if key == "type":
            continue
        # A block in a block says its type; what does not is a value, and so is what a tool is called with.
        yield value, key in _VALUES or (isinstance(value, dict) and not isinstance(value.get("type"), str))
        if key in _VALUES and isinstance(value, str) and "\\" in value:
            # Written as JSON, quotes and line ends are escaped; who looks for them looks for what they stand for.
            with suppress(ValueError, RecursionError):
                yield json.loads(value), True


def _digits(number: float) -> str:
    try:
        return str(number)
    except ValueError:  # more digits than Python writes
        return ""
