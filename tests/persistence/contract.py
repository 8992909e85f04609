"""What every place for sessions promises, as tests: derive from `PersistenceContract` and say how one is made.

A backend of one's own passes them all, or is none.
"""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsh_session import Context, Session, SessionError, check_invariants, loads
from dsh_session.persistence import PersistenceError, SessionLockedError, resume

from .talk import EVENTS_PER_TURN, USER, Ticks, bare, call, flush, say

ODD_IDS = {
    "a path upwards": "../../etc/passwd",
    "a device of Windows": "CON",
    "300 characters": "x" * 300,
    "300 other characters": "x" * 299 + "y",
    "emoji": "🙂👩‍👩‍👧",
    "a dot": ".",
    "two dots": "..",
    "a tilde": "~002F",
    "a slash": "/",
    "NUL": "a\0b",
    "a line break": "a\nb",
    "half a surrogate pair": "cut \ud83d",
    "an escape": "\x1b[31mred",
    "markup": "<script>",
    "an extension": "a.jsonl",
    "another extension": "a.lock",
    "spaces": "  ",
    "a quote": 'it\'s "one"; DROP TABLE events;--',
}


class PersistenceContract:
    """The tests. `make` gives a further object for the same place each time it is called."""

    @pytest.fixture
    def make(self, tmp_path: Path) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def store(self, make: Any) -> Any:
        return make()

    # Writing behind.

    def test_nothing_is_stored_before_the_first_append(self, make: Any, tmp_path: Path) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s")
            flush(ctx, session)
        assert make().list() == []
        assert list(tmp_path.rglob("*")) == []

    def test_what_was_flushed_is_stored_before_the_flush_returns(self, make: Any) -> None:
        with Context(clock=Ticks()) as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s", meta={"cwd": "/é"})
            for turn in range(1, 4):
                say(session, turn)
                flush(ctx, session)
                assert make().load("s").to_jsonl() == session.to_jsonl()
            say(session, 4, end=False)
            flush(ctx, session)
            assert make().load("s").to_jsonl() == session.to_jsonl()

    def test_closing_the_context_stores_what_was_never_flushed(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s")
            call(session, 1)
        assert make().load("s").to_jsonl() == session.to_jsonl()

    def test_taking_the_plugin_out_stores_everything_and_then_leaves_the_session_alone(self, make: Any) -> None:
        with Context() as ctx:
            plugged = ctx.plugin(make())
            session = ctx.sessions.create("s")
            say(session, 1)
            plugged.close()
            say(session, 2)
            flush(ctx, session)
            assert make().load("s").seq == EVENTS_PER_TURN
        assert make().load("s").seq == EVENTS_PER_TURN

    def test_a_session_that_leaves_the_store_is_stored_as_it_leaves(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            owner = ctx.child()
            session = owner.sessions.create("s")
            call(session, 1)
            owner.close()
            assert make().load("s").to_jsonl() == session.to_jsonl()
            make().claim("s")  # and it is free again

    def test_what_an_owner_appends_while_it_is_closed_is_stored(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            owner = ctx.child()
            session = owner.sessions.create("s")
            owner.effect(lambda: session.append("turn/end", {"turn": 1, "reason": {"kind": "disposed"}}))
            session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
        assert [event.type for event in make().load("s").events] == ["turn/start", "turn/end"]

    def test_sessions_that_were_live_before_are_picked_up(self, make: Any) -> None:
        with Context() as ctx:
            early, silent = ctx.sessions.create("early"), ctx.sessions.create("silent")
            say(early, 1)
            ctx.plugin(make())
            flush(ctx, early)
            flush(ctx, silent)
            assert make().load("early").to_jsonl() == early.to_jsonl()
            say(early, 2)
            say(silent, 1)
        assert make().load("early").seq == 2 * EVENTS_PER_TURN
        assert make().load("silent").seq == EVENTS_PER_TURN

    def test_a_session_that_was_entered_and_never_announced_is_stored(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.prepare("s")
            detach = ctx.sessions.enter(session)
            say(session, 1)
            flush(ctx, session)
            assert make().load("s").seq == EVENTS_PER_TURN
            say(session, 2)
            detach()
        assert make().load("s").seq == 2 * EVENTS_PER_TURN

    def test_a_session_may_come_back_under_its_id(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.prepare("s")
            for turn in range(1, 4):
                detach = ctx.sessions.enter(session)
                if turn != 2:
                    ctx.sessions.announce(session)
                say(session, turn)
                detach()
        assert make().load("s").to_jsonl() == session.to_jsonl()

    def test_a_scoped_plugin_keeps_its_scopes_sessions_only(self, make: Any) -> None:
        with Context() as ctx:
            inner, other = ctx.scope(), ctx.scope()
            before = inner.sessions.create("before")
            ctx.sessions.create("outside before")
            inner.plugin(make())
            for session in (
                before,
                inner.sessions.create("inside"),
                ctx.sessions.create("outside"),
                other.sessions.create("elsewhere"),
            ):
                say(session, 1)
        assert sorted(stored.id for stored in make().list()) == ["before", "inside"]

    def test_every_event_comes_back_verbatim(self, make: Any) -> None:
        events: list[tuple[str, Any]] = [
            ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "é🙂"}}),
            ("plugin/odd", [1, 2.5, 1e300, -1.5e-7, None, True, "", {"": {"nested": [[]]}}]),
            ("plugin/cut", "half \ud83d of it"),
            ("plugin/controls", '\0\x1b\n\t"\\\u2028\ufeff'),
            ("plugin/\ud83d", 2**53 - 1),
            ("plugin/null", None),
        ]
        with Context(clock=Ticks()) as ctx:
            ctx.plugin(make())
            meta = {"cwd": "/\ud83d é", "parentSession": "p", "seedLength": 0, "createdAt": -1.5}
            session = ctx.sessions.create("s", meta=meta)
            for kind, data in events:
                session.append(kind, data)  # type: ignore[call-overload]
            say(session, 1)
        stored = make().load("s")
        assert stored.to_jsonl() == session.to_jsonl()
        assert stored.header == session.header
        assert [event.data for event in stored.events] == [event.data for event in session.events]
        assert stored.derive_messages() == session.derive_messages()
        assert stored.findings == []

    def test_a_clock_that_goes_backwards_is_stored_as_it_went(self, make: Any) -> None:
        times = iter([900, 500, 400, 0, *range(100, 0, -1)])
        with Context(clock=lambda: next(times)) as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s")
            call(session, 1)
        with Context(clock=lambda: 3) as ctx:
            ctx.plugin(make())
            again = resume(ctx, "s")
            say(again, 2)
        assert [event.time for event in make().load("s").events] == [500, 400, 0, 100, 99, 99, 99, 99, *[3] * 6]

    @pytest.mark.parametrize("name", ODD_IDS)
    def test_any_id_is_stored_and_found_again(self, make: Any, name: str, tmp_path: Path) -> None:
        identity = ODD_IDS[name]
        with Context() as ctx:
            ctx.plugin(make())
            for each in (identity, f"{identity}2", "s"):
                say(ctx.sessions.create(each), 1, words=each)
        with Context() as ctx:
            ctx.plugin(make())
            session = resume(ctx, identity)
            say(session, 2)
        stored = make().load(identity)
        assert stored.id == identity
        assert stored.to_jsonl() == session.to_jsonl()
        assert sorted(each.id for each in make().list()) == sorted((identity, f"{identity}2", "s"))
        assert all(each.is_relative_to(tmp_path) for each in tmp_path.rglob("*"))
        assert not (tmp_path.parent / "etc").exists()

    # Forks and copies.

    def test_a_fork_is_stored_whole_once_something_is_appended_to_it(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            parent = ctx.sessions.create("parent", meta={"cwd": "/x"})
            say(parent, 1)
            child, idle = (ctx.sessions.fork(parent, child_session_id=name) for name in ("child", "idle"))
            say(child, 2)
            flush(ctx, child)
            flush(ctx, idle)
        assert make().load("child").to_jsonl() == child.to_jsonl()
        assert make().load("child").header.seed_length == EVENTS_PER_TURN
        assert make().load("parent").to_jsonl() == parent.to_jsonl()
        assert sorted(stored.id for stored in make().list()) == ["child", "parent"]

    def test_a_session_is_stored_without_any_context(self, make: Any) -> None:
        session, empty = bare("s", 2, cwd="/x"), bare("empty", 0)
        make().save(session)
        make().save(empty)
        assert make().load("s").to_jsonl() == session.to_jsonl()
        assert make().load("empty").to_jsonl() == empty.to_jsonl()
        say(session, 3)
        make().save(session)
        make().save(session)
        assert make().load("s").to_jsonl() == session.to_jsonl()
        make().claim("s")

    def test_saving_a_live_session_makes_it_durable_at_once(self, make: Any) -> None:
        store = make()
        with Context() as ctx:
            ctx.plugin(store)
            session = ctx.sessions.create("s")
            call(session, 1)
            store.save(session)
            assert make().load("s").to_jsonl() == session.to_jsonl()

    def test_a_log_from_elsewhere_keeps_its_spelling(self, make: Any) -> None:
        text = b"\n".join(
            [
                b' {"createdAt": 5,"id":"s" ,"version":0.0, "type":"session","extra":[1,1.0] } ',
                b'{"data": {"a":1,"a":2},"time":1e0,"seq":0,"type":"x\\/y"}\r',
                b'{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"\\ud83d"}},"surfaceOp":"append"}',
                b'{"type":"plugin/big","seq":2,"time":1,"data":[12345678901234567890123,"\\ud83d"]}',
                b'{"type":"plugin/plain","seq":3,"time":1,"data":[12345678901234567890123]}',
                b'{"surfaceOp":{"op":"replace","end":1.0,"start":1},"sourceEventSeqs":[1.0],"type":"user/message","seq":4,"time":1,"data":{"content":[],"source":{}}}',
                b'{"type":"plugin/deep","seq":5,"time":1,"data":' + b"[" * 400 + b"]" * 400 + b"}",
                b"",
            ]
        )
        session = loads(text)
        make().save(session)
        assert make().load("s").to_jsonl() == text
        with Context() as ctx:
            ctx.plugin(make())
            say(resume(ctx, "s"), 1)
        assert make().load("s").to_jsonl().startswith(text)

    # One id, one log.

    def test_another_log_is_never_written_over(self, make: Any) -> None:
        make().save(bare("s", 2))
        before = make().load("s").to_jsonl()
        with Context() as ctx:
            ctx.plugin(make())
            with pytest.raises(PersistenceError, match="resume") as caught:
                ctx.sessions.create("s")
            assert caught.value.code == "SESSION_STORED"
            assert ctx.sessions.list() == []
            with pytest.raises(PersistenceError):
                ctx.sessions.create("s", seed=bare("s", 3).events[:1])
        with pytest.raises(PersistenceError):
            make().create(bare("s").header)
        with pytest.raises(PersistenceError):
            make().save(bare("s", 1))
        assert make().load("s").to_jsonl() == before
        make().claim("s")  # and no refusal left a lock behind

    def test_a_session_whose_log_goes_on_where_the_stored_one_ends_continues_it(self, make: Any) -> None:
        make().save(bare("s", 1))
        stored = make().load("s")
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s", seed=stored.events, meta={"createdAt": stored.header.created_at})
            say(session, 2)
        assert make().load("s").to_jsonl() == session.to_jsonl()
        with Context() as ctx:
            session = ctx.sessions.create("s", seed=session.events, meta={"createdAt": stored.header.created_at})
            say(session, 3)
            ctx.plugin(make())
        assert make().load("s").to_jsonl() == session.to_jsonl()

    def test_a_live_session_that_cannot_be_kept_keeps_the_plugin_out(self, make: Any) -> None:
        make().save(bare("s", 1))
        with Context() as ctx:
            say(ctx.sessions.create("s"), 1, words="another")
            with pytest.raises(PersistenceError) as caught:
                ctx.plugin(make())
            assert caught.value.code == "SESSION_STORED"
        make().claim("s")

    def test_the_second_writer_is_told_who_the_first_is(self, make: Any) -> None:
        with Context() as ctx:
            ctx.plugin(make())
            session = ctx.sessions.create("s")
            say(session, 1)
            flush(ctx, session)
            for attempt in (
                lambda: make().claim("s"),
                lambda: make().append("s", []),
                lambda: make().save(bare("s", 1)),
                lambda: self._resume(make()),
            ):
                with pytest.raises(SessionLockedError) as caught:
                    attempt()
                assert (caught.value.code, caught.value.pid) == ("SESSION_LOCKED", os.getpid())
            assert make().load("s").seq == session.seq  # reading is free
            say(session, 2)
        assert self._resume(make()) == 2 * EVENTS_PER_TURN

    @staticmethod
    def _resume(store: Any) -> int:
        with Context() as ctx:
            ctx.plugin(store)
            return resume(ctx, "s").seq

    def test_of_two_new_sessions_with_one_id_the_first_to_be_written_wins(self, make: Any) -> None:
        with Context() as one, Context() as two:
            one.plugin(make())
            two.plugin(make())
            first, second = one.sessions.create("s"), two.sessions.create("s")
            say(first, 1, words="first")
            flush(one, first)
            second.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
            with pytest.raises(PersistenceError) as caught:
                flush(two, second)
            assert caught.value.code == "SESSION_LOCKED"
            one.close()
            with pytest.raises(PersistenceError) as caught:
                flush(two, second)
            assert caught.value.code == "SESSION_STORED"
            assert make().load("s").to_jsonl() == first.to_jsonl()
            with pytest.raises(PersistenceError):
                two.close()

    def test_two_objects_for_one_place_keep_different_sessions(self, make: Any) -> None:
        with Context() as one, Context() as two:
            one.plugin(make())
            two.plugin(make())
            pairs = [(one, one.sessions.create("a")), (two, two.sessions.create("b"))]
            for turn in range(1, 5):
                for ctx, session in pairs:
                    say(session, turn)
                    flush(ctx, session)
        for _, session in pairs:
            assert make().load(session.id).to_jsonl() == session.to_jsonl()

    # The protocol by hand.

    def test_a_log_is_made_and_extended_by_hand(self, make: Any) -> None:
        whole = bare("s", 3)
        store = make()
        assert store.create(whole.header) == 0
        assert store.append("s", whole.events[:4]) == 4
        assert store.append("s", whole.events[2:9]) == 9  # what is there is skipped
        assert store.append("s", []) == 9
        assert store.append("s", whole.events[:9]) == 9
        store.release("s")
        store.release("s")
        other = make()
        assert other.append("s", whole.events[9:]) == whole.seq
        other.release("s")
        assert make().load("s").to_jsonl() == whole.to_jsonl()

    def test_events_that_leave_a_gap_are_refused(self, make: Any) -> None:
        whole = bare("s", 3)
        store = make()
        store.create(whole.header, whole.events[:4])
        with pytest.raises(PersistenceError) as caught:
            store.append("s", whole.events[5:])
        assert caught.value.code == "APPEND_GAP"
        assert store.append("s", whole.events[4:]) == whole.seq
        store.release("s")
        assert make().load("s").to_jsonl() == whole.to_jsonl()

    def test_what_is_not_stored_is_not_found(self, make: Any) -> None:
        make().save(bare("other"))
        for attempt in (make().load, make().claim, lambda name: make().append(name, [])):
            with pytest.raises(PersistenceError, match="'absent'") as caught:
                attempt("absent")
            assert caught.value.code == "SESSION_NOT_STORED"
        make().release("absent")

    def test_everything_stored_is_listed_with_its_header(self, make: Any) -> None:
        headers = {}
        for name, header in (("a", {}), ("b", {"cwd": "/x", "parentSession": "a", "seedLength": 6})):
            session = bare(name, 1, **header) if header else bare(name, 1)
            make().save(session)
            headers[name] = session.header
        listed = make().list()
        assert {stored.id: stored.header for stored in listed} == headers
        assert all(stored.error is None for stored in listed)
        assert all(stored.path == make().locate(stored.id, stored.header.cwd) for stored in listed)

    def test_a_claim_changes_nothing(self, make: Any) -> None:
        make().save(bare("s", 2))
        before = make().load("s").to_jsonl()
        store = make()
        assert store.claim("s").to_jsonl() == before
        store.release("s")
        assert make().load("s").to_jsonl() == before

    # Going on.

    def test_resuming_closes_the_interrupted_turn_durably(self, make: Any) -> None:
        with Context(clock=Ticks()) as ctx:
            ctx.plugin(make())
            first = ctx.sessions.create("s", meta={"cwd": "/x", "createdAt": 7})
            say(first, 1)
            call(first, 2)
        with Context(clock=lambda: 5000) as ctx:
            ctx.plugin(make())
            session = resume(ctx, "s")
            kinds = [event.type for event in session.events[first.seq :]]
            assert kinds == ["tool/result", "step/end", "turn/end"]
            assert make().load("s").to_jsonl() == session.to_jsonl()  # before anything is appended
            assert {event.time for event in session.events[first.seq :]} == {first.events[-1].time}
            assert session.events[-1].data["reason"] == {"kind": "interrupted"}
            assert ctx.sessions.get("s") is session
            assert session.header == first.header
            (finding,) = session.findings
            assert (finding.code, finding.line) == ("INTERRUPTED_TURN", first.seq + 2)
            say(session, 3)
            assert session.events[-1].time == 5000
        stored = make().load("s")
        assert stored.to_jsonl() == session.to_jsonl()
        assert check_invariants(stored.events) == []

    def test_resuming_a_finished_log_changes_nothing(self, make: Any) -> None:
        make().save(bare("s", 2))
        before = make().load("s").to_jsonl()
        with Context() as ctx:
            ctx.plugin(make())
            session = resume(ctx, "s")
            assert session.findings == []
        assert make().load("s").to_jsonl() == before == session.to_jsonl()

    def test_a_live_session_cannot_be_resumed_again(self, make: Any) -> None:
        make().save(bare("s", 1))
        with Context() as ctx:
            ctx.plugin(make())
            session = resume(ctx, "s")
            with pytest.raises(SessionError) as caught:
                resume(ctx, "s")
            assert caught.value.code == "SESSION_EXISTS"
            say(session, 2)
        with Context() as ctx:
            ctx.plugin(make())
            assert resume(ctx, "s").to_jsonl() == session.to_jsonl()

    def test_a_resumed_session_belongs_to_the_context_that_asked(self, make: Any) -> None:
        make().save(bare("s", 1))
        with Context(check_payloads=False) as ctx:
            ctx.plugin(make())
            owner = ctx.child()
            session = resume(owner, "s")
            session.append("todo/write", {"todos": "unchecked"})
            owner.close()
            assert ctx.sessions.list() == []
            assert resume(ctx.child(), "s").seq == session.seq

    def test_a_listener_that_refuses_a_resumed_session_leaves_it_stored_and_free(self, make: Any) -> None:
        make().save(bare("s", 1))

        def refuse(_session: Session) -> None:
            raise RuntimeError("no")

        with Context() as ctx:
            ctx.plugin(make())
            undo = ctx.on("session/created", refuse)
            with pytest.raises(RuntimeError):
                resume(ctx, "s")
            assert ctx.sessions.list() == []
            undo()
            assert resume(ctx, "s").seq == EVENTS_PER_TURN

    # Threads, and any order of things.

    def test_threads_that_append_and_flush_lose_nothing(self, make: Any, caplog: pytest.LogCaptureFixture) -> None:
        store = make()
        with Context() as ctx, caplog.at_level(logging.WARNING):
            ctx.plugin(store)
            session = ctx.sessions.create("s")

            def work(number: int) -> None:
                for turn in range(25):
                    session.append("plugin/note", [number, turn])
                    if turn % 5 == 0:
                        store.save(session)

            with ThreadPoolExecutor(4) as threads:
                list(threads.map(work, range(4)))
        stored = make().load("s")
        assert stored.to_jsonl() == session.to_jsonl()
        assert sorted(event.data for event in stored.events) == [[n, t] for n in range(4) for t in range(25)]
        assert caplog.records == []

    @settings(suppress_health_check=[HealthCheck.differing_executors])  # the classes share nothing but the text
    @given(
        st.lists(st.sampled_from(["flush", "reopen", "replug", "cut", "fork", "one turn", "two turns"]), max_size=12)
    )
    def test_whatever_happens_in_whatever_order_the_stored_log_is_the_live_one(self, steps: list[str]) -> None:
        with self.anew() as make:
            _live(make, steps)

    def anew(self) -> AbstractContextManager[Any]:
        """Give a `make` for a fresh place, for a test that needs many."""
        raise NotImplementedError


def _live(make: Any, steps: list[str]) -> None:
    """Let a session live through some steps, comparing what is stored on the way."""
    turns = 0
    ctx = Context(clock=Ticks())
    plugged = ctx.plugin(make())
    session = ctx.sessions.create("s")

    def reopen() -> None:
        nonlocal ctx, plugged, session
        ctx.close()
        ctx = Context(clock=Ticks())
        plugged = ctx.plugin(make())
        session = resume(ctx, "s")

    for number, step in enumerate(steps):
        if step.endswith(("turn", "turns")):
            for _ in range(1 if step == "one turn" else 2):
                turns += 1
                say(session, turns)
        elif step == "cut":
            turns += 1
            call(session, turns)
            reopen()
        elif step == "flush":
            flush(ctx, session)
            assert not turns or make().load("s").to_jsonl() == session.to_jsonl()
        elif step == "replug":
            plugged.close()
            plugged = ctx.plugin(make())
        elif step == "reopen" and turns:
            reopen()
        elif step == "fork" and turns:
            child = ctx.sessions.fork(session, child_session_id=f"fork-{number}")
            say(child, turns + 1)
            flush(ctx, child)
            assert make().load(child.id).to_jsonl() == child.to_jsonl()
    ctx.close()
    if turns:
        assert make().load("s").to_jsonl() == session.to_jsonl()
        assert check_invariants(make().load("s").events) == []
    else:
        assert make().list() == []
