"""Compacting as often as a policy asks, and what it costs to do nothing."""

import asyncio
from typing import Any

import pytest

from dsh_session import Session
from dsh_session.compaction import (
    Basic,
    Compact,
    Leave,
    MeasuredSurface,
    Never,
    PruneToolResults,
    Shorten,
    SlidingWindow,
    Summary,
    TokenMeter,
    acompact_if_needed,
    compact_if_needed,
    extractive,
)
from dsh_session.compaction.meter import Account
from dsh_session.compaction.pairing import Pairing
from dsh_session.core.errors import CompactionError

from .sessions import Weights, brackets, close_turn, errors, say, talked


def refuse(_transcript: str) -> str:
    raise AssertionError("the summariser was asked")


class Planned:
    """Gives one decision after the other, and leaves when there are no more."""

    def __init__(self, *decisions: Any) -> None:
        self.decisions = list(decisions)
        self.asked: list[MeasuredSurface] = []

    def plan(self, surface: MeasuredSurface) -> Any:
        self.asked.append(surface)
        return self.decisions.pop(0) if self.decisions else Leave("done", is_satisfied=True)


def test_nothing_is_done_where_nothing_is_needed() -> None:
    log = talked(2)
    seq = log.seq
    outcome = compact_if_needed(log, Basic(context_window=10**6), refuse)
    assert not outcome
    assert (outcome.results, outcome.is_satisfied, log.seq) == ((), True, seq)
    assert outcome.tokens_before == outcome.tokens_after == TokenMeter().measure(log).total
    assert outcome.reason == f"{outcome.tokens_before} of 800000 tokens"


def test_nothing_is_needed_without_a_turn_where_nothing_is_done() -> None:
    log = talked(2)
    close_turn(log)
    assert not compact_if_needed(log, Never(), refuse)
    with pytest.raises(CompactionError) as caught:
        compact_if_needed(log, Basic(context_window=100), extractive)
    assert caught.value.code == "COMPACTION_NO_TURN"


def test_a_policy_is_asked_again_until_it_is_satisfied() -> None:
    log = talked(4)
    meter = Weights()
    outcome = compact_if_needed(log, Basic(context_window=100, retain_tokens=20), lambda _: "said", meter=meter)
    assert outcome
    assert (len(outcome.results), outcome.is_satisfied) == (1, True)
    assert (outcome.tokens_before, outcome.tokens_after, outcome.reason) == (160, 21 + 10, "31 of 80 tokens")
    assert brackets(log) == ["start", "summary", "user/message", "end"]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_what_cannot_be_made_small_enough_is_said_after_the_retries(retries: int) -> None:
    log = talked(12)
    # Each summary weighs as much as all that may be kept; every round leaves too much.
    policy = Basic(context_window=30, retain_tokens=10)
    outcome = compact_if_needed(log, policy, lambda _: "said", meter=Weights(replacement=24), retries=retries)
    assert not outcome.is_satisfied
    assert 1 <= len(outcome.results) <= retries + 1
    assert outcome.tokens_after == TokenMeter.measure(Weights(replacement=24), log).total
    assert outcome.tokens_after >= 24
    assert outcome.reason == (
        "34 tokens are left after 1 rounds, which is still too much"
        if retries == 0
        else "a further round gained nothing: 24 tokens would take the place of 24; say less, or compact more"
    )
    # The next attempt is free to try.
    assert brackets(log)[-1] == "end"


def test_a_policy_that_would_go_on_for_ever_is_stopped() -> None:
    log = talked(4)

    class Greedy:
        def plan(self, surface: MeasuredSurface) -> Compact:
            return Compact(surface.nodes[-1], surface.nodes[-1])

    outcome = compact_if_needed(log, Greedy(), lambda _: "said", meter=Weights(), retries=0)
    assert (len(outcome.results), outcome.is_satisfied) == (1, False)
    assert outcome.reason == "151 tokens are left after 1 rounds, which is still too much"
    with pytest.raises(CompactionError) as caught:
        compact_if_needed(log, Greedy(), lambda _: "said", meter=Weights(), retries=9)
    assert caught.value.code == "COMPACTION_NOT_SMALLER"  # the first round of a call


def test_a_marker_asks_no_summariser() -> None:
    log = talked(4)
    outcome = compact_if_needed(log, SlidingWindow(context_window=100), refuse, meter=Weights())
    (result,) = outcome.results
    assert log.events[result.replacement_seq].data["content"] == result.summary
    assert log.events[result.summary_seq].data["model"] == "sliding-window"


def test_shortened_results_do_not_count_as_retries() -> None:
    log = talked(4, results="x" * 400)
    meter = TokenMeter()
    policy = PruneToolResults(context_window=meter.measure(log).total, retain_tokens=0, threshold_ratio=0.65)
    outcome = compact_if_needed(log, policy, refuse, meter=meter, retries=0)
    assert [log.events[result.replacement_seq].type for result in outcome.results] == ["tool/result"] * 4
    assert outcome.is_satisfied
    results = [event for event in log.events if event.type == "tool/result" and event.surface_op != "append"]
    assert {event.data["callId"] for event in results} <= {"c1", "c2", "c3", "c4"}


