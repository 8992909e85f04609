"""Compacting a range with a function, a coroutine function or an object."""

import asyncio
from typing import Any

import pytest

from dsh_session import Session
from dsh_session.compaction import Summary, acompact_region, compact_region
from dsh_session.core.errors import CompactionError

from .sessions import Weights, brackets, errors, talked, text


def compacted(log: Session, summarise: Any, **more: Any) -> Any:
    return compact_region(log, 1, 8, summarise, meter=Weights(), **more)


def awaited(log: Session, summarise: Any, **more: Any) -> Any:
    return asyncio.run(acompact_region(log, 1, 8, summarise, meter=Weights(), **more))


WAYS = pytest.mark.parametrize("compact", [compacted, awaited])


@WAYS
def test_the_summariser_sees_the_transcript_and_its_answer_takes_the_ranges_place(compact: Any) -> None:
    log = talked(2)
    seen: list[str] = []

    def summarise(transcript: str) -> list[Any]:
        seen.append(transcript)
        return [text("They talked.")]

    result = compact(log, summarise, trigger="by hand")
    assert seen[0].startswith("User: Question 1?")
    assert result.shadowed_seqs == (1, 3, 5, 8)
    record = log.events[result.summary_seq].data
    assert (record["provider"], record["model"]) == ("dsh_session", "summarise")
    assert log.events[result.start_seq].data["trigger"] == "by hand"


class Named:
    name = "my own"

    def __call__(self, _transcript: str) -> str:
        return "They talked."


class Unnamed:
    def __call__(self, _transcript: str) -> Summary:
        return Summary("They talked.", provider="elsewhere")


@WAYS
@pytest.mark.parametrize(
    ("summarise", "route"),
    [
        (Named(), ("dsh_session", "my own")),
        (Unnamed(), ("elsewhere", "Unnamed")),
        (lambda _: "They talked.", ("dsh_session", "lambda")),
        (lambda _: Summary("They talked.", model="m"), ("dsh_session", "m")),
    ],
)
def test_the_log_names_who_summarised(compact: Any, summarise: Any, route: Any) -> None:
    log = talked(2)
    seq = compact(log, summarise).summary_seq
    record = log.events[seq].data
    assert (record["provider"], record["model"]) == route


@WAYS
@pytest.mark.parametrize(
    ("summarise", "said"),
    [
        (lambda _: 1 / 0, "division by zero"),
        (lambda _: None, "gave None"),
        (lambda _: "  ", "says nothing"),
        (lambda _: 7, "must be text or content blocks"),
        (lambda _: {"type": "text", "text": "said", "x": {1}}, "$"),
    ],
)
def test_a_summariser_that_fails_leaves_the_surface_and_the_next_attempt_works(
    compact: Any, summarise: Any, said: str
) -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with pytest.raises(Exception):  # noqa: B017 (whatever it was; the log says what)
        compact(log, summarise)
    assert list(log.surface.nodes) == nodes
    assert brackets(log) == ["start", "end"]
    assert said in errors(log)[0]
    compact(log, lambda _: "They talked.")
    assert brackets(log)[2:] == ["start", "summary", "user/message", "end"]


def test_a_summary_longer_than_its_source_is_refused() -> None:
    log = talked(2)
    for summarise in (lambda transcript: transcript * 2, lambda transcript: transcript):
        with pytest.raises(CompactionError) as caught:
            compact_region(log, 1, 8, summarise)
        assert caught.value.code == "COMPACTION_NOT_SMALLER"
    assert brackets(log) == ["start", "end"] * 2


def test_a_coroutine_function_needs_an_await() -> None:
    async def summarise(_transcript: str) -> str:
        return "They talked."

    log = talked(2)
    with pytest.raises(CompactionError, match="await acompact_region") as caught:
        compacted(log, summarise)
    assert caught.value.code == "COMPACTION_ASYNC"
    assert brackets(log) == ["start", "end"]
    assert awaited(log, summarise).summary == [text("They talked.")]


def test_an_object_with_both_faces_is_awaited() -> None:
    class Both:
        def __call__(self, _transcript: str) -> str:
            raise AssertionError("it was called")

        async def summarise_async(self, _transcript: str) -> str:
            await asyncio.sleep(0)
            return "They talked."

    assert awaited(talked(2), Both()).summary == [text("They talked.")]


def test_a_summary_that_is_cancelled_closes_the_bracket() -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)

    async def never(_transcript: str) -> str:
        await asyncio.sleep(3600)
        return "never"

    async def cancelled() -> None:
        task = asyncio.create_task(acompact_region(log, 1, 8, never, meter=Weights()))
        await asyncio.sleep(0.01)
        assert brackets(log) == ["start"]
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert list(log.surface.nodes) == nodes
    assert brackets(log) == ["start", "end"]
    assert errors(log) == ["CancelledError"]
    compacted(log, lambda _: "They talked.")


def test_a_log_that_grows_while_a_coroutine_summarises_is_left_alone() -> None:
    log = talked(2)

    async def slowly(_transcript: str) -> str:
        await asyncio.sleep(0.01)
        return "They talked."

    async def both() -> None:
        task = asyncio.create_task(acompact_region(log, 1, 8, slowly, meter=Weights()))
        await asyncio.sleep(0)
        log.append("todo/write", {"todos": []})
        await task

    with pytest.raises(CompactionError) as caught:
        asyncio.run(both())
    assert caught.value.code == "COMPACTION_LOG_CHANGED"
    assert brackets(log) == ["start", "end"]
