"""What a cell shows, in a real browser: the static views of a session and its diagrams."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from dsh_session import Context, Session
from dsh_session.views import diagrams
from dsh_session.views.diagram import diagram_css
from dsh_session.views.html import render
from dsh_session.views.palette import contrast
from tests.views.golden import DIAGRAMS, diagram_of
from tests.views.hostile import HOSTILE, hostile_session
from tests.views.made import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SCRIPTS = [
    "修复解析器中的一个错误并运行所有测试用例然后写一份很长的报告",
    "שלום עולם זה מבחן ארוך מאוד של טקסט מימין לשמאל",
    "مرحبا بالعالم هذا اختبار طويل للنص من اليمين إلى اليسار",
    "สวัสดีชาวโลก นี่คือการทดสอบข้อความยาวๆ",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWMMMMMMMMMMMMMMMM",
    "an ordinary sentence of English that is rather longer than a box",
    "😀👩‍👩‍👧‍👦🏳️‍🌈 emoji 😀😀😀😀😀😀😀😀",
]

# Every text of a node or a frame with the outline that it stands in: sizes and colours as they are drawn.
MEASURE = """() => [...document.querySelectorAll("g.boxed, g.cluster")].flatMap((group) => {
  const outline = group.querySelector("polygon, path");
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const box = outline.getBBox();
  return [...group.querySelectorAll("text")].map((text) => {
    const line = text.getBBox();
    const run = text.querySelector("tspan") ?? text;
    return {
      id: group.dataset.id,
      text: text.textContent,
      over: Math.max(box.x - line.x, line.x + line.width - box.x - box.width, 0),
      fill: getComputedStyle(outline).fill,
      ink: rgb(getComputedStyle(run).fill),
      ground: getComputedStyle(outline).fill === "none" ? null : rgb(getComputedStyle(outline).fill),
    };
  });
})"""


def colour(rgb: list[float]) -> str:
    return "#" + "".join(f"{round(value):02X}" for value in rgb[:3])


def body(*forms: str, theme: str = "") -> str:
    return f'<!doctype html><meta charset="utf-8"><title>x</title><body {theme}>{"".join(forms)}'


def test_a_hostile_session_does_nothing_but_show_itself(open_page: Callable[..., tuple[Page, Any]]) -> None:
    session = hostile_session(name="</style><script>alert(1)</script>")
    forms = [render(session), render(session.surface), *map(render, session.events)]
    diagram = diagrams.surface(session, first=99, inside=9)
    page, heard = open_page(body(*forms, diagram._repr_mimebundle_()["text/html"]))
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    page.evaluate(
        "document.querySelectorAll('summary, g, text, td').forEach((each) => each.dispatchEvent(new Event('click')))"
    )
    heard.nothing()
    assert page.locator("script, img, iframe, a, [onload], [onerror]").count() == 0


def test_every_diagram_of_a_hostile_session_does_nothing_but_show_itself(
    open_page: Callable[..., tuple[Page, Any]],
) -> None:
    session = hostile_session(lambda at: HOSTILE[at % len(HOSTILE)][:2000])
    drawn = [diagram_of(name)(session, first=99, last=9) for name in DIAGRAMS]
    with Context(clock=lambda: 0) as ctx:
        for text in HOSTILE:
            ctx.sessions.create(f"session {text[:200]}")
        drawn.append(diagrams.lineage(ctx.sessions, rows=99))
    page, heard = open_page(body(*(diagram._repr_mimebundle_()["text/html"] for diagram in drawn)))
    page.evaluate("document.querySelectorAll('g, text').forEach((each) => each.dispatchEvent(new Event('click')))")
    heard.nothing()
    assert page.locator("svg").count() == len(drawn)
    assert page.locator("script, img, iframe, a, foreignObject, [onload], [onerror]").count() == 0


def test_diagrams_stand_in_a_page_with_a_strict_policy(open_page: Callable[..., tuple[Page, Any]]) -> None:
    css = diagram_css()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    first, second = diagrams.surface(hostile_session()), diagrams.surface(hostile_session(), around=3)
    page, heard = open_page(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>x</title><style>{css}</style>{first.inline}{second.inline}"
    )
    heard.nothing()
    assert page.locator("svg").count() == 2
    assert page.locator("[id]").count() == 0
    summary = page.locator("g.k-summary polygon").first
    assert summary.evaluate("(each) => getComputedStyle(each).fill") == "rgb(240, 228, 66)"


@pytest.mark.parametrize("text", SCRIPTS)
def test_text_in_any_script_stays_in_its_box(open_page: Callable[..., tuple[Page, Any]], text: str) -> None:
    session = hostile_session(lambda at: f"{text}{at}")
    drawn = [diagrams.surface(session, first=30, inside=6, engine="pure")]
    drawn += [diagram_of(name)(session, first=8, last=8, engine="pure") for name in DIAGRAMS]
    drawn += [diagrams.nesting(turns_called(text), first=9, engine="pure")]
    with Context(clock=lambda: 0) as ctx:
        ctx.sessions.create(text)
        drawn += [diagrams.lineage(ctx.sessions, engine="pure")]
    page, _ = open_page(body(f"<style>{diagram_css()}</style>", *(diagram.inline for diagram in drawn)))
    lines = page.evaluate(MEASURE)
    assert len(lines) > 400
    assert [line for line in lines if line["over"] > 0] == []


def turns_called(text: str) -> Session:
    """Turns that ended in every way, for reasons that are too long for their frames."""
    write = Writer(text)
    for kind in ("error", "aborted", "rejected", text):
        write.begin()
        write.say("user/message", text)
        write.begin_step()
        write.answer(text)
        write.result("c", text, write.call("c", text))
        write.end_step()
        write.end(kind, step=1, message=text, reason=text)
    write.log("hook/invoked", turn=4, handlerId=text, point=text, dialect=text)
    write.log("todo/write", todos=[{"content": text, "status": "pending"}])
    return write.session


@pytest.mark.parametrize(
    ("system", "theme", "dark"),
    [
        ("light", "", False),
        ("dark", "", True),
        ("dark", 'data-jp-theme-light="true"', False),
        ("light", 'data-jp-theme-light="false"', True),
        ("dark", 'data-theme="light"', False),
        ("light", 'data-theme="dark"', True),
        ("light", 'class="vscode-dark"', True),
    ],
)
def test_a_diagram_takes_the_theme_of_its_page_and_can_be_read_in_it(
    open_page: Callable[..., tuple[Page, Any]], system: str, theme: str, dark: bool
) -> None:
    form = diagrams.surface(hostile_session(lambda at: f"words {at}"), first=30)._repr_mimebundle_()["text/html"]
    page, _ = open_page(body(form, theme=theme), color_scheme=system)
    for line in page.evaluate(MEASURE):
        ground = colour(line["ground"]) if line["ground"] else ("#16181C" if dark else "#FFFFFF")
        assert contrast(ground, "#FFFFFF") > 4 if dark else contrast(ground, "#000000") > 4
        assert contrast(colour(line["ink"]), ground) >= 6, line


def test_a_system_with_colours_of_its_own_keeps_them(open_page: Callable[..., tuple[Page, Any]]) -> None:
    form = diagrams.surface(hostile_session(lambda at: f"words {at}"))._repr_mimebundle_()["text/html"]
    page, _ = open_page(body(form), color_scheme="dark", forced_colors="active")
    canvas = page.evaluate("getComputedStyle(document.body).backgroundColor")
    fills = {line["fill"] for line in page.evaluate(MEASURE)}
    assert len(fills - {"none"}) == 1
    assert canvas in {*fills, "rgba(0, 0, 0, 0)"}


def test_a_tooltip_is_the_text_of_its_node(open_page: Callable[..., tuple[Page, Any]]) -> None:
    session = hostile_session(lambda at: f"words {at} \\N <b>")
    page, _ = open_page(body(diagrams.surface(session)._repr_mimebundle_()["text/html"]))
    seq = session.surface.nodes[-1]
    titles = page.locator(f'g[data-id="n{seq}"] title').all_text_contents()
    assert titles[0] == f"n{seq}"
    assert titles[1].endswith("\\N <b>")


def test_what_does_not_fit_the_line_can_be_unfolded_with_the_keyboard(
    open_page: Callable[..., tuple[Page, Any]],
) -> None:
    page, _ = open_page(body(render(hostile_session(lambda at: f"words {at} " * 60))))
    row = page.locator("td details").first
    assert not row.locator("pre").is_visible()
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    assert row.locator("pre").is_visible()
