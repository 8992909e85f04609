"""The interpreter of store scripts: one context, named objects, listeners that act, and what all of it left behind.

A script is a list of operations in the words of FORMAT.md. `Stage.play` performs one and gives its outcome in the
same words, so that a recorded script and one of our own are run by the same code.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any, Final, Self

from dsh_session import Context, Session, SessionError

from .vectors import Clock, Record, assert_equal, difference, given, passes_null

Op = dict[str, Any]
Outcome = dict[str, Any]

FAMILIES: Final = {
    "created": "session/created",
    "event": "session/event",
    "disposed": "session/disposed",
    "flush": "session/flush",
}
SLOW: Final = 0.005
PATIENCE: Final = 5.0
TODO: Final[dict[str, Any]] = {"todos": []}


class ScriptThrowError(Exception):
    """A failure that the script planted itself."""

    code = "SCRIPT_THROW"


class _Warnings(logging.Handler):
    """Collects what the package logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def named(self, sessions: list[str]) -> list[list[str]]:
        """Give session id and event family of each, and forget them. The longest id that is named is meant."""
        found = []
        for text in self.texts:
            families = [family for family in FAMILIES.values() if family in text]
            ids = [name for name in sessions if re.search(rf"(?<!\w)['\"]?{re.escape(name)}['\"]?(?!\w)", text)]
            assert len(families) == 1, f"a warning names one event family: {text}"
            assert ids, f"a warning names its session: {text}"
            found.append([max(ids, key=len), families[0]])
        self.texts.clear()
        return found


