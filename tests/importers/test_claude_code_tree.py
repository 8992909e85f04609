"""Which line follows which: parallel calls, rewinds, copies, missing and circular parents, further files."""

from typing import Any

from dsh_session import Session
from dsh_session.importers.found import Descent, Imported
from tests.importers.claude_lines import SESSION, assistant, call, line, result, turn, user


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def said(session: Session) -> list[str]:
    """The first text of every message, or the call that it answers."""
    found = []
    for message in session.derive_messages():
        block = message["content"][0]
        found.append(block.get("text") or block.get("toolCallId") or block.get("id"))
    return found


def rows(imported: Imported, key: str) -> list[Any]:
    return [row for row in imported.book.side_rows if row[4] == key]


def test_parallel_calls_are_one_step_and_no_fork(read_claude: Any) -> None:
    imported = read_claude(
        user("p", None),
        assistant("a1", "p", "Let me look.", of="m"),
        assistant("a2", "a1", call("c1"), of="m"),
        assistant("a3", "a2", call("c2"), of="m"),
        result("r1", "a2", "c1"),
        result("r2", "a3", "c2"),
        assistant("b", "r2", "Done."),
    )
    assert imported.forks == ()
    assert codes(imported) == []
    types = [event.type for event in imported.session.events]
    assert types[2:9] == [
        "step/start",
        "assistant/message",
        "tool/call",
        "tool/call",
        "tool/result",
        "tool/result",
        "step/end",
    ]
    blocks = imported.session.events[3].data["content"]
    assert [block["type"] for block in blocks] == ["text", "tool-call", "tool-call"]


def test_a_response_whose_results_come_between_its_lines_is_one_step(read_claude: Any) -> None:
    imported = read_claude(
        user("p", None),
        assistant("a1", "p", call("c1"), of="m", usage={"input_tokens": 3, "output_tokens": 1}),
        result("r1", "a1", "c1"),
        assistant("a2", "r1", call("c2"), of="m", usage={"input_tokens": 3, "output_tokens": 40}),
        result("r2", "a2", "c2"),
    )
    messages = [event for event in imported.session.events if event.type == "assistant/message"]
    assert len(messages) == 1
    assert [block["id"] for block in messages[0].data["content"]] == ["c1", "c2"]
    assert messages[0].data["usage"] == {"inputTokens": 3, "outputTokens": 40}


def test_a_rewind_leaves_a_fork_behind_that_shares_the_turns_before(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *turn("q", "pa"), *turn("r", "pa"))
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Prompt r.", "Answer r."]
    assert [said(fork) for fork in imported.forks] == [["Prompt p.", "Answer p.", "Prompt q.", "Answer q."]]
    assert imported.lineage == (Descent(f"{SESSION}~q", SESSION, 6, "fork"),)
    fork = imported.forks[0]
    assert (fork.header.parent_session, fork.header.seed_length) == (SESSION, 6)
    assert list(fork.events[:6]) == list(imported.session.events[:6])
    assert codes(imported) == []


def test_a_fork_in_the_middle_of_a_turn_begins_at_the_turn_before_and_says_so(read_claude: Any) -> None:
    imported = read_claude(
        *turn("p", None),
        user("q", "pa", "Prompt q."),
        assistant("b1", "q", "First answer."),
        assistant("b2", "q", "Second answer."),
    )
    assert said(imported.session)[-1] == "Second answer."
    assert said(imported.forks[0]) == ["Prompt p.", "Answer p.", "Prompt q.", "First answer."]
    assert imported.lineage[0].seed_length == 6
    assert codes(imported) == ["BRANCH_MID_TURN"]


def test_a_rewind_to_the_beginning_is_a_fork_that_shares_nothing(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *turn("q", None))
    assert said(imported.session) == ["Prompt q.", "Answer q."]
    assert said(imported.forks[0]) == ["Prompt p.", "Answer p."]
    assert imported.lineage[0].seed_length == 0
    assert codes(imported) == ["SECOND_ROOT"]


