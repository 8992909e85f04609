"""The stepper for every reader: screen readers, light and dark, forced colours, any script, any width, any log."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dsh_session.widgets.stepper import Stepper
from tests.browser.stepped import many, short
from tests.browser.test_display import SCRIPTS
from tests.views.hostile import HOSTILE, hostile_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    from tests.browser.widget_page import Shown

    Show = Callable[..., Shown]

pytestmark = pytest.mark.browser

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# Every visible text with the contrast to what lies behind it: a node's outline, or the nearest opaque ground.
CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const path = each.matches(".dshs-node, .dshs-tile") && each.querySelector(".dshs-outline path");
      const colour = parse(path ? getComputedStyle(path).fill : getComputedStyle(each).backgroundColor);
      if (colour[3] === 255) return colour;
    }
  };
  const found = [];
  for (const element of document.querySelectorAll(".dsh-stepper *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("[aria-disabled], .dshs-unseen")) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const pair = [light(ink), light(behind(element))].sort((x, y) => y - x);
    found.push([(pair[0] + 0.05) / (pair[1] + 0.05), element.className.baseVal ?? element.className,
      element.textContent.slice(0, 60)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""


def busy(moment: int = 12, **options: Any) -> Stepper:
    """A stepper that shows everything that there is to show."""
    stepper = Stepper(short(), moment=moment, **options)
    stepper.selection = [12, 9] if moment >= 12 else []
    stepper.marked = [(9, "a reason")]
    stepper.notice = "Something is to be noticed."
    return stepper


def settled(page: Page) -> None:
    expect(page.locator(".dshs-what")).not_to_be_empty()
    expect(page.locator(".dshs-event.s-unread")).to_have_count(0)


@pytest.mark.parametrize(
    ("stepper", "options"),
    [
        pytest.param(busy, {}, id="light"),
        pytest.param(busy, {"color_scheme": "dark"}, id="dark"),
        pytest.param(busy, {"forced_colors": "active"}, id="forced"),
        pytest.param(lambda: busy(-1), {"viewport": {"width": 320, "height": 700}}, id="beginning"),
        pytest.param(lambda: Stepper([]), {}, id="empty"),
        pytest.param(lambda: Stepper(many(400)), {}, id="long"),
    ],
)
def test_axe_finds_nothing(show_widget: Show, stepper: Callable[[], Stepper], options: dict[str, Any]) -> None:
    shown = show_widget(stepper(), **options)
    page = shown.page
    settled(page)
    page.evaluate(AXE)
    result = page.evaluate("(rules) => axe.run(document, { runOnly: rules })", RULES)
    found = [(each["id"], [node["html"] for node in each["nodes"]]) for each in result["violations"]]
    assert found == []
    assert len(result["passes"]) > 15
    shown.nothing()


@pytest.mark.parametrize(
    ("theme", "system", "root", "ground"),
    [
        ("auto", "light", "", "rgb(255, 255, 255)"),
        ("auto", "dark", "", "rgb(22, 24, 28)"),
        ("auto", "dark", 'data-jp-theme-light="true"', "rgb(255, 255, 255)"),
        ("dark", "light", 'data-jp-theme-light="true"', "rgb(22, 24, 28)"),
        ("light", "dark", 'data-jp-theme-light="false"', "rgb(255, 255, 255)"),
    ],
)
def test_every_text_can_be_read_in_light_and_dark(
    show_widget: Show, theme: Any, system: str, root: str, ground: str
) -> None:
    page = show_widget(busy(theme=theme), color_scheme=system, root=root).page
    settled(page)
    assert page.locator(".dsh-stepper").evaluate("(e) => getComputedStyle(e).backgroundColor") == ground
    found = page.evaluate(CONTRAST)
    assert len(found) > 40
    assert found[0][0] >= 4.5, found[:3]


def test_forced_colours_keep_shapes_and_states_visible(show_widget: Show) -> None:
    page = show_widget(busy(), forced_colors="active", color_scheme="dark").page
    settled(page)
    style = "(e, name) => getComputedStyle(e)[name]"
    canvas, text, highlight = page.evaluate(
        """["Canvas", "CanvasText", "Highlight"].map((name) => {
          document.body.style.color = name; return getComputedStyle(document.body).color; })"""
    )
    node = page.locator(".dshs-node[data-seq='9']")
    assert node.locator(".dshs-outline path").evaluate(style, "fill") == canvas
    assert node.locator(".dshs-outline path").evaluate(style, "stroke") == text
    assert page.locator(".dshs-node[data-seq='12'] .dshs-outline path").evaluate(style, "stroke") == highlight
    assert page.locator(".dshs-chosen").evaluate(style, "borderTopColor") == highlight
    assert page.locator(".dshs-events .s-shadowed .dshs-slash").first.evaluate(style, "stroke") == text
    assert page.locator(".dshs-button").first.evaluate(style, "borderTopStyle") == "solid"


def test_nothing_moves_by_itself_for_who_asked_for_less_motion(show_widget: Show) -> None:
    shown = show_widget(busy(), reduced_motion="reduce")
    settled(shown.page)
    moving = shown.page.evaluate(
        """() => [...document.querySelectorAll(".dsh-stepper, .dsh-stepper *")].filter((e) => {
          const s = getComputedStyle(e);
          return s.animationName !== "none" || s.transitionDuration.split(",").some((t) => parseFloat(t) > 0)
            || s.scrollBehavior !== "auto"; }).length"""
    )
    assert moving == 0
    shown.page.get_by_role("button", name="First").click()
    assert shown.page.evaluate("document.getAnimations().length") == 0


def test_every_control_shows_where_the_focus_is(show_widget: Show) -> None:
    page = show_widget(busy()).page
    settled(page)
    order = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => { const e = document.activeElement; const s = getComputedStyle(e);
              return e === document.body ? null : [e.className.split(" ")[0], s.outlineStyle, s.outlineWidth]; }"""
        )
        if seen is None:
            break
        order.append(seen[0])
        assert seen[1] in {"solid", "dashed"}, seen
        assert float(seen[2].removesuffix("px")) >= 2, seen
    # One stop for all events, one for all nodes.
    assert order.count("dshs-event") == order.count("dshs-node") == 1
    assert order.count("dshs-button") == 7
    assert order.count("dshs-slider") == 1


