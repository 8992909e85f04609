from __future__ import annotations

import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from dsh_session import Context, Replace, Session, SessionEvent, SurfaceHistory, load, loads
from dsh_session.views import escape
from dsh_session.views.html import render, repr_css
from tests.views.hostile import HOSTILE, ODD, hostile_session
from tests.views.test_diagrams_surface import LOGS, long, sketch

if TYPE_CHECKING:
    from pathlib import Path

TAGS = {
    *("style", "div", "header", "b", "bdi", "span", "details", "summary", "p", "pre"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


class Page(HTMLParser):
    """Tags, attributes, text, and the cells of each row."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_a_session_shows_its_numbers_its_surface_and_its_log() -> None:
    page = Page(render(sketch()))
    assert page.text.startswith("Session sketch 14 events, 3 nodes on the surface, 3 replacements")
    assert [row[:2] for row in page.rows if len(row) == 3][1:4] == [
        ["12", "summary"],
        ["4", "user"],
        ["13", "tool result"],
    ]
    assert "in place of 9 … 3: summed up" in page.text
    assert page.tags.count("details") >= 3


def test_an_event_shows_its_place_its_text_and_its_payload() -> None:
    page = Page(render(sketch().events[9]))
    assert page.text.startswith("Event 9 user/message summary")
    assert ["surface", "takes the place of 0 … 2"] in page.rows
    assert ["sources", "5 events: 7, 8, 0, 1, 2"] in page.rows
    assert '"text": "summed up"' in page.text
    assert ["surface", "log only"] in Page(render(sketch().events[6])).rows


def test_a_surface_shows_its_links() -> None:
    page = Page(render(sketch().surface))
    assert page.rows == [
        ["position", "seq", "prev", "next", ""],
        ["0", "12", "none", "4", ""],
        ["1", "4", "12", "13", ""],
        ["2", "13", "4", "none", ""],
    ]
    assert "head 12, tail 13" in page.text
    assert "empty" in Page(render(Session("s").surface)).text


def test_a_long_session_is_shown_in_a_window_whose_counts_add_up() -> None:
    page = Page(render(long(1_000)))
    more = [row[0] for row in page.rows if len(row) == 1]
    assert len(more) == 2
    for line in more:
        left_out, _, kinds = line.partition(" more: ")
        assert int(left_out.removeprefix("… ").replace(",", "")) == 991
        assert sum(map(int, re.findall(r"\d+", kinds))) == 991
    assert len(render(long(1_000))) < 40_000
    assert [row for row in Page(render(long(1_000).surface)).rows if len(row) == 1] == [["… 991 more"]]


def test_a_text_that_is_longer_than_its_line_can_be_unfolded() -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    session.append("user/message", {"content": [{"type": "text", "text": "word " * 100}]}, surface_op="append")
    session.append("user/message", {"content": [{"type": "text", "text": "short"}]}, surface_op="append")
    session.append("user/message", {"content": []}, surface_op="append")
    html = render(session)
    assert html.count("word word") >= 4
    assert Page(html).tags.count("pre") == 2  # the long one, on the surface and in the log


def test_what_a_load_had_to_say_is_shown() -> None:
    log = loads(
        b'{"type":"session","version":0,"id":"s","createdAt":0,"cwd":"relative/<b>"}\n'
        b'{"type":"turn/start","seq":0,"time":0,"data":{}}\n'
    )
    assert log.findings
    page = Page(render(log))
    assert "Findings" in page.text
    assert log.findings[0].message[:20] in page.text


def test_a_store_shows_its_sessions_each_fork_beneath_its_parent() -> None:
    with Context(clock=lambda: 0) as ctx:
        assert "0 live sessions" in Page(render(ctx.sessions)).text
        parent = ctx.sessions.create("parent")
        parent.append("turn/start", {"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        parent.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
        ctx.sessions.create("other")
        child = ctx.sessions.fork(parent, child_session_id="child")
        child.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        page = safe(render(ctx.sessions))
        assert page.text.startswith("Store 3 live sessions")
        assert page.rows == [
            ["events", "nodes", "replacements", "session", "forked from"],
            ["2", "0", "0", "parent", ""],
            ["3", "0", "0", "· child", "parent at 1"],
            ["0", "0", "0", "other", ""],
        ]
        assert ctx.sessions._repr_html_() == render(ctx.sessions)


def test_a_store_of_very_many_sessions_is_shown_in_a_window_whose_counts_add_up() -> None:
    with Context(clock=lambda: 0) as ctx:
        for at in range(200):
            ctx.sessions.create(f"s{at}")
        page = safe(render(ctx.sessions))
    (more,) = [row[0] for row in page.rows if len(row) == 1]
    shown = [row for row in page.rows if len(row) == 5][1:]
    assert len(shown) + int(re.sub(r"\D", "", more)) == 200
    assert (shown[0][3], shown[-1][3]) == ("s0", "s199")


def test_a_history_shows_what_each_replacement_stands_for_and_what_took_its_place() -> None:
    history = SurfaceHistory(sketch())
    page = safe(render(history))
    assert page.text.startswith("History 14 events, 3 replacements, 3 nodes on the surface of")
    rows = {row[0]: row for row in page.rows if len(row) == 6}
    assert list(rows) == ["seq", "9", "12", "13"]
    assert (rows["9"][1:4], rows["9"][5]) == (["3", "3", "1"], "replaced by 12")
    for seq in (9, 12, 13):
        assert rows[str(seq)][1] == str(len(history.children(seq)))
        assert rows[str(seq)][2] == str(len(history.originals(seq)))
        assert rows[str(seq)][3] == str(history.depth(seq))
    assert history._repr_html_() == render(history)
    assert "Nothing was replaced." in safe(render(SurfaceHistory([]))).text


def test_hostile_names_and_texts_in_a_store_and_a_history_stay_texts() -> None:
    with Context(clock=lambda: 0) as ctx:
        for at, words in enumerate(HOSTILE[:26]):
            ctx.sessions.create(f"{words}{at}", meta={"cwd": "/x"})
        safe(render(ctx.sessions))
    safe(render(SurfaceHistory(hostile_session())))
    safe(render(SurfaceHistory([event.to_dict() for event in sketch().events])))


def test_what_a_terminal_gets_is_a_short_line_of_visible_characters_without_an_address() -> None:
    session = Session("x\x1b[31m" + "W" * 5000, clock=lambda: 0, check_payloads=False)
    with Context(clock=lambda: 0) as ctx:
        shown = [session, session.surface, SurfaceHistory(session), ctx.sessions, ctx]
        shown += [session.append(f"x/{words[:2000]}", {}) for words in HOSTILE]
        for each in shown:
            line = repr(each)
            assert line.isprintable()
            assert line.startswith(f"<{type(each).__name__} ")
            assert " at 0x" not in line
            assert not isinstance(each, SessionEvent) or len(line) < 120


def safe(document: str) -> Page:
    page = Page(document)
    assert set(page.tags) <= TAGS
    assert page.attributes <= {"class", "open", "title", "scope", "colspan"}
    assert page.tags.count("style") == 1
    assert not set(page.text) & set("\x00\x07\x1b\x7f\x85\ud83d\u202e\u2066\u200f\u200b\ufeff\ufffe")
    document.encode()
    return page


def test_a_hostile_session_becomes_nothing_but_text() -> None:
    session = hostile_session(name="</style><script>alert(1)</script>\x00\ud83d")
    page = safe(render(session))
    assert "</style><script>alert(1)</script>␀\ufffd" in page.text
    for event in session.events:
        safe(render(event))
    safe(render(session.surface))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_each_hostile_text_is_shown_as_it_is_or_cut(text: str) -> None:
    session = Session("s", clock=lambda: 0, check_payloads=False)
    event = session.append(f"x/{text}", {"key": text, text[:1000]: 1})
    page = safe(render(event))
    assert f"x/{escape.one_line(text[:60])}"[:60].rstrip() in page.text
    assert len(render(event)) < 250_000
    safe(render(session))


def test_a_payload_of_any_shape_is_shown() -> None:
    for value in ODD:
        session = Session("s", clock=lambda: 0, check_payloads=False)
        session.append("x/odd", value)
        session.append("user/message", {"content": [], "source": value}, surface_op="append")
        session.append("assistant/message", {"content": [{"type": value, "text": value}]}, surface_op="append")
        for shown in (session, *session.events):
            safe(render(shown))


def test_a_payload_nested_as_deep_as_a_log_may_be_is_shown() -> None:
    data: Any = []
    for _ in range(490):
        data = [data]
    session = Session("s", clock=lambda: 0, check_payloads=False)
    safe(render(session.append("x/deep", {"a": data})))


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    for time_ in (0, 2**53 - 1):
        session = Session("s", clock=lambda now=time_: now)  # type: ignore[misc]
        page = safe(render(session.append("todo/write", {"todos": []})))
        assert ("1970-01-01 00:00:00 UTC" if time_ == 0 else "9007199254740991 ms") in page.text


def test_an_event_that_cites_very_many_is_cut() -> None:
    session = long(500)
    nodes = list(session.surface.nodes)
    op = Replace(nodes[0], nodes[-1])
    event = session.append("user/message", {"content": []}, surface_op=op, source_event_seqs=nodes)  # type: ignore[arg-type]
    page = safe(render(event))
    assert "500 events: 0, 1, 2" in page.text
    assert len(render(event)) < 60_000


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_recorded_log_is_shown(path: Path) -> None:
    session = load(path)
    assert len(render(session)) < 80_000
    safe(render(session))


def test_the_core_shows_itself_through_this() -> None:
    session = sketch()
    assert session._repr_html_() == render(session)
    assert session.events[0]._repr_html_() == render(session.events[0])
    assert session.surface._repr_html_() == render(session.surface)


def test_showing_needs_none_of_the_libraries_that_draw() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['graphviz', 'pandas', 'matplotlib', 'IPython', 'jinja2']))\n"
        "from dsh_session import Session; print(len(Session('s')._repr_html_()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 1000


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="a dict has no view"):
        render({})  # type: ignore[arg-type]


def test_the_style_sheet_is_always_the_same_and_uses_only_what_it_declares() -> None:
    css = repr_css()
    assert css == repr_css()
    assert "url(" not in css
    assert set(re.findall(r"var\((--dsh-[\w-]+)", css)) <= set(re.findall(r"(--dsh-[\w-]+):", css))


def test_showing_is_the_same_every_time_and_keeps_no_payload() -> None:
    session = sketch()
    assert render(session) == render(session)


def test_a_session_of_a_hundred_thousand_events_is_shown_at_once() -> None:
    session = Session("big", clock=lambda: 0, check_payloads=False)
    for _ in range(100_000):
        session.append("step/start", {"turn": 1, "step": 1})
    start = time.perf_counter()
    document = render(session)
    assert time.perf_counter() - start < 3
    assert len(document) < 40_000
