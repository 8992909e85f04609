from __future__ import annotations

import pytest

from dsh_session import Context, Session, SurfaceHistory, loads
from dsh_session.core.store import store_of
from dsh_session.widgets.subject import OF_A_HISTORY, OF_A_LOG, session_of, take, why_read_only
from tests.compaction.sessions import talked


def test_a_session_knows_the_store_that_it_is_live_in() -> None:
    with Context() as ctx:
        inner = ctx.child()
        session = inner.sessions.create()
        assert store_of(session) is inner.sessions, "what is forked belongs to the same context"
        other = Session("other")
        detach = ctx.sessions.enter(other)
        assert store_of(other) is ctx.sessions
        detach()
        assert store_of(other) is None
    assert store_of(session) is None


def test_what_is_given_is_taken_apart() -> None:
    with Context() as ctx:
        assert take(ctx).session is None
        session = ctx.sessions.create()
        for subject in (ctx, ctx.sessions, session):
            assert (take(subject).session, take(subject).store) == (session, ctx.sessions)
    history = SurfaceHistory(talked())
    assert (take(history).session, take(history).shown) == (None, history)
    with pytest.raises(TypeError, match="not 'int'"):
        take(3)  # type: ignore[arg-type]


def test_only_what_nobody_keeps_is_read_only() -> None:
    assert why_read_only(None) == OF_A_HISTORY
    session = loads(talked().to_jsonl())
    assert why_read_only(session) == OF_A_LOG
    with Context() as ctx:
        detach = ctx.sessions.enter(session)
        assert why_read_only(session) is None
        detach()
    assert why_read_only(talked()) is None


def test_a_form_is_for_one_session() -> None:
    with Context() as ctx:
        with pytest.raises(TypeError, match="a form is for a session"):
            session_of(ctx)
        first = ctx.sessions.create()
        ctx.sessions.create()
        assert session_of(ctx) is first
