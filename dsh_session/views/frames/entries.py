"""Events in their places: the records that the columns of frames read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from dsh_session.views.describe import kind
from dsh_session.views.frames.log import Log, Logged, Reading, log_of
from dsh_session.views.frames.payload import Payload, Tag, decode_line, read_line, without_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dsh_session.core.event import SessionEvent
    from dsh_session.core.surface import SurfaceReplacement
    from dsh_session.views.frames.payload import Block

__all__ = ["Entry", "entries", "originals_of"]

# Blocks may lie in blocks (a tool result's content). How deep is the log's to choose, not ours to follow.
_DEPTH: Final = 8

# What an event says: its text, its characters, its tool calls. A plain tuple, since a long log has very many.
_Said: TypeAlias = tuple[str | None, int | None, int]


class Entry(msgspec.Struct, gc=False):
    """One event in its place.

    Attributes:
        event: The event itself, for what its envelope says.
        type: Its type, fit to be shown: a log may hold a lone surrogate even there.
        size: The length of its JSON text, in bytes of UTF-8.
        payload: What was read of its data.
        sources: How many events it cites, if it says so.
        kind: One of `dsh_session.views.describe.KINDS`.
        turn: The turn that the payload names, else the open one.
        step: The step that the payload names, else the open one.
        tool: The tool that it calls, or whose result it is.
        text: What a person reads, or `None` for an event without a text.
        chars: Characters of all its texts; in a message reasoning and tool call arguments count too.
        calls: The tool calls in it.
        shadowed_by: The seq of the replacement that took it off the surface.
        on_surface: Whether it is on the surface now.
    """

    event: SessionEvent
    type: str
    size: int
    payload: Payload
    sources: int | None
    kind: str
    turn: int | None
    step: int | None
    tool: str | None
    text: str | None
    chars: int | None
    calls: int
    shadowed_by: int | None
    on_surface: bool


def entries(source: Logged | Log) -> Iterator[Entry]:
    """Every event of a session with its place in turns and steps and on the surface.

    Args:
        source: Any session, a history of one, or its log at a moment; it is not changed.

    Returns:
        One `Entry` per event, in log order; they are read one by one, but for a `Reading`, which keeps them.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> _ = session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        >>> _ = session.append("step/start", {"turn": 1, "step": 1})
        >>> _ = session.append("todo/write", {"todos": []})
        >>> [(entry.kind, entry.turn, entry.step) for entry in entries(session)]
        [('turn', 1, None), ('step', 1, 1), ('todo', 1, 1)]
    """
    log = source if isinstance(source, Log) else log_of(source)
    if isinstance(log, Reading):
        return iter(log.once("entries", lambda: list(_walk(log))))
    return _walk(log)


def _walk(log: Log) -> Iterator[Entry]:
    shadowed_by = {seq: replacement.seq for replacement in log.replacements for seq in replacement.shadowed_seqs}
    surface = frozenset(log.nodes)
    tools: dict[str, str | None] = {}
    traits: dict[str, _Traits] = {}
    open_turn: int | None = None
    open_step: int | None = None
    for event in log.events:
        text_of_line = event._line
        try:
            line = decode_line(text_of_line)  # read_line, without the cost of a call for each of very many
        except (msgspec.MsgspecError, RecursionError):
            line = read_line(event)
        payload = line.data
        turn = payload.turn
        step = payload.step
        kind_, type_, edge, calling, read = traits.get(event.type) or _traits(event, traits)
        if edge:
            # A boundary belongs to what it opens or closes; a turn's own boundaries lie in no step.
            if edge == _TURN_START:
                open_turn, open_step = turn, None
            elif edge == _STEP_START:
                open_step = step
        if turn is None:
            turn = open_turn
        if step is None and turn == open_turn and edge not in _TURN_EDGES:
            step = open_step
        if edge == _STEP_END:
            open_step = None
        elif edge == _TURN_END:
            open_turn = open_step = None
        text, chars, calls = read(payload)
        cited = line.source_event_seqs
        placed = event.surface_op is not None
        yield Entry(
            event,
            type_,
            len(text_of_line),
            payload,
            None if cited is None else len(cited),
            kind_ or _kind_of_user_message(event, payload),
            turn,
            step,
            _tool(payload, tools, calling) if calling else None,
            text,
            chars,
            calls,
            shadowed_by.get(event.seq) if placed else None,
            placed and event.seq in surface,
        )


def originals_of(replacements: Iterable[SurfaceReplacement]) -> dict[int, int]:
    """How many appended messages each replacement stands for, through all the replacements that it replaced.

    Args:
        replacements: All replacements of a log, in its order.

    Returns:
        The number by the replacement's seq.

    Example:
        >>> from dsh_session.core.surface import SurfaceReplacement
        >>> originals_of([SurfaceReplacement(3, 0, 2, [0, 1, 2]), SurfaceReplacement(5, 3, 4, [3, 4])])
        {3: 3, 5: 4}
    """
    originals: dict[int, int] = {}
    for replacement in replacements:
        # A node can be shadowed only after it was made, so what it stands for is known by now.
        originals[replacement.seq] = sum(originals.get(seq, 1) for seq in replacement.shadowed_seqs)
    return originals


_TURN_START, _TURN_END, _STEP_START, _STEP_END = 1, 2, 3, 4
_TURN_EDGES: Final = frozenset({_TURN_START, _TURN_END})
_EDGES: Final = {"turn/start": _TURN_START, "turn/end": _TURN_END, "step/start": _STEP_START, "step/end": _STEP_END}


class _Traits(NamedTuple):
    """What follows from an event's type alone.

    Attributes:
        kind: Its kind, or an empty string for a user message, where the event decides.
        type: The type, fit to be shown.
        edge: Which boundary it is, or 0.
        calling: The type, if it is about tools; else an empty string.
        read: Reads what it says.
    """

    kind: str
    type: str
    edge: int
    calling: str
    read: Callable[[Payload], _Said]


def _traits(event: SessionEvent, traits: dict[str, _Traits]) -> _Traits:
    name = event.type
    found = traits[name] = _Traits(
        "" if name == "user/message" else kind(event),
        without_surrogates(name),
        _EDGES.get(name, 0),
        name if name in _ABOUT_TOOLS else "",
        _READERS.get(name, _of_message),
    )
    return found


def _kind_of_user_message(event: SessionEvent, payload: Payload) -> str:
    # Only a replacement, or what a plugin wrote, can be anything but a person's words; the rest is not decoded again.
    plain = event.surface_op == "append" and (payload.source is None or payload.source.plugin is None)
    return "user" if plain else kind(event)


def _tool(payload: Payload, tools: dict[str, str | None], calling: str) -> str | None:
    """The tool of a call or a result; calls are remembered by their ids, the latest wins."""
    if calling == "assistant/message":
        for block in payload.content or ():
            if block.type == "tool-call" and block.id is not None:
                tools[block.id] = block.name
        return None
    if calling == "tool/result":
        return None if payload.call_id is None else tools.get(payload.call_id)
    if payload.call_id is not None:
        tools[payload.call_id] = payload.name
    return payload.name


# ----------------------------------------------------------------------------------------------- what each type says

_SILENT: Final[_Said] = (None, None, 0)


def _of_text(text: str | None) -> _Said:
    return _SILENT if text is None else (text, len(text), 0)


def _of_blocks(blocks: Sequence[Block] | None) -> _Said:
    if blocks is None:
        return _SILENT
    if len(blocks) == 1 and blocks[0].type == "text":
        return _of_text(blocks[0].text)
    texts: list[str] = []
    chars = calls = 0
    for block in blocks if all(block.content is None for block in blocks) else _flat(blocks, _DEPTH):
        text = block.text
        if text is not None:
            chars += len(text)
            if block.type == "text":
                texts.append(text)
        if block.type == "tool-call":
            calls += 1
            chars += len(block.arguments or "")
    return "\n".join(texts) if texts else None, chars, calls


def _flat(blocks: Iterable[Block], depth: int) -> Iterator[Block]:
    for block in blocks:
        yield block
        if block.content and depth:
            yield from _flat(block.content, depth - 1)


def _of_message(payload: Payload) -> _Said:
    return _of_blocks(payload.content)


def _of_chunk(payload: Payload) -> _Said:
    chunk = payload.chunk
    if chunk is None:
        return _SILENT
    text = chunk.text if chunk.text is not None else chunk.arguments_delta
    return _SILENT if text is None else (text, len(text), 0)


def _of_turn_end(payload: Payload) -> _Said:
    reason = payload.reason
    return _of_text(reason.message or reason.reason) if isinstance(reason, Tag) else _SILENT


def _of_compaction_end(payload: Payload) -> _Said:
    return _of_text(payload.error) if isinstance(payload.error, str) else _SILENT


_ABOUT_TOOLS: Final = frozenset({"assistant/message", "tool/call", "tool/result"})
_READERS: Final[dict[str, Callable[[Payload], _Said]]] = {
    "assistant/chunk": _of_chunk,
    "compact/end": _of_compaction_end,
    "compact/summary": lambda payload: _of_blocks(payload.summary),
    "hook/result": lambda payload: _of_text(payload.stderr_summary),
    "request/header": lambda payload: _of_text(payload.header.system if payload.header else None),
    "step/end": lambda _: _SILENT,
    "step/start": lambda _: _SILENT,
    "tool/call": lambda payload: _of_text(payload.arguments),
    "turn/end": _of_turn_end,
    "turn/start": lambda _: _SILENT,
}
