from __future__ import annotations

import json
import re
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session, load, loads
from dsh_session.views import frames
from dsh_session.views.describe import kind
from dsh_session.views.page import page
from dsh_session.views.page.messages import Message, MessageGap, messages, parts_of, pretty
from dsh_session.views.page.outline import outline
from dsh_session.views.page.rows import Gap, Row, event_groups
from dsh_session.views.page.summary import TurnGap, TurnRow, overview, replacements, request, turns
from dsh_session.views.page.times import clock, day, duration, iso
from dsh_session.views.page.window import window
from tests.views.hostile import HOSTILE, ODD, hostile_session
from tests.views.page_reader import USER, check_safe, long_session, say

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))


@pytest.fixture(scope="module", params=LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def log(request: pytest.FixtureRequest) -> Session:
    return load(request.param)


@pytest.fixture(scope="module")
def hostile() -> Session:
    return hostile_session(name="<script>alert('id')</script>")


# ------------------------------------------------------------------------------------------- safe and self-contained


def test_a_page_is_one_file_that_loads_nothing_and_runs_nothing_but_its_own_script(log: Session) -> None:
    before = log.to_jsonl()
    html = page(log)
    check_safe(html)
    assert "could not be made" not in html
    assert log.to_jsonl() == before


def test_hostile_texts_stay_texts(hostile: Session) -> None:
    html = page(hostile)
    assert "could not be made" not in html
    reader = check_safe(html)
    shown = "".join(text for texts in reader.texts.values() for text in texts)
    for words in HOSTILE:
        if 3 < len(words) < 60 and words.isprintable():
            assert words in shown, words


@pytest.mark.parametrize("at", [0, 2, 4, 9, 14, 15, 17, 18, 23, 26])
def test_one_hostile_text_everywhere_stays_a_text(at: int) -> None:
    words = HOSTILE[at]
    header = {"version": 0, "id": words or "x", "createdAt": 0, "cwd": f"/{words}", "parentSession": words}
    session = Session(words or "x", header=header, clock=lambda: 0, check_payloads=False)
    for event in hostile_session(lambda _: words).events[:20]:
        session.append(event.type, event.data, surface_op=event.surface_op)
    html = page(session)
    check_safe(html)
    assert "could not be made" not in html


def test_odd_payloads_are_shown_and_stop_nothing() -> None:
    session = Session("odd", check_payloads=False, clock=lambda: 0)
    log_only = ("turn/start", "request/header", "tool/call", "assistant/chunk", "assistant/chunk", "turn/end", "x/y")
    for odd in ODD:
        for type_ in log_only:
            session.append(type_, odd)
        for type_ in ("user/message", "assistant/message", "tool/result"):
            session.append(type_, {"content": [{"type": odd, "text": odd, "content": odd}]}, surface_op="append")
    html = page(session)
    reader = check_safe(html)
    assert "could not be made" not in html
    rows = [attributes for attributes in reader.all("tr") if "data-kind" in attributes]
    assert len(rows) == session.seq - len(ODD)  # two chunks are one row


def test_text_that_looks_like_a_template_is_not_one() -> None:
    session = Session("{{ 7 * 7 }}{% raw %}", clock=lambda: 0)
    say(session, "{{ policy }} {# gone #}")
    html = page(session)
    assert '<h1 dir="auto">{{ 7 * 7 }}{% raw %}</h1>' in html
    assert "{{ policy }} {# gone #}" in html


def test_the_same_session_gives_the_same_bytes() -> None:
    session = load(next(path for path in LOGS if path.stem == "openhands-condensed-twice"))
    assert page(session) == page(session)


def test_a_page_without_a_graphviz_says_what_to_install_and_shows_the_graph_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DSH_SESSION_GRAPHVIZ", "/nowhere/dot")
    session = Session("plain", clock=lambda: 0)
    say(session, "<b>hello</b>")
    html = page(session)
    check_safe(html)
    assert "The diagram could not be drawn: no program at" in html
    assert "digraph" in html


# ------------------------------------------------------------------------------------------------------- what is there


def test_a_session_without_events_has_a_page() -> None:
    html = page(Session("empty", clock=lambda: 0))
    check_safe(html)
    assert html.count("The log holds no event yet.") == 2
    assert "Nothing was replaced" in html


def test_the_overview_counts_what_is_in_the_log(log: Session) -> None:
    found = overview(log, outline(log))
    types = Counter(event.type for event in log.events)
    numbers = {noun.rstrip("s"): number for number, noun in found.numbers}
    assert numbers == {
        "event": log.seq,
        "turn": types["turn/start"],
        "step": types["step/start"],
        "tool call": types["tool/call"],
        "surface node": len(log.surface),
        "replacement": log.surface.replace_generation,
    }
    assert outline(log).tools.total() == types["tool/call"]
    assert len(found.tools) + found.more_tools == len(outline(log).tools)


def test_the_header_tells_where_a_session_comes_from() -> None:
    wire = {"version": 0, "id": "child", "createdAt": 0, "cwd": "/repo", "parentSession": "mother", "seedLength": 1200}
    facts = dict(overview(Session("child", header=wire), outline(Session("child"))).facts)
    assert facts == {
        "Created": "1970-01-01 00:00:00",
        "Folder": "/repo",
        "Forked from": "mother",
        "Inherited events": "1,200",
        "Format": "version 0",
    }


def test_each_turn_has_a_row_with_its_prompt_tools_and_end() -> None:
    session = load(next(path for path in LOGS if path.stem == "todo-plan"))
    (row,) = turns(session, outline(session))
    assert isinstance(row, TurnRow)
    assert (row.name, row.trigger, row.steps, row.tools, row.outcome) == ("1", "user", 2, "todo_write", "completed")
    assert row.prompt.startswith("Use the todo_write tool")
    assert (row.first, row.last, row.state) == (0, session.seq - 1, "completed")


@pytest.mark.parametrize(
    ("name", "outcome", "state", "reason"),
    [
        ("cancel", "aborted", "other", ""),
        ("error-finish", "error", "other", "simulated provider error (HTTP 401)"),
        ("hook-cc-promptsubmit-block", "rejected", "other", None),
    ],
)
def test_a_turn_that_did_not_complete_stands_out(name: str, outcome: str, state: str, reason: str | None) -> None:
    session = load(next(path for path in LOGS if path.stem == name))
    (row,) = turns(session, outline(session))
    assert isinstance(row, TurnRow)
    assert (row.outcome, row.state) == (outcome, state)
    if reason is None:
        assert row.reason
    else:
        assert reason in row.reason


def test_an_open_turn_and_events_before_the_first_turn_are_told_apart() -> None:
    session = Session("open", check_payloads=False, clock=lambda: 0)
    session.append("todo/write", {"todos": []})
    session.append(
        "turn/start", {"turn": 1, "trigger": {"kind": "injection", "source": {"kind": "plugin", "plugin": "cron"}}}
    )
    before, row = turns(session, outline(session))
    assert isinstance(before, TurnRow)
    assert isinstance(row, TurnRow)
    assert (before.name, before.outcome, before.state) == ("before", "", "completed")
    assert (row.name, row.outcome, row.state, row.trigger) == ("1", "open", "open", "injection: cron")


def test_replacements_tell_what_they_took_and_what_they_stand_for() -> None:
    session = load(next(path for path in LOGS if path.stem == "pi-compacted-twice"))
    rows, more = replacements(session, outline(session))
    assert more == 0
    assert [(row.seq, row.start, row.end, row.shadowed, row.originals, row.shadowed_by) for row in rows] == [
        (894, 1, 724, 288, 288, 1589),
        (1589, 894, 1388, 262, 549, None),
    ]
    assert all(row.before > row.after > 0 for row in rows)
    assert rows[1].kinds == "13 user, 125 assistant, 123 tool results, 1 summary"


def test_the_request_header_in_force_is_shown_as_it_is() -> None:
    session = load(next(path for path in LOGS if path.stem == "text-turn"))
    fields = dict(request(session))
    assert list(fields) == ["Configuration", "System prompt", "Tools"]
    assert '"model": "deepseek-v4-flash"' in fields["Configuration"][0].text
    assert fields["Tools"][0].text == "{{tools}}"
    assert request(Session("empty")) == []


def test_findings_of_a_load_are_on_the_page_and_announced_at_its_top() -> None:
    log = b'{"type":"session","version":0,"id":"s","createdAt":5,"cwd":"<b>here"}\n{"type":"turn/st'
    session = loads(log)
    html = page(session)
    check_safe(html)
    assert len(session.findings) == 2
    assert "Loading this log gave 2 findings" in html
    assert all(f"<code>{finding.code}</code>" in html for finding in session.findings)
    assert "&lt;b&gt;here" in html


# -------------------------------------------------------------------------------------------------------------- events


def covered(groups: list[Any]) -> list[int]:
    """The seqs that rows and gaps cover, in their order."""
    seqs: list[int] = []
    for group in groups:
        for row in group.rows:
            seqs += range(row.first, row.last + 1) if isinstance(row, Gap) else range(row.seq, row.last + 1)
    return seqs


@pytest.mark.parametrize("limit", [1, 7, 100, 4000])
def test_rows_and_gaps_cover_every_event_once_and_in_order(log: Session, limit: int) -> None:
    groups = event_groups(log, outline(log), limit)
    assert covered(groups) == list(range(log.seq))
    assert sum(isinstance(row, Row) for group in groups for row in group.rows) <= limit
    kinds = [kind(event) for event in log.events]
    for group in groups:
        for row in group.rows:
            if isinstance(row, Gap):
                assert row.count == row.last - row.first + 1
                assert sum(int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", row.kinds)) == row.count
            else:
                assert {row.kind} == set(kinds[row.seq : row.last + 1])


def test_a_long_log_is_shown_in_a_window_around_what_matters_that_says_what_it_leaves_out() -> None:
    session = long_session(5000)
    groups = event_groups(session, outline(session), 300)
    rows = [row for group in groups for row in group.rows if isinstance(row, Row)]
    gaps = [row for group in groups for row in group.rows if isinstance(row, Gap)]
    assert len(rows) == 300
    assert [row.seq for row in rows if row.replaces] == [
        seq for seq in range(session.seq) if isinstance(session.events[seq].surface_op, Replace)
    ]
    assert (rows[0].seq, rows[-1].seq) == (0, session.seq - 1)
    assert len(gaps) == 2
    html = page(session, rows=300)
    check_safe(html)
    for gap in gaps:
        assert f"… {gap.count:,} events are not shown here (seq {gap.first} to {gap.last}): {gap.kinds}." in html


def test_rows_lie_in_groups_that_a_browser_can_lay_out_one_by_one() -> None:
    session = Session("one turn", check_payloads=False, clock=lambda: 0)
    session.append("turn/start", {"turn": 1})
    for number in range(500):
        say(session, f"{number}")
    groups = event_groups(session, outline(session), 4000)
    assert [group.title.split(" · ")[0] for group in groups] == ["Turn 1", *["Turn 1, continued"] * 3]
    assert max(len(group.rows) for group in groups) == 150


def test_a_run_of_chunks_is_one_row_that_says_what_it_adds_up_to() -> None:
    session = Session("chunks", check_payloads=False, clock=lambda: 0)
    deltas = [
        {"type": "block-start", "index": 0, "blockType": "reasoning"},
        {"type": "reasoning-delta", "index": 0, "text": "Let me "},
        {"type": "reasoning-delta", "index": 0, "text": "think."},
        {"type": "text-delta", "index": 1, "text": "Done."},
        {"type": "tool-call-delta", "index": 2, "id": "c", "argumentsDelta": "{}"},
    ]
    for chunk in deltas:
        session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": chunk})
    session.append("assistant/chunk", {"turn": 1, "step": 2, "chunk": deltas[0]})
    (group,) = event_groups(session, outline(session), 10)
    first, second = group.rows
    assert isinstance(first, Row)
    assert isinstance(second, Row)
    assert (first.seq, first.last, second.seq, second.last) == (0, 4, 5, 5)
    assert first.headline == "5 chunks: thinks: Let me think. says: Done. calls with: {}"
    assert first.text == "thinks: Let me think.\nsays: Done.\ncalls with: {}"


def test_a_row_says_where_its_event_stands() -> None:
    session = Session("states", clock=lambda: 1_765_233_665_306)
    say(session, "one")
    say(session, "two")
    say(session, "both", Replace(0, 1), [0, 1])
    session.append("todo/write", {"todos": []})
    (group,) = event_groups(session, outline(session), 10)
    rows = [row for row in group.rows if isinstance(row, Row)]
    assert [(row.surface, row.shadowed_by, row.replaces) for row in rows] == [
        ("off", 2, None),
        ("off", 2, None),
        ("on", None, (0, 1)),
        ("log", None, None),
    ]
    assert rows[0].clock == "22:41:05"
    assert rows[0].line == session.events[0].to_json()
    html = page(session)
    assert 'replaced by <a class="seq" href="#e2">2</a>' in html
    assert 'on surface, replaces <a class="seq" href="#e0">0</a>–<a class="seq" href="#e1">1</a>' in html


def test_an_error_result_is_marked_and_words_alone_are_not() -> None:
    session = Session("errors", check_payloads=False, clock=lambda: 0)
    for wrong in (True, False):
        data = {"callId": "c", "content": [{"type": "text", "text": "error: no"}], "isError": wrong}
        session.append("tool/result", data, surface_op="append")
    (group,) = event_groups(session, outline(session), 10)
    assert [row.error for row in group.rows if isinstance(row, Row)] == [True, False]


@pytest.mark.parametrize("rows", [0, -1])
def test_a_table_without_rows_is_refused(rows: int) -> None:
    with pytest.raises(ValueError, match=f"rows is {rows}"):
        page(Session("empty"), rows=rows)


# ----------------------------------------------------------------------------------------------------------- messages


def test_every_derived_message_is_shown_in_the_models_order(log: Session) -> None:
    shown = [message for message in messages(log, outline(log), 10_000) if isinstance(message, Message)]
    derived = log.derive_messages()
    assert [message.role for message in shown] == [message["role"] for message in derived]
    assert [message.position for message in shown] == list(range(len(derived)))
    for message, source in zip(shown, derived, strict=True):
        texts = [part.text for part in message.parts if part.tag == "text" and not part.more]
        expected = [block["text"] for block in source["content"] if block["type"] == "text"]
        assert [text for text in expected if len(text) <= 6000] == texts


def test_a_long_history_is_shown_in_a_window_and_its_characters_are_counted() -> None:
    session = long_session(3000)
    found = messages(session, outline(session), 100)
    gaps = [message for message in found if isinstance(message, MessageGap)]
    shown = [message for message in found if isinstance(message, Message)]
    assert len(shown) == 100
    assert sum(gap.count for gap in gaps) + 100 == len(session.messages)
    assert any(message.kind == "summary" for message in shown)
    everything = sum(len(block["text"]) for message in session.messages for block in message["content"])
    assert sum(gap.chars for gap in gaps) + sum(message.chars for message in shown) == everything


def test_empty_assistant_messages_have_no_place_in_the_history() -> None:
    session = Session("silent", check_payloads=False, clock=lambda: 0)
    say(session, "one")
    session.append("assistant/message", {"content": []}, surface_op="append")
    say(session, "two")
    shown = messages(session, outline(session), 10)
    assert [message.headline for message in shown if isinstance(message, Message)] == ["one", "two"]
    assert len(session.messages) == 2


def test_content_blocks_are_read_by_their_tags_and_unknown_ones_as_json() -> None:
    parts, more = parts_of(
        [
            {"type": "reasoning", "text": "hmm"},
            {"type": "tool-result", "toolCallId": "c1", "isError": True, "content": [{"type": "text", "text": "no"}]},
            {"type": "tool-result", "toolCallId": "c2", "content": [{"type": "image", "data": "AA"}]},
            {"type": "text", "text": None},
            {"type": "image", "data": "AA"},
            "loose",
        ]
    )
    assert [(part.tag, part.label) for part in parts] == [
        ("reasoning", ""),
        ("tool-result", "error · c1"),
        ("tool-result", "c2"),
        ("text", ""),
        ("image", ""),
        ("block", ""),
    ]
    assert parts[1].text == "no"
    assert all(json.loads(part.text) is not None for part in parts[2:])
    assert more == 0


def test_long_texts_and_long_lists_are_cut_and_say_so() -> None:
    parts, more = parts_of([{"type": "text", "text": "x" * 10_000}] * 100)
    assert more == 60
    assert all(part.more == 4001 for part in parts)
    assert len(pretty([1] * 1000)) < 2000
    assert "900 more" in pretty([1] * 1000)
    assert "900 more" in pretty({str(key): 1 for key in range(1000)})


def test_deep_and_huge_values_are_written_out_so_far_and_no_further() -> None:
    value: Any = 10**5000
    for _ in range(400):
        value = [value]
    assert "…" in pretty(value)
    assert pretty(10**5000) == '"a very large integer"'


# -------------------------------------------------------------------------------------------------------------- windows


@given(st.integers(0, 300), st.integers(1, 80), st.sets(st.integers(0, 299)), st.integers(0, 8))
def test_a_window_is_in_order_keeps_to_its_limit_and_uses_all_of_it(
    length: int, limit: int, marks: set[int], around: int
) -> None:
    runs = window(length, limit, marks=sorted(mark for mark in marks if mark < length), around=around)
    places = [place for run in runs for place in run]
    assert places == sorted(set(places))
    assert len(places) == min(length, limit)
    assert all(0 <= place < length for place in places)
    assert all(first.stop < second.start for first, second in pairwise(runs))


@given(st.integers(101, 1000), st.data())
def test_a_marked_place_is_shown_when_there_is_room(length: int, data: st.DataObject) -> None:
    mark = data.draw(st.integers(0, length - 1))
    assert any(mark in run for run in window(length, 100, marks=[mark]))


def test_many_turns_are_shown_in_a_window() -> None:
    session = Session("turns", check_payloads=False, clock=lambda: 0)
    for number in range(1000):
        session.append("turn/start", {"turn": number + 1, "trigger": {"kind": "message", "source": USER}})
        session.append("turn/end", {"turn": number + 1, "reason": {"kind": "completed"}})
    found = turns(session, outline(session))
    (gap,) = [row for row in found if isinstance(row, TurnGap)]
    assert gap.count + len(found) - 1 == 1000
    assert f"… {gap.count:,} turns are not shown here" in page(session)


# ---------------------------------------------------------------------------------------------------------------- times


@pytest.mark.parametrize("time", [0, 2**53 - 1, -(10**18), 1e300, -5.5])
def test_every_number_has_a_form_as_a_time(time: float) -> None:
    assert all(form(time) for form in (day, clock, iso, duration))


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (59_999, "1 min"),
        (60_000, "1 min"),
        (3_600_000, "1 h"),
        (3_660_000, "1 h 1 min"),
        (90_000_000, "1 d 1 h"),
        (-61_000, "−1 min 1 s"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(span: float, words: str) -> None:
    assert duration(span) == words


# ------------------------------------------------------------------------------------------------------ live sessions


def test_a_session_that_grows_meanwhile_is_shown_as_it_was_at_some_moment() -> None:
    session = Session("live", check_payloads=False, clock=lambda: 0)
    for number in range(50):
        say(session, f"{number}")
    stop = threading.Event()

    def grow() -> None:
        while not stop.wait(0.001):
            nodes = list(session.surface.nodes)
            say(session, "summary", Replace(nodes[0], nodes[3]), nodes[:4])
            for words in ("one", "two", "three", "four"):
                say(session, words)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        for _ in range(2):
            html = page(session, rows=50)
            check_safe(html)
            assert "could not be made" not in html
            assert len(frames.surface(session)) > 0
            assert len(frames.events(session)) > 0
    finally:
        stop.set()
        thread.join()
