"""The formula, the running total against one made anew, and recorded usage."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session
from dsh_session.compaction import TokenMeter, without_compactions
from dsh_session.compaction.meter import BLOCK_TOKENS, MESSAGE_TOKENS
from dsh_session.core.errors import CompactionError
from dsh_session.core.record import Recorder
from tests.strategies import json_values

from .sessions import call, say, session, talked, text

ROUTE = {"provider": "mock", "model": "m1"}


def counted(word: str) -> int:
    return len(word)


METER = TokenMeter(counted)
"""A token for each character: sums that can be followed by eye."""


def answer(log: Session, words: str, usage: Any = None, route: Any = None) -> int:
    data: Any = {"turn": 1, "step": 1, "content": [text(words)], "provenance": route or ROUTE}
    if usage is not None:
        data["usage"] = usage
    return log.append("assistant/message", data, surface_op="append").seq


def header(log: Session, *, model: str = "m1", **parts: Any) -> None:
    config = {"provider": "mock", "model": model}
    log.append("request/header", {"header": {"config": config, **parts}, "reason": "change"})


def replace(log: Session, start: int, end: int, words: str) -> int:
    nodes = list(log.surface.nodes)
    shadowed = nodes[nodes.index(start) : nodes.index(end) + 1]
    data: Any = {"content": [text(words)], "source": {"kind": "plugin", "plugin": "compact"}}
    return log.append("user/message", data, surface_op=Replace(start, end), source_event_seqs=shadowed).seq


# The formula.


@pytest.mark.parametrize(
    ("blocks", "tokens"),
    [
        ([], 0),
        ([text("12345")], 4 + 5),
        ([text("12345"), {"type": "reasoning", "text": "123"}], 4 + 5 + 4 + 3),
        ([call("bash", "{}")], 4 + 4 + 2),
        ([{"type": "tool-result", "toolCallId": "not counted", "content": [text("12"), text("1")]}], 4 + 4 + 2 + 4 + 1),
        ([{"type": "image", "url": "u"}], 4 + len('{"type":"image","url":"u"}')),
        ([{"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": [1]}], 3 * 4 + 3),
        (["loose", 7], 4 + len("loose") + 4 + 1),
        (None, 0),
        ("no list", 0),
    ],
)
def test_blocks_cost_their_texts_and_four_tokens_each(blocks: Any, tokens: int) -> None:
    assert METER.estimate_blocks(blocks) == tokens
    assert METER.estimate_message({"content": blocks}) == tokens + MESSAGE_TOKENS


def test_the_default_takes_four_characters_for_a_token() -> None:
    assert TokenMeter().estimate_message({"content": [text("x" * 9)]}) == MESSAGE_TOKENS + BLOCK_TOKENS + 3


def test_a_node_costs_what_the_model_reads_of_it() -> None:
    log = session()
    log.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    framed = say(log, "x", "context/message")
    raw = say(log, "x", "context/message", envelope="raw")
    place = {"turn": 1, "step": 1}
    empty: Any = {**place, "content": [], "provenance": ROUTE}
    nothing = log.append("assistant/message", empty, surface_op="append")
    measured = METER.measure(log)
    assert measured.tokens(framed.seq) == 4 + 4 + len('<context source="user">') + 4 + 1 + 4 + len("</context>")
    assert (measured.tokens(raw.seq), measured.tokens(nothing.seq)) == (4 + 4 + 1, 0)


def test_the_header_in_force_is_part_of_the_request() -> None:
    log = session()
    tool = {"name": "ls", "description": "", "parameters": {}}
    header(log, system="12345", tools=[tool], messagePrefix=[{"role": "user", "content": [text("123")]}])
    tools = 4 + len('{"name":"ls","description":"","parameters":{}}')
    assert METER.measure(log).header_tokens == METER.measure(log).total == (4 + 5) + tools + (4 + 4 + 3)
    header(log)
    assert METER.measure(log).total == 0


def test_a_recorded_header_of_any_shape_is_measured() -> None:
    for odd in (None, 7, [], {}, {"config": 3, "system": 1, "tools": "{{tools}}", "messagePrefix": [3, {}]}):
        log = session(check_payloads=False)
        log.append("request/header", {"header": odd} if odd != 7 else 7)
        assert METER.measure(log).total >= 0


@given(json_values())
def test_any_payload_is_measured_without_a_crash(value: Any) -> None:
    log = session(check_payloads=False)
    log.append("user/message", {"content": [{"type": "text", "text": value}, {"x": value}]}, surface_op="append")
    log.append("tool/result", {"content": [], "callId": value, "isError": value}, surface_op="append")
    data = {"content": [], "usage": {"inputTokens": value}, "provenance": value}
    log.append("assistant/message", {**data, "provenance": {**ROUTE, "x": value}}, surface_op="append")
    assert METER.measure(log).total >= 0
    assert isinstance(METER.error(log), list)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "3", None])
def test_a_counter_that_gives_no_count_is_refused(wrong: Any) -> None:
    with pytest.raises(CompactionError) as caught:
        TokenMeter(lambda _text: wrong).count_text("x")
    assert caught.value.code == "COMPACTION_BAD_COUNT"


# The running total.


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_the_running_total_is_the_sum_of_what_is_on_the_surface(numbers: list[int]) -> None:
    log = session()
    meter = TokenMeter(counted)
    for number in numbers:
        nodes = list(log.surface.nodes)
        if number % 3 or not nodes:
            say(log, "x" * (number % 50))
        else:
            start = number % len(nodes)
            replace(log, nodes[start], nodes[min(start + number % 5, len(nodes) - 1)], "y" * (number % 7))
        if number % 2:
            meter.measure(log)
    measured = meter.measure(log)
    assert list(measured.nodes) == list(log.surface.nodes)
    assert measured.total == sum(map(measured.tokens, measured.nodes))
    assert measured.total == sum(METER.estimate_message(message) for message in log.messages)
    assert measured.revision == log.seq


def test_a_measurement_stays_what_it_was_when_the_log_grows() -> None:
    log = talked(2)
    meter = TokenMeter()
    measured = meter.measure(log)
    before = (list(measured.nodes), measured.total, [measured.tokens(seq) for seq in measured.nodes])
    replace(log, 1, 5, "in short")
    say(log, "more")
    assert meter.measure(log).total != before[1]
    assert (list(measured.nodes), measured.total, [measured.tokens(seq) for seq in measured.nodes]) == before


def test_a_seq_that_was_never_measured_is_refused() -> None:
    with pytest.raises(CompactionError) as caught:
        METER.measure(talked(1)).tokens(0)
    assert caught.value.code == "COMPACTION_NOT_MEASURED"


def test_each_node_is_estimated_once() -> None:
    seen: list[int] = []

    class Watched(TokenMeter):
        def estimate_event(self, event: Any) -> int:
            seen.append(event.seq)
            return super().estimate_event(event)

    meter, log = Watched(), talked(3)
    meter.measure(log)
    replace(log, 1, 5, "in short")
    meter.measure(log)
    meter.measure(log)
    say(log, "more")
    meter.measure(log)
    assert sorted(seen) == sorted(set(seen)) == [event.seq for event in log.events if event.surface_op]


def test_a_counter_that_failed_half_way_leaves_no_half_total() -> None:
    broken = [True]

    def count(word: str) -> int:
        if broken and word.startswith("Answer 1"):
            raise RuntimeError("not now")
        return len(word)

    meter, log = TokenMeter(count), talked(2)
    with pytest.raises(RuntimeError):
        meter.measure(log)
    broken.clear()
    assert meter.measure(log).total == METER.measure(log).total


# Recorded usage.


def test_recorded_usage_is_preferred_and_changes_since_are_added() -> None:
    log = session()
    say(log, "12345")
    answer(log, "123", {"inputTokens": 70, "cacheReadTokens": 20, "cacheWriteTokens": 10, "outputTokens": 9})
    say(log, "1")
    measured = METER.measure(log)
    # A hundred tokens were sent, for the first node; the other two have come since.
    assert measured.total == 100 + (4 + 4 + 3) + (4 + 4 + 1)
    assert measured.recorded_at == 1
    assert TokenMeter(counted, prefer_recorded=False).measure(log).total == 13 + 11 + 9


def test_a_compaction_takes_away_what_it_shadows() -> None:
    log = session()
    for _ in range(3):
        say(log, "x" * 92)
    answer(log, "123", {"inputTokens": 1_300, "outputTokens": 1})
    before = METER.measure(log).total
    assert before == 1_300 + 11
    replace(log, 0, 1, "y" * 12)
    assert METER.measure(log).total == before - 2 * 100 + 20


def test_what_is_taken_away_is_scaled_where_the_estimates_were_too_high() -> None:
    log = session()
    for _ in range(4):
        say(log, "x" * 92)
    answer(log, "", {"inputTokens": 100, "outputTokens": 1})
    replace(log, 0, 2, "y" * 12)
    # A quarter of the estimate: 100 + 20 + 8 tokens are 32.
    assert METER.measure(log).total == (100 + 20 + 8) // 4


@given(st.integers(1, 10**6), st.integers(0, 60), st.integers(0, 60))
def test_the_total_is_never_negative_and_never_more_than_what_could_be(recorded: int, first: int, second: int) -> None:
    log = session()
    for length in (first, second, first):
        say(log, "x" * length)
    answer(log, "a", {"inputTokens": recorded, "outputTokens": 1})
    before = METER.measure(log).total
    replace(log, 0, 2, "")
    assert 0 <= METER.measure(log).total <= max(before, recorded)


def test_the_latest_usage_of_the_route_in_force_counts() -> None:
    log = session()
    say(log, "12345")
    answer(log, "123", {"inputTokens": 50, "outputTokens": 1})
    answer(log, "123", {"inputTokens": 500, "outputTokens": 1}, {"provider": "mock", "model": "m2"})
    assert METER.measure(log).recorded_at == 2
    header(log, model="m1")
    assert METER.measure(log).recorded_at == 1
    header(log, model="m3")
    assert METER.measure(log).recorded_at is None
    assert METER.measure(log).total == 13 + 11 + 11


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": 0, "outputTokens": 1},
        {"inputTokens": 12, "outputTokens": 1},
        {"inputTokens": -5},
        {"inputTokens": 1.5},
        {"inputTokens": True},
        {"inputTokens": "100"},
        {"inputTokens": 100, "cacheReadTokens": None},
        {"outputTokens": 100},
        [],
        7,
    ],
)
def test_usage_that_cannot_be_is_not_believed(usage: Any) -> None:
    log = session(check_payloads=False)
    say(log, "x" * 92)
    answer(log, "123", usage)
    assert METER.measure(log).recorded_at is None
    assert METER.measure(log).total == 100 + 11


def test_estimates_are_compared_with_usage_request_by_request() -> None:
    log = session()
    say(log, "12345")
    first = answer(log, "123", {"inputTokens": 26, "outputTokens": 1})
    say(log, "x" * 92)
    second = answer(log, "123", {"inputTokens": 1, "cacheReadTokens": 2, "outputTokens": 1})
    answer(log, "no usage")
    assert METER.error(log) == [
        (first, 13, 26, -13, 0.5, True),
        (second, 13 + 11 + 100, 3, 121, 41.333, False),
    ]


def test_nothing_recorded_but_zero_has_no_ratio() -> None:
    log = session()
    answer(log, "123", {"inputTokens": 0, "outputTokens": 1})
    (error,) = METER.error(log)
    assert (error.ratio, error.is_believed) == (None, False)


def test_a_recorder_writes_usage_that_the_meter_finds() -> None:
    log = session()
    with Recorder(log).turn("Hello.") as turn, turn.step() as step:
        step.usage({"inputTokens": 55, "outputTokens": 3})
        step.assistant("Hi.")
    assert TokenMeter().measure(log).recorded_at is not None


# Sessions come and go.


def test_a_meter_forgets_a_session_that_is_gone() -> None:
    import gc

    meter = TokenMeter()
    meter.measure(talked(1))
    gc.collect()
    assert len(meter._accounts._known) == 0


def test_a_measured_surface_of_another_session_of_the_same_id_is_another() -> None:
    meter = TokenMeter(counted)
    one, two = session("s"), session("s")
    say(one, "12345")
    assert (meter.measure(one).total, meter.measure(two).total) == (13, 0)


def test_a_log_without_its_compactions_measures_what_was_said() -> None:
    log = talked(2)
    whole = METER.measure(log).total
    replace(log, 1, 5, "in short")
    assert METER.measure(without_compactions(log)).total == whole
