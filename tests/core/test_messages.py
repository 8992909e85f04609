"""Derived history: what each event type becomes, and when it is made anew."""

import json
from typing import Any

import pytest

from dsh_session import Replace, Session, derive_event_message, fold_todos, loads, render_context_content

from .payloads import LOG_ONLY_TYPES, ROUTE, USER, conversation, payload, session, text, wire_event
from .refusals import assert_agrees, refused

CONTENT = [text("hello")]


def _framed(tag: str, kind: str) -> list[Any]:
    return [text(f"<{tag} source={kind}>"), *CONTENT, text(f"</{tag}>")]


PROJECTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None]] = {
    "a user message": ("user/message", {"content": CONTENT, "source": USER}, {"role": "user", "content": CONTENT}),
    "an empty user message": ("user/message", {"content": [], "source": USER}, {"role": "user", "content": []}),
    "an assistant message": (
        "assistant/message",
        {
            "turn": 1,
            "step": 1,
            "content": CONTENT,
            "provenance": {**ROUTE, "replayState": {"id": 1}},
            "usage": {"inputTokens": 1, "outputTokens": 2},
        },
        {"role": "assistant", "content": CONTENT, "provenance": {**ROUTE, "replayState": {"id": 1}}},
    ),
    "an empty assistant message": (
        "assistant/message",
        {"turn": 1, "step": 1, "content": [], "provenance": ROUTE},
        None,
    ),
    "a tool result": (
        "tool/result",
        {
            "turn": 1,
            "step": 1,
            "callId": "c9",
            "content": CONTENT,
            "isError": True,
            "error": {"name": "E", "code": "x"},
            "meta": {"diff": 1},
        },
        {"role": "user", "content": [{"type": "tool-result", "toolCallId": "c9", "content": CONTENT, "isError": True}]},
    ),
    "a context": (
        "context/message",
        {"content": CONTENT, "source": USER, "meta": {"secret": 1}},
        {"role": "user", "content": _framed("context", '"user"')},
    ),
    "a context by name": (
        "context/message",
        {"content": CONTENT, "source": USER, "envelope": "context"},
        {"role": "user", "content": _framed("context", '"user"')},
    ),
    "a raw context": (
        "context/message",
        {"content": CONTENT, "source": USER, "envelope": "raw"},
        {"role": "user", "content": CONTENT},
    ),
    "a context of a plugin": (
        "context/message",
        {"content": CONTENT, "source": {"kind": "plugin", "plugin": "x"}},
        {"role": "user", "content": _framed("context", '"plugin"')},
    ),
    "an empty context": (
        "context/message",
        {"content": [], "source": USER},
        {"role": "user", "content": [text('<context source="user">'), text("</context>")]},
    ),
    "steering": (
        "steering/message",
        {"turn": 1, "content": CONTENT, "source": USER},
        {"role": "user", "content": _framed("steering", '"user"')},
    ),
    "steering is always framed": (
        "steering/message",
        {"turn": 1, "content": CONTENT, "source": USER, "envelope": "raw"},
        {"role": "user", "content": _framed("steering", '"user"')},
    ),
}


@pytest.mark.parametrize("case", PROJECTIONS.values(), ids=PROJECTIONS)
def test_an_event_becomes_its_message(case: tuple[str, dict[str, Any], dict[str, Any] | None]) -> None:
    type_, data, expected = case
    log = session()
    event = log.append(type_, data, surface_op="append")
    messages = [] if expected is None else [expected]
    assert log.derive_messages() == messages
    assert list(log.messages) == messages
    assert derive_event_message(event) == expected
    assert log.derive_event_message(event) == expected
    assert derive_event_message(event.to_dict()) == expected
    if expected is not None:
        assert list(log.messages[0]) == list(expected)
        assert "meta" not in json.dumps(log.derive_messages())
        assert "usage" not in log.messages[0]
    assert_agrees(log)


@pytest.mark.parametrize("type_", [*LOG_ONLY_TYPES, "plugin/own", "compact/summary"])
def test_every_other_event_becomes_nothing(type_: str) -> None:
    data = payload(type_) if type_ in LOG_ONLY_TYPES else {"content": CONTENT}
    log = session(check_payloads=False)
    event = log.append(type_, data)
    assert derive_event_message(event) is None
    assert log.derive_event_message(event) is None
    assert log.derive_messages() == []


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("user", '"user"'),
        ("", '""'),
        ('cron "x"', '"cron \\"x\\""'),
        ("a\\b", '"a\\\\b"'),
        ("é日本🙂", '"é日本🙂"'),
        ("</context>", '"</context>"'),
        ("a/b", '"a/b"'),
        ("\n\t\b\f\r", '"\\n\\t\\b\\f\\r"'),
        ("\x00\x1f", '"\\u0000\\u001f"'),
        ("\x7f\x80\u2028\u2029\ufeff", '"\x7f\x80\u2028\u2029\ufeff"'),
        (7, "7"),
        (7.0, "7"),
        (-1.5, "-1.5"),
        (True, "true"),
        (None, "null"),
        ([1, "a"], '[1,"a"]'),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_the_frame_shows_the_json_text_of_the_kind(kind: Any, shown: str) -> None:
    opening = text(f"<context source={shown}>")
    assert render_context_content(CONTENT, {"kind": kind})[0] == opening
    log = session(check_payloads=False)
    log.append("context/message", {"content": CONTENT, "source": {"kind": kind}}, surface_op="append")
    assert log.derive_messages()[0]["content"] == [opening, *CONTENT, text("</context>")]


