"""The frame of compactions: what each row says of a bracket that ended well, badly, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session, fold_surface, load
from dsh_session.compaction import TokenMeter, begin_compaction
from dsh_session.compaction.bracket import ResultBracket
from dsh_session.core.errors import CompactionError
from dsh_session.views import frames
from tests.compaction.sessions import Weights, call, close_turn, open_turn, say, session, talked, text
from tests.strategies import json_values
from tests.views.hostile import hostile_session

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))


def rows(log: Session, meter: TokenMeter | None = None) -> list[dict[str, Any]]:
    table = frames.compactions(log, meter=meter)
    return [{str(key): None if pd.isna(value) else value for key, value in row.items()} for _, row in table.iterrows()]


def row(log: Session) -> dict[str, Any]:
    (only,) = rows(log)
    return only


def replace(log: Session, start: int, end: int, words: str = "in short", kind: Any = "user/message") -> int:
    nodes = list(log.surface.nodes)
    shadowed = nodes[nodes.index(start) : nodes.index(end) + 1]
    data: Any = {"content": [text(words)], "source": {"kind": "user"}, "callId": "c"}
    return log.append(kind, data, surface_op=Replace(start, end), source_event_seqs=shadowed).seq


def test_a_compaction_is_a_row_with_what_it_took_and_what_it_gave() -> None:
    ticks = iter(range(0, 10**6, 7))
    log = talked(3, into=Session("s", clock=lambda: next(ticks)))
    nodes = list(log.surface.nodes)
    meter = TokenMeter()
    tokens = meter.measure(log)
    with begin_compaction(log, nodes[1], nodes[3], trigger="auto", meter=meter) as bracket:
        result = bracket.commit("They talked.", provider="p", model="m")
    found = row(log)
    shadowed = sum(map(tokens.tokens, nodes[1:4]))
    after = tokens.total - shadowed + result.replacement_token_count
    assert found | {"time": None} == {
        "seq": result.start_seq,
        "time": None,
        "turn": 4,
        "trigger": "auto",
        "replacement": result.replacement_seq,
        "kind": "summary",
        "start": nodes[1],
        "end": nodes[3],
        "shadowed": 3,
        "shadowed_tokens": shadowed,
        "recorded_tokens": shadowed,
        "replacement_tokens": result.replacement_token_count,
        "nodes_before": 12,
        "nodes_after": 10,
        "tokens_before": tokens.total,
        "tokens_after": after,
        "ratio": after / tokens.total,
        "provider": "p",
        "model": "m",
        "duration": 21,
        "error": None,
        "first_shadowed": nodes[1],
        "first_kept": nodes[4],
        "empty": False,
        "not_smaller": False,
        "little_gain": False,
        "unbalanced": False,
        "left_open": False,
    }
    assert found["time"] == pd.Timestamp(log.events[result.start_seq].time, unit="ms", tz="UTC")


def test_a_failure_says_why_and_changes_nothing() -> None:
    log = talked(2)
    with pytest.raises(CompactionError), begin_compaction(log, 1, 8) as bracket:
        bracket.commit("x" * 9_000)
    found = row(log)
    assert "COMPACTION_NOT_SMALLER" in found["error"]
    assert (found["replacement"], found["replacement_tokens"], found["ratio"]) == (None, None, 1.0)
    assert found["nodes_before"] == found["nodes_after"] == 8
    assert not found["empty"]


def test_a_bracket_that_ended_well_and_replaced_nothing_is_empty() -> None:
    log = talked(1)
    log.append("compact/start", {"turn": 2})
    log.append("compact/end", {"turn": 2})
    assert row(log)["empty"]


@pytest.mark.parametrize("after", ["turn/end", "turn/start", "compact/start", None])
def test_a_bracket_without_an_end_is_left_open(after: Any) -> None:
    log = talked(1)
    log.append("compact/start", {"turn": 2})
    if after == "turn/end":
        close_turn(log)
    elif after == "turn/start":
        open_turn(log)
    elif after is not None:
        log.append("compact/start", {"turn": 2})
        log.append("compact/end", {"turn": 2})
    found = rows(log)
    assert [one["left_open"] for one in found] == [True, *([False] * (len(found) - 1))]
    assert not found[0]["empty"]
    assert found[0]["duration"] is None


def test_a_shortened_result_splits_nothing() -> None:
    log = talked(2, results="x" * 400)
    with ResultBracket(log, 5) as bracket:
        bracket.shorten("[pruned]", author="me")
    found = row(log)
    assert (found["kind"], found["shadowed"], found["unbalanced"], found["model"]) == ("result", 1, False, "me")


def test_a_replacement_that_stands_in_no_bracket_is_a_row_as_well() -> None:
    log = talked(2)
    seq = replace(log, 1, 8)
    found = row(log)
    assert (found["seq"], found["replacement"], found["kind"], found["duration"]) == (seq, seq, "summary", None)
    assert (found["start"], found["end"], found["shadowed"], found["first_kept"]) == (1, 8, 4, 12)


def test_several_replacements_in_one_bracket_are_one_row() -> None:
    log = talked(3)
    nodes = list(log.surface.nodes)
    log.append("compact/start", {"turn": 4})
    replace(log, nodes[0], nodes[0])
    last = replace(log, nodes[4], nodes[7])
    log.append("compact/end", {"turn": 4})
    found = row(log)
    assert (found["start"], found["end"], found["shadowed"]) == (nodes[0], nodes[7], 5)
    assert (found["replacement"], found["first_shadowed"], found["first_kept"]) == (last, nodes[0], nodes[8])
    assert (found["nodes_before"], found["nodes_after"]) == (12, 9)


def test_an_edge_between_a_call_and_its_result_is_told() -> None:
    for start, end, is_split in ((1, 1, False), (3, 5, False), (1, 3, True), (5, 8, True), (3, 3, True)):
        log = talked(2)
        replace(log, start, end)
        assert row(log)["unbalanced"] == is_split


def test_an_edge_is_judged_by_the_surface_of_its_moment() -> None:
    log = session(check_payloads=False)
    say(log, "one")
    log.append("assistant/message", {"content": [call("ls")]}, surface_op="append")
    say(log, "two")
    replace(log, 2, 2)
    log.append("tool/result", {"content": [], "callId": "c"}, surface_op="append")
    replace(log, 1, 4)
    assert [one["unbalanced"] for one in rows(log)] == [True, False]


def test_what_is_not_smaller_is_told() -> None:
    log = talked(2)
    replace(log, 1, 1, "x" * 9_000)
    replace(log, log.surface.nodes[0], log.surface.nodes[0], "in short")
    assert [one["not_smaller"] for one in rows(log)] == [True, False]


def test_gains_are_little_when_they_come_again_and_free_next_to_nothing() -> None:
    log = session()
    for _ in range(20):
        say(log, "hello")
    meter = Weights(replacement=9)
    for start in (0, 1, 2):
        replace(log, start, start)
    replace(log, 3, 19)
    assert [one["little_gain"] for one in rows(log, meter)] == [False, True, True, False]


def test_a_summary_that_goes_up_to_the_tail_keeps_nothing_behind_it() -> None:
    log = talked(1)
    replace(log, 1, 8)
    assert row(log)["first_kept"] is None


def test_a_log_without_compactions_has_no_rows() -> None:
    assert rows(talked(3)) == rows(Session("empty")) == []


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recorded_compactions_have_a_row_each_that_agrees_with_the_fold(path: Path) -> None:
    log = load(path)
    table = frames.compactions(log)
    starts = [event.seq for event in log.events if event.type == "compact/start"]
    assert table["seq"].to_list() == starts
    fold = fold_surface(log.events).replacements
    assert table["replacement"].to_list() == [replacement.seq for replacement in fold]
    assert table["shadowed"].to_list() == [len(replacement.shadowed_seqs) for replacement in fold]
    assert table["first_shadowed"].to_list() == [replacement.shadowed_seqs[0] for replacement in fold]
    assert not table[["empty", "not_smaller", "little_gain", "unbalanced", "left_open"]].any(axis=None)


def test_hostile_texts_are_data() -> None:
    found = rows(hostile_session())
    assert sum(one["kind"] == "summary" for one in found) >= 2
    for one in found:
        for words in (one["trigger"], one["provider"], one["model"], one["error"]):
            assert words is None or words.encode()  # no lone surrogate is left


@given(st.lists(st.tuples(st.sampled_from(["start", "summary", "end"]), json_values(max_leaves=5)), max_size=8))
def test_any_payload_gives_rows_and_no_crash(events: list[tuple[str, Any]]) -> None:
    log = session(check_payloads=False)
    log.append("turn/start", {"turn": "one"})
    for kind, value in events:
        for data in (
            value,
            {"turn": value, "trigger": value, "error": value, "provider": value, "shadowedTokenCount": value},
        ):
            log.append(f"compact/{kind}", data)  # type: ignore[call-overload]
    table = frames.compactions(log)
    assert len(table) == 2 * sum(kind == "start" for kind, _ in events)
