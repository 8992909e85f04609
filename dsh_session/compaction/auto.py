"""Compacting before each step of every session in a context."""

from typing import Any
from weakref import WeakSet

from dsh_session.compaction.decision import Policy
from dsh_session.compaction.meter import TokenMeter
from dsh_session.compaction.needed import CompactionOutcome, acompact_if_needed, compact_if_needed
from dsh_session.compaction.summary import SummariseAsync
from dsh_session.core.bus import is_coroutine_function
from dsh_session.core.context import Context
from dsh_session.core.errors import CompactionError
from dsh_session.core.session import Session

TRIGGER = "auto"
"""What stands in the log as the trigger of these compactions."""


class AutoCompact:
    """A plugin that keeps sessions within their context window (the seeds' ``compact-basic``).

    Give it to `Context.plugin`. It listens to ``session/pre-step``, which fires when a ``step/start`` is
    about to be appended to a live session, by whatever code: between the steps of an open turn, while
    no append is under way. So the request of that step is derived from the compacted surface.

    A compaction that fails is logged, as any listener that fails, and the step goes on with the full
    history. A session that the policy cannot make small enough is logged once.

    Args:
        policy: Says which range to replace, or none.
        summarise: Takes the transcript, gives text, content blocks or a `Summary`. An append cannot wait
            for a coroutine; a loop that awaits its summaries calls `before_step_async` itself instead.
        meter: What measures; one of its own by default.
        retries: As for `compact_if_needed`.

    Attributes:
        meter: What measures.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> from dsh_session.compaction import Basic, extractive
        >>> with Context(clock=lambda: 0) as ctx:
        ...     plugged = ctx.plugin(AutoCompact(Basic(context_window=1000), extractive))
        ...     session = ctx.sessions.create("s")
        ...     record = Recorder(session)
        ...     for number in range(20):
        ...         with record.turn(f"Question {number}? " + "It matters to me. " * 20) as turn, turn.step() as step:
        ...             message = step.assistant("Yes.")
        >>> session.surface.replace_generation, len(session.surface)
        (4, 5)
    """

    def __init__(
        self, policy: Policy, summarise: SummariseAsync, *, meter: TokenMeter | None = None, retries: int = 1
    ) -> None:
        """Take the policy and the summariser."""
        self.meter = meter or TokenMeter()
        self._policy = policy
        self._summarise = summarise
        self._retries = retries
        self._too_large: WeakSet[Session] = WeakSet()

    def __call__(self, ctx: Context) -> None:
        """Set the plugin up in a context; `Context.plugin` calls this.

        Raises:
            CompactionError: ``COMPACTION_ASYNC`` for a summariser that is a coroutine function.
        """
        if is_coroutine_function(self._summarise):
            raise CompactionError(
                "COMPACTION_ASYNC",
                "the summariser is a coroutine function, and an append waits for none; "
                "let the agent's loop await before_step_async(session) instead of plugging this in",
            )
        ctx.on("session/pre-step", self._listen)

    def _listen(self, session: Session) -> None:
        outcome = self.before_step(session)
        if outcome.is_satisfied:
            self._too_large.discard(session)
        elif session not in self._too_large:
            # Said once, not before every step of a session that cannot be made smaller.
            self._too_large.add(session)
            _warn(session, outcome)

    def before_step(self, session: Session) -> CompactionOutcome:
        """Compact a session if its next request would be too large; the plugin does this by itself.

        Raises:
            Exception: As `compact_if_needed`.
        """
        summarise: Any = self._summarise
        return compact_if_needed(
            session, self._policy, summarise, meter=self.meter, retries=self._retries, trigger=TRIGGER
        )

    async def before_step_async(self, session: Session) -> CompactionOutcome:
        """Compact a session if its next request would be too large, awaiting the summariser."""
        return await acompact_if_needed(
            session, self._policy, self._summarise, meter=self.meter, retries=self._retries, trigger=TRIGGER
        )


def _warn(session: Session, outcome: CompactionOutcome) -> None:
    import logging

    logger = logging.getLogger("dsh_session")
    logger.warning(
        "session %r: the next request takes %d tokens, which is too much: %s",
        session.id,
        outcome.tokens_after,
        outcome.reason,
    )
