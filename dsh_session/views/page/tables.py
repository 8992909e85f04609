"""The frames of the page: each a table of its beginning and its end, that says how much lies between.

The values are those that the frame's columns read. No frame is built, since most of it would not be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from dsh_session.views.escape import cut, html_text, one_line
from dsh_session.views.frames import COLUMNS
from dsh_session.views.frames.compactions import _rows as rows_of_compactions
from dsh_session.views.frames.headers import _rows as rows_of_headers
from dsh_session.views.frames.hooks import _rows as rows_of_hooks
from dsh_session.views.frames.messages import derived
from dsh_session.views.frames.replacements import _rows as rows_of_replacements
from dsh_session.views.frames.requests import requests
from dsh_session.views.frames.sessions import _rows as rows_of_sessions
from dsh_session.views.frames.spans import span_starts, spans_within
from dsh_session.views.frames.surface import _nodes as rows_of_surface
from dsh_session.views.frames.todos import _rows as rows_of_todos
from dsh_session.views.frames.tools import _rows as rows_of_tools
from dsh_session.views.page.section import Part, attempt
from dsh_session.views.page.times import iso
from dsh_session.views.page.window import window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal

    from dsh_session.views.frames.column import Column
    from dsh_session.views.page.material import Material

__all__ = ["TABLES", "table"]

_ROWS: Final = 24
_TEXT: Final = 110
# pandas has no time beyond these; a frame shows NaT there.
_LAST_TIME: Final = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a frame.

    Attributes:
        total: How many there are.
        take: Gives those of a range of places.
        tag: The tag of a record, for columns that are read of some only.
    """

    total: int
    take: Callable[[range], Sequence[Any]]
    tag: Callable[[Any], str] | None = None


def table(name: str, material: Material) -> Part:
    """A frame as a folded table.

    Args:
        name: One of `TABLES`.
        material: What it is about.

    Returns:
        Its part of the page: the beginning and the end of the frame, and what each column holds.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.views.page.material import Material
        >>> "57 rows" in table("turns", Material(samples.load("pi-compacted-twice"))).body
        True
    """
    lead, make = TABLES[name]
    body = attempt(lambda: Markup(_table(name, lead, make(material))), f"The table of {name}")  # noqa: S704 -- escaped
    return Part(f"t-{name}", name.capitalize(), body)


def _table(name: str, lead: str, records: _Records) -> str:
    columns = COLUMNS[name]
    total = f"{records.total:,} {'row' if records.total == 1 else 'rows'}, {len(columns)} columns"
    call = "store" if name == "sessions" else "session"
    parts = [
        f'<details class="fold"><summary>{lead} <span class="muted">{total}</span></summary>',
        f'<p class="muted"><code>frames.{name}({call})</code> gives the whole of it.</p>',
    ]
    if records.total:
        parts.append(
            f'<div class="scroll" role="region" aria-label="Table of {name}, a frame" tabindex="0">'
            '<table class="frame">'
        )
        parts.append(f'<caption class="hidden">{lead}</caption><thead><tr>')
        for column in columns:
            kind = ' class="n"' if column.dtype in _NUMBERS else ""
            parts.append(f'<th scope="col"{kind} title="{html_text(column.doc)}">{_name(column)}</th>')
        parts.append("</tr></thead><tbody>")
        done = 0
        for run in window(records.total, _ROWS):
            if run.start > done:
                parts.append(_gap(run.start - done, len(columns)))
            parts.extend(_row(columns, record, records.tag) for record in records.take(run))
            done = run.stop
        parts.append("</tbody></table></div>")
    else:
        parts.append("<p>No rows.</p>")
    docs = "".join(
        f"<div><dt><code>{html_text(column.name)}</code></dt><dd>{html_text(column.doc)} "
        f'<span class="muted">{html_text(column.dtype)}</span></dd></div>'
        for column in columns
    )
    parts.append(
        f'<details class="docs"><summary>What the columns hold</summary><dl class="facts">{docs}</dl></details>'
        "</details>"
    )
    return "".join(parts)


