"""The diagrams of the page: what each shows, in a sentence, and its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup

from dsh_session.views import diagrams
from dsh_session.views.escape import cut
from dsh_session.views.page.section import Part, attempt, escaped
from dsh_session.views.render import RenderError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from dsh_session.core.session import Session
    from dsh_session.views.diagram import Diagram
    from dsh_session.views.page.material import Material

__all__ = ["DIAGRAMS", "picture"]

_DOT: Final = 20_000


class _Shown(NamedTuple):
    """A diagram of the page.

    Attributes:
        title: Its heading.
        lead: What is to be seen, in a sentence of ours.
        draw: Draws it.
        is_open: Whether it is unfolded at first.
    """

    title: str
    lead: str
    draw: Callable[[Material], Diagram]
    is_open: bool = True


def picture(name: str, material: Material, workers: Executor) -> Callable[[], Part]:
    """Begin to draw a diagram.

    Args:
        name: One of `DIAGRAMS`.
        material: What it is drawn of.
        workers: Where the drawing program is waited for, while other parts of the page are made.

    Returns:
        A function that waits for the picture and gives its part of the page.
    """
    shown = DIAGRAMS[name]
    diagram: list[Diagram] = []

    def begin() -> Markup:
        diagram.append(shown.draw(material))
        return Markup()

    failed = attempt(begin, "The diagram")
    drawn = None if failed else workers.submit(lambda: attempt(lambda: _inline(diagram[0]), "The diagram"))

    def finish() -> Part:
        body = failed if drawn is None else drawn.result()
        about = diagram[0].description if diagram else "no picture"
        return Part(
            f"d-{name}",
            shown.title,
            Markup(
                '<p>{}</p><details class="fold"{}><summary>{}</summary>'
                '<div class="picture" role="region" aria-label="{}" tabindex="0">{}</div></details>'
            ).format(
                shown.lead,
                Markup(" open") if shown.is_open else "",
                escaped(about),
                f"Diagram: {shown.title}",
                body,
            ),
        )

    return finish


def _inline(diagram: Diagram) -> Markup:
    try:
        return Markup(diagram.inline)  # noqa: S704 -- built from a short list of elements and attributes
    except RenderError as error:
        return Markup(
            '<p class="notice">The diagram could not be drawn: {}</p>'
            "<details><summary>The graph as DOT text</summary><pre>{}</pre></details>"
        ).format(escaped(error.message), escaped(cut(diagram.dot, _DOT)))


class _Alone:
    """A store of one session: what it says of where it comes from is still to be seen."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self) -> list[Session]:
        """The session."""
        return [self._session]


def _lineage(material: Material) -> Diagram:
    session = material.session
    store = material.store
    if store is None or session not in store.list():
        return diagrams.lineage(_Alone(session), selected=session.id)  # type: ignore[arg-type]  # asked for its list only
    return diagrams.lineage(store, selected=session.id)


DIAGRAMS: Final = {
    "surface": _Shown(
        "The linked list",
        "Each box is an event that a message comes from; a replacement stands in front of the range that it took off "
        "the surface.",
        lambda material: diagrams.surface(material.reading),
    ),
    "views": _Shown(
        "What a person saw, and what the model sees",
        "On the left everything in the order in which it was said, on the right what is left of it for the model.",
        lambda material: diagrams.views(material.reading),
    ),
    "log": _Shown(
        "The log beside the surface",
        "The log keeps every event; only some of them are messages, and only some of those are on the surface.",
        lambda material: diagrams.log(material.reading),
        is_open=False,
    ),
    "provenance": _Shown(
        "Where the latest message comes from",
        "The events that it cites, and those that these cite.",
        lambda material: diagrams.provenance(material.reading),
        is_open=False,
    ),
    "replacements": _Shown(
        "What stands for what",
        "Each replacement with the nodes that it took the place of, level by level, down to the first messages.",
        lambda material: diagrams.replacements(material.reading),
    ),
    "nesting": _Shown(
        "Turns, steps and what lies in them",
        "The events in log order, inside the steps and turns that hold them; chunks are counted.",
        lambda material: diagrams.nesting(material.reading),
    ),
    "lineage": _Shown(
        "Forks",
        "Who was forked from whom, where, and how much each shares with its parent.",
        _lineage,
    ),
}
"""The diagrams of the page, by the names of the functions that draw them."""
