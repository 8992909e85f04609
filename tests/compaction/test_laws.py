"""What holds after any sequence of turns and compactions, whatever the policy."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Session, fold_surface, loads
from dsh_session.compaction import (
    Basic,
    Hierarchical,
    KeepHeadAndTail,
    Never,
    Policy,
    PruneToolResults,
    SlidingWindow,
    Summary,
    TokenMeter,
    compact_if_needed,
    compact_region,
    extractive,
    tool_pairing_balanced_after,
    tool_pairing_balanced_before,
)
from dsh_session.core.errors import CompactionError
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.invariants import check_invariants
from dsh_session.core.record import Recorder
from dsh_session.views import frames

from .sessions import close_turn, open_turn, session

windows = st.integers(40, 600)
POLICIES = st.one_of(
    st.builds(Basic, windows),
    st.builds(Basic, windows, st.sampled_from([0.5, 1]), st.integers(0, 15)),
    st.builds(SlidingWindow, windows),
    st.builds(KeepHeadAndTail, windows),
    st.builds(Hierarchical, windows, fan_out=st.integers(2, 4)),
    st.builds(PruneToolResults, windows, max_chars=st.integers(0, 40)),
    st.just(Never()),
)
SUMMARISERS = st.sampled_from(
    [extractive, lambda _: "in short", lambda transcript: Summary(transcript[:20] or "nothing"), lambda _: None]
)
STEPS = st.lists(st.integers(0, 3), max_size=3)  # how many tools each step calls
TURNS = st.lists(
    st.tuples(STEPS, st.integers(0, 400), POLICIES, SUMMARISERS, st.tuples(st.integers(0, 40), st.integers(0, 40))),
    max_size=5,
)


def take_a_turn(log: Session, steps: list[int], size: int, policy: Policy, summarise: Any, meter: TokenMeter) -> None:
    with Recorder(log).turn("x" * size) as turn:
        for at, calls in enumerate(steps):
            compact(log, policy, summarise, meter)
            with turn.step() as step:
                made = [(f"{turn.number}-{at}-{call}", "bash", {"command": "ls"}) for call in range(calls)]
                step.assistant("y" * (size // 3), calls=made)
                if calls > 1:
                    # In the middle of a step, between two results: what is open must stay.
                    step.result(made[0][0], "z" * size)
                    compact(log, policy, summarise, meter)
                    made = made[1:]
                for call, _, _ in made:
                    step.result(call, "z" * size)
        compact(log, policy, summarise, meter)


def compact(log: Session, policy: Policy, summarise: Any, meter: TokenMeter) -> None:
    before = list(log.surface.nodes)
    try:
        compact_if_needed(log, policy, summarise, meter=meter)
    except CompactionError as error:
        assert error.code in ("COMPACTION_NOT_SMALLER", "COMPACTION_EMPTY")
        assert set(before) >= set(log.surface.nodes) - replaced(log)
    assert_balanced(log)


def compact_anything(log: Session, first: int, last: int) -> None:
    """Compact a range that nobody chose with care; it is made, or refused for its edges or its size."""
    open_turn(log)
    nodes = list(log.surface.nodes)
    if nodes:
        try:
            compact_region(log, nodes[first % len(nodes)], nodes[last % len(nodes)], lambda _: "in short")
        except CompactionError as error:
            assert error.code in ("REGION_REVERSED", "REGION_UNBALANCED", "COMPACTION_NOT_SMALLER")
            assert list(log.surface.nodes) == nodes
    close_turn(log)
    assert_balanced(log)


def replaced(log: Session) -> set[int]:
    return {event.seq for event in log.events if isinstance(event.surface_op, dict)}


def assert_balanced(log: Session) -> None:
    """No result without its call before it, in the history as the model gets it."""
    waiting: dict[Any, int] = {}
    for message in log.messages:
        for block in message["content"]:
            if block["type"] == "tool-call":
                waiting[block["id"]] = waiting.get(block["id"], 0) + 1
            elif block["type"] == "tool-result":
                waiting[block["toolCallId"]] = waiting.get(block["toolCallId"], 0) - 1
                assert waiting[block["toolCallId"]] >= 0
    if log.surface.tail is not None and not any(waiting.values()):
        assert tool_pairing_balanced_before(log, log.surface.nodes[0])
        assert tool_pairing_balanced_after(log, log.surface.nodes[-1])


@settings(max_examples=150)
@given(TURNS)
def test_histories_stay_balanced_and_nothing_is_lost(turns: list[Any]) -> None:
    log, meter = session(), TokenMeter()
    for steps, size, policy, summarise, (first, last) in turns:
        take_a_turn(log, steps, size, policy, summarise, meter)
        compact_anything(log, first, last)

    # Whatever a replacement shadowed is in the log, and opening all of them gives what was said, in order.
    fold = fold_surface(log.events)
    shadowed = {seq for replacement in fold.replacements for seq in replacement.shadowed_seqs}
    appended = [event.seq for event in log.events if event.surface_op == "append"]
    assert set(appended) | replaced(log) == set(fold.nodes) | shadowed
    history = SurfaceHistory(log)
    assert [seq for node in log.surface.nodes for seq in history.originals(node)] == appended

    # Each replacement made its range smaller, and stands in a closed bracket of its own.
    measured = meter.measure(log)
    for replacement in fold.replacements:
        assert measured.tokens(replacement.seq) < sum(map(measured.tokens, replacement.shadowed_seqs))
    assert check_invariants(log.events, allow_result_rewrite=True) == []
    table = frames.compactions(log)
    assert sorted(table["replacement"].dropna()) == sorted(replaced(log))
    assert not table[["empty", "not_smaller", "unbalanced", "left_open"]].any(axis=None)

    # What is kept up to date is what a reader of the file would get.
    again = loads(log.to_jsonl())
    assert again.derive_messages() == log.derive_messages()
    fresh = TokenMeter().measure(again)
    assert (list(fresh.nodes), fresh.total) == (list(measured.nodes), measured.total)
