"""What a widget was given: a session, a store, a context, or a history; and whether it may be written to."""

from dataclasses import dataclass
from typing import Any

from dsh_session.core.context import Context
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.store import SessionStore, store_of

Subject = Session | SessionStore | Context | SurfaceHistory
"""What can be explored."""

OF_A_HISTORY = "A history of events is read-only: there is no session to append to."
OF_A_LOG = (
    "This log was loaded and is in no store: what is appended to it would be kept nowhere. "
    "ctx.sessions.enter(session) makes it live."
)
NO_STORE = "This session is in no store, and forks live in one. ctx.sessions.enter(session) makes it live."


def why_read_only(session: Session | None) -> str | None:
    """Say why nothing may be appended, or None where it may.

    Args:
        session: A session; None for a history of bare events.

    Example:
        >>> from dsh_session import Session, samples
        >>> why_read_only(Session("s")), why_read_only(samples.load("pi-compacted-twice"))[:20]
        (None, 'This log was loaded ')
    """
    if session is None:
        return OF_A_HISTORY
    # A log that was read has its header line; one that is live is kept by whoever it is live for.
    return OF_A_LOG if session._header_line is not None and session._link is None else None


@dataclass(frozen=True)
class Given:
    """What a widget was given, taken apart.

    Attributes:
        session: The session that is shown first; None for a history of bare events, or an empty store.
        store: Where it is live, or None.
        shown: What the stepper shows first.
    """

    session: Session | None
    store: SessionStore | None
    shown: Any


def take(subject: Subject) -> Given:
    """Take apart what a widget was given.

    Raises:
        TypeError: When it is none of those.

    Example:
        >>> from dsh_session import Context, Session
        >>> take(Session("s")).store is None
        True
        >>> with Context() as ctx:
        ...     session = ctx.sessions.create("tour")
        ...     take(ctx).session.id, take(session).store is ctx.sessions
        ('tour', True)
    """
    if isinstance(subject, Context):
        subject = subject.sessions
    if isinstance(subject, SessionStore):
        first = next(iter(subject.list()), None)
        return Given(first, subject, [] if first is None else first)
    if isinstance(subject, Session):
        return Given(subject, store_of(subject), subject)
    if isinstance(subject, SurfaceHistory):
        return Given(None, None, subject)
    raise TypeError(
        f"give a Session, a SessionStore, a Context or a SurfaceHistory, not {name_of(type(subject).__name__)}"
    )


def session_of(subject: Session | SessionStore | Context) -> Session:
    """Give the session that a form is for.

    Raises:
        TypeError: When there is none.
    """
    session = take(subject).session
    if session is None:
        raise TypeError("a form is for a session: give one, or a store that has one")
    return session
