"""Immutability: nothing that the package hands out can be changed, by any door that a caller has."""

import copy
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dsh_session import Replace, Session, thaw

from .payloads import conversation, payload, session
from .refusals import shown

DICT_MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "set an item": lambda d: operator.setitem(d, "new", 1),
    "set a known item": lambda d: operator.setitem(d, next(iter(d)), 1),
    "delete an item": lambda d: operator.delitem(d, next(iter(d))),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop(next(iter(d))),
    "pop with a default": lambda d: d.pop("absent", None),
    "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("new", 1),
    "setdefault of a known key": lambda d: d.setdefault(next(iter(d)), 1),
    "update": lambda d: d.update({"new": 1}),
    "update by keyword": lambda d: d.update(new=1),
    "update with nothing": lambda d: d.update(),
    "|=": lambda d: operator.ior(d, {"new": 1}),
    "__init__": lambda d: d.__init__({"new": 1}),
    "__init__ by keyword": lambda d: d.__init__(new=1),
    "set an attribute": lambda d: setattr(d, "new", 1),
    "delete an attribute": lambda d: delattr(d, "new"),
    "set the class": lambda d: setattr(d, "__class__", dict),
}

LIST_MUTATIONS: dict[str, Callable[[Any], Any]] = {
    "set an item": lambda x: operator.setitem(x, 0, 9),
    "set a slice": lambda x: operator.setitem(x, slice(0, 1), [9]),
    "delete an item": lambda x: operator.delitem(x, 0),
    "delete a slice": lambda x: operator.delitem(x, slice(0, 1)),
    "append": lambda x: x.append(9),
    "extend": lambda x: x.extend([9]),
    "extend by nothing": lambda x: x.extend([]),
    "insert": lambda x: x.insert(0, 9),
    "remove": lambda x: x.remove(x[0]),
    "pop": lambda x: x.pop(),
    "clear": lambda x: x.clear(),
    "sort": lambda x: x.sort(key=str),
    "reverse": lambda x: x.reverse(),
    "+=": lambda x: operator.iadd(x, [9]),
    "*=": lambda x: operator.imul(x, 2),
    "__init__": lambda x: x.__init__([9]),
    "__init__ with nothing": lambda x: x.__init__(),
    "set an attribute": lambda x: setattr(x, "new", 1),
    "set the class": lambda x: setattr(x, "__class__", list),
}


def _session() -> Session:
    log = conversation()
    header = payload("request/header")
    header["header"]["tools"] = [{"name": "bash", "description": "", "parameters": {"type": "object"}}]
    header["header"]["messagePrefix"] = [{"role": "user", "content": [{"type": "text", "text": "prefix"}]}]
    log.append("request/header", header)
    log.append("context/message", payload("context/message"), surface_op="append")
    log.append("steering/message", payload("steering/message"), surface_op="append")
    log.append("user/message", payload("user/message"), surface_op=Replace(1, 3), source_event_seqs=[3, 1])
    return log


DICTS: dict[str, Callable[[Session], Any]] = {
    "data": lambda s: s.events[1].data,
    "a block": lambda s: s.events[1].data["content"][0],
    "a source": lambda s: s.events[1].data["source"],
    "a replacement": lambda s: s.events[10].surface_op,
    "a message": lambda s: s.messages[0],
    "a message of a fresh list": lambda s: s.derive_messages()[0],
    "an assistant's provenance": lambda s: s.events[3].data["provenance"],
    "a result's block": lambda s: s.messages[1]["content"][0],
    "a block inside a result's block": lambda s: s.messages[1]["content"][0]["content"][0],
    "a frame of a context": lambda s: s.messages[2]["content"][0],
    "a block inside a context": lambda s: s.messages[2]["content"][1],
    "a frame of a steering": lambda s: s.messages[3]["content"][-1],
    "the request header": lambda s: s.request_header(),
    "the request header's config": lambda s: (s.request_header() or {})["config"],
    "a tool": lambda s: (s.request_header() or {})["tools"][0],
    "a message of the prefix": lambda s: (s.request_header() or {})["messagePrefix"][0],
}

LISTS: dict[str, Callable[[Session], Any]] = {
    "content": lambda s: s.events[1].data["content"],
    "todos": lambda s: s.events[6].data["todos"],
    "sources": lambda s: s.events[10].source_event_seqs,
    "a message's content": lambda s: s.messages[0]["content"],
    "a result's content": lambda s: s.messages[1]["content"][0]["content"],
    "a context's content": lambda s: s.messages[2]["content"],
    "the tools": lambda s: (s.request_header() or {})["tools"],
}


