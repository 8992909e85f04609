"""Lossless JSON: what is a value, what is not, and where the first offence lies."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import math
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import dsh_session
from dsh_session import Replace, Session, SessionError, is_json_value, loads, snapshot_json_value, thaw
from dsh_session.core.lossless import may_lose_a_number
from tests.strategies import json_values, paired_texts

from .payloads import payload, session, text
from .refusals import assert_agrees, refused

LARGEST_EXACT = 2**53 - 1
LEVELS = 500
PACKAGE = Path(dsh_session.__file__).parent


class _Colour(enum.StrEnum):
    RED = "red"


class _Number(enum.IntEnum):
    ONE = 1


class _Str(str):
    __slots__ = ()


class _Int(int):
    pass


class _Float(float):
    pass


class _Dict(dict[str, Any]):
    pass


class _List(list[Any]):
    pass


class _Pair(NamedTuple):
    a: int
    b: int


@dataclasses.dataclass
class _Record:
    a: int = 1


class _Mapping(collections.abc.Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


NOT_JSON: dict[str, Any] = {
    "tuple": (1, 2),
    "named tuple": _Pair(1, 2),
    "set": {1},
    "frozenset": frozenset({1}),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"x"),
    "Decimal": decimal.Decimal(1),
    "Fraction": fractions.Fraction(1, 2),
    "complex": 1j,
    "datetime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "date": dt.date(2026, 1, 1),
    "StrEnum": _Colour.RED,
    "IntEnum": _Number.ONE,
    "enum class": _Colour,
    "dataclass": _Record(),
    "str subclass": _Str("x"),
    "int subclass": _Int(1),
    "float subclass": _Float(1.5),
    "dict subclass": _Dict(a=1),
    "list subclass": _List([1]),
    "OrderedDict": collections.OrderedDict(a=1),
    "defaultdict": collections.defaultdict(int, a=1),
    "Counter": collections.Counter("a"),
    "UserDict": collections.UserDict(a=1),
    "UserList": collections.UserList([1]),
    "UserString": collections.UserString("x"),
    "mapping proxy": types.MappingProxyType({"a": 1}),
    "mapping": _Mapping(),
    "deque": collections.deque([1]),
    "range": range(3),
    "generator": (x for x in [1]),
    "dict view": {"a": 1}.keys(),
    "function": len,
    "object": object(),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "module": json,
    "NaN": math.nan,
    "infinity": math.inf,
    "negative infinity": -math.inf,
    "negative zero": -0.0,
    "2**53": 2**53,
    "-2**53": -(2**53),
    "huge integer": 10**400,
    "numpy bool": np.bool_(True),
    "numpy int": np.int64(1),
    "numpy float": np.float64(1.5),
    "numpy str": np.str_("x"),
    "numpy array": np.array([1]),
    "pandas NA": pd.NA,
    "pandas Timestamp": pd.Timestamp("2026-01-01"),
    "int key": {1: 1},
    "None key": {None: 1},
    "bool key": {True: 1},
    "bytes key": {b"a": 1},
    "tuple key": {("a",): 1},
    "str subclass key": {_Str("a"): 1},
    "enum key": {_Colour.RED: 1},
}

JSON: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "largest": LARGEST_EXACT,
    "smallest": -LARGEST_EXACT,
    "float zero": 0.0,
    "integral float": 1.0,
    "integral float beyond 2**53": float(2**60),
    "largest double": sys.float_info.max,
    "smallest double": 5e-324,
    "negative": -1.5,
    "empty string": "",
    "NUL": "\0",
    "line separators": "\u2028\u2029\u0085",
    "byte order mark": "\ufeff",
    "astral": "🙂",
    "lone high surrogate": "\ud83d",
    "lone low surrogate": "\ude42x",
    "lone surrogate in a key": {"\ud83d": 1},
    "empty list": [],
    "empty object": {},
    "empty key": {"": 1},
    "proto key": {"__proto__": 1, "constructor": 2, "toJSON": 3},
    "nested": {"a": [1, [2.5, {"b": None}], "x"], "c": {"d": [True]}},
}


def _nested(levels: int, leaf: Any, kind: str = "list") -> Any:
    value = leaf
    for level in range(levels):
        keyed = kind == "object" or (kind == "mixed" and level % 2)
        value = {"k": value} if keyed else [value]
    return value


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, (dict, list)) and value:
        value = value["k"] if isinstance(value, dict) else value[0]
        depth += 1
    return depth


@pytest.mark.parametrize("value", JSON.values(), ids=JSON)
def test_a_json_value_is_accepted_everywhere(value: Any) -> None:
    log = session()
    assert is_json_value(value)
    assert snapshot_json_value(value) == value
    event = log.append("plugin/value", {"value": value})
    assert event.data == {"value": value}
    assert type(event.data["value"]) is type(value) or isinstance(value, (dict, list))
    again = loads(log.to_jsonl())
    assert again.events[0].data == {"value": value}
    assert again.to_jsonl() == log.to_jsonl()


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_no_json_value_is_refused_with_its_place(value: Any) -> None:
    log = session()
    log.append("plugin/value", {"good": 1})
    data = {"content": [{"text": "fine"}, {"text": value}]}
    assert not is_json_value(value)
    assert not is_json_value(data)
    with pytest.raises(SessionError) as caught:
        snapshot_json_value(data)
    assert caught.value.code == "NOT_JSON"
    assert "$.content[1].text" in str(caught.value)
    with refused(log, "NOT_JSON", "$.content[1].text"):
        log.append("plugin/value", data)
    with refused(log, "NOT_JSON", "$.content[1].text"):
        log.append("user/message", {"source": {"kind": "user"}, **data}, surface_op="append")
    with refused(log, "NOT_JSON", "$"):
        log.append("plugin/value", value)
    assert log.append("plugin/value", {"good": 2}).seq == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("tuple", "tuple"),
        ("bytes", "bytes"),
        ("Decimal", "Decimal"),
        ("datetime", "datetime"),
        ("IntEnum", "_Number"),
        ("dataclass", "_Record"),
        ("numpy int", "int64"),
        ("OrderedDict", "OrderedDict"),
        ("NaN", "nan"),
        ("infinity", "inf"),
        ("negative zero", "-0.0"),
        ("2**53", "beyond 2**53"),
        ("int key", "int"),
    ],
)
def test_a_refusal_says_what_the_value_is(name: str, word: str) -> None:
    with pytest.raises(SessionError) as caught:
        snapshot_json_value([NOT_JSON[name]])
    assert word.lower() in str(caught.value).lower()


def test_the_first_offending_value_in_document_order_is_named() -> None:
    value = {"a": [1, {"b": (1,)}], "c": math.nan}
    with pytest.raises(SessionError) as caught:
        snapshot_json_value(value)
    assert "$.a[1].b" in str(caught.value)
    assert "$.c" not in str(caught.value)


def test_a_message_about_a_huge_integer_is_short() -> None:
    with pytest.raises(SessionError) as caught:
        snapshot_json_value([10**100_000])
    assert caught.value.code == "NOT_JSON"
    assert len(str(caught.value)) < 1_000


def test_a_message_about_a_value_whose_repr_fails_is_still_a_refusal() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(SessionError) as caught:
        snapshot_json_value([Rude()])
    assert caught.value.code == "NOT_JSON"


def test_a_message_never_holds_a_lone_surrogate_or_a_line_break_of_a_key() -> None:
    with pytest.raises(SessionError) as caught:
        snapshot_json_value({"\ud83d\n": ()})
    str(caught.value).encode()
    assert "\n" not in str(caught.value)


def _list_in_itself() -> Any:
    value: list[Any] = [1]
    value.append(value)
    return value


def _object_in_itself() -> Any:
    value: dict[str, Any] = {"a": 1}
    value["self"] = {"deep": [value]}
    return value


def _two_in_each_other() -> Any:
    one: list[Any] = []
    two = {"one": one}
    one.append(two)
    return one


@pytest.mark.parametrize("make", [_list_in_itself, _object_in_itself, _two_in_each_other])
def test_a_cycle_is_refused(make: Callable[[], Any]) -> None:
    log = session()
    value = make()
    assert not is_json_value(value)
    with pytest.raises(SessionError) as caught:
        snapshot_json_value(value)
    assert caught.value.code == "NOT_JSON"
    with refused(log, "NOT_JSON", "$"):
        log.append("plugin/value", value)
    with pytest.raises(SessionError) as caught:
        Session("s", seed=[{"type": "plugin/value", "seq": 0, "time": 0, "data": value}])
    assert (caught.value.code, caught.value.index) == ("NOT_JSON", 0)


def test_a_shared_part_without_a_cycle_is_copied() -> None:
    shared = {"x": [1]}
    value = {"a": shared, "b": [shared, shared]}
    assert is_json_value(value)
    log = session()
    event = log.append("plugin/value", value)
    shared["x"].append(2)
    assert event.data == {"a": {"x": [1]}, "b": [{"x": [1]}, {"x": [1]}]}


def test_a_snapshot_is_detached() -> None:
    value: dict[str, Any] = {"a": [1, {"b": 2}]}
    taken = snapshot_json_value(value)
    event = session().append("plugin/value", value)
    value["a"][1]["b"] = 3
    value["new"] = None
    assert taken == event.data == {"a": [1, {"b": 2}]}
    assert value == {"a": [1, {"b": 3}], "new": None}  # the caller's own object stays an ordinary dict


def test_what_the_package_hands_out_is_accepted_again() -> None:
    log = session()
    first = log.append("user/message", payload("user/message"), surface_op="append")
    assert is_json_value(first.data)
    assert is_json_value([first.data["content"]])
    assert snapshot_json_value(first.data) == thaw(first.data)
    second = log.append("context/message", {**first.data, "meta": first.data}, surface_op="append")
    assert second.data["meta"] == first.data
    replaced = log.append(
        "user/message", first.data, surface_op={"op": "replace", "start": 0, "end": 1}, source_event_seqs=[0, 1]
    )
    again = log.append(
        "user/message",
        {"content": log.messages[0]["content"], "source": {"kind": "user"}},
        surface_op="append",
        source_event_seqs=replaced.source_event_seqs,
    )
    assert again.source_event_seqs == [0, 1]
    third = log.append("user/message", first.data, surface_op=Replace(2, 3), source_event_seqs=[2, 3])
    copied = log.append(
        "user/message", first.data, surface_op={**third.surface_op, "start": 4, "end": 4}, source_event_seqs=[4]
    )
    assert copied.surface_op == Replace(4, 4)
    log.append("request/header", payload("request/header"))
    header = log.request_header()
    assert log.append("request/header", {"header": header, "reason": "change"}).data["header"] == header


@pytest.mark.parametrize("kind", ["list", "object", "mixed"])
def test_five_hundred_levels_are_accepted(kind: str) -> None:
    value = _nested(LEVELS - 1, {"k": 1} if kind == "object" else [1], kind)
    assert _depth(value) == LEVELS
    assert is_json_value(value)
    assert _depth(snapshot_json_value(value)) == LEVELS
    log = session()
    event = log.append("plugin/value", value)
    assert _depth(event.data) == LEVELS
    assert _depth(event.to_dict()["data"]) == LEVELS
    assert _depth(thaw(event.data)) == LEVELS
    assert _depth(Session("s", seed=[event.to_dict()]).events[0].data) == LEVELS
    assert _depth(Session("s", seed=log.events).events[0].data) == LEVELS
    again = loads(log.to_jsonl())
    assert _depth(again.events[0].data) == LEVELS
    assert again.to_jsonl() == log.to_jsonl()


def test_five_hundred_levels_are_accepted_in_a_message_and_in_metadata() -> None:
    log = session()
    content = [{**text("x"), "extra": _nested(LEVELS - 3, 1)}]
    log.append("context/message", {"content": content, "source": {"kind": "user"}}, surface_op="append")
    assert _depth(log.derive_messages()[0]["content"][1]["extra"]) == LEVELS - 3
    assert_agrees(log)


@pytest.mark.parametrize("kind", ["list", "object", "mixed"])
@pytest.mark.parametrize("levels", [LEVELS + 1, 900, 1_000, 1_100, 3_000, 20_000, 200_000])
def test_what_is_deeper_is_accepted_or_refused_and_nothing_else(levels: int, kind: str) -> None:
    value = _nested(levels, 1, kind)
    log = session()
    log.append("plugin/value", 1)
    accepted = is_json_value(value)
    try:
        event = log.append("plugin/value", value)
    except SessionError as error:
        assert error.code == "NOT_JSON"
        assert len(str(error)) < 1_000
        assert not accepted
        assert log.seq == 1
    else:
        assert accepted
        assert _depth(event.data) == levels
        assert_agrees(log)
    with suppress(SessionError):
        snapshot_json_value(value)
    with suppress(SessionError):
        Session("s", seed=[{"type": "plugin/value", "seq": 0, "time": 0, "data": value}])
    _take_apart(value)


def _take_apart(value: Any) -> None:
    """Free a deep value level by level."""
    while isinstance(value, (dict, list)) and value:
        value = value.pop("k") if isinstance(value, dict) else value.pop()


@pytest.mark.parametrize("levels", [LEVELS + 1, 1_000, 5_000, 100_000])
def test_a_line_of_a_log_that_is_too_deep_is_an_error_of_ours(levels: int) -> None:
    good = b'{"type":"session","version":0,"id":"s","createdAt":1}\n'
    line = b'{"type":"plugin/value","seq":0,"time":0,"data":' + b"[" * levels + b"]" * levels + b"}\n"
    end = b'{"type":"turn/end","seq":1,"time":0,"data":{"turn":1,"reason":{"kind":"completed"}}}\n'
    try:
        log = loads(good + line + end)
    except SessionError as error:
        assert error.line == 2
    else:
        assert _depth(log.events[0].data) >= LEVELS
        assert log.to_jsonl() == good + line + end


def _called_with_frames_left(left: int, call: Callable[[], Any]) -> Any:
    """Call a function when that many frames are left to the interpreter's limit."""
    frame: types.FrameType | None = sys._getframe()
    here = 0
    while frame is not None:
        here += 1
        frame = frame.f_back
    limit = sys.getrecursionlimit()

    def down(levels: int) -> Any:
        return call() if levels <= 0 else down(levels - 1)

    return down(limit - here - left - 2)


