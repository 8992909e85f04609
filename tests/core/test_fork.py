"""Forks: a child starts from a completed turn, shares what was, and neither influences the other."""

import pickle
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session, SessionError, SessionEvent
from dsh_session.core.errors import SessionForkError
from dsh_session.core.store import completed_prefix

from .payloads import payload, wire_event
from .refusals import assert_agrees, shown
from .stores import Ears, PlantedError, context, todo, turn

UNROUTED: dict[str, dict[str, Any]] = {
    "assistant/message": {"turn": 1, "step": 1, "content": []},
    "request/header": {"header": {"config": {"provider": "p"}}, "reason": "initial"},
}


def fork_refused(code: str) -> Any:
    return pytest.raises(SessionForkError, match=rf"^{code}: ")


def replace(session: Session, start: int, end: int) -> SessionEvent:
    """Put one message in the place of positions of the surface."""
    nodes = list(session.surface.nodes)[start : end + 1]
    event: SessionEvent = session.append(
        "user/message",
        payload("user/message", f"summary of {len(nodes)}"),
        surface_op={"op": "replace", "start": nodes[0], "end": nodes[-1]},
        source_event_seqs=nodes,
    )
    return event


# -------------------------------------------------------------------------------------------------- what is inherited


def test_without_a_boundary_a_fork_takes_everything_up_to_the_last_event() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        turn(source, number=2)
        child = ctx.sessions.fork(source)
        assert child.events == source.events
        assert child.seq == 6
        assert ctx.sessions.get(child.id) is child


def test_an_explicit_boundary_allows_a_fork_from_before_newer_and_open_turns() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        turn(source, number=2)
        source.append("turn/start", payload("turn/start"))
        assert ctx.sessions.fork("s", 2).seq == 3
        assert ctx.sessions.fork("s", 5).seq == 6
        with fork_refused("OPEN_TURN"):
            ctx.sessions.fork("s")


def test_a_fork_shares_the_event_objects_of_its_source() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        child = ctx.sessions.fork(source)
        assert all(a is b for a, b in zip(source.events, child.events, strict=True))
        assert child.events[0].data is source.events[0].data


def test_the_header_of_a_fork_names_its_parent_and_inherits_the_working_directory_alone() -> None:
    now = iter(range(100))
    with context(clock=lambda: next(now)) as ctx:
        source = ctx.sessions.create(
            "s", meta={"cwd": "/w", "parentSession": "older", "seedLength": 9, "createdAt": 77}
        )
        turn(source)
        child = ctx.sessions.fork(source, child_session_id="c")
        header = child.header.to_dict()
        assert 0 < header.pop("createdAt") < 77
        assert header == {"version": 0, "id": "c", "cwd": "/w", "parentSession": "s", "seedLength": 3}
        grandchild = ctx.sessions.fork(child)
        assert grandchild.header.parent_session == "c"
        assert "cwd" not in ctx.sessions.fork(ctx.sessions.create("bare")).header.to_dict()


def test_the_header_of_a_fork_is_written_in_the_order_of_the_format() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s", meta={"cwd": "/w"})
        keys = list(ctx.sessions.fork(source).header.to_dict())
        assert keys == ["version", "id", "createdAt", "cwd", "parentSession", "seedLength"]


def test_an_empty_source_gives_an_empty_child() -> None:
    with context() as ctx:
        child = ctx.sessions.fork(ctx.sessions.create("s"))
        assert child.seq == 0
        assert child.header.seed_length == 0
        assert turn(child).seq == 2
        with fork_refused("INVALID_BOUNDARY"):
            ctx.sessions.fork("s", 0)
        with fork_refused("INVALID_BOUNDARY"):
            ctx.sessions.fork("s", -1)


def test_a_source_is_given_as_a_session_or_by_its_id() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        assert ctx.sessions.fork("s").events == ctx.sessions.fork(source).events == source.events


def test_an_integral_float_is_the_integer() -> None:
    with context() as ctx:
        turn(ctx.sessions.create("s"))
        child = ctx.sessions.fork("s", 2.0)  # type: ignore[arg-type]
        assert child.seq == 3
        assert type(child.header.seed_length) is int


