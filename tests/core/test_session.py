"""One append: what it gives back, in which order it checks, and that a refusal leaves no trace."""

import enum
import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from dsh_session import Replace, Session, SessionError, loads

from .payloads import LOG_ONLY_TYPES, ROUTE, SURFACE_TYPES, Ticks, conversation, payload, session
from .refusals import assert_agrees, refused, shown


def test_events_are_numbered_from_zero_by_the_length_of_the_log() -> None:
    log = session()
    for seq in range(5):
        assert log.seq == seq
        assert log.append("todo/write", payload("todo/write")).seq == seq
    assert [event.seq for event in log.events] == [0, 1, 2, 3, 4]


def test_the_clock_is_read_once_per_append_and_once_for_the_header() -> None:
    log = conversation()
    assert log.header.created_at == 1000
    assert [event.time for event in log.events] == list(range(1001, 1008))


def test_the_callers_payload_is_neither_frozen_nor_shared() -> None:
    data = payload("user/message")
    log = session()
    event = log.append("user/message", data, surface_op="append")
    data["content"][0]["text"] = "changed"
    data["content"].append("junk")
    del data["source"]
    assert event.data == payload("user/message")
    assert log.derive_messages()[0]["content"] == payload("user/message")["content"]


def test_the_callers_metadata_is_neither_frozen_nor_shared() -> None:
    log = session()
    log.append("user/message", payload("user/message"), surface_op="append")
    op, sources = {"op": "replace", "start": 0, "end": 0}, [0]
    event = log.append("user/message", payload("user/message"), surface_op=op, source_event_seqs=sources)
    op["start"] = 7
    sources.append(9)
    assert event.surface_op == Replace(0, 0)
    assert event.source_event_seqs == [0]
    assert_agrees(log)


@pytest.mark.parametrize("type_", [*LOG_ONLY_TYPES, *SURFACE_TYPES])
def test_every_core_type_can_be_appended(type_: str) -> None:
    log = session()
    surface_op = {"surface_op": "append"} if type_ in SURFACE_TYPES else {}
    event = log.append(type_, payload(type_), **surface_op)
    assert event.data == payload(type_)
    assert_agrees(log)


@pytest.mark.parametrize("type_", ["plugin/own", "x", "", "日本", "a b", "__proto__", "turn/START", "\ud83d"])
@pytest.mark.parametrize("data", [None, 7, "x", [], {"content": None}])
def test_an_unregistered_type_is_log_only_and_takes_any_value(type_: str, data: Any) -> None:
    log = session()
    event = log.append(type_, data)
    assert (event.type, event.data, event.surface_op) == (type_, data, None)
    again = loads(log.to_jsonl())
    assert (again.events[0].type, again.events[0].data) == (type_, data)
    assert again.to_jsonl() == log.to_jsonl()


@pytest.mark.parametrize("type_", [None, 7, True, b"turn/start", ["turn/start"], {}, ("turn/start",), math.nan])
def test_a_type_that_is_no_string_is_refused(type_: Any) -> None:
    log = conversation()
    before = shown(log)
    with pytest.raises((SessionError, TypeError)):
        log.append(type_, {"turn": 1})
    assert shown(log) == before
    assert log.append("todo/write", payload("todo/write")).seq == 7


class _Name(enum.StrEnum):
    START = "turn/start"
    APPEND = "append"


def test_a_type_that_only_looks_like_a_string_is_refused_or_stored_as_the_string() -> None:
    log = session()
    try:
        event = log.append(_Name.START, payload("turn/start"))
    except (SessionError, TypeError):
        assert log.seq == 0
    else:
        assert type(event.type) is str
        assert_agrees(log)


# ---------------------------------------------------------------------------------------------- views of the log