class Stage:
    """A context, and everything in it that has a name.

    Use it as an async context manager inside a running loop, or as a plain one where there is none; `play` and `act`
    belong to the former, `act` alone to the latter.
    """

    def __init__(self, now: int = 1_700_000_000_000, *, check_payloads: bool = False) -> None:
        self.clock = Clock(now)
        self.ctx = Context(clock=self.clock, check_payloads=check_payloads)
        self.sessions: dict[str, Session] = {}
        self.detaches: dict[str, Callable[[], object]] = {}
        self.contexts: dict[str, Context] = {}
        self.trace: list[list[Any]] = []
        self._warnings = _Warnings()
        self._logger = logging.getLogger("dsh_session")

    def __enter__(self) -> Self:
        self._logger.addHandler(self._warnings)
        return self

    def __exit__(self, *exception: object) -> None:
        self.ctx.close()
        self._logger.removeHandler(self._warnings)

    async def __aenter__(self) -> Self:
        self._logger.addHandler(self._warnings)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.ctx.aclose()
        self._logger.removeHandler(self._warnings)

    # Running.

    async def play(self, op: Op) -> Outcome:
        """Perform one operation, let what it started come to an end, and tell how it went."""
        outcome = self.act(op) if op["op"] != "flush" else await self._flush(op)
        await _settle()
        return self._told(outcome)

    def act(self, op: Op) -> Outcome:
        """Perform one operation that awaits nothing."""
        try:
            return {"ok": True, "value": self._perform(op)}
        except (SessionError, ScriptThrowError) as error:
            return _refusal(error)

    def act_and_tell(self, op: Op) -> Outcome:
        """Perform one operation where no loop runs, and tell how it went; a flush gets a loop of its own."""
        outcome = self.act(op) if op["op"] != "flush" else asyncio.run(self._flush(op))
        return self._told(outcome)

    def _told(self, outcome: Outcome) -> Outcome:
        if self.trace:
            outcome["trace"], self.trace = self.trace, []
        warnings = self._warnings.named([session.id for session in self.sessions.values()])
        if warnings:
            outcome["warnings"] = warnings
        return outcome

    async def _flush(self, op: Op) -> Outcome:
        # The call itself never raises: what is wrong comes with the awaitable.
        awaitable = self._context(op).sessions.flush(self.sessions[op["session"]])
        try:
            await awaitable
        except (SessionError, ScriptThrowError) as error:
            return _refusal(error)
        return {"ok": True, "value": {}}

    def _context(self, op: Op) -> Context:
        name = op.get("scope", op.get("owner"))
        return self.ctx if name is None else self.contexts[name]

    # Operations.

    def _perform(self, op: Op) -> Outcome:
        operation: Callable[[Op], Outcome | None] = getattr(self, f"_do_{op['op'].replace('-', '_')}")
        return operation(op) or {}

    def _do_clock(self, op: Op) -> None:
        self.clock.now = op["now"]

    def _do_scope(self, op: Op) -> None:
        self.contexts[op["as"]] = self._context(op).scope()

    def _do_owner(self, op: Op) -> None:
        self.contexts[op["as"]] = (self._context(op) if "scope" in op else self.ctx).child()

    def _do_unload(self, op: Op) -> None:
        self.contexts[op.get("owner") or op.get("target") or op["scope"]].close()

    _do_dispose_scope = _do_unload

    def _do_listen(self, op: Op) -> None:
        context, listener = self._context(op), _Listener(self, op)
        if op["on"] == "dispatch":
            for short in [op["for"]] if "for" in op else FAMILIES:
                context.check(FAMILIES[short], listener.as_check(FAMILIES[short]))
        else:
            context.on(FAMILIES[op["on"]], listener, prepend=op.get("prepend", False), global_=op.get("global", False))

    def _do_bare(self, op: Op) -> Outcome:
        options = _options(op)
        meta = options.pop("meta", None)
        header = None if meta is None else {"version": 0, "id": op["id"], "createdAt": self.clock(), **meta}
        session = Session(op["id"], **options, header=header, clock=self.clock, check_payloads=False)
        return self._bind(op, session)

    def _do_prepare(self, op: Op) -> Outcome:
        return self._bind(op, self._context(op).sessions.prepare(op.get("id"), **_options(op)))

    def _do_create(self, op: Op) -> Outcome:
        return self._bind(op, self._context(op).sessions.create(op.get("id"), **_options(op)))

    def _do_enter(self, op: Op) -> None:
        self.detaches[op["as"]] = self._context(op).sessions.enter(self.sessions[op["session"]])

    def _do_announce(self, op: Op) -> None:
        self._context(op).sessions.announce(self.sessions[op["session"]])

    def _do_detach(self, op: Op) -> None:
        self.detaches[op["handle"]]()

    def _do_append(self, op: Op) -> Outcome:
        _, data = given(op, "data")
        options = given(op, "opts")[1] or {}
        session = self.sessions[op["session"]]
        event = session.append(
            op["type"],
            data,
            surface_op=options.get("surfaceOp"),
            source_event_seqs=options.get("sourceEventSeqs"),
        )
        assert event is session.events[event.seq]
        return {"event": event.to_dict(), "length": session.seq}

    def _do_fork(self, op: Op) -> Outcome:
        source = op["source"]
        child = self._context(op).sessions.fork(
            self.sessions[source["session"]] if "session" in source else source["id"],
            op.get("boundary"),
            op.get("child"),
        )
        return {**self._bind(op, child), "state": state_of(child)}

    def _do_get(self, op: Op) -> Outcome:
        return {"session": self._handle(self._context(op).sessions.get(op["id"]))}

    def _do_list(self, op: Op) -> Outcome:
        live = self._context(op).sessions.list()
        return {"ids": [session.id for session in live], "sessions": [self._handle(session) for session in live]}

    def _do_state(self, op: Op) -> Outcome:
        return {"state": state_of(self.sessions[op["session"]])}

    def _bind(self, op: Op, session: Session) -> Outcome:
        self.sessions[op["as"]] = session
        return {"id": session.id, "header": session.header.to_dict(), "length": session.seq}

    def _handle(self, session: Session | None) -> str | None:
        return next((name for name, bound in self.sessions.items() if bound is session), None)


class _Listener:
    """A listener of a script: it traces what it hears, then acts."""

    def __init__(self, stage: Stage, op: Op) -> None:
        self.stage = stage
        self.name = op["name"]
        self.on = op["on"]
        action = op.get("action", [])
        self.actions = action if isinstance(action, list) else [action]
        self.calls = count()
        self.times = op.get("times", float("inf"))

    def __call__(self, session: Session, event: Any = None) -> Awaitable[None] | None:
        seen = [] if event is None else [event.seq, event.type]
        self.stage.trace.append([self.name, self.on, session.id, *seen])
        return self._act(session, event)

    def as_check(self, family: str) -> Callable[..., None]:
        """Give the check of this family that does the same."""
        short = next(short for short, name in FAMILIES.items() if name == family)

        def check(session: Session, event: Any = None) -> None:
            self.stage.trace.append([self.name, "dispatch", short, session.id])
            self._act(session, event)

        return check

    def _act(self, session: Session, event: Any) -> Awaitable[None] | None:
        if next(self.calls) >= self.times:
            return None
        awaitables = [self._one(action, session, event) for action in self.actions]
        return next((awaitable for awaitable in awaitables if awaitable is not None), None)

    def _one(self, action: Any, session: Session, event: Any) -> Awaitable[None] | None:
        stage = self.stage
        if action == "throw":
            raise ScriptThrowError(self.name)
        if action == "reject":
            return _reject(self.name)
        if "slow" in action:
            return _finish_later(stage.trace)
        if "probe" in action:
            last = session.events[-1] is event if session.seq else False
            live = stage.ctx.sessions.get(session.id) is session
            stage.trace.append(["probe", live, session.seq, last if event is not None else None])
            return None
        try:
            self._operate(action, session)
        except (SessionError, ScriptThrowError) as error:
            stage.trace.append(["inner", error.code])
            if "rethrow" in action.values():
                raise
        return None

    def _operate(self, action: dict[str, Any], session: Session) -> None:
        stage = self.stage
        if "append" in action:
            session.append("todo/write", TODO)
        elif "announce" in action:
            stage.ctx.sessions.announce(stage.sessions.get(action["announce"], session))
        elif "detach" in action:
            stage.detaches[action["detach"]]()
        elif "create" in action:
            stage.sessions[action["as"]] = stage.ctx.sessions.create(action["create"])
        elif "fork" in action:
            stage.sessions[action["as"]] = stage.ctx.sessions.fork(session, child_session_id=action["fork"])
        elif "unload" in action:
            stage.contexts[action["unload"]].close()
        else:
            stage._do_listen(action["listen"])