@pytest.mark.parametrize("mutate", DICT_MUTATIONS.values(), ids=DICT_MUTATIONS)
@pytest.mark.parametrize("find", DICTS.values(), ids=DICTS)
def test_no_object_can_be_changed(find: Callable[[Session], Any], mutate: Callable[[Any], Any]) -> None:
    log = _session()
    before = shown(log)
    target = find(log)
    assert isinstance(target, dict)
    with pytest.raises(TypeError):
        mutate(target)
    assert shown(log) == before
    assert find(log) == target


@pytest.mark.parametrize("mutate", LIST_MUTATIONS.values(), ids=LIST_MUTATIONS)
@pytest.mark.parametrize("find", LISTS.values(), ids=LISTS)
def test_no_list_can_be_changed(find: Callable[[Session], Any], mutate: Callable[[Any], Any]) -> None:
    log = _session()
    before = shown(log)
    target = find(log)
    assert isinstance(target, list)
    with pytest.raises(TypeError):
        mutate(target)
    assert shown(log) == before
    assert find(log) == target


def test_every_mutator_of_dict_and_list_is_covered() -> None:
    reading = {"copy", "fromkeys", "get", "items", "keys", "values", "count", "index"}
    of_dict = {name for name in dir(dict) if not name.startswith("_")} - reading
    of_list = {name for name in dir(list) if not name.startswith("_")} - reading
    assert of_dict == {"clear", "pop", "popitem", "setdefault", "update"}
    assert of_list == {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}


@pytest.mark.parametrize("name", ["type", "seq", "time", "data", "surface_op", "source_event_seqs", "new", "_line"])
def test_no_attribute_of_an_event_can_be_assigned_or_deleted(name: str) -> None:
    log = _session()
    before = shown(log)
    for event in (log.events[0], log.events[10]):
        with pytest.raises(TypeError):
            setattr(event, name, 1)
        with pytest.raises(TypeError):
            delattr(event, name)
        assert not hasattr(event, "__dict__")  # a back door
    assert shown(log) == before


def test_an_event_cannot_be_initialised_again() -> None:
    log = _session()
    before = shown(log)
    event = log.events[1]
    for arguments in ((), ("x",), ("x", 1), ("x", 1, 2), ("x", 1, 2, b"{}"), ("x", 1, 2, b"{}", "append")):
        with pytest.raises(TypeError):
            event.__init__(*arguments)  # type: ignore[misc]
        with pytest.raises(TypeError):
            type(event).__init__(event, *arguments)
    with pytest.raises(TypeError):
        event.__class__ = dict  # type: ignore[assignment]
    assert shown(log) == before


@pytest.mark.parametrize("name", ["version", "id", "created_at", "cwd", "parent_session", "seed_length", "new"])
def test_no_attribute_of_a_session_header_can_be_assigned_or_deleted(name: str) -> None:
    header = {"version": 0, "id": "s", "createdAt": 1, "cwd": "/", "parentSession": "p", "seedLength": 0, "x": [1]}
    log = Session("s", header=header)
    before = shown(log)
    with pytest.raises(TypeError):
        setattr(log.header, name, 1)
    with pytest.raises(TypeError):
        delattr(log.header, name)
    with pytest.raises(TypeError):
        log.header.__init__()  # type: ignore[misc]
    assert not hasattr(log.header, "__dict__")
    assert shown(log) == before


def test_the_wire_form_of_a_header_is_a_copy() -> None:
    log = Session("s", header={"version": 0, "id": "s", "createdAt": 1, "x": [1]})
    wire = log.header.to_dict()
    wire["id"] = "t"
    wire["x"].append(2)
    assert log.header.to_dict() == {"version": 0, "id": "s", "createdAt": 1, "x": [1]}


def test_the_callers_header_is_neither_frozen_nor_shared() -> None:
    header: dict[str, Any] = {"version": 0, "id": "s", "createdAt": 1, "x": [1]}
    log = Session("s", header=header)
    header["x"].append(2)
    header["cwd"] = "/later"
    assert log.header.to_dict() == {"version": 0, "id": "s", "createdAt": 1, "x": [1]}


VIEWS: dict[str, Callable[[Session], Any]] = {
    "events": lambda s: s.events,
    "messages": lambda s: s.messages,
    "nodes": lambda s: s.surface.nodes,
}


