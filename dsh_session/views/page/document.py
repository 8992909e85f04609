"""The page: one HTML file about one session, which needs nothing beside itself.

Text from the log reaches the page through one place, `_finalize`, which every expression of the template passes.
What may run and what may be styled is listed by its digest in the page's Content-Security-Policy; nothing may be
loaded. So even a string that found a way through could do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup

from dsh_session.views import diagrams
from dsh_session.views.describe import KINDS
from dsh_session.views.diagram import diagram_css
from dsh_session.views.escape import cut, html_text
from dsh_session.views.page.messages import MessageGap, messages
from dsh_session.views.page.outline import outline
from dsh_session.views.page.rows import Gap, event_groups
from dsh_session.views.page.summary import TurnGap, overview, replacements, request, turns
from dsh_session.views.palette import fill_of
from dsh_session.views.render import RenderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsh_session.core.session import Session
    from dsh_session.views.diagram import Diagram

__all__ = ["page"]

_MESSAGES: Final = 600
_FINDINGS: Final = 500
_DOT: Final = 20_000


def page(session: Session, *, rows: int = 4000) -> str:
    """One self-contained HTML page about a session.

    It shows where the session comes from, its turns, its surface as a diagram, its replacements, its events, what
    the model gets, and what a load had to say about the file. It works without a network and, but for the search box,
    without a script; it prints; it follows the reader's light or dark setting.

    Args:
        session: Any session, whatever its payloads hold.
        rows: How many rows the table of events may have; at least 1. Of a longer log the page shows the beginning,
            the end and what lies around replacements, and says at each gap what is left out.

    Returns:
        An HTML document, to be written as UTF-8.

    Raises:
        ValueError: `rows` is less than 1.

    Example:
        >>> from dsh_session import samples
        >>> html = page(samples.load("pi-compacted-twice"))
        >>> html[:15], "pi-compacted-twice" in html
        ('<!DOCTYPE html>', True)
    """
    if rows < 1:
        raise ValueError(f"rows is {rows}: the table of events needs at least one")
    found = outline(session)
    style = diagram_css() + _file("page.css")
    script = _file("page.js")
    return _template().render(
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 -- our own files
        script=Markup(script),  # noqa: S704 -- our own files
        picture=_picture(diagrams.surface(session)),
        overview=overview(session, found),
        turns=turns(session, found),
        replacements=replacements(session, found),
        groups=event_groups(session, found, rows),
        kinds=[(name, found.kinds[name]) for name in KINDS if found.kinds[name]],
        messages=messages(session, found, _MESSAGES),
        message_count=sum(seq not in found.silent for seq in found.nodes),
        request=request(session),
        findings=list(islice(session.findings, _FINDINGS)),
        more_findings=max(len(session.findings) - _FINDINGS, 0),
    )


# --------------------------------------------------------------------------------------------- the template and safety


def _finalize(value: object) -> object:
    """The one way of a value into the page: strings are escaped here, markup of our own passes."""
    if value is None:
        return ""
    return value if isinstance(value, Markup | int) else Markup(html_text(str(value)))  # noqa: S704 -- just escaped


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
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.filters["kind_class"] = fill_of
    environment.tests["gap"] = lambda value: isinstance(value, Gap | MessageGap | TurnGap)
    return environment.get_template("page.html.j2")


def _picture(diagram: Diagram) -> Mapping[str, Any]:
    try:
        svg = Markup(diagram.inline)  # noqa: S704 -- built from a short list of elements and attributes
    except RenderError as error:
        return {"svg": None, "about": diagram.description, "error": error.message, "dot": cut(diagram.dot, _DOT)}
    return {"svg": svg, "about": diagram.description}
