"""Every compaction of the form goes through the compaction API, and the log is the one that code would leave."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
import traitlets

from dsh_session import Context, Session, samples
from dsh_session.compaction import (
    Basic,
    Compact,
    CompactionOutcome,
    Hierarchical,
    KeepHeadAndTail,
    Leave,
    PruneToolResults,
    SlidingWindow,
    TokenMeter,
    begin_compaction,
    compact_if_needed,
    compact_region,
    extractive,
)
from dsh_session.widgets import CompactForm
from tests.compaction.sessions import close_turn, say, talked
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")

EXTRACTIVE = "extractive, without a model"


@pytest.fixture
def opened() -> Iterator[Any]:
    """Makes forms, and closes them."""
    forms = []

    def make(*args: Any, **options: Any) -> CompactForm:
        forms.append(CompactForm(*args, **options))
        return forms[-1]

    yield make
    for form in forms:
        form.close()


def said(form: CompactForm) -> str:
    return str(form._notice.text)


def of_range(form: CompactForm) -> str:
    return str(form._range_notice.text)


def of_summary(form: CompactForm) -> str:
    return str(form._summary.notice.text)


# ------------------------------------------------------------------------------------------------------------ a range


def test_a_summary_by_hand_leaves_the_log_that_code_would_leave(opened: Any) -> None:
    by_hand, by_code = talked(), talked()
    form = opened(by_hand, selection=(1, 8))
    form.summary = "Asked and answered once."
    before, after = form.preview.tokens_before, form.preview.tokens_after
    result = form.compact()
    with begin_compaction(by_code, 1, 8) as bracket:
        bracket.commit("Asked and answered once.")
    assert by_hand.to_jsonl() == by_code.to_jsonl()
    assert form.result is result
    meter = TokenMeter()
    assert (before, after) == (meter.measure(talked()).total, meter.measure(by_hand).total), "the preview was right"
    assert said(form).startswith(f"Seq {result.replacement_seq} stands for 4 nodes: ")
    assert form.selection == []
    assert form.summary == ""


def test_a_range_by_policyless_summariser_leaves_the_log_that_code_would_leave(opened: Any) -> None:
    by_hand, by_code = talked(), talked()
    form = opened(by_hand, selection=(1, 27))
    form.summariser = EXTRACTIVE
    before = form.preview
    form.compact()
    compact_region(by_code, 1, 27, extractive)
    assert by_hand.to_jsonl() == by_code.to_jsonl()
    assert before.tokens_after == TokenMeter().measure(by_code).total
    assert len(before.nodes) == len(by_code.surface)


def test_the_edges_snap_and_say_why(opened: Any) -> None:
    form = opened(talked())
    assert of_range(form) == "Select nodes on the surface, or give the first and the last seq of a range."
    assert controls(form)["Compact"].disabled
    form.selection = [1, 3]
    assert of_range(form) == "The last node moved from 3 to 5: a call of 3 is answered by 5, and the two go together."
    assert form.snapped.nodes == (1, 3, 5)
    form.selection = [1, 5]
    assert of_range(form) == "1 … 5: 3 nodes."
    form.selection = [1, 99]
    assert of_range(form) == "REGION_NOT_FOUND: 99 is not on the surface"
    assert form._button.disabled


def test_the_range_is_typed_as_well_as_selected(opened: Any) -> None:
    form = opened(talked())
    there = controls(form)
    there["Last node"].value = 8
    assert form.selection == [1, 8]
    assert form._button.description == "Compact 4 nodes"
    with pytest.raises(traitlets.TraitError, match="the first and the last seq"):
        form.selection = [1, 2, 3]


def test_a_summary_that_is_no_smaller_is_refused_and_kept(opened: Any) -> None:
    session = talked()
    form = opened(session, selection=(5, 5))
    form.selection = [1, 1]
    form.summary = "word " * 200
    assert of_summary(form).startswith("COMPACTION_NOT_SMALLER: ")
    count = session.seq
    assert form.compact() is None
    assert said(form).startswith("COMPACTION_NOT_SMALLER: ")
    assert form.summary == "word " * 200
    assert [event.type for event in session.events[count:]] == ["compact/start", "compact/end"], (
        "as code would leave it"
    )


def test_an_empty_summary_says_what_is_missing(opened: Any) -> None:
    form = opened(talked(), selection=(1, 8))
    assert of_summary(form) == "Write what takes the range's place."
    assert form.preview.tokens_after is None
    assert form.compact() is None
    assert said(form).startswith("COMPACTION_EMPTY")


def test_without_an_open_turn_it_says_what_to_do(opened: Any) -> None:
    session = talked()
    close_turn(session)
    form = opened(session, selection=(1, 8))
    form.summary = "Asked."
    assert form._button.disabled
    count = session.seq
    assert form.compact() is None
    assert said(form).startswith("COMPACTION_NO_TURN: ")
    assert "turn/start" in said(form)
    assert session.seq == count


def test_a_loaded_log_is_read_only(opened: Any) -> None:
    form = opened(samples.load("pi-compacted-twice"))
    assert form._button.disabled
    assert "ctx.sessions.enter(session)" in said(form)
    assert form.compact() is None


# ---------------------------------------------------------------------------------------------------------- a policy


@pytest.mark.parametrize(
    "policy",
    [
        Basic(300),
        SlidingWindow(300),
        KeepHeadAndTail(300),
        Hierarchical(300),
        PruneToolResults(600, retain_tokens=0, max_chars=20),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_policy_leaves_the_log_that_code_would_leave_and_the_preview_is_right(policy: Any, opened: Any) -> None:
    by_hand, by_code = (talked(6, results="line " * 60) for _ in range(2))
    form = opened(by_hand, policy=policy)
    form.summariser = EXTRACTIVE
    preview = form.preview
    outcome = form.compact()
    expected = compact_if_needed(by_code, policy, extractive)
    assert isinstance(outcome, CompactionOutcome)
    assert outcome.results
    assert by_hand.to_jsonl() == by_code.to_jsonl()
    assert outcome == expected
    assert (preview.tokens_before, preview.tokens_after) == (outcome.tokens_before, outcome.tokens_after)
    assert len(preview.nodes) == len(by_hand.surface)


def test_the_parameters_of_a_policy_are_a_form(opened: Any) -> None:
    form = opened(talked())
    there = controls(form)
    there["What to compact"].value = "Hierarchical"
    there = controls(form)
    assert form.policy == Hierarchical(there["context window"].value)
    there["context window"].value = 4000
    there["fan out"].value = 3
    there["with retain tokens"].value = True
    there["retain tokens"].value = 500
    assert form.policy == Hierarchical(4000, retain_tokens=500, fan_out=3)
    there["fan out"].value = 1
    assert of_range(form).startswith("COMPACTION_POLICY: fan_out of Hierarchical must be at least 2")
    assert form._button.disabled
    assert form.policy.fan_out == 3, "the last one that was right"
    there["fan out"].value = 2
    assert form.policy.fan_out == 2
    there["What to compact"].value = "the selected range"
    assert form.policy is None


def test_a_policy_that_is_given_fills_in_its_form(opened: Any) -> None:
    form = opened(talked())
    form.policy = Basic(1234, threshold_ratio=0.5)
    there = controls(form)
    assert (there["What to compact"].value, there["context window"].value, there["threshold ratio"].value) == (
        "Basic",
        1234,
        0.5,
    )
    form.policy = None
    assert controls(form)["What to compact"].value == "the selected range"


class Mine:
    """A policy of one's own, without parameters."""

    def plan(self, surface: Any) -> Any:
        return (
            Compact(surface.nodes[0], surface.nodes[7])
            if len(surface.nodes) > 15
            else Leave("short enough", is_satisfied=True)
        )


