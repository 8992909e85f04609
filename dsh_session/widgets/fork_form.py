"""Forking by hand: after which turn, and under which name."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import traitlets

from dsh_session.core.context import Context
from dsh_session.core.errors import SessionError
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore, store_of
from dsh_session.views import describe
from dsh_session.views.escape import cut, one_line
from dsh_session.widgets import parts
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.subject import NO_STORE, session_of

_OFFERED = 200
"""So many of the latest turns are offered; an earlier one is offered when it is asked for."""


class ForkForm(parts.Part):
    """Fork a session: pick the end of a turn, name the child.

    The child is made by `SessionStore.fork`: it shares the events up to there, and belongs to the context that the
    session's store belongs to, so that it stays when this form is closed.

    Attributes:
        session: The session.
        boundary: Seq of the ``turn/end`` to fork at; -1 where there is none yet.
        child_id: The id of the latest child that this form made; empty before.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context(clock=lambda: 0) as ctx:
        ...     session = ctx.sessions.create("tour")
        ...     with Recorder(session).turn("Hello."):
        ...         pass
        ...     form = ForkForm(session)
        ...     form.name = "what if"
        ...     child = form.fork()
        ...     child, form
        ...     form.close()
        (<Session 'what if' 3 events, 1 nodes>, <ForkForm of tour: at 2, made what if>)
    """

    boundary = traitlets.Int(-1)
    child_id = traitlets.Unicode("")

    def __init__(self, subject: Session | SessionStore | Context, *, boundary: int | None = None) -> None:
        """Make a form for a session.

        Args:
            subject: The session, or a store whose first session it is.
            boundary: Seq of the ``turn/end`` to begin with; the last one by default.
        """
        self.session = session_of(subject)
        self._told: list[Callable[[Session], Any]] = []
        self._ends: list[int] = []
        self._seen = 0
        self._is_filling = False
        self._boundary = parts.choice("Fork after", [("no turn has ended yet", -1)], -1)
        self._name = parts.text("Name of the child", placeholder="empty for the next free id")
        self._button = parts.button("Fork", self.fork, is_main=True)
        self._notice = Notice()
        super().__init__((self._boundary, self._name, self._button, self._notice))
        self._boundary.observe(self._on_choice, "value")
        self.refresh()
        if boundary is not None:
            self.boundary = boundary
        self._follow(self.session, self.refresh)

    @property
    def name(self) -> str:
        """The child's id as it stands in the form; empty for the next free one."""
        name: str = self._name.value
        return name

    @name.setter
    def name(self, value: str) -> None:
        self._name.value = value

    @property
    def ends(self) -> tuple[int, ...]:
        """The seqs of all ``turn/end`` events, in log order."""
        return tuple(self._ends)

    @traitlets.validate("boundary")
    def _check_boundary(self, proposal: Any) -> int:
        seq: int = proposal["value"]
        if seq != -1 and seq not in self._ends:
            known = f"the last is {self._ends[-1]}" if self._ends else "there is none yet"
            raise traitlets.TraitError(f"boundary={seq}: a fork is made at a turn/end; {known}")
        return seq

    @traitlets.observe("boundary")
    def _show_boundary(self, _change: Any) -> None:
        self._fill()

    def _on_choice(self, change: dict[str, Any]) -> None:
        if not self._is_filling:
            self.boundary = change["new"]

    def choose_near(self, moment: int) -> None:
        """Choose the end of the turn that a moment lies in or behind: the last one at or before it, else the first."""
        before = [seq for seq in self._ends if seq <= moment]
        if self._ends:
            self.boundary = before[-1] if before else self._ends[0]

    def choose_at(self, moment: int) -> None:
        """Choose a turn's end, if the moment is one; any other moment leaves the choice as it is."""
        at = bisect_left(self._ends, moment)
        if self._ends[at : at + 1] == [moment]:
            self.boundary = moment

    def refresh(self) -> None:
        """Take in what the log has grown by."""
        events = self.session.events
        was_last = not self._ends or self.boundary in {-1, self._ends[-1]}
        found = [event.seq for event in events[self._seen :] if event.type == "turn/end"]
        self._ends += found
        self._seen = len(events)
        if found and was_last:
            self.boundary = self._ends[-1]
        self._fill()
        self._allow()

    def _fill(self) -> None:
        offered = self._ends[-_OFFERED:]
        if self.boundary not in {-1, *offered}:
            offered = [self.boundary, *offered]
        events = self.session.events
        options: list[tuple[str, int]] = [(self._label(events[seq]), seq) for seq in offered]
        options = options or [("no turn has ended yet", -1)]
        self._is_filling = True
        parts.offer(self._boundary, options, self.boundary if self._ends else -1)
        self._is_filling = False

    @staticmethod
    def _label(event: Any) -> str:
        return cut(one_line(f"event {event.seq}: {describe.headline(event, 60)}"), 90)

    def _allow(self) -> None:
        store = store_of(self.session)
        why = (
            NO_STORE
            if store is None
            else None
            if self._ends
            else "No turn has ended yet; forks are made at a turn/end."
        )
        self._button.disabled = why is not None
        if why is not None:
            self._notice.say(why, "warning")
        elif self._notice.kind == "warning":
            self._notice.clear()

    def on_fork(self, act: Callable[[Session], Any]) -> None:
        """Call a function with each child that this form has made."""
        self._told.append(act)

    def fork(self) -> Session | None:
        """Fork, as the button does.

        Returns:
            The child; None when it was refused, and the form says why.
        """
        store = store_of(self.session)
        if store is None:
            self._notice.say(NO_STORE, "warning")
            return None
        try:
            child = store.fork(self.session, self.boundary if self._ends else None, self.name or None)
        except SessionError as error:
            self._notice.say(str(error), "error")
            return None
        except Exception as error:  # noqa: BLE001 (a listener of somebody's may raise anything, and is shown as it is)
            self._notice.say(f"{type(error).__name__}: {error}", "error")
            return None
        self._name.value = ""
        self.child_id = child.id
        self._notice.say(f"Made {child.id}: it shares the first {child.seq} events.", "done")
        for act in self._told:
            act(child)
        return child

    def _says(self) -> str:
        made = f", made {self.child_id}" if self.child_id else ""
        return f"of {self.session.id}: at {self.boundary}{made}"
