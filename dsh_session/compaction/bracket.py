"""One compaction: a bracket of events around whatever finds the summary.

::

    compact/start       the lock, written before anything else
    compact/summary     what was said, and what it stands for
    user/message        the one change of the surface
    compact/end         the lock is released, with the error if there was one
"""

from types import TracebackType
from typing import Any, NamedTuple, Self

from dsh_session.compaction.events import COMPACT_END, COMPACT_START, COMPACT_SUMMARY
from dsh_session.compaction.framing import SOURCE, frame_summary, summary_blocks
from dsh_session.compaction.lock import lock_of
from dsh_session.compaction.meter import DEFAULT_METER, TokenMeter
from dsh_session.compaction.pairing import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.compaction.summary import BY_HAND, PROVIDER, Summary
from dsh_session.compaction.transcript import Transcript
from dsh_session.core.errors import CompactionError
from dsh_session.core.event import Replace
from dsh_session.core.frozen import thaw
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of

_LONGEST_ERROR = 2000  # characters of an error in the log


class CompactionResult(NamedTuple):
    """A compaction that was made.

    Attributes:
        start_seq: Its ``compact/start``.
        summary_seq: Its ``compact/summary``.
        replacement_seq: The message that took the range's place.
        end_seq: Its ``compact/end``.
        summary: The summary's content blocks, without the frame.
        shadowed_range: The first and the last seq of the range.
        shadowed_seqs: The nodes that it took the place of, in surface order.
        shadowed_token_count: Tokens of those.
        replacement_token_count: Tokens of what took their place.
    """

    start_seq: int
    summary_seq: int
    replacement_seq: int
    end_seq: int
    summary: list[Any]
    shadowed_range: tuple[int, int]
    shadowed_seqs: tuple[int, ...]
    shadowed_token_count: int
    replacement_token_count: int


def begin_compaction(
    session: Session, start: int, end: int, *, meter: TokenMeter | None = None, trigger: str | None = None
) -> "CompactionBracket":
    """Compact a range of the surface, in a ``with`` statement.

    Who summarises may be a function, a model or a person: the bracket holds the lock until the block
    is left. Whatever leaves it, ``compact/end`` is written; where nothing was committed the surface is
    as it was.

    Args:
        session: A session with an open turn.
        start: Seq of the first node of the range.
        end: Seq of the last one, in surface order.
        meter: What compares the summary with the range; four characters for a token by default.
        trigger: What asked for it, such as ``"auto"``; noted in the log for whoever reads it.

    Returns:
        The bracket. The checks are made and the lock is taken when its block is entered.

    Raises:
        CompactionError: On entering, in this order: ``REGION_NOT_FOUND``, ``REGION_REVERSED``,
            ``REGION_UNBALANCED`` when an edge splits a tool call from its result,
            ``COMPACTION_IN_PROGRESS``, ``COMPACTION_NO_TURN``. Nothing was logged then.
        PairingError: ``PAIRING_ORPHAN_RESULT`` when the surface holds a result without a call.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> record = Recorder(session)
        >>> with record.turn("Rename foo to bar, " + "and tell me everything that you do. " * 20):
        ...     pass
        >>> with record.turn("Go on."):
        ...     with begin_compaction(session, 1, 1) as bracket:
        ...         result = bracket.commit("They want foo renamed to bar.")
        >>> session.surface.nodes, result.shadowed_seqs
        ((7, 4), (1,))
    """
    return CompactionBracket(session, start, end, meter=meter, trigger=trigger)


