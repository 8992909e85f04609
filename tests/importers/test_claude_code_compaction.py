"""Compactions: what they replace, what they keep, and the ways in which logs tell it wrongly."""

from typing import Any

from dsh_session import Session, fold_surface
from dsh_session.importers.claude_code import IMPORTER
from dsh_session.importers.found import Imported
from tests.importers.claude_lines import assistant, boundary, call, compaction, line, result, summary, turn, user
from tests.importers.corpora import LOGS


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def said(session: Session) -> list[str]:
    found = []
    for message in session.derive_messages():
        block = message["content"][0]
        found.append(block.get("text") or block.get("toolCallId") or block.get("id"))
    return found


def shadowed(session: Session) -> list[int]:
    return [len(replacement.shadowed_seqs) for replacement in fold_surface(session.events).replacements]


def hook_row(uuid: str, parent: str) -> dict[str, Any]:
    return line(
        "system", uuid, parent, subtype="stop_hook_summary", hookCount=1, hookInfos=[{"command": "true"}], hookErrors=[]
    )


def test_the_recorded_automatic_compaction_shadows_229_nodes_and_leaves_115() -> None:
    imported = IMPORTER.read(LOGS / "claude-code" / "compacted-auto.jsonl")
    assert shadowed(imported.session) == [229]
    assert len(imported.session.surface.nodes) == 115
    assert imported.findings == ()
    record = next(event for event in imported.session.events if event.type == "compact/summary")
    assert record.data["shadowedTokenCount"] > 10_000
    assert (record.data["provider"], record.data["model"]) == ("anthropic", "claude-opus-4-6")
    assert b"167094" in [row[5] for row in imported.book.side_rows if row[4] == "tokensBefore"]


def test_a_compaction_replaces_everything_before_it(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *turn("q", "pa"), *compaction("cb", "qa"), *turn("r", "cb-summary"))
    assert said(imported.session) == ["Summary cb.", "Prompt r.", "Answer r."]
    assert shadowed(imported.session) == [4]
    assert codes(imported) == []
    types = [event.type for event in imported.session.events]
    at = types.index("compact/start")
    assert types[at : at + 4] == ["compact/start", "compact/summary", "user/message", "compact/end"]


def test_a_compaction_in_the_middle_of_a_turn_stays_in_it(read_claude: Any) -> None:
    imported = read_claude(
        user("p", None),
        assistant("a", "p", call("c")),
        result("r", "a", "c"),
        *compaction("cb", "r"),
        assistant("b", "cb-summary", "On we go."),
    )
    assert [event.type for event in imported.session.events].count("turn/start") == 1
    assert said(imported.session) == ["Summary cb.", "On we go."]


def test_what_was_kept_stays_and_the_range_ends_before_it(read_claude: Any) -> None:
    imported = read_claude(
        *turn("p", None),
        *turn("q", "pa"),
        *compaction("cb", "qa", kept=("q", "qa")),
        *turn("r", "qa"),
    )
    assert said(imported.session) == ["Summary cb.", "Prompt q.", "Answer q.", "Prompt r.", "Answer r."]
    assert shadowed(imported.session) == [2]
    assert codes(imported) == []


def test_kept_lines_that_are_written_again_after_the_boundary_stand_before_it(read_claude: Any) -> None:
    imported = IMPORTER.read(LOGS / "claude-code" / "dag_compact_after_rewind_preserved.jsonl")
    assert said(imported.session)[1:4] == ["Second answer", "Keep going", "Kept going"]
    assert shadowed(imported.session) == [3]
    prompt, answer = turn("q", "pa")
    again = {**answer, "parentUuid": "cb-summary"}
    imported = read_claude(*turn("p", None), prompt, *compaction("cb", "q", kept=("q", "qa")), again, *turn("r", "qa"))
    assert said(imported.session) == ["Summary cb.", "Prompt q.", "Answer q.", "Prompt r.", "Answer r."]


def test_a_kept_segment_without_a_list_is_all_between_its_ends(read_claude: Any) -> None:
    segment = {"headUuid": "q", "anchorUuid": "cb-summary", "tailUuid": "qa"}
    imported = read_claude(
        *turn("p", None),
        *turn("q", "pa"),
        boundary("cb", "qa", preservedSegment=segment),
        summary("cb-summary", "cb", "Summary cb."),
        *turn("r", "qa"),
    )
    assert said(imported.session) == ["Summary cb.", "Prompt q.", "Answer q.", "Prompt r.", "Answer r."]


def test_a_compaction_that_keeps_everything_replaces_nothing(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *compaction("cb", "pa", kept=("p", "pa")), *turn("q", "pa"))
    assert shadowed(imported.session) == []
    assert codes(imported) == ["EMPTY_RANGE"]
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Summary cb.", "Prompt q.", "Answer q."]


def test_a_compaction_that_splits_a_call_from_its_result_is_reported_and_left_so(read_claude: Any) -> None:
    imported = read_claude(
        user("p", None),
        assistant("a", "p", call("c")),
        result("r", "a", "c"),
        *compaction("cb", "r", kept=("r",)),
        *turn("q", "r"),
    )
    assert codes(imported) == ["UNBALANCED_EDGE"]
    assert shadowed(imported.session) == [2]
    assert said(imported.session)[:2] == ["Summary cb.", "c"]


def test_a_summary_without_a_boundary_replaces_everything_before_it(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), summary("s", None, "So far."), *turn("q", "s"))
    assert said(imported.session) == ["So far.", "Prompt q.", "Answer q."]


