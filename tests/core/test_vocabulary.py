"""The vocabulary at runtime: the fourteen core types, field by field, and what a plugin adds."""

import copy
import itertools
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import VOCABULARY, Session, SessionError, loads
from dsh_session.core.vocabulary import CORE_TYPES, Vocabulary
from tests.strategies import json_values, surface_payloads

from .payloads import LOG_ONLY_TYPES, ROUTE, SURFACE_TYPES, USER, conversation, payload, session, text
from .refusals import assert_agrees, refused

TEXT, INTEGER, NUMBER, TRUTH, ITEMS, OBJECT = (
    "a string",
    "an integer",
    "a number",
    "a truth value",
    "a list",
    "an object",
)

# Values of other types, for a field of a type. An integral float counts as the integer, a bool never does.
WRONG: dict[str, list[Any]] = {
    TEXT: [None, 7, True, ["x"], {"x": 1}],
    INTEGER: [None, "1", True, False, 0.5, [1], {}],
    NUMBER: [None, "1", True, [1], {}],
    TRUTH: [None, 0, 1, "true", [], {}],
    ITEMS: [None, "x", 7, True, {"0": {}}],
    OBJECT: [None, "x", 7, True, []],
}

Path = tuple[str | int, ...]
Fields = dict[Path, tuple[str, bool]]
"""A path below the payload: what stands there, and whether it has to."""

STEP: Fields = {("turn",): (INTEGER, True), ("step",): (INTEGER, True)}
SAID: Fields = {
    ("content",): (ITEMS, True),
    ("content", 0): (OBJECT, True),
    ("content", 0, "type"): (TEXT, True),
    ("content", 0, "text"): (TEXT, True),
}
FROM: Fields = {("source",): (OBJECT, True), ("source", "kind"): (TEXT, True)}
USAGE_COUNTS: Fields = {
    ("inputTokens",): (INTEGER, True),
    ("outputTokens",): (INTEGER, True),
    ("cacheReadTokens",): (INTEGER, False),
    ("cacheWriteTokens",): (INTEGER, False),
    ("reasoningTokens",): (INTEGER, False),
}
USAGE = {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4, "reasoningTokens": 5}


def _below(path: Path, fields: Fields) -> Fields:
    return {(*path, *inner): rule for inner, rule in fields.items()}


def _chunk(fields: Fields) -> Fields:
    return {**STEP, ("chunk",): (OBJECT, True), ("chunk", "type"): (TEXT, True), **_below(("chunk",), fields)}


def _with_chunk(type_: str, **fields: Any) -> dict[str, Any]:
    return {"turn": 1, "step": 1, "chunk": {"type": type_, **fields}}


