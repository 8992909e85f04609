"""Seeds: every check, the event it is about, and the order of the checks."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dsh_session import Session, SessionError

from .payloads import ROUTE, conversation, payload, wire_event
from .refusals import assert_agrees, shown

START = wire_event("turn/start", 0)


def _refusal(seed: Any, **options: Any) -> SessionError:
    with pytest.raises(SessionError) as caught:
        Session("s", seed=seed, **options)
    return caught.value


class _DictOfItsOwn(dict[str, Any]):
    pass


def _without(event: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in names}


# a second event that is refused, by code; the first is a good one
REFUSALS: dict[str, list[Any]] = {
    "NOT_JSON": [
        {**wire_event("turn/start", 1), "data": math.nan},
        {**wire_event("turn/start", 1), "data": {"x": (1,)}},
        {**wire_event("turn/start", 1), "seq": -0.0},
        {**wire_event("turn/start", 1), "time": math.inf},
        {**wire_event("turn/start", 1), "stray": {1}},
        {**wire_event("turn/start", 1), 7: 1},
        {**wire_event("user/message", 1), "surfaceOp": ("append",)},
        {**wire_event("user/message", 1), "sourceEventSeqs": (0,)},
        _DictOfItsOwn(wire_event("turn/start", 1)),
        (1, 2),
        b"{}",
        object(),
    ],
    "LEGACY_HEADER": [
        {"type": "request/header-delta", "seq": 1, "time": 1, "data": {}},
        {"type": "request/header-delta"},
        {"type": "request/header-delta", "seq": 99, "time": -1, "data": None, "stray": 1},
        wire_event("request/header", 1, data={"header": {"config": ROUTE}, "reason": "fallback"}),
        wire_event("request/header", 7, data={"header": {"config": ROUTE}, "reason": "fallback"}),
    ],
    "SEED_ENVELOPE": [
        {**wire_event("turn/start", 1), "seq": 2**53},
        None,
        [],
        "x",
        7,
        True,
        {},
        {**wire_event("turn/start", 1), "stray": 1},
        {**wire_event("turn/start", 1), "__proto__": 1},
        {**wire_event("turn/start", 1), "surface_op": "append"},
        *(_without(wire_event("turn/start", 1), name) for name in ("type", "seq", "time", "data")),
        *({**wire_event("turn/start", 1), "type": value} for value in (1, None, True, ["x"], {})),
        *({**wire_event("turn/start", 1), "seq": value} for value in (-1, 0.5, True, None, "1", [], float(2**53))),
        *({**wire_event("turn/start", 1), "time": value} for value in (-1, 0.5, False, None, "1", [], float(2**53))),
    ],
    "MISSING_ROUTE": [
        *(
            wire_event("assistant/message", 1, data={"turn": 1, "step": 1, "content": [], "provenance": value})
            for value in (
                None,
                {},
                [],
                ["p", "m"],
                "p",
                {"provider": "p"},
                {"model": "m"},
                {"provider": "", "model": "m"},
                {"provider": "p", "model": ""},
                {"provider": 7, "model": "m"},
                {"provider": "p", "model": True},
                {"provider": None, "model": None},
            )
        ),
        wire_event("assistant/message", 1, data={"turn": 1, "step": 1, "content": []}),
        *(
            wire_event("request/header", 1, data=data)
            for data in (
                {},
                {"header": None},
                {"header": "old"},
                {"header": []},
                {"header": {}},
                {"header": {"config": None}},
                {"header": {"config": []}},
                {"header": {"config": {"provider": "p"}}},
                {"header": {"config": {"model": "m"}}},
                {"header": {"config": {"provider": "", "model": "m"}}},
                {"header": {"config": {"provider": "p", "model": ""}}},
                {"header": {"config": {"provider": "p", "model": 7}}},
                {"header": {}, "reason": "fallback"},
            )
        ),
    ],
    "SEED_NOT_CONTIGUOUS": [wire_event("turn/start", seq) for seq in (0, 2, 99)]
    + [{**wire_event("turn/start", 1), "seq": 2**53 - 1}],
    "SURFACE_NOT_ELIGIBLE": [{**wire_event("turn/start", 1), "surfaceOp": value} for value in ("append", None, 7)],
    "SURFACE_MARKER_REQUIRED": [_without(wire_event("user/message", 1), "surfaceOp")],
    "BAD_SURFACE_OP": [wire_event("user/message", 1, surface_op=value) for value in (None, "x", 7)],
    "PROVENANCE_NOT_ARRAY": [{**wire_event("user/message", 1), "sourceEventSeqs": value} for value in (None, "x", 7)],
}


@pytest.mark.parametrize(
    ("code", "event"), [(code, event) for code, events in REFUSALS.items() for event in events], ids=repr
)
def test_an_event_that_no_log_may_hold_is_refused_with_its_index(code: str, event: Any) -> None:
    error = _refusal([START, event])
    assert (error.code, error.index) == (code, 1)
    assert "1" in str(error)


@pytest.mark.parametrize("code", [code for code in REFUSALS if code != "SEED_NOT_CONTIGUOUS"])
def test_with_payload_checks_off_the_same_is_refused(code: str) -> None:
    for event in REFUSALS[code]:
        error = _refusal([START, event], check_payloads=False)
        assert (error.code, error.index) == (code, 1)


@pytest.mark.parametrize("data", [None, [], "x", 7])
@pytest.mark.parametrize("type_", ["request/header", "assistant/message"])
def test_a_route_is_missing_where_there_is_no_payload(type_: str, data: Any) -> None:
    assert (_refusal([wire_event(type_, 0, data=data)])).code == "MISSING_ROUTE"


def test_a_first_event_that_does_not_start_at_zero_is_refused() -> None:
    error = _refusal([wire_event("turn/start", 1)])
    assert (error.code, error.index) == ("SEED_NOT_CONTIGUOUS", 0)


# faults of one event that can be combined, in the order of the checks
HEADER_FAULTS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("NOT_JSON", lambda e: e["data"].update(x=math.nan)),
    ("SEED_ENVELOPE", lambda e: e.update(time=-1)),
    ("MISSING_ROUTE", lambda e: e["data"]["header"]["config"].update(provider="")),
    ("LEGACY_HEADER", lambda e: e["data"].update(reason="fallback")),
    ("SEED_NOT_CONTIGUOUS", lambda e: e.update(seq=5)),
    ("SURFACE_NOT_ELIGIBLE", lambda e: e.update(surfaceOp="append")),
]
DELTA_FAULTS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("NOT_JSON", lambda e: e["data"].update(x=math.nan)),
    ("LEGACY_HEADER", lambda e: e.update(type="request/header-delta")),
    ("SEED_ENVELOPE", lambda e: e.update(stray=1)),
    ("SEED_NOT_CONTIGUOUS", lambda e: e.update(seq=5)),
]
ANSWER_FAULTS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("NOT_JSON", lambda e: e["data"].update(x=math.nan)),
    ("SEED_ENVELOPE", lambda e: e.update(time=0.5)),
    ("MISSING_ROUTE", lambda e: e["data"].update(provenance={})),
    ("SEED_NOT_CONTIGUOUS", lambda e: e.update(seq=0)),
    ("BAD_SURFACE_OP", lambda e: e.update(surfaceOp="x")),
]


@pytest.mark.parametrize(
    ("type_", "faults"),
    [("request/header", HEADER_FAULTS), ("turn/start", DELTA_FAULTS), ("assistant/message", ANSWER_FAULTS)],
    ids=["header", "delta", "answer"],
)
def test_of_several_faults_the_earliest_check_is_named(
    type_: str, faults: list[tuple[str, Callable[[dict[str, Any]], Any]]]
) -> None:
    for count in range(1, len(faults) + 1):
        for chosen in itertools.combinations(faults, count):
            event = wire_event(type_, 1)
            for _, spoil in chosen:
                spoil(event)
            error = _refusal([START, event])
            assert (error.code, error.index) == (chosen[0][0], 1), event


def test_a_seed_is_checked_event_by_event() -> None:
    late = {**wire_event("turn/start", 0), "surfaceOp": "append"}
    early = {**wire_event("turn/start", 1), "data": math.nan}
    error = _refusal([late, early])
    assert (error.code, error.index) == ("SURFACE_NOT_ELIGIBLE", 0)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        iter,
        lambda events: (event for event in events),
        lambda events: [event.to_dict() for event in events],
        lambda events: [e.to_dict() if e.seq % 2 else e for e in events],
        lambda events: events,
    ],
    ids=["list", "tuple", "iterator", "generator", "wire", "mixed", "view"],
)
def test_a_seed_may_be_events_or_wire_dicts_in_any_iterable(make: Callable[[Any], Any]) -> None:
    log = conversation()
    seeded = Session("t", seed=make(log.events), clock=lambda: 9)
    assert [e.to_dict() for e in seeded.events] == [e.to_dict() for e in log.events]
    assert seeded.derive_messages() == log.derive_messages()
    assert list(seeded.surface.nodes) == list(log.surface.nodes)
    assert seeded.request_header() == log.request_header()
    assert_agrees(seeded)
    assert seeded.append("turn/end", payload("turn/end")).seq == 7
    assert log.seq == 7


def test_an_empty_seed_is_a_seed() -> None:
    assert Session("s", seed=[]).seq == Session("s", seed=None).seq == 0


def test_a_seed_is_detached_from_the_callers_events() -> None:
    seed = [
        wire_event("user/message", 0),
        wire_event("user/message", 1, surface_op={"op": "replace", "start": 0, "end": 0}, sources=[0]),
    ]
    log = Session("s", seed=seed)
    before = shown(log)
    seed[0]["data"]["content"].append("junk")
    seed[1]["surfaceOp"]["start"] = 99
    seed[1]["sourceEventSeqs"].clear()
    seed.clear()
    assert shown(log) == before


def test_the_times_of_a_seed_are_kept_and_need_not_rise() -> None:
    seed = [{**wire_event("turn/start", seq), "time": time} for seq, time in enumerate([5, 0, 2**53 - 1, 3.0])]
    log = Session("s", seed=seed)
    assert [event.time for event in log.events] == [5, 0, 2**53 - 1, 3]
    assert all(type(event.time) is int for event in log.events)


def test_an_integral_float_counts_as_the_integer() -> None:
    seed = [
        {**wire_event("user/message", 0), "seq": 0.0, "time": 7.0},
        wire_event("user/message", 1, surface_op={"op": "replace", "start": 0.0, "end": 0}, sources=[0.0]),
    ]
    log = Session("s", seed=seed)
    assert (log.events[0].seq, type(log.events[0].seq), log.events[0].time) == (0, int, 7)
    assert list(log.surface.nodes) == [1]
    assert log.events[1].source_event_seqs == [0]
    assert (log.events[1].surface_op or {})["start"] == 0
    assert_agrees(log)


# what comes from outside is held to what replay needs and no more
MALFORMED: list[dict[str, Any]] = [
    wire_event("turn/start", 0, data=None),
    wire_event("turn/start", 0, data={"turn": "one"}),
    wire_event("turn/end", 0, data=[]),
    wire_event("assistant/chunk", 0, data={"chunk": {"type": "unheard-of"}}),
    wire_event("todo/write", 0, data={"todos": [{"status": "later"}]}),
    wire_event("request/header", 0, data={"header": {"config": ROUTE, "tools": "{{tools}}"}, "reason": 7}),
    wire_event("user/message", 0, data={"content": [{"type": "text"}], "source": None}),
    wire_event("tool/result", 0, data={"content": []}),
    wire_event("assistant/message", 0, data={"content": [{}], "provenance": ROUTE, "usage": "x"}),
    {"type": "", "seq": 0, "time": 0, "data": 1},
    {"type": "compact/summary", "seq": 0, "time": 0, "data": {"content": None}},
]


@pytest.mark.parametrize("check_payloads", [True, False])
@pytest.mark.parametrize("event", MALFORMED, ids=repr)
def test_a_malformed_payload_is_no_reason_to_refuse_a_seed(event: dict[str, Any], check_payloads: bool) -> None:
    log = Session("s", seed=[event], check_payloads=check_payloads)
    assert log.events[0].to_dict() == event
    assert log.events[0].data == event["data"]


def test_a_failing_iterator_of_a_seed_passes_its_own_error_on() -> None:
    def events() -> Iterator[dict[str, Any]]:
        yield START
        raise LookupError("the source broke")

    with pytest.raises(LookupError, match="the source broke"):
        Session("s", seed=events())


@pytest.mark.parametrize("seed", [7, True, object()])
def test_a_seed_that_cannot_be_iterated_is_refused(seed: Any) -> None:
    with pytest.raises((TypeError, SessionError)):
        Session("s", seed=seed)


def test_a_session_appends_after_its_seed() -> None:
    log = Session("s", seed=conversation().events, clock=lambda: 77)
    event = log.append("user/message", payload("user/message", "new"), surface_op="append", source_event_seqs=[0, 6])
    assert (event.seq, event.time) == (7, 77)
    assert list(log.surface.nodes) == [1, 3, 5, 7]
    assert_agrees(log)


def test_every_live_log_is_an_acceptable_seed() -> None:
    log = conversation()
    for _ in range(3):
        log = Session("s", seed=log.events, clock=lambda: 5)
        log.append("user/message", payload("user/message"), surface_op="append")
    assert log.seq == 10


def test_a_log_made_with_checks_off_says_what_keeps_it_from_being_a_seed() -> None:
    log = conversation(check_payloads=False)
    log.append("assistant/message", {"content": []}, surface_op="append")
    error = _refusal(log.events)
    assert (error.code, error.index) == ("MISSING_ROUTE", 7)
    error = _refusal([event.to_dict() for event in log.events])
    assert (error.code, error.index) == ("MISSING_ROUTE", 7)