def test_a_boundary_without_a_summary_marks_what_was_forgotten(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), boundary("cb", "pa"), *turn("q", "cb"))
    assert said(imported.session) == ["(forgotten)", "Prompt q.", "Answer q."]
    assert codes(imported) == ["NO_SUMMARY"]


def test_a_boundary_whose_logical_parent_is_missing_follows_the_line_before(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *compaction("cb", "deleted"), *turn("q", "cb-summary"))
    assert said(imported.session) == ["Summary cb.", "Prompt q.", "Answer q."]
    assert codes(imported) == ["DANGLING_PARENT"]


def test_lines_of_type_summary_are_titles(read_claude: Any) -> None:
    title = {"type": "summary", "summary": "A title", "leafUuid": "elsewhere"}
    imported = read_claude(title, *turn("p", None))
    assert shadowed(imported.session) == []
    assert [row[4] for row in imported.book.side_rows].count("summary") == 1


def test_history_that_a_second_compaction_writes_again_is_read_once(read_claude: Any) -> None:
    # The second /compact of a process writes its history again, hangs the hook's row on the last copy, and names
    # that row as what the compaction follows.
    old = [*turn("p", None), *turn("q", "pa")]
    between = turn("r", "cb1-summary")
    segment = {"headUuid": "ra", "anchorUuid": "cb2-summary", "tailUuid": "h"}
    imported = read_claude(
        *old,
        *compaction("cb1", "qa"),
        *between,
        *old,
        hook_row("h", "qa"),
        boundary("cb2", "h", trigger="manual", preservedSegment=segment),
        summary("cb2-summary", "cb2", "Summary cb2."),
        *turn("s", "cb2-summary"),
    )
    assert imported.forks == ()
    assert shadowed(imported.session) == [4, 2]
    assert said(imported.session) == ["Summary cb2.", "Answer r.", "Prompt s.", "Answer s."]
    assert sorted(codes(imported)) == ["COPIES", "FOLLOWS_A_COPY"]


def test_a_continuation_that_hangs_before_the_first_compaction_goes_on_where_the_file_does(read_claude: Any) -> None:
    imported = read_claude(
        user("p", None, "Prompt p."),
        line("attachment", "t", "p", attachment={"type": "todo_reminder", "content": []}),
        assistant("pa", "t", "Answer p."),
        *compaction("cb1", "pa"),
        *turn("q", "cb1-summary"),
        hook_row("h", "t"),
        *compaction("cb2", "h"),
        *turn("r", "cb2-summary"),
    )
    assert imported.forks == ()
    assert codes(imported) == ["CHAIN_JUMPS_BACK"]
    assert shadowed(imported.session) == [2, 3]


def test_a_branch_from_before_a_compaction_brings_back_what_it_replaced(read_claude: Any) -> None:
    imported = read_claude(
        *turn("p", None), *turn("q", "pa"), *compaction("cb", "qa"), *turn("r", "cb-summary"), *turn("s", "pa")
    )
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Prompt s.", "Answer s."]
    assert said(imported.forks[0]) == ["Summary cb.", "Prompt r.", "Answer r."]
    assert imported.lineage[0].seed_length == 6


def test_the_rows_after_a_manual_compaction_are_context(read_claude: Any) -> None:
    imported = read_claude(
        *turn("p", None),
        *compaction("cb", "pa", trigger="manual"),
        user("c1", "cb-summary", "<local-command-caveat>Caveat: these were generated.", isMeta=True),
        user("c2", "c1", "<command-name>/compact</command-name>"),
        user("c3", "c2", "<local-command-stdout>Compacted</local-command-stdout>"),
        *turn("q", "c3"),
    )
    types = [event.type for event in imported.session.events]
    assert types.count("context/message") == 3
    assert types.count("turn/start") == 3
    assert len(imported.session.surface.nodes) == 6


def test_cleared_tool_results_are_reported_and_stand_as_they_were(read_claude: Any) -> None:
    cleared = line("system", "m", "pa", subtype="microcompact_boundary", microcompactMetadata={"tokensSaved": 5})
    imported = read_claude(*turn("p", None), cleared, *turn("q", "m"))
    assert codes(imported) == ["MICROCOMPACTION"]
    assert len(imported.session.surface.nodes) == 4


def test_a_boundary_without_an_id_is_a_compaction_all_the_same(read_claude: Any) -> None:
    for kept, left in (((), []), (("b", "ba"), ["Prompt b.", "Answer b."])):
        lines = compaction("k", "ba", kept=kept)
        del lines[0]["uuid"]
        imported = read_claude(*turn("a", None), *turn("b", "aa"), *lines, *turn("c", "k-summary"))
        assert codes(imported) == ["BOUNDARY_WITHOUT_ID", "DANGLING_PARENT"]
        assert imported.findings[0].line == 5
        assert said(imported.session) == ["Summary k.", *left, "Prompt c.", "Answer c."]


def test_a_boundary_without_an_id_is_one_where_its_fields_have_odd_types_too(read_claude: Any) -> None:
    lines = compaction("k", "aa")
    del lines[0]["uuid"]
    imported = read_claude(*turn("a", None), {**lines[0], "timestamp": 5}, lines[1])
    assert codes(imported) == ["BOUNDARY_WITHOUT_ID", "DANGLING_PARENT"]
    assert shadowed(imported.session) == [2]
