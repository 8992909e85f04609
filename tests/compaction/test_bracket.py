"""What a bracket checks, what it writes, and that it always closes."""

import threading
from typing import Any

import pytest

from dsh_session import Context, Replace, Session
from dsh_session.compaction import Summary, TokenMeter, begin_compaction, is_summary
from dsh_session.compaction.bracket import CompactionBracket, ResultBracket
from dsh_session.core.errors import CompactionError, PairingError
from dsh_session.core.invariants import check_invariants, invariants

from .sessions import Weights, brackets, call, close_turn, errors, open_turn, say, session, talked, text


def code(error: pytest.ExceptionInfo[Any]) -> str:
    found: str = error.value.code
    return found


def begin(log: Session, start: Any = 1, end: Any = 8, **more: Any) -> CompactionBracket:
    return begin_compaction(log, start, end, meter=Weights(), **more)


def assert_untouched(log: Session, before: list[int]) -> None:
    assert list(log.surface.nodes) == before
    assert log.surface.replace_generation == 0


# What it writes.


def test_a_compaction_is_four_events_and_one_change_of_the_surface() -> None:
    log = talked(2)
    nodes, seq = list(log.surface.nodes), log.seq
    with begin(log, nodes[0], nodes[3]) as bracket:
        assert bracket.shadowed_seqs == tuple(nodes[:4])
        result = bracket.commit("They talked.", provider="p", model="m", max_tokens=9)
    assert brackets(log) == ["start", "summary", "user/message", "end"]
    assert (result.start_seq, result.summary_seq, result.replacement_seq, result.end_seq) == (
        seq,
        seq + 1,
        seq + 2,
        seq + 3,
    )
    assert log.events[seq + 1].data == {
        "summary": [text("They talked.")],
        "shadowedRange": {"start": nodes[0], "end": nodes[3]},
        "shadowedSeqs": nodes[:4],
        "shadowedTokenCount": 40,
        "provider": "p",
        "model": "m",
        "maxTokens": 9,
    }
    replacement = log.events[seq + 2]
    assert replacement.surface_op == Replace(nodes[0], nodes[3])
    assert replacement.source_event_seqs == [seq, seq + 1, *nodes[:4]]
    assert replacement.data["source"] == {"kind": "plugin", "plugin": "compact"}
    assert is_summary(replacement)
    assert log.events[seq].data == log.events[seq + 3].data == {"turn": 3}
    assert list(log.surface.nodes) == [seq + 2, *nodes[4:]]
    assert result is bracket.result
    close_turn(log)
    assert check_invariants(log.events) == []


def test_a_summary_without_a_model_names_the_package_and_its_author() -> None:
    log = talked(2)
    with begin(log) as bracket:
        seq = bracket.commit("said").summary_seq
    assert (log.events[seq].data["provider"], log.events[seq].data["model"]) == ("dsh_session", "by-hand")
    assert "maxTokens" not in log.events[seq].data


def test_a_summary_that_says_where_it_comes_from_is_believed() -> None:
    log = talked(2)
    with begin(log) as bracket:
        seq = bracket.commit(Summary("said", "p", "m", 3)).summary_seq
    data = log.events[seq].data
    assert (data["provider"], data["model"], data["maxTokens"]) == ("p", "m", 3)


def test_a_trigger_is_noted_where_there_is_one() -> None:
    log = talked(2)
    with begin(log, trigger="auto") as bracket:
        bracket.commit("said")
    assert log.events[bracket.result.start_seq].data == {"turn": 3, "trigger": "auto"}  # type: ignore[union-attr]


def test_a_marker_goes_without_a_frame() -> None:
    log = talked(2)
    with begin(log) as bracket:
        seq = bracket.commit("[gone]", is_framed=False).replacement_seq
    assert log.events[seq].data["content"] == [text("[gone]")]


def test_a_second_compaction_may_swallow_the_summary_of_the_first() -> None:
    log = talked(3)
    nodes = list(log.surface.nodes)
    with begin(log, nodes[0], nodes[3]) as bracket:
        first = bracket.commit("first").replacement_seq
    assert first > nodes[4]
    with begin(log, first, nodes[4]) as bracket:
        second = bracket.commit("second")
    assert second.shadowed_seqs == (first, nodes[4])
    assert list(log.surface.nodes) == [second.replacement_seq, *nodes[5:]]


# What it refuses.


