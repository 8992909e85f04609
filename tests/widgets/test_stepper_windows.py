"""What a page is told: windows of the log and of the surface, as plain values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Session, load
from dsh_session.widgets.moments import Moments
from dsh_session.widgets.spans import Span, Spans
from dsh_session.widgets.windows import MOST, Windows
from tests.browser.stepped import long, many, short
from tests.views.hostile import hostile_session
from tests.views.logs import LOGS, name_of, sessions
from tests.views.made import Writer


def windows(session: Session) -> Windows:
    return Windows(Moments(session))


def wire(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as it arrives: as JSON in UTF-8."""
    told: dict[str, Any] = json.loads(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode())
    return told


@settings(max_examples=40)
@given(sessions(), st.integers(-5, 30), st.integers(-5, 30))
def test_any_window_of_any_log_is_told_and_is_a_part_of_it(session: Session, start: int, stop: int) -> None:
    told = windows(session)
    log = wire(told.log(start, stop))
    seqs = [row["seq"] for row in log["rows"]]
    assert seqs == list(range(log["from"], log["from"] + len(seqs)))
    assert set(seqs) == set(range(session.seq)) & set(range(start, stop))
    for moment in range(-1, session.seq):
        answer = wire(told.surface(moment, start, stop, around=True))
        nodes = told.moments.step(moment).nodes
        rows = [row["seq"] for row in answer["rows"]]
        assert rows == list(nodes[answer["from"] : answer["from"] + len(rows)])
        assert len(rows) == min(max(stop - start, 1), len(nodes))
        assert answer["at"] < 0 or answer["from"] <= answer["at"] < answer["from"] + len(rows)
        assert [row["rank"] for row in answer["rows"]] == sorted(row["rank"] for row in answer["rows"])


@settings(max_examples=40)
@given(sessions())
def test_the_parts_of_what_was_and_of_what_is_shadowed_add_up(session: Session) -> None:
    told = windows(session)
    for moment in range(-1, session.seq):
        answer = told.surface(moment, 0, 1)
        assert sum(part.get("gap", 1) for part in answer["was"]) == answer["before"]
        shadowed = answer["shadowed"]
        gone = sum(part.get("gap", 1) for part in answer["was"] if part["shadowed"])
        assert gone == (shadowed["count"] if shadowed else 0)
        if shadowed:
            assert sum(part.get("gap", 1) for part in shadowed["parts"]) == shadowed["count"]


@pytest.mark.parametrize("path", LOGS, ids=name_of)
def test_recorded_logs_are_told_whole(path: Any) -> None:
    session = load(path)
    told = windows(session)
    for start in range(0, session.seq, MOST):
        answer = wire(told.log(start, start + MOST))
        for row in answer["rows"]:
            event = session.events[row["seq"]]
            assert row["node"] == (event.surface_op is not None)
            assert len(row["label"]) <= 140
            assert "\n" not in row["label"]
    assert wire(told.surface(session.seq - 1, 0, MOST))["count"] == len(session.surface)


def test_a_row_says_when_a_node_left_and_what_it_stands_for() -> None:
    rows = {row["seq"]: row for row in windows(short()).log(0, 99)["rows"]}
    assert {seq: row["left"] for seq, row in rows.items() if row["node"]} == {
        1: 12,
        5: 12,
        7: 12,
        **dict.fromkeys((9, 12, 13, 14)),
    }
    assert rows[12]["over"] == 3
    assert rows[12]["rank"] == 1
    assert (rows[0]["kind"], rows[0]["edge"]) == ("turn", "start")
    assert (rows[8]["kind"], rows[8]["edge"]) == ("step", "end")


def test_a_window_moves_to_what_enters_if_it_is_asked_to() -> None:
    session = many(400)
    told = windows(session)
    assert told.surface(399, 0, 20)["from"] == 0
    assert told.surface(399, 0, 20, around=True)["from"] == 380
    assert told.surface(399, 385, 405, around=True)["from"] == 380
    assert told.surface(5, 300, 320, around=True)["from"] == 0