@pytest.mark.parametrize("left", [*range(20, 120, 5), 150, 200, 300, 400, 500, 600, 700])
@pytest.mark.parametrize("levels", [1, 60, 250, LEVELS])
def test_near_the_interpreters_limit_a_value_is_refused_and_never_a_recursion_error(left: int, levels: int) -> None:
    value = _nested(levels, 1, "mixed")
    log = session()
    log.append("plugin/value", 0)

    def attempt() -> Any:
        try:
            return log.append("plugin/value", value)
        except SessionError as error:
            return error

    outcome = _called_with_frames_left(left, attempt)
    if isinstance(outcome, SessionError):
        assert outcome.code == "NOT_JSON"
        assert log.seq == 1
    else:
        assert _depth(outcome.data) == levels
    assert log.append("plugin/value", value).seq == log.seq - 1
    assert_agrees(log)


@pytest.mark.parametrize("left", [20, 40, 80, 200, 400])
def test_near_the_interpreters_limit_the_pure_functions_refuse_too(left: int) -> None:
    value = _nested(LEVELS, 1, "object")

    def attempt() -> Any:
        try:
            return is_json_value(value), _depth(snapshot_json_value(value))
        except SessionError as error:
            return error.code

    assert _called_with_frames_left(left, attempt) in {(True, LEVELS), "NOT_JSON"}


