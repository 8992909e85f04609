"""The events of a compaction's bracket."""

from typing import Any

import pytest

from dsh_session import VOCABULARY, Session, SessionError
from dsh_session.compaction.events import COMPACT_END, COMPACT_START, COMPACT_SUMMARY

SUMMARY: dict[str, Any] = {
    "summary": [{"type": "text", "text": "S"}],
    "shadowedRange": {"start": 11, "end": 3},
    "shadowedSeqs": [11, 3],
    "shadowedTokenCount": 30,
    "provider": "mock",
    "model": "m1",
}


def _session() -> Session:
    return Session("s", clock=lambda: 0)


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (COMPACT_START, {"turn": 1}),
        (COMPACT_SUMMARY, SUMMARY),
        (COMPACT_SUMMARY, {**SUMMARY, "maxTokens": 64, "extra": None}),
        (COMPACT_END, {"turn": 1}),
        (COMPACT_END, {"turn": 1, "error": "it failed"}),
    ],
)
def test_an_event_of_the_bracket_is_accepted(type_: Any, data: dict[str, Any]) -> None:
    event = _session().append(type_, data)
    assert (event.type, event.data, event.surface_op) == (type_, data, None)
    assert type_ in VOCABULARY.event_types


@pytest.mark.parametrize(
    ("type_", "data", "path"),
    [
        (COMPACT_START, {}, "$.turn"),
        (COMPACT_START, {"turn": "1"}, "$.turn"),
        *((COMPACT_SUMMARY, {k: v for k, v in SUMMARY.items() if k != name}, f"$.{name}") for name in SUMMARY),
        (COMPACT_SUMMARY, {**SUMMARY, "summary": [{"type": "text"}]}, "$.summary[0].text"),
        (COMPACT_SUMMARY, {**SUMMARY, "shadowedRange": {"start": 1}}, "$.shadowedRange.end"),
        (COMPACT_SUMMARY, {**SUMMARY, "shadowedSeqs": [1, True]}, "$.shadowedSeqs[1]"),
        (COMPACT_SUMMARY, {**SUMMARY, "maxTokens": None}, "$.maxTokens"),
        (COMPACT_END, {"error": "x"}, "$.turn"),
    ],
)
def test_a_malformed_event_of_the_bracket_is_refused(type_: Any, data: dict[str, Any], path: str) -> None:
    log = _session()
    with pytest.raises(SessionError) as caught:
        log.append(type_, data)
    assert caught.value.code == "PAYLOAD_INVALID"
    assert path in str(caught.value)
    assert log.seq == 0


def test_the_bracket_is_log_only() -> None:
    for type_ in (COMPACT_START, COMPACT_SUMMARY, COMPACT_END):
        with pytest.raises(SessionError) as caught:
            _session().append(type_, SUMMARY, surface_op="append")
        assert caught.value.code == "SURFACE_NOT_ELIGIBLE"
