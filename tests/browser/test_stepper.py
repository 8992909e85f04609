"""The stepper in a real browser: the mouse, every key, what is shown and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from dsh_session.widgets.stepper import Stepper
from tests.browser.stepped import many, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from tests.browser.widget_page import Shown

    Show = Callable[..., Shown]

pytestmark = pytest.mark.browser

LAST = 15


def strip(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Events of the log")


def event(page: Page, seq: int) -> Locator:
    return strip(page).locator(f'[role=option][data-seq="{seq}"]')


def surface(page: Page) -> Locator:
    return page.locator(".dshs-nodes")


def node(page: Page, seq: int) -> Locator:
    return surface(page).locator(f'[role=option][data-seq="{seq}"]')


def nodes(page: Page) -> list[int]:
    found: list[int] = page.evaluate(
        """() => [...document.querySelectorAll(".dshs-nodes [role=option]")]
          .sort((a, b) => a.dataset.at - b.dataset.at).map((each) => Number(each.dataset.seq))"""
    )
    return found


def settled(page: Page, moment: int) -> None:
    """Wait until the surface of a moment is there."""
    words = f"Surface after event {moment}" if moment >= 0 else "Surface before the first event"
    expect(page.locator(".dshs-head b", has_text=words)).to_have_text(words)


# ------------------------------------------------------------------------------------------------------------ stepping


KEYS = [
    ("ArrowRight", 5, 6),
    ("ArrowLeft", 5, 4),
    ("Home", 5, -1),
    ("End", 5, LAST),
    ("PageDown", 5, LAST),
    ("PageUp", 5, -1),
    ("ArrowDown", 1, 5),  # the next event that changes the surface
    ("ArrowUp", 12, 9),
    ("ArrowLeft", -1, -1),
    ("ArrowRight", LAST, LAST),
    ("ArrowUp", 1, -1),
    ("ArrowDown", LAST, LAST),
]


def test_every_key_steps_and_the_focus_goes_along(show_widget: Show) -> None:
    stepper = Stepper(short())
    shown = show_widget(stepper)
    page = shown.page
    for key, start, end in KEYS:
        stepper.moment = start
        shown.deliver()
        settled(page, start)
        event(page, start).focus()
        page.keyboard.press(key)
        settled(page, end)
        expect(event(page, end)).to_be_focused()
        expect(event(page, end)).to_have_attribute("aria-selected", "true")
        assert stepper.moment == end, key
        assert strip(page).locator("[aria-selected=true]").count() == 1
        assert strip(page).locator("[tabindex='0']").count() == 1
    shown.nothing()


def test_page_down_moves_by_what_is_in_sight(show_widget: Show) -> None:
    stepper = Stepper(many(400), moment=10)
    page = show_widget(stepper).page
    event(page, 10).focus()
    page.keyboard.press("PageDown")
    expect(event(page, stepper.moment)).to_be_focused()
    by = stepper.moment - 10
    assert 40 < by < 70
    page.keyboard.press("PageUp")
    settled(page, 10)
    assert stepper.moment == 10


def test_every_button_steps(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=5)
    page = show_widget(stepper).page
    for name, end in [("Next", 6), ("Back", 5), ("First", -1), ("Back", -1), ("Last", LAST), ("Next", LAST)]:
        button = page.get_by_role("button", name=name, exact=True)
        button.click(force=True)
        settled(page, end)
        assert stepper.moment == end
        expect(button).to_be_focused()  # one at its end is not taken away from under the finger
    page.keyboard.press("ArrowLeft")  # the arrows step from wherever they are pressed
    settled(page, LAST - 1)


def test_a_click_on_the_strip_goes_there(show_widget: Show) -> None:
    stepper = Stepper(short())
    page = show_widget(stepper).page
    event(page, 7).click()
    settled(page, 7)
    expect(event(page, 7)).to_be_focused()
    assert stepper.moment == 7


def test_the_slider_has_a_name_a_value_in_words_and_the_usual_keys(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=5)
    page = show_widget(stepper).page
    slider = page.get_by_role("slider", name="Moment")
    expect(slider).to_have_attribute("aria-valuetext", "event 5, assistant")
    slider.focus()
    page.keyboard.press("ArrowRight")
    settled(page, 6)
    expect(slider).to_have_attribute("aria-valuetext", "event 6, tool call")
    page.keyboard.press("Home")
    settled(page, -1)
    expect(slider).to_have_attribute("aria-valuetext", "beginning")
    page.keyboard.press("End")
    settled(page, LAST)
    expect(slider).to_be_focused()


def test_it_plays_to_the_end_and_stops_there(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=11)
    stepper.pace = 25
    page = show_widget(stepper).page
    page.get_by_role("button", name="Play").click()
    settled(page, LAST)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert (stepper.moment, stepper.playing) == (LAST, False)
    stepper.pace = 0.1
    page.get_by_role("button", name="Play").click()  # at the end it begins anew
    settled(page, -1)
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    assert stepper.playing
    event(page, -1).focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert not stepper.playing


# ------------------------------------------------------------------------------------------------- what a step shows


def test_a_step_shows_what_enters_what_it_shadows_and_the_surface_before_and_after(show_widget: Show) -> None:
    page = show_widget(Stepper(short(), moment=12)).page
    settled(page, 12)
    assert nodes(page) == [12, 9]
    expect(node(page, 12)).to_have_accessible_name(
        "12 summary, enters, stands for 3 nodes: They fail with exit code 1."
    )
    expect(node(page, 12).locator(".dshs-flag")).to_have_text("enters")
    behind = page.get_by_role("list", name="3 nodes shadowed by 12 at this step (range 1 … 7)")
    assert [text.split()[0] for text in behind.get_by_role("listitem").all_inner_texts()] == ["1", "5", "7"]
    before = page.get_by_role("img", name="The surface before: 4 nodes, of which 3 nodes are shadowed now")
    assert before.locator(".dshs-event").all_inner_texts() == ["1", "5", "7", "9"]
    assert before.locator(".s-shadowed").all_inner_texts() == ["1", "5", "7"]
    expect(page.locator(".dshs-what")).to_have_text(
        "after event 12: summary takes the place of 3 nodes (1 … 7): the surface shrinks from 4 nodes to 2"
    )


def test_the_strip_tells_what_was_is_and_will_be(show_widget: Show) -> None:
    page = show_widget(Stepper(short(), moment=12)).page
    expect(event(page, 5)).to_have_accessible_name("5 assistant, shadowed by 12")
    expect(event(page, 6)).to_have_accessible_name("6 tool call, log only")
    expect(event(page, 9)).to_have_accessible_name("9 steering, on the surface")
    expect(event(page, 12)).to_have_accessible_name("12 summary, in place of 3 nodes, on the surface")
    expect(event(page, 13)).to_have_accessible_name("13 user, not yet")
    page.keyboard.press("Tab")
    event(page, 12).focus()
    page.keyboard.press("ArrowLeft")
    settled(page, 11)
    expect(event(page, 5)).to_have_accessible_name("5 assistant, on the surface")
    assert page.locator(".dshs-turn").all_inner_texts() == ["turn 1", "turn 2"]
    assert page.locator(".dshs-step").all_inner_texts() == ["step 1"]


def test_states_differ_by_shape_and_line_and_not_by_colour_alone(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=12)
    stepper.selection = [9, 9]
    page = show_widget(stepper).page
    settled(page, 12)
    kinds = {1: "user", 5: "assistant", 7: "result", 9: "steering", 12: "summary"}
    outlines = {kind: event(page, seq).locator(".dshs-glyph").get_attribute("d") for seq, kind in kinds.items()}
    assert len(set(outlines.values())) == len(kinds)
    style = "(e, name) => getComputedStyle(e)[name]"
    assert event(page, 5).locator(".dshs-slash").evaluate(style, "stroke") != "none"
    assert event(page, 9).locator(".dshs-slash").evaluate(style, "stroke") == "none"
    assert event(page, 13).locator(".dshs-glyph").evaluate(style, "strokeDasharray") != "none"
    assert event(page, 9).locator(".dshs-glyph").evaluate(style, "strokeDasharray") == "none"
    assert event(page, 12).evaluate("(e) => getComputedStyle(e, '::before').borderTopWidth") == "3px"
    expect(node(page, 9).locator(".dshs-check")).to_be_visible()
    expect(node(page, 12).locator(".dshs-check")).to_be_hidden()
    expect(page.locator(".dshs-chosen")).to_have_text("selected: node 9")


def test_each_step_is_said_aloud(show_widget: Show) -> None:
    page = show_widget(Stepper(short(), moment=11)).page
    status = page.get_by_role("status")
    expect(status).to_have_attribute("aria-live", "polite")
    expect(status).to_have_text(
        "Event 11: turn, log-only: the surface keeps its 4 nodes. turn 2 starts: message from user"
    )
    page.get_by_role("button", name="Next").click()
    expect(status).to_have_text(
        "Event 12: summary takes the place of 3 nodes (1 … 7): the surface shrinks from 4 nodes to 2. "
        "They fail with exit code 1."
    )
    page.get_by_role("button", name="Next").click()
    expect(status).to_have_text("Event 13: user enters at the tail: the surface grows from 2 nodes to 3. Fix it.")
    page.get_by_role("button", name="First").click()
    expect(status).to_have_text("before the first event: the surface is empty.")


# ------------------------------------------------------------------------------------------------------------ selecting


def test_a_click_selects_shift_extends_another_click_and_escape_clear(show_widget: Show) -> None:
    stepper = Stepper(short())
    page = show_widget(stepper).page
    node(page, 13).click()
    expect(node(page, 13)).to_have_attribute("aria-selected", "true")
    assert stepper.selection == [13, 13]
    node(page, 12).click(modifiers=["Shift"])
    expect(page.get_by_role("status")).to_have_text("Selected 3 nodes, 12 … 13.")
    assert stepper.selection == [12, 13]  # in surface order, whichever came first
    assert list(stepper.selected) == [12, 9, 13]
    assert surface(page).locator("[aria-selected=true]").count() == 3
    page.keyboard.press("Escape")
    expect(page.get_by_role("status")).to_have_text("Nothing is selected.")
    assert stepper.selection == []
    node(page, 9).click()
    node(page, 9).click()
    expect(page.get_by_role("status")).to_have_text("Nothing is selected.")
    assert stepper.selection == []


def test_the_keyboard_walks_over_the_nodes_selects_and_extends(show_widget: Show) -> None:
    stepper = Stepper(short())
    shown = show_widget(stepper)
    page = shown.page
    node(page, 14).wait_for()
    surface(page).locator("[tabindex='0']").focus()
    for key, seq in [("Home", 12), ("ArrowRight", 9), ("End", 14), ("ArrowLeft", 13), ("PageUp", 12), ("PageDown", 14)]:
        page.keyboard.press(key)
        expect(node(page, seq)).to_be_focused()
    assert stepper.moment == LAST
    assert stepper.focused == 14
    page.keyboard.press("Enter")
    expect(node(page, 14)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_role("status")).to_have_text("Selected 3 nodes, 9 … 14.")
    assert stepper.selection == [9, 14]
    page.keyboard.press("ArrowRight")  # walking alone keeps what is selected
    expect(node(page, 13)).to_be_focused()
    assert stepper.selection == [9, 14]
    page.keyboard.press("Home")
    page.keyboard.press("Shift+Enter")
    expect(page.get_by_role("status")).to_have_text("Selected 4 nodes, 12 … 14.")
    page.keyboard.press("Space")
    expect(page.get_by_role("status")).to_have_text("Selected node 12.")
    assert stepper.selection == [12, 12]
    page.keyboard.press("Escape")
    expect(page.get_by_role("status")).to_have_text("Nothing is selected.")
    expect(node(page, 12)).to_be_focused()
    shown.nothing()


def test_up_and_down_walk_from_row_to_row(show_widget: Show) -> None:
    page = show_widget(Stepper(many(30), moment=29)).page
    node(page, 29).wait_for()
    surface(page).locator("[tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(node(page, 0)).to_be_focused()
    columns = page.evaluate(
        """() => { const tops = [...document.querySelectorAll(".dshs-nodes [role=option]")].map((e) => e.style.top);
          return tops.filter((top) => top === "28px").length; }"""
    )
    page.keyboard.press("ArrowDown")
    expect(node(page, columns)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(node(page, 0)).to_be_focused()
    page.keyboard.press("ArrowUp")  # there is no row above
    expect(node(page, 0)).to_be_focused()


def test_enter_on_the_strip_selects_what_entered_there(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=12)
    page = show_widget(stepper).page
    settled(page, 12)
    event(page, 12).focus()
    page.keyboard.press("Enter")
    expect(node(page, 12)).to_have_attribute("aria-selected", "true")
    assert stepper.selection == [12, 12]
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    settled(page, 11)
    page.keyboard.press("Enter")  # a log-only event has no node
    assert stepper.selection == []


def test_a_selection_is_dropped_where_its_nodes_are_not(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=11)
    page = show_widget(stepper).page
    settled(page, 11)
    node(page, 1).click()
    node(page, 7).click(modifiers=["Shift"])
    expect(page.locator(".dshs-chosen")).to_have_text("selected: 3 nodes, 1 … 7")
    page.get_by_role("button", name="Next").click()
    settled(page, 12)
    expect(page.locator(".dshs-chosen")).to_have_count(0)
    assert stepper.selection == []


# --------------------------------------------------------------------------------------------- the kernel and the views


def test_what_the_kernel_changes_is_shown(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=12)
    shown = show_widget(stepper)
    page = shown.page
    settled(page, 12)
    stepper.moment = 14
    stepper.selection = [9, 14]
    stepper.marked = [(9, "a call without its result")]
    stepper.notice = "Range widened to 9 … 14."
    shown.deliver()
    settled(page, 14)
    expect(page.locator(".dshs-chosen")).to_have_text("selected: 3 nodes, 9 … 14")
    assert surface(page).locator("[aria-selected=true]").count() == 3
    expect(node(page, 9)).to_have_accessible_name("9 steering, marked: a call without its result: Be quick.")
    expect(event(page, 9)).to_have_accessible_name("9 steering, on the surface, marked: a call without its result")
    expect(page.locator(".dshs-notice")).to_have_text("Range widened to 9 … 14.")
    stepper.notice, stepper.marked, stepper.selection = "", [], []
    shown.deliver()
    expect(page.locator(".dshs-notice")).to_be_hidden()
    expect(page.get_by_role("status")).not_to_contain_text("Range widened")
    expect(page.locator(".dshs-chosen")).to_have_count(0)
    shown.nothing()


def test_what_is_appended_appears_and_the_end_is_followed(show_widget: Show) -> None:
    session = short()
    stepper = Stepper(session)
    shown = show_widget(stepper)
    page = shown.page
    settled(page, LAST)
    data: Any = {"content": [{"type": "text", "text": "Thanks."}], "source": {"kind": "user"}}
    session.append("user/message", data, surface_op="append")
    stepper.refresh()
    shown.deliver()
    settled(page, LAST + 1)
    expect(node(page, LAST + 1)).to_have_accessible_name("16 user, enters: Thanks.")
    event(page, 12).click()
    settled(page, 12)
    session.append("user/message", data, surface_op="append")
    stepper.refresh()
    shown.deliver()
    expect(page.locator(".dshs-where")).to_have_text("event 12 of 17")
    expect(event(page, 17)).to_have_accessible_name("17 user, not yet")
    assert stepper.moment == 12
    shown.nothing()


def test_who_walks_over_the_nodes_stays_there_whatever_is_appended(show_widget: Show) -> None:
    session = short()  # its surface is 12, 9, 13, 14
    stepper = Stepper(session)
    shown = show_widget(stepper)
    page = shown.page
    settled(page, LAST)
    surface(page).locator("[tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("status")).to_have_text("Selected 2 nodes, 12 … 9.")
    data: Any = {"content": [{"type": "text", "text": "Thanks."}], "source": {"kind": "user"}}
    session.append("user/message", data, surface_op="append")
    stepper.refresh()
    shown.deliver()
    settled(page, LAST + 1)
    expect(node(page, 9)).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")  # goes on from where the range began
    expect(page.get_by_role("status")).to_have_text("Selected 3 nodes, 12 … 13.")
    assert stepper.selection == [12, 13]
    replaced: Any = {"op": "replace", "start": 9, "end": 14}
    session.append("user/message", data, surface_op=replaced, source_event_seqs=[9, 13, 14])
    stepper.refresh()
    shown.deliver()
    settled(page, LAST + 2)
    assert nodes(page) == [12, 17, 16]
    expect(node(page, 17)).to_be_focused()  # what stands for the node that the keyboard was on
    page.keyboard.press("ArrowRight")
    expect(node(page, 16)).to_be_focused()
    assert stepper.selection == []
    shown.nothing()


def test_a_long_surface_stays_in_sight_where_somebody_walks_over_it(show_widget: Show) -> None:
    session = many(400)
    stepper = Stepper(session)
    shown = show_widget(stepper)
    page = shown.page
    settled(page, 399)
    surface(page).locator("[tabindex='0']").focus()
    page.keyboard.press("Home")
    expect(node(page, 0)).to_be_focused()
    data: Any = {"content": [{"type": "text", "text": "Thanks."}], "source": {"kind": "user"}}
    for seq in (400, 401, 402):
        session.append("user/message", data, surface_op="append")
        stepper.refresh()
        shown.deliver()
        settled(page, seq)
    expect(node(page, 0)).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_role("status")).to_have_text("Selected 2 nodes, 0 … 1.")
    # What enters between a key and the rows that it asks for changes nothing.
    page.keyboard.press("End")
    session.append("user/message", data, surface_op="append")
    stepper.refresh()
    shown.deliver()
    expect(node(page, 402)).to_be_focused()
    settled(page, 403)
    page.evaluate("() => { window.kept = window.kernel; window.late = []; window.kernel = (said) => late.push(said); }")
    page.keyboard.press("Home")
    page.wait_for_timeout(100)  # a picture or two without the rows
    expect(node(page, 402)).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    session.append("user/message", data, surface_op="append")
    stepper.refresh()
    shown.deliver()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowRight")
    page.evaluate("() => { window.kernel = window.kept; for (const said of late) kernel(said); }")
    expect(node(page, 3)).to_be_focused()  # every key in its order
    settled(page, 404)
    expect(page.locator(".dshs-chosen")).to_have_text("selected: 3 nodes, 0 … 2")
    assert stepper.selection == [0, 2]
    shown.nothing()


def test_another_log_takes_the_place_of_the_first(show_widget: Show) -> None:
    stepper = Stepper(short("first"))
    shown = show_widget(stepper)
    page = shown.page
    settled(page, LAST)
    stepper.show(many(3))
    shown.deliver()
    settled(page, 2)
    expect(page.locator(".dshs-title")).to_have_text("many")
    assert nodes(page) == [0, 1, 2]
    assert strip(page).get_by_role("option").count() == 4
    shown.nothing()


def test_two_views_of_one_model_go_together_and_play_at_one_pace(show_widget: Show) -> None:
    stepper = Stepper(many(60), moment=5)
    shown = show_widget(stepper)
    page = shown.page
    alone = shown.listeners()
    page.evaluate("async () => { window.cleanup2 = await show('el2'); }")
    assert shown.listeners() < 2 * alone  # the clock is theirs together
    both = page.locator(".dsh-stepper")
    expect(both).to_have_count(2)
    both.nth(0).get_by_role("button", name="Next").click()
    for at in range(2):
        expect(both.nth(at).locator(".dshs-where")).to_have_text("event 6 of 59")
        expect(both.nth(at).locator(".dshs-nodes [role=option]")).to_have_count(7)
    both.nth(1).locator(".dshs-nodes [data-seq='3']").click()
    expect(both.nth(0).locator(".dshs-nodes [data-seq='3']")).to_have_attribute("aria-selected", "true")
    stepper.pace = 10.0
    stepper.playing = True
    shown.deliver()
    page.wait_for_timeout(1000)
    stepper.playing = False
    shown.deliver()
    assert 6 + 4 <= stepper.moment <= 6 + 11
    page.evaluate("cleanup2()")
    expect(both).to_have_count(1)
    assert shown.listeners() == alone
    shown.nothing()


def test_of_several_pages_that_play_one_steps_and_another_takes_over_when_it_is_gone(show_widget: Show) -> None:
    stepper = Stepper(many(60), moment=5)
    shown = show_widget(stepper)
    page = shown.page
    settled(page, 5)
    stepper.playing = True
    shown.deliver()
    for moment in range(6, 12):  # as another page's clock would, a little slower than the pace
        stepper.moment = moment
        shown.deliver()
        page.wait_for_timeout(550)
    assert stepper.moment == 11
    assert page.evaluate("saved.filter((each) => 'moment' in each)") == []
    page.wait_for_function("saved.some((each) => each.moment === 13)")
    page.get_by_role("button", name="Pause").click()
    assert stepper.playing is False
    shown.nothing()


def test_closing_a_view_leaves_no_listener_no_timer_and_no_element(show_widget: Show) -> None:
    more = "const set = setInterval; window.timers = new Set();"
    more += "window.setInterval = (...a) => { const t = set(...a); timers.add(t); return t; };"
    more += "const clear = clearInterval; window.clearInterval = (t) => { timers.delete(t); clear(t); };"
    stepper = Stepper(short(), moment=3)
    stepper.pace, stepper.playing = 0.5, True
    shown = show_widget(stepper, more=more)
    page = shown.page
    settled(page, 3)
    assert page.evaluate("timers.size") == 1
    page.evaluate("cleanup()")
    assert shown.listeners() == 0
    assert page.evaluate("timers.size") == 0
    assert page.evaluate("document.getElementById('el').childNodes.length") == 0
    page.evaluate("fromKernel([{content: {type: 'renewed'}}, {state: {moment: 1, length: 99}}])")
    shown.nothing()


def test_without_a_kernel_it_stands_still_and_breaks_nothing(show_widget: Show) -> None:
    stepper = Stepper(short())
    shown = show_widget(stepper, answered=False, state={**EMPTY, "length": 16, "moment": 3, "selection": [1, 1]})
    page = shown.page
    for key in ("ArrowRight", "ArrowDown", "Home", "End", "PageDown", "Enter", "Space", "Escape"):
        event(page, page.evaluate("model.get('moment')")).focus()
        page.keyboard.press(key)
    assert page.evaluate("sent.every((each) => each.type === 'window')")
    assert page.evaluate("saved.length") > 0
    shown.nothing()


EMPTY: dict[str, Any] = {
    "moment": -1,
    "selection": [],
    "focused": -1,
    "marked": [],
    "notice": "",
    "playing": False,
    "pace": 2.0,
    "session_id": "alone",
    "length": 0,
    "theme": "auto",
}


def test_a_busy_kernel_gets_one_question_at_a_time_and_the_latest_one_last(show_widget: Show) -> None:
    shown = show_widget(Stepper(short()), answered=False, state={**EMPTY, "length": 1000})
    page = shown.page
    page.evaluate("for (let at = 0; at < 50; at++) { model.set('moment', at); }")
    asked = "sent.filter((each) => each.what === 'surface').map((each) => each.moment)"
    assert page.evaluate(asked) == [-1]
    page.evaluate(
        """() => { const one = sent.find((each) => each.what === "surface");
          fromKernel([{ content: { ...one, count: 0, before: 0, at: -1, from: 0, rows: [], shadowed: null, was: [],
            said: "", label: "", selected: null } }]); }"""
    )
    assert page.evaluate(asked) == [-1, 49]
    shown.nothing()


def test_the_next_step_is_asked_for_before_it_is_wanted(show_widget: Show) -> None:
    shown = show_widget(Stepper(short(), moment=5))
    page = shown.page
    asked = "sent.filter((each) => each.what === 'surface').map((each) => each.moment)"
    page.wait_for_function(f"({asked}).at(-1) === 6")
    page.get_by_role("button", name="Next").click()
    settled(page, 6)
    page.wait_for_function(f"({asked}).at(-1) === 7")
    assert page.evaluate(asked).count(6) == 1
    page.get_by_role("button", name="Back").click()
    settled(page, 5)
    page.wait_for_function(f"({asked}).at(-1) === 4")  # it looks where the reader goes
    assert nodes(page) == [1, 5]
    shown.nothing()


def test_a_view_in_a_tab_that_is_opened_later_shows_its_moment(show_widget: Show) -> None:
    hide = "document.getElementById('el').style.display = 'none';"
    page = show_widget(Stepper(many(300), moment=200), more=hide).page
    expect(page.locator(".dshs-what")).to_contain_text("after event 200")
    page.evaluate("document.getElementById('el').style.display = ''")
    expect(event(page, 200)).to_be_in_viewport()
    expect(node(page, 200)).to_be_in_viewport()
    page.mouse.move(0, 0)


def test_what_the_kernel_refuses_is_put_right_on_the_page(show_widget: Show) -> None:
    stepper = Stepper(short(), moment=12)
    shown = show_widget(stepper)
    settled(shown.page, 12)
    shown.page.evaluate("model.set('moment', 999); model.save_changes();")
    shown.deliver()
    assert stepper.moment == 12


def test_zooming_keeps_the_moment_in_sight(show_widget: Show) -> None:
    page = show_widget(Stepper(many(500), moment=250)).page
    widths = []
    for name in ("Zoom in", "Zoom out", "Zoom out", "Zoom out", "Zoom out"):
        page.get_by_role("button", name=name).click(force=True)
        expect(event(page, 250)).to_be_in_viewport()
        widths.append(event(page, 250).bounding_box()["width"])
    assert widths == [24, 16, 9, 5, 5]
    expect(page.get_by_role("button", name="Zoom out")).to_have_attribute("aria-disabled", "true")
