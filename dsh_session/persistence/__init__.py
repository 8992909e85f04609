"""Sessions that outlive their process.

A backend is a plugin of a context: it writes behind the sessions that live there, and
``session/flush`` makes a turn durable before it returns. `resume` goes on where a session stopped.
"""

from dsh_session.core.errors import PersistenceError, SessionLockedError
from dsh_session.persistence.behind import PersistencePlugin
from dsh_session.persistence.catalog import list_sessions, validate
from dsh_session.persistence.jsonl import JsonlPersistence
from dsh_session.persistence.protocol import SessionPersistence, StoredSession
from dsh_session.persistence.resuming import resume
from dsh_session.persistence.sqlite import SqlitePersistence
from dsh_session.persistence.validation import LogFinding

__all__ = [
    "JsonlPersistence",
    "LogFinding",
    "PersistenceError",
    "PersistencePlugin",
    "SessionLockedError",
    "SessionPersistence",
    "SqlitePersistence",
    "StoredSession",
    "list_sessions",
    "resume",
    "validate",
]
