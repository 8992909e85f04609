"""The table of events as markup.

There are thousands of rows, each with a dozen values, so they are put together here rather than by a template. Text
from a log passes `html_text`; everything else is a number or a word of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from dsh_session.views.escape import html_attribute, html_text
from dsh_session.views.page.rows import Gap, Row
from dsh_session.views.palette import fill_of

if TYPE_CHECKING:
    from dsh_session.views.page.rows import Group

__all__ = ["badge", "event_table", "link"]

_COLUMNS: Final = (
    '<colgroup><col class="c-seq"><col class="c-time"><col class="c-kind"><col class="c-step"><col>'
    '<col class="c-surface"></colgroup><thead><tr><th scope="col">Seq</th><th scope="col">Time</th>'
    '<th scope="col">Kind</th><th scope="col">Step</th><th scope="col">Says</th><th scope="col">Surface</th></tr>'
    "</thead><tbody>"
)


def event_table(group: Group) -> Markup:
    """The rows of one group, as a table.

    Args:
        group: The group.

    Returns:
        Markup.

    Example:
        >>> from dsh_session.views.page.rows import Gap, Group
        >>> "3 events are not shown here" in event_table(Group("", [Gap(3, 1, 3, "3 chunks")]))
        True
    """
    parts = ['<div class="group"><table class="events">']
    # A group without a title is a gap between turns, and a table without a name is none for who hears it.
    hidden = "" if group.title else ' class="hidden"'
    parts.append(f'<caption dir="auto"{hidden}>{html_text(group.title or "Left out")}</caption>')
    parts.append(_COLUMNS)
    parts.extend(_gap(row) if isinstance(row, Gap) else _row(row) for row in group.rows)
    parts.append("</tbody></table></div>\n")
    return Markup("".join(parts))  # noqa: S704 -- escaped above


def badge(kind: str, *, error: bool = False) -> Markup:
    """A kind of event as a word in its colours.

    Args:
        kind: One of `dsh_session.views.describe.KINDS`.
        error: Whether it is a tool result that says so.

    Returns:
        Markup.

    Example:
        >>> print(badge("user"))
        <span class="kind k-user">user</span>
    """
    said = f"{kind}, error" if error else kind
    return Markup(f'<span class="kind k-{fill_of(kind, error=error)}">{html_text(said)}</span>')  # noqa: S704 -- escaped


def link(seq: int) -> Markup:
    """A link to an event.

    Args:
        seq: Its seq.

    Returns:
        Markup.

    Example:
        >>> print(link(7))
        <a class="seq" href="#e7">7</a>
    """
    return Markup(f'<a class="seq" href="#e{seq:d}">{seq:d}</a>')  # noqa: S704 -- a number


def _gap(gap: Gap) -> str:
    events = "event is" if gap.count == 1 else "events are"
    return (
        f'<tr class="gap"><td colspan="6">… {gap.count:,} {events} not shown here (seq {gap.first} to {gap.last}): '
        f"{html_text(gap.kinds)}.</td></tr>\n"
    )


def _row(row: Row) -> str:
    last = f"–{row.last}" if row.last != row.seq else ""
    text = f'<pre dir="auto">{html_text(row.text)}</pre>' if row.text else ""
    fault, mark = "", ""
    if row.fault:
        fault = f'<p class="fault">Malformed: {html_text(row.fault)}</p>'
        mark = ' <span class="kind k-error">malformed</span>'
    return (
        f'<tr class="{row.surface}" id="e{row.seq}" data-kind="{row.kind}"><th scope="row">{row.seq}{last}</th>'
        f'<td><time datetime="{html_attribute(row.iso)}">{row.clock}</time></td>'
        f"<td>{badge(row.kind, error=row.error)}{mark}</td><td>{row.place}</td>"
        f'<td><details><summary><span class="two-lines" dir="auto">{html_text(row.headline)}</span></summary>'
        f'{fault}{text}<pre class="line" dir="ltr">{html_text(row.line)}</pre></details></td>'
        f"<td>{_place(row)}</td></tr>\n"
    )


def _place(row: Row) -> str:
    said = ""
    if row.surface == "on":
        said = "on surface"
    elif row.surface == "off" and row.shadowed_by is not None:
        said = f"replaced by {link(row.shadowed_by)}"
    if row.replaces:
        start, end = row.replaces
        said += f"{', ' if said else ''}replaces {link(start)}–{link(end)}"
    return said