# ------------------------------------------------------------------------------------------------ and is independent


def test_neither_a_fork_nor_its_source_can_influence_the_other() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        source.append("request/header", payload("request/header"))
        turn(source, number=2, words="two")
        source.derive_messages()
        source.request_header()
        child = ctx.sessions.fork(source)
        before_source, before_child = shown(source), shown(child)

        replace(child, 0, 1)
        header = payload("request/header")
        header["header"]["system"] = "of the child"
        child.append("request/header", header)
        turn(child, number=3, words="of the child")
        assert shown(source) == before_source
        after_child = shown(child)

        replace(source, 1, 1)
        turn(source, number=3, words="of the source")
        assert shown(child) == after_child != before_child
        assert_agrees(source)
        assert_agrees(child)
        assert child.request_header() != source.request_header()


def test_views_that_were_taken_before_a_fork_stay_as_they_were() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        events, messages, nodes = source.events, source.messages, source.surface.nodes
        child = ctx.sessions.fork(source)
        child_events, child_messages, child_nodes = child.events, child.messages, child.surface.nodes
        turn(source, number=2)
        turn(child, number=2)
        replace(source, 0, 1)
        replace(child, 0, 1)
        for view, length in (
            (events, 3),
            (messages, 1),
            (nodes, 1),
            (child_events, 3),
            (child_messages, 1),
            (child_nodes, 1),
        ):
            assert len(view) == len(list(view)) == length
        assert list(nodes) == list(child_nodes) == [1]


@given(
    st.lists(st.tuples(st.sampled_from(["turn", "replace", "message", "header"]), st.integers(0, 6), st.integers(0, 6)))
)
def test_a_fork_at_any_boundary_shows_what_a_session_seeded_with_those_events_shows(
    steps: list[tuple[str, int, int]],
) -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        for action, first, second in steps:
            length = len(source.surface)
            if action == "turn":
                turn(source)
            elif action == "message":
                source.append("context/message", payload("context/message"), surface_op="append")
            elif action == "header":
                source.append("request/header", payload("request/header", str(first)))
            elif length:
                low, high = sorted((first % length, second % length))
                replace(source, low, high)
            if second == 0:
                source.derive_messages()  # so that forks of what was read and of what was not are both seen
        boundaries = [event.seq for event in source.events if event.type == "turn/end"]
        for boundary in boundaries:
            child = ctx.sessions.fork(source, boundary)
            assert_agrees(child)
            seeded = Session("seeded", seed=source.events[: boundary + 1], clock=lambda: 1000)
            ours, theirs = shown(child), shown(seeded)
            for name in ("seq", "events", "nodes", "links", "ends", "generation", "messages", "request header"):
                assert ours[name] == theirs[name], name
            turn(child)
            if len(child.surface) > 1:
                replace(child, 0, len(child.surface) - 2)
            assert_agrees(child)
        assert_agrees(source)


# ---------------------------------------------------------------------------------------------------- what is refused


def test_every_refusal_of_a_fork_has_its_code_and_they_are_looked_at_in_one_order() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        ctx.sessions.create("taken")
        turn(source)
        todo(source)
        twin = Session("s")
        cases: list[tuple[str, Any, Any, str]] = [
            ("SESSION_ALREADY_EXISTS", "nobody", -1, "taken"),
            ("SESSION_ALREADY_EXISTS", twin, 3, "s"),
            ("SESSION_NOT_FOUND", "nobody", -1, "free"),
            ("SESSION_NOT_FOUND", Session("nobody"), 0, "free"),
            ("SESSION_NOT_LIVE", twin, -1, "free"),
            ("INVALID_BOUNDARY", source, -1, "free"),
            ("INVALID_BOUNDARY", source, 4, "free"),
            ("OPEN_TURN", source, 0, "free"),
            ("OPEN_TURN", source, 3, "free"),
            ("OPEN_TURN", "s", None, "free"),
        ]
        for code, origin, boundary, child in cases:
            with fork_refused(code) as caught:
                ctx.sessions.fork(origin, boundary, child)
            assert isinstance(caught.value, SessionError)
            assert caught.value.code == code
        assert [session.id for session in ctx.sessions.list()] == ["s", "taken"]