class _Meddler:
    """A trace function that does something before the nth instruction of the package that looks at a value."""

    LOOKING = (str(PACKAGE / "core" / "lossless.py"), str(PACKAGE / "core" / "session.py"), "<copier")

    def __init__(self, at: int, meddle: Callable[[], Any]) -> None:
        self.at, self.meddle = at, meddle
        self.count = 0

    def __call__(self, frame: types.FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.LOOKING):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self.at:
                self.meddle()
        return self


@contextmanager
def _traced(tracer: Any) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, math.nan), (1, (1, 2)), ("x", _Str("y")), (math.nan, 1)],
)
def test_a_value_that_changes_while_it_is_read_is_stored_as_it_passed(before: Any, after: Any) -> None:
    lossless = [value for value in (before, after) if is_json_value(value)]
    moment, meddler = 0, _Meddler(1, lambda: None)
    while meddler.count >= moment:
        moment += 1
        content: list[Any] = [text("a"), {**text("b"), "extra": before}]
        meddler = _Meddler(moment, lambda content=content: content[1].update(extra=after))  # type: ignore[misc]
        log = session()
        with _traced(meddler), suppress(SessionError):
            log.append("user/message", {"content": content, "source": {"kind": "user"}}, surface_op="append")
        if log.seq:
            stored = log.events[0].data["content"][1]["extra"]
            assert stored in lossless
            assert type(thaw(stored)) in {type(value) for value in lossless}
            assert json.loads(log.events[0].to_json())["data"]["content"][1]["extra"] == stored
    assert moment > 100