def _row(columns: Sequence[Column[Any]], record: Any, tag: Callable[[Any], str] | None) -> str:
    cells = []
    for column in columns:
        given = column.of is None or tag is None or tag(record) in column.of
        value = column.read(record) if given else None
        if value is None:
            missing = {"int64": "0", "bool": "no"}.get(column.dtype, "")
            cells.append(f'<td class="n">{missing}</td>' if missing else '<td class="na">–</td>')
        else:
            cells.append(_cell(column, value))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(column: Column[Any], value: Any) -> str:
    if column.dtype in {"int64", "Int64"}:
        if column.name in _SEQS:
            return f'<td class="n"><a href="#e{value}">{value}</a></td>'
        return f'<td class="n">{value}</td>'
    if column.dtype == "Float64":
        return f'<td class="n">{value:.4g}</td>'
    if column.dtype in {"bool", "boolean"}:
        return f"<td>{'yes' if value else 'no'}</td>"
    if column.dtype == "datetime64[ms, UTC]":
        return f'<td class="when">{_moment(value)}</td>' if value <= _LAST_TIME else '<td class="na">–</td>'
    text = str(value)
    return f'<td dir="auto">{html_text(cut(one_line(text[: 4 * _TEXT]), _TEXT))}</td>'


def _name(column: Column[Any]) -> str:
    return html_text(column.name).replace("_", "_<wbr>")


def _moment(time: float) -> str:
    return html_text(iso(time).replace("T", " ").removesuffix("Z"))


def _gap(count: int, columns: int) -> str:
    rows = "row is" if count == 1 else "rows are"
    return f'<tr class="gap"><td colspan="{columns}">… {count:,} {rows} not shown here.</td></tr>'


_NUMBERS: Final = frozenset({"int64", "Int64", "Float64"})
_SEQS: Final = frozenset({"seq", "shadowed_by", "replaced_by"})


# ---------------------------------------------------------------------------------------------------- the records


def _listed(rows: Iterable[Any]) -> _Records:
    found = list(rows)
    return _Records(len(found), lambda run: found[run.start : run.stop])


def _events(material: Material) -> _Records:
    read = material.entries
    return _Records(len(read), lambda run: read[run.start : run.stop], attrgetter("type"))


def _messages(material: Material) -> _Records:
    # A message is decoded in full, so only those that are shown are.
    silent = material.outline.silent
    seqs = [seq for seq in material.reading.nodes if seq not in silent]

    def take(run: range) -> list[Any]:
        rows = (derived(place, material.entries[seqs[place]], material.meter) for place in run)
        return [row for row in rows if row is not None]

    return _Records(len(seqs), take)


def _compactions(material: Material) -> _Records:
    marked = material.reading.replacements or any(event.type.startswith("compact/") for event in material.events)
    return _listed(rows_of_compactions(material.reading, material.meter) if marked else ())


def _spans(what: Literal["turn", "step"]) -> Callable[[Material], _Records]:
    def records(material: Material) -> _Records:
        starts = span_starts(material.events, what)
        return _Records(len(starts), lambda run: spans_within(material.events, what, starts, run.start, run.stop))

    return records


def _requests(material: Material) -> _Records:
    return _listed(requests(material.reading, material.meter))


def _sessions(material: Material) -> _Records:
    return _listed(rows_of_sessions(material.store) if material.store is not None else ())


TABLES: Final[dict[str, tuple[str, Callable[[Material], _Records]]]] = {
    "events": ("Every event of the log, in its place.", _events),
    "surface": ("The nodes of the surface, in the model’s order.", lambda m: _listed(rows_of_surface(m.reading))),
    "messages": ("What the model gets, message by message.", _messages),
    "replacements": (
        "What each replacement took off the surface.",
        lambda m: _listed(rows_of_replacements(m.reading, m.meter)),
    ),
    "compactions": ("Each compaction: what it cost and what it gave.", _compactions),
    "turns": ("Each turn: who began it, what was done in it and how it ended.", _spans("turn")),
    "steps": ("Each step: one request to the model, and what followed.", _spans("step")),
    "tools": ("Each tool call, joined to its result.", lambda m: _listed(rows_of_tools(m.entries))),
    "usage": ("What providers counted, request by request, and whether it can be true.", _requests),
    "context": ("What each request held, in estimated tokens.", _requests),
    "todos": ("The todo lists that were written, item by item.", lambda m: _listed(rows_of_todos(m.reading))),
    "hooks": ("The hooks that ran, joined to their results.", lambda m: _listed(rows_of_hooks(m.events))),
    "headers": ("The request headers, and what each changed.", lambda m: _listed(rows_of_headers(m.reading, m.meter))),
    "sessions": ("The sessions of the store.", _sessions),
}
"""What is said of each frame, and where its records come from; `sessions` needs a store."""
