"""Compactions of pi sessions: the recorded ones, and the small inputs that people reported."""

from typing import Any

import pytest

from dsh_session import Session, fold_surface
from dsh_session.compaction import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.importers.found import Imported
from dsh_session.importers.pi.importer import IMPORTER
from tests.importers.corpora import LOGS
from tests.importers.pi_entries import HEADER, assistant, compaction, entry, result, user

LINE = [HEADER, user("a", None), assistant("b", "a"), user("c", "b"), assistant("d", "c"), user("e", "d")]


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def ranges(session: Session) -> list[int]:
    """How many nodes each replacement shadows."""
    return [len(replacement.shadowed_seqs) for replacement in fold_surface(session.events).replacements]


def texts(session: Session) -> list[str]:
    """What the model sees, the first text of each message."""
    return [
        block["content"][0]["text"] if block["type"] == "tool-result" else block.get("text", block["type"])
        for message in session.derive_messages()
        for block in message["content"][:1]
    ]


def test_the_recorded_session_replaces_288_of_354_and_262_of_340_nodes() -> None:
    session = IMPORTER.read(LOGS / "pi" / "compacted-twice.v3.jsonl").session
    before = []
    for replacement in fold_surface(session.events).replacements:
        upto = Session("upto", seed=[event.to_dict() for event in session.events[: replacement.seq]])
        nodes = list(upto.surface.nodes)
        before.append((len(replacement.shadowed_seqs), len(nodes)))
        assert replacement.shadowed_seqs[0] == nodes[0]
        assert tool_pairing_balanced_before(upto, replacement.shadowed_seqs[0])
        assert tool_pairing_balanced_after(upto, replacement.shadowed_seqs[-1])
    assert before == [(288, 354), (262, 340)]


def test_the_sizes_that_the_source_recorded_are_kept() -> None:
    imported = IMPORTER.read(LOGS / "pi" / "compacted-twice.v3.jsonl")
    assert imported.side_table.query("key == 'tokensBefore'")["value"].tolist() == ["175004", "185014"]


def test_two_empty_ranges_replace_nothing_and_are_said() -> None:
    imported = IMPORTER.read(LOGS / "pi" / "empty-range.jsonl")
    assert codes(imported) == ["EMPTY_RANGE", "EMPTY_RANGE"]
    assert ranges(imported.session) == []
    ends = [event.data for event in imported.session.events if event.type == "compact/end"]
    assert [end["error"] for end in ends] == ["empty range", "empty range"]


def test_index_0_of_version_1_keeps_nothing() -> None:
    imported = IMPORTER.read(LOGS / "pi" / "v1-session.jsonl")
    assert ranges(imported.session) == [3]
    assert codes(imported) == ["BAD_LINE", "UNKNOWN_TYPE"]


def test_an_index_of_version_1_counts_the_header(read_pi: Any) -> None:
    plain = [{key: value for key, value in line.items() if key not in ("id", "parentId")} for line in LINE[1:]]
    header = {key: value for key, value in HEADER.items() if key != "version"}
    cut = {"type": "compaction", "summary": "S.", "firstKeptEntryIndex": 3, "tokensBefore": 1}
    assert texts(read_pi(header, *plain, cut).session) == ["S.", "Go on.", "This is d.", "Go on."]


def test_the_range_ends_before_the_first_node_that_is_kept(read_pi: Any) -> None:
    imported = read_pi(*LINE, compaction("f", "e", firstKeptEntryId="d"))
    assert ranges(imported.session) == [3]
    assert texts(imported.session) == ["Summary f.", "This is d.", "Go on."]
    assert codes(imported) == []


def test_a_kept_entry_without_a_node_means_the_next_one_that_has_one(read_pi: Any) -> None:
    mark = entry("m", "b", "label", targetId="a", label="x")
    imported = read_pi(*LINE[:3], mark, user("c", "m"), compaction("f", "c", firstKeptEntryId="m"))
    assert ranges(imported.session) == [2]


def test_a_second_compaction_stands_for_the_first_summary_too(read_pi: Any) -> None:
    imported = read_pi(
        *LINE,
        compaction("f", "e", firstKeptEntryId="c"),
        assistant("g", "f"),
        compaction("h", "g", firstKeptEntryId="e"),
    )
    assert ranges(imported.session) == [2, 3]
    assert texts(imported.session) == ["Summary h.", "Go on.", "This is g."]


def test_keeping_what_an_earlier_compaction_replaced_is_said(read_pi: Any) -> None:
    imported = read_pi(*LINE, compaction("f", "e", firstKeptEntryId="d"), compaction("g", "f", firstKeptEntryId="b"))
    assert codes(imported) == ["KEPT_IS_GONE"]
    assert ranges(imported.session) == [3, 1]


@pytest.mark.parametrize("fields", [{"firstKeptEntryId": "nowhere"}, {}, {"firstKeptEntryIndex": "3"}])
def test_a_compaction_that_does_not_say_what_it_keeps_keeps_nothing(read_pi: Any, fields: Any) -> None:
    imported = read_pi(*LINE, compaction("f", "e", **fields))
    assert codes(imported) == ["KEPT_NOT_FOUND"]
    assert texts(imported.session) == ["Summary f."]


def test_a_summary_of_another_branch_is_said_and_keeps_nothing(read_pi: Any) -> None:
    """The tree was moved while the summary was written (earendil-works/pi#9178)."""
    imported = read_pi(*LINE[:5], compaction("f", "b", firstKeptEntryId="d"))
    assert codes(imported) == ["COMPACTION_ON_OTHER_BRANCH"]
    assert texts(imported.session) == ["Summary f."]
    assert len(imported.forks) == 1


