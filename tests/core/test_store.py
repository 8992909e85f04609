"""The store: how a session lives in it, who hears of that, and what listeners may do meanwhile."""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from dsh_session import Context, Session, SessionError, SessionEvent
from dsh_session.core.errors import StoreError

from .payloads import payload, wire_event
from .refusals import assert_agrees
from .stores import FAMILIES, Ears, PlantedError, assert_names, context, no_collector, todo, turn, warnings_of


def raising(*_arguments: Any) -> None:
    raise PlantedError("planted")


def refused_because(code: str) -> Any:
    return pytest.raises(SessionError, match=rf"^{code}: ")


# --------------------------------------------------------------------------------------------------- ids and headers


def test_ids_are_minted_by_counting_and_skip_those_in_use() -> None:
    with context() as ctx:
        ctx.sessions.create("session-2")
        assert [ctx.sessions.create().id for _ in range(3)] == ["session-1", "session-3", "session-4"]


def test_the_counter_is_never_reset_and_is_spent_even_when_the_preparation_fails() -> None:
    with context() as ctx:
        assert ctx.sessions.prepare().id == "session-1"
        with refused_because("HEADER_CWD_RELATIVE"):
            ctx.sessions.create(meta={"cwd": "relative"})
        with ctx.child() as child:
            assert child.sessions.create().id == "session-3"
        assert ctx.sessions.create().id == "session-4"


def test_children_and_scopes_count_together() -> None:
    with context() as ctx:
        assert [each.sessions.create().id for each in (ctx, ctx.child(), ctx.scope())] == [
            "session-1",
            "session-2",
            "session-3",
        ]


