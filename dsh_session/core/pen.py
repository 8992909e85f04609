"""What a recorder, its turns and its steps write with: the session, where it stands, and the route."""

from collections.abc import Mapping
from typing import Any

from dsh_session.core.errors import SessionError
from dsh_session.core.event import SessionEvent
from dsh_session.core.request import canonical_header, header_equals
from dsh_session.core.session import Session
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import TurnState

RECORDED = "recorded"
"""The provider and the model where nobody names one."""


class Pen:
    """A session to write to, and what one has to know of it to write on.

    It keeps no books of its own: numbers, open turns and pending calls are read from the log, which
    others may write to as well.

    Attributes:
        session: The session.
    """

    def __init__(self, session: Session, *, provider: str | None = None, model: str | None = None) -> None:
        """Take the session, and the route of what names none; see `dsh_session.Recorder`."""
        if not isinstance(session, Session):
            raise TypeError(f"a recorder writes to a Session, not to {type(session).__name__}")
        self.session = session
        self._provider = provider
        self._model = model
        self._has_written_header = False
        self._tracker = TurnTracker()

    @property
    def state(self) -> TurnState:
        """Where the log stands; O(what it has grown by)."""
        return self._tracker.catch_up(self.session.events)

    def route(self) -> dict[str, str]:
        """Give the provider and the model of what names none."""
        in_force = self._header_in_force()
        config: Mapping[str, Any] = {} if in_force is None else in_force["config"]
        given = {"provider": self._provider, "model": self._model}
        if self._has_written_header:
            given = dict.fromkeys(given)
        return {key: given[key] or _name(config, key) or RECORDED for key in given}

    def write_header(self, config: Mapping[str, Any] | None, **further: Any) -> SessionEvent | None:
        """Write a request header, unless the one in force says the same.

        The first one that a pen writes is written in any case: it marks where a loop began.

        Args:
            config: The ``LlmCallConfig``; what it lacks of the route is filled in.
            further: The header's other fields, by wire name; None is absent.
        """
        given = {key: value for key, value in further.items() if value is not None}
        header: Any = canonical_header({"config": {**self.route(), **(config or {})}, **given})
        in_force = self._header_in_force()
        if self._has_written_header and header_equals(in_force, header):
            return None
        reason: Any = "change" if self._has_written_header else "initial" if in_force is None else "resume"
        event = self.session.append("request/header", {"header": header, "reason": reason})
        self._has_written_header = True
        return event

    def _header_in_force(self) -> dict[str, Any] | None:
        try:
            return self.session.request_header()
        except SessionError:
            return None  # the latest one is malformed


def _name(config: Any, key: str) -> str | None:
    name = config.get(key) if isinstance(config, Mapping) else None
    return name if isinstance(name, str) else None
