"""The store beside a naive model, with listeners that misbehave in every way they can."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dsh_session import Context, Session, SessionError, SessionEvent

from .payloads import payload
from .refusals import assert_agrees
from .stores import PlantedError, context, todo

FAMILIES = ("session/created", "session/event", "session/disposed")
MISDEEDS = (
    "raise",
    "append here",
    "append elsewhere",
    "detach",
    "create",
    "fork",
    "announce",
    "leave",
    "join",
    "close",
)
DEEP = 3
"""So many misdeeds may lie inside each other; every one of them may set off all the others."""


@dataclass
class Stay:
    """One entry of a session, and what a well-behaved listener heard of it."""

    session: Session
    detach: Any
    entered_at: int
    leaving: bool = False
    announced: bool = False
    heard: list[Any] = field(default_factory=list)


@dataclass
class Making:
    """A create or fork that is under way, and the stay that it began."""

    owner: Context
    stay: Stay | None = None


class Misbehaving:
    """A listener that does one of the misdeeds, at most so deep."""

    def __init__(self, machine: "StoreMachine", misdeed: str, family: str) -> None:
        self.machine = machine
        self.misdeed = misdeed
        self.family = family
        self.undo: Any = None

    def __call__(self, session: Session, *_event: SessionEvent) -> None:
        machine = self.machine
        if machine.depth >= DEEP:
            return
        machine.depth += 1
        try:
            getattr(self, f"_{self.misdeed.replace(' ', '_')}")(session)
        except SessionError as error:
            machine.codes[error.code] += 1
        finally:
            machine.depth -= 1

    def _raise(self, session: Session) -> None:
        raise PlantedError(session.id)

    def _append_here(self, session: Session) -> None:
        self.machine.append(session)

    def _append_elsewhere(self, session: Session) -> None:
        for stay in list(self.machine.stays):
            if stay.session is not session and not stay.leaving:
                self.machine.append(stay.session)
                return

    def _detach(self, session: Session) -> None:
        machine = self.machine
        machine.leave(machine.stay_of(session))
        if self.family != "session/disposed":
            live = machine.root.sessions.get(session.id) is session
            machine.expect(live, "a session stays while an event of its is published")

    def _create(self, _session: Session) -> None:
        self.machine.make(lambda owner: owner.sessions.create(), self.machine.root)

    def _fork(self, session: Session) -> None:
        ends = [event.seq for event in session.events if event.type == "turn/end"]
        if ends:
            self.machine.make(lambda owner: owner.sessions.fork(session, ends[-1]), self.machine.root)

    def _announce(self, session: Session) -> None:
        self.machine.announce(session)

    def _leave(self, _session: Session) -> None:
        if self.undo is not None:
            self.undo()

    def _join(self, _session: Session) -> None:
        if len(self.machine.listeners) < 12:
            self.machine.listen(self.misdeed, self.family, self.machine.root)

    def _close(self, session: Session) -> None:
        owner = self.machine.owners.get(id(session))
        if owner is not None and owner is not self.machine.root:
            self.machine.close(owner)


class StoreMachine(RuleBasedStateMachine):
    """Creates, enters, announces, appends, forks, detaches and closes; a witness hears everything."""

    def __init__(self) -> None:
        super().__init__()
        self.root = context(check_payloads=False)
        self.contexts: list[Context] = [self.root]
        self.stays: list[Stay] = []
        self.past: list[Stay] = []
        self.current: dict[int, Stay] = {}
        self.owners: dict[int, Context] = {}
        self.logs: dict[int, list[SessionEvent]] = {}
        self.everyone: list[Session] = []
        self.outside: list[Session] = []
        self.listeners: list[Misbehaving] = []
        self.codes: Counter[str] = Counter()
        self.depth = 0
        logging.getLogger("dsh_session").setLevel(logging.CRITICAL)  # misdeeds are logged by the hundred
        self.faults: list[str] = []
        self.vetoing = False
        self.making: list[Making] = []
        self.parents: dict[Context, Context] = {}
        for family in FAMILIES:
            self.root.on(family, getattr(self, f"_hear_{family.removeprefix('session/')}"))
        self.root.check("session/event", self._veto)

    # ---------------------------------------------------------------------------------------------- the witness

    def _hear_created(self, session: Session) -> None:
        stay = self.current.get(id(session))
        if stay is None:
            # Made by create or fork, which enter before anybody can know; the innermost of them announces.
            stay = self._begin(session, None)
            self.owners[id(session)] = self.making[-1].owner
            self.making[-1].stay = stay
        self.expect("created" not in stay.heard, "announced once")
        self.expect(self.root.sessions.get(session.id) is session, "announced while it is live")
        stay.announced = True
        stay.heard.append("created")

    def _hear_event(self, session: Session, event: SessionEvent) -> None:
        self.expect(self.root.sessions.get(session.id) is session, "published while it is live")
        self.expect(session.events[-1] is event, "published after the commit")
        self.expect(event.seq == session.seq - 1, "published before anything else is appended")
        stay = self.current.get(id(session))
        self.expect(stay is not None, "published during a stay")
        if stay is not None:
            stay.heard.append(event.seq)

    def _hear_disposed(self, session: Session) -> None:
        self.expect(self.root.sessions.get(session.id) is not session, "disposed of after it has left")
        stay = self.current.pop(id(session), None)
        self.expect(stay is not None, "disposed of once")
        if stay is not None:
            stay.heard.append("disposed")
            self._end(stay)

    def expect(self, condition: bool, sentence: str) -> None:
        """Note a fault: what a listener raises, the store contains."""
        if not condition:
            self.faults.append(sentence)

    def _veto(self, session: Session, event: SessionEvent) -> None:
        self.expect(event.seq == session.seq, "checked before the commit")
        if self.vetoing:
            raise PlantedError("vetoed")

    def _begin(self, session: Session, detach: Any) -> Stay:
        stay = Stay(session, detach, session.seq)
        self.stays.append(stay)
        self.current[id(session)] = stay
        if not any(known is session for known in self.everyone):
            self.everyone.append(session)
            self.logs[id(session)] = list(session.events)
        return stay

    def _end(self, stay: Stay) -> None:
        self.stays.remove(stay)
        self.past.append(stay)

    def stay_of(self, session: Session) -> Stay | None:
        self._sweep()
        return self.current.get(id(session))

    # ------------------------------------------------------------------------- what rules and misdeeds have in common

    def append(self, session: Session) -> None:
        before = session.seq
        if self.vetoing and id(session) in self.current:
            with pytest.raises((PlantedError, SessionError)):
                todo(session)
            self.expect(session.seq == before, "a veto leaves no trace")
            return
        if before % 4 == 3:
            event = session.append("turn/end", payload("turn/end"))
        elif before % 4 == 1:
            event = session.append("user/message", payload("user/message"), surface_op="append")
        else:
            event = todo(session)
        self.logs[id(session)].insert(event.seq, event)
        self.expect(event.seq == before, "appended before anything else is")

    def make(self, how: Any, owner: Context) -> Session | None:
        making = Making(owner)
        self.making.append(making)
        try:
            session: Session = how(owner)
        except PlantedError:
            if making.stay is not None:
                making.stay.leaving = True
            return None
        finally:
            self.making.pop()
        self.expect(id(session) in self.logs, "what create gives was announced")
        return session

    def announce(self, session: Session) -> None:
        self.root.sessions.announce(session)

    def leave(self, stay: Stay | None) -> None:
        if stay is None or stay.detach is None:
            return
        stay.leaving = True
        stay.detach()
        self._sweep()

    def _sweep(self) -> None:
        """End the stays that nobody hears the end of: those that were never announced."""
        for stay in list(self.stays):
            session = stay.session
            gone = self.root.sessions.get(session.id) is not session or self.current.get(id(session)) is not stay
            if stay.leaving and not stay.announced and gone:
                self._end(stay)
                if self.current.get(id(session)) is stay:
                    del self.current[id(session)]

    def close(self, owner: Context) -> None:
        for stay in self.stays:
            if stay.detach is None and self._belongs(self.owners[id(stay.session)], owner):
                stay.leaving = True
        owner.close()
        self.contexts[:] = [ctx for ctx in self.contexts if not ctx.closed]

    def _belongs(self, ctx: Context, owner: Context) -> bool:
        return ctx is owner or (ctx in self.parents and self._belongs(self.parents[ctx], owner))

    def listen(self, misdeed: str, family: str, ctx: Context) -> None:
        listener = Misbehaving(self, misdeed, family)
        listener.undo = ctx.on(family, listener)
        self.listeners.append(listener)

    # -------------------------------------------------------------------------------------------------------- rules

    @initialize(
        listeners=st.lists(st.tuples(st.sampled_from(MISDEEDS), st.sampled_from(FAMILIES)), min_size=2, max_size=8)
    )
    def misbehaving_listeners_are_there(self, listeners: list[tuple[str, str]]) -> None:
        for misdeed, family in listeners:
            self.listen(misdeed, family, self.root)
        self.contexts += [self.root.child(), self.root.scope()]

    @precondition(lambda self: len(self.listeners) < 12)
    @rule(misdeed=st.sampled_from(MISDEEDS), family=st.sampled_from(FAMILIES), data=st.data())
    def a_misbehaving_listener_comes(self, misdeed: str, family: str, data: st.DataObject) -> None:
        self.listen(misdeed, family, data.draw(st.sampled_from(self.contexts)))

    @precondition(lambda self: self.listeners)
    @rule(data=st.data())
    def a_misbehaving_listener_goes(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.listeners) - 1))
        self.listeners.pop(at).undo()

    @precondition(lambda self: len(self.contexts) < 5)
    @rule(data=st.data(), scoped=st.booleans())
    def a_context_is_made(self, data: st.DataObject, scoped: bool) -> None:
        parent = data.draw(st.sampled_from(self.contexts))
        ctx = parent.scope() if scoped else parent.child()
        self.parents[ctx] = parent
        self.contexts.append(ctx)

    @precondition(lambda self: len(self.contexts) > 1)
    @rule(data=st.data())
    def a_context_is_closed(self, data: st.DataObject) -> None:
        closing = data.draw(st.sampled_from(self.contexts[1:]))
        self.close(closing)

    @rule(data=st.data(), name=st.sampled_from([None, "a", "b", "c"]))
    def a_session_is_created(self, data: st.DataObject, name: str | None) -> None:
        owner = data.draw(st.sampled_from(self.contexts))
        taken = name is not None and self.root.sessions.get(name) is not None
        if taken:
            with pytest.raises(SessionError, match="SESSION_EXISTS"):
                owner.sessions.create(name)
        else:
            self.make(lambda owner: owner.sessions.create(name), owner)

    @rule(data=st.data(), name=st.sampled_from(["a", "b", "c"]), announced=st.booleans())
    def a_session_is_entered(self, data: st.DataObject, name: str, announced: bool) -> None:
        owner = data.draw(st.sampled_from(self.contexts))
        again = [session for session in self.outside if session.id == name]
        session = again[0] if again else Session(name, clock=lambda: 0, check_payloads=False)
        if self.root.sessions.get(name) is not None:
            with pytest.raises(SessionError, match="SESSION_EXISTS"):
                owner.sessions.enter(session)
            return
        detach = owner.sessions.enter(session)
        self._begin(session, detach)
        if again:
            self.outside.remove(session)
        if announced:
            try:
                owner.sessions.announce(session)
            except PlantedError:
                assert self.stay_of(session) is not None or any(stay.session is session for stay in self.past)

    @precondition(lambda self: any(stay.detach for stay in self.stays))
    @rule(data=st.data(), twice=st.booleans())
    def a_session_is_detached(self, data: st.DataObject, twice: bool) -> None:
        stay = data.draw(st.sampled_from([stay for stay in self.stays if stay.detach]))
        self.leave(stay)
        if twice:
            stay.detach()
        if self.root.sessions.get(stay.session.id) is not stay.session:
            self.outside.append(stay.session)

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def a_stale_detach_is_called(self, data: st.DataObject) -> None:
        stay = data.draw(st.sampled_from(self.past))
        before = self.root.sessions.list()
        if stay.detach is not None:
            stay.detach()
        assert self.root.sessions.list() == before

    @precondition(lambda self: self.everyone)
    @rule(data=st.data(), count=st.integers(1, 4))
    def events_are_appended(self, data: st.DataObject, count: int) -> None:
        session = data.draw(st.sampled_from(self.everyone))
        for _ in range(count):
            self.append(session)

    @precondition(lambda self: self.stays)
    @rule(data=st.data())
    def a_session_is_forked(self, data: st.DataObject) -> None:
        stay = data.draw(st.sampled_from(self.stays))
        owner = data.draw(st.sampled_from(self.contexts))
        source = stay.session
        ends = [event.seq for event in source.events if event.type == "turn/end"]
        if source.seq and not ends:
            with pytest.raises(SessionError, match="OPEN_TURN"):
                owner.sessions.fork(source)
            return
        child = self.make(lambda owner: owner.sessions.fork(source.id, ends[-1] if ends else None), owner)
        if child is not None:
            shared = child.header.seed_length or 0
            assert all(a is b for a, b in zip(child.events[:shared], source.events, strict=False))

    @rule(vetoing=st.booleans())
    def a_check_vetoes_every_append_from_now_on_or_none(self, vetoing: bool) -> None:
        self.vetoing = vetoing

    @precondition(lambda self: self.stays)
    @rule(data=st.data())
    def a_session_is_announced_again(self, data: st.DataObject) -> None:
        stay = data.draw(st.sampled_from(self.stays))
        if not stay.announced:
            return
        with pytest.raises(SessionError, match="ALREADY_ANNOUNCED"):
            self.announce(stay.session)

    # --------------------------------------------------------------------------------------- what holds between rules

    @invariant()
    def the_witness_saw_no_fault(self) -> None:
        assert self.faults == []

    @invariant()
    def the_live_sessions_are_those_that_entered_and_did_not_leave(self) -> None:
        self._sweep()
        live = self.root.sessions.list()
        assert [session.id for session in live] == [stay.session.id for stay in self.stays]
        for stay, session in zip(self.stays, live, strict=True):
            assert not stay.leaving
            assert stay.session is session
            assert self.root.sessions.get(session.id) is session
        assert len({session.id for session in live}) == len(live)

    @invariant()
    def every_log_holds_what_its_appends_returned(self) -> None:
        for session in self.everyone:
            assert [id(event) for event in session.events] == [id(event) for event in self.logs[id(session)]]

    @invariant()
    def the_witness_heard_each_stay_in_order(self) -> None:
        for stay in self.stays:
            self._assert_heard(stay, stay.session.seq)
        for stay in self.past:
            assert stay.heard[-1:] == ["disposed"] or not stay.announced
            heard = [item for item in stay.heard if item != "disposed"]
            self._assert_heard(stay, stay.entered_at + len([item for item in heard if item != "created"]))

    def _assert_heard(self, stay: Stay, until: int) -> None:
        seqs = [item for item in stay.heard if isinstance(item, int)]
        assert seqs == list(range(stay.entered_at, until))
        assert stay.heard.count("created") == (1 if stay.announced else 0)
        assert stay.heard.count("disposed") <= 1

    def teardown(self) -> None:
        while len(self.contexts) > 1:
            self.close(self.contexts[-1])
        self.the_live_sessions_are_those_that_entered_and_did_not_leave()
        for stay in [stay for stay in self.stays if stay.detach is not None]:
            self.leave(stay)
        assert all(self.owners.get(id(stay.session)) is self.root for stay in self.stays)
        self.root.close()
        assert self.root.sessions.list() == []
        for session in self.everyone:
            assert_agrees(session)
        assert self.faults == []
        logging.getLogger("dsh_session").setLevel(logging.NOTSET)


StoreMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=30)
TestStoreMachine = StoreMachine.TestCase
