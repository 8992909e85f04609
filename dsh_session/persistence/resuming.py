"""Going on with a stored session: load, repair, and live under its own id again."""

# ruff: noqa: A002 (`id` is the field's name)

from dsh_session.core.context import Context
from dsh_session.core.errors import PersistenceError, StoreError
from dsh_session.core.repair import interrupted_turn_closers
from dsh_session.core.session import Finding, Session
from dsh_session.persistence.behind import WriteBehind, plugged_into
from dsh_session.persistence.protocol import Cwd


def resume(ctx: Context, id: str, *, cwd: Cwd = ...) -> Session:
    """Make a stored session live again; what is appended to it continues the same log.

    What a crash left is repaired first, durably: a torn tail is cut off, and a turn that was open is closed
    (the seeds' ``interrupted`` end reason). A log that is damaged before its last ``turn/end`` is not
    touched.

    Args:
        ctx: A context that keeps its sessions somewhere: a backend is plugged into it, or into one
            that it belongs to. The session belongs to `ctx`.
        id: The session's id.
        cwd: Its working directory, None for none, where several sessions have the id.

    Returns:
        The live session; `Session.findings` says what was repaired.

    Raises:
        PersistenceError: ``NO_PERSISTENCE``, ``SESSION_NOT_STORED``, ``SESSION_AMBIGUOUS``, or
            ``SESSION_LOCKED`` when somebody is writing it.
        StoreError: ``SESSION_EXISTS`` when a session of that id is live.
        SessionError: What is wrong with the log, as `dsh_session.load`.
        OSError: When it cannot be read or repaired.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> from dsh_session.persistence import JsonlPersistence
        >>> with Context(clock=lambda: 0) as ctx:
        ...     plugged = ctx.plugin(JsonlPersistence(folder.name))
        ...     event = ctx.sessions.create("s").append("turn/start", {"turn": 1, "trigger": {"kind": "x"}})
        >>> with Context() as ctx:
        ...     plugged = ctx.plugin(JsonlPersistence(folder.name))
        ...     [event.type for event in resume(ctx, "s").events]
        ['turn/start', 'turn/end']
        >>> folder.cleanup()
    """
    ctx.require_open()
    if ctx.sessions.get(id) is not None:
        raise StoreError("SESSION_EXISTS", f"session {id!r} is live already; get it from the store")
    behind, session = _claim(ctx, id, cwd)
    try:
        _repair(behind, session)
        session._clock = ctx._state.clock
        session._check_payloads = ctx._state.check_payloads
        behind.add(session)
    except BaseException:
        behind.backend.release(id)
        raise
    try:
        return ctx.sessions._live(session)
    except BaseException:
        behind.forget(session)
        raise


def _claim(ctx: Context, id: str, cwd: Cwd) -> tuple[WriteBehind, Session]:
    keepers = plugged_into(ctx)
    if not keepers:
        raise PersistenceError(
            "NO_PERSISTENCE",
            "nothing that stores sessions is plugged into this context: ctx.plugin(JsonlPersistence(…))",
        )
    for behind in keepers[:-1]:
        try:
            return behind, behind.backend.claim(id, cwd=cwd)
        except PersistenceError as error:
            if error.code != "SESSION_NOT_STORED":
                raise
    return keepers[-1], keepers[-1].backend.claim(id, cwd=cwd)


def _repair(behind: WriteBehind, session: Session) -> None:
    """Cut off a torn tail and close an interrupted turn, both durably."""
    closers = interrupted_turn_closers(session.events)
    start = session.seq
    for at, closer in enumerate(closers):
        session._log.append(session._seeded(closer, start + at))
    behind.backend.append(session.id, session.events[start:])
    if closers:
        turn = closers[-1]["data"]["turn"]
        message = f"turn {turn} was interrupted; it was closed with {len(closers)} events, from seq {start} on"
        session.findings.append(Finding("INTERRUPTED_TURN", message, start + 2))
