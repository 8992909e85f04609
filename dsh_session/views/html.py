"""How sessions, surfaces, events, stores and histories show themselves in a notebook: static HTML, small and foldable.

What a cell shows is still there when the kernel is gone: no script, no id, no link, nothing that has to be loaded.
Long lists are shown in a window that says what it leaves out. The colours follow the page.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from operator import attrgetter
from typing import TYPE_CHECKING

from dsh_session.core.event import Replace, SessionEvent, peek
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.lineage import lineage
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore
from dsh_session.core.surface import SessionSurface
from dsh_session.views import describe
from dsh_session.views.escape import cut, html_attribute, html_text, one_line
from dsh_session.views.palette import css_variables, fill_of
from dsh_session.views.reading import log_of
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsh_session.core.lineage import LineageNode

__all__ = ["render", "repr_css"]

_FIRST, _LAST = 3, 6
_TEXT = 1_500
_JSON = 20_000
_TYPES = 30
_SESSIONS = 20
# Deeper forks are indented no further.
_DEEPEST = 6


@cache
def repr_css() -> str:
    """The style sheet of what `render` gives, colours included.

    Returns:
        CSS, the same at every call.

    Example:
        >>> ".dsh-repr" in repr_css()
        True
    """
    return css_variables(".dsh") + resources.files(__package__).joinpath("html.css").read_text(encoding="utf-8")


def render(shown: Session | SessionSurface | SessionEvent | SessionStore | SurfaceHistory) -> str:
    """Show an object of the core as static HTML.

    Args:
        shown: A session, a surface, an event, a store or a history.

    Returns:
        A `style` and a `div` element. Nothing from the log in it is anything but text.

    Raises:
        TypeError: For any other object.

    Example:
        >>> session = Session("tour", clock=lambda: 0)
        >>> event = session.append("todo/write", {"todos": []})
        >>> "<b>tour</b>" in render(session), "todo/write" in render(event)
        (True, True)
    """
    if isinstance(shown, Session):
        body = _session(shown)
    elif isinstance(shown, SessionSurface):
        body = _surface(shown)
    elif isinstance(shown, SessionEvent):
        body = _event(shown)
    elif isinstance(shown, SessionStore):
        body = _store(shown)
    elif isinstance(shown, SurfaceHistory):
        body = _history(shown)
    else:
        raise TypeError(
            f"a {type(shown).__name__} has no view here: give a session, a surface, an event, a store or a history"
        )
    return f'<style>{repr_css()}</style><div class="dsh dsh-repr">{body}</div>'


# ------------------------------------------------------------------------------------------------------- one object


def _session(session: Session) -> str:
    events, surface = session.events, session.surface
    counts = ", ".join(
        [
            _plural(len(events), "event"),
            f"{_plural(len(surface), 'node')} on the surface",
            _plural(surface.replace_generation, "replacement"),
        ]
    )
    parts = [_headline("Session", _short(session.id, 80), counts)]
    header = session.header
    parts.append(
        _section(
            "Header",
            _pairs(
                [
                    ("format version", str(header.version)),
                    ("created", _moment(header.created_at)),
                    ("folder", header.cwd),
                    ("forked from", header.parent_session),
                    ("seed", None if header.seed_length is None else _plural(header.seed_length, "event")),
                ]
            ),
        )
    )
    nodes = surface.nodes
    parts.append(
        _section("Surface", _window([events[seq] for seq in nodes]), note=_plural(len(nodes), "node"), fold=False)
    )
    types = Counter(map(attrgetter("type"), events))
    parts.append(_section("Log", _types(types) + _window(events), note=_plural(len(events), "event")))
    if session.findings:
        found = [f"{f'line {finding.line}: ' if finding.line else ''}{finding.message}" for finding in session.findings]
        parts.append(
            _section("Findings", _list(found), note=_plural(len(found), "remark") + " from loading", fold=False)
        )
    return "".join(parts)


def _surface(surface: SessionSurface) -> str:
    reach = f"head {surface.head}, tail {surface.tail}" if len(surface) else "empty"
    note = f"{_plural(len(surface), 'node')}, {_plural(surface.replace_generation, 'replacement')}, {reach}"
    nodes = surface.nodes
    rows = []
    for part in choose(len(nodes), first=_FIRST, last=_LAST):
        if isinstance(part, Gap):
            rows.append(_more(4, f"… {part.stop - part.start:,} more"))
        else:
            node = surface.node(nodes[part])
            ends = ("none" if end is None else str(end) for end in (node.prev, node.next))
            rows.append(_tr(*(_td(number, "dsh-number") for number in (str(part), str(node.seq), *ends)), _td("")))
    table = _table(["position", "seq", "prev", "next", ""], rows, numbers=4) if rows else ""
    return _headline("Surface", "", note) + _section("Linked list", table, fold=False)


def _event(event: SessionEvent) -> str:
    op = event.surface_op
    sources = event.source_event_seqs
    seqs = None if sources is None else f"{_plural(len(sources), 'event')}: {', '.join(map(str, sources[:20]))}"
    place = f"takes the place of {op.start} … {op.end}" if isinstance(op, Replace) else op and "appended"
    facts = _pairs(
        [
            ("seq", str(event.seq)),
            ("time", _moment(event.time)),
            ("surface", place or "log only"),
            ("sources", f"{seqs}, …" if sources is not None and len(sources) > 20 else seqs),
        ]
    )
    body = f'<div class="dsh-body">{facts}<pre><bdi>{html_text(describe.text(event, _TEXT))}</bdi></pre></div>'
    return _headline(f"Event {event.seq}", _short(event.type, 80), _tag(event)) + body + _payload(event)


def _store(store: SessionStore) -> str:
    """The live sessions, each fork beneath its parent."""
    waiting = [(0, node) for node in reversed(lineage(store))]
    found: list[tuple[int, LineageNode]] = []
    while waiting:
        depth, node = waiting.pop()
        found.append((depth, node))
        waiting += [(depth + 1, child) for child in reversed(node.children)]
    rows = []
    for part in choose(len(found), first=_FIRST, last=_SESSIONS - _FIRST):
        if isinstance(part, Gap):
            rows.append(_more(5, f"… {part.stop - part.start:,} more"))
        else:
            rows.append(_live(*found[part]))
    table = _table(["events", "nodes", "replacements", "session", "forked from"], rows, numbers=3) if rows else ""
    return _headline("Store", "", _plural(len(found), "live session")) + _section("Sessions", table, fold=False)


def _live(depth: int, node: LineageNode) -> str:
    session = node.session
    steps = "· " * min(depth, _DEEPEST)
    parent = ""
    if node.parent_id is not None:
        place = "" if node.boundary is None else f" at {node.boundary}" if node.boundary >= 0 else " when it was empty"
        parent = _short(node.parent_id, 60) + place
    counts = (len(session.events), len(session.surface), session.surface.replace_generation)
    return _tr(
        *(_td(f"{count:,}", "dsh-number") for count in counts), _said(steps + _short(session.id, 80)), _aside(parent)
    )


def _history(history: SurfaceHistory) -> str:
    log = log_of(history)
    replacements = log.replacements
    appended = sum(event.surface_op == "append" for event in log.events)
    note = ", ".join(
        [
            _plural(len(log.events), "event"),
            _plural(len(replacements), "replacement"),
            f"{_plural(len(log.nodes), 'node')} on the surface of {_plural(appended, 'message')} that were appended",
        ]
    )
    originals: dict[int, int] = {}
    depths: dict[int, int] = {}
    shadowed_by: dict[int, int] = {}
    for replacement in replacements:
        seqs = replacement.shadowed_seqs
        originals[replacement.seq] = sum(originals.get(seq, 1) for seq in seqs)
        depths[replacement.seq] = 1 + max(depths.get(seq, 0) for seq in seqs)
        shadowed_by.update(dict.fromkeys(seqs, replacement.seq))
    rows = []
    for part in choose(len(replacements), first=_FIRST, last=_LAST):
        if isinstance(part, Gap):
            rows.append(_more(6, f"… {part.stop - part.start:,} more"))
        else:
            seq = replacements[part].seq
            by = shadowed_by.get(seq)
            numbers = (seq, len(replacements[part].shadowed_seqs), originals[seq], depths[seq])
            rows.append(
                _tr(
                    *(_td(f"{number}", "dsh-number") for number in numbers),
                    _said(describe.headline(log.events[seq], 110)),
                    _td("on the surface" if by is None else f"replaced by {by}", "dsh-kind"),
                )
            )
    names = ["seq", "shadowed", "stands for", "level", "what it says", "now"]
    table = _table(names, rows, numbers=4) if rows else '<p class="dsh-muted">Nothing was replaced.</p>'
    return (
        _headline("History", "", note)
        + _section("Replacements", table, note=_plural(len(replacements), "replacement"), fold=False)
        + _section("Surface now", _window([log.events[seq] for seq in log.nodes]), note=_plural(len(log.nodes), "node"))
    )


def _payload(event: SessionEvent) -> str:
    text = event.to_json()
    note = f"{len(text):,} characters"
    if len(text) <= _JSON:
        try:
            text = json.dumps(peek(event), ensure_ascii=False, indent=2)
        except (RecursionError, ValueError):  # nested deeper than the encoder goes, or a number it does not write
            note += ", as in the log"
    return _section("Payload", f"<pre>{html_text(cut(text, _JSON))}</pre>", note=note)


# ------------------------------------------------------------------------------------------------------------ parts


def _headline(what: str, name: str, note: str) -> str:
    named = f" <bdi><b>{html_text(name)}</b></bdi>" if name else ""
    return f'<header>{what}{named} <span class="dsh-muted">{note}</span></header>'


def _section(name: str, body: str, *, note: str = "", fold: bool = True) -> str:
    said = f' <span class="dsh-muted">{html_text(note)}</span>' if note else ""
    state = "" if fold else " open"
    return f'<details{state}><summary>{html_text(name)}{said}</summary><div class="dsh-body">{body}</div></details>'


def _pairs(pairs: Iterable[tuple[str, str | None]]) -> str:
    rows = (
        _tr(f'<th scope="row">{html_text(name)}</th>', _said(_short(value, 300)))
        for name, value in pairs
        if value is not None
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _list(lines: Sequence[str]) -> str:
    rows = [_tr(_said(_short(line, 300))) for line in lines[:20]]
    if len(lines) > 20:
        rows.append(_more(1, f"… {len(lines) - 20:,} more"))
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _types(types: Counter[str]) -> str:
    common = types.most_common(_TYPES)
    said = ", ".join(f"{count:,} {_short(name, 60)}" for name, count in common)
    more = f", and {_plural(len(types) - _TYPES, 'other type')}" if len(types) > _TYPES else ""
    return f'<p class="dsh-muted"><bdi>{html_text(said + more)}</bdi></p>' if said else ""


def _window(events: Sequence[SessionEvent]) -> str:
    """The first and the last of some events, one row each, and a row that counts those between."""
    rows = []
    for part in choose(len(events), first=_FIRST, last=_LAST):
        if isinstance(part, Gap):
            between = events[part.start : part.stop]
            # Exact kinds of a very long run would need every payload; the types say enough.
            types = Counter(map(attrgetter("type"), between)).most_common(6)
            said = ", ".join(f"{count:,} {_short(name, 40)}" for name, count in types)
            rows.append(_more(3, f"… {len(between):,} more: {said}{', …' if len(types) == 6 else ''}"))
        else:
            rows.append(_row(events[part]))
    return _table(["seq", "kind", "what it says"], rows, numbers=1) if rows else ""


def _row(event: SessionEvent) -> str:
    line = describe.headline(event, 110)
    op = event.surface_op
    stands = f'<span class="dsh-muted">in place of {op.start} … {op.end}: </span>' if isinstance(op, Replace) else ""
    said = f"{stands}<bdi>{html_text(line)}</bdi>"
    whole = describe.text(event, _TEXT)
    if one_line(whole) not in {"", line}:  # there is more to read than the line says
        said = f"<details><summary>{said}</summary><pre><bdi>{html_text(whole)}</bdi></pre></details>"
    return _tr(_td(str(event.seq), "dsh-number"), _td(_tag(event), "dsh-kind"), _td(said, "dsh-said"))


def _table(names: Sequence[str], rows: Sequence[str], *, numbers: int) -> str:
    """A table of which so many first columns hold numbers; a column without a name takes the room that is left."""
    head = []
    for at, name in enumerate(names):
        classes = ' class="dsh-number"' if at < numbers else ""
        head.append(f'<th scope="col"{classes}>{html_text(name)}</th>' if name else _td(""))
    return f"<table><thead>{_tr(*head)}</thead><tbody>{''.join(rows)}</tbody></table>"


def _tr(*cells: str) -> str:
    return f"<tr>{''.join(cells)}</tr>"


def _td(markup: str, classes: str = "") -> str:
    return f'<td class="{classes}">{markup}</td>' if classes else f"<td>{markup}</td>"


def _said(text: str) -> str:
    return _td(f"<bdi>{html_text(text)}</bdi>", "dsh-said")


def _aside(text: str) -> str:
    return _td(f"<bdi>{html_text(text)}</bdi>", "dsh-kind")


def _more(columns: int, said: str) -> str:
    return f'<tr><td class="dsh-more" colspan="{columns}"><bdi>{html_text(said)}</bdi></td></tr>'


def _tag(event: SessionEvent) -> str:
    kind = describe.kind(event)
    error = describe.is_error(event)
    title = html_attribute(_short(event.type, 80))
    said = f"{kind}, error" if error else kind
    return f'<span class="dsh-tag k-{fill_of(kind, error=error)}" title="{title}">{html_text(said)}</span>'


def _short(text: str, limit: int) -> str:
    return cut(one_line(text[: 4 * limit]), limit)


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _moment(milliseconds: float) -> str:
    """A time as a date where the calendar reaches, else the number."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
