"""Matplotlib's SVG made fit for a page: nothing active in it, its colours by their names, ids of its own.

What comes out is built anew from a short list of elements and attributes. Matplotlib styles each element by a `style`
attribute, which a strict Content-Security-Policy forbids; here those become attributes, and a style sheet
(`chart_css`) gives the colours of the page's theme to the ones it knows.
"""

from __future__ import annotations

import io
import re
import warnings
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from dsh_session.views.charts.chart import Chart, _settings
from dsh_session.views.charts.style import LINE, RC
from dsh_session.views.escape import xml_text
from dsh_session.views.palette import LIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["chart_css", "chart_svg"]

_SVG: Final = "{http://www.w3.org/2000/svg}"
_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS: Final = frozenset(
    {"svg", "g", "defs", "path", "rect", "use", "text", "tspan", "clipPath", "pattern", "title", "desc"}
)
_ATTRIBUTES: Final = frozenset(
    {
        *("d", "x", "y", "width", "height", "transform", "viewBox", "patternUnits", "id"),
        *("clip-path", "fill", "stroke", "opacity", "fill-opacity", "stroke-opacity"),
        *("stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin"),
        *("font-size", "font-weight", "font-style", "text-anchor"),
    }
)
_LOCAL: Final = re.compile(r"url\(#([\w.-]+)\)")
_REFERENCE: Final = re.compile(r"(?i)url\s*\(|:")
# A tenth of a point is less than anyone sees.
_DIGITS: Final = re.compile(r"(\.\d)\d+")
_HUNDREDTH: Final = re.compile(r"(\.\d\d)\d+")
_AROUND: Final = re.compile(r"\s*([A-Za-z])\s*")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_HATCH: Final = float(RC["hatch.linewidth"])
_LENGTH: Final = re.compile(r"(?<=[\d.])p[xt]$")
# Colours that a style sheet swaps; what fills areas is the same, light and dark, and so are the lines on it.
_THEMED: Final = ("page", "ink", "muted", "stands_for", "fill_shadowed", "border_shadowed", "error_text")


@cache
def chart_css() -> str:
    """The style sheet of charts inside a page.

    Returns:
        CSS, the same at every call; it needs the variables of `dsh_session.views.palette.css_variables`.

    Example:
        >>> '.dsh-chart [stroke="#595959"] { stroke: var(--dsh-muted); }' in chart_css()
        True
    """
    rules = []
    for name in _THEMED:
        colour, variable = getattr(LIGHT, name).lower(), f"var(--dsh-{name.replace('_', '-')})"
        if name == "ink":
            # Outlines and hatches have the colour of ink as well, on areas that are light in any theme.
            rules.append(f'.dsh-chart :is(text, .marker)[fill="{colour}"] {{ fill: {variable}; }}')
            rules.append(f'.dsh-chart path[fill="none"][stroke="{colour}"] {{ stroke: {variable}; }}')
        else:
            rules.append(f'.dsh-chart [fill="{colour}"] {{ fill: {variable}; }}')
            rules.append(f'.dsh-chart [stroke="{colour}"] {{ stroke: {variable}; }}')
    sheet = (resources.files(__package__) / "templates" / "chart.css").read_text(encoding="utf-8")
    return "\n".join([*rules, sheet])


def chart_svg(chart: Chart, ident: str) -> str:
    """A chart as part of an HTML page, in the colours of the page.

    Args:
        chart: The chart, drawn in light colours.
        ident: What its ids begin with, so that they are its own on a page with several charts; letters only.

    Returns:
        A `div` with an `svg` element. It holds no style, no script and no link but to its own parts.

    Example:
        >>> chart = Chart(figsize=(2, 1))
        >>> chart_svg(chart, "c").startswith('<div class="dsh dsh-chart"><svg ')
        True
    """
    root = ET.fromstring(_drawn(chart))  # noqa: S314 -- matplotlib wrote it a moment ago
    parts: list[str] = ['<div class="dsh dsh-chart">']
    _write(root, parts, ident, f' role="img" aria-label="{xml_text(chart.description)}"')
    parts.append("</div>")
    return "".join(parts)