def test_a_given_source_of_ids_is_asked_again_while_its_answer_is_taken() -> None:
    names = iter(["a", "a", "b", "a", "c"])
    with context(new_id=lambda: next(names)) as ctx:
        assert [ctx.sessions.create().id for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.parametrize("identity", ["", " ", "../x", "\ud83d", "id\nwith lines", "s" * 10_000])
def test_any_string_is_an_id(identity: str) -> None:
    with context() as ctx:
        session = ctx.sessions.create(identity)
        assert ctx.sessions.get(identity) is session
        turn(session)
        assert ctx.sessions.fork(identity, child_session_id="child").header.parent_session == identity


@pytest.mark.parametrize("identity", [1, b"s", ("s",), True])
def test_an_id_that_is_no_string_is_refused_and_leaves_nothing(identity: Any) -> None:
    with context() as ctx:
        for make in (ctx.sessions.create, ctx.sessions.prepare):
            with pytest.raises(TypeError, match="id must be a str"):
                make(identity)
        assert ctx.sessions.list() == []


def test_metadata_without_a_time_means_now_and_none_elsewhere_is_refused() -> None:
    with context() as ctx:
        assert ctx.sessions.prepare(meta={"createdAt": None}).header.created_at == 1000
        for key, code in {
            "cwd": "HEADER_CWD_TYPE",
            "parentSession": "HEADER_PARENT",
            "seedLength": "HEADER_SEED_LENGTH",
        }.items():
            with refused_because(code):
                ctx.sessions.create("s", meta={key: None})
        assert ctx.sessions.list() == []


def test_only_the_four_metadata_fields_are_copied_and_the_callers_dict_is_not_shared() -> None:
    meta: dict[str, Any] = {
        "seedLength": 3,
        "cwd": "/w",
        "id": "x",
        "version": 9,
        "more": object(),
        "parentSession": "p",
    }
    with context() as ctx:
        session = ctx.sessions.create("s", meta=meta)
        meta["cwd"] = "/elsewhere"
        assert session.header.to_dict() == {
            "version": 0,
            "id": "s",
            "createdAt": 1000,
            "cwd": "/w",
            "parentSession": "p",
            "seedLength": 3,
        }
        assert list(session.header.to_dict()) == ["version", "id", "createdAt", "cwd", "parentSession", "seedLength"]


@pytest.mark.parametrize("meta", [[], "x", 3, ("cwd", "/w")])
def test_metadata_that_is_no_object_is_refused(meta: Any) -> None:
    with context() as ctx, refused_because("HEADER_NOT_RECORD"):
        ctx.sessions.create("s", meta=meta)


# ------------------------------------------------------------------------------------------- prepare, enter, announce


def test_preparing_publishes_nothing_and_reserves_nothing() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        first, second = ctx.sessions.prepare("s"), ctx.sessions.prepare("s")
        turn(first)
        assert ctx.sessions.get("s") is None
        ctx.sessions.enter(second)
        with refused_because("SESSION_EXISTS"):
            ctx.sessions.enter(first)
        assert ctx.sessions.list() == [second]
        assert ears.take() == []


def test_a_taken_id_is_refused_by_prepare_and_by_create() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        ears = Ears(ctx)
        for make in (ctx.sessions.prepare, ctx.sessions.create):
            with pytest.raises(StoreError, match="'s'") as caught:
                make("s")
            assert caught.value.code == "SESSION_EXISTS"
        assert ctx.sessions.list() == [session]
        assert ears.take() == []


def test_an_entered_session_is_found_and_published_before_it_is_announced() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        assert ctx.sessions.get("s") is session
        todo(session)
        assert ears.take() == [("event", "s", 0)]
        ctx.sessions.announce(session)
        assert ears.take() == [("created", "s")]
        detach()
        assert ears.take() == [("disposed", "s")]


def test_a_disposal_is_published_only_when_an_announcement_had_begun() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        ctx.sessions.enter(ctx.sessions.prepare("silent"))()
        assert ears.take() == []
        session = ctx.sessions.prepare("loud")
        detach = ctx.sessions.enter(session)
        undo = ctx.on("session/created", raising, prepend=True)
        with pytest.raises(PlantedError):
            ctx.sessions.announce(session)
        undo()
        detach()
        assert ears.take() == [("disposed", "loud")]


def test_a_disposal_is_published_once_and_after_the_session_has_left() -> None:
    seen = []
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        ctx.on("session/disposed", lambda session: seen.append((ctx.sessions.get("s"), session.id)))
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        detach()
        detach()
        assert seen == [(None, "s")]


def test_detaching_twice_does_nothing_more() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        for _ in range(3):
            detach()
        assert ears.take() == [("created", "s"), ("disposed", "s")]


def test_a_stale_detach_removes_neither_a_later_stay_nor_a_later_session_of_the_same_id() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        stale = ctx.sessions.enter(session)
        stale()
        again = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        stale()
        assert ctx.sessions.get("s") is session
        again()
        other = ctx.sessions.create("s")
        stale()
        again()
        assert ctx.sessions.get("s") is other


def test_after_detaching_a_session_may_enter_and_be_announced_again() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        for _ in range(2):
            detach = ctx.sessions.enter(session)
            ctx.sessions.announce(session)
            todo(session)
            detach()
        assert ears.take() == [
            *[("created", "s"), ("event", "s", 0), ("disposed", "s")],
            *[("created", "s"), ("event", "s", 1), ("disposed", "s")],
        ]


def test_a_session_that_is_attached_cannot_be_entered_again_here_or_elsewhere() -> None:
    with context() as ctx, context() as other:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        with refused_because("SESSION_EXISTS"):
            ctx.sessions.enter(session)
        with refused_because("ALREADY_ATTACHED"):
            other.sessions.enter(session)
        other.sessions.create("s")
        with refused_because("SESSION_EXISTS"):
            other.sessions.enter(session)
        detach()
        with context() as third:
            third.sessions.enter(session)
            assert third.sessions.get("s") is session


def test_a_bare_session_may_enter_and_its_appends_are_published_from_then_on() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = Session("bare", clock=lambda: 5)
        todo(session)
        ctx.sessions.enter(session)
        todo(session)
        assert ears.take() == [("event", "bare", 1)]


def test_an_announcement_needs_a_live_session_and_happens_once() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        with refused_because("NOT_LIVE"):
            ctx.sessions.announce(session)
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        with refused_because("ALREADY_ANNOUNCED"):
            ctx.sessions.announce(session)
        with refused_because("NOT_LIVE"):
            ctx.sessions.announce(Session("s"))
        detach()
        with refused_because("NOT_LIVE"):
            ctx.sessions.announce(session)


def test_announcing_from_within_a_creation_listener_is_refused() -> None:
    codes = []

    def again(session: Session) -> None:
        try:
            ctx.sessions.announce(session)
        except SessionError as error:
            codes.append(error.code)

    with context() as ctx:
        ctx.on("session/created", again)
        ctx.sessions.create("s")
    assert codes == ["ALREADY_ANNOUNCED"]


def test_announcing_stays_spent_after_a_creation_listener_raised() -> None:
    with context() as ctx:
        ctx.on("session/created", raising)
        session = ctx.sessions.prepare("s")
        ctx.sessions.enter(session)
        with pytest.raises(PlantedError):
            ctx.sessions.announce(session)
        assert ctx.sessions.get("s") is session
        with refused_because("ALREADY_ANNOUNCED"):
            ctx.sessions.announce(session)


def test_a_raising_creation_listener_stops_the_later_ones_and_create_takes_the_session_out() -> None:
    with context() as ctx:
        seen: list[Any] = []
        ctx.on("session/created", lambda _session: seen.append("first"))
        ctx.on("session/created", raising)
        ctx.on("session/created", lambda _session: seen.append("never"))
        ctx.on("session/disposed", lambda session: seen.append(("disposed", session.id)))
        with pytest.raises(PlantedError):
            ctx.sessions.create("s")
        assert seen == ["first", ("disposed", "s")]
        assert ctx.sessions.list() == []


def test_a_session_that_create_took_out_again_is_not_disposed_a_second_time_when_its_owner_closes() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        child = ctx.child()
        undo = ctx.on("session/created", raising)
        with pytest.raises(PlantedError):
            child.sessions.create("s")
        undo()
        later = ctx.sessions.create("s")
        child.close()
        assert ctx.sessions.get("s") is later
        assert [each for each in ears.take() if each[0] == "disposed"] == [("disposed", "s")]


def test_a_bad_seed_or_header_creates_nothing_and_tells_nobody() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        with pytest.raises(SessionError) as caught:
            ctx.sessions.create("s", seed=[wire_event("turn/start", 0), wire_event("turn/end", 7)])
        assert (caught.value.code, caught.value.index) == ("SEED_NOT_CONTIGUOUS", 1)
        with refused_because("HEADER_CREATED_AT"):
            ctx.sessions.create("s", meta={"createdAt": "now"})
        assert ctx.sessions.list() == []
        assert ears.take() == []


def test_a_seed_is_taken_over_and_not_published() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.create("s", seed=[wire_event("user/message", 0), wire_event("turn/end", 1)])
        assert session.seq == 2
        assert session.surface.nodes == (0,)
        assert ears.take() == [("created", "s")]


def test_list_gives_a_fresh_list_in_the_order_of_entering() -> None:
    with context() as ctx:
        first, second = ctx.sessions.prepare("a"), ctx.sessions.prepare("b")
        ctx.sessions.enter(second)
        leave = ctx.sessions.enter(first)
        live = ctx.sessions.list()
        assert live == [second, first]
        live.clear()
        leave()
        ctx.sessions.enter(first)
        assert ctx.sessions.list() == [second, first]
        assert ctx.sessions.get("nobody") is None


# --------------------------------------------------------------------------------------------- owners and scopes


def test_create_binds_a_session_to_its_owner_and_enter_does_not() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        owner = ctx.child()
        owner.sessions.create("owned")
        free = owner.sessions.prepare("free")
        detach = owner.sessions.enter(free)
        owner.sessions.announce(free)
        owner.close()
        assert ctx.sessions.list() == [free]
        assert ears.take() == [("created", "owned"), ("created", "free"), ("disposed", "owned")]
        todo(free)
        detach()
        assert ears.take() == [("event", "free", 0), ("disposed", "free")]


def test_sessions_of_a_closing_owner_leave_last_first() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        owner = ctx.child()
        for name in "abc":
            owner.sessions.create(name)
        ears.take()
        owner.close()
        assert ears.take() == [("disposed", "c"), ("disposed", "b"), ("disposed", "a")]


def test_scoped_ears_hear_their_own_sessions_and_others_hear_all() -> None:
    with context() as ctx:
        red, blue = ctx.scope(), ctx.scope()
        everything, of_red, of_blue = Ears(ctx), Ears(red), Ears(blue)
        overall = Ears(blue, global_=True)
        for owner, name in ((red, "r"), (blue, "b"), (ctx, "free")):
            session = owner.sessions.create(name)
            todo(session)
            asyncio.run(ctx.sessions.flush(session))
        red.close()
        blue_heard = of_blue.take()
        assert of_red.take() == [("created", "r"), ("event", "r", 0), ("flush", "r"), ("disposed", "r")]
        assert blue_heard == [("created", "b"), ("event", "b", 0), ("flush", "b")]
        heard = everything.take()
        assert [each[:2] for each in heard] == [
            (family, name) for name in ("r", "b", "free") for family in ("created", "event", "flush")
        ] + [("disposed", "r")]
        assert overall.take() == heard


def test_a_scoped_session_that_leaves_by_its_detach_is_heard_by_its_scope() -> None:
    with context() as ctx:
        red, blue = ctx.scope(), ctx.scope()
        of_red, of_blue = Ears(red), Ears(blue)
        session = ctx.sessions.prepare("s")
        detach = red.sessions.enter(session)
        ctx.sessions.announce(session)
        detach()
        assert of_red.take() == [("created", "s"), ("disposed", "s")]
        assert of_blue.take() == []


def test_the_scope_is_that_of_the_context_that_entered_whoever_announces_or_flushes() -> None:
    with context() as ctx:
        red, blue = ctx.scope(), ctx.scope()
        of_red, of_blue = Ears(red), Ears(blue)
        session = blue.sessions.prepare("s")
        red.sessions.enter(session)
        blue.sessions.announce(session)
        asyncio.run(blue.sessions.flush(session))
        todo(session)
        assert of_red.take() == [("created", "s"), ("flush", "s"), ("event", "s", 0)]
        assert of_blue.take() == []


def test_of_nested_scopes_only_the_innermost_hears() -> None:
    with context() as ctx:
        outer = ctx.scope()
        inner = outer.scope()
        of_outer, of_inner = Ears(outer), Ears(inner)
        todo(inner.sessions.create("s"))
        assert of_inner.take() == [("created", "s"), ("event", "s", 0)]
        assert of_outer.take() == []


def test_a_child_of_a_scope_belongs_to_that_scope() -> None:
    with context() as ctx:
        scope = ctx.scope()
        of_child = Ears(scope.child())
        scope.sessions.create("s")
        scope.child().sessions.create("t")
        assert of_child.take() == [("created", "s"), ("created", "t")]


def test_checks_ignore_scope() -> None:
    seen: list[str] = []
    with context() as ctx:
        ctx.scope().check("session/created", lambda session: seen.append(session.id))
        ctx.sessions.create("free")
        ctx.scope().sessions.create("elsewhere")
    assert seen == ["free", "elsewhere"]


# --------------------------------------------------------------------------------------------- session/event: commit


def test_an_event_is_published_after_the_commit_and_is_the_very_object_that_append_returns() -> None:
    seen: list[Any] = []

    def listener(session: Session, event: SessionEvent) -> None:
        seen.append((event, session.events[-1], session.seq, list(session.surface.nodes), session.derive_messages()))

    with context() as ctx:
        ctx.on("session/event", listener)
        session = ctx.sessions.create("s")
        event = session.append("user/message", payload("user/message"), surface_op="append")
    [(heard, last, length, nodes, messages)] = seen
    assert heard is last is event
    assert (length, nodes) == (1, [0])
    assert messages == session.derive_messages()


def test_a_listener_that_raises_disturbs_neither_the_append_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    with context() as ctx:
        ctx.on("session/event", raising)
        ears = Ears(ctx)
        ctx.on("session/event", raising)
        session = ctx.sessions.create("the session")
        with warnings_of(caplog) as warnings:
            event = todo(session)
        assert session.events == [event]
        assert ears.take() == [("created", "the session"), ("event", "the session", 0)]
    assert len(warnings) == 2
    for text in warnings:
        assert_names(text, "the session", "session/event")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_listener_comes_through_and_the_session_works_on(stop: type[BaseException]) -> None:
    def interrupt(*_arguments: Any) -> None:
        undo()
        raise stop

    with context() as ctx:
        undo = ctx.on("session/event", interrupt)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        with pytest.raises(stop):
            todo(session)
        assert_agrees(session)
        assert todo(session).seq == 1
        detach()
        assert ctx.sessions.list() == []


def test_a_check_that_raises_refuses_the_append_without_a_trace_and_the_same_call_may_be_repeated() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.create("s")
        turn(session)
        ears.take()
        events, nodes, generation = session.events, session.surface.nodes, session.surface.replace_generation
        undo = ctx.check("session/event", raising)
        replace = partial(
            session.append,
            "user/message",
            payload("user/message", "summary"),
            surface_op={"op": "replace", "start": 1, "end": 1},
            source_event_seqs=[1],
        )
        with pytest.raises(PlantedError):
            replace()
        assert session.events is events
        assert session.surface.nodes == nodes
        assert session.surface.replace_generation == generation
        assert_agrees(session)
        assert ears.take() == []
        undo()
        assert replace().seq == 3
        assert session.surface.nodes == (3,)
        assert ears.take() == [("event", "s", 3)]


def test_a_check_sees_the_frozen_candidate_with_its_seq_before_it_is_in_the_log() -> None:
    seen: list[Any] = []

    def check(session: Session, event: SessionEvent) -> None:
        with pytest.raises(TypeError):
            event.data["turn"] = 2
        seen.append((event, event.seq, session.seq, len(session.surface)))

    with context() as ctx:
        session = ctx.sessions.create("s")
        todo(session)
        ctx.check("session/event", check)
        event = session.append("user/message", payload("user/message"), surface_op="append")
    assert seen == [(event, 1, 1, 0)]
    assert seen[0][0] is event


def test_checks_run_in_order_and_the_first_that_raises_ends_it() -> None:
    seen: list[str] = []
    with context() as ctx:
        ctx.check("session/event", lambda _session, _event: seen.append("first"))
        ctx.check("session/event", raising)
        ctx.check("session/event", lambda _session, _event: seen.append("never"))
        session = ctx.sessions.create("s")
        with pytest.raises(PlantedError):
            todo(session)
    assert seen == ["first"]


def test_an_append_that_breaks_an_earlier_rule_never_reaches_the_checks() -> None:
    seen: list[Any] = []
    with context() as ctx:
        ctx.check("session/event", lambda _session, event: seen.append(event))
        session = ctx.sessions.create("s")
        with refused_because("SURFACE_MARKER_REQUIRED"):
            session.append("user/message", payload("user/message"))
        with refused_because("PAYLOAD_INVALID"):
            session.append("turn/start", {"turn": "one"})
        with refused_because("MISSING_ROUTE"):
            session.append(
                "assistant/message",
                {**payload("assistant/message"), "provenance": {"provider": "", "model": ""}},
                surface_op="append",
            )
    assert seen == []


def test_a_refused_append_leaves_the_session_free_to_fork() -> None:
    unrouted = {"turn": 1, "step": 1, "content": [], "provenance": {}}
    with context(check_payloads=False) as ctx:
        session = ctx.sessions.create("s")
        undo = ctx.check("session/event", raising)
        with pytest.raises(PlantedError):
            session.append("assistant/message", unrouted, surface_op="append")
        undo()
        turn(session)
        assert ctx.sessions.fork(session).seq == 3


# ------------------------------------------------------------------------------- what listeners do during a dispatch


def test_a_listener_added_during_a_publication_misses_that_event_and_hears_the_next() -> None:
    seen: list[Any] = []

    def add(_session: Session, _event: SessionEvent) -> None:
        undo()
        ctx.on("session/event", lambda _session, event: seen.append(event.seq))

    with context() as ctx:
        undo = ctx.on("session/event", add)
        session = ctx.sessions.create("s")
        todo(session)
        assert seen == []
        todo(session)
        assert seen == [1]


def test_a_listener_removed_during_a_publication_still_gets_that_event() -> None:
    seen: list[Any] = []
    with context() as ctx:
        ctx.on("session/event", lambda _session, _event: undo())
        undo = ctx.on("session/event", lambda _session, event: seen.append(event.seq))
        session = ctx.sessions.create("s")
        todo(session)
        todo(session)
    assert seen == [0]


def test_a_listener_added_by_a_check_misses_the_event_that_was_checked() -> None:
    seen: list[Any] = []

    def check(_session: Session, _event: SessionEvent) -> None:
        undo()
        ctx.on("session/event", lambda _session, event: seen.append(event.seq))

    with context() as ctx:
        undo = ctx.check("session/event", check)
        session = ctx.sessions.create("s")
        todo(session)
        assert seen == []
        todo(session)
        assert seen == [1]


@pytest.mark.parametrize("place", ["listener", "check"])
def test_appending_to_the_same_session_from_its_own_dispatch_is_refused(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    codes: list[str] = []

    def again(session: Session, _event: SessionEvent) -> None:
        try:
            todo(session)
        except SessionError as error:
            codes.append(error.code)
            raise

    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.create("s")
        undo = ctx.on("session/event", again) if place == "listener" else ctx.check("session/event", again)
        ears.take()
        with warnings_of(caplog) as warnings:
            if place == "listener":
                assert todo(session).seq == 0
            else:
                with refused_because("APPEND_REENTERED"):
                    todo(session)
        assert codes == ["APPEND_REENTERED"]
        assert session.seq == (1 if place == "listener" else 0)
        assert len(warnings) == session.seq
        undo()
        todo(session)
        assert_agrees(session)


REENTRIES: dict[str, tuple[str, Callable[[Session], Any]]] = {
    "data that JSON cannot hold": ("NOT_JSON", lambda s: s.append("plugin/own", {"x": object()})),
    "the legacy vocabulary": ("LEGACY_HEADER", lambda s: s.append("request/header-delta", {})),
    "options that JSON cannot hold": (
        "NOT_JSON_METADATA",
        lambda s: s.append("user/message", payload("user/message"), surface_op=object()),
    ),
    "a missing marker": ("APPEND_REENTERED", lambda s: s.append("user/message", payload("user/message"))),
    "a payload of another shape": ("APPEND_REENTERED", lambda s: s.append("turn/start", {"turn": "one"})),
}


@pytest.mark.parametrize(("code", "again"), REENTRIES.values(), ids=REENTRIES)
def test_re_entry_is_noticed_after_the_data_and_the_options_were_looked_at_and_before_all_else(
    code: str, again: Callable[[Session], Any]
) -> None:
    codes: list[str] = []

    def listener(session: Session, _event: SessionEvent) -> None:
        try:
            again(session)
        except SessionError as error:
            codes.append(error.code)

    with context() as ctx:
        ctx.on("session/event", listener)
        todo(ctx.sessions.create("s"))
    assert codes == [code]


def test_a_session_whose_attributes_were_tampered_with_is_still_heard_and_can_still_leave() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        session.note = "anything"  # type: ignore[attr-defined]
        with suppress(AttributeError, TypeError):
            session.id = "another"  # type: ignore[misc]
        todo(session)
        detach()
        assert [what for what, *_ in ears.take()] == ["created", "event", "disposed"]
        assert ctx.sessions.list() == []
        assert ctx.sessions.get("s") is None


def test_a_listener_may_append_to_create_and_fork_other_sessions_and_their_listeners_run_inside() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        other = ctx.sessions.create("other")
        session = ctx.sessions.create("s")

        def act(heard: Session, event: SessionEvent) -> None:
            if heard is session and event.type == "turn/end":
                todo(other)
                ctx.sessions.create("made")
                ctx.sessions.fork(session, child_session_id="forked")

        ctx.on("session/event", act)
        ears.take()
        end = turn(session)
        assert ears.take()[2:] == [("event", "s", 2), ("event", "other", 0), ("created", "made"), ("created", "forked")]
        fork = ctx.sessions.get("forked")
        assert fork is not None
        assert fork.events[-1] is end


def test_two_sessions_whose_listeners_append_to_each_other_stop_where_the_first_is_publishing() -> None:
    codes: list[str] = []
    with context() as ctx:
        pair = [ctx.sessions.create("a"), ctx.sessions.create("b")]

        def bounce(session: Session, _event: SessionEvent) -> None:
            try:
                todo(pair[1] if session is pair[0] else pair[0])
            except SessionError as error:
                codes.append(error.code)

        ctx.on("session/event", bounce)
        todo(pair[0])
        assert [session.seq for session in pair] == [1, 1]
        assert codes == ["APPEND_REENTERED"]


def test_a_fork_during_a_check_does_not_see_the_candidate() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        turn(session)
        ctx.check("session/event", lambda heard, _event: heard.id == "s" and ctx.sessions.fork("s"))
        todo(session)
        fork = ctx.sessions.get("session-1")
        assert fork is not None
        assert fork.seq == 3


def test_detaching_during_an_append_waits_until_it_is_over() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        seen: list[Any] = []

        def leave(_session: Session, _event: SessionEvent) -> None:
            detach()
            detach()
            seen.append(("still live", ctx.sessions.get("s") is session))

        ctx.on("session/event", leave)
        ears = Ears(ctx)
        todo(session)
        assert seen == [("still live", True)]
        assert ears.take() == [("event", "s", 0), ("disposed", "s")]
        assert ctx.sessions.get("s") is None
        todo(session)
        assert ears.take() == []


def test_detaching_during_a_check_that_then_refuses_takes_the_session_out_all_the_same() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)

        def check(_session: Session, _event: SessionEvent) -> None:
            detach()
            raise PlantedError("no")

        ctx.check("session/event", check)
        with pytest.raises(PlantedError):
            todo(session)
        assert ears.take() == [("created", "s"), ("disposed", "s")]
        assert session.seq == 0


def test_detaching_during_a_creation_waits_for_all_its_listeners_and_for_appends_within() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)

        def leave(session: Session) -> None:
            todo(session)
            detach()
            todo(session)

        ctx.on("session/created", leave)
        ears = Ears(ctx)
        ctx.sessions.announce(session)
        assert ears.take() == [("event", "s", 0), ("event", "s", 1), ("created", "s"), ("disposed", "s")]
        assert ctx.sessions.list() == []


