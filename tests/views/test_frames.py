from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session import Replace, Session, derive_event_message, fold_surface, load, loads
from dsh_session.core.vocabulary import CORE_TYPES
from dsh_session.views import frames
from dsh_session.views.describe import KINDS, kind
from dsh_session.views.frames.column import Column, frame
from dsh_session.views.frames.entries import entries
from dsh_session.views.reading import Reading
from tests.strategies import json_values
from tests.views.hostile import ODD, hostile_session

LOGS = sorted((Path(__file__).parent.parent / "data" / "logs").glob("*v0*/*.jsonl"))
FRAMES: dict[str, Any] = {"compactions": frames.compactions, "events": frames.events, "surface": frames.surface}
USER = {"kind": "user"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def loose(**clock: Any) -> Session:
    return Session("loose", check_payloads=False, clock=lambda: 1000, **clock)


def values(table: pd.DataFrame, column: str) -> list[Any]:
    return [None if pd.isna(value) else value for value in table[column]]


def row(session: Session, seq: int = -1) -> dict[str, Any]:
    """One row of the events frame, `None` for what is missing."""
    return row_of(frames.events(session), seq)


def row_of(table: pd.DataFrame, at: int) -> dict[str, Any]:
    return {str(name): None if pd.isna(value) else value for name, value in table.iloc[at].items()}


@pytest.fixture(scope="module", params=LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def log(request: pytest.FixtureRequest) -> Session:
    return load(request.param)


@pytest.fixture(scope="module")
def nested() -> Session:
    """Six messages; 1 and 2 become 6, then 0 and 6 become 7."""
    session = Session("nested", clock=lambda: 0)
    for number in range(6):
        say(session, f"message {number}")
    say(session, "one and two", Replace(1, 2), [1, 2])
    say(session, "none to two", Replace(0, 6), [0, 6])
    return session


def say(session: Session, words: str, op: Any = "append", sources: list[int] | None = None) -> None:
    session.append("user/message", {"content": [text(words)], "source": USER}, surface_op=op, source_event_seqs=sources)


# ---------------------------------------------------------------------------------------------------- declarations


@pytest.mark.parametrize("name", FRAMES)
def test_every_column_is_declared_once_and_documented_in_a_sentence(name: str) -> None:
    declared = frames.COLUMNS[name]
    assert len({column.name for column in declared}) == len(declared)
    for column in declared:
        assert column.doc[0].isupper(), column.name
        assert column.doc.endswith("."), column.name


@pytest.mark.parametrize("name", FRAMES)
def test_the_documentation_of_a_frame_lists_its_columns_in_order(name: str) -> None:
    table = frames.columns(name)
    assert table["column"].to_list() == list(FRAMES[name](Session("empty")).columns)
    assert table["doc"].to_list() == [column.doc for column in frames.COLUMNS[name]]


def test_an_unknown_frame_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"no frame is called 'event'; there are compactions, .*events, .*surface"):
        frames.columns("event")


@pytest.mark.parametrize("name", FRAMES)
def test_dtypes_are_as_declared_for_a_log_without_events_and_for_every_other(name: str, log: Session) -> None:
    empty, full = FRAMES[name](Session("empty")), FRAMES[name](log)
    assert len(empty) == 0
    for column in frames.COLUMNS[name]:
        for table in (empty, full):
            assert table.dtypes[column.name] == column.dtype, column.name
        if column.dtype == "category":
            known = len(column.categories)
            assert list(empty[column.name].cat.categories) == list(column.categories)
            assert list(full[column.name].cat.categories)[:known] == list(column.categories)


# ------------------------------------------------------------------------------------------- the frame of events


def test_each_event_has_one_row_that_says_what_its_envelope_says(log: Session) -> None:
    table = frames.events(log)
    assert len(table) == log.seq
    assert list(table.index) == table["seq"].to_list() == [event.seq for event in log.events]
    assert table["type"].to_list() == [event.type for event in log.events]
    assert table["time"].astype("int64").to_list() == [event.time for event in log.events]
    assert table["bytes"].to_list() == [len(event.to_json().encode()) for event in log.events]
    ops = [event.surface_op for event in log.events]
    assert values(table, "surface_op") == [op if op is None or isinstance(op, str) else "replace" for op in ops]
    assert values(table, "replace_start") == [op.start if isinstance(op, Replace) else None for op in ops]
    assert values(table, "replace_end") == [op.end if isinstance(op, Replace) else None for op in ops]
    sources = [event.source_event_seqs for event in log.events]
    assert values(table, "sources") == [None if seqs is None else len(seqs) for seqs in sources]


def test_kinds_are_those_of_every_other_view(log: Session) -> None:
    assert frames.events(log)["kind"].to_list() == [kind(event) for event in log.events]
    assert set(KINDS) >= {kind(event) for event in log.events}


def test_what_is_on_the_surface_and_what_shadows_what_agrees_with_the_fold(log: Session) -> None:
    table = frames.events(log)
    fold = fold_surface(log.events)
    assert sorted(table.loc[table["on_surface"], "seq"]) == sorted(fold.nodes)
    shadowed = {seq: replacement.seq for replacement in fold.replacements for seq in replacement.shadowed_seqs}
    assert values(table, "shadowed_by") == [shadowed.get(seq) for seq in range(log.seq)]


def test_payload_fields_are_read_as_they_stand(log: Session) -> None:
    table = frames.events(log)
    for name, key in (("call_id", "callId"), ("is_error", "isError")):
        here = table["type"].isin({"tool/call", "tool/result"})
        expected = [event.data.get(key) for event in log.events if event.type in {"tool/call", "tool/result"}]
        assert values(table[here], name) == expected
    named = [(event.seq, event.data["turn"]) for event in log.events if "turn" in event.data]
    assert table.loc[[seq for seq, _ in named], "turn"].to_list() == [turn for _, turn in named]


def test_text_and_chars_are_those_of_the_content(log: Session) -> None:
    table = frames.events(log)
    types = {"user/message", "tool/result", "context/message", "steering/message"}
    texts = [[block["text"] for block in event.data["content"]] for event in log.events if event.type in types]
    here = table[table["type"].isin(types)]
    assert values(here, "text") == ["\n".join(blocks) if blocks else None for blocks in texts]
    assert values(here, "chars") == [sum(map(len, blocks)) for blocks in texts]


def test_reasoning_and_arguments_count_as_characters_and_are_not_part_of_the_text() -> None:
    session = loose()
    content = [
        {"type": "reasoning", "text": "hmm"},
        text("Let me look."),
        {"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"},
        {"type": "tool-result", "toolCallId": "c0", "content": [text("nested")]},
    ]
    session.append("assistant/message", {"content": content}, surface_op="append")
    found = row(session)
    assert (found["text"], found["chars"], found["calls"]) == ("Let me look.\nnested", 3 + 12 + 2 + 6, 1)


def test_an_event_that_names_no_turn_or_step_lies_in_the_open_one() -> None:
    session = loose()
    session.append("hook/result", {"decision": "pass"})
    session.append("turn/start", {"turn": 4, "trigger": {"kind": "injection", "source": {"kind": "plugin"}}})
    session.append("todo/write", {"todos": []})
    session.append("step/start", {"turn": 4, "step": 2})
    session.append("todo/write", {"todos": []})
    session.append("compact/start", {"turn": 4})
    session.append("compact/start", {"turn": 9})
    session.append("step/end", {"turn": 4, "step": 2})
    session.append("todo/write", {"todos": []})
    session.append("turn/end", {"turn": 4, "reason": {"kind": "completed"}})
    session.append("todo/write", {"todos": []})
    table = frames.events(session)
    assert values(table, "turn") == [None, 4, 4, 4, 4, 4, 9, 4, 4, 4, None]
    assert values(table, "step") == [None, None, None, 2, 2, 2, None, 2, None, None, None]
    assert values(table, "outcome") == ["pass", "injection", *[None] * 7, "completed", None]


def test_a_result_has_the_tool_of_its_call_whichever_event_named_it() -> None:
    session = loose()
    call = {"type": "tool-call", "id": "c1", "name": "read", "arguments": "{}"}
    session.append("assistant/message", {"content": [call]}, surface_op="append")
    session.append("tool/result", {"callId": "c1", "content": []}, surface_op="append")
    session.append("tool/call", {"callId": "c2", "name": "write", "arguments": "{}"})
    session.append("tool/result", {"callId": "c2", "content": []}, surface_op="append")
    session.append("tool/result", {"callId": "c3", "content": []}, surface_op="append")
    assert values(frames.events(session), "tool") == [None, "read", "write", "write", None]


def test_sources_and_models_are_told() -> None:
    session = loose()
    session.append("user/message", {"content": [], "source": USER}, surface_op="append")
    session.append(
        "context/message", {"content": [], "source": {"kind": "plugin", "plugin": "fs"}}, surface_op="append"
    )
    session.append("request/header", {"header": {"config": {"provider": "p", "model": "m"}, "system": "Be brief."}})
    session.append(
        "assistant/message",
        {"content": [], "provenance": {"provider": "p", "model": "n"}},
        surface_op="append",
        source_event_seqs=[],
    )
    table = frames.events(session)
    assert values(table, "source") == ["user", "plugin:fs", None, None]
    assert values(table, "model") == [None, None, "m", "n"]
    assert values(table, "text") == [None, None, "Be brief.", None]
    assert values(table, "sources") == [None, None, None, 0]


@pytest.mark.parametrize(
    ("type_", "data", "said"),
    [
        ("assistant/chunk", {"chunk": {"type": "text-delta", "text": "He"}}, "He"),
        ("assistant/chunk", {"chunk": {"type": "tool-call-delta", "argumentsDelta": '{"p'}}, '{"p'),
        ("assistant/chunk", {"chunk": {"type": "finish", "reason": {"kind": "stop"}}}, None),
        ("tool/call", {"name": "read", "arguments": "{}"}, "{}"),
        ("turn/end", {"reason": {"kind": "error", "message": "no route"}}, "no route"),
        ("turn/end", {"reason": {"kind": "rejected", "reason": "policy"}}, "policy"),
        ("turn/end", {"reason": {"kind": "completed"}}, None),
        ("compact/summary", {"summary": [text("so far")]}, "so far"),
        ("compact/end", {"turn": 1, "error": "no model"}, "no model"),
        ("hook/result", {"stderrSummary": "denied"}, "denied"),
        ("prompt/blocked", {"content": [text("rm -rf")], "reason": "policy"}, "rm -rf"),
        ("step/start", {"turn": 1, "step": 1, "content": [text("no")]}, None),
        ("own/event", {"content": [text("a plugin's words")]}, "a plugin's words"),
    ],
)
def test_each_type_says_its_own_text(type_: Any, data: Any, said: str | None) -> None:
    session = loose()
    session.append(type_, data)
    found = row(session)
    assert found["text"] == said
    assert found["chars"] == (None if said is None else len(said))


# ----------------------------------------------------------------------------------------- the frame of the surface


def test_the_surface_frame_is_the_linked_list_from_head_to_tail(log: Session) -> None:
    table = frames.surface(log)
    assert table["seq"].to_list() == list(log.surface.nodes)
    assert list(table.index) == table["position"].to_list() == list(range(len(log.surface)))
    assert values(table, "prev") == [node.prev for node in log.surface]
    assert values(table, "next") == [node.next for node in log.surface]


def test_roles_are_those_of_the_derived_messages(log: Session) -> None:
    derived = [derive_event_message(log.events[seq]) for seq in log.surface.nodes]
    assert values(frames.surface(log), "role") == [None if m is None else m["role"] for m in derived]


def test_what_both_frames_say_of_an_event_is_the_same(log: Session) -> None:
    nodes = frames.surface(log).set_index("seq")
    events = frames.events(log).loc[nodes.index]
    for name in ("kind", "turn", "step", "tool", "text", "chars", "calls", "replace_start", "replace_end"):
        assert values(nodes, name) == values(events, name), name


def test_a_replacement_tells_its_range_what_it_shadows_and_what_it_stands_for(nested: Session) -> None:
    table = frames.surface(nested)
    assert table["seq"].to_list() == [7, 3, 4, 5]
    assert values(table, "replace_start") == [0, None, None, None]
    assert values(table, "replace_end") == [6, None, None, None]
    assert table["shadows"].to_list() == [2, 0, 0, 0]
    assert table["originals"].to_list() == [3, 1, 1, 1]
    assert values(frames.events(nested), "shadowed_by") == [7, 6, 6, None, None, None, 7, None]


# ------------------------------------------------------------------------------------------------------- bad payloads

FIELDS = ("turn", "step", "callId", "isError", "content", "source", "chunk", "reason", "trigger", "provenance", "error")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: json.dumps(odd)[:20])
def test_a_field_that_is_not_what_it_should_be_is_missing_and_the_others_are_read(field: str, odd: Any) -> None:
    session = loose()
    data = {"turn": 1, "step": 2, "callId": "c1", "name": "read", "arguments": "{}", field: odd}
    session.append("own/event", data)
    session.append("tool/call", data)
    table = frames.events(session)
    for seq in range(2):
        found = row_of(table, seq)
        expected = {"turn": 1, "step": 2, "call_id": "c1"}
        if field in {"turn", "step"}:
            expected[field] = odd if type(odd) is int else None  # type: ignore[assignment]
        if field == "callId":
            expected["call_id"] = odd if isinstance(odd, str) else None  # type: ignore[assignment]
        assert {name: found[name] for name in expected} == expected
    assert found["tool"] == "read"


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from([*CORE_TYPES, "compact/summary", "hook/result", "own/event"]), json_values()))
)
def test_no_payload_is_an_error(events: list[tuple[str, Any]]) -> None:
    session = loose()
    for type_, data in events:
        if type_ in {"user/message", "assistant/message", "tool/result", "context/message", "steering/message"}:
            continue  # of these replay needs more; their contents come below
        session.append(type_, data)  # type: ignore[arg-type]
    assert len(frames.events(session)) == session.seq


