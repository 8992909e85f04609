import json
from pathlib import Path
from typing import Any

import pytest

from dsh_session import check_invariants, fold_surface
from dsh_session.importers import Imported, ImportLogError, import_log, recognise
from dsh_session.importers.openhands import IMPORTER
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS
from tests.importers.fuzzing import assert_sound, run

FOLDER = LOGS / "openhands"


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def shadowed(imported: Imported) -> list[int]:
    return [len(made.shadowed_seqs) for made in fold_surface(imported.session.events).replacements]


def texts(imported: Imported) -> list[str]:
    return [
        block.get("text", block["type"])
        for message in imported.session.derive_messages()
        for block in message["content"]
    ]


class Events:
    """Makes events of the second generation."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []

    def add(self, kind: str, key: str, /, **fields: Any) -> None:
        time = f"2026-01-01T00:00:{len(self.made):02d}"
        self.made.append({"kind": kind, "id": key, "timestamp": time, "source": "environment", **fields})

    def user(self, key: str, text: str, **fields: Any) -> None:
        content = [{"type": "text", "text": text}]
        self.add(
            "MessageEvent", key, **{"source": "user", "llm_message": {"role": "user", "content": content}, **fields}
        )

    def agent(self, key: str, text: str, **fields: Any) -> None:
        content = [{"type": "text", "text": text}]
        message = {"role": "assistant", "content": content}
        self.add("MessageEvent", key, **{"source": "agent", "llm_message": message, **fields})

    def action(self, key: str, answer: str, **fields: Any) -> None:
        call = {"id": f"call-{key}", "name": "run", "arguments": "{}"}
        given = {"tool_call": call, "tool_call_id": call["id"], "tool_name": "run", "llm_response_id": answer}
        self.add("ActionEvent", key, **{"source": "agent", "thought": [], **given, **fields})

    def observation(self, key: str, of: str, text: str = "done", **fields: Any) -> None:
        observation = {"content": [{"type": "text", "text": text}], "is_error": False, "kind": "RunObservation"}
        self.add("ObservationEvent", key, **{"tool_call_id": f"call-{of}", "observation": observation, **fields})

    def condensation(self, key: str, forgotten: list[str], summary: str | None = "Summary.", **fields: Any) -> None:
        self.add("Condensation", key, forgotten_event_ids=forgotten, summary=summary, **{"summary_offset": 0, **fields})

    def imported(self, folder: Path) -> Imported:
        path = folder / "log.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in self.made))
        return checked(path)


def checked(path: Path) -> Imported:
    imported = IMPORTER.read(path)
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


def in_pairs(count: int) -> Events:
    """A prompt and answers that call one tool each: u, a0, o0, a1, o1 …"""
    events = Events()
    events.user("u", "Go.")
    for number in range(count):
        events.action(f"a{number}", f"r{number}")
        events.observation(f"o{number}", f"a{number}", f"result {number}")
    return events


@pytest.mark.parametrize(
    ("name", "replaced", "left"),
    [
        ("condensed.v1.jsonl", [6], 8),
        ("condensed.v0.json", [16, 17], 17),
        ("condensation-forgets-nothing.json", [], 1),
        ("v1-cli-run", [], 13),
    ],
)
def test_recorded_condensations_shadow_what_they_forgot(name: str, replaced: list[int], left: int) -> None:
    imported = import_log(FOLDER / name)
    assert shadowed(imported) == replaced
    assert len(imported.session.surface) == left
    assert "UNBALANCED_EDGE" not in codes(imported)


def test_a_later_summary_of_the_first_generation_swallows_the_earlier_one() -> None:
    session = import_log(FOLDER / "condensed.v0.json").session
    first, second = fold_surface(session.events).replacements
    assert second.shadowed_seqs[0] == first.seq
    assert "derived summary 2" in session.events[second.seq].data["content"][0]["text"]


def test_a_condensation_that_forgets_nothing_replaces_nothing_and_is_told_of() -> None:
    imported = import_log(FOLDER / "condensation-forgets-nothing.json")
    assert codes(imported) == ["EMPTY_RANGE"]
    kinds = [event.type for event in imported.session.events]
    assert kinds == ["turn/start", "compact/start", "compact/end", "context/message", "turn/end"]


def test_condensations_that_run_wild_are_told_of_as_a_loop(tmp_path: Path) -> None:
    events = in_pairs(1)
    for number in range(4):
        events.condensation(f"c{number}", [])
    found = codes(events.imported(tmp_path))
    assert found.count("EMPTY_RANGE") == 4
    assert found.count("REPEATED_COMPACTION") == 3


def test_a_condensation_that_wins_nothing_is_told_of(tmp_path: Path) -> None:
    events = in_pairs(1)
    events.condensation("c", ["a0", "o0"], "A summary that is longer than what it stands for. " * 10, summary_offset=1)
    assert "LITTLE_GAIN" in codes(events.imported(tmp_path))


def test_ranges_that_lie_apart_are_one_bracket_and_the_summary_stands_at_its_offset(tmp_path: Path) -> None:
    events = in_pairs(4)
    events.condensation("c", ["a0", "o0", "a2", "o2"], "Both.", summary_offset=3)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [2, 2]
    assert "SPLIT_RANGE" in codes(imported)
    assert "SUMMARY_OFFSET" not in codes(imported)
    told = [text for text in texts(imported) if text in ("Both.", "(forgotten)")]
    assert told == ["(forgotten)", "Both."]
    assert [event.type for event in imported.session.events].count("compact/start") == 1


def test_an_offset_elsewhere_is_told_of(tmp_path: Path) -> None:
    events = in_pairs(3)
    events.condensation("c", ["a0", "o0"], summary_offset=99)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [2]
    assert "SUMMARY_OFFSET" in codes(imported)


def test_a_window_without_a_summary_leaves_a_word_in_its_place(tmp_path: Path) -> None:
    events = in_pairs(2)
    events.condensation("c", ["a0", "o0"], None)
    assert "(forgotten)" in texts(events.imported(tmp_path))


def test_forgetting_one_of_two_parallel_calls_takes_both(tmp_path: Path) -> None:
    events = Events()
    events.user("u", "Go.")
    events.action("a", "r")
    events.action("b", "r")
    events.observation("oa", "a")
    events.observation("ob", "b")
    events.agent("m", "Done.")
    events.condensation("c", ["a", "oa"], summary_offset=1)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [3]
    assert "WIDENED_RANGE" in codes(imported)
    assert "UNBALANCED_EDGE" not in codes(imported)


def test_forgetting_a_call_and_not_its_result_is_told_of_and_left_so(tmp_path: Path) -> None:
    events = in_pairs(2)
    events.condensation("c", ["a0"], summary_offset=1)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [1]
    assert "UNBALANCED_EDGE" in codes(imported)


def test_a_summary_of_the_second_generation_is_named_by_the_condensation_it_came_with(tmp_path: Path) -> None:
    events = in_pairs(3)
    events.condensation("c1", ["a0", "o0"], "First.", summary_offset=1)
    events.condensation("c2", ["c1-summary", "a1", "o1"], "Second.", summary_offset=1)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [2, 3]
    assert "First." not in texts(imported)


def test_a_summary_that_is_not_named_stays_unless_the_new_one_stands_in_its_place(tmp_path: Path) -> None:
    events = in_pairs(3)
    events.condensation("c1", ["a0", "o0"], "First.", summary_offset=1)
    events.condensation("c2", ["a1", "o1"], "Second.", summary_offset=2)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [2, 2]
    assert [text for text in texts(imported) if text in ("First.", "Second.")] == ["First.", "Second."]
    events = in_pairs(3)
    events.condensation("c1", ["a0", "o0"], "First.", summary_offset=1)
    events.condensation("c2", ["a1", "o1"], "Second.", summary_offset=1)
    imported = events.imported(tmp_path)
    assert shadowed(imported) == [2, 3]
    assert "SUMMARY_DROPPED" in codes(imported)


def test_ids_that_are_nowhere_or_gone_are_told_of(tmp_path: Path) -> None:
    events = in_pairs(2)
    events.condensation("c1", ["a0", "o0"], summary_offset=1)
    events.condensation("c2", ["o0", "a1", "o1", "never"], summary_offset=1)
    found = codes(events.imported(tmp_path))
    assert "UNKNOWN_EVENT" in found
    assert "FORGOTTEN_BEFORE" in found


def test_calls_of_one_answer_are_one_step_and_late_results_are_moved_into_it(tmp_path: Path) -> None:
    events = Events()
    events.user("u", "Go.")
    events.action("a", "r", thought=[{"type": "text", "text": "Both."}], reasoning_content="Hm.")
    events.action("b", "r")
    events.observation("ob", "b")
    events.user("u2", "And quickly.")
    events.observation("oa", "a")
    imported = events.imported(tmp_path)
    kinds = [event.type for event in imported.session.events]
    assert kinds[:8] == [
        "turn/start", "user/message", "step/start", "assistant/message", "tool/call", "tool/call",
        "tool/result", "tool/result",
    ]  # fmt: skip
    message = imported.session.events[3].data["content"]
    assert [block["type"] for block in message] == ["reasoning", "text", "tool-call", "tool-call"]
    assert imported.side_table.query("key == 'moved'")["line"].tolist() == [6]


def test_errors_rejections_and_missing_results_are_results_with_an_error(tmp_path: Path) -> None:
    events = Events()
    events.user("u", "Go.")
    events.action("a", "r1")
    events.add("AgentErrorEvent", "ea", source="agent", tool_call_id="call-a", tool_name="run", error="No such tool.")
    events.action("b", "r2")
    events.add("UserRejectObservation", "rb", tool_call_id="call-b", tool_name="run", rejection_reason="Not now.")
    events.action("c", "r3")
    imported = events.imported(tmp_path)
    results = [event.data for event in imported.session.events if event.type == "tool/result"]
    assert [result["isError"] for result in results] == [True, True, True]
    assert results[1]["content"][0]["text"] == "Action rejected: Not now."
    assert codes(imported) == ["CALL_WITHOUT_RESULT"]


def test_a_result_that_answers_nothing_is_context(tmp_path: Path) -> None:
    events = in_pairs(1)
    events.observation("o9", "zz", "late")
    imported = events.imported(tmp_path)
    assert codes(imported) == ["RESULT_WITHOUT_CALL"]
    assert "late" in texts(imported)


def test_system_prompt_and_tools_are_the_request_header(tmp_path: Path) -> None:
    events = Events()
    text = {"type": "text", "text": "Be brief."}
    more = {"type": "text", "text": "The host is down."}
    tools = [{"name": "run", "description": "Runs."}, "finish"]
    events.add("SystemPromptEvent", "s", source="agent", system_prompt=text, dynamic_context=more, tools=tools)
    events.user("u", "Go.")
    events.agent("m", "Done.")
    header = events.imported(tmp_path).session.request_header()
    assert header is not None
    assert header["system"] == "Be brief.\n\nThe host is down."
    assert [tool["name"] for tool in header["tools"]] == ["run", "finish"]


def test_how_a_conversation_ended_is_how_its_turn_ended(tmp_path: Path) -> None:
    events = Events()
    events.user("u", "Go.")
    events.agent("m", "Done.")
    events.add("ConversationErrorEvent", "e", code="LLMError", detail="No credit.")
    events.user("u2", "Again.")
    events.add("ConversationStateUpdateEvent", "s", key="execution_status", value="stuck")
    events.user("u3", "Again.")
    events.add("InterruptEvent", "i", detail="ctrl-c")
    session = events.imported(tmp_path).session
    ends = [event.data["reason"] for event in session.events if event.type == "turn/end"]
    assert ends == [
        {"kind": "error", "step": 1, "message": "No credit.", "code": "LLMError"},
        {"kind": "error", "step": 0, "message": "the conversation ended as stuck", "code": "stuck"},
        {"kind": "aborted", "reason": "ctrl-c"},
    ]


def test_a_plan_is_a_todo_list(tmp_path: Path) -> None:
    events = Events()
    events.user("u", "Go.")
    tasks = [{"title": "test", "status": "in_progress", "notes": ""}, {"title": "ship", "status": "todo"}]
    events.action("a", "r", action={"kind": "TaskTrackerAction", "command": "plan", "task_list": tasks})
    session = events.imported(tmp_path).session
    todos = next(event.data["todos"] for event in session.events if event.type == "todo/write")
    assert todos == [{"content": "test", "status": "in_progress"}, {"content": "ship", "status": "pending"}]


def test_unknown_kinds_go_to_the_side_table_and_are_told_of_once(tmp_path: Path) -> None:
    events = in_pairs(1)
    events.add("TimeTravelEvent", "t1", to=1)
    events.add("TimeTravelEvent", "t2", to=2)
    imported = events.imported(tmp_path)
    assert codes(imported) == ["UNKNOWN_TYPE"]
    assert imported.side_table.query("key == 'TimeTravelEvent'")["line"].tolist() == [4, 5]


def test_events_that_come_twice_count_once(tmp_path: Path) -> None:
    events = in_pairs(1)
    events.made.append(events.made[0])
    imported = events.imported(tmp_path)
    assert codes(imported) == ["DUPLICATE_ID"]
    assert [event.type for event in imported.session.events].count("user/message") == 1


def branched() -> Events:
    events = Events()
    events.user("u1", "Go.", parent_id=None)
    events.agent("m1", "Gone.", parent_id="u1")
    events.user("u2", "Left.", parent_id="m1")
    events.agent("m2", "Left it is.", parent_id="u2")
    events.user("u3", "No, right.", parent_id="m1")
    events.agent("m3", "Right it is.", parent_id="u3")
    return events


def test_a_branch_that_was_left_behind_is_a_fork(tmp_path: Path) -> None:
    imported = branched().imported(tmp_path)
    (fork,) = imported.forks
    assert texts(imported) == ["Go.", "Gone.", "No, right.", "Right it is."]
    assert [message["content"][0]["text"] for message in fork.derive_messages()][2:] == ["Left.", "Left it is."]
    length = fork.header.seed_length
    assert length == 6
    assert [event.to_json() for event in fork.events[:length]] == [
        event.to_json() for event in imported.session.events[:length]
    ]
    assert imported.lineage[0].kind == "fork"
    assert imported.lineage[0].seed_length == length


def test_the_state_says_which_branch_counts(tmp_path: Path) -> None:
    folder = tmp_path / "conversation"
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(branched().made):
        (folder / "events" / f"event-{number:05d}-{event['id']}.json").write_text(json.dumps(event, indent=1))
    state = {"id": "abc", "leaf_event_id": "m2", "agent": {"llm": {"model": "maker/model"}}}
    (folder / "base_state.json").write_text(json.dumps(state))
    (folder / "TASKS.json").write_text("[]")
    imported = IMPORTER.read(folder)
    assert codes(imported) == ["OTHER_FILES"]
    (folder / "TASKS.json").unlink()
    assert checked(folder).session.to_jsonl() == imported.session.to_jsonl()
    assert imported.session.id == "abc"
    assert texts(imported)[-1] == "Left it is."
    answer = next(event for event in imported.session.events if event.type == "assistant/message")
    assert answer.data["provenance"] == {"provider": "maker", "model": "model"}
    inner = IMPORTER.read(folder / "events")
    assert inner.session.to_jsonl() == imported.session.to_jsonl()


def test_parents_that_are_missing_or_form_a_circle_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    events = branched()
    events.made[1]["parent_id"] = "nobody"
    events.made[3]["parent_id"] = "m3"
    imported = events.imported(tmp_path)
    assert codes(imported).count("MISSING_PARENT") == 1
    assert not check_invariants(imported.session.events)


def test_a_folder_may_lack_files_or_hold_broken_ones(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for path in sorted((FOLDER / "v1-cli-run").iterdir()):
        if "00003" not in path.name:
            (folder / path.name).write_bytes(path.read_bytes()[:200] if "00005" in path.name else path.read_bytes())
    imported = checked(folder)
    assert codes(imported)[:2] == ["MISSING_EVENTS", "CUT_DOCUMENT"]
    assert recognise(folder) is IMPORTER


def test_logs_are_found_below_a_folder(tmp_path: Path) -> None:
    deep = tmp_path / "conversations" / "abc" / "events"
    deep.mkdir(parents=True)
    (deep / "event-00000-x.json").write_text("{}")
    (tmp_path / "other" / "events").mkdir(parents=True)
    assert list(IMPORTER.find(tmp_path)) == [tmp_path / "conversations" / "abc"]


def test_nothing_to_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text("[1, 2]")
    with pytest.raises(ImportLogError) as caught:
        IMPORTER.read(path)
    assert caught.value.code == "IMPORT_EMPTY"


# ------------------------------------------------------------------------------------------- the first generation


def first_generation(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": number, "timestamp": f"2025-01-01T00:00:{number:02d}", "source": "agent", **event}
        for number, event in enumerate(events)
    ]


def read_list(events: list[Any], folder: Path) -> Imported:
    path = folder / "trajectory.json"
    path.write_text(json.dumps(events))
    assert recognise(path) is IMPORTER
    return checked(path)


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"source": "user", "action": "message", "args": {"content": text}, **fields}


def test_counts_are_the_differences_of_running_totals(tmp_path: Path) -> None:
    def called(prompt: int, completion: int) -> dict[str, Any]:
        usage = {"model": "maker/model", "prompt_tokens": prompt, "completion_tokens": completion}
        return {"action": "run", "args": {"command": "ls"}, "llm_metrics": {"accumulated_token_usage": usage}}

    def ran(cause: int) -> dict[str, Any]:
        return {"observation": "run", "content": "ok", "cause": cause, "extras": {}}

    events = first_generation(said("Go."), called(100, 10), ran(1), called(250, 30), ran(3), called(200, 40), ran(5))
    imported = read_list(events, tmp_path)
    answers = [event.data for event in imported.session.events if event.type == "assistant/message"]
    assert [answer.get("usage") for answer in answers] == [
        {"inputTokens": 100, "outputTokens": 10},
        {"inputTokens": 150, "outputTokens": 20},
        None,
    ]
    assert answers[0]["provenance"] == {"provider": "maker", "model": "model"}
    assert codes(imported) == ["TOTALS_FELL"]


def test_parallel_calls_share_an_answer_and_keep_their_arguments_as_written(tmp_path: Path) -> None:
    calls = [{"id": f"t{n}", "function": {"name": "run", "arguments": f'{{"n": {n}}}'}} for n in (1, 2)]
    response = {"id": "r", "choices": [{"message": {"tool_calls": calls, "reasoning_content": "Two."}}]}

    def part(number: int) -> dict[str, Any]:
        metadata = {
            "function_name": "run", "tool_call_id": f"t{number}",
            "total_calls_in_response": 2, "model_response": response,
        }  # fmt: skip
        return {"action": "run", "args": {"command": "x", "thought": ""}, "tool_call_metadata": metadata}

    def ran(number: int) -> dict[str, Any]:
        return {"observation": "run", "content": f"out {number}", "tool_call_metadata": {"tool_call_id": f"t{number}"}}

    events = first_generation(said("Go."), part(1), part(2), ran(2), ran(1))
    session = read_list(events, tmp_path).session
    (answer,) = (event.data for event in session.events if event.type == "assistant/message")
    assert [block["type"] for block in answer["content"]] == ["reasoning", "tool-call", "tool-call"]
    assert answer["content"][1]["arguments"] == '{"n": 1}'
    results = [event.data["callId"] for event in session.events if event.type == "tool/result"]
    assert results == ["t2", "t1"]


def test_a_delegate_is_a_subagent_of_the_call_that_started_it(tmp_path: Path) -> None:
    def state(name: str) -> dict[str, Any]:
        return {"observation": "agent_state_changed", "content": "", "extras": {"agent_state": name, "reason": "Stop."}}

    events = first_generation(
        said("Go."),
        {"action": "delegate", "args": {"agent": "Browser", "inputs": {}}, "tool_call_metadata": {"tool_call_id": "d"}},
        said("Look around.", source="agent"),
        {"action": "browse", "args": {"url": "x"}},
        {"observation": "browse", "content": "page", "cause": 3, "extras": {}},
        {"observation": "delegate", "content": "found", "cause": 1, "extras": {}},
        state("error"),
    )
    imported = read_list(events, tmp_path)
    (child,) = imported.subagents
    assert child.header.parent_session == imported.session.id
    assert imported.lineage[0].call == "d"
    assert "browse" not in json.dumps([event.data for event in imported.session.events])
    assert imported.session.events[-1].data["reason"] == {
        "kind": "error",
        "step": 1,
        "message": "Stop.",
        "code": "error",
    }


def test_failures_recalls_and_what_a_person_did_by_hand(tmp_path: Path) -> None:
    knowledge = [{"name": "git", "content": "Use rebase."}]
    recalled = {"recall_type": "workspace_context", "repo_instructions": "Run make.", "microagent_knowledge": knowledge}
    events = first_generation(
        said("Go.", args={"content": "Go.", "image_urls": ["data:image/png;base64,aGk="]}),
        {"source": "user", "action": "recall", "args": {"query": "Go."}},
        {"source": "environment", "observation": "recall", "content": "Added.", "cause": 1, "extras": recalled},
        {
            "action": "run",
            "args": {"command": "ls"},
            "tool_call_metadata": {"tool_call_id": "t", "function_name": "bash"},
        },
        {"observation": "error", "content": "boom", "cause": 3, "extras": {"error_id": "E"}},
        {"source": "user", "action": "run", "args": {"command": "pwd"}, "message": "Running command: pwd"},
        {"action": "dance", "args": {}, "source": "environment"},
    )
    imported = read_list(events, tmp_path)
    assert [text for text in texts(imported) if text in ("Added.", "Run make.", "Use rebase.")] == [
        "Added.", "Run make.", "Use rebase.",
    ]  # fmt: skip
    assert any(text.startswith("[image: image/png, 2 bytes") for text in texts(imported))
    result = next(event.data for event in imported.session.events if event.type == "tool/result")
    assert result["isError"] is True
    assert result["error"] == {"name": "error", "code": "error"}
    assert codes(imported) == ["UNKNOWN_TYPE"]


def test_an_evaluations_output_has_a_session_for_each_line(tmp_path: Path) -> None:
    runs = []
    for number in range(3):
        events = first_generation(said(f"Task {number}."), {"action": "message", "args": {"content": "Done."}})
        history = [events] if number == 1 else events  # older histories hold pairs
        runs.append({"instance_id": f"task-{number}", "history": history, "metrics": {"cost": number}})
    runs.append({"instance_id": "empty", "history": []})
    path = tmp_path / "output.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in runs))
    assert recognise(path) is IMPORTER
    imported = checked(path)
    assert [session.id for session in (imported.session, *imported.others)] == ["task-0", "task-1", "task-2"]
    assert [len(session.surface) for session in imported.sessions] == [2, 2, 2]


def test_damaged_folders_and_lists_are_read_as_far_as_they_go() -> None:
    assert run(IMPORTER, [FOLDER / "v1-cli-run", FOLDER / "condensed.v0.json"], cases=30, seed=77) > 0


def test_a_folder_of_the_first_generation_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    answers = [{"action": "message", "args": {"content": f"Answer {number}."}} for number in range(11)]
    for number, event in enumerate(first_generation(said("Go."), *answers)):
        (folder / f"{number}.json").write_text(json.dumps(event))
    assert recognise(tmp_path / "session") is IMPORTER
    imported = checked(tmp_path / "session")
    assert texts(imported) == ["Go.", *(f"Answer {number}." for number in range(11))]


def test_a_thousand_condensations_that_forget_nothing_take_no_time(tmp_path: Path) -> None:
    events = in_pairs(200)
    for number in range(1000):
        events.condensation(f"c{number}", [], None)
    imported = events.imported(tmp_path)
    assert codes(imported).count("EMPTY_RANGE") == 1000


def test_what_the_servers_answer_holds_the_events_in_a_field(tmp_path: Path) -> None:
    events = first_generation(said("Go."), {"action": "message", "args": {"content": "Done."}})
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps({"trajectory": events}))
    assert recognise(path) is IMPORTER
    assert texts(checked(path)) == ["Go.", "Done."]


def test_an_output_whose_first_run_failed_is_recognised_by_the_next(tmp_path: Path) -> None:
    runs = [
        {"instance_id": "a", "history": None, "error": "boom"},
        {"instance_id": "b", "history": first_generation(said("Go."))},
    ]
    path = tmp_path / "output.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in runs))
    assert recognise(path) is IMPORTER
    imported = checked(path)
    assert (imported.session.id, len(imported.others)) == ("b", 0)


def test_events_without_ids_and_times_are_known_by_their_kind(tmp_path: Path) -> None:
    events = [
        {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"type": "text", "text": "Go."}]}},
        {"kind": "ActionEvent", "source": "agent", "action": {"kind": "TerminalAction", "command": "ls"}},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert recognise(path) is IMPORTER
    imported = checked(path)
    assert [
        data["name"] for data in (event.data for event in imported.session.events if event.type == "tool/call")
    ] == ["TerminalAction"]
    assert codes(imported) == ["CALL_WITHOUT_RESULT", "NO_TIMES"]


def test_what_a_person_ran_has_its_output_as_context_and_no_finding(tmp_path: Path) -> None:
    events = first_generation(
        said("Go."),
        {"source": "user", "action": "run", "args": {"command": "pwd"}, "message": "Running command: pwd"},
        {"source": "environment", "observation": "run", "content": "/home", "cause": 1, "extras": {}},
    )
    imported = read_list(events, tmp_path)
    assert texts(imported) == ["Go.", "Running command: pwd", "/home"]
    assert codes(imported) == []


def test_screenshots_go_to_the_side_table(tmp_path: Path) -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    events = first_generation(
        {"action": "browse", "args": {"url": "u"}},
        {"observation": "browse", "content": "Page.", "cause": 0, "extras": {"url": "u", "screenshot": picture}},
    )
    imported = read_list(events, tmp_path)
    result = next(event.data for event in imported.session.events if event.type == "tool/result")
    assert result["meta"] == {"url": "u"}
    assert imported.side_table.query("key == 'screenshot'")["value"].tolist() == [f'"{picture}"']