# name: event type, a payload with every field that is declared, and the fields
FULL: dict[str, tuple[str, dict[str, Any], Fields]] = {
    "turn/start by a message": (
        "turn/start",
        {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}},
        {
            ("turn",): (INTEGER, True),
            ("trigger",): (OBJECT, True),
            ("trigger", "kind"): (TEXT, True),
            **_below(("trigger",), FROM),
        },
    ),
    "turn/start by an injection": (
        "turn/start",
        {"turn": 1, "trigger": {"kind": "injection", "source": {"kind": "plugin", "plugin": "cron"}}},
        {**_below(("trigger",), FROM), ("trigger", "source", "plugin"): (TEXT, True)},
    ),
    "turn/end": (
        "turn/end",
        {"turn": 1, "reason": {"kind": "completed"}},
        {("turn",): (INTEGER, True), ("reason",): (OBJECT, True), ("reason", "kind"): (TEXT, True)},
    ),
    "turn/end aborted": (
        "turn/end",
        {"turn": 1, "reason": {"kind": "aborted", "reason": "x"}},
        {("reason", "reason"): (TEXT, False)},
    ),
    "turn/end in error": (
        "turn/end",
        {"turn": 1, "reason": {"kind": "error", "step": 1, "message": "m", "code": "c"}},
        {("reason", "step"): (INTEGER, True), ("reason", "message"): (TEXT, True), ("reason", "code"): (TEXT, False)},
    ),
    "turn/end disposed": ("turn/end", {"turn": 1, "reason": {"kind": "disposed"}}, {}),
    "turn/end at the limit": ("turn/end", {"turn": 1, "reason": {"kind": "max-tokens"}}, {}),
    "turn/end rejected": (
        "turn/end",
        {"turn": 1, "reason": {"kind": "rejected", "reason": "no"}},
        {("reason", "reason"): (TEXT, True)},
    ),
    "turn/end interrupted": ("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}, {}),
    "step/start": ("step/start", {"turn": 1, "step": 1}, STEP),
    "step/end": ("step/end", {"turn": 1, "step": 1}, STEP),
    "user/message": ("user/message", {"content": [text("x")], "source": USER}, {**SAID, **FROM}),
    "user/message with every block": (
        "user/message",
        {
            "content": [
                {"type": "reasoning", "text": "x"},
                {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"},
                {"type": "tool-result", "toolCallId": "c", "content": [text("x")], "isError": False},
            ],
            "source": USER,
        },
        {
            ("content", 0, "text"): (TEXT, True),
            ("content", 1, "id"): (TEXT, True),
            ("content", 1, "name"): (TEXT, True),
            ("content", 1, "arguments"): (TEXT, True),
            ("content", 2, "toolCallId"): (TEXT, True),
            ("content", 2, "isError"): (TRUTH, False),
            **_below(("content", 2), SAID),
        },
    ),
    "prompt/blocked": (
        "prompt/blocked",
        {"content": [text("x")], "source": USER, "reason": "policy"},
        {**SAID, **FROM, ("reason",): (TEXT, True)},
    ),
    "context/message": (
        "context/message",
        {"content": [text("x")], "source": USER, "envelope": "raw", "meta": {"any": [1]}},
        {**SAID, **FROM, ("envelope",): (TEXT, False)},
    ),
    "steering/message": (
        "steering/message",
        {"turn": 1, "content": [text("x")], "source": USER},
        {("turn",): (INTEGER, True), **SAID, **FROM},
    ),
    "assistant/message": (
        "assistant/message",
        {
            "turn": 1,
            "step": 1,
            "content": [text("x")],
            "provenance": {**ROUTE, "replayState": {"id": 1}},
            "usage": USAGE,
        },
        {
            **STEP,
            **SAID,
            ("provenance",): (OBJECT, True),
            ("provenance", "provider"): (TEXT, True),
            ("provenance", "model"): (TEXT, True),
            ("usage",): (OBJECT, False),
            **_below(("usage",), USAGE_COUNTS),
        },
    ),
    "tool/call": (
        "tool/call",
        {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": "{}"},
        {**STEP, ("callId",): (TEXT, True), ("name",): (TEXT, True), ("arguments",): (TEXT, True)},
    ),
    "tool/result": (
        "tool/result",
        {
            "turn": 1,
            "step": 1,
            "callId": "c",
            "content": [text("x")],
            "isError": True,
            "error": {"name": "E", "code": "x"},
            "meta": None,
        },
        {
            **STEP,
            **SAID,
            ("callId",): (TEXT, True),
            ("isError",): (TRUTH, True),
            ("error",): (OBJECT, False),
            ("error", "name"): (TEXT, True),
            ("error", "code"): (TEXT, True),
        },
    ),
    "todo/write": (
        "todo/write",
        {"todos": [{"content": "x", "status": "in_progress"}]},
        {
            ("todos",): (ITEMS, True),
            ("todos", 0): (OBJECT, True),
            ("todos", 0, "content"): (TEXT, True),
            ("todos", 0, "status"): (TEXT, True),
        },
    ),
    "request/header": (
        "request/header",
        {
            "header": {
                "config": {**ROUTE, "temperature": 0.5, "maxTokens": 8, "stop": ["a"]},
                "system": "s",
                "tools": [{"name": "n", "description": "d", "parameters": {"type": "object"}}],
                "messagePrefix": [{"role": "assistant", "content": [text("x")], "provenance": ROUTE}],
            },
            "reason": "resume",
        },
        {
            ("reason",): (TEXT, True),
            ("header",): (OBJECT, True),
            ("header", "config"): (OBJECT, True),
            ("header", "config", "provider"): (TEXT, True),
            ("header", "config", "model"): (TEXT, True),
            ("header", "config", "temperature"): (NUMBER, False),
            ("header", "config", "maxTokens"): (INTEGER, False),
            ("header", "config", "stop"): (ITEMS, False),
            ("header", "config", "stop", 0): (TEXT, True),
            ("header", "system"): (TEXT, False),
            ("header", "tools"): (ITEMS, False),
            ("header", "tools", 0): (OBJECT, True),
            ("header", "tools", 0, "name"): (TEXT, True),
            ("header", "tools", 0, "description"): (TEXT, True),
            ("header", "tools", 0, "parameters"): (OBJECT, True),
            ("header", "messagePrefix"): (ITEMS, False),
            ("header", "messagePrefix", 0): (OBJECT, True),
            ("header", "messagePrefix", 0, "role"): (TEXT, True),
            **_below(("header", "messagePrefix", 0), SAID),
            ("header", "messagePrefix", 0, "provenance"): (OBJECT, False),
            ("header", "messagePrefix", 0, "provenance", "provider"): (TEXT, True),
            ("header", "messagePrefix", 0, "provenance", "model"): (TEXT, True),
        },
    ),
    "a block starts": (
        "assistant/chunk",
        _with_chunk("block-start", index=0, blockType="text"),
        _chunk({("index",): (INTEGER, True), ("blockType",): (TEXT, True)}),
    ),
    "text comes": (
        "assistant/chunk",
        _with_chunk("text-delta", index=0, text="x"),
        _chunk({("index",): (INTEGER, True), ("text",): (TEXT, True)}),
    ),
    "reasoning comes": (
        "assistant/chunk",
        _with_chunk("reasoning-delta", index=0, text="x"),
        _chunk({("index",): (INTEGER, True), ("text",): (TEXT, True)}),
    ),
    "a call comes": (
        "assistant/chunk",
        _with_chunk("tool-call-delta", index=0, id="c", name="n", argumentsDelta="{"),
        _chunk(
            {
                ("index",): (INTEGER, True),
                ("id",): (TEXT, True),
                ("name",): (TEXT, False),
                ("argumentsDelta",): (TEXT, True),
            }
        ),
    ),
    "a block ends": (
        "assistant/chunk",
        _with_chunk("block-end", index=0, block=text("x")),
        _chunk(
            {
                ("index",): (INTEGER, True),
                ("block",): (OBJECT, True),
                ("block", "type"): (TEXT, True),
                ("block", "text"): (TEXT, True),
            }
        ),
    ),
    "usage comes": (
        "assistant/chunk",
        _with_chunk("usage", usage=USAGE),
        _chunk({("usage",): (OBJECT, True), **_below(("usage",), USAGE_COUNTS)}),
    ),
    "the stream ends": (
        "assistant/chunk",
        _with_chunk("finish", reason={"kind": "stop"}, replayState=[1]),
        _chunk({("reason",): (OBJECT, True), ("reason", "kind"): (TEXT, True)}),
    ),
    "the stream ends in error": (
        "assistant/chunk",
        _with_chunk("finish", reason={"kind": "error", "message": "m", "code": "c"}),
        _chunk({("reason", "message"): (TEXT, True), ("reason", "code"): (TEXT, False)}),
    ),
}

FIELDS = [(name, path) for name, (_, _, fields) in FULL.items() for path in fields]


def _spelt(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _append(log: Session, type_: str, data: Any) -> Any:
    options = {"surface_op": "append"} if type_ in SURFACE_TYPES else {}
    return log.append(type_, data, **options)


def _changed(data: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The payload with one field replaced, or left out where the value is `...`."""
    whole = copy.deepcopy(data)
    at: Any = whole
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return whole


def test_every_core_type_is_tried() -> None:
    assert set(CORE_TYPES) == {*LOG_ONLY_TYPES, *SURFACE_TYPES} == {type_ for type_, _, _ in FULL.values()}
    assert len(CORE_TYPES) == 14
    assert set(CORE_TYPES) <= set(VOCABULARY.event_types)


@pytest.mark.parametrize("name", FULL)
def test_a_payload_with_every_declared_field_is_accepted(name: str) -> None:
    type_, data, _ = FULL[name]
    log = session()
    event = _append(log, type_, data)
    assert event.data == data
    assert list(event.data) == list(data)
    assert loads(log.to_jsonl()).events[0].data == data
    assert_agrees(log)


@pytest.mark.parametrize("name", FULL)
def test_the_order_of_a_payloads_keys_is_free_and_kept(name: str) -> None:
    type_, data, _ = FULL[name]
    for order in itertools.islice(itertools.permutations(data), 6):
        event = _append(session(), type_, {key: data[key] for key in order})
        assert list(event.data) == list(event.to_dict()["data"]) == list(order)


@pytest.mark.parametrize("name", FULL)
def test_extra_fields_are_kept_at_every_level(name: str) -> None:
    type_, data, _ = FULL[name]

    def widened(value: Any) -> Any:
        if isinstance(value, dict):
            return {"a-first": None, **{key: widened(item) for key, item in value.items()}, "x-last": [{"deep": 1.5}]}
        return [widened(item) for item in value] if isinstance(value, list) else value

    event = _append(session(), type_, widened(data))
    assert event.data == widened(data)
    assert next(iter(event.data)) == "a-first"


@pytest.mark.parametrize(
    ("name", "path"), [(n, p) for n, p in FIELDS if FULL[n][2][p][1] and isinstance(p[-1], str)], ids=str
)
def test_a_required_field_that_is_missing_is_named(name: str, path: Path) -> None:
    type_, data, _ = FULL[name]
    log = conversation()
    with refused(log, "PAYLOAD_INVALID", f"{_spelt(path)} ", type_, "seq 7"):
        _append(log, type_, _changed(data, path, ...))
    assert _append(log, type_, data).seq == 7


@pytest.mark.parametrize(("name", "path"), [(n, p) for n, p in FIELDS if not FULL[n][2][p][1]], ids=str)
def test_an_optional_field_may_be_left_out(name: str, path: Path) -> None:
    type_, data, _ = FULL[name]
    without = _changed(data, path, ...)
    assert _append(session(), type_, without).data == without


@pytest.mark.parametrize(("name", "path"), FIELDS, ids=str)
def test_a_field_of_another_type_is_named(name: str, path: Path) -> None:
    type_, data, fields = FULL[name]
    for value in WRONG[fields[path][0]]:
        log = session()
        with pytest.raises(SessionError) as caught:
            _append(log, type_, _changed(data, path, value))
        assert caught.value.code == "PAYLOAD_INVALID", value
        assert f"{_spelt(path)} " in str(caught.value)
        assert type_ in str(caught.value)
        assert log.seq == 0


@pytest.mark.parametrize(("name", "path"), [(n, p) for n, p in FIELDS if FULL[n][2][p][0] == INTEGER], ids=str)
def test_an_integral_float_counts_as_the_integer(name: str, path: Path) -> None:
    type_, data, _ = FULL[name]
    event = _append(session(), type_, _changed(data, path, 3.0))
    assert event.data == _changed(data, path, 3)


@pytest.mark.parametrize("type_", CORE_TYPES)
@pytest.mark.parametrize("data", [None, [], "x", 7, True])
def test_a_payload_that_is_no_object_is_refused(type_: str, data: Any) -> None:
    log = conversation()
    with refused(log, "PAYLOAD_INVALID", "$", type_):
        _append(log, type_, data)


# ------------------------------------------------------------------------------------------- sums, open and closed


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("user/message", {"content": [{"type": "image", "url": 7}], "source": USER}),
        ("user/message", {"content": [{"type": ""}], "source": USER}),
        ("user/message", {"content": [], "source": {"kind": "cron", "plugin": 7}}),
        ("turn/start", {"turn": 1, "trigger": {"kind": "timer", "source": 7}}),
        ("turn/end", {"turn": 1, "reason": {"kind": "bored", "reason": 7}}),
        ("assistant/chunk", _with_chunk("finish", reason={"kind": "content-filter", "message": 7})),
        ("assistant/chunk", _with_chunk("block-end", index=0, block={"type": "audio", "text": 7})),
        ("assistant/chunk", _with_chunk("block-start", index=0, blockType="hologram")),
        (
            "request/header",
            {
                "header": {"config": ROUTE, "messagePrefix": [{"role": "user", "content": [{"type": "image"}]}]},
                "reason": "initial",
            },
        ),
        (
            "tool/result",
            {
                **payload("tool/result"),
                "content": [{"type": "tool-result", "toolCallId": "c", "content": [{"type": "image"}]}],
            },
        ),
    ],
)
def test_an_unknown_tag_of_an_open_sum_is_kept(type_: str, data: Any) -> None:
    log = session()
    assert _append(log, type_, data).data == data
    assert_agrees(log)


@pytest.mark.parametrize(
    ("type_", "data", "path"),
    [
        ("assistant/chunk", _with_chunk("image-delta", index=0), "$.chunk.type"),
        ("assistant/chunk", _with_chunk("", index=0), "$.chunk.type"),
        ("context/message", {**payload("context/message"), "envelope": "other"}, "$.envelope"),
        ("todo/write", {"todos": [{"content": "x", "status": "later"}]}, "$.todos[0].status"),
        ("request/header", {**payload("request/header"), "reason": "because"}, "$.reason"),
        (
            "request/header",
            {"header": {"config": ROUTE, "messagePrefix": [{"role": "tool", "content": []}]}, "reason": "initial"},
            "$.header.messagePrefix[0].role",
        ),
    ],
)
def test_an_unknown_word_where_the_words_are_fixed_is_refused(type_: str, data: Any, path: str) -> None:
    log = conversation()
    with refused(log, "PAYLOAD_INVALID", path, type_):
        _append(log, type_, data)
    assert (
        Session(
            "s",
            seed=[
                {
                    "type": type_,
                    "seq": 0,
                    "time": 0,
                    "data": data,
                    **({"surfaceOp": "append"} if type_ in SURFACE_TYPES else {}),
                }
            ],
        ).seq
        == 1
    )


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed"])
def test_every_status_of_a_todo_is_accepted(status: str) -> None:
    data = {"todos": [{"content": "x", "status": status}]}
    assert _append(session(), "todo/write", data).data == data


@pytest.mark.parametrize("reason", ["initial", "resume", "change"])
def test_every_reason_of_a_header_is_accepted(reason: str) -> None:
    data = {"header": {"config": ROUTE}, "reason": reason}
    assert _append(session(), "request/header", data).data == data


@pytest.mark.parametrize("kind", ["stop", "tool-calls", "max-tokens", "aborted"])
def test_every_finish_reason_is_accepted(kind: str) -> None:
    assert _append(session(), "assistant/chunk", _with_chunk("finish", reason={"kind": kind})).seq == 0


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_every_role_of_a_message_is_accepted(role: str) -> None:
    data = {"header": {"config": ROUTE, "messagePrefix": [{"role": role, "content": []}]}, "reason": "initial"}
    assert _append(session(), "request/header", data).seq == 0


@pytest.mark.parametrize("meta", [None, 7, "x", [], {}, [{"deep": None}]])
def test_a_meta_may_be_any_value(meta: Any) -> None:
    for type_ in ("context/message", "tool/result"):
        assert _append(session(), type_, {**payload(type_), "meta": meta}).data["meta"] == meta


@pytest.mark.parametrize("temperature", [0, 1, 0.5, -1.5, 2**53 - 1, 1e300])
def test_a_temperature_may_be_any_number(temperature: float) -> None:
    data = {"header": {"config": {**ROUTE, "temperature": temperature}}, "reason": "initial"}
    assert _append(session(), "request/header", data).data == data


def test_a_message_about_a_long_value_is_short() -> None:
    log = session()
    with pytest.raises(SessionError) as caught:
        _append(log, "todo/write", {"todos": [{"content": "x", "status": "y" * 100_000}]})
    assert len(str(caught.value)) < 500
    with pytest.raises(SessionError) as caught:
        _append(log, "step/start", {"turn": "\ud83d\x1b[31m\n", "step": 1})
    str(caught.value).encode()
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.sampled_from(SURFACE_TYPES).flatmap(lambda t: st.tuples(st.just(t), surface_payloads(t))))
def test_any_valid_message_is_accepted_with_and_without_checks(drawn: tuple[str, Any]) -> None:
    type_, data = drawn
    one, two = session(), session(check_payloads=False)
    assert _append(one, type_, data).data == _append(two, type_, data).data
    assert one.to_jsonl() == two.to_jsonl()
    assert one.derive_messages() == two.derive_messages()


@given(st.sampled_from(CORE_TYPES), json_values())
def test_any_value_is_accepted_or_refused_by_an_error_of_ours(type_: str, data: Any) -> None:
    log = session()
    try:
        _append(log, type_, data)
    except SessionError as error:
        assert error.code in {"PAYLOAD_INVALID", "MISSING_ROUTE"}
        assert log.seq == 0
    else:
        assert log.seq == 1


@given(st.data())
def test_any_damaged_payload_is_refused_or_kept_as_it_is(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FULL)))
    type_, body, fields = FULL[name]
    if not fields:
        return
    path = data.draw(st.sampled_from(sorted(fields, key=str)))
    damaged = _changed(body, path, data.draw(json_values(max_leaves=3)))
    log = session()
    try:
        event = _append(log, type_, damaged)
    except SessionError as error:
        assert error.code in {"PAYLOAD_INVALID", "MISSING_ROUTE", "LEGACY_HEADER"}
        assert log.seq == 0
    else:
        assert event.to_dict()["data"] == loads(log.to_jsonl()).events[0].data


# --------------------------------------------------------------------------------------------------------- plugins


class _Note(TypedDict):
    text: str
    level: Literal["low", "high"]
    tags: NotRequired[list[str]]


class _Image(TypedDict):
    type: Literal["test-image"]
    url: str


class _Cron(TypedDict):
    kind: Literal["test-cron"]
    job: int


class _Timer(TypedDict):
    kind: Literal["test-timer"]
    after: float


class _Tired(TypedDict):
    kind: Literal["test-tired"]
    hours: int


class _Filtered(TypedDict):
    kind: Literal["test-filtered"]
    category: str


def test_a_plugin_adds_an_event_type_with_a_shape() -> None:
    name = VOCABULARY.register_event("test/note", _Note)
    assert name == "test/note"
    assert name in VOCABULARY.event_types
    log = conversation()
    event = log.append(name, {"text": "x", "level": "low", "more": 1})
    assert event.data == {"text": "x", "level": "low", "more": 1}
    assert event.surface_op is None
    for data, path in (
        ({"level": "low"}, "$.text"),
        ({"text": "x", "level": "middle"}, "$.level"),
        ({"text": "x", "level": "low", "tags": [1]}, "$.tags[0]"),
        (None, "$"),
    ):
        with refused(log, "PAYLOAD_INVALID", path, "test/note"):
            log.append(name, data)
    with refused(log, "SURFACE_NOT_ELIGIBLE", "test/note"):
        log.append(name, {"text": "x", "level": "low"}, surface_op="append")
    assert Session("s", seed=[{"type": "test/note", "seq": 0, "time": 0, "data": 7}]).seq == 1
    assert session(check_payloads=False).append(name, 7).data == 7


def test_a_plugin_adds_an_event_type_without_a_shape() -> None:
    name = VOCABULARY.register_event("test/anything")
    for data in (None, 7, [], {"content": None}):
        assert session().append(name, data).data == data


def test_an_event_type_that_was_met_before_is_checked_once_it_is_registered() -> None:
    log = session()
    assert log.append("test/late", 7).seq == 0
    name = VOCABULARY.register_event("test/late", _Note)
    with refused(log, "PAYLOAD_INVALID", "test/late"):
        log.append(name, 7)
    assert log.append(name, {"text": "x", "level": "high"}).seq == 1


@pytest.mark.parametrize("warm", [True, False], ids=["after the sum was used", "before"])
def test_a_plugin_adds_members_to_the_open_sums(warm: bool) -> None:
    blocks = {"good": {"type": "test-image", "url": "x"}, "bad": {"type": "test-image", "url": 7}}
    sources = {"good": {"kind": "test-cron", "job": 7}, "bad": {"kind": "test-cron", "job": "x"}}
    cases = [
        ("user/message", lambda v: {"content": [blocks[v]], "source": USER}, "$.content[0].url"),
        ("user/message", lambda v: {"content": [], "source": sources[v]}, "$.source.job"),
        (
            "turn/start",
            lambda v: {"turn": 1, "trigger": {"kind": "message", "source": sources[v]}},
            "$.trigger.source.job",
        ),
        (
            "turn/start",
            lambda v: {"turn": 1, "trigger": {"kind": "test-timer", "after": 1 if v == "good" else "x"}},
            "$.trigger.after",
        ),
        (
            "turn/end",
            lambda v: {"turn": 1, "reason": {"kind": "test-tired", "hours": 8 if v == "good" else 0.5}},
            "$.reason.hours",
        ),
        (
            "assistant/chunk",
            lambda v: _with_chunk("finish", reason={"kind": "test-filtered", "category": "c" if v == "good" else None}),
            "$.chunk.reason.category",
        ),
        ("assistant/chunk", lambda v: _with_chunk("block-end", index=0, block=blocks[v]), "$.chunk.block.url"),
    ]
    if warm:
        for type_, data, _ in cases:
            _append(session(), type_, data("good"))
    VOCABULARY.register_block("test-image", _Image)
    VOCABULARY.register_source("test-cron", _Cron)
    VOCABULARY.register_trigger("test-timer", _Timer)
    VOCABULARY.register_end_reason("test-tired", _Tired)
    VOCABULARY.register_finish_reason("test-filtered", _Filtered)
    for type_, data, path in cases:
        log = conversation()
        with refused(log, "PAYLOAD_INVALID", path, type_):
            _append(log, type_, data("bad"))
        assert _append(log, type_, data("good")).data == data("good")
        text_of_log = log.to_jsonl()
        assert loads(text_of_log).to_jsonl() == text_of_log
        wire = {"type": type_, "seq": 0, "time": 0, "data": data("bad")}
        if type_ in SURFACE_TYPES:
            wire["surfaceOp"] = "append"
        seeded = Session("s", seed=[wire])
        assert loads(seeded.to_jsonl()).events[0].data == data("bad")


def test_registering_the_same_again_changes_nothing() -> None:
    vocabulary = Vocabulary()
    vocabulary.register_event("test/twice", _Note)
    revision = vocabulary.revision
    assert vocabulary.register_event("test/twice", _Note) == "test/twice"
    assert vocabulary.revision == revision


@pytest.mark.parametrize(
    ("register", "name"),
    [
        ("register_event", "turn/start"),
        ("register_event", "user/message"),
        ("register_event", "request/header-delta"),
        ("register_event", ""),
        ("register_event", 7),
        ("register_block", "text"),
        ("register_source", "user"),
        ("register_trigger", "message"),
        ("register_end_reason", "completed"),
        ("register_finish_reason", "stop"),
        ("register_block", ""),
        ("register_source", None),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(register: str, name: Any) -> None:
    vocabulary = Vocabulary()
    before = vocabulary.event_types, vocabulary.revision
    with pytest.raises(SessionError) as caught:
        getattr(vocabulary, register)(name, _Note)
    assert caught.value.code == "VOCABULARY_CONFLICT"
    assert (vocabulary.event_types, vocabulary.revision) == before


def test_two_plugins_cannot_claim_one_name_with_different_shapes() -> None:
    vocabulary = Vocabulary()
    vocabulary.register_event("test/claimed", _Note)
    with pytest.raises(SessionError) as caught:
        vocabulary.register_event("test/claimed", _Image)
    assert caught.value.code == "VOCABULARY_CONFLICT"
    assert "test/claimed" in str(caught.value)