def test_a_lone_surrogate_in_the_kind_is_escaped_and_other_characters_stay() -> None:
    (opening, _, _) = render_context_content(CONTENT, {"kind": "é\ud83d"})
    assert opening["text"] == '<context source="é\\ud83d">'


@pytest.mark.parametrize("envelope", [None, "context", "other", ""])
def test_only_the_raw_envelope_leaves_the_frame_out(envelope: str | None) -> None:
    assert list(render_context_content(CONTENT, USER, envelope)) == _framed("context", '"user"')
    assert list(render_context_content(CONTENT, USER, "raw")) == CONTENT


def test_rendering_leaves_the_callers_content_alone() -> None:
    content = [text("a")]
    blocks = render_context_content(content, USER)
    content[0]["text"] = "b"
    assert blocks[1] == text("a")
    assert type(content) is list


def test_messages_stand_in_surface_order() -> None:
    log = conversation()
    log.append("user/message", payload("user/message", "summary"), surface_op=Replace(1, 3), source_event_seqs=[1, 3])
    assert [message["content"][0].get("text") for message in log.derive_messages()] == ["summary", None]
    assert log.derive_messages()[1]["content"][0]["toolCallId"] == "c1"


def test_a_replacement_by_an_empty_answer_takes_the_messages_out() -> None:
    log = conversation()
    log.append(
        "assistant/message",
        {**payload("assistant/message"), "content": []},
        surface_op=Replace(1, 5),
        source_event_seqs=[1, 3, 5],
    )
    assert list(log.surface.nodes) == [7]
    assert log.derive_messages() == []
    log.append("user/message", payload("user/message", "again"), surface_op=Replace(7, 7), source_event_seqs=[7])
    assert [message["content"][0]["text"] for message in log.derive_messages()] == ["again"]
    assert_agrees(log)


def test_an_empty_answer_between_messages_can_be_an_edge_of_a_range() -> None:
    log = session()
    for content in ([text("a")], [], [text("b")], []):
        log.append("assistant/message", {**payload("assistant/message"), "content": content}, surface_op="append")
    assert len(log.derive_messages()) == 2
    log.append("user/message", payload("user/message", "c"), surface_op=Replace(1, 1), source_event_seqs=[1])
    assert [m["content"][0]["text"] for m in log.derive_messages()] == ["a", "c", "b"]
    log.append("user/message", payload("user/message", "d"), surface_op=Replace(4, 3), source_event_seqs=[4, 2, 3])
    assert [m["content"][0]["text"] for m in log.derive_messages()] == ["a", "d"]
    assert_agrees(log)


def test_messages_are_shared_between_readings() -> None:
    log = conversation()
    first = log.derive_messages()
    log.append("user/message", payload("user/message", "more"), surface_op="append")
    second = log.derive_messages()
    assert first is not second
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert all(a is b for a, b in zip(second, log.messages, strict=True))
    log.append("user/message", payload("user/message", "x"), surface_op=Replace(1, 1), source_event_seqs=[1])
    third = log.derive_messages()
    assert third[0] is not second[0]
    assert all(a is b for a, b in zip(third[1:], second[1:], strict=True))


def test_a_message_shares_its_content_with_the_event() -> None:
    log = conversation()
    assert log.messages[0]["content"] == log.events[1].data["content"]
    with pytest.raises(TypeError):
        log.messages[0]["content"].append(1)


def test_a_view_of_the_messages_never_changes() -> None:
    log = conversation()
    view = log.messages
    before = list(view)
    log.append("user/message", payload("user/message", "more"), surface_op="append")
    assert (len(view), list(view)) == (3, before)
    assert len(log.messages) == 4
    log.append("user/message", payload("user/message", "x"), surface_op=Replace(1, 5), source_event_seqs=[1, 3, 5])
    assert (len(view), list(view)) == (3, before)
    assert len(log.messages) == 2


