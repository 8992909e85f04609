"""The search of the page, and the page for everyone, in a real browser."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dsh_session import Replace, Session, samples
from dsh_session.views.page import page
from tests.views.hostile import hostile_session
from tests.views.page_reader import USER, say

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def sample() -> str:
    return page(samples.load("pi-compacted-twice"))


@pytest.fixture(scope="module")
def small() -> str:
    session = Session("small", check_payloads=False, clock=lambda: 1_765_233_665_306)
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": USER}})
    say(session, "What does README.md say?")
    say(session, "It says hello. " * 20 + "\nThe pelican is below.")
    session.append("todo/write", {"todos": [{"content": "feed the heron", "status": "pending"}]})
    say(session, "the summary", Replace(1, 1), [1])
    return page(session)


def search(shown: Page, words: str) -> None:
    shown.get_by_label("Search the page").fill(words)


def state(shown: Page) -> Any:
    return shown.locator("#find-state")


def test_matches_are_counted_over_all_sections_and_in_each(open_page: Any, small: str) -> None:
    shown, heard = open_page(small)
    search(shown, "HERON feed")
    expect(state(shown)).to_contain_text("matches")
    hits = {
        link.evaluate("(e) => e.hash"): link.locator(".hits").inner_text()
        for link in shown.locator("nav a").all()
        if link.locator(".hits").inner_text()
    }
    assert hits["#events"] == "1"
    assert hits["#t-todos"] == "1"
    assert int(hits["#tables"]) >= 1
    assert "#charts" not in hits
    total = sum(int(count) for name, count in hits.items() if not name.startswith(("#d-", "#c-", "#t-")))
    expect(state(shown)).to_have_text(f"{total} matches")
    search(shown, "nowhere to be found")
    expect(state(shown)).to_have_text("nothing found")
    expect(shown.get_by_role("button", name="The next match")).to_be_disabled()
    search(shown, "")
    expect(state(shown)).to_have_text("")
    assert not any(shown.locator(".hits").all_inner_texts())
    heard.nothing()


def test_the_keyboard_goes_from_match_to_match_and_opens_what_is_folded(open_page: Any, small: str) -> None:
    shown, heard = open_page(small)
    shown.get_by_role("button", name="Close all").click()
    shown.keyboard.press("/")
    box = shown.get_by_label("Search the page")
    expect(box).to_be_focused()
    shown.keyboard.type("pelican")
    shown.keyboard.press("Enter")
    expect(state(shown)).to_contain_text("1 of ")
    seen = set()
    for _ in range(30):
        found = shown.locator(".found")
        expect(found).to_have_count(1)
        expect(found).to_be_visible()
        expect(found).to_be_in_viewport()
        text = state(shown).inner_text()
        if text in seen:
            break
        seen.add(text)
        shown.keyboard.press("Enter")
    total = int(state(shown).inner_text().split(" of ")[1].split(",")[0])
    assert len(seen) == total >= 4
    assert any(", in Events" in text for text in seen)
    assert any(", in Messages" in text for text in seen)
    # The word stands in the second line of its message, which had to be opened for it.
    expect(shown.locator("#e2 pre").first).to_be_visible()
    shown.keyboard.press("Shift+Enter")
    expect(state(shown)).to_contain_text(f"{total} of {total}")
    shown.keyboard.press("Escape")
    expect(box).to_have_value("")
    expect(shown.locator(".found")).to_have_count(0)
    heard.nothing()


def test_the_words_themselves_are_highlighted(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    search(shown, "says hello")
    shown.get_by_label("Search the page").press("Enter")
    words = shown.evaluate("[...CSS.highlights.get('found')].map((range) => range.toString().toLowerCase())")
    assert set(words) == {"says", "hello"}


def test_a_match_that_the_filter_hid_comes_back(open_page: Any, small: str) -> None:
    shown, _ = open_page(small)
    shown.get_by_role("combobox", name="Kind").select_option("turn")
    expect(shown.locator("#e3")).to_be_hidden()
    search(shown, "heron")
    shown.get_by_label("Search the page").press("Enter")
    for _ in range(10):
        if shown.locator("#e3.found").count():
            break
        shown.get_by_role("button", name="The next match").click()
    expect(shown.locator("#e3")).to_be_in_viewport()


def test_a_page_that_leaves_something_out_says_that_it_is_not_searched(open_page: Any) -> None:
    session = Session("long", check_payloads=False, clock=lambda: 0)
    for number in range(60):
        say(session, f"message {number}")
    shown, _ = open_page(page(session, rows=10))
    search(shown, "message 59")
    expect(state(shown)).to_contain_text("; what this page leaves out is not searched")


def test_a_hostile_page_is_searched_for_hostile_words_and_nothing_happens(open_page: Any) -> None:
    shown, heard = open_page(page(hostile_session(name="<script>alert('id')</script>")))
    for words in ("<script>alert(1)</script>", '" onload="alert(1)', "javascript:alert(1)", "\\N", "{{tools}}", "."):
        search(shown, words)
        shown.get_by_label("Search the page").press("Enter")
        expect(state(shown)).to_contain_text(" of ")
        shown.get_by_label("Search the page").press("Enter")
    assert shown.locator("main script, main img, main iframe").count() == 0
    heard.nothing()


def test_a_long_page_is_searched_and_opened_at_once(open_page: Any, sample: str) -> None:
    shown, heard = open_page(sample)
    spent = shown.evaluate(
        """() => {
          const start = performance.now();
          const box = document.getElementById("find-query");
          box.value = "compaction";
          document.getElementById("find").requestSubmit();
          return performance.now() - start;
        }"""
    )
    assert spent < 3000
    expect(state(shown)).to_contain_text("1 of ")
    heard.nothing()


@pytest.mark.parametrize(
    "options",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
    ],
    ids=["light", "dark-phone"],
)
def test_axe_finds_nothing(open_page: Any, small: str, options: dict[str, Any]) -> None:
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    shown, _ = open_page(small, bypass_csp=True, **options)
    shown.get_by_role("button", name="Open all").click()
    search(shown, "hello")
    shown.get_by_label("Search the page").press("Enter")
    shown.evaluate(axe)
    result = shown.evaluate("(rules) => axe.run(document, { runOnly: rules })", RULES)
    found = [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in result["violations"]]
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_take_the_colours_of_the_page(open_page: Any, small: str, scheme: str) -> None:
    shown, _ = open_page(small, color_scheme=scheme)
    ink = {"light": "rgb(26, 26, 26)", "dark": "rgb(240, 240, 240)"}[scheme]
    title = shown.locator("#c-tokens text", has_text="tokens by kind").first
    assert title.evaluate("(e) => getComputedStyle(e).fill") == ink
