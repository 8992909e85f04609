"""A row tells everything that an appended event's line does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session, loads
from dsh_session.persistence.rows import Row, line_of, row_of, text_in, text_out
from tests.strategies import json_values

HEADER = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'


@given(st.text(min_size=1).map(lambda name: f"plugin/{name}"), json_values(), st.integers(0, 2**53 - 1))
def test_any_appended_event_is_its_row(kind: str, data: Any, time: int) -> None:
    session = Session("s", clock=lambda: time)
    event = session.append(kind, data)  # type: ignore[call-overload]
    row, line = row_of(event)
    assert (row.seq, text_out(row.type), row.time) == (0, kind, time)
    assert json.loads(row.data) == data
    assert (row.source_event_seqs, row.surface_op) == (None, None)
    written = line_of(row) if line is None else line.encode()
    assert written == event.to_json().encode()
    # Only what no tool could read otherwise needs its line beside the row.
    assert (line is None) or "\\ud" in event.to_json()


@pytest.mark.parametrize("sources", [None, [], [0], [1, 0]])
@pytest.mark.parametrize("op", ["append", {"op": "replace", "start": 0, "end": 0}])
def test_a_message_keeps_its_place_and_its_sources(op: Any, sources: Any) -> None:
    session = Session("s", clock=lambda: 1)
    content = {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}}
    for _ in range(2):
        session.append("assistant/message", content, surface_op="append")
    if op != "append" and sources in (None, []):
        sources = [0]
    event = session.append("assistant/message", content, surface_op=op, source_event_seqs=sources)
    row, line = row_of(event)
    assert line is None
    assert line_of(row) == event.to_json().encode()
    assert json.loads(row.surface_op or "") == op
    assert (None if row.source_event_seqs is None else json.loads(row.source_event_seqs)) == sources


@pytest.mark.parametrize(
    "line",
    [
        '{"seq":0,"type":"x","time":1,"data":1}',
        ' {"type":"x","seq":0,"time":1,"data":1}',
        '{"type":"x","seq":0.0,"time":1,"data":1}',
        '{"type":"x","seq":0,"time":1,"data":1,"data":2}',
        '{"type":"\\u0078","seq":0,"time":1,"data":1}',
        '{"type":"x","seq":0,"time":1,"data":[1000000000000000000000000000000,"\\uDEAD"]}',
    ],
)
def test_a_line_that_is_spelt_otherwise_comes_along(line: str) -> None:
    event = loads(HEADER + line.encode() + b"\n").events[0]
    row, kept = row_of(event)
    assert kept == line
    assert json.loads(row.data) == json.loads(line)["data"]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"x","seq":0,"time":1,"data":{"a": 1.0 , "b":[ ]}}',
        '{"type":"x","seq":0,"time":1,"data":123456789012345678901234567890}',
        '{"type":"x","seq":0,"time":1,"data":"\\u00e9\\/"}',
    ],
)
def test_spelling_within_the_payload_is_in_the_row(line: str) -> None:
    event = loads(HEADER + line.encode() + b"\n").events[0]
    row, kept = row_of(event)
    assert kept is None
    assert line_of(row) == line.encode()


def test_half_a_surrogate_pair_has_a_place_in_a_column() -> None:
    for text in ("plain é🙂", "half \ud83d", "", "\0"):
        assert text_out(text_in(text)) == text
    assert isinstance(text_in("\udead"), bytes)
    assert line_of(Row(0, text_in("\ud83d"), 1, "null", None, None)) == (
        b'{"type":"\\ud83d","seq":0,"time":1,"data":null}'
    )
