"""Running a compaction beside the notebook: on its event loop, with a blocking summariser in a thread."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsh_session.compaction.meter import TokenMeter
from dsh_session.compaction.needed import CompactionOutcome, acompact_if_needed, compact_if_needed
from dsh_session.compaction.region import acompact_region, compact_region
from dsh_session.compaction.summary import name_of_summariser
from dsh_session.compaction.transcript import Transcript
from dsh_session.core.bus import is_awaitable, is_coroutine_function
from dsh_session.core.session import Session


class Beside:
    """A summariser that never holds up the event loop; the log names the one that it stands for.

    Attributes:
        name: Its name in the log.

    Example:
        >>> import asyncio
        >>> from dsh_session import Session
        >>> beside = Beside(lambda transcript: f"{len(transcript)} characters", lambda tokens: None)
        >>> beside.name, asyncio.run(beside.summarise_async(Transcript.of(Session("s"), [])))
        ('lambda', '0 characters')
    """

    def __init__(self, summarise: Any, began: Callable[[Transcript], Any]) -> None:
        """Take the summariser, and what to tell of each transcript that it gets."""
        self.name = name_of_summariser(summarise)
        self._summarise = summarise
        self._began = began

    def __call__(self, transcript: Transcript) -> Any:
        """Summarise here and now."""
        self._began(transcript)
        return self._summarise(transcript)

    async def summarise_async(self, transcript: Transcript) -> Any:
        """Summarise while the loop goes on."""
        self._began(transcript)
        own = getattr(self._summarise, "summarise_async", None)
        if own is not None:
            return await own(transcript)
        if is_coroutine_function(self._summarise):
            return await self._summarise(transcript)
        told = await asyncio.to_thread(self._summarise, transcript)
        return await told if is_awaitable(told) else told


@dataclass(frozen=True)
class Work:
    """A compaction to be made, with what it is made with.

    Attributes:
        session: The session.
        region: The first and the last seq of the range; None where the policy chooses.
        policy: The policy, where there is no range.
        meter: What measures.
        retries: As for `compact_if_needed`.
    """

    session: Session
    region: tuple[int, int] | None
    policy: Any
    meter: TokenMeter
    retries: int

    def at_once(self, summarise: Any) -> Any:
        """Compact here and now.

        Returns:
            A `CompactionResult`, or the `CompactionOutcome` of a policy.

        Raises:
            SessionError: Why it cannot be done.
            Exception: What the policy or the summariser raised.
        """
        if self.region is not None:
            return compact_region(self.session, *self.region, summarise, meter=self.meter)
        return compact_if_needed(self.session, self.policy, summarise, meter=self.meter, retries=self.retries)

    async def beside(self, summarise: Any, say: Callable[[str], Any]) -> Any:
        """Compact while the loop goes on.

        Args:
            summarise: A function, a coroutine function, or an object with a method `summarise_async`.
            say: Told how far it is: at each round, and each second.

        Returns:
            As `at_once`.

        Raises:
            SessionError: Why it cannot be done.
            Exception: What the policy or the summariser raised.
        """
        progress = _Progress(self.meter, say)
        beside = Beside(summarise, progress.began)
        ticking = asyncio.ensure_future(progress.tick())
        try:
            if self.region is not None:
                return await acompact_region(self.session, *self.region, beside, meter=self.meter)
            return await acompact_if_needed(self.session, self.policy, beside, meter=self.meter, retries=self.retries)
        finally:
            ticking.cancel()


class _Progress:
    """How far a compaction is, in words."""

    def __init__(self, meter: TokenMeter, say: Callable[[str], Any]) -> None:
        self._meter = meter
        self._say = say
        self._since = time.monotonic()
        self._rounds = 0
        self._stage = "Deciding"

    def began(self, transcript: Transcript) -> None:
        self._rounds += 1
        count = len(transcript.events)
        tokens = self._meter.count_text(transcript)
        round_ = f"Round {self._rounds}: s" if self._rounds > 1 else "S"
        self._stage = f"{round_}ummarising {count} {'node' if count == 1 else 'nodes'}, about {tokens:,} tokens"
        self._say(f"{self._stage}…")

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self._say(f"{self._stage}… {time.monotonic() - self._since:.0f} s")


def line_of(result: Any) -> str:
    """Say what a compaction made, in a line of plain text."""
    if isinstance(result, CompactionOutcome):
        count = len(result.results)
        made = f"{count} {'replacement' if count == 1 else 'replacements'}"
        return f"{made}: {result.tokens_before:,} tokens became {result.tokens_after:,}. {result.reason}"
    count = len(result.shadowed_seqs)
    return (
        f"Seq {result.replacement_seq} stands for {count} {'node' if count == 1 else 'nodes'}: "
        f"{result.shadowed_token_count:,} tokens became {result.replacement_token_count:,}."
    )
