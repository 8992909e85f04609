"""Writing a session by hand, as turns and steps.

A `Recorder` writes what an agent's loop would: well-formed turns that pass the invariants. It keeps
no books of its own: numbers, open turns and pending calls are read from the log, which others may
write to as well.
"""

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from dsh_session.core.content import Content, Prompt, blocks_of, prompts_of, todo_of
from dsh_session.core.errors import RecordError
from dsh_session.core.event import SessionEvent
from dsh_session.core.outcome import Outcome, Reason
from dsh_session.core.pen import Pen
from dsh_session.core.step import Step
from dsh_session.core.turns import TurnState

Source = Mapping[str, Any]
"""A ``MessageSource``: ``{"kind": "user"}`` or ``{"kind": "plugin", "plugin": ...}``."""

USER: Source = {"kind": "user"}


class Recorder(Pen):
    """Writes well-formed turns into a session.

    Args:
        session: Where to write: an empty session, or one with whole turns in it.
        provider: The provider of headers and assistant messages that name none. By default that of
            the request header in force, else ``"recorded"``.
        model: The model, likewise.

    Attributes:
        session: The session it writes to.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("tour", clock=lambda: 0)
        >>> record = Recorder(session)
        >>> with record.turn("What does README.md say?") as turn:
        ...     with turn.step() as step:
        ...         _ = step.assistant("Let me look.", calls=[("c1", "read", {"path": "README.md"})])
        ...         _ = step.result("c1", "# Hello")
        ...     with turn.step() as step:
        ...         _ = step.assistant("It says hello.")
        >>> session.surface.nodes, session.events[-1].data["reason"]
        ((1, 3, 5, 8), {'kind': 'completed'})
    """

    def turn(self, prompt: Prompt = None, *, source: Source = USER) -> "Turn":
        """Begin a turn; use it in a ``with`` statement.

        Args:
            prompt: The prompt as text or as content blocks; a list of strings, or of lists of
                blocks, for several prompts; None for none.
            source: Where the prompts come from.

        Returns:
            The `Turn`. It starts when its ``with`` block is entered and ends when that is left.

        Raises:
            TypeError: For what is no prompt.
        """
        return Turn(self, prompts_of(prompt), {"kind": "message", "source": dict(source)})

    def inject(
        self, content: Content, *, plugin: str = "recorder", envelope: str | None = None, meta: Any = None
    ) -> SessionEvent:
        """Write context that arrived while no turn was open, in a turn of its own.

        Args:
            content: Text or content blocks.
            plugin: The plugin it comes from.
            envelope: ``"raw"`` shows the content to the model without a frame.
            meta: State of the plugin's own, which the model never sees.

        Returns:
            The ``context/message``.
        """
        source = {"kind": "plugin", "plugin": plugin}
        with Turn(self, [], {"kind": "injection", "source": source}) as turn:
            return turn.context(content, source=source, envelope=envelope, meta=meta)