def test_a_compaction_between_a_call_and_its_result_is_harmless_while_both_are_kept(read_pi: Any) -> None:
    """A hook compacts in the middle of a turn (earendil-works/pi#8667)."""
    imported = read_pi(
        *LINE, assistant("f", "e", "c1"), compaction("g", "f", firstKeptEntryId="e"), result("h", "g", "c1")
    )
    assert codes(imported) == []
    assert imported.side_table["key"].tolist().count("moved") == 1
    assert texts(imported.session) == ["Summary g.", "Go on.", "This is f.", "Result of c1."]


def test_a_result_whose_call_a_chain_of_compactions_took_is_said(read_pi: Any) -> None:
    """An inner compaction separates a call from its result (earendil-works/pi#4570, #6832)."""
    imported = read_pi(
        *LINE,
        assistant("f", "e", "kept"),
        result("g", "f", "kept"),
        assistant("h", "g", "open"),
        compaction("i", "h", firstKeptEntryId="c"),
        result("j", "i", "orphan"),
        assistant("k", "j"),
        compaction("l", "k", firstKeptEntryId="f"),
    )
    assert codes(imported) == ["CALL_WITHOUT_RESULT", "RESULT_WITHOUT_CALL"]
    assert ranges(imported.session) == [2, 4]


def test_an_edge_between_a_call_and_its_result_is_said_and_left(read_pi: Any) -> None:
    imported = read_pi(
        *LINE, assistant("f", "e", "c1"), result("g", "f", "c1"), compaction("h", "g", firstKeptEntryId="g")
    )
    assert codes(imported) == ["UNBALANCED_EDGE"]
    assert ranges(imported.session) == [6]


def test_a_retained_tail_is_matched_to_the_end_of_the_path(read_pi: Any) -> None:
    tail = [LINE[4]["message"], LINE[5]["message"]]
    imported = read_pi(*LINE, compaction("f", "e", retainedTail=tail))
    assert texts(imported.session) == ["Summary f.", "This is d.", "Go on."]
    assert codes(imported) == []


def test_a_retained_tail_may_leave_out_a_response_that_failed(read_pi: Any) -> None:
    failed = assistant("f", "e")
    failed["message"]["stopReason"] = "error"
    tail = [LINE[4]["message"], LINE[5]["message"], user("g", "f", "Again.")["message"]]
    imported = read_pi(*LINE, failed, user("g", "f", "Again."), compaction("h", "g", retainedTail=tail))
    assert texts(imported.session) == ["Summary h.", "This is d.", "Go on.", "This is f.", "Again."]
    assert codes(imported) == []


def test_a_retained_tail_that_is_not_there_comes_again(read_pi: Any) -> None:
    shortened = assistant("d", "c", "c9")["message"]
    imported = read_pi(*LINE, compaction("f", "e", retainedTail=[{"role": "user", "content": "Cut."}, shortened]))
    assert codes(imported) == ["RETAINED_TAIL"]
    assert texts(imported.session) == ["Summary f.", "Cut.", "This is d."]


def test_an_empty_retained_tail_keeps_nothing(read_pi: Any) -> None:
    assert texts(read_pi(*LINE, compaction("f", "e", retainedTail=[])).session) == ["Summary f."]


def test_clearing_the_context_replaces_everything_by_a_line_that_says_so(read_pi: Any) -> None:
    imported = read_pi(*LINE, entry("f", "e", "reset_boundary"), user("g", "f", "Anew."))
    assert texts(imported.session) == ["(forgotten)", "Anew."]


def test_a_first_kept_entry_of_null_keeps_nothing_and_is_no_fault(read_pi: Any) -> None:
    imported = read_pi(*LINE, compaction("f", "e", firstKeptEntryId=None))
    assert texts(imported.session) == ["Summary f."]
    assert codes(imported) == []


def test_an_edit_replaces_the_part_of_one_entry(read_pi: Any) -> None:
    changed = entry("f", "e", "context_edit", targetId="c", replacement={"content": "Shorter."})
    left_out = entry("g", "f", "context_edit", targetId="a", replacement=None)
    imported = read_pi(*LINE, changed, left_out)
    assert texts(imported.session) == ["(forgotten)", "This is b.", "Shorter.", "This is d.", "Go on."]
    assert ranges(imported.session) == [1, 1]


def test_an_edit_of_a_result_leaves_the_call_an_answer(read_pi: Any) -> None:
    changed = entry("h", "g", "context_edit", targetId="g", replacement={"content": [{"type": "text", "text": "Cut."}]})
    again = entry("i", "h", "context_edit", targetId="g", replacement=None)
    imported = read_pi(*LINE, assistant("f", "e", "c1"), result("g", "f", "c1"), changed, again, compaction("j", "i"))
    assert codes(imported) == ["KEPT_NOT_FOUND"]
    rewrites = [event for event in imported.session.events if event.type == "tool/result"]
    assert [event.data["content"][0]["text"] for event in rewrites] == ["Result of c1.", "Cut.", "(forgotten)"]


def test_an_edit_of_what_is_not_there_is_said(read_pi: Any) -> None:
    imported = read_pi(*LINE, entry("f", "e", "context_edit", targetId="zz", replacement=None))
    assert codes(imported) == ["EDIT_NOT_FOUND"]