@settings(max_examples=50)
@given(
    st.lists(st.dictionaries(st.sampled_from(["type", "text", "content", "id", "name", "arguments"]), json_values()))
)
def test_no_content_is_an_error(content: list[Any]) -> None:
    session = loose()
    session.append("assistant/message", {"content": content}, surface_op="append")
    assert len(frames.surface(session)) == 1
    assert frames.events(session)["calls"].to_list() == [sum(block.get("type") == "tool-call" for block in content)]


def test_hostile_logs_have_frames_that_print_and_export() -> None:
    session = hostile_session()
    for build in FRAMES.values():
        table = build(session)
        assert "<script>" not in table.head(20).to_html()
        str(table).encode()
        table.to_csv().encode()


def test_an_integral_float_is_the_integer_and_a_truth_value_is_none() -> None:
    session = loose()
    session.append("own/event", {"turn": 3.0, "step": True})
    session.append("own/event", {"turn": 3.5, "step": 2**60 * 1.0})
    table = frames.events(session)
    assert values(table, "turn") == [3, None]
    assert values(table, "step") == [None, None]


def test_integers_beyond_what_json_readers_keep_are_missing() -> None:
    line = b'{"type":"own/event","seq":0,"time":1,"data":{"turn":%d,"step":9007199254740991}}\n' % 10**40
    header = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'
    found = row(loads(header + line))
    assert (found["turn"], found["step"]) == (None, 2**53 - 1)


