"""Where a history may be cut: nowhere between a tool call and its result.

Along the surface, each tool-call block of an assistant message opens one call and each tool result
closes one. A cut is balanced where as many were closed as opened. Ids are not looked at: what
counts is what a model's provider would count.
"""

from dsh_session.compaction.follower import NOWHERE, Followed, Follower
from dsh_session.core.errors import PairingError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.core.surface import Plan


def calls_opened(event: SessionEvent) -> int:
    """Give how many tool calls an event leaves open that were not before: calls, or minus one for a result.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("s", check_payloads=False)
        >>> calls_opened(session.append("tool/result", {"callId": "c1", "content": []}, surface_op="append"))
        -1
    """
    if event.type == "tool/result":
        return -1
    if event.type != "assistant/message":
        return 0
    return sum(1 for block in event.data["content"] if block.get("type") == "tool-call")


class Pairing(Follower):
    """How many tool calls are open after each node of a surface."""

    def restart(self) -> None:
        """Start with an empty surface."""
        super().restart()
        self._own: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._orphans: dict[int, None] = {}
        self._shifted = False

    def take(self, event: SessionEvent, plan: Plan | None) -> None:
        """Note what a node opens or closes."""
        if plan is None:
            return
        seq, left, _, shadowed, _, _ = plan
        own = calls_opened(event)
        after = own + (self._open[left] if left != NOWHERE else 0)
        if shadowed is not None:
            # Only a replacement that opens or closes other calls than its range did changes what follows it.
            self._shifted |= self._open[shadowed[-1]] != after
            for node in shadowed:
                del self._own[node], self._open[node]
                self._orphans.pop(node, None)
        self._own[seq], self._open[seq] = own, after
        if after < 0:
            self._orphans[seq] = None

    def settle(self) -> None:
        """Count anew, once, where replacements have changed what follows them."""
        if not self._shifted:
            return
        self._orphans.clear()
        after = 0
        for seq in self.links.order():
            after += self._own[seq]
            self._open[seq] = after
            if after < 0:
                self._orphans[seq] = None
        self._shifted = False

    def is_balanced(self, seq: int, *, after: bool) -> bool:
        """Tell whether no call is open at the cut before or after a node; O(1) when settled.

        Raises:
            PairingError: ``PAIRING_ORPHAN_RESULT`` or ``PAIRING_SEQ_NOT_FOUND``.
        """
        with self.lock:
            self.settle()
            if self._orphans:
                orphan = min(self._orphans, key=self.links.rank)
                raise PairingError(
                    "PAIRING_ORPHAN_RESULT",
                    f"the tool/result at seq {orphan} answers no call before it on the surface; "
                    "no cut of this surface is known to be safe",
                )
            if type(seq) is not int or seq not in self._open:
                raise PairingError("PAIRING_SEQ_NOT_FOUND", f"seq {name_of(seq)} is not on the surface")
            return self._open_calls(seq, after=after) == 0

    def splits(self, start: int, end: int) -> bool:
        """Tell whether a call is open at one of the edges of a range, whatever the rest of the surface holds."""
        self.settle()
        return self._open_calls(start, after=False) != 0 or self._open_calls(end, after=True) != 0

    def _open_calls(self, seq: int, *, after: bool) -> int:
        if after:
            return self._open[seq]
        left = self.links.node(seq).prev
        return 0 if left is None else self._open[left]


_PAIRINGS = Followed(Pairing)


def tool_pairing_balanced_before(session: Session, seq: int) -> bool:
    """Tell whether the history may be cut just before a node (SPEC: both edges of a compaction).

    Args:
        session: Any session.
        seq: The seq of a node that is on the surface now.

    Returns:
        True when no tool call is open there.

    Raises:
        PairingError: ``PAIRING_ORPHAN_RESULT`` when a tool result anywhere on the surface answers no
            call, ``PAIRING_SEQ_NOT_FOUND`` when the seq is not on the surface.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("List the files.") as turn, turn.step() as step:
        ...     message = step.assistant(calls=[("c1", "bash", {"command": "ls"})])
        ...     result = step.result("c1", "README.md")
        >>> tool_pairing_balanced_before(session, message.seq), tool_pairing_balanced_before(session, result.seq)
        (True, False)
    """
    return _PAIRINGS.of(session).is_balanced(seq, after=False)


def tool_pairing_balanced_after(session: Session, seq: int) -> bool:
    """Tell whether the history may be cut just after a node; see `tool_pairing_balanced_before`.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello.") as turn, turn.step() as step:
        ...     message = step.assistant(calls=[("c1", "bash", {"command": "ls"})])
        >>> tool_pairing_balanced_after(session, message.seq)
        False
    """
    return _PAIRINGS.of(session).is_balanced(seq, after=True)