@pytest.mark.parametrize("after", [7, (1,), math.nan, ["x"], "other"])
def test_a_declared_field_that_changes_while_it_is_checked_is_stored_as_it_passed(after: Any) -> None:
    session().append("user/message", payload("user/message"), surface_op="append")
    moment, meddler = 0, _Meddler(1, lambda: None)
    while meddler.count >= moment:
        moment += 1
        data = payload("user/message", "before")
        block, source = data["content"][0], dict(data["source"])
        data["source"] = source

        def meddle(data: Any = data, block: Any = block, source: Any = source) -> None:
            block["text"] = source["kind"] = after
            data["content"].append(after)

        meddler = _Meddler(moment, meddle)
        log = session()
        with _traced(meddler), suppress(SessionError):
            log.append("user/message", data, surface_op="append")
        if log.seq:
            stored = log.events[0].data
            assert stored["content"] in ([text("before")], [text("other")])
            assert stored["source"]["kind"] in {"user", "other"}
            assert loads(log.to_jsonl()).events[0].data == stored
    assert moment > 50


def test_an_object_whose_keys_change_places_while_it_is_read_keeps_each_value_with_its_key() -> None:
    for type_, data in (("step/start", {"turn": 1, "step": 2}), ("plugin/own", {"turn": 1, "step": 2})):
        session().append(type_, dict(data))  # a shape's code is generated when it is first met
        moment, meddler = 0, _Meddler(1, lambda: None)
        while meddler.count >= moment:
            moment += 1
            value = dict(data)
            meddler = _Meddler(moment, lambda value=value: value.update(turn=value.pop("turn")))  # type: ignore[misc]
            log = session()
            with _traced(meddler):
                log.append(type_, value)
            assert log.events[0].data == {"turn": 1, "step": 2}
        assert moment > 50


