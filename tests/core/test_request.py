"""The request header in force, its normal form, and when two ask for the same."""

from typing import Any

import pytest

from dsh_session import (
    Replace,
    Session,
    SessionError,
    canonical_header,
    fold_request_header,
    header_equals,
    loads,
)

from .payloads import ROUTE, conversation, payload, session, wire_event

TOOLS = [{"name": "bash", "description": "run", "parameters": {"type": "object", "n": 1}}]
PREFIX = [{"role": "user", "content": [{"type": "text", "text": "prefix"}]}]


def _header(**fields: Any) -> dict[str, Any]:
    return {"config": {**ROUTE}, **fields}


def test_without_a_header_event_there_is_no_header() -> None:
    log = session()
    assert log.request_header() is None
    log.append("turn/start", payload("turn/start"))
    assert log.request_header() is None
    assert fold_request_header([]) is None


def test_the_latest_header_is_in_force() -> None:
    log = session()
    log.append("request/header", {"header": _header(system="a", tools=TOOLS), "reason": "initial"})
    assert log.request_header() == _header(system="a", tools=TOOLS)
    log.append("request/header", {"header": _header(messagePrefix=PREFIX), "reason": "change"})
    assert log.request_header() == _header(messagePrefix=PREFIX)
    assert fold_request_header(log.events) == _header(messagePrefix=PREFIX)


def test_a_header_is_the_same_object_until_an_event_changes_it() -> None:
    log = conversation()
    header = log.request_header()
    assert header is log.request_header()
    log.append("todo/write", payload("todo/write"))
    assert log.request_header() == header
    log.append("request/header", {"header": _header(system="new"), "reason": "change"})
    assert header == _header()
    assert log.request_header() == _header(system="new")


def test_a_replacement_does_not_touch_the_header() -> None:
    log = conversation()
    log.append("user/message", payload("user/message"), surface_op=Replace(1, 5), source_event_seqs=[1, 3, 5])
    assert log.request_header() == _header()


def test_the_initial_header_is_given_back_unchanged_where_no_event_holds_one() -> None:
    initial = _header(system="", tools=[], stray=1)
    assert fold_request_header([], initial) is initial
    assert fold_request_header([wire_event("todo/write", 0)], initial) is initial
    assert fold_request_header([wire_event("todo/write", 0)], initial=initial) is initial
    assert fold_request_header([wire_event("request/header", 0)], initial) == _header()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (_header(), _header()),
        (_header(system=""), _header()),
        (_header(tools=[]), _header()),
        (_header(messagePrefix=[]), _header()),
        (_header(stray=1, reason="x"), _header()),
        (
            _header(system="a", tools=TOOLS, messagePrefix=PREFIX),
            _header(system="a", tools=TOOLS, messagePrefix=PREFIX),
        ),
        ({"config": {**ROUTE, "stop": [], "own": {"x": 1}}}, {"config": {**ROUTE, "stop": [], "own": {"x": 1}}}),
        ({"tools": TOOLS, "system": "a", "config": ROUTE}, _header(system="a", tools=TOOLS)),
    ],
)
def test_the_normal_form(given: dict[str, Any], kept: dict[str, Any]) -> None:
    canonical = canonical_header(given)
    assert canonical == kept
    assert list(canonical) == [key for key in ("config", "system", "tools", "messagePrefix") if key in kept]
    assert canonical_header(canonical) == kept
    log = session()
    log.append("request/header", {"header": given, "reason": "initial"})
    assert log.request_header() == kept
    assert log.events[0].data["header"] == given  # the log keeps what was written


EQUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same": (_header(), _header()),
    "an empty tool list and none": (_header(tools=[]), _header()),
    "an empty prefix and none": (_header(messagePrefix=[]), _header()),
    "another field of the config": (_header(), {"config": {**ROUTE, "topP": 0.5}}),
    "a stray field": (_header(), _header(stray=1)),
    "an integral temperature": ({"config": {**ROUTE, "temperature": 1}}, {"config": {**ROUTE, "temperature": 1.0}}),
    "an integral limit": ({"config": {**ROUTE, "maxTokens": 8}}, {"config": {**ROUTE, "maxTokens": 8.0}}),
    "the same stops": ({"config": {**ROUTE, "stop": ["a"]}}, {"config": {**ROUTE, "stop": ["a"]}}),
    "the order of the config's keys": ({"config": {"model": "m1", "provider": "mock"}}, _header()),
    "an integral number in a tool": (
        _header(tools=TOOLS),
        _header(tools=[{**TOOLS[0], "parameters": {"type": "object", "n": 1.0}}]),
    ),
}

DIFFERENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the provider": (_header(), {"config": {**ROUTE, "provider": "x"}}),
    "the model": (_header(), {"config": {**ROUTE, "model": "x"}}),
    "the temperature": ({"config": {**ROUTE, "temperature": 0}}, _header()),
    "the limit": ({"config": {**ROUTE, "maxTokens": 1}}, {"config": {**ROUTE, "maxTokens": 2}}),
    "the stops": ({"config": {**ROUTE, "stop": ["a"]}}, {"config": {**ROUTE, "stop": ["b"]}}),
    "the order of the stops": ({"config": {**ROUTE, "stop": ["a", "b"]}}, {"config": {**ROUTE, "stop": ["b", "a"]}}),
    "the system prompt": (_header(system="a"), _header(system="b")),
    "an empty system prompt and none": (_header(system=""), _header()),
    "a tool": (_header(tools=TOOLS), _header()),
    "the order of a tool's keys": (
        _header(tools=TOOLS),
        _header(tools=[{"description": "run", "name": "bash", "parameters": {"type": "object", "n": 1}}]),
    ),
    "the prefix": (_header(messagePrefix=PREFIX), _header()),
    "true is not 1": ({"config": {**ROUTE, "temperature": True}}, {"config": {**ROUTE, "temperature": 1}}),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_headers_that_ask_for_the_same_are_equal(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert header_equals(*pair) is True
    assert header_equals(*reversed(pair)) is True


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_headers_that_ask_for_something_else_are_not(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert header_equals(*pair) is False
    assert header_equals(*reversed(pair)) is False


def test_a_recorded_placeholder_is_kept_as_it_is() -> None:
    header = {"config": ROUTE, "system": "{{system}}", "tools": "{{tools}}"}
    seed = [wire_event("request/header", 0, data={"header": header, "reason": "initial"})]
    log = Session("s", seed=seed)
    assert log.request_header() == header
    assert loads(log.to_jsonl()).request_header() == header


@pytest.mark.parametrize("header", [None, "old", 7, [], {}, {"config": None}])
def test_a_malformed_header_is_an_error_of_ours_at_most(header: Any) -> None:
    log = session(check_payloads=False)
    log.append("request/header", {"header": header, "reason": "initial"})
    for read in (log.request_header, lambda: fold_request_header(log.events), lambda: canonical_header(header)):
        try:
            read()
        except SessionError as error:
            assert error.code == "PAYLOAD_INVALID"
    log.append("request/header", payload("request/header"))
    assert log.request_header() == _header()
