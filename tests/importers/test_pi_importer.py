"""Trees of entries as sessions and forks, files that belong together, and what is not as it should be."""

import json
from pathlib import Path
from typing import Any

import pytest

from dsh_session import Session
from dsh_session.importers import recognise
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.pi.importer import IMPORTER
from tests.importers.corpora import LOGS
from tests.importers.lines import write_lines
from tests.importers.pi_entries import HEADER, assistant, compaction, entry, result, user


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def said(session: Session) -> list[str]:
    return [block.get("text", "") for message in session.derive_messages() for block in message["content"][:1]]


TRUNK = [HEADER, user("a", None, "one"), assistant("b", "a"), user("c", "b", "two"), assistant("d", "c")]


def test_the_last_entry_is_the_active_leaf_and_the_others_are_forks(read_pi: Any) -> None:
    imported = read_pi(*TRUNK, user("e", "b", "three"))
    assert said(imported.session) == ["one", "This is b.", "three"]
    assert [said(fork) for fork in imported.forks] == [["one", "This is b.", "two", "This is d."]]
    fork = imported.forks[0]
    assert imported.lineage == (Descent("s~d", "s", 7, "fork"),)
    assert (fork.header.parent_session, fork.header.seed_length) == ("s", 7)
    assert list(fork.events[:7]) == list(imported.session.events[:7])
    assert fork.events[6].type == "turn/end"


def test_a_leaf_entry_moves_the_active_leaf(read_pi: Any) -> None:
    imported = read_pi(*TRUNK, user("e", "b", "three"), entry("f", "e", "leaf", targetId="d"))
    assert said(imported.session)[-1] == "This is d."
    assert [session.id for session in imported.forks] == ["s~e"]


@pytest.mark.parametrize("target", [None, "nowhere", 5])
def test_a_leaf_that_is_nowhere_is_said(read_pi: Any, target: Any) -> None:
    imported = read_pi(*TRUNK, entry("f", "d", "leaf", targetId=target))
    assert codes(imported) == ["LEAF_NOT_FOUND"]
    assert said(imported.session)[-1] == "This is d."


def test_a_branch_in_the_middle_of_a_turn_shares_what_is_before_it(read_pi: Any) -> None:
    """A response that was asked for again."""
    imported = read_pi(*TRUNK, assistant("e", "c"))
    assert codes(imported) == ["BRANCH_MID_TURN"]
    assert said(imported.session) == ["one", "This is b.", "two", "This is e."]
    assert said(imported.forks[0]) == ["one", "This is b.", "two", "This is d."]
    assert imported.forks[0].header.seed_length == 7


def test_a_loose_end_without_messages_is_no_fork(read_pi: Any) -> None:
    imported = read_pi(*TRUNK, entry("l", "b", "label", targetId="a", label="x"), user("e", "d", "three"))
    assert imported.forks == ()
    assert imported.side_table.query("key == 'label'")["line"].tolist() == [6]


def test_two_compactions_of_one_place_leave_one_as_an_orphan(read_pi: Any) -> None:
    """A retry writes the summary twice (openclaw/openclaw, pull request 79635)."""
    imported = read_pi(
        HEADER,
        user("root", None),
        compaction("orphan", "root", firstKeptEntryId="root"),
        compaction("winner", "root", firstKeptEntryId="root"),
        user("after", "winner"),
    )
    assert "ORPHAN_COMPACTION" in codes(imported)
    assert said(imported.session) == ["Go on.", "Summary winner.", "Go on."]
    assert [fork.id for fork in imported.forks] == ["s~orphan"]


def test_a_fork_before_a_compaction_has_the_whole_history(read_pi: Any) -> None:
    imported = read_pi(*TRUNK, compaction("e", "d", firstKeptEntryId="c"), user("f", "b", "instead"))
    assert said(imported.session) == ["one", "This is b.", "instead"]
    assert said(imported.forks[0]) == ["Summary e.", "two", "This is d."]


def test_parents_that_are_the_session_or_a_call_mean_the_line_before() -> None:
    imported = IMPORTER.read(LOGS / "pi" / "openclaw-small.jsonl")
    assert imported.forks == ()
    assert codes(imported) == []
    assert [event.type for event in imported.session.events][4:8] == [
        *("assistant/message", "tool/call", "tool/result", "step/end"),
    ]


def test_results_that_hang_on_their_calls_are_no_branches(read_pi: Any) -> None:
    imported = read_pi(
        HEADER, user("a", "s"), assistant("b", "a", "c1", "c2"), result("c", "c1", "c1"), result("d", "c2", "c2")
    )
    assert imported.forks == ()
    assert codes(imported) == []


def test_missing_parents_mean_the_line_before_and_are_counted(read_pi: Any) -> None:
    imported = read_pi(HEADER, user("a", "x"), assistant("b", "y"), user("c", "z"))
    assert codes(imported) == ["MISSING_PARENT"]
    assert imported.findings[0].message.startswith(
        "3 entries name a parent that is not there before them (lines 2, 3, 4)"
    )
    assert said(imported.session) == ["Go on.", "This is b.", "Go on."]


def test_a_cycle_is_broken_where_a_parent_comes_later(read_pi: Any) -> None:
    imported = read_pi(HEADER, user("a", "c"), assistant("b", "a"), user("c", "b"), user("d", "d"))
    assert codes(imported) == ["MISSING_PARENT"]
    assert said(imported.session) == ["Go on.", "This is b.", "Go on.", "Go on."]


