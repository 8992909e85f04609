"""Parts of the page, each made on its own: one that fails says so in its place, and the others stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from dsh_session.core.errors import SessionError
from dsh_session.views.escape import cut, html_text, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Part", "Section", "attempt", "escaped"]

_ERROR = 500


@dataclass(slots=True)
class Part:
    """A part of a section, with a heading of its own.

    Attributes:
        ident: Its id on the page.
        title: Its heading.
        body: Its markup.
    """

    ident: str
    title: str
    body: Markup


@dataclass(slots=True)
class Section:
    """A section of the page.

    Attributes:
        ident: Its id on the page.
        title: Its heading.
        body: The markup below the heading.
        parts: What follows, each with a heading of its own.
        count: How many things it is about, for the table of contents.
    """

    ident: str
    title: str
    body: Markup
    parts: list[Part] = field(default_factory=list)
    count: int | None = None


def attempt(make: Callable[[], Markup], what: str) -> Markup:
    """The markup that a function makes, or a note that says what went wrong.

    Args:
        make: Makes it.
        what: What it is, in our own words, such as `The diagram`.

    Returns:
        Markup; never an exception.

    Example:
        >>> print(attempt(lambda: Markup("<b>fine</b>"), "The word"))
        <b>fine</b>
        >>> print(attempt(lambda: Markup(1 // 0), "The word"))
        <p class="notice" role="note"><strong>The word could not be made:</strong> ZeroDivisionError: ...</p>
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001 -- whatever a log does to one part, the reader gets the others
        said = error.message if isinstance(error, SessionError) else f"{type(error).__name__}: {error}"
        return Markup('<p class="notice" role="note"><strong>{} could not be made:</strong> {}</p>').format(
            what, escaped(cut(one_line(said[: 4 * _ERROR]), _ERROR))
        )


def escaped(text: str) -> Markup:
    r"""Text from a log as markup that shows it, and is nothing else.

    Args:
        text: Any string.

    Returns:
        The escaped text.

    Example:
        >>> print(escaped("<b> & \x00"))
        &lt;b&gt; &amp; ␀
    """
    return Markup(html_text(text))  # noqa: S704 -- just escaped