def test_a_value_that_another_thread_changes_is_stored_as_it_passed() -> None:
    value: dict[str, Any] = {"pad": list(range(20)), "v": 1, "w": 1}
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            for item in (math.nan, 1, (1,), 1, -0.0, 1, b"x", 1):
                value["v"] = item
                value["w"] = item

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=flip)
    thread.start()
    log = session()
    try:
        for _ in range(400):
            with suppress(SessionError):
                log.append("plugin/value", value)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    for event in log.events:
        assert event.data["v"] == event.data["w"] == 1
        assert "NaN" not in event.to_json()
    value["v"] = value["w"] = 1
    assert log.append("plugin/value", value).data == value
    assert_agrees(log)


@pytest.mark.parametrize("grow", [True, False])
def test_a_container_that_another_thread_resizes_leaves_the_log_whole(grow: bool) -> None:
    inner: dict[str, Any] = {f"k{i}": i for i in range(50)}
    items: list[Any] = list(range(50))
    value = {"inner": inner, "items": items}
    stop = threading.Event()

    def resize() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            if grow and count % 200:
                items.append(count)
                inner[f"n{count % 200}"] = count
            else:
                inner[f"m{count % 7}"] = count
                inner.pop(f"m{(count + 3) % 7}", None)
                inner.pop(f"n{count % 50}", None)
                items.append(count)
                del items[20:]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=resize)
    thread.start()
    log = session()
    try:
        for _ in range(100):
            with suppress(SessionError):
                log.append("plugin/value", value)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert_agrees(log)
    assert log.append("plugin/value", value).data == value