def test_the_events_are_an_immutable_sequence_of_fixed_length() -> None:
    log = conversation()
    events = log.events
    assert isinstance(events, Sequence)
    assert len(events) == 7
    assert events[0].seq == 0
    assert events[-1].seq == 6
    assert [event.seq for event in events[2:4]] == [2, 3]
    assert [event.seq for event in events[::-2]] == [6, 4, 2, 0]
    assert [event.seq for event in reversed(events)] == [6, 5, 4, 3, 2, 1, 0]
    assert events[3] in events
    assert events.index(events[3]) == 3
    for wrong in (7, -8, 2**70):
        with pytest.raises(IndexError):
            events[wrong]
    with pytest.raises(TypeError):
        events["0"]
    iterator = iter(events)
    next(iterator)
    log.append("turn/end", payload("turn/end"))
    assert len(events) == len([*events]) == 7
    assert len([*iterator]) == 6
    assert len(log.events) == 8


def test_the_view_of_the_events_is_the_same_object_until_an_append_is_accepted() -> None:
    log = conversation()
    events = log.events
    assert log.events is events
    with refused(log, "SURFACE_MARKER_REQUIRED"):
        log.append("user/message", payload("user/message"))
    assert log.events is events
    log.append("turn/end", payload("turn/end"))
    assert log.events is not events
    assert len(events) == 7


def test_getting_the_events_costs_the_same_for_any_length() -> None:
    log = session()
    for _ in range(3_000):
        log.append("todo/write", {"todos": []})
    views = [log.events for _ in range(20_000)]  # 60 million items, were they copied
    assert all(len(view) == 3_000 for view in views)


# -------------------------------------------------------------------------------------------- order of the checks

Spoil = Callable[[dict[str, Any], dict[str, Any]], Any]

HEADER_FAULTS: list[tuple[str, Spoil]] = [
    ("NOT_JSON", lambda data, _: data.update(x=math.nan)),
    ("LEGACY_HEADER", lambda data, _: data.update(reason="fallback")),
    ("NOT_JSON_METADATA", lambda _, options: options.update(source_event_seqs=[math.nan])),
    ("BAD_CLOCK", lambda _, options: options.update(now=-1)),
    ("SURFACE_NOT_ELIGIBLE", lambda _, options: options.update(surface_op="append")),
    ("PAYLOAD_INVALID", lambda data, _: data["header"].update(system=7)),
    ("MISSING_ROUTE", lambda data, _: data["header"]["config"].update(model="")),
]
ANSWER_FAULTS: list[tuple[str, Spoil]] = [
    ("NOT_JSON", lambda data, _: data.update(x=(1,))),
    ("NOT_JSON_METADATA", lambda _, options: options.update(surface_op={"op": ("replace",)})),
    ("BAD_CLOCK", lambda _, options: options.update(now=0.5)),
    ("PROVENANCE_NOT_EARLIER", lambda _, options: options.update(source_event_seqs=[99])),
    ("PAYLOAD_INVALID", lambda data, _: data.update(turn="one")),
    ("MISSING_ROUTE", lambda data, _: data["provenance"].update(provider="")),
]
DELTA_FAULTS: list[tuple[str, Spoil]] = [
    ("NOT_JSON", lambda data, _: data.update(x={1})),
    ("LEGACY_HEADER", lambda _, options: options.update(type="request/header-delta")),
    ("NOT_JSON_METADATA", lambda _, options: options.update(surface_op=b"append")),
    ("BAD_CLOCK", lambda _, options: options.update(now="now")),
    ("SURFACE_NOT_ELIGIBLE", lambda _, options: options.update(source_event_seqs=[0])),
]


@pytest.mark.parametrize(
    ("type_", "faults"),
    [("request/header", HEADER_FAULTS), ("assistant/message", ANSWER_FAULTS), ("todo/write", DELTA_FAULTS)],
    ids=["header", "answer", "delta"],
)
def test_of_several_faults_the_earliest_check_is_named(type_: str, faults: list[tuple[str, Spoil]]) -> None:
    for count in range(1, len(faults) + 1):
        for chosen in itertools.combinations(faults, count):
            data = payload(type_)
            options: dict[str, Any] = {"surface_op": "append"} if type_ in SURFACE_TYPES else {}
            for _, spoil in chosen:
                spoil(data, options)
            now = [0]
            log = Session("s", clock=partial(now.__getitem__, 0))
            log.append("turn/start", payload("turn/start"))
            now[0] = options.pop("now", 0)
            with refused(log, chosen[0][0]):
                log.append(options.pop("type", type_), data, **options)
            now[0] = 5
            assert log.append("turn/start", payload("turn/start")).seq == 1
            assert_agrees(log)