def test_forks_of_forks_leave_the_one_they_were_taken_from(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *turn("q", "pa"), *turn("x", "qa"), *turn("y", "qa"), *turn("z", "pa"))
    assert [said(fork)[0::2] for fork in imported.forks] == [
        ["Prompt p.", "Prompt q.", "Prompt x."],
        ["Prompt p.", "Prompt q.", "Prompt y."],
    ]
    first, second = imported.lineage
    assert (first.parent, first.seed_length) == (SESSION, 6)
    assert (second.parent, second.seed_length) == (first.session, 12)


def test_a_local_command_that_nobody_went_on_from_is_no_fork(read_claude: Any) -> None:
    imported = read_claude(
        *turn("p", None),
        user("c", "pa", "<command-name>/cost</command-name>"),
        *turn("q", "pa"),
    )
    assert imported.forks == ()
    assert "<command-name>/cost</command-name>" in said(imported.session)


def test_a_branch_may_leave_where_a_loose_end_begins(read_claude: Any) -> None:
    command = "<command-name>/cost</command-name>"
    imported = read_claude(
        *turn("p", None),
        user("c", "pa", command),
        user("d", "c", command),
        *turn("x", "c"),
        user("e", "d", command),
        *turn("q", "pa"),
    )
    # What nobody went on from stands where it hangs.
    assert [said(fork) for fork in imported.forks] == [
        ["Prompt p.", "Answer p.", command, command, command, "Prompt x.", "Answer x."]
    ]
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Prompt q.", "Answer q."]


def test_lines_that_repeat_a_uuid_are_left_out_and_kept_aside(read_claude: Any) -> None:
    lines = [*turn("p", None), *turn("q", "pa")]
    again = {**lines[1], "slug": "quiet-river"}
    imported = read_claude(*lines, again, *turn("r", "qa"))
    assert said(imported.session)[0::2] == ["Prompt p.", "Prompt q.", "Prompt r."]
    assert codes(imported) == ["COPIES"]
    assert [row[5] for row in rows(imported, "copy")] == [b'{"of":2,"differs":{"slug":"quiet-river"}}']


def test_a_message_that_can_be_read_wins_over_a_damaged_one_of_the_same_uuid(read_claude: Any) -> None:
    damaged = line("user", "p", None, message="error")
    imported = read_claude(damaged, user("p", None, "The real one."), assistant("a", "p"))
    assert said(imported.session)[0] == "The real one."
    assert "MESSAGE_IS_TEXT" in codes(imported)


def test_a_response_that_was_copied_with_another_uuid_is_said_once(read_claude: Any) -> None:
    first = assistant("a", "p", "lol", of="m")
    copy = {**first, "uuid": "b", "parentUuid": None}
    imported = read_claude(user("p", None, "Say lol."), first, copy, *turn("q", "b"))
    assert said(imported.session) == ["Say lol.", "lol", "Prompt q.", "Answer q."]
    assert imported.forks == ()


def test_siblings_of_one_time_and_text_are_a_replay_and_no_rewind(read_claude: Any) -> None:
    lines = [*turn("p", None), *turn("q", "pa")]
    replayed = [{**lines[2], "uuid": "q2"}, {**lines[3], "uuid": "qa2", "parentUuid": "q2"}]
    imported = read_claude(*lines, *replayed, *turn("r", "qa2"))
    assert said(imported.session)[0::2] == ["Prompt p.", "Prompt q.", "Prompt r."]
    assert imported.forks == ()
    assert codes(imported) == ["COPIES"]


def test_a_missing_parent_is_the_line_before_and_each_is_reported(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), *turn("q", "gone"), *turn("r", "also gone"))
    assert said(imported.session)[0::2] == ["Prompt p.", "Prompt q.", "Prompt r."]
    assert [(finding.code, finding.line) for finding in imported.findings] == [
        ("DANGLING_PARENT", 3),
        ("DANGLING_PARENT", 5),
    ]


def test_a_log_without_any_parents_is_read_in_the_order_of_the_file(read_claude: Any) -> None:
    imported = read_claude(user("p", None), assistant("a", None), user("q", None), assistant("b", None))
    assert len(imported.session.surface.nodes) == 4
    assert codes(imported) == []