def test_a_line_that_stands_twice_counts_once(read_pi: Any) -> None:
    imported = read_pi(*TRUNK[:3], TRUNK[2], *TRUNK[3:])
    assert codes(imported) == ["DUPLICATE_ID"]
    assert imported.forks == ()
    assert said(imported.session) == ["one", "This is b.", "two", "This is d."]


def test_two_entries_of_one_id_are_both_kept(read_pi: Any) -> None:
    imported = read_pi(*TRUNK[:3], user("b", "b", "same id"), user("c", "b", "two"))
    assert "DUPLICATE_ID" in codes(imported)
    assert sorted(text for session in imported.sessions for text in said(session) if text == "same id") == ["same id"]


def test_version_1_is_a_line(read_pi: Any) -> None:
    header = {key: value for key, value in HEADER.items() if key != "version"}
    plain = [{key: value for key, value in line.items() if key not in ("id", "parentId")} for line in TRUNK[1:]]
    imported = read_pi(header, *plain)
    assert imported.forks == ()
    assert said(imported.session) == ["one", "This is b.", "two", "This is d."]


def test_a_newer_version_is_read_as_far_as_it_is_known(read_pi: Any) -> None:
    imported = read_pi({**HEADER, "version": 4}, *TRUNK[1:])
    assert codes(imported) == ["NEWER_VERSION"]
    assert len(imported.session.surface) == 4


def test_a_title_line_before_the_header_is_no_entry(read_pi: Any) -> None:
    imported = read_pi({"type": "title", "v": 1, "title": "T", "updatedAt": "x", "pad": ""}, *TRUNK)
    assert imported.side_table.query("key == 'title'")["line"].tolist() == [1]
    assert imported.session.id == "s"


def test_entries_without_a_header_are_read(read_pi: Any) -> None:
    imported = read_pi(*TRUNK[1:])
    assert codes(imported) == ["NO_HEADER"]
    assert imported.session.id == "pi-session"
    assert len(imported.session.surface) == 4


def test_a_second_header_and_lines_that_are_no_objects_are_kept_aside(read_pi: Any) -> None:
    imported = read_pi(HEADER, "[1]", '"text"', {**HEADER, "id": "t"}, *TRUNK[1:])
    assert codes(imported) == ["NOT_AN_OBJECT", "NOT_AN_OBJECT", "FURTHER_HEADER"]
    assert imported.session.id == "s"


def test_a_fork_in_a_file_of_its_own_shares_the_entries_that_it_copies(read_pi: Any) -> None:
    """Else a compaction is counted once in each file (earendil-works/pi#3745)."""
    first = [*TRUNK, compaction("e", "d", firstKeptEntryId="c"), user("f", "e", "three"), assistant("g", "f")]
    parent = read_pi(*first, user("h", "g", "parent's own"), name="2026_s.jsonl")
    header = {**HEADER, "id": "child", "parentSession": "/elsewhere/2026_s.jsonl"}
    child = read_pi(header, *first[1:], user("i", "g", "child's own"), name="2026_child.jsonl")
    assert codes(child) == ["INHERITED"]
    length = child.session.header.seed_length
    assert child.session.header.parent_session == "s"
    assert child.lineage == (Descent("child", "s", length, "fork"),)
    assert list(child.session.events[:length]) == list(parent.session.events[:length])
    replaced = [event.seq for event in child.session.events if event.type == "compact/summary"]
    assert all(seq < length for seq in replaced)
    assert said(child.session)[-1] == "child's own"


def test_a_fork_whose_parent_is_not_there_names_it_all_the_same(read_pi: Any) -> None:
    imported = read_pi({**HEADER, "branchedFrom": "C:\\sessions\\2025_old.jsonl"}, *TRUNK[1:])
    assert imported.session.header.parent_session == "old"
    assert imported.session.header.seed_length is None


@pytest.mark.parametrize("name", ["../secret.jsonl", "..", ".", "/", "\0", "x" * 300])
def test_a_parent_is_looked_for_beside_the_file_and_nowhere_else(read_pi: Any, tmp_path: Path, name: str) -> None:
    write_lines(tmp_path.parent / "secret.jsonl", *TRUNK)
    imported = read_pi({**HEADER, "id": "t", "parentSession": name}, *TRUNK[1:])
    assert imported.session.header.seed_length is None


def test_a_log_is_recognised_without_its_name_and_without_its_header(tmp_path: Path) -> None:
    for lines in (TRUNK, TRUNK[1:], [{"type": "title", "v": 1}, *TRUNK], ["{broken", *TRUNK]):
        found = recognise(write_lines(tmp_path / "any.data", *lines))
        assert found is IMPORTER
    dsh = {"type": "session", "version": 0, "id": "s", "createdAt": 1}
    assert recognise(write_lines(tmp_path / "any.data", dsh)) is not IMPORTER


def test_a_tree_of_many_branches_takes_no_long_time(tmp_path: Path) -> None:
    lines: list[Any] = [HEADER, user("root", None)]
    lines += [user(f"u{number}", "root" if number % 2 else f"u{number - 1}") for number in range(1, 3000)]
    imported = IMPORTER.read(write_lines(tmp_path / "log.jsonl", *lines))
    assert len(imported.forks) == 500
    assert codes(imported)[-1] == "TOO_MANY_BRANCHES"


def test_the_made_tree_has_its_forks() -> None:
    imported = IMPORTER.read(LOGS / "pi" / "made-tree.jsonl")
    assert [fork.id for fork in imported.forks] == ["tree~u3", "tree~a3b"]
    assert said(imported.session)[-1] == "t"
    reasons = [json.dumps(event.data["reason"]) for event in imported.session.events if event.type == "turn/end"]
    assert reasons[-1] == '{"kind": "max-tokens"}'
