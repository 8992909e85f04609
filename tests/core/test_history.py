"""The replacement forest: the surface at every moment, and what stands for what."""

import copy
import json
import pickle
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Replace, Session, SessionError, SurfaceHistory, fold_surface, load
from dsh_session.core.messages import derive_event_message

LOGS = sorted((Path(__file__).parents[1] / "data" / "logs").glob("*v0*/*.jsonl"))
DATA: dict[str, Any] = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "user"}}


def _random_log(choices: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """A log from pairs of numbers: an append, a log-only event, or a replacement somewhere."""
    log: list[dict[str, Any]] = []
    nodes: list[int] = []
    for what, where in choices:
        seq = len(log)
        event = {"type": "user/message", "seq": seq, "time": 0, "data": DATA, "surfaceOp": "append"}
        if what == 0:
            event = {"type": "todo/write", "seq": seq, "time": 0, "data": {"todos": []}}
        elif what > 3 and nodes:
            start = where % len(nodes)
            end = min(start + what - 4, len(nodes) - 1)
            shadowed = nodes[start : end + 1]
            event |= {
                "surfaceOp": {"op": "replace", "start": shadowed[0], "end": shadowed[-1]},
                "sourceEventSeqs": shadowed,
            }
            nodes[start : end + 1] = [seq]
        else:
            nodes.append(seq)
        log.append(event)
    return log


logs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 50)), max_size=40).map(_random_log)


@given(logs)
def test_the_surface_at_every_moment_is_the_fold_of_the_log_up_to_it(log: list[dict[str, Any]]) -> None:
    history = SurfaceHistory(log)
    for moment in range(-1, len(log)):
        assert list(history.at(moment)) == fold_surface(log[: moment + 1]).nodes


@given(logs, st.data())
def test_it_is_the_same_whether_built_at_once_or_bit_by_bit(log: list[dict[str, Any]], data: st.DataObject) -> None:
    session = Session("s", clock=lambda: 0)
    history = SurfaceHistory(session)
    for event in log:
        op, sources = event.get("surfaceOp"), event.get("sourceEventSeqs")
        if op is None:
            session.append(event["type"], event["data"])
        else:
            session.append(event["type"], event["data"], surface_op=op, source_event_seqs=sources)
        if data.draw(st.booleans()):
            moment = data.draw(st.integers(-1, session.seq - 1))
            assert list(history.at(moment)) == fold_surface(log[: moment + 1]).nodes
    assert history.replacements == SurfaceHistory(log).replacements == fold_surface(log).replacements


@given(logs)
def test_originals_are_the_appended_events_that_a_node_stands_for_and_every_one_has_its_place(
    log: list[dict[str, Any]],
) -> None:
    history = SurfaceHistory(log)
    standing = [original for node in (history.at(len(log) - 1) if log else ()) for original in history.originals(node)]
    assert standing == list(history.transcript())
    for replacement in history.replacements:
        children = history.children(replacement.seq)
        assert list(children) == replacement.shadowed_seqs
        below = [original for child in children for original in history.originals(child)]
        assert list(history.originals(replacement.seq)) == below
        assert history.depth(replacement.seq) == 1 + max(history.depth(child) for child in children)
        for child in children:
            assert history.shadowed_by(child) == replacement.seq
            assert history.lifetime(child) == (child, replacement.seq)
            assert child in history.at(replacement.seq - 1)
            assert child not in history.at(replacement.seq)