@pytest.mark.parametrize(
    ("start", "end", "refused"),
    [
        (0, 8, "REGION_NOT_FOUND"),
        (1, 2, "REGION_NOT_FOUND"),
        (99, 8, "REGION_NOT_FOUND"),
        (1, -1, "REGION_NOT_FOUND"),
        (1.0, 8, "REGION_NOT_FOUND"),
        (True, 8, "REGION_NOT_FOUND"),
        (None, 8, "REGION_NOT_FOUND"),
        ("1", 8, "REGION_NOT_FOUND"),
        (8, 1, "REGION_REVERSED"),
        (5, 8, "REGION_UNBALANCED"),
        (1, 3, "REGION_UNBALANCED"),
        (3, 3, "REGION_UNBALANCED"),
    ],
)
def test_a_range_that_cannot_be_is_refused_before_anything_is_logged(start: Any, end: Any, refused: str) -> None:
    log = talked(1)
    nodes, seq = list(log.surface.nodes), log.seq
    with pytest.raises(CompactionError) as caught, begin(log, start, end):
        raise AssertionError("it was entered")
    assert (code(caught), log.seq) == (refused, seq)
    assert_untouched(log, nodes)


def test_the_checks_come_in_their_order() -> None:
    log = session()
    say(log, "before any turn")
    log.append(
        "assistant/message",
        {"turn": 1, "step": 1, "content": [call("ls")], "provenance": {"provider": "p", "model": "m"}},
        surface_op="append",
    )
    found = []
    for start, end in ((9, 9), (0, 9), (1, 0), (0, 1)):
        with pytest.raises(CompactionError) as caught, begin(log, start, end):
            pass
        found.append(code(caught))
    with pytest.raises(CompactionError) as caught, begin(log, 0, 0):
        pass
    found.append(code(caught))
    log.append("compact/start", {"turn": 1})
    with pytest.raises(CompactionError) as caught, begin(log, 0, 0):
        pass
    found.append(code(caught))
    assert found == [
        "REGION_NOT_FOUND",
        "REGION_NOT_FOUND",
        "REGION_REVERSED",
        "REGION_UNBALANCED",
        "COMPACTION_NO_TURN",
        "COMPACTION_IN_PROGRESS",
    ]


def test_a_node_that_a_replacement_shadowed_is_no_edge_any_more() -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with begin(log, nodes[0], nodes[3]) as bracket:
        bracket.commit("said")
    for start, end in ((nodes[0], nodes[4]), (nodes[2], nodes[4]), (bracket.result.replacement_seq, nodes[3])):  # type: ignore[union-attr]
        with pytest.raises(CompactionError) as caught, begin(log, start, end):
            pass
        assert code(caught) == "REGION_NOT_FOUND"


def test_a_surface_with_a_result_that_has_no_call_cannot_be_cut() -> None:
    log = session(check_payloads=False)
    open_turn(log)
    say(log, "hello")
    log.append("tool/result", {"callId": "c", "content": []}, surface_op="append")
    with pytest.raises(PairingError) as caught, begin(log, 1, 1):
        pass
    assert code(caught) == "PAIRING_ORPHAN_RESULT"


def test_no_turn_no_compaction() -> None:
    log = talked(1)
    close_turn(log)
    with pytest.raises(CompactionError) as caught, begin(log):
        pass
    assert code(caught) == "COMPACTION_NO_TURN"


def test_one_compaction_at_a_time() -> None:
    log = talked(2)
    with begin(log) as outer:
        with pytest.raises(CompactionError, match="has no end") as caught, begin(log):
            pass
        assert code(caught) == "COMPACTION_IN_PROGRESS"
        outer.commit("said")
    assert brackets(log) == ["start", "summary", "user/message", "end"]


def test_what_a_crash_left_open_blocks_its_own_turn_and_is_reported_in_the_next() -> None:
    log = talked(2)
    seq = log.append("compact/start", {"turn": 3}).seq
    with pytest.raises(CompactionError) as caught, begin(log):
        pass
    assert code(caught) == "COMPACTION_IN_PROGRESS"
    close_turn(log, "interrupted")
    open_turn(log)
    with begin(log) as bracket:
        assert bracket.left_open == (seq,)
        bracket.commit("said")


# What goes wrong inside.


def test_a_log_that_grew_is_left_alone() -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with pytest.raises(CompactionError, match="grew by 2 events") as caught, begin(log) as bracket:  # noqa: PT012
        log.append("todo/write", {"todos": []})
        say(log, "and another thing")
        bracket.commit("said")
    assert code(caught) == "COMPACTION_LOG_CHANGED"
    assert_untouched(log, [*nodes, log.seq - 2])
    assert brackets(log) == ["start", "end"]
    assert "COMPACTION_LOG_CHANGED" in errors(log)[0]


