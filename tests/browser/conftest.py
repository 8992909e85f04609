"""A real Chromium for the tests of what people see."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Error, sync_playwright

from tests.browser.widget_page import open_widget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

    from tests.browser.widget_page import Shown

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
INSTALL = "apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def missing(why: str) -> None:
    """Skip, or fail where a browser is required."""
    if os.environ.get("DSH_SESSION_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{why}; DSH_SESSION_REQUIRE_BROWSER=1 asks for one: {INSTALL}", pytrace=False)
    pytest.skip(f"{why}; to run this test: {INSTALL}")


@pytest.fixture(scope="module")  # while Playwright runs, an event loop runs in this thread: no other test may see it
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a module."""
    program = os.environ.get("DSH_SESSION_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing("no Chromium was found")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        except Error as error:
            missing(f"{program} does not start ({error.message.splitlines()[0]})")
        yield browser
        browser.close()


@dataclass
class Heard:
    """What a page did beside showing itself."""

    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def dialog(self, dialog: Dialog) -> None:
        """Note a dialog and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def request(self, url: str, own: str) -> None:
        """Note a request for anything but the page itself."""
        if url.partition("#")[0] != own.partition("#")[0]:
            self.requests.append(url)

    def nothing(self) -> None:
        """Assert that it did nothing."""
        assert self == Heard()


@pytest.fixture
def open_page(chromium: Browser, tmp_path: Path) -> Iterator[Callable[..., tuple[Page, Heard]]]:
    """Open HTML from a file, as a reader would, and hear everything it does."""
    contexts = []

    def open_(html: str, *, hash_: str = "", **options: Any) -> tuple[Page, Heard]:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8", newline="\n")
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        heard = Heard()
        # What a hostile text would do is listened for before the page is there.
        page.on("console", lambda message: heard.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: heard.console.append(f"error: {error}"))
        page.on("dialog", heard.dialog)
        page.on("request", lambda request: heard.request(request.url, file.as_uri() + hash_))
        page.goto(file.as_uri() + hash_)
        return page, heard

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def show_widget(chromium: Browser) -> Iterator[Callable[..., Shown]]:
    """Show a widget in a page of its own, with the widget itself behind it; see `widget_page.open_widget`."""
    contexts = []

    def show(widget: Any, **options: Any) -> Shown:
        shown = open_widget(chromium, widget, **options)
        contexts.append(shown.page.context)
        return shown

    yield show
    for context in contexts:
        context.close()
