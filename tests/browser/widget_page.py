"""A widget's page side in a blank page: a model as the anywidget contract describes it, and behind it the real widget.

What the page saves and sends is handed to the Python object, and what that changes and sends comes back, as in a
notebook, only without one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

HOME = "http://widget.test/"

# `kernel` is bound by the test; without one (`STATE` alone) nothing answers and nothing breaks.
PAGE = """<!doctype html>
<html lang="en" %(root)s><head><meta charset="utf-8"><title>widget</title><style>body { margin: 0; }</style>
<style>%(css)s</style></head><body %(body)s>
<main><h1 style="position:absolute;clip-path:inset(50%%)">widget</h1><div id="el"></div><div id="el2"></div></main>
<script type="module">
const state = %(state)s;
const heard = {};
window.saved = [];
window.sent = [];
let changed = {};
const emit = (name, ...values) => [...(heard[name] ?? [])].forEach((each) => each(...values));
const model = {
  get: (name) => state[name],
  set: (name, value) => { if (JSON.stringify(state[name]) === JSON.stringify(value)) return;
    state[name] = value; changed[name] = value; emit("change:" + name); },
  save_changes: () => { window.saved.push({ ...changed }); const news = changed; changed = {};
    if (window.kernel) window.kernel({ state: news }); },
  send: (content) => { window.sent.push(content); if (window.kernel) window.kernel({ content }); },
  on: (name, listener) => (heard[name] ??= []).push(listener),
  off: (name, listener) => { heard[name] = (heard[name] ?? []).filter((each) => each !== listener); },
};
window.model = model;
window.listeners = () => Object.values(heard).reduce((sum, each) => sum + each.length, 0);
window.fromKernel = (said) => {
  for (const one of said) {
    if (one.state) for (const [name, value] of Object.entries(one.state)) {
      if (JSON.stringify(state[name]) === JSON.stringify(value)) continue;
      state[name] = value; emit("change:" + name);
    }
    if (one.content) emit("msg:custom", one.content, []);
  }
};
%(more)s
const { default: widget } = await import("/widget.js");
window.show = async (id) => await widget.render({ model, el: document.getElementById(id) });
window.began = performance.now();
window.cleanup = await window.show("el");
window.ready = true;
</script></body></html>"""


class Bridge:
    """Stands between a page and a widget: what one says, the other hears."""

    def __init__(self, page: Page, widget: Any) -> None:
        self.page = page
        self.widget = widget
        self._out: list[dict[str, Any]] = []
        widget.send = self._send
        widget.observe(self._changed, names=list(self._synced()))
        page.expose_function("kernel", self._hear)

    def _synced(self) -> list[str]:
        return [name for name in self.widget.traits(sync=True) if not name.startswith("_") and name not in LEFT_OUT]

    def state(self) -> dict[str, Any]:
        known = self.widget.get_state(self._synced())
        return {name: known[name] for name in self._synced()}

    def _send(self, content: Any, buffers: Any = None) -> None:
        assert buffers is None
        self._out.append({"content": content})

    def _changed(self, change: Any) -> None:
        self._out.append({"state": self.widget.get_state([change["name"]])})

    def _hear(self, said: dict[str, Any]) -> None:
        if "state" in said:
            self.widget.set_state(said["state"])
        if "content" in said:
            data = {"method": "custom", "content": said["content"]}
            self.widget._handle_msg({"content": {"data": data}, "buffers": []})
        self.deliver()

    def deliver(self) -> None:
        """Hand the page what the widget changed and sent."""
        # As text, as it would go over the wire: a lone surrogate fails here as it would there.
        out, self._out = json.loads(json.dumps(self._out, ensure_ascii=False).encode()), []
        if out:
            self.page.evaluate("(said) => { setTimeout(() => window.fromKernel(said)); }", out)


LEFT_OUT = ("layout", "tabbable", "tooltip")


@dataclass
class Shown:
    """A widget in a page.

    Attributes:
        page: The page.
        said: What it said to its console, asked the net for, or put before its reader: nothing, if all is well.
        bridge: What stands between it and the widget; None where nothing answers.
    """

    page: Page
    bridge: Bridge | None
    said: list[str] = field(default_factory=list)

    def deliver(self) -> None:
        """Tell the page what the widget did by itself."""
        if self.bridge is not None:
            self.bridge.deliver()

    def dialog(self, dialog: Dialog) -> None:
        """Note a dialog and close it."""
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def nothing(self) -> None:
        """Assert that it was quiet."""
        assert self.said == []

    def listeners(self) -> int:
        """How many listeners the model has."""
        return int(self.page.evaluate("listeners()"))


def open_widget(
    chromium: Browser,
    widget: Any,
    *,
    answered: bool = True,
    state: dict[str, Any] | None = None,
    more: str = "",
    root: str = "",
    body: str = "",
    **options: Any,
) -> Shown:
    """Show a widget in a page of its own.

    Args:
        chromium: The browser.
        widget: The widget; it answers unless `answered` is false.
        answered: Whether the widget is behind the model, or nothing is.
        state: What stands in the model in the place of the widget's own values.
        more: Script that runs before the widget is loaded.
        root: Attributes of the page's root element.
        body: Attributes of its body.
        options: For the browser's context: viewport, colour scheme and the like.
    """
    context = chromium.new_context(**{"viewport": {"width": 1060, "height": 800}, **options})
    context.set_default_timeout(10_000)
    page = context.new_page()
    bridge = Bridge(page, widget) if answered else None
    shown = Shown(page, bridge)
    page.on("console", lambda message: shown.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: shown.said.append(f"error: {error}"))
    page.on("dialog", shown.dialog)
    values = {**(bridge.state() if bridge else {}), **(state or {})}
    escaped = json.dumps(values).replace("<", "\\u003c")
    html = PAGE % {"css": widget._css, "state": escaped, "more": more, "root": root, "body": body}

    def serve(route: Any) -> None:
        url = route.request.url
        if url == HOME:
            route.fulfill(body=html, content_type="text/html; charset=utf-8")
        elif url == f"{HOME}widget.js":
            route.fulfill(body=widget._esm, content_type="text/javascript; charset=utf-8")
        else:
            if not url.endswith("/favicon.ico"):
                shown.said.append(f"request: {url}")
            route.abort()

    page.route("**/*", serve)
    page.goto(HOME)
    page.wait_for_function("window.ready")
    return shown