@pytest.mark.parametrize("tokens", [40, 41])
def test_what_is_not_smaller_replaces_nothing(tokens: int) -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with (
        pytest.raises(CompactionError, match=f"{tokens} tokens would take the place of 40") as caught,
        begin_compaction(log, nodes[0], nodes[3], meter=Weights(replacement=tokens)) as bracket,
    ):
        bracket.commit("said")
    assert code(caught) == "COMPACTION_NOT_SMALLER"
    assert_untouched(log, nodes)
    assert brackets(log) == ["start", "end"]


def test_another_summary_may_be_tried_before_the_bracket_closes() -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with begin_compaction(log, nodes[0], nodes[3]) as bracket:
        for wrong in ("x" * 10_000, "", None, 7):
            with pytest.raises(CompactionError):
                bracket.commit(wrong)
        bracket.commit("said")
    assert brackets(log) == ["start", "summary", "user/message", "end"]
    assert errors(log) == []


@pytest.mark.parametrize("raised", [ValueError("no idea"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_whatever_leaves_the_block_the_end_is_written(raised: BaseException) -> None:
    log = talked(2)
    nodes = list(log.surface.nodes)
    with pytest.raises(type(raised)), begin(log):
        raise raised
    assert_untouched(log, nodes)
    assert brackets(log) == ["start", "end"]
    assert errors(log) == [str(raised) or type(raised).__name__]
    with begin(log) as bracket:
        bracket.commit("the next attempt works")


def test_a_block_that_commits_nothing_says_so() -> None:
    log = talked(2)
    with begin(log):
        pass
    assert errors(log) == ["nothing was committed"]


def test_giving_up_has_a_reason() -> None:
    log = talked(2)
    with begin(log) as bracket:
        bracket.abandon("changed my mind")
        with pytest.raises(CompactionError) as caught:
            bracket.commit("said")
        assert code(caught) == "COMPACTION_OVER"
    assert errors(log) == ["changed my mind"]


def test_what_goes_wrong_after_the_commit_does_not_undo_it() -> None:
    log = talked(2)
    with pytest.raises(ValueError), begin(log) as bracket:  # noqa: PT012 (what follows a commit)
        bracket.commit("said")
        raise ValueError
    assert brackets(log) == ["start", "summary", "user/message", "end"]
    assert errors(log) == []


def test_a_bracket_is_used_once_and_inside_its_block() -> None:
    log = talked(2)
    bracket = begin(log)
    for act in (lambda: bracket.commit("said"), lambda: bracket.abandon("no")):
        with pytest.raises(CompactionError) as caught:
            act()
        assert code(caught) == "COMPACTION_OVER"
    with bracket:
        with pytest.raises(CompactionError):
            bracket.__enter__()
        bracket.commit("said")
    with pytest.raises(CompactionError) as caught, bracket:
        pass
    assert code(caught) == "COMPACTION_OVER"
    assert repr(bracket) == "<CompactionBracket 's' 1 to 8, over>"


def test_an_error_that_is_long_or_cannot_say_what_it_is_gets_into_the_log_all_the_same() -> None:
    class Mute(Exception):  # noqa: N818 (it is no error of ours)
        def __str__(self) -> str:
            raise RuntimeError

    class Loud(str):
        __slots__ = ()

    log = talked(2)
    for raised in (Mute(), ValueError("x" * 10_000), ValueError(Loud("a subclass of str")), ValueError("\ud83d")):
        with pytest.raises(type(raised)), begin(log):
            raise raised
    assert [len(error) for error in errors(log)] == [4, 2_000, 17, 1]


def test_a_turn_that_ended_meanwhile_has_released_the_lock_and_gets_no_end() -> None:
    log = talked(2)
    with pytest.raises(CompactionError) as caught, begin(log) as bracket:  # noqa: PT012 (what comes meanwhile)
        close_turn(log)
        open_turn(log)
        bracket.commit("said")
    assert code(caught) == "COMPACTION_LOG_CHANGED"
    close_turn(log)
    assert brackets(log) == ["start"]
    assert check_invariants(log.events) == []


def test_an_interruption_after_the_replacement_is_no_failure_of_the_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    log = talked(2)
    append = Session.append

    def interrupted(self: Session, type: Any, data: Any, **more: Any) -> Any:  # noqa: A002 (the field's name)
        if type == "compact/end" and "interrupted" not in seen:
            seen.append("interrupted")
            raise KeyboardInterrupt
        return append(self, type, data, **more)

    seen: list[str] = []
    monkeypatch.setattr(Session, "append", interrupted)
    with pytest.raises(KeyboardInterrupt), begin(log) as bracket:
        bracket.commit("said")
    assert brackets(log) == ["start", "summary", "user/message", "end"]
    assert errors(log) == []


def test_an_interruption_of_the_start_leaves_no_lock_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    log = talked(2)
    append = Session.append

    def interrupted(self: Session, type: Any, data: Any, **more: Any) -> Any:  # noqa: A002 (the field's name)
        event = append(self, type, data, **more)
        if type == "compact/start":
            raise KeyboardInterrupt
        return event

    monkeypatch.setattr(Session, "append", interrupted)
    with pytest.raises(KeyboardInterrupt), begin(log):
        raise AssertionError("it was entered")
    assert brackets(log) == ["start", "end"]


def test_only_one_of_many_threads_gets_the_lock() -> None:
    log = talked(2)
    barrier, leave = threading.Barrier(8), threading.Event()
    outcomes: list[str] = []

    def compact() -> None:
        barrier.wait()
        try:
            with begin(log):
                leave.wait(5)
                outcomes.append("entered")
        except CompactionError as error:
            outcomes.append(error.code)
            if len(outcomes) == 7:
                leave.set()

    threads = [threading.Thread(target=compact) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["COMPACTION_IN_PROGRESS"] * 7 + ["entered"]
    assert brackets(log) == ["start", "end"]


def test_a_listener_cannot_compact_the_session_that_is_publishing() -> None:
    with Context(clock=lambda: 0) as ctx:
        log = talked(2, into=ctx.sessions.create("s"))
        caught: list[str] = []

        def compact(live: Session, _event: Any) -> None:
            try:
                with begin(live):
                    pass
            except Exception as error:  # noqa: BLE001 (its code is looked at)
                caught.append(getattr(error, "code", repr(error)))

        ctx.on("session/event", compact)
        log.append("todo/write", {"todos": []})
        assert caught == ["APPEND_REENTERED"]
        assert brackets(log) == []


def test_a_check_that_refuses_the_replacement_leaves_the_surface_and_a_closed_bracket() -> None:
    with Context(clock=lambda: 0) as ctx:
        log = talked(2, into=ctx.sessions.create("s"))
        nodes = list(log.surface.nodes)

        def refuse(_session: Session, event: Any) -> None:
            if isinstance(event.surface_op, dict):
                raise PermissionError("not here")

        ctx.check("session/event", refuse)
        with pytest.raises(PermissionError), begin(log) as bracket:
            bracket.commit("said")
        assert_untouched(log, nodes)
        assert brackets(log) == ["start", "summary", "end"]
        assert errors(log) == ["not here"]


def test_the_transcript_is_written_when_it_is_asked_for() -> None:
    log = talked(1)
    with begin(log) as bracket:
        assert bracket.transcript.startswith("User: Question 1?")
        assert bracket.transcript is bracket.transcript
        assert [event.seq for event in bracket.transcript.events] == [1, 3, 5, 8]


# Shortened results.


def test_a_result_is_shortened_and_nothing_but_its_content_changes() -> None:
    log = talked(2, results="x" * 400)
    before = log.events[5].data
    with ResultBracket(log, 5, meter=TokenMeter()) as bracket:
        result = bracket.shorten("[pruned]", author="me")
    after = log.events[result.replacement_seq]
    assert after.type == "tool/result"
    assert after.data == {**before, "content": [text("[pruned]")]}
    assert after.source_event_seqs == [result.start_seq, result.summary_seq, 5]
    assert (result.shadowed_range, result.shadowed_seqs) == ((5, 5), (5,))
    assert log.events[result.summary_seq].data["model"] == "me"
    close_turn(log)
    assert check_invariants(log.events, allow_result_rewrite=True) == []
    assert [violation.rule for violation in check_invariants(log.events)] == ["turn"]


def test_only_a_result_is_shortened_and_only_to_something_smaller() -> None:
    log = talked(2, results="short")
    with pytest.raises(CompactionError) as caught, ResultBracket(log, 3):
        pass
    assert code(caught) == "REGION_UNBALANCED"
    with pytest.raises(CompactionError) as caught, ResultBracket(log, 5) as bracket:
        bracket.shorten("x" * 100, author="me")
    assert code(caught) == "COMPACTION_NOT_SMALLER"


@pytest.mark.parametrize("is_exempt", [True, False])
def test_a_guarded_session_needs_the_exemption(is_exempt: bool) -> None:
    with Context(clock=lambda: 0) as ctx:
        ctx.plugin(invariants(allow_result_rewrite=is_exempt))
        log = talked(2, into=ctx.sessions.create("s"), results="x" * 400)
        try:
            with ResultBracket(log, 5) as bracket:
                bracket.shorten("[pruned]", author="me")
        except Exception as error:  # noqa: BLE001 (its code is looked at)
            assert not is_exempt
            assert getattr(error, "code", None) == "INVARIANT"
            assert brackets(log) == ["start", "summary", "end"]
        else:
            assert is_exempt
            assert brackets(log) == ["start", "summary", "tool/result", "end"]