def test_detaching_within_an_append_within_a_creation_waits_for_the_outer_dispatch() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.on("session/event", lambda _session, _event: detach())
        ctx.on("session/created", todo)
        live: list[bool] = []
        ctx.on("session/created", lambda session: live.append(ctx.sessions.get("s") is session))
        ears = Ears(ctx)
        ctx.sessions.announce(session)
        assert live == [True]
        assert ears.take() == [("event", "s", 0), ("created", "s"), ("disposed", "s")]


def test_announcing_within_an_append_that_detaches_waits_for_the_append() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.on("session/event", lambda session, _event: ctx.sessions.announce(session))
        ctx.on("session/created", lambda _session: detach())
        ears = Ears(ctx)
        todo(session)
        assert ears.take() == [("created", "s"), ("event", "s", 0), ("disposed", "s")]


def test_a_creation_listener_that_detaches_and_then_raises_sees_the_disposal_before_its_error_comes_out() -> None:
    order: list[str] = []
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)

        def leave(_session: Session) -> None:
            detach()
            raise PlantedError("then")

        ctx.on("session/created", leave)
        ctx.on("session/disposed", lambda _session: order.append("disposed"))
        try:
            ctx.sessions.announce(session)
        except PlantedError:
            order.append("raised")
        assert order == ["disposed", "raised"]
        assert ctx.sessions.list() == []