def test_lone_surrogates_become_a_replacement_character_in_texts_and_types() -> None:
    session = loose()
    session.append("own/\ud83d", {"callId": "\ud83d1", "content": [text("cut \ud83d")]})
    found = row(session)
    assert (found["type"], found["call_id"], found["text"]) == ("own/\ufffd", "\ufffd1", "cut \ufffd")
    assert frames.events(session)["type"].cat.categories[-1] == "own/\ufffd"


def test_control_characters_stay_as_they_are() -> None:
    session = loose()
    session.append("tool/call", {"name": "x\x1b[31m", "arguments": "a\x00b"})
    found = row(session)
    assert (found["tool"], found["text"]) == ("x\x1b[31m", "a\x00b")


def test_blocks_in_blocks_are_read_so_deep_and_no_deeper() -> None:
    content: list[Any] = [text("bottom")]
    for depth in range(200):
        content = [{"type": "tool-result", "content": content, "text": f"level {depth}"}]
    session = loose()
    session.append("user/message", {"content": content}, surface_op="append")
    found = row(session)
    assert found["text"] is None
    assert 0 < found["chars"] < 200


def test_a_time_beyond_the_calendar_is_missing_and_the_frame_still_prints() -> None:
    session = Session("far", clock=iter([0, 0, 253_402_300_799_999, 253_402_300_800_000, 2**53 - 1]).__next__)
    for _ in range(4):
        session.append("todo/write", {"todos": []})
    table = frames.events(session)
    assert table["time"].isna().to_list() == [False, False, True, True]
    assert str(table["time"][1]) == "9999-12-31 23:59:59.999000+00:00"
    assert "NaT" in str(table)
    table.to_html()
    table.to_csv()


