"""Going back, forks, sub-agents: rollouts that are more than one session."""

from pathlib import Path
from typing import Any

import pytest

from dsh_session import Session, fold_surface
from dsh_session.importers.codex.importer import IMPORTER
from dsh_session.importers.codex.lineage import parent_of, rollout_of
from dsh_session.importers.found import Descent, Imported
from tests.importers.corpora import LOGS
from tests.importers.lines import write_lines
from tests.importers.rollouts import Rollout


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def said(session: Session) -> list[str]:
    return [message["content"][0].get("text", "") for message in session.derive_messages() if message["content"]]


def turn(log: Rollout, text: str) -> list[Any]:
    return [
        log.event("task_started"),
        *log.prompt(text),
        log.said("assistant", f"answer to {text}"),
        log.event("task_complete"),
    ]


def test_what_was_taken_back_is_a_fork(read_rollout: Any) -> None:
    log = Rollout()
    back = log.event("thread_rolled_back", num_turns=2)
    lines = [log.meta(), *turn(log, "one"), *turn(log, "two"), *turn(log, "three"), back, *turn(log, "four")]
    imported = read_rollout(*lines)
    assert said(imported.session) == ["one", "answer to one", "four", "answer to four"]
    (fork,) = imported.forks
    assert said(fork) == ["one", "answer to one", "two", "answer to two", "three", "answer to three"]
    length = fork.header.seed_length
    assert imported.lineage == (Descent(fork.id, "rollout-1", length, "fork"),)
    assert list(fork.events[:length]) == list(imported.session.events[:length])
    assert codes(imported) == ["ROLLED_BACK"]


def test_going_back_twice_gives_two_forks(read_rollout: Any) -> None:
    log = Rollout()
    lines = [
        log.meta(),
        *turn(log, "one"),
        *turn(log, "two"),
        log.event("thread_rolled_back", num_turns=1),
        *turn(log, "three"),
    ]
    lines += [log.event("thread_rolled_back", num_turns=2), *turn(log, "four")]
    imported = read_rollout(*lines)
    assert said(imported.session) == ["four", "answer to four"]
    assert sorted(said(fork)[-2] for fork in imported.forks) == ["three", "two"]


def test_a_fork_before_a_compaction_starts_from_the_raw_log() -> None:
    """Not from the compacted state (openai/codex#26739)."""
    imported = IMPORTER.read(LOGS / "codex" / "made-rolled-back.jsonl")
    assert said(imported.session)[0] == "first"
    assert len(fold_surface(imported.session.events).replacements) == 0
    assert len(fold_surface(imported.forks[0].events).replacements) == 1
    reasons = [event.data["reason"]["kind"] for event in imported.forks[0].events if event.type == "turn/end"]
    assert reasons == ["completed", "aborted"]


@pytest.mark.parametrize("turns", [None, 0, -1, "two", 1.5, True])
def test_going_back_by_no_number_of_turns_takes_nothing_back(read_rollout: Any, turns: Any) -> None:
    log = Rollout()
    imported = read_rollout(log.meta(), *turn(log, "one"), log.event("thread_rolled_back", num_turns=turns))
    assert codes(imported) == ["ROLLBACK_UNCLEAR"]
    assert said(imported.session) == ["one", "answer to one"]


def test_going_back_further_than_there_is_takes_everything_back(read_rollout: Any) -> None:
    log = Rollout()
    lines = [log.meta(), *turn(log, "one"), log.event("thread_rolled_back", num_turns=9), *turn(log, "two")]
    imported = read_rollout(*lines)
    assert codes(imported) == ["ROLLBACK_UNCLEAR", "ROLLED_BACK"]
    assert said(imported.session) == ["two", "answer to two"]
    assert imported.forks[0].header.seed_length == 0


