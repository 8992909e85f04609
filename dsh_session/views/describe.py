"""What an event is, in a word, and what it says, in a line: the words that every view uses.

`kind` sorts events for colours, counts and filters; `headline` is one line for a node, a row or a tooltip;
`text` is the text that an event carries. All of them cope with every payload that a log can hold: a recorded
log may say `"tools": "{{tools}}"` or `content: null`, and a string may be a megabyte long. They return plain
text with nothing unseen in it, which each border still has to escape (`dsh_session.views.escape`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from dsh_session.core.event import peek
from dsh_session.views.escape import cut, one_line, visible
from dsh_session.views.payload import block_text, blocks, content_line, counted, field, source_name, tag_of, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.event import SessionEvent

__all__ = ["KINDS", "call_names", "count_kinds", "headline", "is_error", "kind", "kinds", "text"]

KINDS: Final[tuple[str, ...]] = (
    "user",
    "assistant",
    "tool result",
    "context",
    "steering",
    "summary",
    "tool call",
    "turn",
    "step",
    "chunk",
    "header",
    "todo",
    "compaction",
    "hook",
    "blocked prompt",
    "other",
)
"""Every kind there is, in the order in which legends and counts name them."""

_KIND_OF_TYPE: Final = {
    "user/message": "user",
    "assistant/message": "assistant",
    "tool/result": "tool result",
    "context/message": "context",
    "steering/message": "steering",
    "tool/call": "tool call",
    "turn/start": "turn",
    "turn/end": "turn",
    "step/start": "step",
    "step/end": "step",
    "assistant/chunk": "chunk",
    "request/header": "header",
    "todo/write": "todo",
    "compact/start": "compaction",
    "compact/summary": "compaction",
    "compact/end": "compaction",
    "hook/invoked": "hook",
    "hook/result": "hook",
    "prompt/blocked": "blocked prompt",
}

_COUNTED: Final[Mapping[str, tuple[str, str]]] = {
    # One and many, where the kind itself with an `s` would say something else: two boundaries are one turn.
    "user": ("user", "user"),
    "assistant": ("assistant", "assistant"),
    "context": ("context", "context"),
    "steering": ("steering", "steering"),
    "summary": ("summary", "summaries"),
    "turn": ("turn boundary", "turn boundaries"),
    "step": ("step boundary", "step boundaries"),
    "header": ("request header", "request headers"),
    "todo": ("todo list", "todo lists"),
    "compaction": ("compaction record", "compaction records"),
    "hook": ("hook record", "hook records"),
    "other": ("other", "other"),
}


def kind(event: SessionEvent) -> str:
    """What an event is, as one of `KINDS`.

    A user message is a `summary` when it replaces part of the surface, or comes from the compaction plugin.

    Args:
        event: Any event of a log, whatever its payload holds.

    Returns:
        One of `KINDS`; `other` for a type that is not known.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> turn = session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        >>> kind(turn)
        'turn'
    """
    found = _KIND_OF_TYPE.get(event.type, "other")
    if found == "user":
        if isinstance(event.surface_op, dict):
            return "summary"
        # Most messages name no such plugin, not even in an escaped form; they need not be decoded for this.
        line = event._line
        if b'"compact"' not in line and b"\\u" not in line:
            return "user"
        source = field(peek(event), "source")
        if field(source, "kind") == "plugin" and field(source, "plugin") == "compact":
            return "summary"
    return found


def kinds(events: Sequence[SessionEvent]) -> Counter[str]:
    """How many events of each kind there are.

    Args:
        events: Any events, very many perhaps.

    Returns:
        The counts of the kinds that occur.

    Example:
        >>> from dsh_session import samples
        >>> kinds(samples.load("pi-compacted-twice").events)["summary"]
        2
    """
    found: Counter[str] = Counter()
    # The type alone says the kind of all but user messages.
    for name, count in Counter(map(attrgetter("type"), events)).items():
        if name == "user/message":
            found.update(kind(event) for event in events if event.type == name)
        else:
            found[_KIND_OF_TYPE.get(name, "other")] += count
    return found


def headline(event: SessionEvent, limit: int = 80) -> str:
    """What an event says, on one line of plain text.

    Args:
        event: Any event of a log, whatever its payload holds.
        limit: The greatest length, in characters.

    Returns:
        The line, without control characters; where something was left out it ends in an ellipsis.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", check_payloads=False)
        >>> call = {"turn": 1, "step": 1, "callId": "c1", "name": "read", "arguments": '{"path": "README.md"}'}
        >>> headline(session.append("tool/call", call))
        'read {"path": "README.md"}'
        >>> headline(session.append("turn/end", {"turn": 1, "reason": "{{reason}}"}))
        'turn 1 ends: {{reason}}'
    """
    describe = _HEADLINES.get(event.type, _of_anything)
    # Characters that are shown by their names grow, so the line is cut once more when it is ready.
    return cut(one_line(describe(event, limit)), limit)


def text(event: SessionEvent, limit: int = 2000) -> str:
    """The text that a message event carries, blocks one beneath another; for other events their headline.

    Args:
        event: Any event of a log, whatever its payload holds.
        limit: The greatest length, in characters.

    Returns:
        Lines of plain text without other control characters than line feeds and tabs.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", check_payloads=False)
        >>> content = [{"type": "text", "text": "one"}, {"type": "image"}]
        >>> print(text(session.append("user/message", {"content": content}, surface_op="append")))
        one
        [image]
    """
    if event.type not in _MESSAGES:
        return headline(event, limit)
    parts: list[str] = []
    room = limit
    for block in blocks(peek(event)):
        part = block_text(block, room + 1)
        parts.append(part)
        room -= len(part) + 1
        if room < 0:
            break
    return cut(visible("\n".join(parts)), limit)


def call_names(event: SessionEvent) -> list[str]:
    """The names of the tools that an assistant message calls, in its order.

    Args:
        event: Any event of a log; only assistant messages call tools.

    Returns:
        Plain one-line names, each of at most 40 characters; of a message with very many calls the first ones.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", check_payloads=False)
        >>> data = {"content": [{"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}]}
        >>> call_names(session.append("assistant/message", data, surface_op="append"))
        ['read']
    """
    if event.type != "assistant/message":
        return []
    return [words(field(block, "name"), 40) or "?" for block in blocks(peek(event)) if tag_of(block) == "tool-call"]


def is_error(event: SessionEvent) -> bool:
    """Whether an event is a tool result that says it is an error.

    Args:
        event: Any event of a log, whatever its payload holds.

    Returns:
        True for a `tool/result` whose `isError` is true.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour", check_payloads=False)
        >>> is_error(session.append("tool/result", {"content": [], "isError": True}, surface_op="append"))
        True
    """
    return event.type == "tool/result" and field(peek(event), "isError") is True


def count_kinds(kinds: Mapping[str, int]) -> str:
    """Counts of kinds as words, in the order of `KINDS`.

    Args:
        kinds: How many there are of each kind; zeros are left out.

    Returns:
        The words, parted by commas. Turns and steps are counted by their boundaries, which are the events.

    Example:
        >>> count_kinds({"tool result": 2, "user": 1, "summary": 0})
        '1 user, 2 tool results'
    """
    known = {name: position for position, name in enumerate(KINDS)}
    present = sorted((known.get(name, len(known)), name) for name, count in kinds.items() if count)
    return ", ".join(
        f"{kinds[name]:,} {_COUNTED.get(name, (name, f'{name}s'))[kinds[name] != 1]}" for _, name in present
    )


# ------------------------------------------------------------------------------------------- one line per event type


def _of_message(event: SessionEvent, limit: int) -> str:
    return content_line(peek(event), limit)


def _of_assistant(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    spoken = ""
    thought = ""
    for block in blocks(data):
        if not spoken and tag_of(block) == "text":
            spoken = words(field(block, "text"), limit)
        if not thought and tag_of(block) == "reasoning":
            thought = words(field(block, "text"), limit)
    names = call_names(event)
    if names:
        calls = f"calls {', '.join(_tally(names))}"
        # The calls come last and must not be cut off by a long speech.
        return f"{cut(spoken, max(limit - len(calls) - 3, 20))} · {calls}" if spoken else calls
    if spoken:
        return spoken
    return f"thinks: {thought}" if thought else content_line(data, limit)


def _tally(names: Sequence[str]) -> list[str]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]


def _of_result(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    line = content_line(data, limit)
    return f"error: {line}" if is_error(event) else line


def _of_call(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    name = words(field(data, "name"), 40) or "?"
    return f"{name} {words(field(data, 'arguments'), limit)}"


def _turn(data: object) -> str:
    return f"turn {words(field(data, 'turn'), 20) or '?'}"


def _of_turn_start(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    trigger = field(data, "trigger")
    source = source_name(field(trigger, "source"))
    why = words(trigger, limit)
    return f"{_turn(data)} starts{f': {why}' if why else ''}{f' from {source}' if source else ''}"


def _of_turn_end(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    reason = field(data, "reason")
    why = words(reason, limit)
    more = words(field(reason, "message"), limit) or words(field(reason, "reason"), limit)
    return f"{_turn(data)} ends{f': {why}' if why else ''}{f', {more}' if more else ''}"


def _of_step(event: SessionEvent, limit: int) -> str:  # noqa: ARG001 -- one signature for all
    data = peek(event)
    verb = "starts" if event.type == "step/start" else "ends"
    return f"{_turn(data)}, step {words(field(data, 'step'), 20) or '?'} {verb}"


def _of_chunk(event: SessionEvent, limit: int) -> str:
    chunk = field(peek(event), "chunk")
    said = (
        words(field(chunk, "text"), limit)
        or words(field(chunk, "argumentsDelta"), limit)
        or words(field(chunk, "blockType"), limit)
        or words(field(chunk, "reason"), limit)
    )
    return f"{words(tag_of(chunk), 40) or '?'} {said}"


def _of_header(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    header = field(data, "header")
    config = field(header, "config")
    tools = field(header, "tools")
    route = "/".join(part for part in (words(field(config, key), limit) for key in ("provider", "model")) if part)
    reason = words(field(data, "reason"), 40)
    parts = [
        route or "no route",
        counted(len(tools), "tool") if isinstance(tools, list) else f"tools {words(tools, 40) or 'none'}",
        *([f"({reason})"] if reason else []),
    ]
    return " ".join(parts)


def _of_todos(event: SessionEvent, limit: int) -> str:
    todos = field(peek(event), "todos")
    if not isinstance(todos, list):
        return f"todos {words(todos, limit) or 'missing'}"
    states = [words(field(todo, "status"), 20) for todo in islice(todos, 1000)]
    now = next((words(field(todo, "content"), limit) for todo in todos[:1000] if _active(todo)), "")
    return f"{states.count('completed')} of {counted(len(todos), 'todo')} done{f', now: {now}' if now else ''}"


def _active(todo: object) -> bool:
    return bool(field(todo, "status") == "in_progress")


def _of_compaction(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    if event.type == "compact/start":
        return f"compaction starts in {_turn(data)}"
    if event.type == "compact/end":
        error = words(field(data, "error"), limit)
        return f"compaction fails: {error}" if error else "compaction ends"
    shadowed = field(data, "shadowedSeqs")
    over = f" of {counted(len(shadowed), 'node')}" if isinstance(shadowed, list) else ""
    said = content_line({"content": field(data, "summary")}, limit)
    return f"summary{over}: {said}"


def _of_hook(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    name = words(field(data, "handlerId"), limit) or words(field(data, "point"), limit) or "?"
    if event.type == "hook/invoked":
        return f"{name} invoked"
    said = words(field(data, "stderrSummary"), limit)
    return f"{name} says {words(field(data, 'decision'), 40) or '?'}{f': {said}' if said else ''}"


def _of_blocked(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    reason = words(field(data, "reason"), limit)
    return f"{content_line(data, limit)}{f' (blocked: {reason})' if reason else ''}"


def _of_anything(event: SessionEvent, limit: int) -> str:
    data = peek(event)
    if not isinstance(data, Mapping):
        return words(data, limit) or "null"
    parts = [f"{words(key, 40)}: {words(value, limit)}" for key, value in islice(data.items(), 12)]
    return ", ".join(parts) or "empty"


_MESSAGES: Final = frozenset(
    {"user/message", "assistant/message", "tool/result", "context/message", "steering/message", "prompt/blocked"}
)

_HEADLINES: Final = {
    "user/message": _of_message,
    "assistant/message": _of_assistant,
    "tool/result": _of_result,
    "context/message": _of_message,
    "steering/message": _of_message,
    "prompt/blocked": _of_blocked,
    "tool/call": _of_call,
    "turn/start": _of_turn_start,
    "turn/end": _of_turn_end,
    "step/start": _of_step,
    "step/end": _of_step,
    "assistant/chunk": _of_chunk,
    "request/header": _of_header,
    "todo/write": _of_todos,
    "compact/start": _of_compaction,
    "compact/summary": _of_compaction,
    "compact/end": _of_compaction,
    "hook/invoked": _of_hook,
    "hook/result": _of_hook,
}
