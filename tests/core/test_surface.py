"""The surface: its rules, each by its code, and the linked list that it is."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dsh_session import (
    Replace,
    Session,
    SessionError,
    fold_surface,
    is_surface_eligible_type,
    is_surface_event,
)

from .payloads import LOG_ONLY_TYPES, SURFACE_TYPES, conversation, payload, session, wire_event
from .refusals import assert_agrees, refused


def replace(start: Any, end: Any, **more: Any) -> dict[str, Any]:
    """A replacement in its wire form."""
    return {"op": "replace", "start": start, "end": end, **more}


def three_messages() -> Session:
    """A session whose surface is 0, 1, 2."""
    log = session()
    for words in ("one", "two", "three"):
        log.append("user/message", payload("user/message", words), surface_op="append")
    return log


def turned_around() -> Session:
    """A session of five messages whose surface is 5, 2, 6: seq 5 replaced 0 and 1, seq 6 replaced 3 and 4."""
    log = session()
    for words in "abcde":
        log.append("user/message", payload("user/message", words), surface_op="append")
    log.append("user/message", payload("user/message", "ab"), surface_op=replace(0, 1), source_event_seqs=[0, 1])
    log.append("user/message", payload("user/message", "de"), surface_op=replace(3, 4), source_event_seqs=[4, 3])
    assert list(log.surface.nodes) == [5, 2, 6]
    return log


Case = tuple[str, Any, Any, str, tuple[str, ...]]

MARKER = "SURFACE_MARKER_REQUIRED"
OP = "BAD_SURFACE_OP"
SHAPE = "BAD_REPLACE_SHAPE"

# each on a surface of 0, 1, 2: type, surfaceOp, sourceEventSeqs, code, what the message names
REFUSALS: dict[str, Case] = {
    "no marker": ("user/message", ..., ..., MARKER, ("user/message", "surface_op")),
    "sources and no marker": ("tool/result", ..., [0], MARKER, ("tool/result",)),
    "another word": ("user/message", "prepend", ..., OP, ("prepend",)),
    "an empty word": ("user/message", "", ..., OP, ()),
    "the word in capitals": ("user/message", "APPEND", ..., OP, ("APPEND",)),
    "true": ("user/message", True, ..., OP, ()),
    "false": ("user/message", False, ..., OP, ()),
    "zero": ("user/message", 0, ..., OP, ()),
    "a list": ("user/message", ["append"], ..., OP, ()),
    "an empty object": ("user/message", {}, ..., SHAPE, ()),
    "an append as an object": ("user/message", {"op": "append"}, ..., SHAPE, ()),
    "no end": ("user/message", {"op": "replace", "start": 0}, [0], SHAPE, ("end",)),
    "no start": ("user/message", {"op": "replace", "end": 0}, [0], SHAPE, ("start",)),
    "no op": ("user/message", {"start": 0, "end": 0}, [0], SHAPE, ("op",)),
    "a further key": ("user/message", replace(0, 0, why="x"), [0], SHAPE, ("why",)),
    "another op": ("user/message", {**replace(0, 0), "op": "insert"}, [0], SHAPE, ("insert",)),
    "a negative start": ("user/message", replace(-1, 0), [0], SHAPE, ("start",)),
    "a negative end": ("user/message", replace(0, -1), [0], SHAPE, ("end",)),
    "a fractional start": ("user/message", replace(0.5, 1), [0], SHAPE, ("start",)),
    "a start in quotes": ("user/message", replace("0", 0), [0], SHAPE, ("start",)),
    "a start that is true": ("user/message", replace(True, 2), [0, 1, 2], SHAPE, ("start",)),
    "an end that is false": ("user/message", replace(0, False), [0], SHAPE, ("end",)),
    "a null start": ("user/message", replace(None, 0), [0], SHAPE, ("start",)),
    "an end of 2**53": ("user/message", replace(0, float(2**53)), [0], SHAPE, ("end",)),
    "an unknown start": ("user/message", replace(99, 0), [0], "RANGE_NOT_FOUND", ("99",)),
    "an unknown end": ("user/message", replace(0, 98), [0], "RANGE_NOT_FOUND", ("98",)),
    "two unknown ends, the start first": ("user/message", replace(99, 98), ..., "RANGE_NOT_FOUND", ("99",)),
    "the event itself": ("user/message", replace(3, 3), ..., "RANGE_NOT_FOUND", ("3",)),
    "the largest seq": ("user/message", replace(0, 2**53 - 1), [0], "RANGE_NOT_FOUND", ("9007199254740991",)),
    "reversed": ("user/message", replace(2, 0), [0, 1, 2], "RANGE_REVERSED", ("2", "0")),
    "sources in quotes": ("user/message", "append", "x", "PROVENANCE_NOT_ARRAY", ()),
    "sources as an object": ("user/message", "append", {"0": 0}, "PROVENANCE_NOT_ARRAY", ()),
    "sources as a number": ("user/message", "append", 0, "PROVENANCE_NOT_ARRAY", ()),
    "sources that are false": ("user/message", "append", False, "PROVENANCE_NOT_ARRAY", ()),
    "no sources in the list": ("user/message", "append", [], "PROVENANCE_EMPTY", ("user/message",)),
    "no sources for a result": ("tool/result", "append", [], "PROVENANCE_EMPTY", ("tool/result",)),
    "no sources for a context": ("context/message", "append", [], "PROVENANCE_EMPTY", ()),
    "no sources for a steering": ("steering/message", "append", [], "PROVENANCE_EMPTY", ()),
    "a negative source": ("user/message", "append", [0, -1], "PROVENANCE_NOT_SEQ", ("-1",)),
    "a fractional source": ("user/message", "append", [0.5], "PROVENANCE_NOT_SEQ", ("0.5",)),
    "a source in quotes": ("user/message", "append", ["0"], "PROVENANCE_NOT_SEQ", ()),
    "a source that is true": ("user/message", "append", [True], "PROVENANCE_NOT_SEQ", ()),
    "a source that is false": ("user/message", "append", [1, False], "PROVENANCE_NOT_SEQ", ()),
    "a null source": ("user/message", "append", [None], "PROVENANCE_NOT_SEQ", ()),
    "a list as a source": ("user/message", "append", [[0]], "PROVENANCE_NOT_SEQ", ()),
    "a source of 2**53": ("user/message", "append", [float(2**53)], "PROVENANCE_NOT_SEQ", ()),
    "a source twice": ("user/message", "append", [2, 0, 2], "PROVENANCE_DUPLICATE", ("2",)),
    "a source twice, spelt differently": ("user/message", "append", [1, 1.0], "PROVENANCE_DUPLICATE", ("1",)),
    "a later source": ("user/message", "append", [0, 77], "PROVENANCE_NOT_EARLIER", ("77",)),
    "the event as its own source": ("user/message", "append", [3], "PROVENANCE_NOT_EARLIER", ("3",)),
    "a replacement without sources": ("user/message", replace(0, 1), ..., "PROVENANCE_MISSING", ("0", "1")),
    "a shadowed node that is not cited": ("user/message", replace(0, 2), [0, 2], "PROVENANCE_MISSING", ("1",)),
    # the order of the rules
    "shape before range": ("user/message", replace(99, -1), [0, 0], SHAPE, ()),
    "range before sources": ("user/message", replace(99, 0), "x", "RANGE_NOT_FOUND", ("99",)),
    "reversal before sources": ("user/message", replace(1, 0), [], "RANGE_REVERSED", ()),
    "empty before missing": ("user/message", replace(0, 0), [], "PROVENANCE_EMPTY", ()),
    "no seq before twice": ("user/message", "append", [0, 0, -1], "PROVENANCE_NOT_SEQ", ()),
    "twice before later": ("user/message", "append", [77, 77], "PROVENANCE_DUPLICATE", ("77",)),
    "later before missing": ("user/message", replace(0, 1), [0, 77], "PROVENANCE_NOT_EARLIER", ("77",)),
    "empty is a reply's right, missing is not": ("assistant/message", replace(0, 0), [], "PROVENANCE_MISSING", ("0",)),
}


def _intent(surface_op: Any, sources: Any, names: tuple[str, str]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, (surface_op, sources), strict=True) if value is not ...}


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_an_append_that_breaks_a_surface_rule_is_refused(case: Case) -> None:
    type_, surface_op, sources, code, places = case
    log = three_messages()
    with refused(log, code, *places):
        log.append(type_, payload(type_), **_intent(surface_op, sources, ("surface_op", "source_event_seqs")))
    assert log.append(type_, payload(type_), surface_op="append", source_event_seqs=[0]).seq == 3
    assert_agrees(log)


@pytest.mark.parametrize("case", REFUSALS.values(), ids=REFUSALS)
def test_a_seed_and_a_fold_refuse_what_an_append_refuses(case: Case) -> None:
    type_, surface_op, sources, code, _ = case
    event = wire_event(type_, 3)
    del event["surfaceOp"]
    event.update(_intent(surface_op, sources, ("surfaceOp", "sourceEventSeqs")))
    events = [*(wire_event("user/message", seq) for seq in range(3)), event]
    with pytest.raises(SessionError) as caught:
        Session("s", seed=events)
    assert (caught.value.code, caught.value.index) == (code, 3)
    assert "3" in str(caught.value)
    with pytest.raises(SessionError) as caught:
        fold_surface(events)
    assert caught.value.code == code


@pytest.mark.parametrize("type_", [*LOG_ONLY_TYPES, "plugin/own", "", "User/message", "compact/start"])
@pytest.mark.parametrize(
    ("surface_op", "sources"), [("append", ...), (..., [0]), ("append", [0]), ("junk", ...), (False, ...), (..., [])]
)
def test_a_log_only_type_carries_no_surface_metadata(type_: str, surface_op: Any, sources: Any) -> None:
    data = payload(type_) if type_ in LOG_ONLY_TYPES else {"turn": 1}
    log = three_messages()
    with refused(log, "SURFACE_NOT_ELIGIBLE", type_):
        log.append(type_, data, **_intent(surface_op, sources, ("surface_op", "source_event_seqs")))
    event = {**wire_event("turn/start", 3, data=data), "type": type_}
    event.update(_intent(surface_op, sources, ("surfaceOp", "sourceEventSeqs")))
    events = [*(wire_event("user/message", seq) for seq in range(3)), event]
    with pytest.raises(SessionError) as caught:
        Session("s", seed=events)
    assert (caught.value.code, caught.value.index) == ("SURFACE_NOT_ELIGIBLE", 3)
    with pytest.raises(SessionError) as caught:
        fold_surface(events)
    assert caught.value.code == "SURFACE_NOT_ELIGIBLE"
    assert log.append(type_, data).seq == 3


@pytest.mark.parametrize("type_", SURFACE_TYPES)
def test_every_surface_type_joins_at_the_tail(type_: str) -> None:
    log = three_messages()
    event = log.append(type_, payload(type_), surface_op="append")
    assert event.surface_op == "append"
    assert event.source_event_seqs is None
    assert list(log.surface.nodes) == [0, 1, 2, 3]
    assert log.surface.replace_generation == 0


@pytest.mark.parametrize("type_", SURFACE_TYPES)
def test_every_surface_type_can_replace(type_: str) -> None:
    log = three_messages()
    event = log.append(type_, payload(type_), surface_op=replace(0, 1), source_event_seqs=[1, 0])
    assert event.surface_op == Replace(0, 1)
    assert event.source_event_seqs == [1, 0]
    assert list(log.surface.nodes) == [3, 2]
    assert log.surface.replace_generation == 1


def test_only_an_assistant_message_may_cite_nothing() -> None:
    log = session()
    event = log.append("assistant/message", payload("assistant/message"), surface_op="append", source_event_seqs=[])
    assert event.source_event_seqs == []
    assert event.to_dict()["sourceEventSeqs"] == []
    assert_agrees(log)


def test_sources_may_name_log_only_events() -> None:
    log = conversation()
    event = log.append("user/message", payload("user/message"), surface_op="append", source_event_seqs=[0, 6, 2])
    assert event.source_event_seqs == [0, 6, 2]


def test_a_replacement_may_cite_more_than_it_shadows() -> None:
    log = turned_around()
    log.append("user/message", payload("user/message"), surface_op=replace(2, 2), source_event_seqs=[0, 2, 6])
    assert list(log.surface.nodes) == [5, 7, 6]


def test_surface_order_is_not_numeric_order() -> None:
    log = turned_around()
    log.append("user/message", payload("user/message"), surface_op=replace(5, 2), source_event_seqs=[5, 2])
    assert list(log.surface.nodes) == [7, 6]
    log.append("user/message", payload("user/message"), surface_op=replace(7, 6), source_event_seqs=[6, 7])
    assert list(log.surface.nodes) == [8]
    assert log.surface.replace_generation == 4
    assert_agrees(log)


def test_a_range_that_is_reversed_in_surface_order_is_refused_whatever_its_numbers() -> None:
    log = turned_around()
    with refused(log, "RANGE_REVERSED", "2", "5"):
        log.append("user/message", payload("user/message"), surface_op=replace(2, 5), source_event_seqs=[2, 5])
    with refused(log, "RANGE_REVERSED"):
        log.append("user/message", payload("user/message"), surface_op=replace(6, 5), source_event_seqs=[2, 5, 6])


def test_coverage_is_of_current_nodes_and_not_of_the_numbers_between() -> None:
    log = turned_around()
    with refused(log, "PROVENANCE_MISSING", "2"):
        log.append("user/message", payload("user/message"), surface_op=replace(5, 6), source_event_seqs=[5, 6])
    log.append("user/message", payload("user/message"), surface_op=replace(5, 6), source_event_seqs=[5, 6, 2])
    assert list(log.surface.nodes) == [7]


def test_every_missing_source_is_named() -> None:
    log = three_messages()
    with refused(log, "PROVENANCE_MISSING", "0", "1", "2"):
        log.append("user/message", payload("user/message"), surface_op=replace(0, 2))


def test_a_message_about_a_thousand_missing_sources_stays_readable() -> None:
    log = session()
    for _ in range(1_000):
        log.append("user/message", payload("user/message"), surface_op="append")
    with pytest.raises(SessionError) as caught:
        log.append("user/message", payload("user/message"), surface_op=replace(0, 999))
    assert caught.value.code == "PROVENANCE_MISSING"
    assert len(str(caught.value)) < 2_000


def test_a_shadowed_node_cannot_be_replaced_again() -> None:
    log = turned_around()
    for start, end, named in ((0, 2, "0"), (5, 1, "1"), (3, 3, "3")):
        with refused(log, "RANGE_NOT_FOUND", named):
            log.append("user/message", payload("user/message"), surface_op=replace(start, end), source_event_seqs=[0])


def test_an_integral_float_is_the_seq() -> None:
    log = three_messages()
    event = log.append(
        "user/message", payload("user/message"), surface_op=replace(0.0, 1.0), source_event_seqs=[0.0, 1]
    )
    assert event.surface_op == Replace(0, 1)
    assert event.source_event_seqs == [0, 1]
    assert list(log.surface.nodes) == [3, 2]
    assert all(type(seq) is int for seq in log.surface.nodes)
    assert_agrees(log)


def test_a_replacement_object_and_its_wire_form_are_one() -> None:
    op = Replace(3, 9)
    assert op == {"op": "replace", "start": 3, "end": 9}
    assert (op.start, op.end, op["op"]) == (3, 9, "replace")
    one, two = three_messages(), three_messages()
    one.append("user/message", payload("user/message"), surface_op=Replace(1, 2), source_event_seqs=[1, 2])
    two.append("user/message", payload("user/message"), surface_op=replace(1, 2), source_event_seqs=[1, 2])
    assert one.to_jsonl() == two.to_jsonl()
    wire = one.events[3].to_dict()["surfaceOp"]
    assert type(wire) is dict
    assert wire == {"op": "replace", "start": 1, "end": 2}
    assert isinstance(one.events[3].surface_op, Replace)


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (True, 1), ("0", 0), (None, 0), (0.5, 1)])
def test_a_replacement_object_with_a_bad_end_is_refused_where_it_is_used_at_the_latest(start: Any, end: Any) -> None:
    log = three_messages()
    with refused(log, "BAD_REPLACE_SHAPE"):
        log.append("user/message", payload("user/message"), surface_op=Replace(start, end), source_event_seqs=[0, 1])


# --------------------------------------------------------------------------------------------- the list itself


def test_the_surface_is_a_doubly_linked_list() -> None:
    surface = turned_around().surface
    assert [(node.seq, node.prev, node.next) for node in surface] == [(5, None, 2), (2, 5, 6), (6, 2, None)]
    assert len(surface) == 3
    for node in surface:
        assert surface.node(node.seq) == node
        assert node.seq in surface
    assert 0 not in surface
    assert 7 not in surface


def test_a_list_of_one_has_no_neighbours() -> None:
    log = session()
    log.append("user/message", payload("user/message"), surface_op="append")
    only = log.surface.node(0)
    assert (only.seq, only.prev, only.next) == (0, None, None)
    log.append("user/message", payload("user/message"), surface_op=replace(0, 0), source_event_seqs=[0])
    only = log.surface.node(1)
    assert (only.seq, only.prev, only.next) == (1, None, None)


def test_an_empty_surface_has_no_ends() -> None:
    surface = session().surface
    assert len(surface) == 0
    assert list(surface) == []
    assert list(surface.nodes) == []
    assert surface.head is None
    assert surface.tail is None
    assert surface.replace_generation == 0


def test_head_and_tail_are_the_ends() -> None:
    surface = turned_around().surface
    nodes = list(surface)
    assert surface.head in (nodes[0], nodes[0].seq)
    assert surface.tail in (nodes[-1], nodes[-1].seq)


@pytest.mark.parametrize("seq", [0, 1, 3, 7, -1, 2**60])
def test_a_node_that_is_not_on_the_surface_is_refused(seq: int) -> None:
    log = turned_around()
    with refused(log, "RANGE_NOT_FOUND", str(seq)):
        log.surface.node(seq)


@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize("end", range(3))
def test_replacing_any_range_keeps_the_links_whole(start: int, end: int) -> None:
    log = turned_around()
    nodes = list(log.surface.nodes)
    if start > end:
        with refused(log, "RANGE_REVERSED"):
            log.append(
                "user/message",
                payload("user/message"),
                surface_op=replace(nodes[start], nodes[end]),
                source_event_seqs=nodes,
            )
        return
    log.append(
        "user/message",
        payload("user/message"),
        surface_op=replace(nodes[start], nodes[end]),
        source_event_seqs=nodes[start : end + 1],
    )
    expected = [*nodes[:start], 7, *nodes[end + 1 :]]
    assert list(log.surface.nodes) == expected
    links = [(node.prev, node.seq, node.next) for node in log.surface]
    assert links == list(zip([None, *expected[:-1]], expected, [*expected[1:], None], strict=True))
    for seq in nodes[start : end + 1]:
        assert seq not in log.surface


def test_nodes_are_an_immutable_sequence_of_fixed_length() -> None:
    log = three_messages()
    nodes = log.surface.nodes
    assert isinstance(nodes, Sequence)
    assert (len(nodes), nodes[0], nodes[-1], list(nodes[1:]), 2 in nodes, 9 in nodes) == (3, 0, 2, [1, 2], True, False)
    assert list(reversed(nodes)) == [2, 1, 0]
    assert (nodes.index(2), nodes.count(1)) == (2, 1)
    with pytest.raises(IndexError):
        nodes[3]
    for name, arguments in (
        ("__setitem__", (0, 9)),
        ("__delitem__", (0,)),
        ("append", (9,)),
        ("clear", ()),
        ("sort", ()),
    ):
        with pytest.raises((TypeError, AttributeError)):
            getattr(nodes, name)(*arguments)
    log.append("user/message", payload("user/message"), surface_op="append")
    assert list(nodes) == [0, 1, 2]
    log.append("user/message", payload("user/message"), surface_op=replace(0, 3), source_event_seqs=[0, 1, 2, 3])
    assert list(nodes) == [0, 1, 2]
    assert list(log.surface.nodes) == [4]


def test_the_surface_is_one_object_for_the_life_of_the_session() -> None:
    log = three_messages()
    surface = log.surface
    log.append("user/message", payload("user/message"), surface_op=replace(0, 2), source_event_seqs=[0, 1, 2])
    assert log.surface is surface
    assert list(surface.nodes) == [3]


def test_nobody_outside_can_invoke_a_check_or_move_a_node() -> None:
    surface = three_messages().surface
    public = {name for name in dir(surface) if not name.startswith("_")}
    assert public == {"head", "node", "nodes", "replace_generation", "tail"}
    for name in sorted(public):
        with pytest.raises((TypeError, AttributeError)):
            setattr(surface, name, None)
        with pytest.raises((TypeError, AttributeError)):
            delattr(surface, name)
    node = next(iter(surface))
    for name in ("seq", "prev", "next"):
        with pytest.raises((TypeError, AttributeError)):
            setattr(node, name, 7)
    assert [n.seq for n in surface] == [0, 1, 2]


def test_a_long_append_and_replace_history_keeps_one_node() -> None:
    log = session()
    log.append("user/message", payload("user/message"), surface_op="append")
    for seq in range(1, 300):
        log.append(
            "user/message", payload("user/message"), surface_op=replace(seq - 1, seq - 1), source_event_seqs=[seq - 1]
        )
    assert list(log.surface.nodes) == [299]
    assert log.surface.replace_generation == 299
    assert_agrees(log)


# ------------------------------------------------------------------------------------------------ the whole fold


def test_a_fold_tells_what_each_replacement_shadowed() -> None:
    log = turned_around()
    log.append("user/message", payload("user/message"), surface_op=replace(5, 2), source_event_seqs=[2, 5])
    for events in (log.events, list(log.events), [event.to_dict() for event in log.events], tuple(log.events)):
        fold = fold_surface(events)
        assert list(fold.nodes) == [7, 6]
        assert [(r.seq, r.start, r.end, list(r.shadowed_seqs)) for r in fold.replacements] == [
            (5, 0, 1, [0, 1]),
            (6, 3, 4, [3, 4]),
            (7, 5, 2, [5, 2]),
        ]


def test_a_fold_of_nothing_is_empty() -> None:
    fold = fold_surface([])
    assert list(fold.nodes) == []
    assert list(fold.replacements) == []


def test_a_fold_is_detached_from_the_session() -> None:
    log = turned_around()
    fold = fold_surface(log.events)
    log.append("user/message", payload("user/message"), surface_op="append")
    assert list(fold.nodes) == [5, 2, 6]


@pytest.mark.parametrize("seq", [1, False, True, "0", None, -1, 0.5, 2])
def test_a_fold_refuses_a_log_that_does_not_start_at_zero(seq: Any) -> None:
    with pytest.raises(SessionError) as caught:
        fold_surface([{**wire_event("user/message", 0), "seq": seq}])
    assert caught.value.code == "LOG_NOT_CONTIGUOUS"


def test_a_fold_refuses_a_gap_and_names_the_event() -> None:
    events = [wire_event("user/message", 0), wire_event("turn/start", 1), wire_event("user/message", 3)]
    with pytest.raises(SessionError) as caught:
        fold_surface(events)
    assert caught.value.code == "LOG_NOT_CONTIGUOUS"
    assert "2" in str(caught.value)
    assert "3" in str(caught.value)


def test_a_fold_checks_contiguity_before_the_surface_rules() -> None:
    with pytest.raises(SessionError) as caught:
        fold_surface([{**wire_event("user/message", 5), "surfaceOp": "junk"}])
    assert caught.value.code == "LOG_NOT_CONTIGUOUS"


def test_a_fold_looks_at_neither_envelope_nor_vocabulary() -> None:
    events: list[dict[str, Any]] = [
        {"type": "user/message", "seq": 0, "surfaceOp": "append"},
        {"type": "request/header-delta", "seq": 1, "stray": True},
        {"type": "plugin/own", "seq": 2},
    ]
    assert list(fold_surface(events).nodes) == [0]


# ------------------------------------------------------------------------------------------------------ guards


@pytest.mark.parametrize("type_", SURFACE_TYPES)
def test_five_types_are_eligible(type_: str) -> None:
    assert is_surface_eligible_type(type_) is True


@pytest.mark.parametrize("type_", [*LOG_ONLY_TYPES, "compact/start", "plugin/own", "", "user", "USER/MESSAGE"])
def test_no_other_type_is_eligible(type_: str) -> None:
    assert is_surface_eligible_type(type_) is False


def test_a_surface_event_is_an_eligible_one_with_its_marker() -> None:
    log = conversation()
    assert [event.seq for event in log.events if is_surface_event(event)] == [1, 3, 5]
    assert [e["seq"] for e in (event.to_dict() for event in log.events) if is_surface_event(e)] == [1, 3, 5]
    assert not is_surface_event({"type": "user/message", "seq": 0})


def _ways() -> dict[str, Callable[[list[Any]], Sequence[int]]]:
    return {
        "seed of wire events": lambda events: Session("s", seed=events).surface.nodes,
        "seed of events": lambda events: Session("t", seed=Session("s", seed=events).events).surface.nodes,
        "fold": lambda events: fold_surface(events).nodes,
    }


@pytest.mark.parametrize("way", _ways().values(), ids=_ways())
def test_there_is_one_transition_for_all_ways_in(way: Callable[[list[Any]], Sequence[int]]) -> None:
    log = turned_around()
    assert list(way([event.to_dict() for event in log.events])) == [5, 2, 6]