def test_entering_again_from_a_disposal_listener_is_a_new_stay() -> None:
    with context() as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        later: list[Callable[[], None]] = []
        undo = ctx.on("session/disposed", lambda session: later.append(ctx.sessions.enter(session)))
        detach()
        undo()
        assert ctx.sessions.get("s") is session
        detach()
        assert ctx.sessions.get("s") is session
        later[0]()
        assert ctx.sessions.get("s") is None


def test_disposal_listeners_are_contained_and_an_append_there_is_published_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with context() as ctx:
        ctx.on("session/disposed", raising)
        ctx.on("session/disposed", todo)
        ears = Ears(ctx)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        with warnings_of(caplog) as warnings:
            detach()
        assert ears.take() == [("created", "s"), ("disposed", "s")]
        assert session.seq == 1
    assert len(warnings) == 1
    assert_names(warnings[0], "'s'", "session/disposed")


def test_a_check_that_fails_on_disposal_is_logged_and_its_listeners_are_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with context() as ctx:
        ears = Ears(ctx)
        ctx.check("session/disposed", raising)
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        with warnings_of(caplog) as warnings:
            detach()
        assert ctx.sessions.list() == []
        assert ears.take() == [("created", "s")]
    assert len(warnings) == 1
    assert_names(warnings[0], "'s'", "session/disposed")


