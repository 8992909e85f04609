from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure

from dsh_session import Replace, Session, SurfaceHistory, load
from dsh_session.views import charts
from dsh_session.views.charts.chart import Chart
from dsh_session.views.charts.parts import Mark, mark, unmarked
from dsh_session.views.charts.style import FILLS, LINE
from dsh_session.views.palette import DARK, LIGHT, contrast
from dsh_session.views.window import ViewError
from tests.views.drawn_logs import COMPACTED, LOGS, name_of, sessions
from tests.views.hostile import HOSTILE, hostile_session

if TYPE_CHECKING:
    from collections.abc import Callable

CHARTS = ("context", "lifetimes", "tokens", "prefix_reuse", "trace")


def draw(name: str, source: Any, **options: Any) -> Figure:
    make: Callable[..., Figure] = getattr(charts, name)
    return make(source, "a", **options) if name == "trace" else make(source, **options)


@pytest.fixture(scope="module")
def compacted() -> Session:
    return load(next(path for path in LOGS if path.stem == "openhands-condensed-twice"))


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_names_both_axes_and_says_what_it_shows(name: str, compacted: Session) -> None:
    chart = draw(name, compacted)
    assert isinstance(chart, Chart)
    (axes,) = chart.axes
    assert axes.get_xlabel()
    assert axes.get_ylabel() or [text.get_text() for text in axes.get_yticklabels()] == ["the text"]
    assert chart.description.startswith("openhands-condensed-twice: ")
    assert repr(chart) == f"<Chart: {chart.description}>"


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_goes_onto_axes_that_were_given(name: str, compacted: Session) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw(name, compacted, ax=right) is figure
    assert right.get_xlabel()
    assert not left.has_data()


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_takes_its_theme_by_name_as_diagrams_do(name: str, compacted: Session) -> None:
    by_name, by_colours = (draw(name, compacted, theme=theme) for theme in ("dark", DARK))
    assert by_name.get_facecolor() == by_colours.get_facecolor() != draw(name, compacted).get_facecolor()


@pytest.mark.parametrize("name", CHARTS)
def test_axes_of_no_figure_are_refused(name: str, compacted: Session) -> None:
    axes = Figure().subplots()
    axes.remove()
    with pytest.raises(ValueError, match="stand in no figure"):
        draw(name, compacted, ax=axes)


@pytest.mark.parametrize("name", CHARTS)
def test_a_log_without_events_is_drawn_with_a_word(name: str) -> None:
    chart = draw(name, Session("empty"))
    words = [text.get_text() for text in chart.axes[0].texts]
    assert any("yet" in word or "compare" in word for word in words)
    assert "<svg" in chart.svg  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", COMPACTED, ids=name_of)
@pytest.mark.parametrize("name", CHARTS)
def test_real_logs_are_drawn(name: str, path: Path) -> None:
    chart = draw(name, load(path))
    chart.draw_without_rendering()
    assert chart.axes[0].has_data()


@pytest.mark.parametrize("name", CHARTS)
@settings(max_examples=8)
@given(session=sessions())
def test_no_log_is_an_error(name: str, session: Session) -> None:
    draw(name, session).draw_without_rendering()
    draw(name, SurfaceHistory(event.to_dict() for event in session.events))


@pytest.mark.parametrize("name", CHARTS)
def test_hostile_strings_are_drawn_and_stay_text(name: str) -> None:
    session = hostile_session(
        lambda at: HOSTILE[at % len(HOSTILE)][:200], name="$x$ <script>alert(1)</script> 你好 \x1b"
    )
    picture = draw(name, session).svg  # type: ignore[attr-defined]
    root = ET.fromstring(picture)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert "\x1b" not in picture
    assert "<script" not in picture


@pytest.mark.parametrize("text", [text[:300] for text in HOSTILE if text], ids=lambda text: repr(text)[:20])
def test_any_text_can_be_traced(text: str) -> None:
    session = Session("tour", clock=lambda: 0, check_payloads=False)
    session.append("user/message", {"content": [{"type": "text", "text": text}]}, surface_op="append")
    session.append("assistant/message", {"content": []}, surface_op="append")
    ET.fromstring(charts.trace(session, text).svg)  # type: ignore[attr-defined]