def test_reading_a_log_leaves_no_decoded_payload_behind(log: Session) -> None:
    fresh = Session("fresh", seed=[event.to_dict() for event in log.events])
    frames.events(fresh)
    frames.surface(fresh)
    assert all(event._data is msgspec.UNSET for event in fresh.events)


def test_a_frame_of_bad_payloads_leaves_none_behind_either() -> None:
    session = Session("fresh", seed=[{"type": "own/event", "seq": 0, "time": 0, "data": {"turn": "\ud83d"}}])
    frames.events(session)
    assert session.events[0]._data is msgspec.UNSET


# ----------------------------------------------------------------------------------------------------------- columns


def test_types_that_no_one_knows_follow_the_known_ones_in_alphabetical_order() -> None:
    session = loose()
    for name in ("zeta/x", "alpha/x", "zeta/x"):
        session.append(name, {})  # type: ignore[call-overload]
    table = frames.events(session)
    assert table["type"].to_list() == ["zeta/x", "alpha/x", "zeta/x"]
    assert list(table["type"].cat.categories) == [*CORE_TYPES, "alpha/x", "zeta/x"]


def test_columns_of_some_records_are_spread_over_the_rows_of_all() -> None:
    words = [f"{'long' if number % 3 else 'short'} {number}" for number in range(2000)]
    of = frozenset({"long"})
    columns = [
        Column[str](name="word", dtype="string", doc="All.", read=str),
        Column[str](name="text", dtype="string", doc="Some.", read=str, of=of),
        Column[str](name="size", dtype="Int64", doc="Some.", read=len, of=of),
        Column[str](name="count", dtype="int64", doc="Some.", read=len, of=of),
        Column[str](name="yes", dtype="bool", doc="Some.", read=lambda _: True, of=of),
        Column[str](name="maybe", dtype="boolean", doc="Some.", read=lambda word: len(word) > 6, of=of),
        Column[str](name="first", dtype="category", doc="Some.", read=lambda word: word[0], of=of, categories=("z",)),
    ]
    table = frame(columns, words, tag=lambda word: word.split()[0])
    long = [word.startswith("long") for word in words]
    assert table["word"].to_list() == words
    assert values(table, "text") == [w if is_long else None for w, is_long in zip(words, long, strict=True)]
    assert values(table, "size") == [len(w) if is_long else None for w, is_long in zip(words, long, strict=True)]
    assert table["count"].to_list() == [len(w) if is_long else 0 for w, is_long in zip(words, long, strict=True)]
    assert table["yes"].to_list() == long
    assert values(table, "maybe") == [len(w) > 6 if is_long else None for w, is_long in zip(words, long, strict=True)]
    assert values(table, "first") == ["l" if is_long else None for is_long in long]


def test_without_a_tag_every_column_is_read_of_every_record() -> None:
    column = Column[str](name="size", dtype="Int64", doc="Length.", read=len, of=frozenset({"long"}))
    assert frame([column], ["one", "three"])["size"].to_list() == [3, 5]


def test_entries_of_a_reading_are_read_once_and_are_those_of_its_session(nested: Session) -> None:
    reading = Reading.of(nested)
    read = list(entries(reading))
    assert [e.shadowed_by for e in read] == [e.shadowed_by for e in entries(nested)]
    assert all(first is second for first, second in zip(read, entries(reading), strict=True))
