"""Strings that a log may hold and that no view may fall for, and a session made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsh_session import Replace, Session

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</style></title></svg></pre><script>alert(1)</script>",
    "]]> & &amp; &lt;b&gt; &#60; &bogus;",
    '" onload="alert(1)',
    "' onload='alert(1)",
    "javascript:alert(1)",
    "\\N \\G \\L \\E \\T \\H \\l \\r \\n",
    "<b>bold</b><br/><table><tr><td>cell</td></tr></table>",
    "<HTML-like>",
    "ends in a backslash \\",
    "ends in three \\\\\\",
    'a "quoted" word"',
    '"]; evil [label="x',
    "nul \x00 bell \x07 escape \x1b[31m delete \x7f next line \x85 c1 \x9b31m",
    "\ud83d alone \udc00",
    "\ufffe \uffff \ufdd0",
    "\u202eright to left\u202c \u2066isolate\u2069 \u200f\u200e\u061c",
    "zero\u200bwidth \ufeff \u2028 \u2029 \U000e0041\U000e0042",
    "שלום עולם مرحبا بالعالم",
    "你好世界你好世界你好世界你好世界你好世界",
    "=HYPERLINK(1)",
    "{{tools}} {% raw %} ${x} $x %s %n",
    "[bold red]markup[/] [link=file:///]x[/link]",
    "CON",
    "../../etc/passwd",
    "",
    " \t\r\n ",
    "W" * 1_000_000,
    "\x00" * 1_000_000,
    "<" * 1_000_000,
    "\ud83d" * 100_000,
    "a\u0301" * 100_000,
    "\u0301" * 100_000,
]
"""One of each kind, and some of them very long."""


def each_in_turn(at: int) -> str:
    return HOSTILE[at % len(HOSTILE)]


def hostile_session(text: Callable[[int], str] = each_in_turn, *, name: str = "hostile") -> Session:
    """A session with every kind of node, nested replacements and log-only events, all of whose texts are given."""
    session = Session(name, clock=lambda: 0, check_payloads=False)
    counter = iter(range(10**9))

    def said() -> str:
        return text(next(counter))

    def message(type_: Any, op: Any = "append", sources: Any = None, **more: Any) -> int:
        data = {"content": [{"type": "text", "text": said()}], **more}
        return session.append(type_, data, surface_op=op, source_event_seqs=sources).seq

    def replace(start: int, stop: int, *cited: int) -> None:
        nodes = list(session.surface.nodes)[start:stop]
        source = {"kind": "plugin", "plugin": "compact"}
        message("user/message", Replace(nodes[0], nodes[-1]), [*cited, *nodes], source=source)

    session.append("turn/start", {"turn": said(), "trigger": {"kind": said(), "source": {"kind": said()}}})
    session.append(
        "request/header", {"header": {"config": {"provider": "p", "model": "m"}, "tools": said()}, "reason": "initial"}
    )
    for _ in range(len(HOSTILE) // 2 + 1):
        message("user/message", source={"kind": said()})
        call = {"type": "tool-call", "id": said(), "name": said(), "arguments": said()}
        session.append("assistant/message", {"content": [{"type": "text", "text": said()}, call]}, surface_op="append")
        session.append("tool/call", {"name": said(), "arguments": said(), "callId": said()})
        message("tool/result", isError=True)
        message("context/message", source={"kind": "plugin", "plugin": said()})
        message("steering/message", source={"kind": said()})
        session.append("todo/write", {"todos": [{"content": said(), "status": "in_progress"}]})
        session.append("hook/result", {"handlerId": said(), "decision": said(), "stderrSummary": said()})
        session.append("prompt/blocked", {"content": [{"type": said()}], "reason": said()})
        session.append("turn/end", {"turn": said(), "reason": {"kind": "error", "message": said()}})
    start = session.append("compact/start", {"turn": said()}).seq
    summary = session.append("compact/summary", {"summary": [{"type": "text", "text": said()}]}).seq
    end = session.append("compact/end", {"turn": 1, "error": said()}).seq
    replace(0, 6, start, summary, end)
    replace(0, 3)
    replace(1, 2)
    session.append(said()[:1000] or "plugin/empty", {said()[:1000]: said()})
    return session


ODD: list[Any] = [
    *(None, True, 0, -1.5, 2**53 - 1, "", "{{tools}}"),
    *([], {}, [None], [[]], {"kind": None}, [1, "a", {}], {"a": {}}),
]
"""Payload values that no declared shape has."""
