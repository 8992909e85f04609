from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings

from dsh_session import Session, SurfaceHistory, load
from dsh_session.core.errors import SurfaceError
from dsh_session.views import frames
from tests.views.drawn_logs import LOGS, name_of, sessions
from tests.views.hostile import HOSTILE, hostile_session

if TYPE_CHECKING:
    from collections.abc import Callable

# The frame of sessions is made of a store, not of a log.
OF_A_LOG = sorted(set(frames.COLUMNS) - {"sessions"})


def build(name: str, source: Any) -> pd.DataFrame:
    make: Callable[..., pd.DataFrame] = getattr(frames, name)
    return make(source, "a") if name == "trace" else make(source)


@pytest.fixture(scope="module", params=LOGS, ids=name_of)
def log(request: pytest.FixtureRequest) -> Session:
    return load(request.param)


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b)


@pytest.mark.parametrize("name", OF_A_LOG)
def test_every_column_is_declared_once_and_documented_in_a_sentence(name: str) -> None:
    declared = frames.COLUMNS[name]
    assert len({column.name for column in declared}) == len(declared)
    for column in declared:
        assert column.doc.endswith("."), column.name
        assert "\n" not in column.doc
        assert "|" not in column.doc, "it stands in a table of the documentation"


@pytest.mark.parametrize("name", OF_A_LOG)
def test_dtypes_are_as_declared_for_a_log_without_events_and_for_every_other(name: str, log: Session) -> None:
    for table in (build(name, Session("empty")), build(name, log)):
        assert list(table.columns) == [column.name for column in frames.COLUMNS[name]]
        for column in frames.COLUMNS[name]:
            assert table.dtypes[column.name] == column.dtype, column.name
            if column.dtype == "category":
                known = len(column.categories)
                assert list(table[column.name].cat.categories)[:known] == list(column.categories)


@pytest.mark.parametrize("name", OF_A_LOG)
def test_a_history_gives_the_same_frame_as_its_session(name: str, log: Session) -> None:
    expected = build(name, log)
    same(build(name, SurfaceHistory(log)), expected)
    same(build(name, SurfaceHistory(event.to_dict() for event in log.events)), expected)


@settings(max_examples=25)
@given(sessions())
def test_no_log_is_an_error_and_every_dtype_holds(session: Session) -> None:
    history = SurfaceHistory(event.to_dict() for event in session.events)
    for name in OF_A_LOG:
        table = build(name, session)
        assert all(table.dtypes[column.name] == column.dtype for column in frames.COLUMNS[name])
        same(build(name, history), table)


@pytest.mark.parametrize("name", OF_A_LOG)
def test_reading_a_log_leaves_no_decoded_payload_behind(name: str, log: Session) -> None:
    fresh = Session("fresh", seed=[event.to_dict() for event in log.events])
    build(name, fresh)
    assert all(event._data is msgspec.UNSET for event in fresh.events)


@pytest.fixture(scope="module")
def hostile() -> Session:
    return hostile_session(lambda at: HOSTILE[at % len(HOSTILE)][:2_000])


@pytest.mark.parametrize("name", OF_A_LOG)
def test_a_log_whose_every_string_is_hostile_has_every_frame(name: str, hostile: Session) -> None:
    table = build(name, hostile)
    assert "<script>" not in table.to_html()
    str(table).encode()
    table.to_csv().encode()
    assert all(table.dtypes[column.name] == column.dtype for column in frames.COLUMNS[name])


@pytest.mark.parametrize("name", ["surface", "messages", "context"])
@pytest.mark.parametrize("at", [-2, 10**9, 1.0, True, "1"])
def test_a_moment_that_never_was_is_refused(name: str, at: Any) -> None:
    session = Session("tour", clock=lambda: 0)
    session.append("todo/write", {"todos": []})
    for source in (session, SurfaceHistory(session)):
        with pytest.raises(SurfaceError) as caught:
            getattr(frames, name)(source, at=at)
        assert caught.value.code == "RANGE_NOT_FOUND"
        assert "the log has" in str(caught.value)


@pytest.mark.parametrize("name", ["surface", "messages"])
@settings(max_examples=10)
@given(session=sessions())
def test_a_frame_at_a_moment_is_the_frame_of_the_log_that_ended_there(name: str, session: Session) -> None:
    history = SurfaceHistory(session)
    for at in range(-1, session.seq):
        earlier = SurfaceHistory(session.events[: at + 1])
        expected = build(name, earlier)
        same(getattr(frames, name)(session, at=at), expected)
        same(getattr(frames, name)(history, at=at), expected)
        if name == "surface":
            assert expected["seq"].to_list() == list(history.at(at))


def test_integers_that_no_json_reader_keeps_are_no_error() -> None:
    session = Session("big", check_payloads=False, clock=lambda: 0)
    content = [{"type": "image", "size": 2**53 - 1}, {"type": "text", "text": 7}]
    session.append("assistant/message", {"content": content}, surface_op="append")
    for name in OF_A_LOG:
        build(name, session)