@given(logs, st.integers(0, 39), st.integers(0, 39))
def test_a_diff_says_what_was_kept_entered_and_left(log: list[dict[str, Any]], a: int, b: int) -> None:
    if not log:
        return
    history = SurfaceHistory(log)
    a, b = a % len(log), b % len(log)
    diff = history.diff(a, b)
    before, after = history.at(a), history.at(b)
    assert diff.kept == tuple(node for node in after if node in before)
    assert sorted((*diff.kept, *diff.entered)) == sorted(after)
    assert sorted((*diff.kept, *diff.left)) == sorted(before)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_real_logs_show_the_messages_that_the_session_had_at_the_time(path: Path) -> None:
    session = load(path)
    history = SurfaceHistory(session)
    events = session.events
    for moment in range(0, session.seq, max(1, session.seq // 25)):
        then = Session("then", events[: moment + 1])
        assert history.messages_at(moment) == then.derive_messages()
        request = history.request_at(moment)
        assert request.messages == then.derive_messages()
        header = then.request_header()
        assert request.config == (header and header["config"])
        assert request.system == (header or {}).get("system")
        assert request.tools == (header or {}).get("tools", ())
        assert request.message_prefix == (header or {}).get("messagePrefix", ())
    appended = [event.seq for event in events if event.surface_op == "append"]
    assert list(history.transcript()) == appended


@pytest.mark.parametrize("moment", [-2, 2, True, 0.0, "0", None])
def test_a_moment_that_the_log_does_not_have_is_refused(moment: Any) -> None:
    history = SurfaceHistory(_random_log([(1, 0), (0, 0)]))
    for ask in (history.at, history.messages_at, history.request_at, lambda at: history.diff(0, at)):
        with pytest.raises(SessionError, match="no moment") as refusal:
            ask(moment)
        assert refusal.value.code == "RANGE_NOT_FOUND"


@pytest.mark.parametrize("seq", [-1, 1, 2, True, "0", None])
def test_a_seq_that_was_never_a_node_is_refused(seq: Any) -> None:
    history = SurfaceHistory(_random_log([(1, 0), (0, 0)]))
    for ask in (history.shadowed_by, history.children, history.originals, history.depth, history.lifetime):
        with pytest.raises(SessionError, match="never a node") as refusal:
            ask(seq)
        assert refusal.value.code == "RANGE_NOT_FOUND"


def test_a_log_that_breaks_a_rule_names_the_event() -> None:
    log = _random_log([(1, 0), (1, 0)])
    with pytest.raises(SessionError) as refusal:
        SurfaceHistory([log[0], {**log[1], "seq": 5}])
    assert (refusal.value.code, refusal.value.index) == ("LOG_NOT_CONTIGUOUS", 1)
    with pytest.raises(SessionError) as refusal:
        SurfaceHistory([log[0], {**log[1], "surfaceOp": {"op": "replace", "start": 7, "end": 7}}])
    assert refusal.value.code == "RANGE_NOT_FOUND"


def test_a_chain_of_twenty_thousand_replacements_of_one_node_opens_without_recursion() -> None:
    message = {"type": "user/message", "time": 0, "data": DATA}
    log = [{**message, "seq": 0, "surfaceOp": "append"}]
    log += [
        {**message, "seq": seq, "surfaceOp": Replace(seq - 1, seq - 1), "sourceEventSeqs": [seq - 1]}
        for seq in range(1, 20_001)
    ]
    history = SurfaceHistory(log)
    assert history.originals(20_000) == (0,)
    assert history.depth(20_000) == 20_000
    assert history.at(0) == (0,)
    assert history.at(12_345) == (12_345,)


def _long_log(events: int) -> Session:
    """A log of so many events, a hundredth of them replacements, about a thousand nodes alive."""
    session = Session("long", clock=lambda: 0)
    rnd = random.Random(5)
    nodes: list[int] = []
    chunk = {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "x"}}
    while session.seq < events:
        for _ in range(3):
            session.append("assistant/chunk", chunk)
        nodes.append(session.append("user/message", DATA, surface_op="append").seq)
        if len(nodes) > 1_100:
            start = rnd.randrange(900)
            shadowed = nodes[start : start + 150]
            event = session.append(
                "user/message", DATA, surface_op=Replace(shadowed[0], shadowed[-1]), source_event_seqs=shadowed
            )
            nodes[start : start + 150] = [event.seq]
    return session


def _seconds_per_moment(history: SurfaceHistory) -> float:
    rnd = random.Random(7)
    moments = [rnd.randrange(len(history)) for _ in range(50)]
    best = []
    for _ in range(5):
        began = time.process_time()
        for moment in moments:
            history.at(moment)
        best.append(time.process_time() - began)
    return min(best) / len(moments)


def test_asking_for_a_moment_costs_the_size_of_the_answer_and_not_of_the_log() -> None:
    short, long = SurfaceHistory(_long_log(10_000)), SurfaceHistory(_long_log(100_000))
    assert _seconds_per_moment(long) < 4 * _seconds_per_moment(short)


def _rolling_log(turns: int, *, keep: int) -> tuple[Session, list[tuple[int, ...]]]:
    """Each summary replaces the one before it as well; with the surface after every event, by hand."""
    session = Session("rolling", clock=lambda: 0)
    nodes: list[int] = []
    surfaces = []
    for _ in range(turns):
        for _ in range(9):
            nodes.append(session.append("user/message", DATA, surface_op="append").seq)
            surfaces.append(tuple(nodes))
        if len(nodes) > keep:
            shadowed = nodes[: len(nodes) - keep + 1]
            op = Replace(shadowed[0], shadowed[-1])
            nodes[: len(shadowed)] = [
                session.append("user/message", DATA, surface_op=op, source_event_seqs=shadowed).seq
            ]
            surfaces.append(tuple(nodes))
    return session, surfaces


def test_summaries_of_summaries_give_every_surface_that_there_was() -> None:
    session, surfaces = _rolling_log(200, keep=25)
    history = SurfaceHistory(session)
    assert history.depth(session.surface.nodes[0]) > 190
    assert [history.at(moment) for moment in range(session.seq)] == surfaces


def test_a_moment_under_a_thousand_levels_of_summaries_costs_what_one_under_a_hundred_costs() -> None:
    few, many = (SurfaceHistory(_rolling_log(turns, keep=200)[0]) for turns in (120, 1_200))
    assert _seconds_per_moment(many) < 4 * _seconds_per_moment(few)


def test_a_text_is_followed_from_the_message_into_the_summary_and_out_of_it() -> None:
    session = Session("s", clock=lambda: 0)

    def say(text: str, **placing: Any) -> int:
        data: dict[str, Any] = {"content": [{"type": "text", "text": text}], "source": {"kind": "user"}}
        seq: int = session.append("user/message", data, **({"surface_op": "append"} | placing)).seq
        return seq

    def answer() -> int:
        data: dict[str, Any] = {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}}
        seq: int = session.append("assistant/message", data, surface_op="append").seq
        return seq

    before = answer()
    said = say("the port is 8080")
    verbatim = answer()
    first = say("summary: port 8080", surface_op=Replace(said, said), source_event_seqs=[said])
    summed = answer()
    second = say("summary of the summary", surface_op=Replace(first, first), source_event_seqs=[first])
    gone = answer()
    assert second
    assert [tuple(point) for point in SurfaceHistory(session).trace("8080")] == [
        (before, "not yet", (), None),
        (verbatim, "verbatim", (said,), None),
        (summed, "summary", (first,), first),
        (gone, "gone", (), first),
    ]
    with pytest.raises(ValueError, match="empty"):
        SurfaceHistory(session).trace("")


