"""What a person does with the explorer in JupyterLab and Notebook 7, by keyboard, and the log that follows from it."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from playwright.sync_api import expect

from dsh_session import loads
from tests.browser.conftest import Heard
from tests.browser.jupyter import SCREENSHOTS, open_notebook, run_all, server, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.browser

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "06-explore.ipynb"
KEEP = """\
from pathlib import Path


def keep(session, *_):
    draft = Path("draft")
    draft.write_bytes(session.to_jsonl())
    draft.replace(f"{session.id}.jsonl")  # whole, or not yet


ctx.on("session/event", keep)
ctx.on("session/created", keep)
keep(child)
print("ready to be touched")
explorer"""
"""The kernel writes down every log that grows, for the test to read."""

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    folder = Path(os.environ.get(SCREENSHOTS) or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(params=["lab", "notebook"])
def jupyter(
    request: pytest.FixtureRequest, chromium: Browser, tmp_path: Path
) -> Iterator[tuple[str, Page, Heard, Path]]:
    """The page with the notebook, all its cells run."""
    app: str = request.param
    folder = tmp_path / "notebooks"
    folder.mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(KEEP))
    nbformat.write(notebook, folder / "explore.ipynb")
    heard = Heard()
    with server(app, folder, tmp_path / "home") as base:
        context = chromium.new_context(viewport={"width": 1400, "height": 2000})
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("dialog", heard.dialog)
        # Of what fails in the page, what is ours: a widget's module is loaded from a blob.
        page.on("pageerror", lambda error: heard.console.extend([str(error)] * ("blob:" in str(error.stack))))
        open_notebook(page, base, app, "explore.ipynb")
        run_all(page)
        page.get_by_text("ready to be touched", exact=True).wait_for(timeout=60_000)
        yield app, page, heard, folder
        context.close()


def press(button: Locator) -> None:
    """Press a button by keyboard, once it may be pressed."""
    expect(button).to_be_enabled()
    button.focus()
    button.press("Enter")


def violations(page: Page, part: Locator) -> list[Any]:
    """What keeps somebody out, in a part of the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[Any] = page.evaluate(
        "async ([part, tags]) => (await axe.run(part, { runOnly: tags })).violations"
        ".map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 200))])",
        [part.element_handle(), WCAG],
    )
    return found


def types(log: list[dict[str, Any]]) -> list[str]:
    return [line["type"] for line in log[1:]]


def test_a_turn_is_appended_a_range_compacted_and_the_session_forked_by_keyboard(
    jupyter: tuple[str, Page, Heard, Path], screenshots: Path
) -> None:
    app, page, heard, folder = jupyter
    log = folder / "what if.jsonl"
    explorer = page.locator(".dsh-explorer").last
    explorer.scroll_into_view_if_needed()

    # Append a turn and a prompt.
    press(explorer.get_by_role("button", name="▸ Append"))
    append = explorer.get_by_role("button", name="Append", exact=True)
    expect(explorer.get_by_label("Event type")).to_have_value("turn/start")
    press(append)
    written(log, lambda lines: types(lines)[-1] == "turn/start", "no turn was appended")
    expect(explorer.get_by_label("Event type")).to_have_value("user/message")
    said = explorer.get_by_label("content[0].text")
    said.focus()
    page.keyboard.type("Go on, <img src=x onerror=alert(1)>")
    assert violations(page, explorer) == []
    press(append)
    lines = written(log, lambda lines: lines if types(lines)[-1] == "user/message" else None, "no message was appended")
    assert lines[-1]["data"]["content"][0]["text"] == "Go on, <img src=x onerror=alert(1)>"
    press(explorer.get_by_role("button", name="▾ Append"))

    # Compact: two nodes are selected, and the result of the second one's call goes with them.
    surface = explorer.get_by_role("listbox", name="Surface after event")
    expect(surface.get_by_role("option", name="15 user, enters")).to_be_visible()
    surface.get_by_role("option").last.focus()
    page.keyboard.press("Home")
    expect(surface.get_by_role("option").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(explorer.get_by_role("button", name="▸ Compact 1 node")).to_be_visible()
    expect(surface.get_by_role("option").first).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    press(explorer.get_by_role("button", name="▸ Compact 2 nodes"))
    expect(explorer.get_by_text("The last node moved from 3 to 5").first).to_be_visible()
    summary = explorer.get_by_label("Summary text")
    summary.focus()
    page.keyboard.type("README.md was read; it says how to install and run the tool.")
    expect(explorer.get_by_text("3 nodes give way")).to_be_visible()
    assert violations(page, explorer) == []
    page.screenshot(path=str(screenshots / f"{app}-compact.png"))
    press(explorer.get_by_role("button", name="Compact 3 nodes", exact=True))
    lines = written(log, lambda lines: lines if types(lines)[-1] == "compact/end" else None, "nothing was compacted")
    assert types(lines)[-4:] == ["compact/start", "compact/summary", "user/message", "compact/end"]
    assert lines[-2]["surfaceOp"] == {"op": "replace", "start": 1, "end": 5}

    # End the turn, and fork there.
    press(explorer.get_by_role("button", name="▾ Compact"))
    press(explorer.get_by_role("button", name="▸ Append"))
    explorer.get_by_label("Event type").select_option("turn/end")
    press(append)
    lines = written(log, lambda lines: lines if types(lines)[-1] == "turn/end" else None, "the turn did not end")
    press(explorer.get_by_role("button", name="▾ Append"))
    press(explorer.get_by_role("button", name="▸ Fork"))
    explorer.get_by_label("Name of the child").focus()
    page.keyboard.type("child")
    press(explorer.get_by_role("button", name="Fork", exact=True))
    forked = written(folder / "child.jsonl", lambda lines: lines, "there is no fork")
    assert forked[0]["parentSession"] == "what if"
    assert forked[1:] == lines[1:]
    press(explorer.get_by_role("button", name="▾ Fork"))
    press(explorer.get_by_role("button", name="▸ Sessions"))
    expect(explorer.get_by_label("Compare with")).to_be_visible()
    expect(explorer.locator("svg", has_text="child").last).to_be_visible()
    page.screenshot(path=str(screenshots / f"{app}-sessions.png"))

    # The log is whole, and nothing in it became anything but text.
    session = loads((folder / "what if.jsonl").read_bytes())
    assert session.seq == 14 + 7
    assert heard.dialogs == []
    assert heard.console == []
    assert violations(page, explorer) == []
