"""What a browser makes of a page, what must hold of every page, and sessions to make pages of."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

from dsh_session import Replace, Session

USER = {"kind": "user"}

# fmt: off
ELEMENTS = {
    "a", "article", "body", "br", "button", "caption", "code", "col", "colgroup", "dd", "details", "div", "dl", "dt",
    "form", "h1", "h2", "h3", "head", "header", "html", "input", "kbd", "label", "li", "main", "meta", "nav",
    "option", "output", "p", "pre", "script", "section", "select", "span", "strong", "style", "summary",
    "table", "tbody", "td", "th", "thead", "time", "title", "tr", "ul", "wbr",
    # pictures; a parser of HTML gives their names in small letters
    "svg", "g", "path", "polygon", "polyline", "ellipse", "rect", "text", "tspan", "defs", "use", "clippath", "pattern",
}
# fmt: on
VOID = {"br", "col", "input", "meta", "wbr"}


class Reader(HTMLParser):
    """What a browser makes of a page: elements with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def check_safe(html: str) -> Reader:
    """Everything that must hold of every page, whatever the log."""
    html.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    reader = Reader(html)
    assert reader.open == []
    assert {tag for tag, _ in reader.elements} <= ELEMENTS
    for tag, attributes in reader.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"style", "src", "srcset", "action", "formaction", "background", "ping", "xlink:href"}
            if name == "href":
                assert re.fullmatch(r"#[A-Za-z0-9_-]+", value or ""), value
            elif "url(" in (value or "").lower():
                assert name in {"fill", "clip-path"}, (tag, name)
                assert re.fullmatch(r"url\(#[A-Za-z0-9_-]+\)", value or ""), value
    assert len(reader.all("style")) == len(reader.all("script")) == 1
    policy = next(meta["content"] for meta in reader.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    for tag in ("style", "script"):
        text = "".join(reader.texts[tag])
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "url(" not in text
        assert "@import" not in text
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    return reader


def say(session: Session, words: str, op: Any = "append", sources: list[int] | None = None) -> int:
    data = {"content": [{"type": "text", "text": words}], "source": USER}
    return int(session.append("user/message", data, surface_op=op, source_event_seqs=sources).seq)


def long_session(length: int) -> Session:
    session = Session("long", check_payloads=False, clock=lambda: 0)
    for number in range(length):
        if number % 10 == 0:
            session.append("turn/start", {"turn": number // 10 + 1, "trigger": {"kind": "message", "source": USER}})
        say(session, f"message {number}")
        if number == length // 2:
            nodes = list(session.surface.nodes)[-3:]
            say(session, "a summary", Replace(nodes[0], nodes[-1]), nodes)
    return session
