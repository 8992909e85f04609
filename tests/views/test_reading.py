"""A log that is read once must look as one that is read each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dsh_session import Context, Replace, Session, samples
from dsh_session.compaction.meter import TokenMeter
from dsh_session.views import charts, diagrams, frames, mermaid
from dsh_session.views.frames.spans import span_starts, spans, spans_within
from dsh_session.views.page import page
from dsh_session.views.page.material import Material, Prices
from dsh_session.views.reading import Log, Reading, log_of, once
from tests.views.hostile import hostile_session
from tests.views.logs import LOGS

SAMPLE = samples.load("pi-compacted-twice")


@pytest.mark.parametrize("name", sorted(set(frames.COLUMNS) - {"sessions", "trace"}))
def test_every_frame_of_a_reading_is_that_of_its_session(name: str) -> None:
    made = getattr(frames, name)
    assert made(Reading.of(SAMPLE)).equals(made(SAMPLE))


@pytest.mark.parametrize("name", sorted(set(diagrams.__all__) - {"lineage"}))
def test_every_diagram_of_a_reading_is_that_of_its_session(name: str) -> None:
    draw = getattr(diagrams, name)
    reading = Reading.of(SAMPLE)
    assert draw(reading).dot == draw(SAMPLE).dot
    assert draw(reading, at=900).dot == draw(SAMPLE, at=900).dot


@pytest.mark.parametrize("name", ["context", "lifetimes", "prefix_reuse", "tokens"])
def test_every_chart_of_a_reading_is_that_of_its_session(name: str) -> None:
    draw = getattr(charts, name)
    assert draw(Reading.of(SAMPLE)).description == draw(SAMPLE).description.removeprefix("pi-compacted-twice: ")


def test_a_reading_is_as_the_log_was_and_knows_what_was_worked_out() -> None:
    session = Session("live", clock=lambda: 0)
    data = {"content": [], "source": {"kind": "user"}}
    session.append("user/message", data, surface_op="append")
    reading = Reading.of(session)
    session.append("user/message", data, surface_op=Replace(0, 0), source_event_seqs=[0])
    assert (list(reading.nodes), len(reading.events), list(reading.replacements)) == ([0], 1, [])
    assert log_of(reading) is reading
    assert log_of(reading, at=-1).nodes == []
    made: list[int] = []
    for _ in range(3):
        once(reading, "what", lambda: made.append(1))
        once(Log(*reading), "what", lambda: made.append(2))
    assert made == [1, 2, 2, 2]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_prices_are_those_of_the_usual_meter(path: object) -> None:
    from dsh_session import load

    material = Material(load(path))  # type: ignore[arg-type]
    meter = TokenMeter()
    assert [material.meter.estimate_event(event) for event in material.events] == [
        meter.estimate_event(event) for event in material.events
    ]


def test_prices_of_hostile_texts_and_of_odd_blocks_are_those_of_the_usual_meter() -> None:
    session = hostile_session()
    odd = [{"type": "image"}, {"type": "text"}, {"type": "text", "text": 5}, {"type": "tool-call", "id": "c"}]
    nested = [{"type": "tool-result", "content": [{"type": "text", "text": "in"}, *odd]}, {"type": "tool-result"}]
    for type_ in ("user/message", "assistant/message", "tool/result", "context/message", "steering/message"):
        for content in ([], odd, nested, [{"type": "reasoning", "text": "\ud83d alone"}]):
            session.append(type_, {"content": content}, surface_op="append")
    material = Material(session)
    meter, prices = TokenMeter(), Prices(material.entries)
    for event in session.events:
        assert prices.estimate_event(event) == meter.estimate_event(event), event


@pytest.mark.parametrize("what", ["turn", "step"])
@pytest.mark.parametrize("path", LOGS[:6], ids=lambda path: path.stem)
def test_some_spans_are_those_of_all(path: object, what: str) -> None:
    from dsh_session import load

    events = load(path).events  # type: ignore[arg-type]
    every, starts = spans(events, what), span_starts(events, what)
    assert len(every) == len(starts)
    for first in range(len(every)):
        assert spans_within(events, what, starts, first, len(every)) == every[first:]
        assert spans_within(events, what, starts, first, first + 1) == every[first : first + 1]


def test_some_spans_of_a_log_whose_boundaries_do_not_match_are_those_of_all() -> None:
    session = Session("torn", check_payloads=False, clock=lambda: 0)
    order = "turn/end step/end turn/start step/start step/start turn/start step/end step/start turn/end step/end"
    for at, name in enumerate(order.split() * 3):
        session.append(name, {"turn": at} if name.startswith("turn") else {"step": at})
    for what in ("turn", "step"):
        every, starts = spans(session.events, what), span_starts(session.events, what)
        assert len(every) == len(starts)
        for first in range(len(every)):
            assert spans_within(session.events, what, starts, first, len(every)) == every[first:]


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("session.jsonl", "and no str: load(path) makes a session of a log"),
        (Path("session.jsonl"), "load(path) makes a session of a log"),
        (SAMPLE.events, "and no FixedView: SurfaceHistory(events) takes bare events"),
        (None, "and no NoneType"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_log_is_refused_with_what_to_give(source: Any, advice: str) -> None:
    for draw in (diagrams.surface, diagrams.nesting, frames.events, frames.context, charts.context, mermaid.surface):
        with pytest.raises(TypeError, match="a view takes a Session, a SurfaceHistory or a Reading") as caught:
            draw(source)
        assert advice in str(caught.value)
    with pytest.raises(TypeError, match="page takes a Session and no"):
        page(source)


@pytest.mark.parametrize("store", [None, SAMPLE, 5])
def test_what_is_no_store_is_refused_with_what_to_give(store: Any) -> None:
    for view in (diagrams.lineage, frames.sessions):
        with pytest.raises(TypeError, match=r"takes a store of sessions, such as ctx\.sessions, and no"):
            view(store)
    with Context() as ctx, pytest.raises(TypeError, match="and no Context"):
        page(SAMPLE, store=ctx)  # type: ignore[arg-type]
