"""The page about a session, opened in a real browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dsh_session import Replace, Session, load, loads, samples
from dsh_session.views.page import page
from tests.views.hostile import hostile_session

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
USER = {"kind": "user"}


def say(session: Session, words: str, op: Any = "append", sources: list[int] | None = None) -> None:
    data = {"content": [{"type": "text", "text": words}], "source": USER}
    session.append("user/message", data, surface_op=op, source_event_seqs=sources)


@pytest.fixture(scope="module")
def small_session() -> Session:
    """Two turns, a tool call, a replacement."""
    session = Session("small", check_payloads=False, clock=lambda: 1_765_233_665_306)
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
    say(session, "What does README.md say?")
    session.append("tool/call", {"turn": 1, "step": 1, "callId": "c1", "name": "read", "arguments": "{}"})
    say(session, "It says hello.\nAnd more.")
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    session.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": USER}})
    say(session, "the summary", Replace(1, 3), [1, 3])
    return session


@pytest.fixture(scope="module")
def small(small_session: Session) -> str:
    return page(small_session)


@pytest.fixture(scope="module")
def sample() -> str:
    return page(samples.load("pi-compacted-twice"))


def rows(page: Page) -> int:
    return page.locator("#events tr[data-kind]:visible").count()


def use_everything(page: Page) -> None:
    """Touch every control and open everything that opens."""
    page.get_by_label("Only rows with").fill("alert(1)")
    page.get_by_label("Only rows with").fill("")
    for label in ("Kind", "Surface"):
        page.get_by_role("combobox", name=label).select_option(index=1)
        page.get_by_role("combobox", name=label).select_option(index=0)
    page.get_by_role("button", name="Open all").click()
    page.get_by_label("Search the page").fill("alert")
    for key in ("Enter", "Enter", "Shift+Enter", "Escape"):
        page.get_by_label("Search the page").press(key)
    page.evaluate("document.querySelectorAll('a[href]').forEach((each, at) => at < 20 && each.click())")
    page.mouse.move(400, 400)
    page.mouse.wheel(0, 100_000)
    page.wait_for_timeout(200)


# ---------------------------------------------------------------------------------------- nothing runs, nothing loads


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_page_of_a_recorded_session_opens_without_an_error_a_dialog_or_a_request(
    open_page: Any, path: Path
) -> None:
    session = load(path)
    shown, heard = open_page(page(session))
    expect(shown.get_by_role("heading", level=1)).to_have_text(session.id)
    expect(shown.locator("#d-surface svg")).to_be_visible()
    expect(shown.locator("#c-tokens svg")).to_be_attached()
    expect(shown.locator(".notice strong", has_text="could not be made")).to_have_count(0)
    expect(shown.locator("#event-count")).to_contain_text("rows")
    use_everything(shown)
    heard.nothing()


def test_a_session_made_of_hostile_texts_does_nothing_but_show_them(open_page: Any) -> None:
    session = hostile_session(name="<script>alert('id')</script>")
    shown, heard = open_page(page(session))
    expect(shown.get_by_role("heading", level=1)).to_have_text("<script>alert('id')</script>")
    assert shown.locator("main script, main img, main iframe, main b, main style").count() == 0
    assert shown.locator("script").count() == 1
    use_everything(shown)
    heard.nothing()
    assert shown.evaluate(
        "[...document.querySelectorAll('*')].every((e) => !e.getAttributeNames().some((n) => n.startsWith('on')))"
    )


def test_what_got_past_all_escapes_would_still_not_run(open_page: Any, small: str) -> None:
    broken = small.replace(
        '<p class="eyebrow">',
        "<script>alert(1)</script><img src='http://example.org/x.png' onerror='alert(2)'>"
        '<p style="color: red" onclick="alert(3)" class="eyebrow">',
    )
    shown, heard = open_page(broken)
    shown.locator(".eyebrow").click()
    assert heard.dialogs == []
    assert len(heard.console) >= 3
    assert all("Content Security Policy" in said for said in heard.console)
    assert shown.locator(".eyebrow").evaluate("(e) => getComputedStyle(e).color") != "rgb(255, 0, 0)"
    expect(shown.locator("#event-count")).to_have_text("7 rows")  # while the page's own script runs


def test_a_long_log_opens_at_once_and_is_searched_at_once(open_page: Any) -> None:
    session = Session("long", check_payloads=False, clock=lambda: 0)
    for number in range(1, 5001):
        session.append("turn/start", {"turn": number, "trigger": {"kind": "message", "source": USER}})
        for part in range(8):
            say(session, f"message {number}.{part} " + "lorem ipsum " * 20)
        session.append("turn/end", {"turn": number, "reason": {"kind": "completed"}})
    shown, heard = open_page(page(session))
    expect(shown.locator("#event-count")).to_have_text("1,500 rows")
    assert shown.evaluate("performance.timing.domComplete - performance.timing.domLoading") < 5000
    spent = shown.evaluate(
        """() => {
          const query = document.getElementById("event-query");
          query.value = "message 5000.7";
          const start = performance.now();
          document.getElementById("event-filter").requestSubmit();
          return performance.now() - start;
        }"""
    )
    assert spent < 2000
    expect(shown.locator("#event-count")).to_have_text(
        "1 of 1,500 rows; events that this page leaves out are not looked at"
    )
    heard.nothing()


# ------------------------------------------------------------------------------------------------------------- controls


def test_words_kinds_and_places_narrow_the_table_and_the_count_says_so(open_page: Any, small: str) -> None:
    shown, heard = open_page(small)
    count = shown.locator("#event-count")
    expect(count).to_have_text("7 rows")
    shown.get_by_label("Only rows with").fill("SAYS hello")
    expect(count).to_have_text("1 of 7 rows")
    assert rows(shown) == 1
    expect(shown.locator("#events caption:visible")).to_have_count(1)
    shown.get_by_label("Only rows with").fill("")
    shown.get_by_role("combobox", name="Kind").select_option("turn")
    expect(count).to_have_text("3 of 7 rows")
    shown.get_by_role("combobox", name="Kind").select_option("")
    shown.get_by_role("combobox", name="Surface").select_option("off")
    expect(count).to_have_text("2 of 7 rows")
    shown.get_by_label("Only rows with").fill("nowhere")
    expect(count).to_have_text("0 of 7 rows")
    assert rows(shown) == 0
    heard.nothing()


def test_a_row_opens_to_the_whole_text_and_the_line_in_the_log(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    row = shown.locator("#e3")
    expect(row.locator("pre").first).to_be_hidden()
    row.locator("summary").click()
    expect(row.locator("pre").first).to_have_text("It says hello.\nAnd more.")
    expect(row.locator("pre.line")).to_contain_text('"type":"user/message","seq":3')


def test_a_link_to_an_event_opens_it_even_where_the_filter_hid_it(open_page: Any, small: str) -> None:
    shown, heard = open_page(small)
    shown.get_by_role("combobox", name="Kind").select_option("turn")
    expect(shown.locator("#e6")).to_be_hidden()
    shown.locator("#replacements").get_by_role("link", name="6", exact=True).click()
    expect(shown.locator("#e6")).to_be_in_viewport()
    expect(shown.locator("#e6 pre").first).to_be_visible()
    expect(shown.locator("#event-count")).to_have_text("7 rows")
    heard.nothing()


def test_an_address_that_ends_in_an_event_opens_there(open_page: Any, sample: str) -> None:
    shown, heard = open_page(sample, hash_="#e2000")
    expect(shown.locator("#e2000")).to_be_in_viewport()
    expect(shown.locator("#e2000 pre.line")).to_be_visible()
    heard.nothing()


def test_the_keyboard_reaches_everything(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    shown.keyboard.press("Tab")
    expect(shown.get_by_role("link", name="Skip to the content")).to_be_focused()
    shown.keyboard.press("Enter")
    expect(shown.locator("main")).to_be_focused()
    shown.keyboard.press("/")
    expect(shown.get_by_label("Search the page")).to_be_focused()
    shown.keyboard.type("a/b")
    expect(shown.get_by_label("Search the page")).to_have_value("a/b")
    shown.get_by_label("Search the page").fill("")
    shown.locator("#e3 summary").focus()
    shown.keyboard.press("Enter")
    expect(shown.locator("#e3 pre").first).to_be_visible()
    outline = shown.locator("#e3 summary").evaluate("(e) => getComputedStyle(e).outlineStyle")
    assert outline == "solid"


def test_everything_opens_and_closes_together(open_page: Any, sample: str) -> None:
    shown, heard = open_page(sample)
    total = shown.locator("main details").count()
    assert shown.locator("#message-list > details").count() == len(samples.load("pi-compacted-twice").messages)
    shown.get_by_role("button", name="Open all").click()
    assert shown.locator("main details[open]").count() == total
    shown.get_by_role("button", name="Close all").click()
    assert shown.locator("main details[open]").count() == 0
    heard.nothing()


def test_a_link_opens_what_it_leads_to(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    table = shown.locator("#t-turns table")
    expect(table).to_be_hidden()
    shown.get_by_role("link", name="Tables", exact=True).click()
    link = shown.get_by_role("navigation").get_by_role("link", name="Turns", exact=True).nth(1)
    link.click()
    expect(table).to_be_visible()
    shown.locator("#t-turns > details > summary").click()
    expect(table).to_be_hidden()
    link.click()  # the same address once more
    expect(table).to_be_visible()


def test_the_table_of_contents_says_where_one_is(open_page: Any, sample: str) -> None:
    shown, _ = open_page(sample)
    current = shown.locator("nav a[aria-current=location]")
    expect(current).to_have_text("Overview")
    expect(shown.get_by_role("navigation").get_by_role("link", name="Prefix reuse")).to_be_hidden()
    shown.locator("#c-prefix_reuse").scroll_into_view_if_needed()
    shown.evaluate("document.getElementById('c-prefix_reuse').scrollIntoView()")
    expect(current).to_have_text("Prefix reuse")
    expect(shown.get_by_role("navigation").get_by_role("link", name="Context size")).to_be_visible()
    shown.keyboard.press("End")
    expect(current).to_have_text("Findings")


def test_without_scripts_everything_is_there_but_the_controls(open_page: Any, small: str) -> None:
    shown, heard = open_page(small, java_script_enabled=False)
    assert rows(shown) == 7
    for name in ("#event-filter", "#find", "#folds"):
        expect(shown.locator(name)).to_be_hidden()
    expect(shown.get_by_role("navigation").get_by_role("link", name="Prefix reuse")).to_be_visible()
    shown.locator("#e3 summary").click()
    expect(shown.locator("#e3 pre").first).to_be_visible()
    heard.nothing()


# ------------------------------------------------------------------------------------------------------- every reader


def test_landmarks_headings_and_names_are_there_for_who_does_not_see_the_page(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    expect(shown.get_by_role("navigation", name="Sections")).to_be_visible()
    expect(shown.get_by_role("main")).to_be_visible()
    expect(shown.get_by_role("search")).to_be_visible()
    names = ["Overview", "Surface", "Replacements", "Turns", "Charts", "Events", "Messages", "Tables", "Findings"]
    assert shown.get_by_role("heading", level=2).all_inner_texts() == names
    for name in names:
        expect(shown.get_by_role("region", name=name).first).to_be_attached()
        expect(shown.get_by_role("navigation").get_by_role("link", name=name, exact=True).first).to_be_visible()
    for picture in shown.locator("svg").all():
        assert picture.get_attribute("role") == "img"
        assert picture.get_attribute("aria-label")
    levels = shown.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert shown.evaluate("[...document.querySelectorAll('table')].every((t) => t.caption && t.tHead)")
    ids = shown.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    assert shown.evaluate("document.documentElement.lang") == "en"
    labels = shown.evaluate("[...document.querySelectorAll('[aria-labelledby]')].map((e) => e.ariaLabelledByElements)")
    assert all(labels)


@pytest.mark.parametrize(("scheme", "page_is"), [("light", (255, 255, 255)), ("dark", (22, 24, 28))])
def test_the_page_follows_the_readers_light_or_dark(
    open_page: Any, small_session: Session, scheme: str, page_is: tuple[int, int, int]
) -> None:
    torn = loads(small_session.to_jsonl() + b'{"type":"turn/e')  # with findings on the page
    shown, _ = open_page(page(torn), color_scheme=scheme)
    shown.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    colour = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == f"rgb{page_is}"
    # Text of every kind on what lies behind it, as WCAG measures it.
    worst = shown.evaluate(CONTRAST)
    assert worst[0] >= 4.5, worst


CONTRAST = """() => {
  const parse = (colour) => {
    const numbers = colour.match(/[\\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour[3] === 1) return colour;
    }
  };
  const texts = "h1, h2, p, a, dt, dd, .kind, caption, th, td, summary, label, button, output, .outcome, .muted";
  let worst = [99, ""];
  for (const element of document.querySelectorAll(texts)) {
    if (!element.checkVisibility() || !element.textContent.trim()) continue;
    const pair = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 120)];
  }
  return worst;
}"""


@pytest.mark.parametrize("width", [320, 420, 700, 1000])
def test_a_narrow_window_scrolls_tables_and_pictures_but_never_the_page(
    open_page: Any, sample: str, width: int
) -> None:
    shown, _ = open_page(sample, viewport={"width": width, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_lengths_do_not_widen_the_page(open_page: Any) -> None:
    shown, _ = open_page(page(hostile_session(lambda _: "W" * 5000, name="W" * 5000)))
    assert shown.evaluate("document.documentElement.scrollWidth") <= 1200


def test_paper_gets_no_controls_and_every_row(open_page: Any, small: str) -> None:
    shown, _ = open_page(small, color_scheme="dark")
    shown.emulate_media(media="print")
    expect(shown.get_by_role("navigation")).to_be_hidden()
    expect(shown.locator("#event-filter")).to_be_hidden()
    assert rows(shown) == 7
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"
    assert shown.pdf()[:5] == b"%PDF-"


def test_paper_shows_what_is_folded_and_the_screen_stays_as_it_was(open_page: Any, small: str) -> None:
    shown, heard = open_page(small)
    shown.evaluate(
        """() => addEventListener("beforeprint", () => {
          const closed = [...document.querySelectorAll("main details:not(.docs)")].filter((each) => !each.open);
          window.printed = closed.map((each) => each.closest("section").id);
        })"""
    )
    folded = shown.locator("main details:not([open])").count()
    assert folded > 15
    assert shown.pdf()[:5] == b"%PDF-"
    assert set(shown.evaluate("window.printed")) == {"events"}
    assert shown.locator("main details:not([open])").count() == folded
    heard.nothing()


def test_forced_colours_keep_everything_readable(open_page: Any, small: str) -> None:
    shown, heard = open_page(small, forced_colors="active")
    expect(shown.locator("#d-surface svg")).to_be_visible()
    assert shown.locator(".kind").first.evaluate("(e) => getComputedStyle(e).borderStyle") != "none"
    heard.nothing()