@pytest.mark.parametrize("find", VIEWS.values(), ids=VIEWS)
def test_a_view_cannot_be_changed(find: Callable[[Session], Any]) -> None:
    log = _session()
    before = shown(log)
    view = find(log)
    items = list(view)
    for name, mutate in LIST_MUTATIONS.items():
        if name != "+=":  # which may make a new sequence, as it does for a tuple
            with pytest.raises((TypeError, AttributeError)):
                mutate(view)
    for name in dir(view):
        if not name.startswith("__"):
            with pytest.raises((TypeError, AttributeError)):
                setattr(view, name, None)
            with pytest.raises((TypeError, AttributeError)):
                delattr(view, name)
    with pytest.raises(TypeError):
        view.__init__([], 0)
    assert list(view) == items
    assert not hasattr(view, "__dict__")
    assert shown(log) == before


@pytest.mark.parametrize("name", ["events", "messages", "seq"])
def test_no_part_of_the_history_can_be_put_in_its_place(name: str) -> None:
    log = _session()
    before = shown(log)
    with pytest.raises((AttributeError, TypeError)):
        setattr(log, name, [])
    assert shown(log) == before


def test_a_fresh_list_of_messages_belongs_to_the_caller() -> None:
    log = _session()
    mine = log.derive_messages()
    assert type(mine) is list
    mine.clear()
    assert log.derive_messages() == list(log.messages) != []


def test_the_wire_form_of_an_event_belongs_to_the_caller() -> None:
    log = _session()
    for event in log.events:
        wire = event.to_dict()
        assert type(wire) is dict
        assert all(type(value) in {dict, str, int, list} for value in wire.values())
        wire["data"].clear()
        wire.clear()
        assert event.to_dict()["data"] == event.data != {}


def test_a_thawed_value_is_plain_to_the_leaves() -> None:
    log = _session()
    for event in log.events:
        _assert_plain(thaw(event.data))
        assert thaw(event.data) == event.data
    _assert_plain(thaw(log.messages[1]))
    _assert_plain(thaw(log.request_header()))
    _assert_plain(thaw(log.events[10].surface_op))
    assert thaw(log.events[10].surface_op) == {"op": "replace", "start": 1, "end": 3}
    plain = thaw(log.events[1].data)
    plain["content"][0]["text"] = "changed"
    assert log.events[1].data["content"][0]["text"] == "one"


def test_thawing_leaves_scalars_and_plain_values_alone() -> None:
    assert [thaw(value) for value in (None, True, 1, 1.5, "x")] == [None, True, 1, 1.5, "x"]
    plain = {"a": [1]}
    copied = thaw(plain)
    copied["a"].append(2)
    assert plain == {"a": [1]}


def _assert_plain(value: Any) -> None:
    assert type(value) in {dict, list, str, int, float, bool, type(None)}
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _assert_plain(item)


@pytest.mark.parametrize("find", [*DICTS.values(), *LISTS.values()], ids=[*DICTS, *LISTS])
def test_a_frozen_value_behaves_as_the_plain_one(find: Callable[[Session], Any]) -> None:
    value = find(_session())
    plain = thaw(value)
    assert value == plain
    assert plain == value
    assert json.dumps(value) == json.dumps(plain)
    assert json.dumps(value, indent=1) == json.dumps(plain, indent=1)
    assert msgspec.json.encode(value) == msgspec.json.encode(plain)
    assert copy.deepcopy(value) == copy.copy(value) == plain
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(value, protocol))
        assert again == value
        assert type(again) is type(value)
    assert repr(value) == repr(plain)


def test_a_pickled_replacement_keeps_its_attributes() -> None:
    op = pickle.loads(pickle.dumps(Replace(1, 2)))
    assert (op.start, op.end) == (1, 2)
    with pytest.raises(TypeError):
        op["start"] = 3


def test_events_can_be_copied_and_pickled() -> None:
    log = _session()
    for event in log.events:
        assert copy.deepcopy(event) == copy.copy(event) == event
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(event, protocol))
            assert again == event
            assert again.to_dict() == event.to_dict()
            assert again.data == event.data
            assert again.surface_op == event.surface_op
            assert again.source_event_seqs == event.source_event_seqs
            with pytest.raises(TypeError):
                again.seq = 9
    assert Session("t", seed=pickle.loads(pickle.dumps(list(log.events)))).derive_messages() == log.derive_messages()


def test_two_halves_of_a_pickle_freeze_again() -> None:
    data = pickle.loads(pickle.dumps(_session().events[1].data))
    with pytest.raises(TypeError):
        data["content"].append(1)
    with pytest.raises(TypeError):
        data["content"][0]["text"] = "x"


def test_operators_that_make_new_values_still_work() -> None:
    data = session().append("plugin/value", {"a": [1]}).data
    assert data | {"b": 2} == {"a": [1], "b": 2}
    assert data["a"] + [2] == [1, 2]
    assert data["a"] * 2 == [1, 1]
    assert {**data} == {"a": [1]}
    assert data.copy() == {"a": [1]}
    assert sorted(data["a"]) == [1]
