"""Where a surface may be cut: against a count made anew, for every log that can be had."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session
from dsh_session.compaction import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.compaction.pairing import Pairing, calls_opened
from dsh_session.core.errors import PairingError

from .sessions import call, say, session, talked, text


def naive(log: Session) -> dict[int, tuple[bool, bool]] | None:
    """The balance before and after each node, counted from the head; None where a result has no call."""
    found = {}
    before = 0
    for seq in log.surface.nodes:
        event = log.events[seq]
        after = before + (-1 if event.type == "tool/result" else 0)
        if event.type == "assistant/message":
            after += sum(block.get("type") == "tool-call" for block in event.data["content"])
        if after < 0:
            return None
        found[seq] = (before == 0, after == 0)
        before = after
    return found


def answered(log: Session, seq: int) -> tuple[bool, bool]:
    return tool_pairing_balanced_before(log, seq), tool_pairing_balanced_after(log, seq)


def assert_agrees(log: Session) -> None:
    expected = naive(log)
    for seq in log.surface.nodes:
        if expected is None:
            with pytest.raises(PairingError) as caught:
                answered(log, seq)
            assert caught.value.code == "PAIRING_ORPHAN_RESULT"
        else:
            assert answered(log, seq) == expected[seq]


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.integers(0, 0)),
        st.tuples(st.just("assistant"), st.integers(0, 3)),
        st.tuples(st.just("result"), st.integers(0, 0)),
        st.tuples(st.just("replace"), st.integers(0, 10**6)),
        st.tuples(st.just("ask"), st.integers(0, 0)),
    ),
    max_size=25,
)


@given(OPERATIONS)
def test_following_a_log_gives_what_counting_anew_gives(operations: list[tuple[str, int]]) -> None:
    log = session(check_payloads=False)
    for kind, number in operations:
        if kind == "user":
            say(log, "hello")
        elif kind == "assistant":
            log.append("assistant/message", {"content": [call("ls")] * number}, surface_op="append")
        elif kind == "result":
            log.append("tool/result", {"callId": "c", "content": []}, surface_op="append")
        elif kind == "ask":
            assert_agrees(log)
        elif len(log.surface):
            nodes = list(log.surface.nodes)
            start = number % len(nodes)
            stop = start + (number // len(nodes)) % (len(nodes) - start) + 1
            kinds: Any = ("user/message", "assistant/message", "tool/result")[number % 3]
            data: Any = {"content": [call("ls")] * (number % 2), "callId": "c"}
            shadowed = nodes[start:stop]
            log.append(kinds, data, surface_op=Replace(shadowed[0], shadowed[-1]), source_event_seqs=shadowed)
    assert_agrees(log)


def test_a_seq_that_is_not_on_the_surface_has_no_cut() -> None:
    log = talked(1)
    for seq in (0, 2, -1, 99, True, 1.0, None, "1"):
        for question in (tool_pairing_balanced_before, tool_pairing_balanced_after):
            with pytest.raises(PairingError) as caught:
                question(log, seq)
            assert caught.value.code == "PAIRING_SEQ_NOT_FOUND"


def test_a_result_without_a_call_is_named() -> None:
    log = session(check_payloads=False)
    say(log, "hello")
    log.append("tool/result", {"callId": "c", "content": []}, surface_op="append")
    with pytest.raises(PairingError, match="tool/result at seq 1 answers no call"):
        tool_pairing_balanced_before(log, 0)


def test_a_surface_that_lost_its_orphan_can_be_cut_again() -> None:
    log = session(check_payloads=False)
    log.append("tool/result", {"callId": "c", "content": []}, surface_op="append")
    with pytest.raises(PairingError):
        tool_pairing_balanced_after(log, 0)
    log.append("user/message", {"content": [text("gone")]}, surface_op=Replace(0, 0), source_event_seqs=[0])
    assert answered(log, 1) == (True, True)


def test_blocks_of_any_shape_are_counted_without_a_crash() -> None:
    log = session(check_payloads=False)
    odd = [{}, {"type": None}, {"type": ["tool-call"]}, {"type": "tool-call"}]
    event = log.append("assistant/message", {"content": odd}, surface_op="append")
    assert calls_opened(event) == 1


def test_a_question_looks_at_new_events_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    take = Pairing.take

    def watched(self: Pairing, event: Any, plan: Any) -> None:
        seen.append(event.seq)
        take(self, event, plan)

    monkeypatch.setattr(Pairing, "take", watched)
    log = talked(20)
    assert tool_pairing_balanced_before(log, 1)
    assert seen == list(range(log.seq))
    seen.clear()
    for seq in log.surface.nodes:
        answered(log, seq)
    assert seen == []
    say(log, "more")
    assert answered(log, log.seq - 1) == (True, True)
    assert seen == [log.seq - 1]


def test_a_balanced_replacement_counts_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    log = talked(20)
    assert tool_pairing_balanced_before(log, 1)
    settled: list[bool] = []
    monkeypatch.setattr(Pairing, "settle", lambda self: settled.append(self._shifted))
    say_instead(log, 0, 8)
    assert answered(log, log.seq - 1) == (True, True)
    assert not any(settled)


def say_instead(log: Session, start: int, stop: int) -> None:
    shadowed = list(log.surface.nodes)[start:stop]
    data: Any = {"content": [text("in short")], "source": {"kind": "user"}}
    log.append("user/message", data, surface_op=Replace(shadowed[0], shadowed[-1]), source_event_seqs=shadowed)


def test_a_question_that_was_interrupted_is_answered_rightly_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    log = talked(3)
    take = Pairing.take

    def interrupted(self: Pairing, event: Any, plan: Any) -> None:
        if event.seq == 12:
            raise KeyboardInterrupt
        take(self, event, plan)

    monkeypatch.setattr(Pairing, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tool_pairing_balanced_before(log, 1)
    monkeypatch.setattr(Pairing, "take", take)
    assert_agrees(log)


def test_a_question_that_was_interrupted_half_way_through_a_replacement_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = talked(3)
    say_instead(log, 0, 8)
    take = Pairing.take

    def interrupted(self: Pairing, event: Any, plan: Any) -> None:
        take(self, event, plan)
        if isinstance(event.surface_op, dict):
            raise KeyboardInterrupt

    monkeypatch.setattr(Pairing, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tool_pairing_balanced_before(log, log.surface.nodes[0])
    monkeypatch.setattr(Pairing, "take", take)
    assert_agrees(log)
