"""The bracket as a lock that is kept in the log: which compaction is under way, and which was left open."""

from dsh_session.compaction.follower import Followed, Follower
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.surface import Plan
from dsh_session.core.turns import whole


class LockState(Follower):
    """Where a log stands with its compactions.

    A turn boundary releases the lock: what a crash left open before it does not block what comes after.

    Attributes:
        turn: The open turn, or None.
        holder: Seq of the ``compact/start`` that has no end since the last turn boundary, or None.
        left_open: Seqs of older ones that never got an end.
    """

    needs_surface = False

    def restart(self) -> None:
        """Start before the first event."""
        super().restart()
        self.turn: int | None = None
        self.holder: int | None = None
        self.left_open: list[int] = []
        self._turns = 0

    def take(self, event: SessionEvent, plan: Plan | None) -> None:  # noqa: ARG002 (the surface is not asked)
        """Note turn boundaries and the bracket's events."""
        kind = event.type
        if kind == "compact/start":
            self._give_up()
            self.holder = event.seq
        elif kind == "compact/end":
            self.holder = None
        elif kind == "turn/start":
            self._give_up()
            self._turns += 1
            named = whole(event.data.get("turn")) if isinstance(event.data, dict) else None
            self.turn = self._turns if named is None else named
        elif kind == "turn/end":
            self._give_up()
            self.turn = None

    def _give_up(self) -> None:
        if self.holder is not None:
            self.left_open.append(self.holder)
            self.holder = None


_LOCKS = Followed(LockState)


def lock_of(session: Session) -> LockState:
    """Give where a session stands, up to date; O(new events)."""
    return _LOCKS.of(session)


def compactions_left_open(session: Session) -> list[int]:
    """List the compactions that were begun and never ended, and that no longer block others.

    Args:
        session: Any session.

    Returns:
        The seqs of their ``compact/start`` events, in log order.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("s", clock=lambda: 0)
        >>> for type, data in [
        ...     ("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
        ...     ("compact/start", {"turn": 1}),
        ...     ("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}),
        ... ]:
        ...     event = session.append(type, data)
        >>> compactions_left_open(session)
        [1]
    """
    return list(lock_of(session).left_open)
