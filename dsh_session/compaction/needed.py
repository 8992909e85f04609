"""Compacting as much as a policy asks for, and nothing where it asks for nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dsh_session.compaction.bracket import CompactionResult, ResultBracket, begin_compaction
from dsh_session.compaction.decision import Compact, Leave, Policy, Shorten
from dsh_session.compaction.meter import DEFAULT_METER, TokenMeter
from dsh_session.compaction.region import acompact_region, compact_region
from dsh_session.compaction.summary import Summarise, SummariseAsync, Summary
from dsh_session.core.content import Content
from dsh_session.core.errors import CompactionError
from dsh_session.core.session import Session


class CompactionOutcome(NamedTuple):
    """What came of asking a policy; true where something was compacted.

    Attributes:
        results: The compactions that were made, in order.
        reason: Why there are no more of them.
        is_satisfied: Whether the history is small enough now. Where it is not, the policy found
            nothing more to replace, or `retries` were used up.
        tokens_before: What the next request would have taken.
        tokens_after: What it would take now.
    """

    results: tuple[CompactionResult, ...]
    reason: str
    is_satisfied: bool
    tokens_before: int
    tokens_after: int

    def __bool__(self) -> bool:
        """Tell whether anything was compacted."""
        return bool(self.results)


def compact_if_needed(
    session: Session,
    policy: Policy,
    summarise: Summarise,
    *,
    meter: TokenMeter | None = None,
    retries: int = 1,
    trigger: str | None = None,
) -> CompactionOutcome:
    """Ask a policy, and compact until it is satisfied.

    Deciding to do nothing costs O(events that are new since the last call).

    Args:
        session: A session; where something is to be replaced, with an open turn.
        policy: Says which range to replace, or none.
        summarise: Takes the transcript, gives text, content blocks or a `Summary`. A policy that brings
            its own marker never calls it.
        meter: What measures; it remembers what it has seen, so give the same one each time.
        retries: How many ranges more to replace when the first was not enough. Shortened tool results
            do not count: there are only so many.
        trigger: What asked for it; see `begin_compaction`.

    Returns:
        What was done and whether it was enough.

    Raises:
        CompactionError: As `compact_region`; ``COMPACTION_POLICY`` for a decision that is none. A further
            round that makes nothing smaller is no error: the outcome says so.
        Exception: What `summarise` raised.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> from dsh_session.compaction import Basic, extractive
        >>> session = Session("s", clock=lambda: 0)
        >>> record = Recorder(session)
        >>> for number in range(9):
        ...     with record.turn(f"Question {number}? " + "It matters to me. " * 20):
        ...         pass
        >>> with record.turn("And?"):
        ...     outcome = compact_if_needed(session, Basic(context_window=1000), extractive)
        >>> outcome.tokens_before, outcome.tokens_after, len(session.surface), outcome.reason
        (918, 493, 4, '493 of 800 tokens')
    """
    run = _Run(session, policy, meter or DEFAULT_METER, retries, trigger)
    for region in run.regions():
        with run.trying():
            run.done(compact_region(session, region.start, region.end, summarise, meter=run.meter, trigger=trigger))
    return run.outcome()


async def acompact_if_needed(
    session: Session,
    policy: Policy,
    summarise: SummariseAsync,
    *,
    meter: TokenMeter | None = None,
    retries: int = 1,
    trigger: str | None = None,
) -> CompactionOutcome:
    """Ask a policy, and compact until it is satisfied, awaiting the summariser.

    Args and results are those of `compact_if_needed`; `summarise` may be a coroutine function.
    """
    run = _Run(session, policy, meter or DEFAULT_METER, retries, trigger)
    for region in run.regions():
        with run.trying():
            start, end = region.start, region.end
            run.done(await acompact_region(session, start, end, summarise, meter=run.meter, trigger=trigger))
    return run.outcome()


class _Run:
    """One call: what was decided, what was done."""

    def __init__(self, session: Session, policy: Policy, meter: TokenMeter, retries: int, trigger: str | None) -> None:
        self.meter = meter
        self._session = session
        self._policy = policy
        self._retries = retries
        self._trigger = trigger
        self._results: list[CompactionResult] = []
        self._before = 0
        self._left = Leave("")
        self._stuck: str | None = None

    def done(self, result: CompactionResult) -> None:
        """Note a compaction that was made."""
        self._results.append(result)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Let a further round fail to make anything smaller: then there is no more to be had."""
        try:
            yield
        except CompactionError as error:
            if error.code != "COMPACTION_NOT_SMALLER" or not self._results:
                raise
            self._stuck = error.message

    def regions(self) -> Iterator[Compact]:
        """Give the ranges to summarise one by one; what needs no summariser is done here."""
        rounds = 0
        measured = self.meter.measure(self._session)
        self._before = measured.total
        while True:
            decision: Any = self._policy.plan(measured)
            if isinstance(decision, Leave):
                self._left = decision
                return
            if isinstance(decision, Shorten):
                self._shorten(decision)
            elif isinstance(decision, Compact):
                if rounds > self._retries:
                    self._left = Leave(
                        f"{measured.total} tokens are left after {rounds} rounds, which is still too much"
                    )
                    return
                rounds += 1
                if decision.marker is None:
                    yield decision
                else:
                    self._mark(decision, decision.marker)
            else:
                raise CompactionError(
                    "COMPACTION_POLICY",
                    f"a policy gives Compact, Shorten or Leave; {type(self._policy).__name__} gave "
                    f"{type(decision).__name__}",
                )
            if self._stuck is not None:
                self._left = Leave(f"a further round gained nothing: {self._stuck}")
                return
            measured = self.meter.measure(self._session)

    def _mark(self, decision: Compact, marker: Content) -> None:
        session, meter = self._session, self.meter
        with begin_compaction(session, decision.start, decision.end, meter=meter, trigger=self._trigger) as bracket:
            self.done(bracket.commit(Summary(marker, model=decision.author), is_framed=False))

    def _shorten(self, decision: Shorten) -> None:
        with ResultBracket(self._session, decision.seq, meter=self.meter, trigger=self._trigger) as bracket:
            self.done(bracket.shorten(decision.content, author=decision.author))

    def outcome(self) -> CompactionOutcome:
        after = self.meter.measure(self._session).total
        return CompactionOutcome(tuple(self._results), self._left.reason, self._left.is_satisfied, self._before, after)
