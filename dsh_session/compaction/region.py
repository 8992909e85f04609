"""Compacting a given range, with whatever summarises it."""

from typing import Any

from dsh_session.compaction.bracket import CompactionResult, begin_compaction
from dsh_session.compaction.meter import TokenMeter
from dsh_session.compaction.summary import Summarise, SummariseAsync, Summary, name_of_summariser
from dsh_session.core.bus import is_awaitable
from dsh_session.core.errors import CompactionError
from dsh_session.core.session import Session


def compact_region(
    session: Session,
    start: int,
    end: int,
    summarise: Summarise,
    *,
    meter: TokenMeter | None = None,
    trigger: str | None = None,
) -> CompactionResult:
    """Replace a range of the surface by its summary.

    Args:
        session: A session with an open turn.
        start: Seq of the first node of the range.
        end: Seq of the last one, in surface order.
        summarise: Takes the transcript, gives text, content blocks or a `Summary`.
        meter: What compares the summary with the range.
        trigger: What asked for it; see `begin_compaction`.

    Returns:
        What was made.

    Raises:
        CompactionError: As `begin_compaction` and `CompactionBracket.commit`; ``COMPACTION_ASYNC`` for
            a coroutine function. The surface is as before.
        Exception: What `summarise` raised; ``compact/end`` holds its text.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> record = Recorder(session)
        >>> with record.turn(["Rename foo to bar.", "And tell me everything that you do. " * 20]):
        ...     result = compact_region(session, 1, 2, lambda transcript: f"{len(transcript)} characters were said.")
        >>> result.summary, session.events[result.summary_seq].data["model"]
        ([{'type': 'text', 'text': '752 characters were said.'}], 'lambda')
    """
    with begin_compaction(session, start, end, meter=meter, trigger=trigger) as bracket:
        told = summarise(bracket.transcript)
        if is_awaitable(told):
            if hasattr(told, "close"):
                told.close()
            raise CompactionError(
                "COMPACTION_ASYNC", "the summariser is a coroutine function: await acompact_region(…)"
            )
        return bracket.commit(told, model=_model(told, summarise))


async def acompact_region(
    session: Session,
    start: int,
    end: int,
    summarise: SummariseAsync,
    *,
    meter: TokenMeter | None = None,
    trigger: str | None = None,
) -> CompactionResult:
    """Replace a range by its summary, awaiting the summariser; see `compact_region`.

    Args:
        session: A session with an open turn.
        start: Seq of the first node of the range.
        end: Seq of the last one, in surface order.
        summarise: A function or a coroutine function; of an object with a method `summarise_async`,
            such as `ChatSummariser`, that method is awaited.
        meter: What compares the summary with the range.
        trigger: What asked for it; see `begin_compaction`.

    Raises:
        CompactionError: As `compact_region`.
        CancelledError: When it was cancelled; ``compact/end`` says so.
    """
    with begin_compaction(session, start, end, meter=meter, trigger=trigger) as bracket:
        told = getattr(summarise, "summarise_async", summarise)(bracket.transcript)
        if is_awaitable(told):
            told = await told
        return bracket.commit(told, model=_model(told, summarise))


def _model(told: Any, summarise: Any) -> str | None:
    return None if isinstance(told, Summary) and told.model else name_of_summariser(summarise)