@pytest.mark.parametrize(
    "now",
    [
        -1,
        0.5,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        2**53,
        float(2**53),
        True,
        False,
        None,
        "1000",
        [1],
        1j,
        np.int64(5),
        {},
    ],
)
def test_a_clock_that_gives_no_time_is_refused_whatever_the_event(now: Any) -> None:
    clock = Ticks()
    for check_payloads in (True, False):
        log = Session("s", clock=clock, check_payloads=check_payloads)
        log.append("turn/start", payload("turn/start"))
        good, log._clock = log._clock, lambda: now
        with refused(log, "BAD_CLOCK"):
            log.append("turn/start", payload("turn/start"))
        with refused(log, "BAD_CLOCK"):
            log.append("user/message", payload("user/message"), surface_op="append")
        log._clock = good
        assert log.append("turn/start", payload("turn/start")).seq == 1


@pytest.mark.parametrize("now", [0, 1.0, 2**53 - 1, 0.0])
def test_a_clock_may_give_any_non_negative_integer(now: float) -> None:
    event = Session("s", clock=lambda: now).append("turn/start", payload("turn/start"))
    assert event.time == now
    assert type(event.time) is int
    assert "." not in event.to_json().partition('"data"')[0]


def test_a_clock_that_raises_passes_its_error_on_and_leaves_no_trace() -> None:
    times: list[int] = [1, 2]

    def clock() -> int:
        return times.pop()

    log = Session("s", clock=clock)
    log.append("turn/start", payload("turn/start"))
    before = shown(log)
    with pytest.raises(IndexError):
        log.append("user/message", payload("user/message"), surface_op="append")
    assert shown(log) == before
    times.append(3)
    assert log.append("user/message", payload("user/message"), surface_op="append").seq == 1
    assert_agrees(log)


def test_a_clock_that_appends_is_refused_and_the_outer_append_goes_on() -> None:
    codes: list[str] = []
    logs: list[Session] = []

    def clock() -> int:
        if logs and not codes:
            try:
                logs[0].append("todo/write", payload("todo/write"))
            except SessionError as error:
                codes.append(error.code)
        return 5

    log = Session("s", clock=clock)
    logs.append(log)
    assert log.append("turn/start", payload("turn/start")).seq == 0
    assert codes == ["APPEND_REENTERED"]
    assert log.append("turn/start", payload("turn/start")).seq == 1
    assert_agrees(log)


def test_a_clock_that_reads_the_session_sees_it_as_it_was() -> None:
    seen: list[tuple[int, int, int]] = []
    logs: list[Session] = []

    def clock() -> int:
        seen.extend((log.seq, len(log.events), len(log.derive_messages())) for log in logs)
        return 5

    log = Session("s", clock=clock)
    logs.append(log)
    log.append("user/message", payload("user/message"), surface_op="append")
    log.append("user/message", payload("user/message"), surface_op="append")
    assert seen == [(0, 0, 0), (1, 1, 1)]


# ----------------------------------------------------------------------------------------- refusals of other kinds


@pytest.mark.parametrize(
    "option",
    [
        {"surface_op": math.nan},
        {"surface_op": b"append"},
        {"surface_op": ("append",)},
        {"surface_op": _Name.APPEND},
        {"surface_op": np.array(["append", "append"])},
        {"surface_op": np.str_("append")},
        {"surface_op": {"op": "replace", "start": (0,), "end": 0}},
        {"surface_op": {"op": "replace", "start": 2**53, "end": 0}},
        {"surface_op": {"op": "replace", "start": -0.0, "end": 0}},
        {"surface_op": {1: 2}},
        {"surface_op": "append", "source_event_seqs": (0,)},
        {"surface_op": "append", "source_event_seqs": [math.inf]},
        {"surface_op": "append", "source_event_seqs": [-0.0]},
        {"surface_op": "append", "source_event_seqs": {0}},
        {"surface_op": "append", "source_event_seqs": range(1)},
        {"surface_op": "append", "source_event_seqs": [np.int64(0)]},
        {"surface_op": "append", "source_event_seqs": np.array([0])},
        {"surface_op": "append", "source_event_seqs": [2**53]},
    ],
    ids=repr,
)
def test_surface_metadata_that_is_no_json_is_refused(option: dict[str, Any]) -> None:
    log = conversation()
    name = "source_event_seqs" if "source_event_seqs" in option else "surface_op"
    with refused(log, "NOT_JSON_METADATA", "$"):
        log.append("user/message", payload("user/message"), **option)
    with refused(log, "NOT_JSON_METADATA", name):
        log.append("todo/write", payload("todo/write"), **option)
    assert log.append("user/message", payload("user/message"), surface_op="append").seq == 7