def test_a_check_that_refuses_a_creation_takes_the_session_out_before_any_listener_heard_of_it() -> None:
    with context() as ctx:
        ears = Ears(ctx)
        undo = ctx.check("session/created", raising)
        with pytest.raises(PlantedError):
            ctx.sessions.create("s")
        assert ears.take() == [("disposed", "s")]
        undo()
        assert ctx.sessions.create("s").id == "s"


def test_creating_from_a_creation_listener_runs_its_dispatch_inside() -> None:
    with context() as ctx:
        ears = Ears(ctx)

        def create(session: Session) -> None:
            if session.id == "outer":
                ctx.sessions.create("inner")

        ctx.on("session/created", create, prepend=True)
        ctx.sessions.create("outer")
        assert ears.take() == [("created", "inner"), ("created", "outer")]
        assert [session.id for session in ctx.sessions.list()] == ["outer", "inner"]


@pytest.mark.parametrize("family", FAMILIES)
def test_checks_exist_for_every_family_and_get_what_the_listeners_get(family: str) -> None:
    seen: list[Any] = []
    with context() as ctx:
        ctx.check(family, lambda *arguments: seen.append(("check", *arguments)))
        ctx.on(family, lambda *arguments: seen.append(("listener", *arguments)))
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.sessions.announce(session)
        event = todo(session)
        asyncio.run(ctx.sessions.flush(session))
        detach()
    arguments = (session, event) if family == "session/event" else (session,)
    assert seen == [("check", *arguments), ("listener", *arguments)]