def test_a_policy_of_ones_own_is_taken_as_it_is(opened: Any) -> None:
    by_hand, by_code = talked(), talked()
    policy: Any = Mine()
    form = opened(by_hand, policy=policy)
    assert controls(form)["What to compact"].value == "the given policy"
    controls(form)["What to compact"].value = "Basic"
    assert isinstance(form.policy, Basic)
    controls(form)["What to compact"].value = "the given policy"
    assert form.policy is policy
    form.summary = "."
    form.compact()
    expected = compact_if_needed(by_code, Mine(), lambda _: ".")
    assert form.result.tokens_after == expected.tokens_after


def test_a_policy_that_fails_is_shown_and_stops_nothing(opened: Any) -> None:
    class Broken:
        def plan(self, _surface: Any) -> Any:
            raise RuntimeError("no idea")

    form = opened(talked(), policy=Broken())
    assert of_range(form) == "RuntimeError: no idea"
    form.policy = None
    form.selection = [1, 8]
    assert of_range(form) == "1 … 8: 4 nodes."


def test_a_policy_that_leaves_everything_says_so(opened: Any) -> None:
    form = opened(talked(), policy=Basic(100_000))
    form.summariser = EXTRACTIVE
    assert "of 80000 tokens" in of_range(form)
    assert form.preview.replaced == ()