def _spoken(log: list[dict[str, Any]], words: list[int]) -> list[dict[str, Any]]:
    """The log with the text in some of its messages, with answers, and with headers in place of log-only events."""
    for event, word in zip(log, words, strict=False):
        said = [{"type": "text", "text": "the port is 8080" if word % 3 == 0 else "something else"}]
        if event["type"] == "todo/write":
            config = {"provider": "p", "model": "m"}
            prefix = [{"role": "user", "content": said}]
            event["type"] = "request/header"
            event["data"] = {"reason": "change", "header": {"config": config, "messagePrefix": prefix}}
        elif word > 5:
            route = {"provider": "p", "model": "m"}
            event["type"] = "assistant/message"
            event["data"] = {"turn": 1, "step": 1, "content": said, "provenance": route}
        else:
            event["data"] = {"content": said, "source": {"kind": "user"}}
    return log


@given(logs, st.lists(st.integers(0, 8), min_size=40, max_size=40))
def test_a_trace_agrees_with_a_search_of_every_request(log: list[dict[str, Any]], words: list[int]) -> None:
    history = SurfaceHistory(_spoken(log, words))
    replacing = {replacement.seq for replacement in history.replacements}

    def is_summary(seq: int) -> bool:
        return seq in replacing and log[seq]["type"] == "user/message"

    for point in history.trace("8080"):
        headers = [event["seq"] for event in log[: point.request] if event["type"] == "request/header"]
        nodes = [*headers[-1:], *history.at(point.request - 1)]
        holders = [seq for seq in nodes if "8080" in json.dumps(log[seq]["data"])]
        spoke = [event["seq"] for event in log[: point.request] if "8080" in json.dumps(event["data"])]
        assert list(point.holders) == holders
        expected = "summary" if holders else "gone" if spoke else "not yet"
        assert point.presence == ("verbatim" if any(not is_summary(seq) for seq in holders) else expected)
        lefts = [(seq, next((h for h in headers if h > seq), None) if seq in headers else history.shadowed_by(seq))
                 for seq in spoke]  # fmt: skip
        originals = [left for seq, left in lefts if left is not None and left < point.request and not is_summary(seq)]
        any_left = [left for _, left in lefts if left is not None and left < point.request]
        if point.presence == "verbatim":
            assert point.taken_by is None
        elif point.presence == "summary":
            assert point.taken_by == max(originals, default=None)
        else:
            assert point.taken_by == max(originals or any_left, default=None)