async def _reject(name: str) -> None:
    await asyncio.sleep(0)
    raise ScriptThrowError(name)


async def _finish_later(trace: list[list[Any]]) -> None:
    await asyncio.sleep(SLOW)
    trace.append(["slow-done"])


async def _settle() -> None:
    """Let everything that runs beside us come to its end."""
    this = asyncio.current_task()
    while others := asyncio.all_tasks() - {this}:
        _, pending = await asyncio.wait(others, timeout=PATIENCE)
        assert not pending, "something of the operation never ends"
    await asyncio.sleep(0)  # callbacks of the last of them


def _refusal(error: Any) -> Outcome:
    fault: Outcome = {"code": error.code}
    index = getattr(error, "index", None)
    if index is not None:
        fault["seedIndex"] = index
    return {"ok": False, "error": fault}


def _options(op: Op) -> Outcome:
    options = dict(op.get("options") or {})
    present, seed = given(options, "seed")
    options.pop("seedText", None)
    return {**options, "seed": seed} if present else options


def state_of(session: Session) -> Outcome:
    """Give the full state of a session, as FORMAT.md has it."""
    return {
        "length": session.seq,
        "nodes": list(session.surface.nodes),
        "generation": session.surface.replace_generation,
        "messages": {"keep": 0, "tail": session.derive_messages()},
        "requestHeader": session.request_header(),
    }


# Replaying a record.


def needs_a_loop(record: Record) -> bool:
    """Tell whether a listener of the script gives an awaitable."""

    def awaits(op: Op) -> bool:
        actions = op.get("action", [])
        actions = actions if isinstance(actions, list) else [actions]
        return any(action == "reject" or "slow" in action for action in actions)

    return any(awaits(op) for op in record["ops"])


def assert_replayed_in_a_loop(record: Record) -> None:
    """Replay the script with a running event loop and compare every outcome."""

    async def replay() -> None:
        async with Stage(record["clock"]) as stage:
            for op, recorded in _steps(record):
                _compare(op, await stage.play(op), recorded)

    asyncio.run(replay())


def assert_replayed_without_a_loop(record: Record) -> None:
    """Replay the script in a plain thread and compare every outcome."""
    with Stage(record["clock"]) as stage:
        for op, recorded in _steps(record):
            _compare(op, stage.act_and_tell(op), recorded)


def _steps(record: Record) -> Iterator[tuple[Op, Outcome]]:
    for op, recorded in zip(record["ops"], record["results"], strict=True):
        if passes_null(op, "boundary") or passes_null(op.get("opts") or {}, "surfaceOp", "sourceEventSeqs"):
            assert not recorded["ok"]  # leaving it out changes nothing
        else:
            yield op, recorded


def _compare(op: Op, ours: Outcome, recorded: Outcome) -> None:
    expected = {**recorded}
    if "error" in expected:
        # Every refusal of ours carries its code; what the original throws untyped was classified.
        expected["error"] = {key: value for key, value in expected["error"].items() if key != "typed"}
    if "warnings" in expected:
        expected["warnings"] = [warning[:2] for warning in expected["warnings"]]
    found = difference(ours, expected, ordered=False)
    assert found is None, f"{op}: {found}"
    if ours["ok"] and "event" in ours["value"]:
        assert_equal(ours["value"]["event"], expected["value"]["event"])
    if ours["ok"] and "header" in ours["value"]:
        assert_equal(ours["value"]["header"], expected["value"]["header"])
