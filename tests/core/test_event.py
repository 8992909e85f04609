"""The event envelope: what an event is made of, and its three forms."""

import json

import pytest

from dsh_session import Replace, loads

from .payloads import SURFACE_TYPES, conversation, payload, session


def test_an_event_has_its_parts() -> None:
    log = conversation()
    event = log.events[5]
    assert (event.type, event.seq, event.time) == ("tool/result", 5, 1006)
    assert event.data["callId"] == "c1"
    assert event.surface_op == "append"
    assert event.source_event_seqs == [4]


def test_a_log_only_event_has_no_surface_metadata() -> None:
    event = conversation().events[0]
    assert event.surface_op is None
    assert event.source_event_seqs is None
    assert event.to_dict().keys() == {"type", "seq", "time", "data"}


def test_the_wire_form_keeps_the_order_of_the_original() -> None:
    log = conversation()
    log.append("user/message", payload("user/message"), surface_op=Replace(1, 5), source_event_seqs=[1, 3, 5])
    assert list(log.events[0].to_dict()) == ["type", "seq", "time", "data"]
    assert list(log.events[1].to_dict()) == ["type", "seq", "time", "data", "surfaceOp"]
    assert list(log.events[7].to_dict()) == ["type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp"]


def test_the_json_form_is_one_line_of_the_log() -> None:
    log = conversation()
    lines = log.to_jsonl().decode().split("\n")
    assert lines[-1] == ""
    assert [event.to_json() for event in log.events] == lines[1:-1]
    for event in log.events:
        assert json.loads(event.to_json()) == event.to_dict()
        assert "\n" not in event.to_json()


def test_the_json_form_is_compact_and_keeps_non_ascii_text() -> None:
    event = session().append("plugin/value", {"text": "é 日本 🙂", "n": [1, 2.5]})
    assert '"data":{"text":"é 日本 🙂","n":[1,2.5]}' in event.to_json()


@pytest.mark.parametrize("type_", SURFACE_TYPES)
def test_extra_fields_of_a_payload_survive(type_: str) -> None:
    log = session()
    data = {**payload(type_), "x-vendor": {"deep": [1, None, {"a": -1.5}]}}
    data["content"] = [{**data["content"][0], "cache": True}]
    event = log.append(type_, data, surface_op="append")
    assert event.data == data
    assert list(event.data) == list(data)
    assert loads(log.to_jsonl()).events[0].data == data


def test_an_event_has_a_short_repr_without_its_text() -> None:
    event = session().append("plugin/value", {"text": "x" * 10_000})
    assert len(repr(event)) < 200
    assert "plugin/value" in repr(event)


def test_equal_events_are_equal_and_different_ones_are_not() -> None:
    one, two = conversation(), conversation()
    assert list(one.events) == list(two.events)
    assert one.events[0] != one.events[1]
    assert one.events[0] != one.events[0].to_dict()
    assert len({*one.events, *two.events}) == one.seq


def test_the_same_event_object_is_returned_logged_and_shown() -> None:
    log = session()
    event = log.append("turn/start", payload("turn/start"))
    assert event is log.events[0]
    assert event is log.events[-1]
    assert event is next(iter(log.events))
    assert event.data is event.data
