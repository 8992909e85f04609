"""Graphviz's SVG made fit to be shown: nothing active in it, readable tooltips, text that keeps to its box.

What comes out is built anew from a short list of elements and attributes, so that no script, link, image, style
or foreign element can be in it, whatever an engine or a label brought along.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from dsh_session.views.escape import xml_text
from dsh_session.views.render import RenderError

__all__ = ["clean", "inline", "standalone"]

_SVG: Final = "{http://www.w3.org/2000/svg}"
_XLINK_TITLE: Final = "{http://www.w3.org/1999/xlink}title"
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"

_ELEMENTS: Final = frozenset({"svg", "g", "title", "text", "polygon", "polyline", "path", "ellipse"})
_ATTRIBUTES: Final = frozenset(
    {
        *("id", "class", "transform", "viewBox", "width", "height"),
        *("fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity"),
        *("points", "d", "cx", "cy", "rx", "ry", "x", "y"),
        *("text-anchor", "font-family", "font-size", "font-weight", "font-style"),
    }
)
_FONT_ATTRIBUTES: Final = frozenset({"fill", "font-family", "font-size", "font-weight", "font-style"})
# A value that could refer to something outside, in any attribute.
_REFERENCE: Final = re.compile(r"(?i)url\s*\(|:")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")
_FONT: Final = "Helvetica, Arial, 'Liberation Sans', Arimo, sans-serif"

CENTRED: Final = "centred"
"""A node of this class gets its lines of text centred in its box by whoever draws the SVG, by his own fonts."""


def clean(svg: bytes) -> ET.Element:
    """Parse an engine's SVG and keep what is harmless.

    Tooltips, which Graphviz writes as links without a target, become titles, which every browser shows.

    Args:
        svg: What `render` gave.

    Returns:
        The root element, `svg`, without namespaces.

    Raises:
        RenderError: `RENDER_FAILED` if it is not XML.

    Example:
        >>> from dsh_session.views.render import render
        >>> root = clean(render('digraph g { a [URL="javascript:x", tooltip="hello"] }'))
        >>> [title.text for title in root.iter("title")]
        ['g', 'a', 'hello']
    """
    try:
        source = ET.fromstring(svg)  # noqa: S314 -- written by the engine a moment ago, no document from outside
    except ET.ParseError as error:
        raise RenderError("RENDER_FAILED", f"the engine's SVG is no XML: {error}") from error
    root = _copy(source)
    if root is None or root.tag != "svg":
        raise RenderError("RENDER_FAILED", "the engine did not write an SVG document")
    root.set("font-family", _FONT)
    _flow(root, None)
    return root


def standalone(root: ET.Element) -> str:
    """The picture as a document of its own.

    Args:
        root: What `clean` gave.

    Returns:
        An XML document.

    Example:
        >>> print(standalone(ET.Element("svg", viewBox="0 0 1 1")))
        <?xml version="1.0" encoding="UTF-8"?>
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>
    """
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
    _write(root, parts, {"xmlns": "http://www.w3.org/2000/svg"}, ids=True)
    return "".join(parts)


def inline(root: ET.Element, label: str) -> str:
    """The picture as part of an HTML page.

    Ids would clash where a page shows two pictures, so `id` is `data-id` here.

    Args:
        root: What `clean` gave.
        label: What the picture is, for those who do not see it.

    Returns:
        An `svg` element, no prolog before it.

    Example:
        >>> inline(ET.Element("svg", viewBox="0 0 12 9"), "A <b>")
        '<svg role="img" aria-label="A &lt;b&gt;" width="16" height="12" viewBox="0 0 12 9"></svg>'
    """
    extra = {"role": "img", "aria-label": label}
    box = [float(number) for number in _NUMBER.findall(root.get("viewBox", ""))]
    if len(box) == 4:
        # Points to the pixels of a style sheet.
        extra.update(width=f"{box[2] * 4 / 3:.0f}", height=f"{box[3] * 4 / 3:.0f}")
    parts: list[str] = []
    _write(root, parts, extra, ids=False)
    return "".join(parts)


def _copy(source: ET.Element) -> ET.Element | None:
    """The harmless part of an element, or None where there is none."""
    tag = _tag(source)
    if tag not in _ELEMENTS:
        return None
    target = ET.Element(tag)
    for name, value in source.attrib.items():
        # The font that everything is set in is said once, at the root.
        if name == "font-family" and "Helvetica" in value:
            continue
        if name in _ATTRIBUTES and (name in {"id", "class"} or not _REFERENCE.search(value)):
            target.set(name, value)
    if source.get(_SPACE) == "preserve":
        target.set("xml:space", "preserve")
    if tag in {"text", "title"}:
        target.text = "".join(source.itertext())
    else:
        _fill(target, source)
    return target


def _fill(target: ET.Element, source: ET.Element) -> None:
    for child in source:
        if _tag(child) == "a":
            # The link goes, what it holds stays, its title becomes the tooltip of the group around it.
            tooltip = child.get(_XLINK_TITLE, "")
            if tooltip.strip():
                ET.SubElement(target, "title").text = tooltip
            _fill(target, child)
        else:
            kept = _copy(child)
            if kept is not None:
                target.append(kept)


def _tag(element: ET.Element) -> str:
    return element.tag.removeprefix(_SVG)


def _flow(group: ET.Element, middle: str | None) -> None:
    """Make one text of each line that Graphviz wrote run by run, so that the runs keep together in any font.

    The lines of a node of the class `CENTRED` are set around the middle of its outline.
    """
    if group.get("class"):
        middle = _middle(group) if CENTRED in group.get("class", "").split() else None
    lines: dict[str, ET.Element] = {}
    for child in list(group):
        if child.tag == "g":
            _flow(child, middle)
        if child.tag != "text":
            continue
        y = child.get("y", "")
        if y not in lines:
            place = {"text-anchor": "middle", "x": middle} if middle else _place(child)
            lines[y] = ET.Element("text", {"xml:space": "preserve", "y": y, **place})
            group.insert(list(group).index(child), lines[y])
        font = {name: value for name, value in child.attrib.items() if name in _FONT_ATTRIBUTES}
        ET.SubElement(lines[y], "tspan", font).text = child.text
        group.remove(child)


def _place(text: ET.Element) -> dict[str, str]:
    return {name: text.get(name, "") for name in ("text-anchor", "x")}


def _middle(node: ET.Element) -> str | None:
    """The x of the middle of a node's outline."""
    for shape in node.iter():
        if shape.tag == "ellipse":
            return shape.get("cx")
        numbers = _NUMBER.findall(shape.get("points" if shape.tag == "polygon" else "d", ""))
        if shape.tag in {"polygon", "path"} and numbers:
            xs = [float(number) for number in numbers[::2]]
            return f"{(min(xs) + max(xs)) / 2:g}"
    return None


def _write(element: ET.Element, parts: list[str], extra: dict[str, str], *, ids: bool) -> None:
    attributes = "".join(
        f' {name if ids or name != "id" else "data-id"}="{xml_text(value)}"'
        for name, value in (element.attrib if not extra else {**extra, **_without(element.attrib, extra)}).items()
    )
    parts.append(f"<{element.tag}{attributes}>")
    if element.text and element.tag in {"text", "tspan", "title"}:
        parts.append(xml_text(element.text))
    for child in element:
        _write(child, parts, {}, ids=ids)
        if child.tag != "tspan":
            parts.append("\n")
    parts.append(f"</{element.tag}>")


def _without(attributes: dict[str, str], names: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in names}