def test_a_fork_names_its_parent_and_shares_what_it_copies(read_rollout: Any) -> None:
    first, again = Rollout(), Rollout()
    lines = [*turn(first, "one"), *turn(first, "two")]
    read_rollout(first.meta(id="parent-thread"), *lines, *turn(first, "own"), name="rollout-a-parent-thread.jsonl")
    head = [again.meta(id="child-thread", forked_from_id="parent-thread"), again.meta(id="parent-thread")]
    copies = [*turn(again, "one"), *turn(again, "two")]
    child = read_rollout(*head, *copies, *turn(again, "new"), name="rollout-b-child-thread.jsonl")
    length = child.session.header.seed_length
    assert child.session.header.parent_session == "parent-thread"
    assert child.session.events[length - 1].type == "turn/end"
    assert [event.data["turn"] for event in child.session.events[:length] if event.type == "turn/end"] == [1, 2]
    assert child.lineage == (Descent("child-thread", "parent-thread", length, "fork"),)
    assert codes(child) == ["FURTHER_HEADER", "INHERITED"]


def test_the_recorded_fork_copies_182_records() -> None:
    imported = IMPORTER.read(LOGS / "codex" / "fork-child.jsonl")
    assert codes(imported) == ["COUNTS_ONLY", "INHERITED"]
    assert "the first 182 records are copies of the thread 'parent-session'" in imported.findings[1].message
    assert imported.session.header.parent_session == "parent-session"


def test_a_history_that_is_not_copied_is_said(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(log.meta(history_base={"thread_id": "elsewhere-1", "ordinal": 4}), *turn(log, "one"))
    assert codes(imported) == ["HISTORY_ELSEWHERE"]
    assert imported.session.header.parent_session == "elsewhere-1"


def test_a_sub_agents_rollout_beside_is_read_with_it(read_rollout: Any, tmp_path: Path) -> None:
    inner = Rollout()
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "rollout-1", "depth": 1}}}
    agent = [inner.meta(id="agent-thread", source=source), *turn(inner, "task")]
    write_lines(tmp_path / "rollout-x-agent-thread.jsonl", *agent, "{broken")
    log = Rollout()
    imported = read_rollout(
        log.meta(),
        *log.prompt("Delegate."),
        log.call("c1", "spawn_agent"),
        log.output("c1", '{"agent_id":"agent-thread","nickname":"x"}'),
        log.said("assistant", "It works."),
    )
    (session,) = imported.subagents
    assert (session.id, session.header.parent_session) == ("agent-thread", "rollout-1")
    assert imported.lineage == (Descent("agent-thread", "rollout-1", 0, "subagent", "c1"),)
    assert imported.findings[0].message.startswith("rollout-x-agent-thread.jsonl: ")


def test_a_sub_agent_that_started_itself_is_read_once(read_rollout: Any) -> None:
    log = Rollout()
    call = [log.call("c1", "spawn_agent"), log.output("c1", '{"agent_id":"rollout-1"}')]
    assert read_rollout(log.meta(), *call, name="rollout-1.jsonl").subagents == ()


@pytest.mark.parametrize("identity", ["../../etc/passwd", "", "x", "a" * 200, "..", "agent\0thread"])
def test_a_rollout_is_looked_for_by_ids_and_by_nothing_else(tmp_path: Path, identity: str) -> None:
    assert rollout_of(identity, write_lines(tmp_path / "log.jsonl")) is None


@pytest.mark.parametrize(
    "meta",
    [{}, {"source": "cli"}, {"source": {"subagent": "review"}}, {"forked_from_id": None}, {"history_base": 5}],
)
def test_most_rollouts_come_from_nowhere(meta: Any) -> None:
    assert parent_of(meta) is None


def test_a_rollout_without_a_header_is_read(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(*turn(log, "one"))
    assert codes(imported) == ["NO_HEADER"]
    assert imported.session.id == "codex-rollout"


def test_going_back_very_often_takes_no_long_time(tmp_path: Path) -> None:
    log = Rollout()
    lines: list[Any] = [log.meta()]
    for number in range(700):
        lines += [log.event("user_message", message=f"q{number}"), log.event("thread_rolled_back", num_turns=1)]
    imported = IMPORTER.read(write_lines(tmp_path / "log.jsonl", *lines))
    assert len(imported.forks) == 500
    assert codes(imported)[-1] == "TOO_MANY_BRANCHES"