def test_metadata_that_claims_to_equal_everything_is_still_looked_at() -> None:
    class Chameleon:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash("append")

    log = conversation()
    with refused(log, "NOT_JSON_METADATA"):
        log.append("user/message", payload("user/message"), surface_op=Chameleon())


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("request/header-delta", {}),
        ("request/header-delta", None),
        ("request/header", {"header": {"config": ROUTE}, "reason": "fallback"}),
        ("request/header", {"reason": "fallback"}),
    ],
)
@pytest.mark.parametrize("check_payloads", [True, False])
def test_legacy_vocabulary_is_refused(type_: str, data: Any, check_payloads: bool) -> None:
    log = conversation(check_payloads=check_payloads)
    with refused(log, "LEGACY_HEADER", "fallback" if data else "request/header-delta"):
        log.append(type_, data)
    assert log.append("request/header", payload("request/header")).seq == 7


@pytest.mark.parametrize("field", ["provider", "model"])
def test_a_route_is_required_of_answers_and_headers(field: str) -> None:
    log = conversation()
    answer, header = payload("assistant/message"), payload("request/header")
    answer["provenance"][field] = ""
    header["header"]["config"][field] = ""
    with refused(log, "MISSING_ROUTE", f"$.provenance.{field}"):
        log.append("assistant/message", answer, surface_op="append")
    with refused(log, "MISSING_ROUTE", f"$.header.config.{field}"):
        log.append("request/header", header)
    for value in (None, 7, True, []):
        answer["provenance"][field] = value
        with refused(log, "PAYLOAD_INVALID", f"$.provenance.{field}"):
            log.append("assistant/message", answer, surface_op="append")
    del header["header"]["config"][field]
    with refused(log, "PAYLOAD_INVALID", f"$.header.config.{field}"):
        log.append("request/header", header)


@pytest.mark.parametrize("field", ["provider", "model"])
def test_with_payload_checks_off_no_route_is_required_of_an_append(field: str) -> None:
    log = session(check_payloads=False)
    answer, header = payload("assistant/message"), payload("request/header")
    answer["provenance"][field] = ""
    del header["header"]["config"][field]
    assert log.append("assistant/message", answer, surface_op="append").seq == 0
    assert log.append("request/header", header).seq == 1
    with pytest.raises(SessionError) as caught:
        Session("t", seed=log.events)
    assert (caught.value.code, caught.value.index) == ("MISSING_ROUTE", 0)


def test_with_payload_checks_off_a_payload_may_have_any_shape() -> None:
    log = session(check_payloads=False)
    for type_ in LOG_ONLY_TYPES:
        if type_ != "request/header":
            log.append(type_, [type_])
    log.append("user/message", {"content": [{}]}, surface_op="append")
    assert log.seq == 9
    assert_agrees(log)


def test_an_error_can_be_caught_pickled_and_read() -> None:
    import pickle

    with pytest.raises(SessionError) as caught:
        Session("s", seed=[{"type": "x", "seq": 0, "time": 0, "data": 1}, None])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, again.index, again.line, str(again)) == ("SEED_ENVELOPE", 1, None, str(caught.value))
    assert type(again) is type(caught.value)
    assert isinstance(again, Exception)


def test_a_session_that_was_not_loaded_has_no_findings() -> None:
    assert list(session().findings) == list(conversation().findings) == []


