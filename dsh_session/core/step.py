"""One step of a recorded turn: a model call, what it streamed and said, and its tools' results."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from dsh_session.core.content import Content, arguments_of, blocks_of
from dsh_session.core.errors import RecordError
from dsh_session.core.event import SessionEvent
from dsh_session.core.outcome import Outcome, finish_of
from dsh_session.core.pen import Pen
from dsh_session.core.shapes import name_of
from dsh_session.core.turns import INTERRUPTED

Call = tuple[str, str, str | Mapping[str, Any]]
"""A tool call: its id, the tool's name, and the arguments as raw text or as an object to encode."""


class Step:
    """One step, between a ``step/start`` and its ``step/end``; `Turn.step` makes it.

    Attributes:
        number: The step's number within its turn, None before it starts.
    """

    def __init__(self, pen: Pen, turn: int, outcome: Outcome) -> None:
        """Take the pen, the turn's number, and where to note how model calls finished."""
        self.number: int | None = None
        self._pen = pen
        self._turn = turn
        self._outcome = outcome
        self._stream_from = 0
        self._usage: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        """Write the step/start.

        Raises:
            RecordError: ``RECORD_STEP_OPEN`` while another step is open, ``RECORD_TURN_OVER`` when the
                turn is, ``RECORD_STEP_OVER`` for a step that was entered before.
        """
        if self.number is not None:
            raise RecordError("RECORD_STEP_OVER", "a step is recorded once; ask the turn for another")
        state = self._pen.state
        if state.turn != self._turn:
            raise RecordError("RECORD_TURN_OVER", f"turn {self._turn} is over; ask the recorder for another")
        if state.step is not None:
            raise RecordError("RECORD_STEP_OPEN", f"step {state.step} is open; leave its with block first")
        number = state.last_step + 1
        event = self._pen.session.append("step/start", {"turn": self._turn, "step": number})
        self.number = number
        self._stream_from = event.seq + 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write the step/end. What went wrong is the turn's end reason, if it leaves the turn too."""
        state = self._pen.state
        if state.turn == self._turn and self.number is not None and state.step == self.number:
            self._pen.session.append("step/end", {"turn": self._turn, "step": self.number})

    def header(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prefix: Sequence[Mapping[str, Any]] | None = None,
    ) -> SessionEvent | None:
        """Write what the next request is made of besides the history, if that is new.

        Args:
            config: The ``LlmCallConfig``; provider and model may be left out.
            system: The system prompt; None for none.
            tools: The tools' schemas; None for none.
            prefix: Messages sent before the history; None for none.

        Returns:
            The ``request/header``, or None where the one in force says the same. The first one of a
            recorder is always written, as ``initial`` or ``resume``, later ones as ``change``.
        """
        self._require_open()
        return self._pen.write_header(
            config,
            system=system,
            tools=None if tools is None else [dict(tool) for tool in tools],
            messagePrefix=None if prefix is None else [dict(message) for message in prefix],
        )

    # What the model streamed.

    def chunk(self, chunk: Mapping[str, Any]) -> SessionEvent:
        """Write one ``StreamChunk`` as it came."""
        place = self._require_open()
        wire: Any = dict(chunk)
        data: Any = {**place, "chunk": wire}
        event = self._pen.session.append("assistant/chunk", data)
        if wire.get("type") == "usage":
            self._usage = wire.get("usage")
        elif wire.get("type") == "finish" and isinstance(wire.get("reason"), Mapping):
            self._outcome.note_finish(wire["reason"], step=place["step"])
        return event

    def block_start(self, block_type: str, *, index: int = 0) -> SessionEvent:
        """Write that a content block began."""
        return self.chunk({"type": "block-start", "index": index, "blockType": block_type})

    def text_delta(self, text: str, *, index: int = 0) -> SessionEvent:
        """Write more text of a block."""
        return self.chunk({"type": "text-delta", "index": index, "text": text})

    def reasoning_delta(self, text: str, *, index: int = 0) -> SessionEvent:
        """Write more reasoning of a block."""
        return self.chunk({"type": "reasoning-delta", "index": index, "text": text})

    def tool_call_delta(self, call: str, arguments: str, *, name: str | None = None, index: int = 0) -> SessionEvent:
        """Write more of a tool call's arguments.

        Args:
            call: The call's id.
            arguments: A piece of the raw JSON text.
            name: The tool's name, which the first piece brings.
            index: The block's index.
        """
        named = {} if name is None else {"name": name}
        return self.chunk({"type": "tool-call-delta", "index": index, "id": call, **named, "argumentsDelta": arguments})

    def block_end(self, block: Mapping[str, Any], *, index: int = 0) -> SessionEvent:
        """Write that a content block is complete, and the block."""
        return self.chunk({"type": "block-end", "index": index, "block": dict(block)})

    def usage(self, usage: Mapping[str, int]) -> SessionEvent:
        """Write the token counts that the stream reported; the assistant message takes them over."""
        return self.chunk({"type": "usage", "usage": dict(usage)})

    def finish(self, reason: str | Mapping[str, Any]) -> SessionEvent:
        """Write why the stream ended: a ``FinishReason`` or its kind."""
        return self.chunk({"type": "finish", "reason": finish_of(reason)})

    # What it said, and what its tools answered.

    def assistant(
        self,
        text: Content = "",
        *,
        calls: Iterable[Call] = (),
        reasoning: str | None = None,
        usage: Mapping[str, int] | None = None,
        finish: str | Mapping[str, Any] = "stop",
        provenance: Mapping[str, Any] | None = None,
    ) -> SessionEvent:
        """Write the assembled assistant message, and a ``tool/call`` for each call in it.

        The message cites the chunks that the step streamed since its last message, or none.

        Args:
            text: What the model said, as text or content blocks.
            calls: ``(id, name, arguments)`` of each tool call; a string of arguments is kept as it
                is, an object is encoded.
            reasoning: What the model thought first.
            usage: Disjoint token counts of the call; by default what the stream reported.
            finish: A ``FinishReason``, or its kind; ``"max-tokens"``, ``"aborted"`` and ``"error"`` tell
                in the turn's end reason.
            provenance: ``provider``, ``model`` and ``replayState``; what is left out of the route is
                that of the header in force.

        Returns:
            The ``assistant/message``.
        """
        place = self._require_open()
        finished = finish_of(finish)
        called = [_call_of(call) for call in calls]
        content = [] if reasoning is None else [{"type": "reasoning", "text": reasoning}]
        content += blocks_of(text) if text else []
        content += [
            {"type": "tool-call", "id": call, "name": name, "arguments": arguments} for call, name, arguments in called
        ]
        data: Any = {**place, "content": content, "provenance": {**self._pen.route(), **(provenance or {})}}
        if usage is not None or self._usage is not None:
            data["usage"] = self._usage if usage is None else dict(usage)
        session = self._pen.session
        stream = [event.seq for event in session.events[self._stream_from :] if event.type == "assistant/chunk"]
        message = session.append("assistant/message", data, surface_op="append", source_event_seqs=stream)
        self._stream_from, self._usage = message.seq + 1, None
        self._outcome.note_finish(finished, step=place["step"])
        for call, name, arguments in called:
            made: Any = {**place, "callId": call, "name": name, "arguments": arguments}
            session.append("tool/call", made)
        return message

    def result(
        self,
        call: str,
        content: Content = "",
        *,
        is_error: bool = False,
        error: Mapping[str, str] | None = None,
        meta: Any = None,
    ) -> SessionEvent:
        """Write a tool's answer to a call of this step.

        Args:
            call: The call's id.
            content: Text or content blocks.
            is_error: Whether the tool failed.
            error: What kind of failure it was: ``{"name", "code"}``.
            meta: State of the tool's own, which the model never sees.

        Returns:
            The ``tool/result``; it cites its ``tool/call``.

        Raises:
            RecordError: ``RECORD_NO_CALL`` for a call that this step did not make or that has its
                result; the synthetic result of an interrupted call needs none.
        """
        place = self._require_open()
        if not isinstance(call, str):
            raise TypeError(f"a call's id must be a str, not {type(call).__name__}")
        cited = self._pen.state.calls.get(call)
        if cited is None and not (is_error and error is not None and error.get("code") == INTERRUPTED):
            raise RecordError(
                "RECORD_NO_CALL",
                f"call {name_of(call)} waits for no result in step {self.number}; "
                "step.assistant(calls=[(id, name, arguments)]) makes calls",
            )
        data: Any = {**place, "callId": call, "content": blocks_of(content), "isError": is_error}
        if error is not None:
            data["error"] = dict(error)
        if meta is not None:
            data["meta"] = meta
        sources = None if cited is None else [cited]
        return self._pen.session.append("tool/result", data, surface_op="append", source_event_seqs=sources)

    def _require_open(self) -> dict[str, int]:
        """Give the step's turn and number, if it is open."""
        if self.number is None:
            raise RecordError("RECORD_NOT_ENTERED", "the step has not begun; use it in a with statement")
        state = self._pen.state
        if state.turn != self._turn or state.step != self.number:
            raise RecordError("RECORD_STEP_OVER", f"step {self.number} is over; ask the turn for another")
        return {"turn": self._turn, "step": self.number}


def _call_of(call: Any) -> tuple[str, str, str]:
    """Give a call with its arguments as text."""
    if not isinstance(call, (tuple, list)) or len(call) != 3:
        found = f"{len(call)} items" if isinstance(call, (tuple, list)) else type(call).__name__
        raise TypeError(f"a call must be (id, name, arguments), not {found}")
    identity, name, arguments = call
    return identity, name, arguments_of(arguments)
