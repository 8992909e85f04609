"""A picture that shows itself anywhere: in a notebook, in a page, as a file, as text."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsh_session.views import svg as vector
from dsh_session.views.escape import cut, html_text, one_line
from dsh_session.views.palette import css_variables
from dsh_session.views.render import Format, RenderError, render

if TYPE_CHECKING:
    from collections.abc import Collection
    from xml.etree import ElementTree as ET

    import graphviz

__all__ = ["Diagram", "diagram_css"]

_DOT_SHOWN = 20_000
"""So much of the DOT text, in characters, stands in for a picture that cannot be drawn."""


@cache
def diagram_css() -> str:
    """The style sheet of all diagrams inside pages, colours included.

    Returns:
        CSS, the same at every call. A page that shows many diagrams needs it once (`Diagram.inline`).

    Example:
        >>> ".dsh-diagram" in diagram_css()
        True
    """
    return css_variables(".dsh") + resources.files(__package__).joinpath("diagram.css").read_text(encoding="utf-8")


class Diagram:
    """A Graphviz graph and its picture, drawn once, when it is first looked at.

    A cell that ends in a diagram shows it. There are three forms: HTML with an inline SVG in the colours of the page
    around it, an SVG image on white, and a line of text. None of them needs a kernel to be seen again.

    Attributes:
        graph: The `graphviz.Digraph`.
        description: What is to be seen, in a line of plain text.

    Example:
        >>> import graphviz
        >>> graph = graphviz.Digraph()
        >>> graph.edge("a", "b")
        >>> diagram = Diagram(graph, "two nodes")
        >>> diagram
        <Diagram: two nodes>
        >>> diagram.svg.startswith("<?xml")
        True
    """

    def __init__(
        self, graph: graphviz.Digraph, description: str, *, engine: str | None = None, timeout: float = 30.0
    ) -> None:
        """Wrap a graph.

        Args:
            graph: The graph; everything from a log in it is escaped already.
            description: What is to be seen, in a few words.
            engine: What draws it: `pure`, `system`, a path, or None for the first that is there.
            timeout: How long drawing may take, in seconds.
        """
        self.graph = graph
        self.description = cut(one_line(description), 300)
        self._engine = engine
        self._timeout = timeout

    @cached_property
    def dot(self) -> str:
        """The DOT text."""
        return str(self.graph.source)

    @cached_property
    def svg(self) -> str:
        """The picture as an SVG document on an opaque page.

        Raises:
            RenderError: If nothing that could draw it is installed (and what to install), or drawing fails.
        """
        return vector.standalone(self._picture)

    @cached_property
    def inline(self) -> str:
        """The picture as an HTML element that takes its colours from `diagram_css`.

        It holds no style, no script, no link and no id, so it may stand in a page with a strict
        Content-Security-Policy, as often as one likes.

        Raises:
            RenderError: If nothing that could draw it is installed (and what to install), or drawing fails.
        """
        picture = vector.inline(self._picture, self.description)
        return f'<div class="dsh dsh-diagram">{picture}</div>'

    @cached_property
    def _picture(self) -> ET.Element:
        return vector.clean(render(self.dot, "svg", engine=self._engine, timeout=self._timeout))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, whole or not at all.

        Args:
            path: Where to; the ending says what: `.svg`, `.png`, `.pdf` (needs the system's Graphviz) or `.dot`.

        Returns:
            The path.

        Raises:
            RenderError: `RENDER_FORMAT` for another ending; or if the picture cannot be drawn.
            OSError: If it cannot be written.

        Example:
            >>> import graphviz, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     saved = Diagram(graphviz.Digraph(), "nothing").save(f"{folder}/nothing.dot")
            ...     saved.read_text().split()
            ['digraph', '{', '}']
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending == ".dot":
            content = self.dot.encode("utf-8", "replace")
        elif ending == ".svg":
            content = self.svg.encode()
        elif ending in {".png", ".pdf"}:
            fmt: Format = "png" if ending == ".png" else "pdf"
            content = render(self.dot, fmt, engine=self._engine, timeout=self._timeout)
        else:
            name = cut(one_line(target.name), 100)
            raise RenderError("RENDER_FORMAT", f"{name!r} ends in none of .svg, .png, .pdf and .dot")
        _write_whole(target, content)
        return target

    def __repr__(self) -> str:
        return f"<Diagram: {self.description}>"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """All forms at once, for a notebook to choose from."""
        bundle = {"text/plain": repr(self)}
        try:
            bundle["text/html"] = f"<style>{diagram_css()}</style>{self.inline}"
            bundle["image/svg+xml"] = self.svg
        except RenderError as error:
            dot = cut(self.dot, _DOT_SHOWN)
            what, why = html_text(repr(self)), html_text(error.message)
            bundle["text/html"] = (
                f'<style>{diagram_css()}</style><div class="dsh"><p class="dsh-diagram-note">{what}<br>{why}</p>'
                f'<details><summary>The graph as DOT text</summary><pre class="dsh-diagram-dot">{html_text(dot)}</pre>'
                "</details></div>"
            )
            bundle["text/plain"] = f"{self!r}\n{error.message}\n\n{dot}"
        return {
            kind: form
            for kind, form in bundle.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file beside the target and put it in its place."""
    if not target.parent.is_dir():  # else the error would name a draft that nobody asked for
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        draft.write_bytes(content)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