# ------------------------------------------------------------------------------------------------- beside the notebook


def names(session: Session) -> list[str]:
    return [event.data["model"] for event in session.events if event.type == "compact/summary"]


def test_a_summariser_runs_beside_the_loop_and_leaves_the_log_that_code_would_leave(opened: Any) -> None:
    def blocking(transcript: str) -> str:
        assert threading.current_thread() is not threading.main_thread()
        return f"{len(transcript)} characters"

    async def coroutine(transcript: str) -> str:
        await asyncio.sleep(0)
        return f"{len(transcript)} characters"

    async def run(name: str) -> Session:
        session = talked()
        form = opened(session, selection=(1, 27), summarisers={"blocking": blocking, "coroutine": coroutine})
        form.summariser = name
        assert form.preview.tokens_after is None
        task = form.compact()
        assert isinstance(task, asyncio.Task)
        assert form.is_busy
        assert form.compact() is None, "one at a time"
        await task
        assert not form.is_busy
        return session

    for name in ("blocking", "coroutine"):
        by_code = talked()
        compact_region(by_code, 1, 27, lambda transcript: f"{len(transcript)} characters")
        session = asyncio.run(run(name))
        assert names(session) == [name], "the log names the summariser and not what carried it"
        assert session.to_jsonl().replace(name.encode(), b"lambda") == by_code.to_jsonl()


def test_it_can_be_cancelled_and_the_surface_stays(opened: Any) -> None:
    async def for_ever(_transcript: str) -> str:
        await asyncio.sleep(60)
        raise AssertionError

    async def run() -> None:
        session = talked()
        nodes = session.surface.nodes
        form = opened(session, selection=(1, 8), summarisers={"for ever": for_ever})
        form.summariser = "for ever"
        there = controls(form)
        task = form.compact()
        await asyncio.sleep(0.05)
        assert said(form).startswith("Summarising 4 nodes, about ")
        assert form._notice.kind == "busy"
        assert not there["Cancel"].disabled
        there["Cancel"].click()
        await task
        assert said(form).startswith("Cancelled.")
        assert session.surface.nodes == nodes
        assert session.events[-1].type == "compact/end"
        assert session.events[-1].data["error"] == "CancelledError"
        assert not form.is_busy
        assert there["Cancel"].disabled

    asyncio.run(run())


