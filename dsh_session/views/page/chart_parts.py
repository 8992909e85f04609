"""The charts of the page: what each shows, in a sentence, and its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup

from dsh_session.views import charts
from dsh_session.views.page.chart_svg import chart_svg
from dsh_session.views.page.section import Part, attempt, escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from dsh_session.views.page.material import Material

__all__ = ["CHARTS", "chart_part"]


class _Shown(NamedTuple):
    """A chart of the page.

    Attributes:
        title: Its heading.
        lead: What is to be seen, in a sentence of ours.
        draw: Draws it.
    """

    title: str
    lead: str
    draw: Callable[[Material], Figure]


def chart_part(name: str, material: Material) -> Part:
    """A chart and its heading.

    Args:
        name: One of `CHARTS`.
        material: What it is drawn of.

    Returns:
        Its part of the page.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.views.page.material import Material
        >>> chart_part("tokens", Material(samples.load("pi-compacted-twice"))).title
        'Tokens by kind'
    """
    shown = CHARTS[name]
    about = [shown.title]

    def draw() -> Markup:
        chart = shown.draw(material)
        assert isinstance(chart, charts.Chart)
        about[0] = chart.description
        return Markup(chart_svg(chart, f"c{name}-"))  # noqa: S704 -- built from a short list of elements and attributes

    drawn = attempt(draw, "The chart")
    return Part(
        f"c-{name}",
        shown.title,
        Markup(
            '<p>{}</p><details class="fold" open><summary>{}</summary>'
            '<div class="picture" role="region" aria-label="{}" tabindex="0">{}</div></details>'
        ).format(shown.lead, escaped(about[0]), f"Chart: {shown.title}", drawn),
    )


CHARTS: Final = {
    "context": _Shown(
        "Context size",
        "How many tokens each request to the model held, by kind. A dashed line is a replacement: what came after it "
        "was shorter.",
        lambda material: charts.context(material.reading, meter=material.meter),
    ),
    "lifetimes": _Shown(
        "Lifetimes of surface nodes",
        "From when to when each message was on the surface: one look shows what each replacement swallowed.",
        lambda material: charts.lifetimes(material.reading),
    ),
    "tokens": _Shown(
        "Tokens by kind",
        "What the context is made of now, and what was taken off it.",
        lambda material: charts.tokens(material.reading, meter=material.meter),
    ),
    "prefix_reuse": _Shown(
        "Prefix reuse",
        "How much of each request begins as the request before did, and so may come from a provider’s cache.",
        lambda material: charts.prefix_reuse(material.reading, meter=material.meter),
    ),
}
"""The charts of the page, by the names of the functions that draw them."""