# ---------------------------------------------------------------------------------------------- awaitables and loops


async def failing(*_arguments: Any) -> None:
    await asyncio.sleep(0)
    raise PlantedError("later")


def given_by_a_plain_function(*arguments: Any) -> Any:
    return failing(*arguments)


@pytest.mark.parametrize("listener", [failing, given_by_a_plain_function])
@pytest.mark.parametrize("family", ["session/created", "session/event", "session/disposed"])
def test_an_awaitable_that_fails_is_logged_after_the_call_has_returned(
    family: str, listener: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with context() as ctx:
            ctx.on(family, listener)
            session = ctx.sessions.prepare("the session")
            detach = ctx.sessions.enter(session)
            with warnings_of(caplog) as early:
                ctx.sessions.announce(session)
                assert todo(session).seq == 0
                detach()
            assert early == []
            with warnings_of(caplog) as warnings:
                await asyncio.sleep(0.01)
        assert len(warnings) == 1
        assert_names(warnings[0], "the session", family)

    asyncio.run(main())


def test_a_coroutine_listener_runs_on_the_loop_after_the_append_has_returned() -> None:
    seen: list[Any] = []

    async def listener(_session: Session, event: SessionEvent) -> None:
        seen.append(event.seq)

    async def main() -> None:
        async with context() as ctx:
            ctx.on("session/event", listener)
            session = ctx.sessions.create("s")
            todo(session)
            todo(session)
            assert seen == []
            await asyncio.sleep(0.01)
            assert seen == [0, 1]

    asyncio.run(main())


def test_a_coroutine_listener_may_append_to_its_session_because_the_append_is_over() -> None:
    async def listener(session: Session, event: SessionEvent) -> None:
        if event.type == "turn/start":
            session.append("turn/end", payload("turn/end"))

    async def main() -> None:
        async with context() as ctx:
            ctx.on("session/event", listener)
            session = ctx.sessions.create("s")
            session.append("turn/start", payload("turn/start"))
            await asyncio.sleep(0.01)
            assert [event.type for event in session.events] == ["turn/start", "turn/end"]

    asyncio.run(main())


def test_a_coroutine_listener_hears_an_append_from_another_thread_on_its_own_loop() -> None:
    seen: list[Any] = []

    async def listener(_session: Session, event: SessionEvent) -> None:
        seen.append((event.seq, asyncio.get_running_loop()))

    async def main() -> None:
        async with context() as ctx:
            ctx.on("session/event", listener)
            session = ctx.sessions.create("s")
            await asyncio.to_thread(todo, session)
            await asyncio.sleep(0.01)
            assert seen == [(0, asyncio.get_running_loop())]

    asyncio.run(main())


@pytest.mark.parametrize("family", ["session/created", "session/event", "session/disposed"])
def test_an_awaitable_where_no_loop_runs_is_logged_and_disturbs_nobody(
    family: str, caplog: pytest.LogCaptureFixture
) -> None:
    with context() as ctx:
        ctx.on(family, given_by_a_plain_function)
        ears = Ears(ctx)
        session = ctx.sessions.prepare("the session")
        detach = ctx.sessions.enter(session)
        with warnings_of(caplog) as warnings:
            ctx.sessions.announce(session)
            todo(session)
            detach()
        assert ears.take() == [("created", "the session"), ("event", "the session", 0), ("disposed", "the session")]
    assert len(warnings) == 1
    assert_names(warnings[0], "the session", family)


def test_a_coroutine_listener_whose_loop_has_ended_is_logged_and_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ctx = context()

    async def register() -> None:
        ctx.on("session/event", failing)

    asyncio.run(register())
    with ctx:
        session = ctx.sessions.create("the session")
        with warnings_of(caplog) as warnings:
            assert todo(session).seq == 0
    assert len(warnings) == 1
    assert_names(warnings[0], "the session", "session/event")


# ------------------------------------------------------------------------------------------------------------ flush


def test_flush_starts_every_listener_before_it_waits_and_then_waits_for_all() -> None:
    seen: list[str] = []

    async def slow(_session: Session) -> None:
        seen.append("slow starts")
        await asyncio.sleep(0.01)
        seen.append("slow ends")

    def sync(_session: Session) -> None:
        seen.append("sync")

    async def quick(_session: Session) -> None:
        seen.append("quick")

    with context() as ctx:
        for listener in (slow, sync, quick):
            ctx.on("session/flush", listener)
        asyncio.run(ctx.sessions.flush(ctx.sessions.create("s")))
    assert seen[0] in {"sync", "slow starts"}
    assert seen[-1] == "slow ends"
    assert set(seen) == {"slow starts", "sync", "quick", "slow ends"}


def test_flush_raises_the_first_failure_in_the_order_of_registration_as_the_very_object_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second, third = PlantedError("first"), PlantedError("second"), PlantedError("third")
    seen: list[str] = []

    async def late(_session: Session) -> None:
        await asyncio.sleep(0.01)
        raise first

    async def early(_session: Session) -> None:
        raise second

    def at_once(_session: Session) -> None:
        raise third

    with context() as ctx:
        ctx.on("session/flush", lambda _session: seen.append("before"))
        for listener in (late, early, at_once):
            ctx.on("session/flush", listener)
        ctx.on("session/flush", lambda _session: seen.append("after"))
        session = ctx.sessions.create("s")
        with warnings_of(caplog) as warnings, pytest.raises(PlantedError) as caught:
            asyncio.run(ctx.sessions.flush(session))
    assert caught.value is first
    assert seen == ["before", "after"]
    assert warnings == []


def test_a_listener_that_raises_at_once_does_not_stop_the_others_from_being_flushed() -> None:
    seen: list[str] = []

    async def slow(_session: Session) -> None:
        await asyncio.sleep(0.01)
        seen.append("slow")

    with context() as ctx:
        ctx.on("session/flush", raising)
        ctx.on("session/flush", slow)
        with pytest.raises(PlantedError):
            asyncio.run(ctx.sessions.flush(ctx.sessions.create("s")))
    assert seen == ["slow"]


def test_flushing_a_session_that_is_not_live_fails_when_awaited_and_calls_nobody() -> None:
    seen: list[Any] = []

    async def main() -> None:
        async with context() as ctx:
            ctx.on("session/flush", seen.append)
            session = ctx.sessions.prepare("s")
            awaitable = ctx.sessions.flush(session)
            with refused_because("NOT_LIVE"):
                await awaitable
            detach = ctx.sessions.enter(session)
            await ctx.sessions.flush(session)
            detach()
            with refused_because("NOT_LIVE"):
                await ctx.sessions.flush(session)

    asyncio.run(main())
    assert [session.id for session in seen] == ["s"]


def test_a_check_that_refuses_a_flush_fails_it_before_any_listener_runs() -> None:
    seen: list[Any] = []
    with context() as ctx:
        ctx.check("session/flush", raising)
        ctx.on("session/flush", seen.append)
        with pytest.raises(PlantedError):
            asyncio.run(ctx.sessions.flush(ctx.sessions.create("s")))
    assert seen == []


def test_detaching_while_a_flush_is_in_flight_does_not_cancel_it() -> None:
    seen: list[str] = []

    async def main() -> None:
        async with context() as ctx:
            session = ctx.sessions.prepare("s")
            detach = ctx.sessions.enter(session)
            gate = asyncio.Event()

            async def wait(_session: Session) -> None:
                await gate.wait()
                seen.append("flushed")

            ctx.on("session/flush", wait)
            flushing = asyncio.ensure_future(ctx.sessions.flush(session))
            await asyncio.sleep(0)
            detach()
            assert ctx.sessions.list() == []
            gate.set()
            await flushing

    asyncio.run(main())
    assert seen == ["flushed"]


def test_a_flush_may_run_beside_another_and_beside_appends() -> None:
    async def main() -> None:
        async with context() as ctx:
            seen: list[int] = []

            async def save(session: Session) -> None:
                length = session.seq
                await asyncio.sleep(0.005)
                seen.append(length)

            ctx.on("session/flush", save)
            session = ctx.sessions.create("s")
            first = asyncio.ensure_future(ctx.sessions.flush(session))
            await asyncio.sleep(0.001)
            todo(session)
            await asyncio.gather(first, ctx.sessions.flush(session))
            assert seen == [0, 1]

    asyncio.run(main())


def test_flush_without_listeners_is_over_at_once() -> None:
    with context() as ctx:
        assert asyncio.run(ctx.sessions.flush(ctx.sessions.create("s"))) is None  # type: ignore[func-returns-value]


# --------------------------------------------------------------------------------------------------------- interrupts


def _live(name: str) -> tuple[Context, Session, Callable[[], None]]:
    ctx = context()
    session = ctx.sessions.prepare(name)
    detach = ctx.sessions.enter(session)
    ctx.sessions.announce(session)
    turn(session)
    return ctx, session, detach


@pytest.mark.parametrize("what", ["a message", "a replacement", "a log-only event"])
def test_an_append_interrupted_anywhere_leaves_a_session_that_agrees_appends_and_can_leave(what: str) -> None:
    from .test_interrupts import _interrupted

    append: Callable[[Session], Any] = {
        "a message": lambda s: s.append("user/message", payload("user/message"), surface_op="append"),
        "a replacement": lambda s: s.append(
            "user/message",
            payload("user/message", "sum"),
            surface_op={"op": "replace", "start": 1, "end": 1},
            source_event_seqs=[1],
        ),
        "a log-only event": todo,
    }[what]
    append(_live("first")[1])
    at, interrupted = 0, True
    while interrupted:
        at += 1
        ctx, session, detach = _live("s")
        heard: list[int] = []
        ctx.on("session/event", lambda _session, event, heard=heard: heard.append(event.seq))
        interrupted, _ = _interrupted(at, lambda session=session: append(session))  # type: ignore[misc]
        assert session.seq in {3, 4}
        assert_agrees(session)
        assert heard == ([3] if heard else [])
        if at % 2:
            assert todo(session).seq == session.seq - 1
            assert heard[-1] == session.seq - 1
        detach()
        assert ctx.sessions.get("s") is None, f"interrupted at moment {at}, it never leaves"
        assert_agrees(session)
        ctx.close()
    assert at > 30


def test_a_creation_interrupted_anywhere_leaves_no_session_that_never_leaves() -> None:
    from .test_interrupts import _interrupted

    context().sessions.create("first")
    at, interrupted = 0, True
    while interrupted:
        at += 1
        ctx = context()
        ctx.on("session/created", lambda _session: None)
        interrupted, _ = _interrupted(at, lambda ctx=ctx: ctx.sessions.create("s"))  # type: ignore[misc]
        ctx.close()
        assert ctx.sessions.list() == [], f"interrupted at moment {at}, it never leaves"
    assert at > 30


# -------------------------------------------------------------------------------------------------------------- growth


def _seconds_for(sessions: int) -> float:
    started = time.perf_counter()
    with context() as ctx:
        made = [ctx.sessions.create(f"s{number}") for number in range(sessions)]
        assert ctx.sessions.list() == made
        assert ctx.sessions.get("s0") is made[0]
    assert ctx.sessions.list() == []
    return time.perf_counter() - started


def test_ten_thousand_live_sessions_are_created_listed_and_closed_in_time_linear_in_their_number() -> None:
    _seconds_for(100)
    with no_collector():
        # What grows with the square of the number gives sixteen.
        assert min(_seconds_for(10_000) / _seconds_for(2_500) for _ in range(3)) < 8


def _seconds_for_scopes(scopes: int) -> float:
    started = time.perf_counter()
    with context() as ctx:
        heard: list[int] = []
        for _ in range(scopes):
            own = ctx.scope()
            own.on("session/event", lambda _session, event: heard.append(event.seq))
            todo(own.sessions.create())
        assert len(heard) == scopes
    return time.perf_counter() - started


def test_sessions_with_a_scope_and_a_listener_each_cost_time_linear_in_their_number_too() -> None:
    _seconds_for_scopes(50)
    with no_collector():
        assert min(_seconds_for_scopes(2_000) / _seconds_for_scopes(500) for _ in range(3)) < 8


def _memory_after(scopes: int, ctx: Context) -> int:
    for _ in range(scopes):
        with ctx.scope() as own:
            own.on("session/flush", lambda _session: None)
            todo(own.sessions.create("s"))
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_store_that_lives_long_remembers_nothing_of_the_scopes_and_sessions_that_came_and_went() -> None:
    tracemalloc.start()
    try:
        with context() as ctx:
            before = _memory_after(200, ctx)
            after = _memory_after(2_000, ctx)
    finally:
        tracemalloc.stop()
    assert after - before < 20_000


# -------------------------------------------------------------------------------------------------------- what it says


def test_a_store_says_how_many_sessions_are_live() -> None:
    with context() as ctx:
        ctx.sessions.create("a")
        ctx.sessions.create("b")
        assert "2" in repr(ctx.sessions)


# ------------------------------------------------------------------------------------------------------- wrong types


@pytest.mark.parametrize("wrong", [[], {}, 3, b"s"])
def test_an_id_that_is_no_text_is_refused_as_such_wherever_it_comes_from(wrong: Any) -> None:
    with Context(clock=lambda: 0, new_id=lambda: wrong) as ctx:
        ctx.sessions.create("s")
        for make in (
            partial(ctx.sessions.create, wrong),
            ctx.sessions.create,
            partial(ctx.sessions.fork, "s", None, wrong),
        ):
            with pytest.raises(TypeError, match="a session id must be a str, not"):
                make()
        assert [session.id for session in ctx.sessions.list()] == ["s"]


@pytest.mark.parametrize("wrong", ["s", None, []])
def test_what_is_no_session_is_neither_announced_nor_flushed(wrong: Any) -> None:
    with context() as ctx:
        ctx.sessions.create("s")
        with pytest.raises(TypeError, match="a store takes sessions, not"):
            ctx.sessions.announce(wrong)
        with pytest.raises(TypeError, match="a store takes sessions, not"):
            asyncio.run(ctx.sessions.flush(wrong))
