"""A session as it would be had nobody compacted it."""

from typing import Any

from dsh_session.core.session import Session

_BRACKET = ("compact/start", "compact/summary", "compact/end")


def without_compactions(session: Session) -> Session:
    """Give a copy of a session without its compactions: every replacement and every bracket is left out.

    What was said and done after a compaction stays as it is, though the model that did it saw less.
    Seqs count anew; citations of what was left out are left out too.

    Args:
        session: Any session.

    Returns:
        A new session of the same id and creation time, whose surface holds every message once.

    Example:
        >>> from dsh_session import samples
        >>> session = samples.load("pi-compacted-twice")
        >>> whole = without_compactions(session)
        >>> len(session.surface), len(whole.surface), whole.surface.replace_generation
        (448, 996, 0)
    """
    seqs: dict[int, int] = {}
    kept: list[dict[str, Any]] = []
    for event in session.events:
        if event.type in _BRACKET or isinstance(event.surface_op, dict):
            continue
        seqs[event.seq] = len(kept)
        wire = event.to_dict() | {"seq": len(kept)}
        cited = wire.get("sourceEventSeqs")
        if cited is not None:
            # An empty list says something of its own, and nothing that was cited here could be a replacement.
            wire["sourceEventSeqs"] = [seqs[seq] for seq in cited if seq in seqs]
            if cited and not wire["sourceEventSeqs"]:
                del wire["sourceEventSeqs"]
        kept.append(wire)
    header = {"version": session.header.version, "id": session.id, "createdAt": session.header.created_at}
    return Session(session.id, seed=kept, header=header)