def test_a_text_of_the_request_header_is_there_until_another_header_drops_it() -> None:
    session = Session("s", clock=lambda: 0)

    def header(**parts: Any) -> int:
        config = {"provider": "p", "model": "m"}
        data: dict[str, Any] = {"header": {"config": config, **parts}, "reason": "change"}
        seq: int = session.append("request/header", data).seq
        return seq

    def answer() -> int:
        route = {"provider": "p", "model": "m"}
        data: dict[str, Any] = {"turn": 1, "step": 1, "content": [], "provenance": route}
        seq: int = session.append("assistant/message", data, surface_op="append").seq
        return seq

    first = header(system="Never push to main.")
    ordered = answer()
    second = header(tools=[{"name": "push", "description": "Never push to main.", "parameters": {}}])
    described = answer()
    third = header(system="Be brief.")
    dropped = answer()
    assert [tuple(point) for point in SurfaceHistory(session).trace("push to main")] == [
        (ordered, "verbatim", (first,), None),
        (described, "verbatim", (second,), None),
        (dropped, "gone", (), third),
    ]


def test_what_only_a_summary_said_was_taken_by_what_replaced_the_summary() -> None:
    log = _random_log([(1, 0), (4, 0), (1, 0), (4, 0), (1, 0)])
    history = SurfaceHistory(_spoken(log, [1, 3, 7, 1, 7]))
    assert [tuple(point) for point in history.trace("8080")] == [
        (2, "summary", (1,), None),
        (4, "gone", (), 3),
    ]


@pytest.mark.parametrize("text", [5, b"8080", None, ["8080"]])
def test_only_text_can_be_traced(text: Any) -> None:
    with pytest.raises(TypeError, match="must be a str, not"):
        SurfaceHistory([]).trace(text)


def _called(block: dict[str, Any]) -> list[dict[str, Any]]:
    route = {"provider": "p", "model": "m"}
    said = {"turn": 1, "step": 1, "content": [block], "provenance": route}
    after = {**said, "content": []}
    return [
        {"seq": seq, "time": 0, "type": "assistant/message", "data": data, "surfaceOp": "append"}
        for seq, data in enumerate((said, after))
    ]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_call", "id": "c", "name": "f", "arguments": '{"retry_port": 8080}'},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": '{"a": "say \\"retry_port 8080\\"\\n"}'},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"retry_port": 8080}},
        {"type": "data", "value": {"type": None, "in": [{"retry_port": [8080]}]}},
    ],
)
def test_keys_and_numbers_of_what_a_tool_is_called_with_are_traced(block: dict[str, Any]) -> None:
    history = SurfaceHistory(_called(block))
    for text in ("retry_port", "8080"):
        assert history.trace(text)[-1].holders == (0,), text
    for text in ("arguments", "tool_call", "content"):
        assert history.trace(text)[-1].holders == (), text


def test_what_escapes_in_arguments_stand_for_is_traced_and_what_is_no_json_is_left_alone() -> None:
    written = json.dumps({"text": 'say "hi"\nagain'})
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": written}
    history = SurfaceHistory(_called(call))
    assert history.trace('say "hi"\nagain')[-1].holders == (0,)
    assert history.trace('say \\"hi')[-1].holders == (0,)
    for broken in ('{"a": "\\', "[" * 100_000 + "\\", "1" * 5_000 + "\\n", "\\"):
        assert SurfaceHistory(_called({**call, "arguments": broken})).trace("again")[-1].holders == ()
    assert SurfaceHistory(_called({**call, "arguments": {"n": 10**5_000}})).trace("again")[-1].holders == ()