def test_a_session_id_is_a_string() -> None:
    for wrong in (7, None, b"s", True):
        with pytest.raises((TypeError, SessionError)):
            Session(wrong)


# ----------------------------------------------------------------------------------------------------- the text


def test_the_text_of_a_session_is_a_header_line_and_one_line_per_event() -> None:
    log = conversation()
    lines = log.to_jsonl().split(b"\n")
    assert lines[-1] == b""
    assert len(lines) == 9
    assert lines[0] == b'{"type":"session","version":0,"id":"s","createdAt":1000}'
    trigger = b'"trigger":{"kind":"message","source":{"kind":"user"}}'
    assert lines[1] == b'{"type":"turn/start","seq":0,"time":1001,"data":{"turn":1,' + trigger + b"}}"
    assert lines[6].endswith(b'"isError":false},"sourceEventSeqs":[4],"surfaceOp":"append"}')


def test_the_text_of_an_empty_session_is_its_header() -> None:
    assert session().to_jsonl() == b'{"type":"session","version":0,"id":"s","createdAt":1000}\n'


def test_what_was_written_is_read_back() -> None:
    log = conversation()
    log.append("user/message", payload("user/message", "sum"), surface_op=Replace(1, 3), source_event_seqs=[3, 1, 0])
    again = loads(log.to_jsonl())
    assert shown(again) == shown(log)


# --------------------------------------------------------------------------------------------------- many threads


def _switching_clock() -> int:
    """A clock in whose middle another thread gets its turn."""
    time.sleep(0)
    return 5


def test_eight_threads_append_to_one_session() -> None:
    log = Session("s", clock=_switching_clock)
    log.append("user/message", payload("user/message", "start"), surface_op="append")
    each, workers = 200, 8
    returned: list[list[Any]] = [[] for _ in range(workers)]
    errors: list[BaseException] = []
    barrier = threading.Barrier(workers + 1)
    done = threading.Event()

    def work(number: int) -> None:
        try:
            barrier.wait()
            for count in range(each):
                words = f"{number}:{count}"
                if count % 3:
                    event = log.append("user/message", payload("user/message", words), surface_op="append")
                else:
                    event = log.append("todo/write", payload("todo/write", words))
                returned[number].append((event, words))
        except BaseException as error:  # noqa: BLE001 (shown by the assertion below)
            errors.append(error)

    def read() -> None:
        try:
            barrier.wait()
            while not done.is_set():
                events, nodes = log.events, log.surface.nodes
                assert [event.seq for event in events] == list(range(len(events)))
                assert list(nodes) == sorted(nodes)
                messages = log.derive_messages()
                assert len(messages) <= len(log.surface)
                assert log.to_jsonl().count(b"\n") >= len(events) + 1
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    reader = threading.Thread(target=read)
    for thread in (*threads, reader):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    reader.join()
    assert errors == []
    assert log.seq == 1 + each * workers
    seen = set()
    for pairs in returned:
        seqs = [event.seq for event, _ in pairs]
        assert seqs == sorted(seqs)
        for event, words in pairs:
            assert log.events[event.seq] is event
            assert words in event.to_json()
            seen.add(event.seq)
    assert seen == set(range(1, log.seq))
    assert_agrees(log)


def test_threads_that_replace_the_same_node_take_turns() -> None:
    log = Session("s", clock=_switching_clock)
    log.append("user/message", payload("user/message"), surface_op="append")
    outcomes: list[str] = []

    def work() -> None:
        for _ in range(60):
            node = log.surface.nodes[0]
            assert len(log.derive_messages()) == len(log.messages) == 1
            try:
                log.append(
                    "user/message", payload("user/message"), surface_op=Replace(node, node), source_event_seqs=[node]
                )
            except SessionError as error:
                outcomes.append(error.code)
            else:
                outcomes.append("replaced")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) <= {"replaced", "RANGE_NOT_FOUND"}
    assert outcomes.count("replaced") == log.surface.replace_generation == log.seq - 1
    assert len(log.surface) == 1
    assert_agrees(log)
