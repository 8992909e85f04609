"""What each policy decides, and that values that could never work are refused."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from dsh_session import Session
from dsh_session.compaction import (
    Basic,
    Compact,
    Hierarchical,
    KeepHeadAndTail,
    Leave,
    Never,
    PruneToolResults,
    SlidingWindow,
    TokenMeter,
    begin_compaction,
)
from dsh_session.core.errors import CompactionError
from dsh_session.core.record import Recorder

from .sessions import Weights, open_turn, say, session, talked, text

WINDOWED = (Basic, SlidingWindow, KeepHeadAndTail, Hierarchical, PruneToolResults)
SUMMARISING = (Basic, KeepHeadAndTail, Hierarchical)


def surface(log: Session, tokens: int = 10, **more: Any) -> Any:
    return Weights(otherwise=tokens, **more).measure(log)


def compact(log: Session, start: int, stop: int, tokens: int = 1) -> int:
    nodes = list(log.surface.nodes)
    with begin_compaction(log, nodes[start], nodes[stop], meter=Weights(replacement=tokens)) as bracket:
        return bracket.commit("in short").replacement_seq


# All of those with a window.


@pytest.mark.parametrize("policy", WINDOWED)
def test_below_the_threshold_everything_stays(policy: Any) -> None:
    measured = surface(talked(2))
    assert measured.total == 80
    assert policy(context_window=102).plan(measured) == Leave("80 of 81 tokens", is_satisfied=True)


@pytest.mark.parametrize("policy", WINDOWED)
def test_at_the_threshold_something_is_done(policy: Any) -> None:
    # Eight tenths of 101, in whole tokens, are 80.
    decision = policy(context_window=101).plan(surface(talked(2)))
    if policy is PruneToolResults:
        assert decision == Leave("no tool result before the newest part can be shortened")
    else:
        assert isinstance(decision, Compact)


@pytest.mark.parametrize("policy", WINDOWED)
@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"context_window": 0}, "context_window"),
        ({"context_window": -1}, "context_window"),
        ({"context_window": 1e5}, "context_window"),
        ({"context_window": True}, "context_window"),
        ({"threshold_ratio": 0}, "threshold_ratio"),
        ({"threshold_ratio": 1.01}, "threshold_ratio"),
        ({"threshold_ratio": "0.8"}, "threshold_ratio"),
        ({"threshold_ratio": float("nan")}, "threshold_ratio"),
        ({"retain_tokens": -1}, "retain_tokens"),
        ({"retain_tokens": 80}, "retain_tokens"),
        ({"retain_tokens": 0.16}, "retain_tokens"),
        ({"threshold_ratio": 0.1}, "retain_tokens"),
    ],
)
def test_values_that_could_never_work_are_refused_by_name(policy: Any, values: dict[str, Any], named: str) -> None:
    with pytest.raises(CompactionError, match=f"{named} of {policy.__name__} must be") as caught:
        policy(**{"context_window": 100, **values})
    assert caught.value.code == "COMPACTION_POLICY"


@pytest.mark.parametrize("policy", WINDOWED)
def test_a_policy_is_a_frozen_value(policy: Any) -> None:
    one = policy(context_window=100)
    assert one == policy(100, 0.8, None)
    assert hash(one) == hash(policy(100))
    assert replace(one, context_window=200).context_window == 200
    with pytest.raises(FrozenInstanceError):
        one.context_window = 200


@pytest.mark.parametrize("policy", [*SUMMARISING, SlidingWindow])
def test_the_smallest_windows_work(policy: Any) -> None:
    for window in range(1, 12):
        decision = policy(context_window=window).plan(surface(talked(2)))
        assert isinstance(decision, (Compact, Leave))


@pytest.mark.parametrize("policy", [*SUMMARISING, SlidingWindow])
def test_what_is_worth_keeping_and_what_waits_for_a_result_stay(policy: Any) -> None:
    log = session()
    with Recorder(log).turn("x") as turn, turn.step() as step:
        step.assistant("y", calls=[("c1", "ls", {}), ("c2", "ls", {})])
        step.result("c1", "z")
        decision = policy(context_window=10, retain_tokens=0).plan(surface(log))
        # The prompt alone stands before the open calls; a head keeps even that.
        assert decision == (Compact(1, 1, *decision[2:]) if policy is not KeepHeadAndTail else decision)
        assert isinstance(decision, Leave) == (policy is KeepHeadAndTail)
        step.result("c2", "z")


@pytest.mark.parametrize("policy", WINDOWED)
def test_an_empty_session_is_left_alone(policy: Any) -> None:
    measured = TokenMeter().measure(Session("s"))
    for made in (policy(context_window=10), Never()):
        decision = made.plan(measured)
        assert isinstance(decision, Leave)
        assert decision.is_satisfied


# One by one.


def test_basic_keeps_the_newest_part_and_takes_everything_before_it() -> None:
    log = talked(3)
    nodes = list(log.surface.nodes)
    assert Basic(context_window=100, retain_tokens=35).plan(surface(log)) == Compact(nodes[0], nodes[7])
    first = compact(log, 0, 7)
    say(log, "more")
    assert Basic(context_window=20, retain_tokens=11).plan(surface(log)) == Compact(first, nodes[10])


def test_the_default_tail_is_sixteen_hundredths_of_the_window() -> None:
    assert (Basic(context_window=1000).retained, Basic(context_window=1000).threshold) == (160, 800)
    assert Basic(context_window=1000, threshold_ratio=0.5, retain_tokens=7).retained == 7


def test_a_sliding_window_brings_its_own_line() -> None:
    log = talked(3)
    nodes = list(log.surface.nodes)
    decision: Any = SlidingWindow(context_window=100, retain_tokens=35).plan(surface(log))
    assert (decision.start, decision.end, decision.author) == (nodes[0], nodes[7], "sliding-window")
    assert decision.marker == "[8 earlier messages were left out to make room]"
    with begin_compaction(log, decision.start, decision.end, meter=Weights()) as bracket:
        bracket.commit(decision.marker, is_framed=False)
    again: Any = SlidingWindow(context_window=20, retain_tokens=0).plan(surface(log))
    assert again.marker == "[11 earlier messages were left out to make room]"
    one: Any = SlidingWindow(context_window=20, retain_tokens=11).plan(surface(talked(1)))
    assert one.marker == "[1 earlier message was left out to make room]"


def test_the_first_prompt_of_a_person_keeps_its_own_words() -> None:
    log = session()
    open_turn(log)
    say(log, "told by a plugin", "context/message", source={"kind": "plugin", "plugin": "x"})
    say(log, "asked by a plugin", source={"kind": "plugin", "plugin": "x"})
    prompt = say(log, "asked by a person").seq
    later = [say(log, f"message {number}").seq for number in range(6)]
    policy = KeepHeadAndTail(context_window=50, retain_tokens=11)
    assert policy.plan(surface(log)) == Compact(later[0], later[3])
    nodes = list(log.surface.nodes)
    summary = compact(log, nodes.index(later[0]), nodes.index(later[3]))
    more = say(log, "more").seq
    # The head, the summary and the newest node stay, and with them all there is between.
    assert policy.plan(surface(log)) == Compact(summary, later[4])
    assert list(log.surface.nodes)[2:4] == [prompt, summary]
    assert policy.plan(surface(log)._replace(nodes=[prompt, more], total=50)) == Leave(
        "all that could be cut off is worth keeping, or belongs to an open step"
    )


def test_a_summary_is_no_prompt() -> None:
    log = talked(3)
    summary = compact(log, 0, 3)
    nodes = list(log.surface.nodes)
    assert nodes[0] == summary
    decision: Any = KeepHeadAndTail(context_window=50, retain_tokens=11).plan(surface(log))
    assert decision.start == nodes[2]


def test_a_surface_without_a_prompt_has_no_head() -> None:
    log = session(check_payloads=False)
    open_turn(log)
    for source in ({"kind": "plugin", "plugin": "x"}, None, "user", [], {}):
        say(log, "x", source=source)
    decision: Any = KeepHeadAndTail(context_window=20, retain_tokens=11).plan(surface(log))
    assert decision.start == 1


def test_a_hierarchy_summarises_new_messages_then_summaries_then_summaries_of_those() -> None:
    log = session()
    open_turn(log)
    policy = Hierarchical(context_window=40, retain_tokens=11, fan_out=2)
    seen = []
    for number in range(40):
        say(log, f"message {number}")
        while isinstance(decision := policy.plan(Weights(replacement=9).measure(log)), Compact):
            nodes = list(log.surface.nodes)
            compact(log, nodes.index(decision.start), nodes.index(decision.end), tokens=9)
        measured = surface(log)
        seen.append([measured.level(seq) for seq in measured.nodes if measured.level(seq)])
    assert max(map(max, filter(None, seen))) >= 3
    assert all(levels == sorted(levels, reverse=True) for levels in seen)
    measured = surface(log)
    assert sum(map(measured.originals, measured.nodes)) == 40


def test_a_hierarchy_of_summaries_alone_gives_way_all_at_once() -> None:
    log = talked(3)
    first, second = compact(log, 0, 3), compact(log, 1, 4)
    policy = Hierarchical(context_window=50, retain_tokens=39)
    measured = surface(log, replacement=10)
    assert policy.plan(measured._replace(total=50)) == Compact(first, second)


def test_a_fan_of_one_is_refused() -> None:
    with pytest.raises(CompactionError, match="fan_out of Hierarchical must be at least 2"):
        Hierarchical(context_window=100, fan_out=1)


def results(*sizes: int | Any) -> Session:
    """A session with a result of so many characters for each size, or with the content itself."""
    log = session()
    with Recorder(log).turn("x") as turn:
        for number, size in enumerate(sizes):
            with turn.step() as step:
                step.assistant("y", calls=[(f"c{number}", "cat", {})])
                step.result(f"c{number}", "abcde" * (size // 5) if isinstance(size, int) else size)
    open_turn(log)
    return log


def pruned(log: Session, **values: Any) -> Any:
    policy = PruneToolResults(**{"context_window": 100, "retain_tokens": 0, **values})
    return policy.plan(TokenMeter().measure(log))


def test_the_largest_result_is_shortened_to_its_beginning_and_end() -> None:
    log = results(200, 4_000, 400)
    decision = pruned(log, max_chars=50)
    assert log.events[decision.seq].data["callId"] == "c1"
    assert decision.content == [text("abcde" * 8 + "\n[3950 characters pruned]\n" + "abcde" * 2)]
    assert decision.author == "prune-tool-results"


def test_a_short_result_keeps_an_eighth() -> None:
    decision = pruned(results(400))
    assert decision.content == [text("abcde" * 8 + "\n[350 characters pruned]\n" + "abcde" * 2)]


def test_nothing_but_the_marker_may_be_left() -> None:
    assert pruned(results(400), max_chars=0).content == [text("[400 characters pruned]")]


def test_what_would_not_get_smaller_stays() -> None:
    decision = pruned(results(20, 10), context_window=80)
    assert decision == Leave("no tool result before the newest part can be shortened")


def test_results_among_the_newest_nodes_stay_whole() -> None:
    log = results(200, 400)
    chosen = [pruned(log, context_window=220, retain_tokens=retain) for retain in (0, 1, 127)]
    assert [log.events[decision.seq].data["callId"] for decision in chosen] == ["c1", "c0", "c0"]
    assert isinstance(pruned(log, context_window=220, retain_tokens=128), Leave)


def test_what_is_no_text_stays_beside_the_shortened_text() -> None:
    image = {"type": "image", "url": "u" * 300}
    assert pruned(results([text("x" * 40), image, text("y" * 40)])).content == [
        text("xxxxxxxx\n[71 characters pruned]\nyy"),
        image,
    ]
    assert isinstance(pruned(results([image])), Leave)


def test_never_is_content_with_anything() -> None:
    assert Never().plan(surface(talked(9))) == Leave("never", is_satisfied=True)