def test_it_says_each_second_how_long_it_takes(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sleep = asyncio.sleep
    heard: list[str] = []

    async def run() -> None:
        ticked = asyncio.Event()

        async def slow(_transcript: str) -> str:
            await ticked.wait()
            return "."

        async def at_once(seconds: float) -> None:
            assert seconds == 1
            heard.append(said(form))
            if len(heard) == 3:
                ticked.set()
            await sleep(0)

        form = opened(talked(), selection=(1, 8), summarisers={"slow": slow})
        form.summariser = "slow"
        monkeypatch.setattr(asyncio, "sleep", at_once)
        await form.compact()

    asyncio.run(run())
    assert heard[1].startswith("Summarising 4 nodes, about ")
    assert heard[1].endswith("… 0 s")


def test_a_summariser_that_fails_is_shown_and_the_log_says_so(opened: Any) -> None:
    def broken(_transcript: str) -> str:
        raise OSError("no route")

    async def run(session: Session) -> None:
        form = opened(session, selection=(1, 8), summarisers={"broken": broken})
        form.summariser = "broken"
        await form.compact()
        assert said(form) == "OSError: no route"
        assert form._notice.kind == "error"

    session = talked()
    asyncio.run(run(session))
    assert session.events[-1].data["error"] == "no route"


def test_a_log_that_grows_meanwhile_stops_the_compaction_and_says_so(opened: Any) -> None:
    async def run() -> None:
        session = talked()
        go = asyncio.Event()

        async def waits(_transcript: str) -> str:
            await go.wait()
            return "."

        form = opened(session, selection=(1, 8), summarisers={"waits": waits})
        form.summariser = "waits"
        task = form.compact()
        await asyncio.sleep(0)
        say(session, "And another thing.")
        go.set()
        await task
        assert said(form).startswith("COMPACTION_LOG_CHANGED: ")

    asyncio.run(run())


def test_closing_the_form_cancels_what_is_under_way() -> None:
    async def run() -> None:
        async def for_ever(_transcript: str) -> str:
            await asyncio.sleep(60)
            raise AssertionError

        session = talked()
        form = CompactForm(session, selection=(1, 8), summarisers={"for ever": for_ever})
        form.summariser = "for ever"
        task = form.compact()
        await asyncio.sleep(0)
        form.close()
        await task
        assert session.events[-1].type == "compact/end"

    asyncio.run(run())


def test_a_model_is_offered_where_the_environment_configures_one(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the configured model" not in opened(talked()).summarisers
    monkeypatch.setenv("DSH_SESSION_CHAT_URL", "http://127.0.0.1:9/v1")
    assert "the configured model" not in opened(talked()).summarisers, "it has no name"
    monkeypatch.setenv("DSH_SESSION_CHAT_MODEL", "m")
    assert "the configured model" in opened(talked()).summarisers


# --------------------------------------------------------------------------------------------------------------- live


def test_it_follows_a_live_session(opened: Any) -> None:
    with Context() as ctx:
        session = talked(1, into=ctx.sessions.create())
        close_turn(session)
        form = opened(session, selection=(1, 8))
        form.summary = "Asked."
        assert form._button.disabled
        session.append("turn/start", {"turn": 3, "trigger": {"kind": "message", "source": {"kind": "user"}}})
        assert not form._button.disabled
        assert said(form) == ""
        form.close()


def test_a_form_that_nobody_looks_at_reckons_nothing(opened: Any) -> None:
    with Context() as ctx:
        session = talked(1, into=ctx.sessions.create())
        form = opened(session, policy=Mine())
        form.set_shown(False)
        before = form._preview.value
        say(session, "more")
        assert form._preview.value == before
        form.set_shown(True)
        assert form._preview.value != before
        form.close()


def test_who_wants_to_know_is_told_of_each_result(opened: Any) -> None:
    heard: list[Any] = []
    form = opened(talked(), selection=(1, 8))
    form.on_compact(heard.append)
    form.summary = "Asked."
    form._button.click()
    assert heard == [form.result]


def test_nothing_is_compacted_where_no_range_is_chosen(opened: Any) -> None:
    session = talked()
    form = opened(session)
    form.summary = "Asked and answered once."
    before = session.seq
    assert form.compact() is None
    assert said(form) == "REGION_NOT_FOUND: no range is chosen: select nodes, or set `selection`"
    assert session.seq == before


def test_a_summariser_is_one_that_is_offered(opened: Any) -> None:
    form = opened(talked(), summarisers={"mine": extractive})
    form.summariser = "extractive"
    assert form.summariser == EXTRACTIVE
    for name in ("nope", "", None):
        with pytest.raises(traitlets.TraitError, match="give one of 'by hand', 'extractive, without a model'"):
            form.summariser = name
    assert form.summariser == EXTRACTIVE
    form.summariser = "mine"
    assert form.summariser == "mine"