class Turn:
    """One turn, between a ``turn/start`` and its ``turn/end``; `Recorder.turn` makes it.

    An exception that leaves the ``with`` block ends the turn as ``error``, and a stop from outside
    (`KeyboardInterrupt`, a cancellation) as ``aborted``; it goes on to the caller. A step that is
    still open is closed first.

    Attributes:
        number: The turn's number, None before it starts.
    """

    def __init__(self, pen: Pen, prompts: list[list[Any]], trigger: dict[str, Any]) -> None:
        """Take the pen, the content of each prompt, and what starts the turn."""
        self.number: int | None = None
        self._pen = pen
        self._prompts = prompts
        self._trigger = trigger
        self._outcome = Outcome()
        self._was_prompted = False
        self._vetoes: list[str] = []

    def __enter__(self) -> Self:
        """Write the turn/start and the prompts.

        Raises:
            RecordError: ``RECORD_TURN_OPEN`` while another turn is open, ``RECORD_TURN_OVER`` for a
                turn that was entered before.
        """
        state = self._pen.state
        if self.number is not None:
            raise RecordError("RECORD_TURN_OVER", "a turn is recorded once; ask the recorder for another")
        if state.turn is not None:
            raise RecordError(
                "RECORD_TURN_OPEN",
                f"turn {state.turn} of session {self._pen.session.id!r} is open; leave its with block first, "
                "or append what interrupted_turn_closers(session.events) gives",
            )
        self.number = state.last_turn + 1
        try:
            trigger: Any = self._trigger
            self._pen.session.append("turn/start", {"turn": self.number, "trigger": trigger})
            for content in self._prompts:
                self.prompt(content, source=self._trigger["source"])
        except BaseException as error:
            self._close(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the step that is open, if one is, and the turn."""
        self._close(error)

    def prompt(self, content: Content, *, source: Source = USER) -> SessionEvent:
        """Write one more prompt, as a ``user/message``."""
        self._require_open()
        data: Any = {"content": blocks_of(content), "source": dict(source)}
        event = self._pen.session.append("user/message", data, surface_op="append")
        self._was_prompted = True
        return event

    def blocked(self, prompt: Content, reason: str, *, source: Source = USER) -> SessionEvent:
        """Write a prompt that policy kept from the model.

        A turn of blocked prompts alone, without a step, ends as ``rejected``.

        Args:
            prompt: One prompt, as text or content blocks.
            reason: Why it was blocked.
            source: Where it comes from.
        """
        self._require_open()
        data: Any = {"content": blocks_of(prompt), "source": dict(source), "reason": reason}
        event = self._pen.session.append("prompt/blocked", data)
        self._vetoes.append(reason)
        return event

    def context(
        self, content: Content, *, source: Source | None = None, envelope: str | None = None, meta: Any = None
    ) -> SessionEvent:
        """Write context that the model sees though nobody said it.

        Args:
            content: Text or content blocks.
            source: Where it comes from; by default a plugin named ``recorder``.
            envelope: ``"raw"`` shows the content to the model without a frame.
            meta: State of the source's own, which the model never sees.
        """
        self._require_open()
        origin = {"kind": "plugin", "plugin": "recorder"} if source is None else dict(source)
        data: Any = {"content": blocks_of(content), "source": origin}
        if envelope is not None:
            data["envelope"] = envelope
        if meta is not None:
            data["meta"] = meta
        return self._pen.session.append("context/message", data, surface_op="append")

    def steer(self, content: Content, *, source: Source = USER) -> SessionEvent:
        """Write what was said to the model while the turn was running."""
        data: Any = {"turn": self._require_open(), "content": blocks_of(content), "source": dict(source)}
        return self._pen.session.append("steering/message", data, surface_op="append")

    def todos(self, items: Iterable[str | tuple[str, str] | Mapping[str, Any]]) -> SessionEvent:
        """Write the whole todo list.

        Args:
            items: A string for what is still to do, a (content, status) pair, or a wire dict each.
        """
        self._require_open()
        data: Any = {"todos": [todo_of(item) for item in items]}
        return self._pen.session.append("todo/write", data)

    def step(self) -> "Step":
        """Begin a step, one model call and its tools; use it in a ``with`` statement.

        Returns:
            The `Step`. It starts when its ``with`` block is entered and ends when that is left.
        """
        return Step(self._pen, self._require_open(), self._outcome)

    def end_as(self, reason: str | Mapping[str, Any]) -> None:
        """Say why the turn will end; ``turn/end`` is written when the ``with`` block is left.

        Args:
            reason: A ``TurnEndReason``, or its kind, such as ``"disposed"``. Of several,
                ``disposed``, ``aborted`` and ``error`` count before ``max-tokens``.

        Raises:
            SessionError: ``PAYLOAD_INVALID`` for what is no end reason.
        """
        self._require_open()
        self._outcome.note(reason)

    def _require_open(self) -> int:
        """Give the turn's number, if it is open."""
        if self.number is None:
            raise RecordError("RECORD_NOT_ENTERED", "the turn has not begun; use it in a with statement")
        if self._pen.state.turn != self.number:
            raise RecordError("RECORD_TURN_OVER", f"turn {self.number} is over; ask the recorder for another")
        return self.number

    def _close(self, error: BaseException | None) -> None:
        try:
            self._write_end(error)
        except Exception:
            raise
        except BaseException as stop:
            # Interrupted while closing: what is missing is read from the log and written all the same.
            self._write_end(stop)
            raise

    def _write_end(self, error: BaseException | None) -> None:
        pen = self._pen
        state = pen.state
        if self.number is None or state.turn != self.number:
            return  # never logged, or closed by somebody else
        if error is not None:
            self._outcome.note_exception(error, step=state.last_step)
        if state.step is not None:
            pen.session.append("step/end", {"turn": self.number, "step": state.step})
        reason: Any = self._outcome.reason(self._rejection(state))
        pen.session.append("turn/end", {"turn": self.number, "reason": reason})

    def _rejection(self, state: TurnState) -> Reason | None:
        if self._vetoes and not self._was_prompted and not state.last_step:
            return {"kind": "rejected", "reason": "; ".join(dict.fromkeys(self._vetoes))}
        return None