@pytest.mark.parametrize(
    "boundary",
    [True, False, 1.5, "2", [], {}, b"2", float("nan"), float("inf"), 2**53, 10**400],
    ids=lambda boundary: repr(boundary)[:20],
)
def test_a_boundary_that_is_no_seq_of_the_source_is_refused(boundary: Any) -> None:
    with context() as ctx:
        turn(ctx.sessions.create("s"))
        with fork_refused("INVALID_BOUNDARY"):
            ctx.sessions.fork("s", boundary)


@pytest.mark.parametrize("source", [None, 3, ["s"], {"id": "s"}])
def test_a_source_that_is_neither_a_session_nor_an_id_is_refused_in_words(source: Any) -> None:
    with context() as ctx:
        ctx.sessions.create("s")
        with pytest.raises((TypeError, SessionForkError), match="session"):
            ctx.sessions.fork(source)


def test_a_source_that_was_detached_cannot_be_forked() -> None:
    with context() as ctx:
        source = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(source)
        turn(source)
        detach()
        with fork_refused("SESSION_NOT_FOUND"):
            ctx.sessions.fork(source)
        ctx.sessions.create("s")
        with fork_refused("SESSION_NOT_LIVE"):
            ctx.sessions.fork(source)


def test_a_source_of_another_store_cannot_be_forked_here() -> None:
    with context() as ctx, context() as other:
        source = other.sessions.create("s")
        turn(source)
        with fork_refused("SESSION_NOT_FOUND"):
            ctx.sessions.fork(source)


@pytest.mark.parametrize("type_", UNROUTED)
def test_a_log_that_could_not_be_a_seed_cannot_be_forked_past_its_first_unseedable_event(type_: Any) -> None:
    op = {"surface_op": "append"} if type_ == "assistant/message" else {}
    with context(check_payloads=False) as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        source.append(type_, UNROUTED[type_], **op)
        turn(source, number=2)
        source.append(type_, UNROUTED[type_], **op)
        turn(source, number=3)
        assert ctx.sessions.fork(source, 2).seq == 3
        live = ctx.sessions.list()
        for boundary in (6, 10, None):
            with pytest.raises(SessionError) as caught:
                ctx.sessions.fork(source, boundary)
            assert (caught.value.code, caught.value.index) == ("MISSING_ROUTE", 3)
            with pytest.raises(SessionError) as seeded:
                Session("again", seed=source.events)
            assert (seeded.value.code, seeded.value.index) == ("MISSING_ROUTE", 3)
        assert ctx.sessions.list() == live


def test_a_bare_session_remembers_what_no_seed_may_hold_until_it_enters_a_store() -> None:
    session = Session("s", check_payloads=False, clock=lambda: 0)
    session.append("assistant/message", UNROUTED["assistant/message"], surface_op="append")
    turn(session)
    with context() as ctx:
        ctx.sessions.enter(session)
        with pytest.raises(SessionError) as caught:
            ctx.sessions.fork(session)
        assert (caught.value.code, caught.value.index) == ("MISSING_ROUTE", 0)


def test_a_fork_before_the_unseedable_event_may_itself_be_forked() -> None:
    with context(check_payloads=False) as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        source.append("assistant/message", UNROUTED["assistant/message"], surface_op="append")
        child = ctx.sessions.fork(source, 2)
        turn(child, number=2)
        assert ctx.sessions.fork(child).seq == 6


def test_a_replacement_that_hides_an_unseedable_event_does_not_make_the_log_a_seed() -> None:
    with context(check_payloads=False) as ctx:
        source = ctx.sessions.create("s")
        source.append("assistant/message", UNROUTED["assistant/message"], surface_op="append")
        replace(source, 0, 0)
        turn(source)
        with pytest.raises(SessionError, match="MISSING_ROUTE"):
            ctx.sessions.fork(source)


def test_the_errors_of_forks_survive_pickling() -> None:
    with context() as ctx, pytest.raises(SessionForkError) as caught:
        ctx.sessions.fork("nobody")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is SessionForkError
    assert (again.code, str(again)) == (caught.value.code, str(caught.value))