def test_a_caller_who_changes_a_projection_does_not_change_the_history() -> None:
    log = conversation()
    message: Any = log.derive_event_message(log.events[1])
    try:
        message["role"] = "system"
        message["content"] = []
    except TypeError:
        pass  # frozen, which is one way to keep it
    assert log.derive_event_message(log.events[1]) == {"role": "user", "content": [text("one")]}
    assert log.derive_messages()[0]["role"] == "user"


NOT_PROJECTABLE: dict[str, Any] = {
    "null": None,
    "a number": 1,
    "a string": "hello",
    "a list": [],
    "no content": {},
    "null content": {"content": None},
    "a string as content": {"content": "hello"},
    "an object as content": {"content": {"0": text("x")}},
    "a string as a block": {"content": [text("x"), "y"]},
    "null as a block": {"content": [None]},
    "a list as a block": {"content": [[text("x")]]},
    "true as a block": {"content": [True]},
}


@pytest.mark.parametrize(
    "type_", ["user/message", "assistant/message", "tool/result", "context/message", "steering/message"]
)
@pytest.mark.parametrize("check_payloads", [True, False])
@pytest.mark.parametrize("name", NOT_PROJECTABLE)
def test_what_no_message_can_come_from_is_refused_with_checks_off_too(
    name: str, check_payloads: bool, type_: str
) -> None:
    data = NOT_PROJECTABLE[name]
    if isinstance(data, dict) and type_ == "assistant/message":
        data = {**data, "provenance": ROUTE}
    log = conversation(check_payloads=check_payloads)
    with refused(log, "PAYLOAD_INVALID", type_):
        log.append(type_, data, surface_op="append")
    assert log.append(type_, payload(type_), surface_op="append").seq == 7


@pytest.mark.parametrize("type_", ["user/message", "tool/result", "context/message", "steering/message"])
@pytest.mark.parametrize("check_payloads", [True, False])
@pytest.mark.parametrize("name", NOT_PROJECTABLE)
def test_a_seed_and_a_file_may_not_hold_it_either(name: str, check_payloads: bool, type_: str) -> None:
    from dsh_session import SessionError

    seed = [wire_event("turn/start", 0), wire_event(type_, 1, data=NOT_PROJECTABLE[name])]
    with pytest.raises(SessionError) as caught:
        Session("s", seed=seed, check_payloads=check_payloads)
    assert (caught.value.code, caught.value.index) == ("PAYLOAD_INVALID", 1)
    lines = [{"type": "session", "version": 0, "id": "s", "createdAt": 1}, *seed, wire_event("turn/end", 2)]
    with pytest.raises(SessionError) as caught:
        loads("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("user/message", {"content": [{}]}),
        ("user/message", {"content": [{"type": None}], "source": None}),
        ("tool/result", {"content": []}),
        ("tool/result", {"content": [], "isError": "no", "callId": 7}),
        ("context/message", {"content": []}),
        ("context/message", {"content": [], "source": "x"}),
        ("context/message", {"content": [], "source": [], "envelope": 7}),
        ("steering/message", {"content": [{"type": "text"}], "source": {}}),
        ("assistant/message", {"content": [{"type": "tool-call"}], "provenance": {"provider": "p", "model": "m"}}),
    ],
)
def test_what_is_projectable_and_otherwise_malformed_loads_and_shows(type_: str, data: dict[str, Any]) -> None:
    log = session(check_payloads=False)
    log.append(type_, data, surface_op="append")
    assert len(log.derive_messages()) == 1
    again = loads(log.to_jsonl())
    assert again.derive_messages() == log.derive_messages()
    assert again.to_jsonl() == log.to_jsonl()


def test_an_answer_without_provenance_has_a_message_without_it() -> None:
    log = session(check_payloads=False)
    log.append("assistant/message", {"content": CONTENT}, surface_op="append")
    assert log.derive_messages() == [{"role": "assistant", "content": CONTENT}]


def test_the_latest_todo_list_is_in_force() -> None:
    log = conversation()
    assert list(fold_todos(log.events) or []) == [{"content": "hello", "status": "pending"}]
    log.append("todo/write", {"todos": [{"content": "b", "status": "completed"}]})
    assert list(fold_todos(log.events) or []) == [{"content": "b", "status": "completed"}]
    assert list(fold_todos([event.to_dict() for event in log.events]) or []) == [
        {"content": "b", "status": "completed"}
    ]
    log.append("todo/write", {"todos": []})
    assert list(fold_todos(log.events) or []) == []
    assert not fold_todos([])


@pytest.mark.parametrize("data", [None, 7, [], {}, {"todos": None}, {"todos": "x"}, {"todos": [7]}])
def test_a_malformed_todo_list_stops_no_fold(data: Any) -> None:
    fold_todos([{"type": "todo/write", "seq": 0, "time": 0, "data": data}])