def test_the_same_log_gives_the_same_bytes_in_every_process(compacted: Session) -> None:
    path = next(path for path in COMPACTED if path.stem == compacted.id)
    program = (
        "import sys, hashlib; from dsh_session import load; from dsh_session.views import charts;"
        "print(hashlib.sha256(charts.context(load(sys.argv[1])).svg.encode()).hexdigest())"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_a_chart_is_drawn_twice_to_the_same_bytes_whatever_the_settings_of_its_user(compacted: Session) -> None:
    import matplotlib as mpl

    before = charts.lifetimes(compacted).svg  # type: ignore[attr-defined]
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": None, "axes.grid": True, "text.usetex": False}):
        assert charts.lifetimes(compacted).svg == before  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_chart_saves_itself_and_says_no_date(ending: str, compacted: Session, tmp_path: Path) -> None:
    target = tmp_path / f"chart.{ending}"
    charts.tokens(compacted).savefig(target)
    content = target.read_bytes()
    assert content[:5] in {b"<?xml", b"%PDF-", b"\x89PNG\r"}
    assert b"dc:date" not in content
    assert b"CreationDate" not in content


def test_a_notebook_gets_a_vector_picture_and_a_line_of_text(compacted: Session) -> None:
    chart = charts.context(compacted)
    bundle = chart._repr_mimebundle_()  # type: ignore[attr-defined]
    assert set(bundle) == {"text/plain", "image/svg+xml"}
    assert 'role="img" aria-label="openhands-condensed-twice' in bundle["image/svg+xml"]
    assert set(chart._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}  # type: ignore[attr-defined]
    assert set(chart._repr_mimebundle_(exclude={"text/plain"})) == {"image/svg+xml"}  # type: ignore[attr-defined]


def test_the_areas_of_a_request_add_up_to_its_estimate(compacted: Session) -> None:
    from dsh_session.views import frames

    table = frames.context(compacted)
    tops = [patch.get_data().values for patch in charts.context(compacted).axes[0].patches]  # type: ignore[attr-defined]
    assert tops[-1].tolist() == table["total"].to_list()


def test_every_compaction_is_marked_and_labelled(compacted: Session) -> None:
    axes = charts.context(compacted).axes[0]
    labels = [text.get_text() for text in axes.texts if text.get_text().startswith("compaction")]
    assert [label.splitlines()[0] for label in labels] == ["compaction 1", "compaction 2"]


def test_lifetimes_have_a_bar_for_each_node(compacted: Session) -> None:
    from dsh_session.views import frames

    axes = charts.lifetimes(compacted).axes[0]
    bars = sum(len(collection.get_paths()) for collection in axes.collections)
    table = frames.events(compacted)
    assert bars == int(table["surface_op"].notna().sum())


def replaced(times: int) -> Session:
    """Make a log in which every third event replaces the one or two nodes before it."""
    session = Session("replaced", clock=lambda: 0)
    data = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}}
    for number in range(times):
        session.append("user/message", data, surface_op="append")
        session.append("user/message", data, surface_op="append")
        first, last = session.seq - 1 - number % 2, session.seq - 1
        session.append(
            "user/message", data, surface_op=Replace(first, last), source_event_seqs=list(range(first, last + 1))
        )
    return session


def told(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.axes[0].texts)


def dashes(figure: Figure) -> int:
    return sum(line.get_linestyle() == "--" for line in figure.axes[0].lines)


def test_a_chart_says_how_many_replacements_it_marks() -> None:
    few, many = charts.lifetimes(replaced(150)), charts.lifetimes(replaced(400))
    assert (dashes(few), dashes(many)) == (150, 150)
    assert "dashed lines mark" not in told(few)
    assert "dashed lines mark 150 of 400 replacements, the largest" in told(many)


def test_all_replacements_are_marked_for_who_asks_or_none() -> None:
    session = replaced(400)
    everything = charts.lifetimes(session, marks=None)
    assert dashes(everything) == 400
    assert "dashed lines mark" not in told(everything)
    nothing = charts.lifetimes(session, marks=0)
    assert dashes(nothing) == 0
    assert "none of 400 replacements is marked" in told(nothing)
    assert "a dashed line marks 1 of 400 replacements" in told(charts.lifetimes(session, marks=1))


