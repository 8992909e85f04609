from __future__ import annotations

import time
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Context, Recorder, lineage, loads
from dsh_session.views import frames
from tests.core.stores import context, no_collector, todo, turn
from tests.views.hostile import HOSTILE, hostile_session


def rows(ctx: Context) -> dict[str, dict[str, Any]]:
    """The frame's rows by id, `None` for what is missing."""
    table = frames.sessions(ctx.sessions)
    return {
        row["id"]: {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    }


def test_every_column_is_declared_once_and_documented_in_a_sentence() -> None:
    declared = frames.COLUMNS["sessions"]
    assert len({column.name for column in declared}) == len(declared)
    for column in declared:
        assert column.doc[0].isupper(), column.name
        assert column.doc.endswith("."), column.name
    with context() as ctx:
        assert frames.columns("sessions")["column"].to_list() == list(frames.sessions(ctx.sessions).columns)


def test_dtypes_are_as_declared_for_an_empty_store_and_for_every_other() -> None:
    with context() as ctx:
        empty = frames.sessions(ctx.sessions)
        turn(ctx.sessions.create("s", meta={"cwd": "/w"}))
        ctx.sessions.fork("s")
        ctx.sessions.create("empty")
        full = frames.sessions(ctx.sessions)
    assert len(empty) == 0
    assert len(full) == 3
    for column in frames.COLUMNS["sessions"]:
        for table in (empty, full):
            assert table.dtypes[column.name] == column.dtype, column.name


def test_each_live_session_has_one_row_in_the_order_of_entering() -> None:
    with context() as ctx:
        for name in ("b", "a", "c"):
            ctx.sessions.create(name)
        ctx.sessions.prepare("not live")
        table = frames.sessions(ctx.sessions)
    assert table["id"].to_list() == ["b", "a", "c"]
    assert list(table.index) == [0, 1, 2]


def test_a_fork_says_where_it_was_cut_and_what_is_its_own() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        turn(source, number=2)
        child = ctx.sessions.fork(source, 2, "child")
        todo(child)
        ctx.sessions.fork(child, 2, "grandchild")
        found = rows(ctx)
    wanted = ("parent", "parent_live", "boundary", "depth", "children", "events", "shared", "own")
    assert [tuple(row[name] for name in wanted) for row in found.values()] == [
        (None, False, None, 0, 1, 6, 0, 6),
        ("s", True, 2, 1, 1, 4, 3, 1),
        ("child", True, 2, 2, 0, 3, 3, 0),
    ]


def test_the_fork_of_an_empty_session_and_the_delegate_that_shares_nothing_are_told_apart() -> None:
    with context() as ctx:
        ctx.sessions.create("s")
        ctx.sessions.fork("s", child_session_id="fork")
        ctx.sessions.create("delegate", meta={"parentSession": "s"})
        found = rows(ctx)
    assert (found["fork"]["boundary"], found["fork"]["shared"]) == (-1, 0)
    assert (found["delegate"]["boundary"], found["delegate"]["parent"]) == (None, "s")


def test_a_parent_that_is_not_live_is_named_and_said_to_be_missing() -> None:
    with context() as ctx:
        owner = ctx.child()
        turn(owner.sessions.create("s"))
        ctx.sessions.fork("s", child_session_id="child")
        owner.close()
        row = rows(ctx)["child"]
    assert (row["parent"], row["parent_live"], row["depth"], row["shared"]) == ("s", False, 0, 3)


def test_turns_nodes_replacements_and_times_are_those_of_the_log() -> None:
    now = iter(range(1_000, 10_000, 1_000))
    with context(clock=lambda: next(now)) as ctx:
        session = ctx.sessions.create("s", meta={"cwd": "/w"})
        with Recorder(session).turn("one"):
            pass
        session.append(
            "user/message",
            {"content": [], "source": {"kind": "user"}},
            surface_op={"op": "replace", "start": 1, "end": 1},
            source_event_seqs=[1],
        )
        session.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        row = rows(ctx)["s"]
        assert row["bytes"] == len(session.to_jsonl().partition(b"\n")[2]) - session.seq
    assert (row["turns"], row["open_turn"], row["nodes"], row["replacements"]) == (2, True, 1, 1)
    assert row["cwd"] == "/w"
    assert [row[name].timestamp() for name in ("created", "first", "last")] == [1, 2, 6]


def test_a_turn_that_has_its_end_is_not_open() -> None:
    with context() as ctx:
        turn(ctx.sessions.create("closed"))
        ctx.sessions.create("empty")
        found = rows(ctx)
    assert (found["closed"]["turns"], found["closed"]["open_turn"]) == (1, False)
    assert (found["empty"]["turns"], found["empty"]["open_turn"], found["empty"]["last"]) == (0, False, None)


@pytest.mark.parametrize(
    ("created", "shown"),
    [
        (-1, "1969-12-31T23:59:59.999"),
        (0.5, "1970-01-01T00:00:00.000"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999"),
        (253_402_300_800_000, None),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000"),
        (-62_135_596_800_001, None),
        (1e308, None),
        (-1e308, None),
    ],
)
def test_a_creation_beyond_the_calendar_is_missing(created: float, shown: str | None) -> None:
    with context() as ctx:
        ctx.sessions.create("s", meta={"createdAt": created})
        table = frames.sessions(ctx.sessions)
        assert str(table)
        found = table["created"][0]
    assert (None if pd.isna(found) else found.isoformat(timespec="milliseconds").removesuffix("+00:00")) == shown


def test_a_recorded_header_with_an_integer_of_three_hundred_digits_does_not_stop_the_frame() -> None:
    session = loads(f'{{"type":"session","version":0,"id":"s","createdAt":{10**300}}}\n'.encode())
    with context() as ctx:
        ctx.sessions.enter(session)
        assert rows(ctx)["s"]["created"] is None


def test_a_claim_that_goes_beyond_the_log_is_shown_and_shares_no_more_than_there_is() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s", meta={"parentSession": "elsewhere", "seedLength": 2**53 - 1})
        todo(session)
        row = rows(ctx)["s"]
    assert (row["boundary"], row["shared"], row["own"]) == (2**53 - 2, 1, 0)


names = st.sampled_from("abcdef")


@given(st.dictionaries(names, st.tuples(st.none() | names, st.none() | st.integers(0, 5))))
def test_the_frame_agrees_with_the_lineage_whatever_headers_claim(
    claims: dict[str, tuple[str | None, int | None]],
) -> None:
    with context() as ctx:
        for name, (parent, length) in claims.items():
            meta = {"parentSession": parent, "seedLength": length}
            ctx.sessions.create(name, meta={key: value for key, value in meta.items() if value is not None})
        found = rows(ctx)
        assert list(found) == list(claims)
        waiting = [(root, 0) for root in lineage(ctx.sessions)]
        while waiting:
            node, depth = waiting.pop()
            row = found[node.session.id]
            assert (row["depth"], row["children"]) == (depth, len(node.children))
            assert (row["parent"], row["boundary"]) == (node.parent_id, node.boundary)
            assert row["parent_live"] == (node.parent_id in claims)
            waiting += [(child, depth + 1) for child in node.children]


def test_hostile_sessions_give_text_and_no_error() -> None:
    with context(check_payloads=False) as ctx:
        for number, text in enumerate(HOSTILE):
            ctx.sessions.create(f"{number} {text}", meta={"parentSession": text, "cwd": f"/{text}"})
        ctx.sessions.enter(hostile_session())
        table = frames.sessions(ctx.sessions)
    assert len(table) == len(HOSTILE) + 1
    for column in ("id", "parent", "cwd"):
        for value in table[column].dropna():
            assert value.encode().decode() == value  # no lone surrogate is left
    assert table.to_csv()


def test_the_frame_changes_nothing() -> None:
    with context() as ctx:
        session = ctx.sessions.create("s")
        turn(session)
        before = session.to_jsonl()
        frames.sessions(ctx.sessions)
        assert session.to_jsonl() == before
        assert ctx.sessions.list() == [session]


def test_thousands_of_sessions_take_time_linear_in_their_number() -> None:
    def seconds(count: int) -> float:
        with context() as ctx:
            for _ in range(count):
                ctx.sessions.create()
            started = time.perf_counter()
            assert len(frames.sessions(ctx.sessions)) == count
            return time.perf_counter() - started

    seconds(10)
    with no_collector():
        assert min(seconds(4_000) / seconds(1_000) for _ in range(3)) < 8
