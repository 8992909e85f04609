"""The explorer's own two modules in a blank page: the notice and the tabs."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dsh_session.widgets.button import Button
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.tabs import Tabs
from tests.browser.widget_page import open_widget
from tests.views.hostile import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.widget_page import Shown

pytestmark = pytest.mark.browser

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")


@pytest.fixture
def show(chromium: Browser) -> Iterator[Any]:
    """Shows widgets, and closes them with their pages."""
    shown: list[Shown] = []

    def open_(widget: Any, **options: Any) -> Shown:
        shown.append(open_widget(chromium, widget, **options))
        return shown[-1]

    yield open_
    for one in shown:
        one.page.context.close()
        if one.bridge is not None:
            one.bridge.widget.close()


def violations(page: Page) -> list[Any]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    script = "async (tags) => (await axe.run(document, { runOnly: tags })).violations.map(({ id }) => id)"
    found: list[Any] = page.evaluate(script, ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
    return found


def tabs() -> Tabs:
    return Tabs(names=["Event", "Messages", "Tokens"], label="What is to be known", html="<p>an event</p>")


def test_a_click_and_every_key_choose_a_tab_and_the_kernel_hears(show: Any) -> None:
    widget = tabs()
    shown = show(widget)
    page = shown.page
    page.get_by_role("tab", name="Messages").click()
    expect(page.get_by_role("tab", name="Messages")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Messages").focus()
    for key, chosen in [
        ("ArrowRight", "Tokens"),
        ("ArrowRight", "Event"),
        ("ArrowLeft", "Tokens"),
        ("Home", "Event"),
        ("End", "Tokens"),
    ]:
        page.keyboard.press(key)
        expect(page.get_by_role("tab", name=chosen)).to_be_focused()
        expect(page.get_by_role("tab", selected=True)).to_have_text(chosen)
    page.wait_for_function("() => window.saved.length === 6")
    assert widget.selected == 2
    page.keyboard.press("Tab")
    expect(page.get_by_role("tabpanel", name="Tokens")).to_be_focused()
    shown.nothing()


def test_only_the_chosen_tab_is_a_tab_stop(show: Any) -> None:
    page = show(tabs()).page
    assert page.get_by_role("tab").evaluate_all("(all) => all.map((each) => each.tabIndex)") == [0, -1, -1]


def test_what_the_kernel_writes_is_shown_where_the_reader_was(show: Any) -> None:
    widget = tabs()
    shown = show(widget)
    page, panel = shown.page, shown.page.get_by_role("tabpanel")
    widget.html = "<p>line</p>" * 200
    shown.deliver()
    expect(panel).to_contain_text("line")
    panel.evaluate("(it) => { it.scrollTop = 300; }")
    widget.html = "<p>other</p>" * 200
    shown.deliver()
    expect(panel).to_contain_text("other")
    assert panel.evaluate("(it) => it.scrollTop") == 300
    widget.selected = 1
    shown.deliver()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Messages")


def test_names_are_text(show: Any) -> None:
    shown = show(Tabs(names=["<img src=x onerror=alert(1)>", "</button><script>alert(1)</script>"]))
    expect(shown.page.get_by_role("tab").first).to_have_text("<img src=x onerror=alert(1)>")
    shown.nothing()


def test_two_views_of_one_model_agree_and_clean_up_after_themselves(show: Any) -> None:
    shown = show(tabs())
    page = shown.page
    own = shown.listeners()
    page.evaluate("async () => { window.second = await window.show('el2'); }")
    assert shown.listeners() == 2 * own
    page.locator("#el2").get_by_role("tab", name="Tokens").click()
    expect(page.locator("#el").get_by_role("tab", selected=True)).to_have_text("Tokens")
    page.evaluate("() => { window.second(); window.cleanup(); }")
    assert shown.listeners() == 0
    assert page.get_by_role("tab").count() == 0


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}], ids=str)
def test_nobody_is_kept_out(show: Any, options: dict[str, Any]) -> None:
    assert violations(show(tabs(), **options).page) == []
    notice = Notice()
    notice.say("appended", "done")
    assert violations(show(notice, **options).page) == []
    for button in (Button(description="Compact", main=True), Button(description="Fork", disabled=True)):
        assert violations(show(button, **options).page) == []


def test_a_notice_is_heard_and_has_a_sign_of_its_own(show: Any) -> None:
    notice = Notice()
    shown = show(notice)
    line = shown.page.locator(".dsh-notice")
    expect(line).to_be_hidden()
    for kind, role, sign in [
        ("info", "status", ""),
        ("done", "status", "✓ "),
        ("busy", "status", "… "),
        ("warning", "status", "⚠ "),
        ("error", "alert", "✗ "),
    ]:
        notice.say("something", kind)  # type: ignore[arg-type]
        shown.deliver()
        expect(shown.page.get_by_role(role)).to_have_text(f"{sign}something")
    notice.clear()
    shown.deliver()
    expect(line).to_be_hidden()
    shown.page.evaluate("() => window.cleanup()")
    assert shown.listeners() == 0


def test_hostile_notices_are_text(show: Any) -> None:
    notice = Notice()
    shown = show(notice)
    for text in HOSTILE[:22]:
        notice.say(text, "error")
        shown.deliver()
    expect(shown.page.locator(".dsh-notice")).to_contain_text("=HYPERLINK")
    assert shown.page.locator(".dsh-notice > *").count() == 0
    shown.nothing()


def test_a_press_acts_once_when_the_page_has_said_all_it_had_to_say(show: Any) -> None:
    pressed: list[str] = []
    button = Button(description="Append", main=True)
    button.on_click(lambda: pressed.append("append"))
    shown = show(button)
    page = shown.page
    page.evaluate("async () => { await window.show('el2'); }")
    page.get_by_role("button", name="Append").first.click()
    page.wait_for_function("() => window.sent.length === 2")
    assert page.evaluate("() => window.sent.map(({ type }) => type)") == ["press", "pressed"]
    assert pressed == ["append"], "two views, one press"
    for key in ("Enter", "Space"):
        page.get_by_role("button", name="Append").last.press(key)
    page.wait_for_function("() => window.sent.length === 6")
    assert len(pressed) == 3
    shown.nothing()


def test_a_press_that_nobody_answers_does_nothing(show: Any) -> None:
    shown = show(Button(description="Append"), answered=False, state={"description": "Append", "expanded": None})
    shown.page.get_by_role("button", name="Append").click()
    assert shown.page.evaluate("() => window.sent.map(({ type }) => type)") == ["press"]


def test_a_button_that_may_not_be_pressed_keeps_the_focus_and_says_so(show: Any) -> None:
    button = Button(description="Compact")
    shown = show(button)
    page = shown.page
    page.get_by_role("button", name="Compact").focus()
    button.disabled = True
    button.description = "Compact 3 nodes"
    button.expanded = True
    shown.deliver()
    there = page.get_by_role("button", name="Compact 3 nodes")
    expect(there).to_be_disabled()
    expect(there).to_be_focused()
    expect(there).to_have_attribute("aria-expanded", "true")
    there.press("Enter")
    assert page.evaluate("() => window.sent") == []
    page.evaluate("() => window.cleanup()")
    assert shown.listeners() == 0