def test_keys_that_a_notebook_has_for_itself_are_kept_from_it(show_widget: Show) -> None:
    more = "window.others = []; document.addEventListener('keydown', (e) => others.push(e.key));"
    page = show_widget(busy(), more=more).page
    settled(page)
    page.locator(".dshs-node[tabindex='0']").focus()
    for key in ("ArrowRight", "Enter", "Shift+ArrowLeft", "Escape"):
        page.keyboard.press(key)
    page.locator(".dshs-event[tabindex='0']").focus()
    for key in ("ArrowRight", "Home", "PageDown", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate("others.filter((key) => key !== 'Shift')") == []
    # JupyterLab hears keys before any element does; this is how it is told to leave them alone.
    focusable = page.locator(".dsh-stepper :is([tabindex], button, input)")
    assert focusable.count() > 20
    assert focusable.evaluate_all("(all) => all.every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    page.keyboard.press("Control+a")
    assert page.evaluate("others.at(-1)") == "a"


def test_a_hostile_log_does_nothing_but_show_itself(show_widget: Show) -> None:
    session = hostile_session(name="</style><script>alert('id')</script>")
    stepper = Stepper(session)
    stepper.notice = "<img src=x onerror=alert(1)>"
    stepper.marked = [(session.surface.nodes[0], "<script>alert('reason')</script>")]
    shown = show_widget(stepper)
    page = shown.page
    settled(page)
    expect(page.locator(".dshs-title")).to_have_text("</style><script>alert('id')</script>")
    expect(page.locator(".dshs-notice")).to_have_text("<img src=x onerror=alert(1)>")
    for moment in range(0, session.seq, 9):
        stepper.moment = moment
        shown.deliver()
        expect(page.locator(".dshs-where")).to_contain_text(f"event {moment} of")
    page.evaluate("document.querySelectorAll('[role=option]').forEach((each) => each.click())")
    page.mouse.move(500, 600)
    settled(page)
    assert page.locator(".dsh-stepper :is(script, img, iframe, a, style, object, form)").count() == 0
    assert page.evaluate(
        "[...document.querySelectorAll('.dsh-stepper *')].every((e) => "
        "!e.getAttributeNames().some((n) => n.startsWith('on') || n === 'href' || n === 'src'))"
    )
    shown.nothing()


@pytest.mark.parametrize("texts", [SCRIPTS, [text[:2000] for text in HOSTILE]], ids=["scripts", "hostile"])
def test_text_in_any_script_stays_in_its_node_and_moves_nothing_around_it(show_widget: Show, texts: list[str]) -> None:
    session = hostile_session(lambda at: texts[at % len(texts)], name=texts[0])
    page = show_widget(Stepper(session)).page
    settled(page)
    found = page.evaluate(
        """() => [...document.querySelectorAll(".dshs-node, .dshs-tile")].flatMap((node) => {
          const box = node.getBoundingClientRect();
          return [...node.querySelectorAll(".dshs-name, .dshs-said")].map((line) => {
            const its = line.getBoundingClientRect();
            return Math.max(box.x - its.x, its.right - box.right, box.y - its.y, its.bottom - box.bottom);
          }); })"""
    )
    assert len(found) > 8
    assert max(found) <= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1060


@pytest.mark.parametrize("width", [320, 500, 900])
def test_a_narrow_cell_keeps_everything_inside(show_widget: Show, width: int) -> None:
    page = show_widget(busy(), viewport={"width": width, "height": 900}).page
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    over = page.evaluate(
        """() => { const panel = document.querySelector(".dshs-behind").getBoundingClientRect();
          return [...document.querySelectorAll(".dshs-tile, .dshs-node, .dshs-button")].filter(
            (e) => e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0).length; }"""
    )
    assert over == 0
    page.set_viewport_size({"width": 1000, "height": 900})
    page.wait_for_function("new Set([...document.querySelectorAll('.dshs-node')].map((e) => e.style.top)).size === 1")