def test_lines_that_follow_each_other_in_a_circle_are_cut_apart(read_claude: Any) -> None:
    imported = read_claude(
        user("p", "b", "Prompt p."), assistant("a", "p", "Answer a."), user("q", "a", "Prompt q."), assistant("b", "q")
    )
    assert said(imported.session) == ["Prompt p.", "Answer a.", "Prompt q.", "This is b."]
    assert codes(imported) == ["CYCLE"]


def test_a_line_that_follows_itself_follows_the_one_before(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), user("q", "q", "Prompt q."))
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Prompt q."]
    assert codes(imported) == ["DANGLING_PARENT"]


def test_a_line_may_come_before_the_one_that_it_follows(read_claude: Any) -> None:
    first, second = turn("p", None)
    imported = read_claude(second, first, *turn("q", "pa"))
    assert said(imported.session) == ["Prompt p.", "Answer p.", "Prompt q.", "Answer q."]


def test_lines_of_unknown_types_are_links_of_the_chain(read_claude: Any) -> None:
    imported = read_claude(*turn("p", None), line("hologram", "h", "pa", beam=1), *turn("q", "h"))
    assert said(imported.session)[0::2] == ["Prompt p.", "Prompt q."]
    assert imported.forks == ()
    assert len(rows(imported, "hologram")) == 1


def test_a_resumed_log_names_the_session_whose_history_it_begins_with(read_claude: Any) -> None:
    older = [{**one, "sessionId": "older"} for one in turn("p", None)]
    imported = read_claude(*older, *turn("q", "pa"))
    header = imported.session.header
    assert (header.id, header.parent_session, header.seed_length) == (SESSION, "older", 6)


def test_a_session_that_was_compacted_into_a_new_file_is_read_with_the_earlier_one(
    read_claude: Any, tmp_path: Any
) -> None:
    from tests.importers.claude_lines import compaction
    from tests.importers.lines import write_lines

    earlier = write_lines(tmp_path / "earlier.jsonl", *turn("p", None), *turn("q", "pa"))
    later = [*compaction("cb", "qa"), *turn("r", "cb-summary")]
    alone = read_claude(*later)
    assert codes(alone) == ["DANGLING_PARENT", "EMPTY_RANGE"]
    both = read_claude(*later, name="later.jsonl", earlier=[earlier])
    assert codes(both) == []
    assert said(both.session) == ["Summary cb.", "Prompt r.", "Answer r."]
    assert {row[2] for row in both.book.source_rows} == {"earlier.jsonl", "later.jsonl"}


def test_a_rewind_within_ten_thousand_lines_costs_no_more_than_they_do(read_claude: Any) -> None:
    lines: list[Any] = []
    parent: str | None = None
    for number in range(1500):
        lines += turn(f"t{number}", parent)
        parent = f"t{number}a"
    imported = read_claude(*lines, *turn("z", "t700a"))
    assert len(imported.forks) == 1
    assert imported.lineage[0].seed_length == 701 * 6


def test_a_hundred_ways_out_of_one_long_turn_are_not_all_written_again(read_claude: Any) -> None:
    steps = [assistant(f"a{number}", f"a{number - 1}" if number else "p") for number in range(2000)]
    late = [assistant(f"b{number}", f"a{1990 - number}") for number in range(40)]
    deeper = turn("d", "b39")
    imported = read_claude(user("p", None), *steps, *late, *deeper, *turn("q", "a1999"))
    left = next(finding for finding in imported.findings if finding.code == "BRANCHES_LEFT_OUT")
    assert 0 < len(imported.forks) < 40
    assert "side table" in left.message


def test_hundreds_of_circles_and_copies_are_read_in_time(read_claude: Any) -> None:
    circles = [user(f"u{number}", f"u{number ^ 1}", f"Prompt {number}.") for number in range(2000)]
    assert len(read_claude(*circles).forks) == 500
    said_once = [
        assistant(f"v{number}", f"v{number - 1}" if number else None, f"{number}", of="m") for number in range(3000)
    ]
    again = [{**one, "uuid": f"{one['uuid']}-2", "parentUuid": None} for one in said_once[:500]]
    assert len(read_claude(*said_once, *again).session.surface.nodes) <= 400
