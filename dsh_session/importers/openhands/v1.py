"""OpenHands' second generation (its agent SDK): events with a ``kind``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.chat import said, tool_schemas
from dsh_session.importers.openhands.records import Record, object_of
from dsh_session.importers.openhands.writing import Writer, is_number, without_pictures

_ENVELOPE: Final = frozenset({"id", "timestamp", "source", "kind"})
_ACTION: Final = _ENVELOPE | {
    "thought",
    "reasoning_content",
    "thinking_blocks",
    "responses_reasoning_item",
    "tool_name",
    "tool_call_id",
    "tool_call",
    "llm_response_id",
}
_RESULT: Final = _ENVELOPE | {
    "tool_name",
    "tool_call_id",
    "observation",
    "error",
    "rejection_reason",
    "extended_content",
}
_MESSAGE: Final = _ENVELOPE | {"llm_message", "extended_content"}
_SPOKEN: Final = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "thinking_blocks"}
)
_SILENT: Final = frozenset(
    {
        "ACPToolCallEvent",
        "CondensationRequest",
        "CondensationSummaryEvent",
        "ConversationStateUpdateEvent",
        "HookExecutionEvent",
        "InterruptEvent",
        "LLMCompletionLogEvent",
        "PauseEvent",
        "StreamingDeltaEvent",
        "TokenEvent",
        "UserRejectsActionEvent",
    }
)
_PLAIN: Final = frozenset({"MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "SystemPromptEvent"})
"""Kinds that tell an event even where an export has left out its id and its time."""
_STATUS_KEYS: Final = ("execution_status", "agent_status")
_FAILURES: Final = {"error": "error", "stuck": "stuck"}


class SecondGeneration(Writer):
    """Writes a conversation of the second generation."""

    def __init__(self, make: Assembler, records: Sequence[Record], route: Mapping[str, str]) -> None:
        """Look for the parts of each answer, and for the results of each call."""
        super().__init__(make, records, route)
        self._answers: dict[str, list[Record]] = {}
        self._results: dict[str, list[tuple[int, Record]]] = {}
        self._placed: set[int] = set()
        self._apart = self.apart(lambda event: event.get("kind") == "ActionEvent" or is_result(event))
        self._calls = {record.key: _call_id(record.event) for record in self.records if "tool_name" in record.event}
        for at, record in enumerate(self.records):
            kind = record.event.get("kind")
            if kind == "ActionEvent":
                self._answers.setdefault(text_from(record.event.get("llm_response_id")) or f"#{at}", []).append(record)
            elif is_result(record.event):
                self._results.setdefault(self._answered(record.event), []).append((at, record))

    def write(self) -> None:
        """Write all events."""
        for at, record in enumerate(self.records):
            if at in self._placed:
                continue
            kind = text_from(record.event.get("kind"))
            self.at(record)
            if kind == "SystemPromptEvent":
                self._system(record)
            elif kind == "MessageEvent":
                self._message(record)
            elif kind == "ActionEvent":
                self._answer(at, record)
            elif is_result(record.event):
                self._result(record)
            elif kind == "Condensation":
                self._condensation(record)
            elif kind == "ConversationErrorEvent":
                self.aside(record, kind)
                code, detail = record.event.get("code"), record.event.get("detail")
                self.make.end_turn({"kind": "error", "message": text_from(detail), "code": text_from(code) or "error"})
            else:
                self._other(record, kind)

    def _system(self, record: Record) -> None:
        parts = [record.object("system_prompt").get("text"), record.object("dynamic_context").get("text")]
        if isinstance(record.event.get("system_prompt"), str):
            parts[0] = record.event["system_prompt"]
        system = "\n\n".join(part for part in parts if isinstance(part, str) and part)
        tools = tool_schemas(record.event.get("tools"))
        self.make.header(self.route, system=system, tools=tools)
        self.make.side("SystemPromptEvent", record.event)
        self.view.add(record.key, None)

    def _message(self, record: Record) -> None:
        message = record.object("llm_message")
        content = said(_content(message.get("content")))
        extended = said(_content(record.event.get("extended_content"))).blocks
        source = record.event.get("source")
        if source == "agent" and message.get("role", "assistant") == "assistant":
            thoughts, aside = _thoughts(message)
            calls = said([{**call, "type": "tool_use"} for call in _list(message.get("tool_calls"))]).blocks
            blocks = [*thoughts, *content.blocks, *extended, *calls]
            seq = self.make.response(blocks, provenance=self.route)
            self.view.answered(seq, [])
            for key, value in aside:
                self.make.side(key, value, seq=seq)
        elif source == "user" or (source is None and message.get("role") == "user"):
            write = self.make.steering if self.make.first_pending is not None else self.make.prompt
            seq = write([*content.blocks, *extended])
        else:
            seq = self.make.context([*content.blocks, *extended], kind=text_from(source) or "message")
        self.view.add(record.key, seq)
        self.rest(record, _MESSAGE, seq=seq)
        for name, value in message.items():
            if name not in _SPOKEN and value not in (None, "", [], {}):
                self.make.side(f"llm_message.{name}", value, seq=seq)
        for key, value in content.aside:
            self.make.side(key, value, seq=seq)

    def _answer(self, at: int, record: Record) -> None:
        parts = self._answers.pop(text_from(record.event.get("llm_response_id")) or f"#{at}", None)
        if parts is None:
            return  # it was written with the first action of its answer
        blocks: list[Any] = []
        aside: list[tuple[str, Any]] = []
        for part in parts:
            thoughts, more = _thoughts(part.event)
            aside += more
            blocks += [*thoughts, *said(_content(part.event.get("thought"))).blocks]
        blocks += [_call(part.event) for part in parts]
        make = self.at(record, *parts[1:])
        seq = make.response(blocks, provenance=self.route)
        self.joined(record, parts, seq)
        for part in parts:
            self.at(part)
            self.view.add(part.key, seq)
            self.rest(part, _ACTION, seq=seq)
        for key, value in aside:
            make.side(key, value, seq=seq)
        results = [found for part in parts for found in self._results.get(_call_id(part.event), ())[:1]]
        written = []
        for place, result in sorted(results, key=lambda found: found[0]):
            if place in self._placed:
                continue
            self._placed.add(place)
            written.append(self._result(result))
            if place < at or self._apart[at + 1] < place:
                self.moved(result, written[-1])
        self.view.answered(seq, written)
        for part in parts:
            todos = object_of(part.event, "action").get("task_list")
            if isinstance(todos, list) and object_of(part.event, "action").get("command") == "plan":
                self.at(part).todo(todos)

    def _answered(self, event: Mapping[str, Any]) -> str:
        """Give the id of the call that an observation answers; old ones name the action alone."""
        return text_from(event.get("tool_call_id")) or self._calls.get(text_from(event.get("action_id")), "")

    def _result(self, record: Record) -> int:
        make = self.at(record)
        event = record.event
        observation = object_of(event, "observation")
        kind = text_from(event.get("kind"))
        pictures: dict[str, Any] = {}
        if event.get("observation") is not None or not (event.get("rejection_reason") or event.get("error")):
            known = {"content", "is_error", "kind"}
            given = observation.get("content", observation.get("output")) if observation else event.get("observation")
            content = said(_content(given))
            blocks, failed = content.blocks, observation.get("is_error") is True
            meta, pictures = without_pictures({key: item for key, item in observation.items() if key not in known})
        elif event.get("rejection_reason"):
            blocks, failed, meta = said(f"Action rejected: {text_from(event['rejection_reason'])}").blocks, True, None
        else:
            blocks, failed, meta = said(event.get("error")).blocks, True, None
        blocks = [*blocks, *said(_content(event.get("extended_content"))).blocks]
        error = {"name": text_from(observation.get("kind")) or kind, "code": "error"} if failed else None
        seq = make.result(self._answered(event), blocks, is_error=failed, error=error, meta=meta)
        self.view.add(record.key, seq)
        self.rest(record, _RESULT, seq=seq)
        for name, picture in pictures.items():
            make.side(name, picture, seq=seq)
        return seq

    def _condensation(self, record: Record) -> None:
        event = record.event
        listed = event.get("forgotten_event_ids")
        offset = event.get("summary_offset")
        summary = event.get("summary")
        self.make.side("Condensation", event)
        self.view.condense(
            record.key,
            {text_from(key) for key in listed} if isinstance(listed, list) else set(),
            summary=text_from(summary) if summary else None,
            offset=offset if is_number(offset) else None,
            model={},
            keeps_older_summaries=True,
        )

    def _other(self, record: Record, kind: str) -> None:
        if kind not in _SILENT:
            self.unknown(kind)
        self.aside(record, kind or "event")
        if kind == "InterruptEvent":
            self.make.end_turn({"kind": "aborted", "reason": text_from(record.event.get("detail")) or "interrupted"})
        elif kind == "ConversationStateUpdateEvent" and record.event.get("key") in _STATUS_KEYS:
            status = record.event.get("value")
            if isinstance(status, str) and status in _FAILURES and self.make.turn is not None:
                self.make.end_turn({"kind": "error", "message": f"the conversation ended as {status}", "code": status})


def is_second_generation(event: Any) -> bool:
    """Tell whether an event is one of the second generation.

    Example:
        >>> is_second_generation({"kind": "PauseEvent", "id": "a", "timestamp": "2026-01-01T00:00:00"})
        True
    """
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return False
    return ("id" in event and "timestamp" in event) or event["kind"] in _PLAIN


def is_result(event: Mapping[str, Any]) -> bool:
    """Tell whether an event answers a tool call."""
    if event.get("kind") == "ActionEvent" or not ("tool_call_id" in event or "action_id" in event):
        return False
    return any(key in event for key in ("observation", "error", "rejection_reason"))


def _call_id(event: Mapping[str, Any]) -> str:
    return text_from(event.get("tool_call_id")) or text_from(object_of(event, "tool_call").get("id"))


def _call(event: Mapping[str, Any]) -> dict[str, Any]:
    call = object_of(event, "tool_call")
    inner = object_of(call, "function") or call
    name = text_from(inner.get("name")) or text_from(event.get("tool_name"))
    name = name or text_from(object_of(event, "action").get("kind"))
    arguments = inner.get("arguments")
    if arguments is None:
        arguments = {key: value for key, value in object_of(event, "action").items() if key != "kind"}
    return {"type": "tool-call", "id": _call_id(event), "name": name, "arguments": arguments}


def _thoughts(message: Mapping[str, Any]) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Give the reasoning of a message; its blocks, where there are some, hold the same text again."""
    blocks = said(_list(message.get("thinking_blocks")))
    item = message.get("responses_reasoning_item")
    if isinstance(item, dict):
        more = said([{**item, "type": "reasoning"}])
        blocks.aside.extend(more.aside)
        blocks.blocks.extend(more.blocks)
    plain = message.get("reasoning_content")
    told = isinstance(plain, str) and plain and all(block.get("text") != plain for block in blocks.blocks)
    return [*([{"type": "reasoning", "text": plain}] if told else []), *blocks.blocks], blocks.aside


def _content(content: Any) -> Any:
    """Give content with one block for each image of a block of several."""
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("image_urls"), list):
            parts += [{"type": "image", "url": url} for url in part["image_urls"]]
        else:
            parts.append(part)
    return parts


def _list(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
