"""`session/pre-step`: what must happen before a step, while no append is under way."""

import logging
from typing import Any

import pytest

from dsh_session import Context, Session, SessionError
from dsh_session.core.record import Recorder

from .payloads import payload


def step(session: Session, number: int = 1) -> int:
    return session.append("step/start", {"turn": 1, "step": number}).seq


def test_it_fires_before_a_step_start_and_before_nothing_else() -> None:
    with Context(clock=lambda: 0) as ctx:
        seen: list[tuple[str, int]] = []
        ctx.on("session/pre-step", lambda session: seen.append((session.id, session.seq)))
        session = ctx.sessions.create("s")
        for type_ in ("turn/start", "user/message", "step/start", "tool/call", "step/end", "turn/end"):
            op: Any = "append" if type_ == "user/message" else None
            session.append(type_, payload(type_), surface_op=op)  # type: ignore[call-overload]
        assert seen == [("s", 2)]


def test_its_listeners_may_append_and_the_step_follows() -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.on("session/pre-step", lambda session: session.append("todo/write", {"todos": []}))
        session = ctx.sessions.create("s")
        assert step(session) == 1
        assert [event.type for event in session.events] == ["todo/write", "step/start"]


def test_a_recorders_steps_fire_it() -> None:
    with Context(clock=lambda: 0) as ctx:
        seen: list[str] = []
        ctx.on("session/pre-step", lambda session: seen.append(session.events[-1].type))
        with Recorder(ctx.sessions.create("s")).turn("hello") as turn:
            for _ in range(2):
                with turn.step() as one:
                    one.assistant("hi")
        assert seen == ["user/message", "step/end"]


def test_a_payload_that_is_frozen_already_fires_it_as_well() -> None:
    with Context(clock=lambda: 0) as ctx:
        seen: list[int] = []
        ctx.on("session/pre-step", lambda session: seen.append(session.seq))
        session = ctx.sessions.create("s")
        step(session)
        session.append("step/start", session.events[0].data)
        assert seen == [0, 1]


def test_a_bare_session_has_nobody_to_tell() -> None:
    assert step(Session("s", clock=lambda: 0)) == 0


def test_a_listener_that_raises_is_logged_and_the_step_is_appended(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_session: Session) -> None:
        raise ValueError("no")

    with Context(clock=lambda: 0) as ctx, caplog.at_level(logging.WARNING, logger="dsh_session"):
        seen: list[str] = []
        ctx.on("session/pre-step", fail)
        ctx.on("session/pre-step", lambda _session: seen.append("later"))
        session = ctx.sessions.create("s")
        assert step(session) == 0
        assert seen == ["later"]
        assert caplog.messages == ["session 's', session/pre-step: a listener failed: ValueError('no')"]


def test_a_check_that_raises_refuses_the_step() -> None:
    def refuse(_session: Session) -> None:
        raise PermissionError("not now")

    with Context(clock=lambda: 0) as ctx:
        seen: list[str] = []
        ctx.check("session/pre-step", refuse)
        ctx.on("session/pre-step", lambda _session: seen.append("heard"))
        session = ctx.sessions.create("s")
        with pytest.raises(PermissionError):
            step(session)
        assert (session.seq, seen) == (0, [])


def test_it_is_heard_by_scope_like_every_other_event() -> None:
    with Context(clock=lambda: 0) as ctx:
        heard: list[str] = []
        inner = ctx.scope()
        inner.on("session/pre-step", lambda session: heard.append(f"inner {session.id}"))
        ctx.on("session/pre-step", lambda session: heard.append(f"outer {session.id}"))
        step(inner.sessions.create("one"))
        step(ctx.sessions.create("two"))
        assert heard == ["inner one", "outer one", "outer two"]


def test_a_step_from_inside_a_publication_is_refused_before_it_fires() -> None:
    with Context(clock=lambda: 0) as ctx:
        seen: list[str] = []
        ctx.on("session/pre-step", lambda _session: seen.append("fired"))

        def begin(session: Session, _event: Any) -> None:
            with pytest.raises(SessionError) as caught:
                step(session)
            seen.append(caught.value.code)

        ctx.on("session/event", begin)
        ctx.sessions.create("s").append("todo/write", {"todos": []})
        assert seen == ["APPEND_REENTERED"]


def test_a_session_that_a_listener_detaches_gets_its_step_all_the_same() -> None:
    with Context(clock=lambda: 0) as ctx:
        session = ctx.sessions.prepare("s")
        detach = ctx.sessions.enter(session)
        ctx.on("session/pre-step", lambda _session: detach())
        assert step(session) == 0
        assert ctx.sessions.get("s") is None