@given(json_values())
def test_any_json_value_comes_back_as_it_went_in(value: Any) -> None:
    assert is_json_value(value)
    assert snapshot_json_value(value) == value
    log = session()
    event = log.append("plugin/value", value)
    again = loads(log.to_jsonl())
    live, reloaded = thaw(event.data), thaw(again.events[0].data)
    assert _exactly(live) == _exactly(reloaded)
    assert again.to_jsonl() == log.to_jsonl()
    assert Session("s", seed=[event.to_dict()]).events[0].data == live


@given(json_values(paired_texts))
def test_texts_without_lone_surrogates_come_back_exactly(value: Any) -> None:
    log = session()
    assert _exactly(thaw(log.append("plugin/value", value).data)) == _exactly(value)
    assert json.loads(log.events[0].to_json())["data"] == value


def _exactly(value: Any) -> Any:
    """A form whose equality knows types and the order of keys."""
    if isinstance(value, dict):
        return ("object", [(key, _exactly(item)) for key, item in value.items()])
    if isinstance(value, list):
        return ("list", [_exactly(item) for item in value])
    return (type(value), value)


def test_two_halves_of_a_character_read_alike_live_and_reloaded() -> None:
    log = session()
    event = log.append("plugin/value", {"text": "\ud83d\ude42", "cut": "\ud83d"})
    again = loads(log.to_jsonl())
    assert event.data == again.events[0].data
    assert event.to_json() == again.events[0].to_json()
    assert event.data["cut"] == "\ud83d"


@pytest.mark.parametrize("around", [b"", b'{"a":1}\n' * 500])
def test_a_run_of_digits_that_overflows_is_seen_wherever_it_begins(around: bytes) -> None:
    for start in range(80):
        run = b"[" + b" " * start + b"9" * 309 + b"]"
        assert may_lose_a_number(around + run + around)
        assert not may_lose_a_number(around + run.replace(b"9" * 309, b"9" * 308) + around)


def test_minus_zero_is_seen_among_a_megabyte_of_lines() -> None:
    plain = b'{"text":"re-run -1 e-mail","at":-1.25}\n' * 20_000
    assert not may_lose_a_number(plain)
    for spelt in (b"-0", b"-0.0", b"-0e3", b"-1e-400"):
        assert may_lose_a_number(plain + b'{"at":' + spelt + b"}\n" + plain)
