"""The events of hook bridges."""

from typing import Any

import pytest

from dsh_session import VOCABULARY, Session, SessionError
from dsh_session.hooks import HOOK_INVOKED, HOOK_RESULT

INVOKED: dict[str, Any] = {"turn": 1, "point": "Stop", "dialect": "claude", "handlerId": "claude:Stop:1"}
RESULT: dict[str, Any] = {
    "turn": 1,
    "point": "Stop",
    "handlerId": "claude:Stop:1",
    "decision": "block",
    "durationMs": 1.5,
}


def _session() -> Session:
    return Session("s", clock=lambda: 0)


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (HOOK_INVOKED, INVOKED),
        (HOOK_INVOKED, {**INVOKED, "matcher": "bash", "dialect": "codex"}),
        (HOOK_RESULT, RESULT),
        (HOOK_RESULT, {**RESULT, "exitCode": 2, "stderrSummary": "no", "durationMs": 3, "extra": [1]}),
    ],
)
def test_an_event_of_a_hook_is_accepted(type_: Any, data: dict[str, Any]) -> None:
    event = _session().append(type_, data)
    assert (event.type, event.data, event.surface_op) == (type_, data, None)
    assert type_ in VOCABULARY.event_types


@pytest.mark.parametrize(
    ("type_", "data", "path"),
    [
        *((HOOK_INVOKED, {k: v for k, v in INVOKED.items() if k != name}, f"$.{name}") for name in INVOKED),
        *((HOOK_RESULT, {k: v for k, v in RESULT.items() if k != name}, f"$.{name}") for name in RESULT),
        (HOOK_INVOKED, {**INVOKED, "dialect": "claude-code"}, "$.dialect"),
        (HOOK_INVOKED, {**INVOKED, "matcher": 7}, "$.matcher"),
        (HOOK_RESULT, {**RESULT, "exitCode": "2"}, "$.exitCode"),
        (HOOK_RESULT, {**RESULT, "durationMs": "1"}, "$.durationMs"),
        (HOOK_RESULT, {**RESULT, "stderrSummary": None}, "$.stderrSummary"),
    ],
)
def test_a_malformed_event_of_a_hook_is_refused(type_: Any, data: dict[str, Any], path: str) -> None:
    log = _session()
    with pytest.raises(SessionError) as caught:
        log.append(type_, data)
    assert caught.value.code == "PAYLOAD_INVALID"
    assert path in str(caught.value)
    assert log.seq == 0
