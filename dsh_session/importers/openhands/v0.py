"""OpenHands' first generation: actions and observations with integer ids."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.chat import said, tool_schemas, usage_of
from dsh_session.importers.chat.routes import route_of
from dsh_session.importers.openhands.records import Record, object_of
from dsh_session.importers.openhands.v0_shapes import (
    SILENT_ACTIONS,
    answer_id,
    answered_call,
    call_block,
    call_id_of,
    is_call,
    names_of_call,
    reasoning_blocks,
    recalled,
    said_by_user,
)
from dsh_session.importers.openhands.writing import Writer, is_number, without_pictures

_SILENT_OBSERVATIONS: Final = frozenset({"null", "agent_state_changed"})
_WITHOUT_ANSWER: Final = frozenset({"finish", "reject"})
_KNOWN: Final = frozenset(
    {"id", "timestamp", "source", "action", "args", "observation", "content", "extras", "cause", "tool_call_metadata"}
)
_ENDS: Final = {"error": "error", "stopped": "aborted", "rejected": "aborted"}
_FAILURES: Final = frozenset({"error", "user_rejected"})
_TOTALS: Final = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


class FirstGeneration(Writer):
    """Writes a conversation of the first generation."""

    def __init__(self, make: Assembler, records: Sequence[Record], route: Mapping[str, str]) -> None:
        """Look for the parts of each answer, and for the results of each call."""
        super().__init__(make, records, route)
        self._answers: dict[str, list[Record]] = {}
        self._results: dict[str, list[tuple[int, Record]]] = {}
        self._placed: set[int] = set()
        self._apart = self.apart(lambda event: is_call(event) or "observation" in event)
        self._recalls: set[str] = set()
        self._by_hand: set[str] = set()  # what a person ran
        self._totals: dict[str, int] = {}
        for at, record in enumerate(self.records):
            event = record.event
            if is_call(event):
                self._answers.setdefault(answer_id(event) or f"#{at}", []).append(record)
            elif event.get("action") == "recall":
                self._recalls.add(record.key)
            elif event.get("source") == "user" and event.get("action") not in (None, "message"):
                self._by_hand.add(record.key)
            elif isinstance(event.get("observation"), str) and event["observation"] not in _SILENT_OBSERVATIONS:
                for name in names_of_call(event):
                    self._results.setdefault(name, []).append((at, record))

    def write(self) -> None:
        """Write all events."""
        for at, record in enumerate(self.records):
            if at in self._placed:
                continue
            self.at(record)
            if is_call(record.event):
                self._answer(at, record)
            elif "action" in record.event:
                self._action(record, text_from(record.event.get("action")))
            elif "observation" in record.event:
                self._observation(record, text_from(record.event.get("observation")))
            else:
                self.unknown("")
                self.aside(record, "event")

    # ------------------------------------------------------------------------------------------------------- actions

    def _action(self, record: Record, kind: str) -> None:
        arguments = record.object("args")
        if kind == "system":
            tools = tool_schemas(arguments.get("tools"))
            self.make.header(self.route, system=text_from(arguments.get("content")), tools=tools)
            self.aside(record, "system")
            self.view.add(record.key, None)
        elif kind == "message":
            self._message(record, arguments)
        elif kind == "condensation":
            self._condensation(record, arguments)
        elif kind in SILENT_ACTIONS:
            self.aside(record, kind)
            if kind == "recall":
                self.view.add(record.key, None)
        elif record.event.get("source") == "user":
            # A command that the person typed: the model is told, as with everything in the view.
            seq = self.make.context(said_by_user(record), kind=f"user-{kind}", meta=arguments)
            self.view.add(record.key, seq)
            self.rest(record, _KNOWN, seq=seq)
        else:
            self.unknown(kind)
            self.aside(record, kind or "event")

    def _message(self, record: Record, arguments: Mapping[str, Any]) -> None:
        content = said(arguments.get("content"))
        for name in ("image_urls", "images_urls"):
            urls = arguments.get(name)
            content.blocks.extend({"type": "image", "url": url} for url in (urls if isinstance(urls, list) else ()))
        source = record.event.get("source")
        if source == "agent":
            usage = self._usage(record)
            seq = self.make.response(content.blocks, provenance=self.route, usage=usage)
            self.view.answered(seq, [])
        elif source == "user":
            write = self.make.steering if self.make.first_pending is not None else self.make.prompt
            seq = write(content.blocks)
        else:
            seq = self.make.context(content.blocks, kind=text_from(source) or "message")
        self.view.add(record.key, seq)
        self.rest(record, _KNOWN, seq=seq)
        known = ("content", "image_urls", "images_urls")
        rest = {
            name: value for name, value in arguments.items() if name not in known and value not in (None, "", [], {})
        }
        if rest:
            self.make.side("args", rest, seq=seq)

    def _answer(self, at: int, record: Record) -> None:
        parts = self._answers.pop(answer_id(record.event) or f"#{at}", None)
        if parts is None:
            return  # it was written with the first action of its answer
        usage = self._usage(record)
        blocks: list[Any] = []
        for part in parts:
            arguments = part.object("args")
            thought = arguments.get("thought") if part.event.get("action") != "think" else None
            blocks += said(thought or None).blocks
        blocks = [*reasoning_blocks(record.event), *blocks, *(call_block(part) for part in parts)]
        make = self.at(record, *parts[1:])
        seq = make.response(blocks, provenance=self.route, usage=usage)
        results: list[tuple[int, Record]] = []
        self.joined(record, parts, seq)
        for part in parts:
            self.at(part)
            self.view.add(part.key, seq)
            self.rest(part, _KNOWN, seq=seq)
            make.side("args", part.event.get("args"), seq=seq)
            if part.object("tool_call_metadata"):
                make.side("tool_call_metadata", part.event["tool_call_metadata"], seq=seq)
            results += self._results.get(call_id_of(part), ())[:1] or self._results.get(f"#{part.key}", ())[:1]
        written = []
        calls = {call_id_of(part): part for part in parts}
        for place, result in sorted(results, key=lambda found: found[0]):
            if place in self._placed:
                continue
            self._placed.add(place)
            written.append(self._result(result, answered_call(result.event, calls)))
            if place < at or self._apart[at + 1] < place:
                self.moved(result, written[-1])
        for call_id, part in calls.items():
            if make.waits_for(call_id) and part.event.get("action") in _WITHOUT_ANSWER:
                self.at(part)
                written.append(make.result(call_id, [], meta={"synthetic": True}))
                make.finding(
                    "SYNTHETIC_RESULT", f"{part.event['action']} gets no observation; an empty result was added"
                )
        self.view.answered(seq, written)
        for part in parts:
            todos = part.object("args").get("task_list")
            if isinstance(todos, list) and part.object("args").get("command", "plan") == "plan":
                self.at(part).todo(todos)

    def _usage(self, record: Record) -> dict[str, int] | None:
        """Give the counts of one call: the log has running totals alone."""
        totals = object_of(record.object("llm_metrics"), "accumulated_token_usage")
        model = route_of(totals.get("model"))
        if model:
            self.route = {**self.route, **model}
        now = {key: totals[key] for key in _TOTALS if is_number(totals.get(key))}
        if not now:
            return None
        before, self._totals = self._totals, now
        counts = {key: count - before.get(key, 0) for key, count in now.items()}
        if any(count < 0 for count in counts.values()):
            self.make.finding("TOTALS_FELL", "the running token totals fell; this call's counts are not known")
            return None
        if not counts.get("prompt_tokens") and not counts.get("completion_tokens"):
            return None
        return usage_of(counts)

    # -------------------------------------------------------------------------------------------------- observations

    def _observation(self, record: Record, kind: str) -> None:
        if kind == "agent_state_changed":
            self.aside(record, kind)
            extras = record.object("extras")
            state = extras.get("agent_state")
            end = _ENDS.get(state) if isinstance(state, str) else None
            if end is not None and self.make.turn is not None:
                reason = text_from(extras.get("reason")) or text_from(state)
                told = {"message": reason, "code": "error"} if end == "error" else {"reason": reason}
                self.make.end_turn({"kind": end, **told})
        elif kind in _SILENT_OBSERVATIONS:
            self.aside(record, kind)
        elif kind == "recall" or text_from(record.event.get("cause")) in self._recalls:
            seq = self.make.context(recalled(record), kind="recall", meta=record.event.get("extras"))
            self.view.add(record.key, seq)
            self.rest(record, _KNOWN, seq=seq)
        elif names_of_call(record.event) and text_from(record.event.get("cause")) not in self._by_hand:
            self._result(record, names_of_call(record.event)[0])
        else:
            seq = self.make.context(
                record.event.get("content"), kind=kind or "observation", meta=record.event.get("extras")
            )
            self.view.add(record.key, seq)
            self.rest(record, _KNOWN, seq=seq)

    def _result(self, record: Record, call_id: str) -> int:
        event = record.event
        make = self.at(record)
        failed = text_from(event.get("observation")) in _FAILURES
        error = {"name": text_from(event.get("observation")), "code": "error"} if failed else None
        content = said(event.get("content"))
        meta, pictures = without_pictures(record.object("extras"))
        seq = make.result(call_id, content.blocks, is_error=failed, error=error, meta=meta)
        self.view.add(record.key, seq)
        self.rest(record, _KNOWN, seq=seq)
        for name, picture in pictures.items():
            make.side(name, picture, seq=seq)
        return seq

    # -------------------------------------------------------------------------------------------------- condensations

    def _condensation(self, record: Record, arguments: Mapping[str, Any]) -> None:
        self.aside(record, "condensation")
        listed = arguments.get("forgotten_event_ids")
        first, last = arguments.get("forgotten_events_start_id"), arguments.get("forgotten_events_end_id")
        is_range = False
        if not isinstance(listed, list) and is_number(first) and is_number(last):
            is_range = True
            numbers = (other.event.get("id") for other in self.records)
            forgotten = {text_from(number) for number in numbers if is_number(number) and first <= number <= last}
        else:
            forgotten = {text_from(key) for key in listed} if isinstance(listed, list) else set()
        summary, offset = arguments.get("summary"), arguments.get("summary_offset")
        self.view.condense(
            record.key,
            forgotten,
            summary=text_from(summary) if summary else None,
            offset=offset if is_number(offset) else None,
            model=self.route,
            keeps_older_summaries=False,
            is_range=is_range,
        )