class CompactionBracket:
    """A compaction under way; `begin_compaction` makes it.

    Attributes:
        session: The session.
        start: Seq of the first node of the range.
        end: Seq of the last one, in surface order.
        shadowed_seqs: The nodes of the range, in surface order; empty before the block is entered.
        shadowed_token_count: Their tokens.
        left_open: Seqs of older ``compact/start`` events that never got an end; they do not block.
        result: What was made; None while nothing is.
    """

    def __init__(
        self, session: Session, start: int, end: int, *, meter: TokenMeter | None = None, trigger: str | None = None
    ) -> None:
        """Take the session, the range, and what measures it."""
        self.session = session
        self.start = start
        self.end = end
        self.shadowed_seqs: tuple[int, ...] = ()
        self.shadowed_token_count = 0
        self.left_open: tuple[int, ...] = ()
        self.result: CompactionResult | None = None
        self._meter = meter or DEFAULT_METER
        self._trigger = trigger
        self._start_seq: int | None = None
        self._turn = 0
        self._is_over = False
        self._transcript: Transcript | None = None

    @property
    def transcript(self) -> Transcript:
        """The range as plain text, with its events in `Transcript.events`."""
        if self._transcript is None:
            self._transcript = Transcript.of(self.session, self.shadowed_seqs)
        return self._transcript

    # Opening and closing.

    def __enter__(self) -> Self:
        """Check the range and write the ``compact/start``; see `begin_compaction`."""
        if self._start_seq is not None or self._is_over:
            raise CompactionError("COMPACTION_OVER", "a bracket is used once; begin another compaction")
        session = self.session
        # Between the checks and the lock nobody else may write.
        with session._append_lock:
            shadowed = self._checked_range()
            state = lock_of(session)
            if state.holder is not None:
                raise CompactionError(
                    "COMPACTION_IN_PROGRESS",
                    f"the compaction that began at seq {state.holder} of session {session.id!r} has no end; "
                    "wait for it, or end the turn",
                )
            if state.turn is None:
                raise CompactionError(
                    "COMPACTION_NO_TURN",
                    f"session {session.id!r} has no open turn, and a compaction's events belong in one; "
                    "append a turn/start first",
                )
            self.left_open = tuple(state.left_open)
            self._turn = state.turn
            measured = self._meter.measure(session)
            self.shadowed_seqs = shadowed
            self.shadowed_token_count = sum(map(measured.tokens, shadowed))
            seq = session.seq
            try:
                opening: Any = {"turn": self._turn}
                if self._trigger is not None:
                    opening["trigger"] = self._trigger
                session.append(COMPACT_START, opening)
                self._start_seq = seq
            except BaseException as error:
                # Interrupted just after it was logged: nobody will leave a block that was not entered.
                if session.seq > seq and session.events[seq].type == COMPACT_START:
                    self._start_seq = seq
                    self._close(error)
                raise
        return self

    def _checked_range(self) -> tuple[int, ...]:
        session = self.session
        for name, seq in (("start", self.start), ("end", self.end)):
            if seq not in session.surface:
                raise CompactionError("REGION_NOT_FOUND", f"{name} {name_of(seq)} is not on the surface")
        nodes = list(session.surface.nodes)
        first, last = nodes.index(self.start), nodes.index(self.end)
        if first > last:
            raise CompactionError(
                "REGION_REVERSED", f"start {self.start} stands after end {self.end} on the surface; swap them"
            )
        self._check_edges()
        return tuple(nodes[first : last + 1])

    def _check_edges(self) -> None:
        if not tool_pairing_balanced_before(self.session, self.start):
            raise CompactionError(
                "REGION_UNBALANCED", f"a tool call is open before start {self.start}; begin at its call or after it"
            )
        if not tool_pairing_balanced_after(self.session, self.end):
            raise CompactionError(
                "REGION_UNBALANCED", f"a tool call is open after end {self.end}; end at its result or before its call"
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Write the ``compact/end``, unless `commit` did."""
        self._close(error if error is not None else "nothing was committed")

    def abandon(self, reason: str) -> None:
        """Give up: write the ``compact/end`` with a reason, and leave the surface as it is."""
        self._require_open()
        self._close(reason)

    def _close(self, error: BaseException | str) -> None:
        if self._is_over or self._start_seq is None:
            return
        self._is_over = True
        with self.session._append_lock:
            # A turn boundary has released the lock; an end after it would lie in another turn, or in none.
            if lock_of(self.session).holder == self._start_seq:
                failed = {} if self._has_replaced() else {"error": _text_of(error)}
                self.session.append(COMPACT_END, {"turn": self._turn, **failed})

    def _has_replaced(self) -> bool:
        """Tell whether the range was replaced, though an interruption came before its end was logged."""
        after = [] if self._start_seq is None else self.session.events[self._start_seq + 1 :]
        return any(event.surface_op == Replace(self.start, self.end) for event in after)

    # What takes the range's place.

    def commit(
        self,
        summary: Any,
        *,
        provider: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        is_framed: bool = True,
    ) -> CompactionResult:
        """Put a summary in the range's place and write the ``compact/end``.

        Args:
            summary: Text, content blocks, or a `Summary` that also says where it comes from.
            provider: Who ran the model; ``"dsh_session"`` where there was none.
            model: The model, or the summariser's name.
            max_tokens: The limit that the model was given, if it was.
            is_framed: Whether to put it between the tags of a summary; a one-line marker goes without.

        Returns:
            What was made.

        Raises:
            CompactionError: ``COMPACTION_LOG_CHANGED`` when the log grew since the block was entered,
                ``COMPACTION_EMPTY`` or ``COMPACTION_BAD_SUMMARY``, ``COMPACTION_NOT_SMALLER`` when what
                would take the range's place is not smaller than it: another summary may be tried;
                ``COMPACTION_OVER``.
        """
        told = Summary.of(summary)
        origin = {"provider": provider or told.provider or PROVIDER, "model": model or told.model or BY_HAND}
        limit = told.max_tokens if max_tokens is None else max_tokens
        blocks = summary_blocks(told.content)
        data = {"content": frame_summary(blocks) if is_framed else blocks, "source": SOURCE}
        return self._replace("user/message", data, blocks, origin, limit)

    def _replace(
        self, kind: Any, data: Any, blocks: list[Any], origin: dict[str, str], limit: int | None
    ) -> CompactionResult:
        self._require_open()
        session = self.session
        start_seq = self._start_seq
        assert start_seq is not None
        with session._append_lock:
            if session.seq != start_seq + 1:
                raise CompactionError(
                    "COMPACTION_LOG_CHANGED",
                    f"the log grew by {session.seq - start_seq - 1} events while this was being summarised; "
                    "begin the compaction again",
                )
            tokens = self._meter.estimate_message(data)
            if tokens >= self.shadowed_token_count:
                raise CompactionError(
                    "COMPACTION_NOT_SMALLER",
                    f"{tokens} tokens would take the place of {self.shadowed_token_count}; say less, or compact more",
                )
            record = {
                "summary": blocks,
                "shadowedRange": {"start": self.start, "end": self.end},
                "shadowedSeqs": list(self.shadowed_seqs),
                "shadowedTokenCount": self.shadowed_token_count,
                **origin,
                **({} if limit is None else {"maxTokens": limit}),
            }
            summary_seq = session.append(COMPACT_SUMMARY, record).seq
            replacement: Any = session.append(
                kind,
                data,
                surface_op=Replace(self.start, self.end),
                source_event_seqs=[start_seq, summary_seq, *self.shadowed_seqs],
            )
            self.result = CompactionResult(
                start_seq,
                summary_seq,
                replacement.seq,
                replacement.seq + 1,
                thaw(session.events[summary_seq].data["summary"]),
                (self.start, self.end),
                self.shadowed_seqs,
                self.shadowed_token_count,
                tokens,
            )
            session.append(COMPACT_END, {"turn": self._turn})
            self._is_over = True
            return self.result

    def _require_open(self) -> None:
        if self._start_seq is None:
            raise CompactionError("COMPACTION_OVER", "the compaction has not begun; use it in a with statement")
        if self._is_over:
            raise CompactionError("COMPACTION_OVER", "the compaction is over; begin another one")

    def __repr__(self) -> str:
        """Name session and range."""
        state = "over" if self._is_over else "open" if self._start_seq is not None else "not begun"
        return f"<CompactionBracket {self.session.id!r} {self.start} to {self.end}, {state}>"


class ResultBracket(CompactionBracket):
    """A bracket that shortens one tool result: the call keeps its answer, so no edge is split."""

    def __init__(
        self, session: Session, seq: int, *, meter: TokenMeter | None = None, trigger: str | None = None
    ) -> None:
        """Take the session and the tool result's seq."""
        super().__init__(session, seq, seq, meter=meter, trigger=trigger)

    def _check_edges(self) -> None:
        kind = self.session.events[self.start].type
        if kind != "tool/result":
            raise CompactionError(
                "REGION_UNBALANCED", f"seq {self.start} is a {kind!r}, and only results are shortened"
            )

    def shorten(self, content: Any, *, author: str) -> CompactionResult:
        """Put shorter content in the result's place; everything else of it stays.

        Args:
            content: Text or content blocks.
            author: Who shortened it, for the log.

        Raises:
            CompactionError: As `commit`.
        """
        blocks = summary_blocks(content)
        data = {**self.session.events[self.start].data, "content": blocks}
        return self._replace("tool/result", data, blocks, {"provider": PROVIDER, "model": author}, None)


def _text_of(error: BaseException | str) -> str:
    try:
        # Joining gives a plain str even where __str__ gives a subclass.
        text = error if isinstance(error, str) else "".join([str(error)])
    except Exception:  # noqa: BLE001 (an error that cannot say what it is still has a name)
        text = ""
    text = text or type(error).__name__
    return text if len(text) <= _LONGEST_ERROR else f"{text[: _LONGEST_ERROR - 1]}…"
