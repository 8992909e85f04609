from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from dsh_session.views.render import RenderError, render
from dsh_session.views.svg import clean, inline, standalone
from tests.views.engines import ENGINES

ACTIVE = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" onload="x()">
<script>alert(1)</script><style>* { fill: url(http://x) }</style><image xlink:href="http://x/y.png"/>
<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject><use href="#a"/>
<g id="a" class="node" onclick="x()" style="fill:red">
<a xlink:href="javascript:alert(1)" href="http://x" xlink:title="the tip"><polygon fill="url(#p)" points="0,0 9,9"/></a>
<animate attributeName="href" to="javascript:alert(1)"/><text>a<set/>b</text></g></svg>"""


def test_nothing_active_is_left() -> None:
    root = clean(ACTIVE)
    assert {element.tag for element in root.iter()} == {"svg", "g", "title", "polygon", "text", "tspan"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith(("on", "style", "href", "xlink")) or "href" in name for name in names)
    for text in (standalone(root), inline(root, "x")):
        assert "javascript" not in text
        assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "url(" not in text


def test_the_tooltip_of_a_link_becomes_a_title_within_its_group() -> None:
    group = clean(ACTIVE).find("g")
    assert group is not None
    assert [child.tag for child in group] == ["title", "polygon", "text"]
    assert group[0].text == "the tip"


@pytest.mark.parametrize("engine", ENGINES)
def test_links_that_a_graph_asks_for_are_not_drawn(engine: str) -> None:
    dot = 'digraph g { URL="javascript:a()"; a [URL="javascript:b()" target="x"]; a -> b [href="http://c"] }'
    text = standalone(clean(render(dot, engine=engine)))
    assert "javascript" not in text
    assert "href" not in text


def test_what_is_no_xml_or_no_svg_is_refused() -> None:
    for wrong in (b"<svg", b"", b"<html/>", b'<svg xmlns="http://example.com"/>'):
        with pytest.raises(RenderError, match="SVG"):
            clean(wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_runs_of_a_line_are_one_text_so_that_any_font_keeps_them_together(engine: str) -> None:
    dot = 'digraph g { a [shape=box, class="boxed centred", label=<<b>38</b>  user<br/>hello <i>you</i>>] }'
    root = clean(render(dot, engine=engine))
    texts = list(root.iter("text"))
    assert ["".join(text.itertext()).replace("\xa0", " ") for text in texts] == ["38  user", "hello you"]
    assert [[run.get("font-weight") for run in text] for text in texts] == [["bold", None], [None, None]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", ["box", "cds", "hexagon", "note", "folder", "ellipse", "box, style=rounded"])
def test_the_lines_of_a_centred_node_stand_around_the_middle_of_its_outline(engine: str, shape: str) -> None:
    dot = f'digraph g {{ a [shape={shape}, fixedsize=true, width=2, class="centred", label=<b<br/>你好你好>] }}'
    root = clean(render(dot, engine=engine))
    for text in root.iter("text"):
        assert text.get("text-anchor") == "middle"
        assert float(text.get("x", "nan")) == pytest.approx(72, abs=1)


def test_a_document_of_its_own_has_a_prolog_and_a_part_of_a_page_has_none_and_no_ids() -> None:
    root = clean(render('digraph g { n1 [id="n1"]; n2; n1 -> n2 [id="n1-n2"] }'))
    alone, part = standalone(root), inline(root, 'a "label"')
    ET.fromstring(alone.encode())
    assert alone.startswith("<?xml")
    assert ' id="n1"' in alone
    assert part.startswith('<svg role="img" aria-label="a &quot;label&quot;"')
    assert " id=" not in part
    assert ' data-id="n1-n2"' in part
    assert "xmlns" not in part
    assert standalone(root) == alone


def test_text_that_looks_like_markup_is_written_as_text() -> None:
    root = ET.Element("svg")
    ET.SubElement(root, "text").text = "</text><script>x</script>]]>&amp;"
    assert "<script" not in standalone(root)
    assert "&amp;amp;" in standalone(root)
