"""Every append of the form goes through `Session.append`, and what is typed is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dsh_session import (
    VOCABULARY,
    Context,
    InvariantError,
    Recorder,
    Replace,
    Session,
    SurfaceHistory,
    invariants,
    samples,
)
from dsh_session.core.errors import JsonValueError
from dsh_session.core.vocabulary import CORE_TYPES, SURFACE_TYPES
from dsh_session.widgets import AppendForm
from tests.compaction.sessions import talked
from tests.core.payloads import conversation, payload
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def opened() -> Iterator[Any]:
    """Makes forms, and closes them."""
    forms = []

    def make(*args: Any, **options: Any) -> AppendForm:
        forms.append(AppendForm(*args, **options))
        return forms[-1]

    yield make
    for form in forms:
        form.close()


def said(form: AppendForm) -> str:
    """What the form says below its button."""
    return str(form._notice.text)


def checked(form: AppendForm) -> str:
    """What the form says would happen."""
    return str(form._check_notice.text)


def texts(session: Session) -> list[str]:
    return [event.data["content"][0]["text"] for event in session.events if event.type == "user/message"]


@pytest.mark.parametrize("event_type", CORE_TYPES)
@pytest.mark.parametrize("is_json", [False, True])
def test_it_leaves_the_log_that_code_would_leave(event_type: str, is_json: bool, opened: Any) -> None:
    by_hand, by_code = conversation(), conversation()
    form = opened(by_hand, event_type=event_type)
    form.is_json = is_json
    form.payload = payload(event_type)
    event = form.append()
    append: Any = by_code.append
    append(event_type, payload(event_type), surface_op="append" if event_type in SURFACE_TYPES else None)
    assert by_hand.to_jsonl() == by_code.to_jsonl()
    assert event is by_hand.events[-1] is form.appended
    assert said(form) == f"Appended {event_type} as seq 7."


def test_a_range_is_replaced_as_by_code(opened: Any) -> None:
    by_hand, by_code = conversation(), conversation()
    form = opened(by_hand, event_type="user/message")
    form.payload = payload("user/message")
    there = controls(form)
    there["Enters the surface"].value = "take the place of a range"
    there["First node"].value, there["Last node"].value = 1, 3
    assert "PROVENANCE" in checked(form), "what the surface rules refuse is said as one types"
    there["Comes from seqs"].value = "1, 3"
    form.append()
    by_code.append("user/message", payload("user/message"), surface_op=Replace(1, 3), source_event_seqs=[1, 3])
    assert by_hand.to_jsonl() == by_code.to_jsonl()


def test_seqs_that_are_none_are_refused_where_they_stand(opened: Any) -> None:
    form = opened(conversation(), event_type="user/message")
    controls(form)["Comes from seqs"].value = "one"
    assert checked(form).startswith("NOT_JSON_METADATA")
    assert form.append() is None


def test_a_whole_turn_is_typed_with_the_defaults(opened: Any) -> None:
    session = Session("s", clock=lambda: 0)
    form = opened(session)
    assert form.event_type == "turn/start"
    form.append()
    assert form.event_type == "user/message"
    controls(form._payload)["content[0].text"].value = "List the files."
    form.append()
    assert form.event_type == "step/start"
    form.append()
    assert form.event_type == "assistant/message"
    form.payload = form.payload | {
        "content": [{"type": "tool-call", "id": "c1", "name": "bash", "arguments": '{"command":"ls"}'}],
        "provenance": {"provider": "p", "model": "m"},
    }
    form.append()
    form.event_type = "tool/call"
    assert form.payload == {"turn": 1, "step": 1, "callId": "c1", "name": "bash", "arguments": '{"command":"ls"}'}
    form.append()
    assert form.event_type == "tool/result"
    assert form.payload["callId"] == "c1"
    form.append()
    form.event_type = "step/end"
    form.append()
    assert form.event_type == "turn/end"
    form.append()
    assert form.event_type == "turn/start"
    assert form.payload["turn"] == 2
    Session("s", seed=session.events)
    from dsh_session import check_invariants

    assert list(check_invariants(session.events)) == []


def test_the_route_and_the_todos_in_force_are_the_defaults(opened: Any) -> None:
    session = conversation()
    session.append("todo/write", {"todos": [{"content": "look", "status": "in_progress"}]})
    form = opened(session)
    form.event_type = "assistant/message"
    assert form.payload["provenance"] == {"provider": "mock", "model": "m1"}
    form.event_type = "todo/write"
    assert form.payload == {"todos": [{"content": "look", "status": "in_progress"}]}
    form.event_type = "request/header"
    assert form.payload == {"header": {"config": {"provider": "mock", "model": "m1"}}, "reason": "change"}


def test_an_error_stands_at_the_control_that_is_to_blame_with_its_code_and_path(opened: Any) -> None:
    form = opened(conversation(), event_type="assistant/message")
    controls(form._payload)["provenance.model"].value = ""
    assert form.refusal == (".provenance.model", "MISSING_ROUTE", "of 'assistant/message' must be a non-empty string")
    field = form._draft.form._field.find(".provenance.model")
    control, notice = field.widget.children
    assert control.description == "provenance.model"
    assert notice.text.startswith("MISSING_ROUTE at $.provenance.model: ")
    assert notice.kind == "error"
    assert form.append() is None
    assert form.session.seq == 7
    controls(form._payload)["provenance.model"].value = "m"
    assert form.refusal is None
    assert len(field.widget.children) == 1


def test_json_is_checked_as_it_is_typed(opened: Any) -> None:
    form = opened(conversation(), event_type="step/start")
    form.is_json = True
    area = controls(form._payload)["payload (JSON)"]
    area.value = '{"turn": 1,'
    assert form.refusal[1] == "NOT_JSON"
    assert "line 1, column 12" in form.refusal[2]
    area.value = '{"turn": 1, "step": "two"}'
    assert form.refusal == (".step", "PAYLOAD_INVALID", "must be an integer, not 'two'")
    area.value = '{"turn": 1, "step": 2}'
    assert form.refusal is None
    assert form.append().data == {"turn": 1, "step": 2}


def test_what_breaks_a_rule_between_events_is_said_and_may_be_appended(opened: Any) -> None:
    form = opened(Session("s"), event_type="step/start")
    assert checked(form).startswith("It would break a rule between events: 'step/start' names turn 0")
    assert form.append() is not None


def test_each_type_keeps_what_was_typed_for_it(opened: Any) -> None:
    form = opened(conversation(), event_type="user/message")
    controls(form._payload)["content[0].text"].value = "half a sent"
    form.event_type = "tool/call"
    controls(form._payload)["name"].value = "bash"
    form.event_type = "user/message"
    assert form.payload["content"][0]["text"] == "half a sent"
    form.is_json = True
    area = controls(form._payload)["payload (JSON)"]
    area.value = area.value[:-3]
    form.event_type = "tool/call"
    assert not form.is_json
    assert form.payload["name"] == "bash"
    form.event_type = "user/message"
    assert form.is_json
    assert controls(form._payload)["payload (JSON)"].value == area.value


def test_a_text_that_does_not_parse_is_not_left_for_the_form(opened: Any) -> None:
    form = opened(conversation(), event_type="user/message")
    form.is_json = True
    area = controls(form._payload)["payload (JSON)"]
    area.value = '{"content": ['
    form.is_json = False
    assert form.is_json
    assert controls(form._payload)["payload (JSON)"].value == '{"content": ['
    assert "kept as it is" in said(form)


def test_keys_that_the_form_does_not_know_survive_both_ways(opened: Any) -> None:
    form = opened(conversation(), event_type="user/message")
    value = payload("user/message") | {"extra": {"deep": [1, {"a": None}]}}
    form.payload = value
    for is_json in (True, False, True, False):
        form.is_json = is_json
        assert form.payload == value


def test_nothing_is_lost_by_a_refusal(opened: Any) -> None:
    with Context() as ctx:
        ctx.check("session/event", lambda _session, event: 1 / 0 if event.type == "user/message" else None)
        form = opened(ctx.sessions.create(), event_type="user/message")
        controls(form._payload)["content[0].text"].value = "said"
        assert form.append() is None
        assert said(form) == "ZeroDivisionError: division by zero"
        assert form.payload["content"][0]["text"] == "said"
        form.close()


def test_a_rule_that_is_enforced_is_said_with_its_code(opened: Any) -> None:
    with Context() as ctx:
        ctx.plugin(invariants())
        form = opened(ctx.sessions.create(), event_type="step/start")
        assert form.append() is None
        assert said(form).startswith("INVARIANT: ")
        with pytest.raises(InvariantError):
            form.session.append("step/start", form.payload)
        form.close()


def test_what_nobody_touched_follows_the_log_and_what_was_typed_stays(opened: Any) -> None:
    with Context() as ctx:
        session = ctx.sessions.create()
        form = opened(session, event_type="turn/start")
        form.event_type = "user/message"
        controls(form._payload)["content[0].text"].value = "typed"
        form.event_type = "step/start"
        talked(2, into=session)
        assert form.payload == {"turn": 3, "step": 1}
        form.event_type = "user/message"
        assert form.payload["content"][0]["text"] == "typed"
        form.close()


def test_what_nobody_touched_follows_the_log_in_the_controls_that_are_there(opened: Any) -> None:
    """Whoever stands on a control would be thrown out of it if another one took its place."""
    with Context() as ctx:
        session = ctx.sessions.create()
        record = Recorder(session)
        for event_type in ("turn/start", "step/start", "assistant/message", "turn/end"):
            for is_json in (False, True):
                form = opened(session, event_type=event_type)
                form.is_json = is_json
                before, was = controls(form), form.payload
                with record.turn("Go on."):
                    pass
                assert controls(form) == before, event_type
                assert form.payload == {**was, "turn": was["turn"] + 1}
                form.close()


@pytest.mark.parametrize("value", [{"x": {1, 2}}, {1: 2}, {"x": float("nan")}, {"x": b"raw"}])
def test_a_payload_that_is_no_json_is_refused_and_the_form_stays_as_it_was(opened: Any, value: Any) -> None:
    form = opened(conversation(), event_type="turn/start")
    before = form.payload
    with pytest.raises(JsonValueError, match="NOT_JSON"):
        form.payload = value
    assert form.payload == before
    assert form.append() is not None


@pytest.mark.parametrize("name", ["", None, 5])
def test_an_event_type_is_a_name(opened: Any, name: Any) -> None:
    form = opened(conversation())
    with pytest.raises(TypeError, match="give the name of an event type"):
        form.event_type = name


def test_starting_over_fills_in_the_defaults(opened: Any) -> None:
    form = opened(conversation(), event_type="user/message")
    controls(form._payload)["content[0].text"].value = "typed"
    controls(form)["Start over"].click()
    assert form.payload["content"][0]["text"] == ""


def test_a_type_that_nobody_registered_is_json(opened: Any) -> None:
    form = opened(conversation(), event_type="plugin/unheard-of")
    form.payload = {"anything": [1, 2]}
    assert form.append().type == "plugin/unheard-of"
    assert "plugin/unheard-of" not in VOCABULARY.event_types


def test_a_log_that_was_loaded_is_read_only_until_it_is_live(opened: Any) -> None:
    session = samples.load("pi-compacted-twice")
    count = session.seq
    form = opened(session)
    assert controls(form)["Append"].disabled
    assert "ctx.sessions.enter(session)" in said(form)
    assert form.append() is None
    assert session.seq == count
    with Context() as ctx:
        detach = ctx.sessions.enter(session)
        live = opened(session, event_type="turn/start")
        assert live.append() is not None
        live.close()
        detach()


def test_a_history_has_no_form() -> None:
    with pytest.raises(TypeError, match="a form is for a session"):
        AppendForm(SurfaceHistory([]))
    with Context() as ctx, pytest.raises(TypeError, match="a form is for a session"):
        AppendForm(ctx)


def test_who_wants_to_know_is_told_of_each_event(opened: Any) -> None:
    heard: list[Any] = []
    form = opened(conversation(), event_type="user/message")
    form.on_append(heard.append)
    controls(form)["Append"].click()
    assert heard == [form.session.events[-1]]


def test_many_appends_elsewhere_are_followed_in_time(opened: Any) -> None:
    with Context() as ctx:
        session = ctx.sessions.create()
        form = opened(session)
        talked(20, into=session)
        assert repr(form).endswith(f"as seq {session.seq}>")
        form.close()