# ------------------------------------------------------------------------------------------------- who hears and owns


def test_a_fork_is_announced_in_the_scope_of_its_caller_and_belongs_to_him() -> None:
    with context() as ctx:
        red, blue = ctx.scope(), ctx.scope()
        of_red, of_blue = Ears(red), Ears(blue)
        source = red.sessions.create("s")
        turn(source)
        of_red.take()
        child = blue.sessions.fork(source, child_session_id="c")
        todo(child)
        assert of_red.take() == []
        assert of_blue.take() == [("created", "c"), ("event", "c", 3)]
        blue.close()
        assert ctx.sessions.list() == [source]


def test_the_events_of_the_prefix_are_not_published_again() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        ears = Ears(ctx)
        ctx.sessions.fork(source, child_session_id="c")
        assert ears.take() == [("created", "c")]


def test_a_creation_listener_sees_the_whole_child_and_one_that_raises_leaves_none() -> None:
    seen: list[Any] = []

    def listener(session: Session) -> None:
        seen.append((session.seq, list(session.surface.nodes), session.header.parent_session))
        raise PlantedError("no")

    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        ctx.on("session/created", listener)
        with pytest.raises(PlantedError):
            ctx.sessions.fork(source, child_session_id="c")
        assert seen == [(3, [1], "s")]
        assert ctx.sessions.list() == [source]
        assert_agrees(source)


def test_a_fork_of_a_fork_may_be_cut_within_what_it_inherited() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        turn(source, number=2)
        child = ctx.sessions.fork(source)
        grandchild = ctx.sessions.fork(child, 2)
        assert grandchild.events == source.events[:3]
        assert grandchild.header.parent_session == child.id


def test_a_fork_outlives_its_source() -> None:
    with context() as ctx:
        owner = ctx.child()
        turn(owner.sessions.create("s"))
        child = ctx.sessions.fork("s")
        owner.close()
        turn(child, number=2)
        assert_agrees(child)
        assert [session.id for session in ctx.sessions.list()] == [child.id]


def test_a_fork_writes_the_same_lines_as_its_source() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        child = ctx.sessions.fork(source)
        assert child.to_jsonl().splitlines()[1:] == source.to_jsonl().splitlines()[1:]


def test_a_fork_costs_less_than_looking_at_every_event_again() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        for number in range(1, 5_001):
            turn(source, number=number)

        def seconds(make: Any) -> float:
            started = time.perf_counter()
            made = make()
            assert made.seq == source.seq
            return time.perf_counter() - started

        forking = min(seconds(lambda: ctx.sessions.fork(source)) for _ in range(3))
        seeding = min(seconds(lambda: Session("seeded", seed=source.events)) for _ in range(3))
        assert forking < seeding / 5


# --------------------------------------------------------------------------------------------------- completed_prefix


def test_a_log_is_clipped_to_its_last_turn_end() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        assert completed_prefix(session.events) == []
        session.append("turn/start", payload("turn/start"))
        assert completed_prefix(session.events) == []
        end = session.append("turn/end", payload("turn/end"))
        assert completed_prefix(session.events) == list(session.events)
        session.append("turn/start", payload("turn/start"))
        clipped = completed_prefix(session.events)
        assert clipped[-1] is end
        assert len(clipped) == 2


def test_a_delegate_in_mid_turn_starts_from_the_completed_prefix() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        turn(session)
        session.append("turn/start", {**payload("turn/start"), "turn": 2})
        child = ctx.sessions.create(
            "delegate", seed=completed_prefix(session.events), meta={"parentSession": "s", "seedLength": 3}
        )
        assert child.events == session.events[:3]
        assert ctx.sessions.fork(session, completed_prefix(session.events)[-1].seq).events == child.events


def test_wire_events_and_any_iterable_are_clipped_too_and_the_argument_is_left_alone() -> None:
    wire = [wire_event("turn/start", 0), wire_event("turn/end", 1), wire_event("todo/write", 2)]
    assert completed_prefix(wire) == wire[:2]
    assert completed_prefix(iter(wire)) == wire[:2]
    assert completed_prefix(tuple(wire)) == wire[:2]
    assert len(wire) == 3
