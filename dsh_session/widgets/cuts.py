"""Moving the edges of a range to where a history may be cut."""

from typing import NamedTuple

from dsh_session.compaction.lock import lock_of
from dsh_session.compaction.pairing import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.core.errors import CompactionError, SessionError
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of


class Snapped(NamedTuple):
    """A range whose edges split no tool call from its result.

    Attributes:
        start: Seq of its first node.
        end: Seq of its last node, in surface order.
        nodes: All of them.
        reasons: Why an edge was moved, a sentence each; empty when none was.
    """

    start: int
    end: int
    nodes: tuple[int, ...]
    reasons: tuple[str, ...]


def snap(session: Session, start: int, end: int) -> Snapped:
    """Move the edges of a range outwards to balanced cuts; where there is none, inwards.

    Args:
        session: Any session.
        start: Seq of one end of the range.
        end: Seq of the other.

    Returns:
        The range in surface order.

    Raises:
        CompactionError: ``REGION_NOT_FOUND`` for a seq that is not on the surface, ``REGION_UNBALANCED`` when
            there is no range without an open call around or in this one.
        PairingError: ``PAIRING_ORPHAN_RESULT`` when the surface holds a result without a call.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("List the files.") as turn, turn.step() as step:
        ...     message = step.assistant(calls=[("c1", "bash", {"command": "ls"})])
        ...     result = step.result("c1", "README.md")
        >>> snapped = snap(session, result.seq, result.seq)
        >>> (snapped.start, snapped.end) == (message.seq, result.seq)
        True
        >>> print(snapped.reasons[0])
        The first node moved from 5 to 3: a call of 3 is answered by 5, and the two go together.
    """
    nodes = list(session.surface.nodes)
    for seq in (start, end):
        if seq not in session.surface:
            raise CompactionError("REGION_NOT_FOUND", f"{name_of(seq)} is not on the surface")
    first, last = sorted((nodes.index(start), nodes.index(end)))
    left = _outwards(session, nodes, first, after=False)
    right = _outwards(session, nodes, last, after=True)
    reasons = []
    if left is None or right is None:
        left, right = _inwards(session, nodes, first, last)
        if left is None or right is None:
            raise CompactionError(
                "REGION_UNBALANCED",
                f"a tool call is open at an edge of {nodes[first]} … {nodes[last]}, and at those of every larger and "
                "smaller range; append its result, or choose other nodes",
            )
    if left != first:
        reasons.append(_reason(nodes[first], nodes[left], "first", is_wider=left < first))
    if right != last:
        reasons.append(_reason(nodes[last], nodes[right], "last", is_wider=right > last))
    return Snapped(nodes[left], nodes[right], tuple(nodes[left : right + 1]), tuple(reasons))


def _outwards(session: Session, nodes: list[int], at: int, *, after: bool) -> int | None:
    step = 1 if after else -1
    while 0 <= at < len(nodes):
        if _is_cut(session, nodes[at], after=after):
            return at
        at += step
    return None


def _inwards(session: Session, nodes: list[int], first: int, last: int) -> tuple[int | None, int | None]:
    left = next((at for at in range(first, last + 1) if _is_cut(session, nodes[at], after=False)), None)
    if left is None:
        return None, None
    right = next((at for at in range(last, left - 1, -1) if _is_cut(session, nodes[at], after=True)), None)
    return left, right


def _is_cut(session: Session, seq: int, *, after: bool) -> bool:
    return (tool_pairing_balanced_after if after else tool_pairing_balanced_before)(session, seq)


def _reason(before: int, now: int, which: str, *, is_wider: bool) -> str:
    if not is_wider:
        return f"The {which} node moved from {before} to {now}: a tool call there has no result yet."
    call, result = (now, before) if which == "first" else (before, now)
    why = f"a call of {call} is answered by {result}, and the two go together"
    return f"The {which} node moved from {before} to {now}: {why}."


def why_not(session: Session) -> SessionError | None:
    """Say why no compaction can begin now, or None where one can.

    Example:
        >>> from dsh_session import Session
        >>> print(why_not(Session("s")))
        COMPACTION_NO_TURN: no turn is open, and a compaction's events belong in one: append a turn/start first
    """
    state = lock_of(session)
    if state.holder is not None:
        return CompactionError(
            "COMPACTION_IN_PROGRESS",
            f"the compaction that began at seq {state.holder} has no end: wait for it, or end the turn",
        )
    if state.turn is None:
        return CompactionError(
            "COMPACTION_NO_TURN",
            "no turn is open, and a compaction's events belong in one: append a turn/start first",
        )
    return None