def test_long_runs_are_counted_by_kind() -> None:
    w = Writer("long")
    for _ in range(300):
        w.say("user/message", "a")
        w.say("tool/result", "b")
    w.replace(0, 600, "all of it")
    answer = windows(w.session).surface(600, 0, 5)
    assert len(answer["shadowed"]["parts"]) == 18
    gap = answer["shadowed"]["parts"][14]
    assert gap == {"gap": 583, "label": "583 more nodes: 292 user, 291 tool results"}
    assert len(answer["was"]) < 30


def test_hostile_texts_are_one_short_line_each() -> None:
    session = hostile_session()
    told = windows(session)
    log = wire(told.log(0, MOST))
    texts = [row[name] for row in log["rows"] for name in ("label", "kind")]
    texts += [span["name"] for span in log["turns"]]
    assert all(len(text) <= 140 and text.isprintable() for text in texts)
    assert len(json.dumps(log)) < 200_000
    for moment in range(0, session.seq, 3):
        answer = wire(told.surface(moment, 0, 40))
        assert len(json.dumps(answer)) < 100_000


def test_the_overview_counts_everything_once_and_stays_small() -> None:
    session = long(5000)
    told = windows(session)
    answer = wire(told.overview())
    assert sum(answer["nodes"]) == sum(event.surface_op is not None for event in session.events)
    assert sum(answer["replaced"]) == session.surface.replace_generation
    assert sum(answer["turns"]) == sum(event.type == "turn/start" for event in session.events)
    assert len(answer["nodes"]) <= 240
    assert answer["size"] * len(answer["nodes"]) >= session.seq
    assert told.overview() is told.overview()
    assert windows(Session("empty")).overview() == {"length": 0, "size": 1, "nodes": [], "replaced": [], "turns": []}


@given(sessions(), st.integers(-1, 25))
def test_the_nearest_change_is_the_nearest_message_event(session: Session, moment: int) -> None:
    told = windows(session)
    changes = [event.seq for event in session.events if event.surface_op is not None]
    assert told.change(moment, 1) == min((seq for seq in changes if seq > moment), default=session.seq - 1)
    assert told.change(moment, -1) == max((seq for seq in changes if seq < moment), default=-1)


# ---------------------------------------------------------------------------------------------------------------- spans


def test_turns_and_steps_are_found_with_their_names_and_outcomes() -> None:
    w = Writer("spans")
    w.begin()
    w.begin_step()
    w.chunks(2)
    w.end_step()
    w.end()
    w.begin()
    w.begin_step()
    w.end("aborted")
    w.begin()
    w.log("step/end", turn=9, step=9)
    spans = Spans(Moments(w.session))
    assert spans.turns == [Span(0, 5), Span(6, 8), Span(9, None)]
    assert spans.steps == [Span(1, 4), Span(7, 7)]
    assert [spans.name(span) for span in spans.turns] == ["turn 1", "turn 2 · aborted", "turn 3"]
    assert [spans.name(span) for span in spans.steps] == ["step 1", "step 1"]
    assert spans.within(spans.turns, 5, 6) == [Span(0, 5)]
    assert spans.within(spans.turns, 5, 7) == [Span(0, 5), Span(6, 8)]
    assert spans.within(spans.turns, 10, 11) == [Span(9, None)]


@given(sessions(), st.integers(0, 20), st.integers(0, 20))
def test_spans_never_overlap_whatever_a_log_says_and_are_taken_in_piece_by_piece(
    session: Session, start: int, stop: int
) -> None:
    whole = Spans(Moments(session))
    for spans in (whole.turns, whole.steps):
        ends = [-1] + [session.seq if span.stop is None else span.stop for span in spans]
        assert all(end < span.start <= own for end, span, own in zip(ends, spans, ends[1:], strict=False))
        touched = [span for span in spans if span.start < stop and (span.stop is None or span.stop >= start)]
        assert whole.within(spans, start, stop) == (touched if start < stop else whole.within(spans, start, stop))
        assert all(whole.name(span) for span in spans)
    live = Session("live", check_payloads=False)
    moments = Moments(live)
    grown = Spans(moments)
    for event in session.events:
        live.append(event.type, event.data, surface_op=event.surface_op, source_event_seqs=event.source_event_seqs)
        moments.take_in()
        grown.take_in()
    assert (grown.turns, grown.steps) == (whole.turns, whole.steps)
