"""Parts of the page: frames as tables, charts as vectors, and what happens where one of them fails."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from markupsafe import Markup

from dsh_session import Context, Replace, Session, load, samples
from dsh_session.views import charts, frames
from dsh_session.views.charts.chart import Chart
from dsh_session.views.charts.style import label
from dsh_session.views.page import document, page, pictures, tables
from dsh_session.views.page.chart_parts import CHARTS
from dsh_session.views.page.chart_svg import chart_css, chart_svg
from dsh_session.views.page.material import Material
from dsh_session.views.page.pictures import DIAGRAMS
from dsh_session.views.page.rows import Row, event_groups
from dsh_session.views.page.section import attempt
from dsh_session.views.page.tables import TABLES, table
from dsh_session.views.palette import LIGHT
from tests.views.hostile import HOSTILE
from tests.views.page_reader import USER, Reader, check_safe, long_session, say

SAMPLE = samples.load("pi-compacted-twice")
LOGS = Path(__file__).parent.parent / "data" / "logs" / "dsh-v0"


def small() -> Session:
    session = Session("small", clock=lambda: 1_765_233_665_306)
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
    say(session, "one")
    say(session, "two", Replace(1, 1), [1])
    return session


# ------------------------------------------------------------------------------------------------- what is on the page


def test_every_diagram_chart_and_frame_is_on_the_page() -> None:
    html = page(SAMPLE)
    reader = check_safe(html)
    ids = [attributes["id"] for _, attributes in reader.elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    drawn = [name for name in DIAGRAMS if name != "lineage"]
    assert {f"d-{name}" for name in drawn} | {f"c-{name}" for name in CHARTS} <= set(ids)
    assert {f"t-{name}" for name in TABLES if name != "sessions"} <= set(ids)
    assert set(charts.__all__) - {"Chart", "trace"} == set(CHARTS)  # a trace needs a text to look for
    assert set(frames.COLUMNS) - {"trace"} == set(TABLES)
    assert len(reader.all("svg")) == len(drawn) + len(CHARTS)
    assert "could not be made" not in html


def test_every_entry_of_the_table_of_contents_leads_somewhere() -> None:
    reader = Reader(page(SAMPLE))
    ids = {attributes.get("id") for _, attributes in reader.elements}
    links = [attributes["href"] for attributes in reader.all("a") if not (attributes["href"] or "").startswith("#e")]
    assert len(links) > 25
    assert {(link or "")[1:] for link in links} <= ids


def test_forks_are_shown_where_the_header_or_a_store_tells_of_them() -> None:
    assert 'id="forks"' not in page(small())
    header = {"version": 0, "id": "child", "createdAt": 0, "parentSession": "<mother>", "seedLength": 0}
    html = page(Session("child", header=header, clock=lambda: 0))
    check_safe(html)
    assert 'id="d-lineage"' in html
    assert "&lt;mother&gt;" in html
    assert 'id="t-sessions"' not in html
    with Context(clock=lambda: 0) as ctx:
        parent = ctx.sessions.create("parent")
        parent.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
        parent.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
        ctx.sessions.fork(parent, child_session_id="first-child")
        html = page(parent, store=ctx.sessions)
    check_safe(html)
    assert "first-child" in html[html.index('id="d-lineage"') :]
    assert "2 rows" in html[html.index('id="t-sessions"') :]


def test_the_page_of_the_documentation_is_right_and_names_every_section() -> None:
    docs = Path(__file__).resolve().parent.parent.parent / "docs" / "page.md"
    result = doctest.testfile(str(docs), module_relative=False, encoding="utf-8")
    assert (result.failed, result.attempted) == (0, 5)
    html = page(small())
    for name in re.findall(r"<h2[^>]*>(.*?)</h2>", html):
        assert f"| {name} |" in docs.read_text(encoding="utf-8")


# -------------------------------------------------------------------------------------------------------------- frames


def cells(html: str) -> list[list[str]]:
    """The cells of the rows of the first table, as texts."""
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]


@pytest.mark.parametrize("name", [name for name in TABLES if name != "sessions"])
@pytest.mark.parametrize("session", [SAMPLE, load(LOGS / "todo-plan.jsonl")], ids=["compacted", "todos"])
def test_a_table_shows_the_beginning_and_the_end_of_its_frame_and_counts_the_rest(name: str, session: Session) -> None:
    frame = getattr(frames, name)(session)
    html = str(table(name, Material(session)).body)
    assert f"{len(frame):,} row{'' if len(frame) == 1 else 's'}, {len(frame.columns)} columns" in html
    if not len(frame):
        assert "No rows." in html
        return
    rows = cells(html)
    shown = [row for row in rows if len(row) > 1]
    left_out = [int(re.sub(r"\D", "", row[0])) for row in rows if len(row) == 1]
    assert len(shown) + sum(left_out) == len(frame)
    assert len(shown) == min(len(frame), 24)
    places = [*range(6), *range(len(frame) - 18, len(frame))] if left_out else range(len(frame))
    for row, place in zip(shown, places, strict=True):
        for cell, column in zip(row, frame.columns, strict=True):
            value, dtype = frame[column].iloc[place], str(frame.dtypes[column])
            if pd.isna(value):
                assert cell == "–"
            elif dtype in {"int64", "Int64", "category"}:
                assert cell == str(value)
            elif dtype.startswith("bool"):
                assert cell == ("yes" if value else "no")


def test_a_frame_of_a_store_is_shown_and_hostile_names_stay_names() -> None:
    with Context(clock=lambda: 0) as ctx:
        for at, words in enumerate(HOSTILE[:8]):
            ctx.sessions.create(f"{words}{at}")
        session = ctx.sessions.list()[0]
        html = str(table("sessions", Material(session, ctx.sessions)).body)
    Reader(html)
    assert "8 rows" in html
    assert "<script" not in html


# -------------------------------------------------------------------------------------------------------------- charts


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_holds_nothing_but_shapes_texts_and_links_to_its_own_parts(name: str) -> None:
    svg = chart_svg(CHARTS[name].draw(Material(SAMPLE)), "x-")  # type: ignore[arg-type]
    reader = Reader(svg)
    assert {tag for tag, _ in reader.elements} <= {
        *("div", "svg", "g", "defs", "path", "rect", "use", "text", "tspan", "clippath", "pattern")
    }
    ids = {attributes["id"] for _, attributes in reader.elements if "id" in attributes}
    assert all(str(ident).startswith("x-") for ident in ids)
    for _, attributes in reader.elements:
        assert "style" not in attributes
        for value in attributes.values():
            for local in re.findall(r"url\(#(.*?)\)", value or ""):
                assert local in ids
        if "href" in attributes:
            assert str(attributes["href"])[1:] in ids
    assert len(svg) < 400_000


def test_a_chart_says_in_words_what_it_shows_and_its_texts_are_texts() -> None:
    chart = charts.tokens(SAMPLE)
    assert isinstance(chart, Chart)
    svg = chart_svg(chart, "t-")
    assert f'role="img" aria-label="{chart.description}"' in svg
    assert ">tool result</text>" in svg


def test_hostile_words_in_a_chart_stay_words() -> None:
    chart = Chart(figsize=(4, 2))
    axes = chart.subplots()
    hostile = [label(words) for words in HOSTILE if 0 < len(words) < 100]
    axes.set_xticks(range(len(hostile)), hostile)
    chart.description = "</svg><script>alert(1)</script>"
    reader = Reader(chart_svg(chart, "h-"))
    assert "script" not in {tag for tag, _ in reader.elements}
    assert all(not name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert "<script>alert(1)</script>" in "".join(reader.texts["text"])


def test_a_chart_on_the_page_leaves_the_settings_of_others_alone() -> None:
    before = dict(mpl.rcParams)
    chart_svg(charts.tokens(SAMPLE), "t-")  # type: ignore[arg-type]
    assert dict(mpl.rcParams) == before


def test_the_style_sheet_of_charts_names_colours_that_charts_have() -> None:
    css = chart_css()
    assert "url(" not in css
    drawn = "".join(chart_svg(CHARTS[name].draw(Material(SAMPLE)), "x-") for name in CHARTS)  # type: ignore[arg-type]
    for colour in (LIGHT.muted, LIGHT.stands_for):
        assert f'"{colour.lower()}"' in css
        assert f'"{colour.lower()}"' in drawn


# ------------------------------------------------------------------------------------------------------------ failures


def fail(*_: Any) -> Any:
    raise RuntimeError("<b>broken</b>")


@pytest.mark.parametrize("name", ["overview", "turns", "replacements", "events", "messages", "findings"])
def test_a_section_that_fails_says_so_in_its_place_and_the_others_stay(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "CHARTS", ())
    monkeypatch.setattr(document, "TABLES", ())
    what, _ = document._BODIES[name]
    monkeypatch.setitem(document._BODIES, name, (what, fail))
    html = page(small())
    check_safe(html)
    here = html[html.index(f'<section id="{name}"') :]
    here = here[: here.index("</section>")]
    assert f"<strong>{what} could not be made:</strong> RuntimeError: &lt;b&gt;broken&lt;/b&gt;" in here
    assert html.count("could not be made") == 1
    assert html.count("<section id=") == 9


def test_a_diagram_a_chart_and_a_frame_that_fail_say_so_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIAGRAMS, "views", pictures.DIAGRAMS["views"]._replace(draw=fail))
    monkeypatch.setitem(CHARTS, "tokens", CHARTS["tokens"]._replace(draw=fail))
    monkeypatch.setitem(TABLES, "tools", (tables.TABLES["tools"][0], fail))
    html = page(small())
    check_safe(html)
    for what in ("The diagram", "The chart", "The table of tools"):
        assert f"<strong>{what} could not be made:</strong> RuntimeError: &lt;b&gt;broken" in html
    assert html.count("could not be made") == 3


def test_a_log_that_cannot_be_read_at_all_still_has_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Material, "reading", property(fail))
    html = page(small())
    check_safe(html)
    assert html.count("could not be made") > 20
    assert "<h1" in html


def test_a_malformed_payload_is_shown_as_such_with_what_is_wrong_and_where() -> None:
    session = Session("odd", check_payloads=False, clock=lambda: 0)
    session.append("turn/start", {"turn": "one"})
    session.append("user/message", {"content": [{"type": "text", "text": "fine"}], "source": USER}, surface_op="append")
    session.append("tool/call", [1, 2, "<script>"])
    session.append("x/unknown", "anything goes")
    material = Material(session)
    (group,) = event_groups(session, material.outline, 10)
    faults = [row.fault for row in group.rows if isinstance(row, Row)]
    assert [bool(fault) for fault in faults] == [True, False, True, False]
    assert "$.turn" in faults[0]
    assert "must be an object" in faults[2]
    html = page(session)
    check_safe(html)
    assert html.count(">malformed<") == 2
    assert html.count('<p class="fault">Malformed: ') == 2


def test_an_error_is_told_in_a_line_of_its_own_words() -> None:
    long = attempt(lambda: _raise("x\n" * 10_000), "The part")
    assert len(long) < 700
    assert "\n" not in long


def _raise(words: str) -> Markup:
    raise ValueError(words)


# --------------------------------------------------------------------------------------------------------------- size


def test_the_page_of_a_long_log_is_of_a_size_that_a_browser_opens_at_once() -> None:
    session = long_session(20_000)
    html = page(session)
    assert len(html) < 4_000_000
    assert "rows are not shown here" in html
