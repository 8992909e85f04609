"""The page: one HTML file about one session, which needs nothing beside itself.

Text from the log reaches the page through `escape.html_text` alone: every expression of a template passes `_finalize`,
and the tables that are put together without one call it themselves. What may run and what may be styled is listed by
its digest in the page's Content-Security-Policy; nothing may be loaded. So even a string that found a way through could
do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup

from dsh_session.core.quiet import no_collections
from dsh_session.core.session import Session
from dsh_session.views.describe import KINDS
from dsh_session.views.diagram import diagram_css
from dsh_session.views.escape import cut, one_line
from dsh_session.views.page.chart_parts import CHARTS, chart_part
from dsh_session.views.page.chart_svg import chart_css
from dsh_session.views.page.event_table import badge, event_table, link
from dsh_session.views.page.material import Material
from dsh_session.views.page.messages import MessageGap, messages
from dsh_session.views.page.pictures import picture
from dsh_session.views.page.rows import event_groups
from dsh_session.views.page.section import Section, attempt, escaped
from dsh_session.views.page.summary import TurnGap, overview, replacements, request, turns
from dsh_session.views.page.tables import TABLES, table
from dsh_session.views.reading import check_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsh_session.core.store import SessionStore
    from dsh_session.views.page.section import Part

__all__ = ["page"]

_MESSAGES: Final = 500
_FINDINGS: Final = 500


def page(session: Session, *, rows: int = 1500, store: SessionStore | None = None) -> str:
    """One self-contained HTML page about a session.

    It shows where the session comes from, its surface, replacements, turns and forks as diagrams and tables, its
    charts, its events, what the model gets, the beginning and the end of every frame, and what a load had to say about
    the file. It can be searched and folded; it works without a network and, but for the search and the buttons, without
    a script; it prints; it follows the reader's light or dark setting. A part of it that a log breaks says so in its
    place.

    Args:
        session: Any session, whatever its payloads hold. Of a live one the page shows the log as it is now.
        rows: How many rows the table of events may have; at least 1. Of a longer log the page shows the beginning,
            the end and what lies around replacements, and says at each gap what is left out.
        store: The store that the session lives in, for its place among the forks.

    Returns:
        An HTML document, to be written as UTF-8.

    Raises:
        TypeError: For something that is no session, or no store.
        ValueError: `rows` is less than 1.

    Example:
        >>> from dsh_session import samples
        >>> html = page(samples.load("pi-compacted-twice"))
        >>> html[:15], "pi-compacted-twice" in html
        ('<!DOCTYPE html>', True)
    """
    if not isinstance(session, Session):
        raise TypeError(f"page takes a Session and no {type(session).__name__}: load(path) makes one of a log")
    if store is not None:
        check_store(store)
    if rows < 1:
        raise ValueError(f"rows is {rows}: the table of events needs at least one")
    material = Material(session, store, rows)
    style = diagram_css() + chart_css() + _file("page.css")
    script = _file("page.js")
    with no_collections():
        sections = list(_sections(material))
    return _template(
        "page.html.j2"
    ).render(
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 -- our own files
        script=Markup(script),  # noqa: S704 -- our own files
        name=cut(one_line(session.id[:1000]), 200),
        findings=len(session.findings),
        sections=sections,
    )


# ------------------------------------------------------------------------------------------------------- the sections


def _sections(material: Material) -> Iterator[Section]:
    """All sections, in the order of the page."""
    session = material.session
    # While the program that draws is waited for, the rest of the page is made.
    with ThreadPoolExecutor(2) as workers:
        names = ["surface", "views", "log", "provenance", "replacements", "nesting"]
        if material.store is not None or session.header.parent_session is not None:
            names.append("lineage")
        drawn = {name: picture(name, material, workers) for name in names}
        made = {name: attempt(partial(make, material), what) for name, (what, make) in _BODIES.items()}
        charts = [chart_part(name, material) for name in CHARTS]
        tables = [table(name, material) for name in TABLES if name != "sessions" or material.store is not None]

        def parts(*of: str) -> list[Part]:
            return [drawn[name]() for name in of]

        yield Section("overview", "Overview", made["overview"])
        yield Section("surface", "Surface", made["surface"], parts("surface", "views", "log", "provenance"))
        yield Section("replacements", "Replacements", made["replacements"], parts("replacements"))
        yield Section("turns", "Turns", made["turns"], parts("nesting"))
        if "lineage" in drawn:
            yield Section("forks", "Forks", Markup(), parts("lineage"))
        yield Section("charts", "Charts", Markup(), charts)
        yield Section("events", "Events", made["events"])
        yield Section("messages", "Messages", made["messages"])
        yield Section("tables", "Tables", _TABLES_LEAD, tables)
        yield Section("findings", "Findings", made["findings"], count=len(session.findings) or None)


_TABLES_LEAD: Final = Markup(
    "<p>Every frame of the session: its beginning and its end. Times are in UTC, a dash is a value that is missing.</p>"
)


def _overview(material: Material) -> Markup:
    found = material.outline
    return _section(
        "overview",
        overview=overview(material.session, found),
        kinds=[(name, found.kinds[name]) for name in KINDS if found.kinds[name]],
        findings=len(material.session.findings),
    )


def _surface(material: Material) -> Markup:
    return _section("surface", count=len(material.reading.nodes))


def _replacements(material: Material) -> Markup:
    rows, more = replacements(material.session, material.outline)
    return _section("replacements", rows=rows, more=more)


def _turns(material: Material) -> Markup:
    return _section("turns", turns=turns(material.session, material.outline))


def _events(material: Material) -> Markup:
    found = material.outline
    groups = event_groups(material.session, found, material.rows)
    return _section(
        "events",
        groups=Markup("").join(map(event_table, groups)),
        kinds=[name for name in KINDS if found.kinds[name]],
    )


def _messages(material: Material) -> Markup:
    found = material.outline
    return _section(
        "messages",
        messages=messages(material.session, found, _MESSAGES),
        count=sum(seq not in found.silent for seq in found.nodes),
        request=request(material.session),
    )


def _findings(material: Material) -> Markup:
    findings = material.session.findings
    return _section("findings", findings=list(islice(findings, _FINDINGS)), more=max(len(findings) - _FINDINGS, 0))


_BODIES: Final[dict[str, tuple[str, Callable[[Material], Markup]]]] = {
    "overview": ("The overview", _overview),
    "surface": ("The surface", _surface),
    "replacements": ("The table of replacements", _replacements),
    "turns": ("The table of turns", _turns),
    "events": ("The table of events", _events),
    "messages": ("The list of messages", _messages),
    "findings": ("The table of findings", _findings),
}


# --------------------------------------------------------------------------------------------- the template and safety


def _section(name: str, **values: Any) -> Markup:
    return Markup(_template(f"{name}.html.j2").render(values))  # noqa: S704 -- every expression was escaped


def _finalize(value: object) -> object:
    """The one way of a value into a template: strings are escaped here, markup of our own passes."""
    if value is None:
        return ""
    return value if isinstance(value, Markup | int) else escaped(str(value))


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, nothing runs or styles but what has exactly these digests."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


@cache
def _file(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.globals.update(badge=badge, seq=link)
    environment.tests["gap"] = lambda value: isinstance(value, MessageGap | TurnGap)
    return environment