def _drawn(chart: Chart) -> bytes:
    buffer = io.BytesIO()
    with _settings(), warnings.catch_warnings():
        # Text stays text: it can be found, and letters that matplotlib's font lacks are there all the same.
        mpl.rcParams["svg.fonttype"] = "none"
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"constrained_layout not applied", category=UserWarning)
        # Laid out once by hand: saving would do it twice, and draw everything one more time for it.
        layout = chart.get_layout_engine()
        if layout is not None and chart.axes:
            layout.execute(chart)
        chart.set_layout_engine("none")
        Figure.savefig(chart, buffer, format="svg", metadata={"Date": None}, facecolor="none")
        chart.set_layout_engine(layout)
    return buffer.getvalue()


def _write(element: ET.Element, parts: list[str], ident: str, extra: str = "") -> None:
    if element.tag == f"{_SVG}pattern":
        for path in element.iter(f"{_SVG}path"):
            _thin(path)
    tag = element.tag.removeprefix(_SVG)
    if tag not in _ELEMENTS:
        return
    attributes = "".join(f' {name}="{xml_text(value)}"' for name, value in _attributes(element, tag, ident))
    parts.append(f"<{tag}{attributes}{extra}>")
    if tag in {"text", "tspan", "title"} and element.text:
        parts.append(xml_text(element.text))
    for child in element:
        _write(child, parts, ident)
    parts.append(f"</{tag}>")


def _attributes(element: ET.Element, tag: str, ident: str) -> Iterator[tuple[str, str]]:
    given = dict(element.attrib)
    for declaration in given.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if name == "font":  # such as `10px 'DejaVu Sans'`, with words before the size
            size = re.search(r"([\d.]+)px", value)
            given["font-size"] = size[1] if size else "10"
        elif name:
            given[name] = value
    for name, value in given.items():
        if name == _HREF:
            if tag == "use" and value.startswith("#"):
                yield "href", f"#{ident}{value[1:]}"
        elif name == "id":
            # Groups are named for nobody; what is referred to is.
            if tag != "g":
                yield "id", f"{ident}{value}"
        elif name in _ATTRIBUTES:
            local = _LOCAL.fullmatch(value)
            if local:
                yield name, f"url(#{ident}{local[1]})"
            elif not _REFERENCE.search(value):
                yield name, _short(name, value)


def _thin(path: ET.Element) -> None:
    """Draw a hatch of discs as dots of a thick line: matplotlib writes each disc as eight curves."""
    dots = _dots(path.get("d", ""))
    if dots is not None:
        points, width = dots
        path.set("d", points)
        path.set("style", f"fill: none; stroke: {LINE}; stroke-width: {width}; stroke-linecap: round")


@lru_cache(maxsize=32)
def _dots(path: str) -> tuple[str, str] | None:
    discs = [[float(number) for number in _NUMBER.findall(disc)] for disc in path.split("M")[1:] if "C" in disc]
    if not discs:
        return None
    points = []
    radius = 0.0
    for disc in discs:
        left, right = min(disc[::2]), max(disc[::2])
        radius = (right - left) / 2
        points.append(f"M{(left + right) / 2:.2f} {(min(disc[1::2]) + max(disc[1::2])) / 2:.2f}h0")
    return "".join(points), f"{2 * radius + _HATCH:.2f}"


def _short(name: str, value: str) -> str:
    if name == "d":
        return _AROUND.sub(r"\1", _DIGITS.sub(r"\1", value)).strip()
    if name in {"x", "y"}:
        return _HUNDREDTH.sub(r"\1", value)
    return _LENGTH.sub("", value) if name in {"font-size", "width", "height"} else value