@pytest.mark.parametrize("decision", [None, (1, 8), "Compact", {"start": 1}, object])
def test_what_is_no_decision_is_refused(decision: Any) -> None:
    log = talked(1)
    with pytest.raises(CompactionError, match="Planned gave") as caught:
        compact_if_needed(log, Planned(decision), refuse)
    assert caught.value.code == "COMPACTION_POLICY"
    assert brackets(log) == []


def test_a_decision_that_cannot_be_carried_out_is_refused_like_any_other_range() -> None:
    for decision, code in (
        (Compact(1, 3), "REGION_UNBALANCED"),
        (Shorten(3, "x"), "REGION_UNBALANCED"),
        (Compact(9, 1), "REGION_NOT_FOUND"),
    ):
        log = talked(1)
        with pytest.raises(CompactionError) as caught:
            compact_if_needed(log, Planned(decision), extractive)
        assert caught.value.code == code


def test_what_the_summariser_raises_is_raised_and_what_was_done_before_stays() -> None:
    log = talked(4)
    nodes = list(log.surface.nodes)
    policy = Planned(Compact(nodes[0], nodes[3], "[gone]"), Compact(nodes[4], nodes[7]))
    with pytest.raises(ZeroDivisionError):
        compact_if_needed(log, policy, lambda _: 1 / 0, meter=Weights())
    assert brackets(log) == ["start", "summary", "user/message", "end", "start", "end"]
    assert errors(log) == ["division by zero"]
    assert len(policy.asked) == 2


def test_the_policy_sees_the_surface_as_it_is_after_each_round() -> None:
    log = talked(4)
    nodes = list(log.surface.nodes)
    policy = Planned(Compact(nodes[0], nodes[3], "[gone]"))
    compact_if_needed(log, policy, refuse, meter=Weights())
    first, second = policy.asked
    assert list(first.nodes) == nodes
    assert list(second.nodes) == list(log.surface.nodes)
    assert (first.total, second.total, second.revision) == (160, 121, log.seq)


def test_a_trigger_is_noted_with_every_kind_of_decision() -> None:
    log = talked(4, results="x" * 400)
    nodes = list(log.surface.nodes)
    policy = Planned(Compact(nodes[0], nodes[0]), Compact(nodes[1], nodes[2], "[gone]"), Shorten(nodes[6], "[pruned]"))
    compact_if_needed(log, policy, lambda _: "said", meter=Weights(), trigger="test")
    starts = [event.data for event in log.events if event.type == "compact/start"]
    assert starts == [{"turn": 5, "trigger": "test"}] * 3


def test_a_coroutine_function_summarises_in_the_same_way() -> None:
    async def summarise(_transcript: str) -> Summary:
        await asyncio.sleep(0)
        return Summary("said", "p", "m")

    one, two = talked(4), talked(4)
    policy = Basic(context_window=100, retain_tokens=20)
    outcome = asyncio.run(acompact_if_needed(one, policy, summarise, meter=Weights()))
    plain = compact_if_needed(two, policy, lambda _: Summary("said", "p", "m"), meter=Weights())
    assert outcome == plain
    assert one.to_jsonl() == two.to_jsonl()
    assert asyncio.run(acompact_if_needed(one, policy, summarise, meter=Weights())).is_satisfied


# What it costs.


def test_deciding_to_do_nothing_looks_at_new_events_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    for follower in (Account, Pairing):
        take = follower.take

        def watched(self: Any, event: Any, plan: Any, *, take: Any = take) -> None:
            seen.append(event.seq)
            take(self, event, plan)

        monkeypatch.setattr(follower, "take", watched)
    log = talked(50)
    policy, meter = Basic(context_window=10**6), TokenMeter()
    compact_if_needed(log, policy, refuse, meter=meter)
    assert seen == list(range(log.seq))
    for _ in range(3):
        seen.clear()
        compact_if_needed(log, policy, refuse, meter=meter)
        assert seen == []
        say(log, "more")
        compact_if_needed(log, policy, refuse, meter=meter)
        assert seen == [log.seq - 1]


@pytest.mark.parametrize("policy", [Basic(10**9), PruneToolResults(10**9), Never()])
def test_deciding_to_do_nothing_takes_as_many_instructions_in_a_long_log_as_in_a_short_one(policy: Any) -> None:
    def cost(turns: int) -> int:
        log, meter = talked(turns), TokenMeter()
        compact_if_needed(log, policy, refuse, meter=meter)
        say(log, "more")
        return instructions(lambda: compact_if_needed(log, policy, refuse, meter=meter))

    cost(3)
    assert cost(300) <= cost(3) * 1.1


def instructions(act: Any) -> int:
    """Count the lines of Python that an action runs; what is written in C and grows would show in its callers."""
    import sys

    count = 0

    def trace(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def test_with_the_default_meter_the_second_call_remembers_the_first() -> None:
    log = talked(100)
    policy = Basic(context_window=10**9)
    first = instructions(lambda: compact_if_needed(log, policy, refuse))
    second = instructions(lambda: compact_if_needed(log, policy, refuse))
    assert second * 20 < first


def test_an_empty_session_is_satisfied() -> None:
    outcome = compact_if_needed(Session("s"), Basic(context_window=10), refuse)
    assert (outcome.is_satisfied, outcome.tokens_before) == (True, 0)