def test_a_window_shows_the_nodes_and_the_replacements_of_its_events() -> None:
    session = replaced(400)
    start, stop = 300, 390
    chart = charts.lifetimes(session, window=(start, stop))
    history = SurfaceHistory(session)
    there = set(history.at(start)).union(*(history.at(seq) for seq in range(start, stop)))
    left, right = chart.axes[0].get_xlim()
    assert left == start
    assert stop <= right < stop + 1
    assert dashes(chart) == 30
    assert f"lifetimes of {len(there):,} surface nodes over seq 300 to 389, 30 replacements" in repr(chart)
    assert "90 events of 1,200" in told(chart)
    assert chart.axes[0].get_title(loc="left").endswith("30 replacements")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"window": (5, 5)}, "VIEW_WINDOW"),
        ({"window": (-1, 5)}, "VIEW_SEQ"),
        ({"window": (0, 10_000)}, "VIEW_SEQ"),
        ({"marks": -1}, "VIEW_WINDOW"),
    ],
)
def test_a_window_that_is_none_is_refused(options: dict[str, Any], code: str, compacted: Session) -> None:
    with pytest.raises(ViewError) as caught:
        charts.lifetimes(compacted, **options)
    assert caught.value.code == code


def test_every_chart_with_marks_says_which_are_missing() -> None:
    marks = [Mark(at, "", at) for at in range(151)]
    assert unmarked(marks, "removal") == "dashed lines mark 150 of 151 removals, the largest"
    assert unmarked(marks[1:], "removal") == ""
    session = Session("long", clock=lambda: 0, check_payloads=False)
    data = {"content": [{"type": "text", "text": "x" * 40}]}
    for _ in range(160):
        session.append("user/message", data, surface_op="append")
        last = session.seq - 1
        session.append("assistant/message", data, surface_op="append")
        session.append("user/message", data, surface_op=Replace(last, last), source_event_seqs=[last])
    for name in ("context", "prefix_reuse"):
        assert "dashed lines mark 150 of 159 surface changes" in told(draw(name, session))


def test_thousands_of_nodes_become_areas_and_crowded_lanes_are_thinned() -> None:
    session = Session("many", clock=lambda: 0)
    data = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}}
    for number in range(3_000):
        session.append("user/message", data, surface_op="append")
        if number % 2:
            last = session.seq - 1
            session.append("user/message", data, surface_op=Replace(last, last), source_event_seqs=[last])
    chart = charts.lifetimes(session)
    assert sum(len(collection.get_paths()) for collection in chart.axes[0].collections) <= 2_000
    assert any("crowded lanes show one node of" in text.get_text() for text in chart.axes[0].texts)
    assert len(chart.svg) < 3_000_000  # type: ignore[attr-defined]


def test_very_many_requests_share_columns() -> None:
    session = Session("long", clock=lambda: 0, check_payloads=False)
    for _ in range(2_500):
        session.append("assistant/message", {"content": [{"type": "text", "text": "x"}]}, surface_op="append")
    axes = charts.context(session).axes[0]
    assert axes.get_xlabel() == "request (number); a column shows the largest of 5 requests"
    assert max(len(patch.get_data().values) for patch in axes.patches) == 500  # type: ignore[attr-defined]


def test_only_the_heaviest_marks_are_labelled_and_labels_do_not_cover_each_other() -> None:
    axes = Figure().subplots()
    mark(axes, [Mark(at / 100, f"m{at}", at) for at in range(100)], LIGHT)
    assert [text.get_text() for text in axes.texts] == ["m96", "m97", "m98"]
    assert len({text.get_position()[1] for text in axes.texts}) == 3


def test_every_fill_has_a_line_that_can_be_seen_and_no_two_look_alike() -> None:
    kinds = [
        FILLS[name] for name in ("system", "tools", "prefix", "summary", "context", "user", "assistant", "steering")
    ]
    assert len({(fill.colour, fill.hatch) for fill in kinds}) == len(kinds)
    assert len({fill.hatch for fill in kinds}) == len(kinds), "they must be told apart in grey"
    for fill in FILLS.values():
        assert contrast(fill.colour, LINE) >= 3.0
        assert contrast(fill.colour, DARK.page) >= 3.0


def test_marks_that_weigh_the_same_are_drawn_all_over_the_axis() -> None:
    axes = Figure().subplots()
    axes.set_xlim(0, 20_000)
    mark(axes, [Mark(at, f"m{at}", 1) for at in range(20_000)], LIGHT)
    places = sorted(float(np.asarray(line.get_xdata())[0]) for line in axes.lines)
    gaps = [after - before for before, after in pairwise([0, *places, 20_000])]
    assert max(gaps) < 3 * 20_000 / len(places)