def test_the_names_of_a_tool_s_parameters_are_traced_and_the_format_s_are_not() -> None:
    parameters = {"type": "object", "properties": {"depth_limit": {"type": "integer", "maximum": 12}}}
    tools = [{"name": "walk", "description": "Walks.", "parameters": parameters}]
    header = {"config": {"provider": "p", "model": "m"}, "tools": tools}
    first = {"seq": 0, "time": 0, "type": "request/header", "data": {"reason": "initial", "header": header}}
    answer = {**_called({"type": "text", "text": ""})[1], "seq": 1}
    history = SurfaceHistory([first, answer])
    assert [history.trace(text)[0].holders for text in ("depth_limit", "integer", "12", "walk")] == [(0,)] * 4
    assert [history.trace(text)[0].holders for text in ("parameters", "description")] == [()] * 2


def test_a_word_that_every_message_holds_is_traced_in_one_pass() -> None:
    many = SurfaceHistory(_spoken(_random_log([(1, 0)] * 20_000), [0, 6] * 10_000))
    start = time.process_time()
    points = many.trace("8080")
    assert time.process_time() - start < 5
    assert len(points[-1].holders) == 19_999


def _replaced_within(count: int) -> SurfaceHistory:
    """Say a word in every message, and replace one in the middle of the surface after each second request."""
    log = _spoken(_random_log([(1, 0)] * (2 * count)), [0, 6] * count)
    events, nodes = [], []
    for at in range(0, len(log), 2):
        for event in log[at : at + 2]:
            events.append({**event, "seq": len(events)})
            nodes.append(len(events) - 1)
        if at % 4:
            taken = nodes[len(nodes) // 2]
            replace = {"op": "replace", "start": taken, "end": taken}
            events.append({**log[0], "seq": len(events), "surfaceOp": replace, "sourceEventSeqs": [taken]})
            nodes[len(nodes) // 2] = len(events) - 1
    return SurfaceHistory(events)


def test_what_a_trace_keeps_grows_with_the_log_and_not_with_its_square() -> None:
    peaks = []
    for count in (500, 2_000):
        history = _replaced_within(count)
        assert len(history.replacements) > count / 3
        tracemalloc.start()
        points = history.trace("8080")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(points[-1].holders) > count
    assert peaks[1] < 7 * peaks[0], "four times the log; its square would be sixteen times as much"


def test_the_holders_of_a_request_are_a_sequence_like_any_other() -> None:
    history = _replaced_within(20)
    point = history.trace("8080")[-1]
    expected = tuple(history.at(point.request - 1))
    holders = point.holders
    assert holders == expected
    assert (len(holders), holders[0], holders[-1]) == (len(expected), expected[0], expected[-1])
    assert [holders[at] for at in range(-len(expected), len(expected))] == [*expected, *expected]
    assert (holders[3:9:2], tuple(reversed(holders))) == (expected[3:9:2], expected[::-1])
    assert holders == pickle.loads(pickle.dumps(holders)) == copy.deepcopy(holders)
    with pytest.raises(IndexError):
        holders[len(expected)]
    with pytest.raises(TypeError):
        holders._length = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "path", [path for path in LOGS if path.parent.name == "v0-compacted"], ids=lambda path: path.stem
)
def test_a_trace_of_a_real_log_agrees_with_a_search_of_every_request(path: Path) -> None:
    session = load(path)
    history = SurfaceHistory(session)
    first = next(event for event in session.events if event.type == "user/message")
    text = first.data["content"][0]["text"].splitlines()[0][:30]
    for point in history.trace(text)[:: max(1, len(history.requests()) // 20)]:
        nodes = history.at(point.request - 1)
        messages = {node: derive_event_message(session.events[node]) or {} for node in nodes}
        holders = tuple(
            node for node, message in messages.items() if text in json.dumps(message.get("content"), ensure_ascii=False)
        )
        assert point.holders == holders
        assert (point.presence == "gone") == (not holders)
