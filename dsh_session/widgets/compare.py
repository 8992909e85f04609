"""Two sessions side by side: what they share, and what each has of its own."""

from itertools import takewhile

from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.views import describe
from dsh_session.views.escape import cut, html_text, one_line
from dsh_session.views.html import repr_css
from dsh_session.views.window import Gap, choose

_ROWS = 30


def shared_prefix(left: Session, right: Session) -> int:
    """Count the events with which two logs begin alike; a fork's are the very same objects.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context() as ctx:
        ...     parent = ctx.sessions.create()
        ...     with Recorder(parent).turn("Hello."):
        ...         pass
        ...     child = ctx.sessions.fork(parent)
        ...     shared_prefix(parent, child), shared_prefix(parent, Session("s"))
        (3, 0)
    """
    pairs = list(zip(left.events, right.events, strict=False))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    # Events of logs that were read from files are never the same objects, but they may be written alike.
    return same or sum(1 for _ in takewhile(lambda pair: pair[0]._line == pair[1]._line, pairs))


def compare_html(left: Session, right: Session) -> str:
    """Draw two sessions' surfaces beside each other, each node marked as shared or as one's own.

    Returns:
        A `style` and a `div` element; nothing from the logs in it is anything but text.

    Example:
        >>> compare_html(Session("a", clock=lambda: 0), Session("b", clock=lambda: 0)).count("<table")
        2
    """
    shared = shared_prefix(left, right)
    columns = "".join(_column(session, shared) for session in (left, right))
    said = (
        f"The first {shared:,} {'event is' if shared == 1 else 'events are'} shared."
        if shared
        else "Nothing is shared."
    )
    return (
        f'<style>{repr_css()}</style><div class="dsh dsh-repr dsh-compare"><p>{said}</p>'
        f'<div style="display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem">{columns}'
        "</div></div>"
    )


def _column(session: Session, shared: int) -> str:
    nodes, events = session.surface.nodes, session.events
    own = next((place for place, seq in enumerate(nodes) if seq >= shared), None)
    rows = []
    for part in choose(len(nodes), first=3, last=_ROWS // 2, around=own, span=_ROWS // 4):
        if isinstance(part, Gap):
            rows.append(f'<tr><td class="dsh-more" colspan="3">… {part.stop - part.start:,} more</td></tr>')
        else:
            rows.append(_row(events[nodes[part]], is_shared=nodes[part] < shared))
    name = html_text(cut(one_line(session.id[:400]), 80))
    count = f"{session.seq:,} events, {session.seq - shared:,} of its own, {len(nodes):,} nodes"
    head = '<th scope="col">whose</th><th scope="col" class="dsh-number">seq</th><th scope="col">node</th>'
    return (
        f'<section><header><bdi><b>{name}</b></bdi> <span class="dsh-muted">{count}</span></header>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _row(event: SessionEvent, *, is_shared: bool) -> str:
    whose = "shared" if is_shared else "<b>own</b>"
    said = html_text(f"{describe.kind(event)}: {describe.headline(event, 80)}")
    return (
        f'<tr><td class="dsh-kind">{whose}</td><td class="dsh-number">{event.seq}</td>'
        f'<td class="dsh-said"><bdi>{said}</bdi></td></tr>'
    )
