"""One conversation of a sample as a session."""

from typing import Any, Final

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat import chat_message, moment, tool_schemas, usage_of
from dsh_session.importers.chat.content import Answer, said
from dsh_session.importers.chat.routes import route_of
from dsh_session.importers.inspect_ai.results import Results
from dsh_session.importers.inspect_ai.samples import SampleLog, event_kind, key_of
from dsh_session.importers.inspect_ai.tracks import Track, output_message

PLUGIN: Final = "inspect-ai"
_NO_RANGE: Final = "the log does not record which messages were compacted"
_OF_CALL: Final = frozenset({"input", "input_refs", "output", "tools"})
_OF_TOOL: Final = frozenset({"arguments", "result", "events", "view", "event"})
_OF_MESSAGE: Final = frozenset({"content", "role", "tool_calls"})
_KNOWN_EVENTS: Final = frozenset(
    [
        "approval",
        "anchor",
        "branch",
        "checkpoint",
        "error",
        "info",
        "input",
        "interrupt",
        "logger",
        "review",
        "sample_init",
        "sample_limit",
        "sandbox",
        "score",
        "score_edit",
        "span_begin",
        "span_end",
        "state",
        "step",
        "store",
        "subtask",
        "tool",
        "model",
        "compaction",
    ]
)


class TrackWriter:
    """Writes one conversation of a sample."""

    def __init__(
        self, log: SampleLog, book: Book, identity: str, track: Track, placed: set[int], *, parent: str | None = None
    ) -> None:
        """Take the sample and the conversation.

        Args:
            log: The sample.
            book: Takes what has no place in an event.
            identity: The session's id.
            track: The conversation.
            placed: The places of tool events that are written; shared by all conversations of the sample.
            parent: The id of the sample's own session, for another conversation.
        """
        self._log = log
        self._book = book
        self._track = track
        times = (moment(event.get("timestamp")) for event in log.events if isinstance(event, dict))
        created = next((time for time in times if time is not None), None)
        if created is None:
            created = moment(log.evaluation.get("created")) or 0
        header: dict[str, Any] = {"id": identity, "createdAt": created}
        if parent:
            header["parentSession"] = parent
        self._make = Assembler(header, book, file=log.file, plugin=PLUGIN)
        self._seqs: dict[str, int | None] = {}  # by message: its event
        self._order: list[str] = []  # the messages that requests should have, system prompts left out
        self._results = Results(log, track.calls, placed)
        self._left_out: list[int] = []
        self._before: list[str] = []  # the request before, and its system prompts
        self._systems: list[str] = []
        self._after_summary = False
        self._route = route_of(log.evaluation.get("model"))

    def write(self, *, is_main: bool = False, others: list[Track] = []) -> Session:  # noqa: B006 (never changed)
        """Write it; the main conversation takes with it all that is nobody's."""
        elsewhere = {at for track in others for at in (*track.calls, *track.marks)}
        own = {*self._track.calls, *self._track.marks}
        if is_main:
            self._make.at(None)
            self._make.side("sample", self._log.facts)
        for at in range(len(self._log.events)) if is_main else sorted(own):
            if at not in elsewhere:
                self._event(at)
        if is_main:
            self._rest(elsewhere, others)
        if self._left_out:
            told = (
                f"{len(self._left_out)} requests leave out earlier messages, first at entry {self._left_out[0]}; "
                "the log does not say why, so the surface keeps them"
            )
            self._make.at(self._left_out[0]).finding("REQUEST_LEAVES_OUT", told)
        return self._make.finish(self._reason() if is_main else None)

    # -------------------------------------------------------------------------------------------------------- events

    def _event(self, at: int) -> None:
        event = self._log.events[at]
        kind = event_kind(event)
        make = self._make.at(
            self._log.first + at + 1, moment(event.get("timestamp")) if isinstance(event, dict) else None
        )
        if kind == "model":
            self._call(at, event)
        elif kind == "tool":
            pass  # it is written with its call; what is left is looked for at the end
        elif kind == "compaction":
            self._mark(event)
        else:
            make.side(kind or "event", event)
            if kind not in _KNOWN_EVENTS:
                self._book.finding_once(
                    "UNKNOWN_TYPE", f"events of type {kind!r:.80} are not known; they went to the side table"
                )
            if kind == "sample_limit":
                make.end_turn({"kind": "aborted", "reason": f"limit: {text_from(event.get('type'))}"})

    def _mark(self, event: dict[str, Any]) -> None:
        """Mark a compaction: its counts are known, its range is not."""
        make = self._make
        make.end_step()
        kind = text_from(event.get("type")) or "summary"
        told: dict[str, Any] = {"trigger": text_from(event.get("source")) or "inspect", "type": kind}
        for key, name in (("tokens_before", "tokensBefore"), ("tokens_after", "tokensAfter")):
            if event.get(key) is not None:
                told[name] = event[key]
        make.event("compact/start", told)
        make.event("compact/end", {"error": _NO_RANGE})
        make.side("compaction", event)
        counts = f"{event.get('tokens_before')} to {event.get('tokens_after')} tokens"
        make.finding(
            "COMPACTION_WITHOUT_RANGE",
            f"a compaction ({kind}, {counts:.80}) is marked, and nothing replaced: {_NO_RANGE}",
        )
        self._after_summary = kind == "summary"

    def _call(self, at: int, event: dict[str, Any]) -> None:
        make = self._make
        given, keys = self._log.request_of(event)
        systems = self._take_request(given, keys)
        route = route_of(event.get("model")) or self._route
        config: dict[str, Any] = found if isinstance(found := event.get("config"), dict) else {}
        settings: dict[str, Any] = {
            **route,
            "temperature": config.get("temperature"),
            "maxTokens": config.get("max_tokens"),
            "stop": config.get("stop_seqs"),
        }
        tools = tool_schemas(self._log.resolved(event.get("tools")))
        make.header(settings, system="\n\n".join(systems), tools=tools)
        if len(keys) - len(systems) < len(self._order):
            self._left_out.append(self._log.first + at + 1)
        message = output_message(event)
        rest = {key: value for key, value in event.items() if key not in _OF_CALL}
        if message is None:
            make.side("model", event)
            make.finding("NO_ANSWER", f"a model call has no answer: {text_from(event.get('error')):.200}")
            return
        output = event["output"]
        # When the answer was there; the event's own time is when it was asked for.
        make.at(self._log.first + at + 1, moment(event.get("completed")))
        seq = self._answer(message, route=route, usage=usage_of(output.get("usage")), after=at)
        make.at(self._log.first + at + 1).side("model", rest, seq=seq)
        more = {key: value for key, value in output.items() if key not in ("choices", "completion")}
        make.side("output", {**more, "choices": output["choices"][1:]}, seq=seq)
        stop = output["choices"][0].get("stop_reason")
        if stop is not None:
            make.side("stop_reason", stop, seq=seq)
        self._after_summary = False

    def _take_request(self, given: list[dict[str, Any]], keys: list[str]) -> list[str]:
        """Write what is new in a request; gives its system prompts."""
        known = len(self._before) if keys[: len(self._before)] == self._before else 0
        systems = self._systems if known else []
        for message, key in zip(given[known:], keys[known:], strict=True):
            if not key:
                systems = [*systems, self._text(message)]
            elif key not in self._seqs:
                self._message(message)
        self._before, self._systems = keys, systems
        return systems

    # ------------------------------------------------------------------------------------------------------ messages

    def _message(self, message: dict[str, Any]) -> None:
        """Write a message that no event has brought."""
        key, role = key_of(message), message.get("role")
        make = self._make
        taken = chat_message({name: self._log.resolved(value) for name, value in message.items() if name in _CHAT})
        if role == "assistant":
            self._answer(message, route=route_of(message.get("model")) or self._route, usage=None, after=-1)
            return
        if role == "tool":
            answer = taken.answers[0] if taken.answers else Answer("", taken.blocks)
            seq = self._result(answer.call_id, message, None)
        elif role == "user":
            seq = self._said(message, taken.blocks)
        else:
            seq = make.context(taken.blocks, kind=text_from(role)[:40] or "message")
        self._know(message, key, seq)

    def _said(self, message: dict[str, Any], blocks: list[Any]) -> int:
        metadata = message.get("metadata")
        if self._after_summary or (isinstance(metadata, dict) and metadata.get("summary")):
            self._make.end_step()
            return self._make.context(blocks, kind="summary")
        if message.get("tool_call_id"):
            return self._make.context(blocks, kind="tool-content")
        return (self._make.steering if self._make.first_pending is not None else self._make.prompt)(blocks)

    def _know(self, message: dict[str, Any], key: str, seq: int) -> None:
        self._seqs[key] = seq
        self._order.append(key)
        rest = {
            name: value
            for name, value in message.items()
            if name not in _OF_MESSAGE and value not in (None, "", [], {})
        }
        self._make.side("message", rest, seq=seq)

    def _answer(
        self, message: dict[str, Any], *, route: dict[str, str], usage: dict[str, int] | None, after: int
    ) -> int:
        key = key_of(message)
        whole = {name: self._log.resolved(value) for name, value in message.items() if name in _CHAT}
        taken = chat_message(whole)
        make = self._make
        seq = make.response(taken.blocks, provenance=route, usage=usage)
        if key in self._seqs:
            make.finding("DUPLICATE_ID", f"the message {key:.80} is the answer of two model calls")
        self._know(message, key, seq)
        for name, value in taken.aside:
            make.side(name, value, seq=seq)
        for answer in taken.answers:  # of tools that the provider ran itself
            make.result(answer.call_id, answer.content, is_error=answer.is_error)
        for block in taken.blocks:
            if block.get("type") == "tool-call" and make.waits_for(block["id"]):
                self._answer_call(block["id"], after)
        return seq

    def _answer_call(self, call_id: str, after: int) -> None:
        """Write the result of a call, from the message that the model saw, and else from the tool's event."""
        found = self._results.take(call_id, after, self._seqs)
        if found is None:
            return
        place, event, message = found
        if place is not None and event is not None:
            self._make.at(self._log.first + place + 1, moment(event.get("completed")) or moment(event.get("timestamp")))
        seq = self._result(call_id, message, event)
        if message is not None:
            self._know(message, key_of(message), seq)
        if event is not None:
            rest = {name: value for name, value in event.items() if name not in _OF_TOOL}
            self._make.side("tool", rest, seq=seq)

    def _result(self, call_id: str, message: dict[str, Any] | None, event: dict[str, Any] | None) -> int:
        content = message.get("content") if message else event.get("result") if event else None
        failure = (message or {}).get("error") or (event or {}).get("error")
        blocks = said(self._log.resolved(content)).blocks
        if not failure:
            return self._make.result(call_id, blocks)
        kind = text_from(failure.get("type")) if isinstance(failure, dict) else "error"
        told = text_from(failure.get("message")) if isinstance(failure, dict) else text_from(failure)
        if not blocks:
            blocks = said(told).blocks
        error = {"name": "ToolCallError", "code": kind or "error"}
        return self._make.result(call_id, blocks, is_error=True, error=error, meta={"message": told})

    # ------------------------------------------------------------------------------------------------------- the end

    def _rest(self, elsewhere: set[int], others: list[Track]) -> None:
        """Account for what no model call has brought: messages, and tool events without a call."""
        log, make = self._log, self._make
        theirs = {key for track in others for key in track.keys}
        late = 0
        for at, message in enumerate(log.messages):
            entry = log.first + len(log.events) + at + 1
            make.at(entry)
            if not isinstance(message, dict):
                make.side("message", message)
                make.finding("NOT_A_MESSAGE", "a message that is no object; it went to the side table")
                continue
            key = key_of(message)
            seq = self._seqs.get(key)
            if seq is not None:
                self._book.source(make.id, seq, entry, file=log.file)
            elif key in theirs or (message.get("role") == "system" and self._track.calls):
                make.side("message", message)
            elif message.get("role") == "system":
                make.header(system=self._text(message))
                make.side("message", message)
            else:
                late += 1
                self._message(message)
        if late and self._track.calls:
            told = f"{late} messages of the sample stand in no request; they were added at the end"
            make.finding("IN_NO_REQUEST", told)
        for places in self._results.places.values():
            for at in places:
                if at not in self._results.placed and at not in elsewhere:
                    make.at(log.first + at + 1).side("tool", log.events[at])
                    self._results.placed.add(at)

    def _reason(self) -> dict[str, Any] | None:
        failure = self._log.facts.get("error")
        if not failure:
            limit = self._log.facts.get("limit")
            kind = text_from(limit.get("type")) if isinstance(limit, dict) else ""
            return {"kind": "aborted", "reason": f"limit: {kind}"} if kind else None
        told = failure.get("message") if isinstance(failure, dict) else failure
        return {"kind": "error", "message": text_from(told), "code": "sample_error"}

    def _text(self, message: dict[str, Any]) -> str:
        blocks = said(self._log.resolved(message.get("content"))).blocks
        return "\n\n".join(text for block in blocks if isinstance(text := block.get("text"), str))


_CHAT: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "reasoning", "error", "function", "name"})
