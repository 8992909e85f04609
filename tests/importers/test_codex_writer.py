"""What the records of a Codex rollout become."""

from typing import Any

import pytest

from dsh_session import Session, fold_todos
from dsh_session.importers.codex.importer import IMPORTER
from dsh_session.importers.found import Imported
from tests.importers.corpora import LOGS
from tests.importers.rollouts import Rollout


def types(session: Session) -> list[str]:
    return [event.type for event in session.events]


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def of_type(session: Session, kind: str) -> list[Any]:
    return [event.data for event in session.events if event.type == kind]


def ends(session: Session) -> list[Any]:
    return [dict(data["reason"]) for data in of_type(session, "turn/end")]


def test_a_task_is_a_turn_and_items_up_to_an_output_are_a_step(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(base_instructions={"text": "Be good."}),
        log.event("task_started", turn_id="t1"),
        *log.prompt("List the files."),
        log.settings(approval_policy="never", sandbox_policy={"type": "read-only"}, effort="high"),
        log.item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], encrypted_content="x"),
        log.said("assistant", "Let me look."),
        log.call("c1"),
        log.call("c2"),
        log.output("c1"),
        log.output("c2"),
        log.said("assistant", "That is all."),
        log.event("task_complete", turn_id="t1"),
    ).session
    assert types(session) == [
        *("turn/start", "user/message", "approval/policy", "bash/sandbox-mode"),
        *("step/start", "request/header", "assistant/message", "tool/call", "tool/call"),
        *("tool/result", "tool/result", "step/end"),
        *("step/start", "assistant/message", "step/end", "turn/end"),
    ]
    kinds = [block["type"] for block in of_type(session, "assistant/message")[0]["content"]]
    assert kinds == ["reasoning", "text", "tool-call", "tool-call"]
    header = session.request_header()
    assert header is not None
    assert header["config"] == {"provider": "openai", "model": "gpt", "effort": "high"}
    assert header["system"] == "Be good."
    assert of_type(session, "approval/policy") == [{"policy": "never"}]
    assert of_type(session, "bash/sandbox-mode") == [{"mode": "read-only"}]


def test_encrypted_reasoning_and_phases_go_to_the_side_table(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(
        log.meta(),
        log.item("reasoning", summary=[], content=None, encrypted_content="opaque"),
        log.said("assistant", "Hello.", phase="final_answer"),
    )
    rows = imported.side_table.set_index("key")["value"]
    assert rows["reasoning.encrypted_content"] == '"opaque"'
    assert rows["message.phase"] == '"final_answer"'
    assert of_type(imported.session, "assistant/message")[0]["content"][0] == {"type": "reasoning", "text": ""}


def test_a_count_belongs_to_the_response_before_it_and_counts_once(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(
        log.meta(),
        *log.prompt("Go."),
        log.call("c1"),
        log.count(100, 10, cached=60, total=110),
        log.output("c1"),
        log.count(100, 10, cached=60, total=110),
        log.said("assistant", "Done."),
        log.count(200, 20, total=330),
    )
    first, second = of_type(imported.session, "assistant/message")
    assert first["usage"] == {"inputTokens": 40, "outputTokens": 10, "cacheReadTokens": 60, "reasoningTokens": 0}
    assert second["usage"]["inputTokens"] == 200
    keys = imported.side_table["key"].tolist()
    assert (keys.count("token_count"), keys.count("token_count.repeated")) == (2, 1)


def usage_record(log: Rollout, given: int, total: int | None) -> dict[str, Any]:
    usage = {"input_tokens": given, "cached_input_tokens": 0, "cache_write_input_tokens": 0, "output_tokens": 1}
    totals = {} if total is None else {"thread_token_usage": {"total_tokens": total}}
    return log.line("token_usage_record", {"response_id": "r", "usage": {**usage, "total_tokens": given + 1}, **totals})


@pytest.mark.parametrize("totals", [(8, 18), (None, None)])
def test_a_usage_record_is_a_count_and_the_event_behind_it_its_repetition(
    read_rollout: Any, totals: tuple[int | None, int | None]
) -> None:
    log = Rollout()
    imported = read_rollout(
        log.meta(),
        log.said("assistant", "x"),
        usage_record(log, 7, totals[0]),
        log.count(7, 1, total=8),
        log.call("c1"),
        usage_record(log, 9, totals[1]),
        log.output("c1"),
        log.count(9, 1, total=18),
    )
    assert [data["usage"]["inputTokens"] for data in of_type(imported.session, "assistant/message")] == [7, 9]
    keys = imported.side_table["key"].tolist()
    assert (keys.count("token_usage_record"), keys.count("token_count.repeated")) == (2, 2)


def test_a_rollout_of_usage_records_alone_counts_each_once(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(), usage_record(log, 7, 8), log.count(7, 1, total=8), usage_record(log, 9, 18)
    ).session
    assert [data["usage"]["inputTokens"] for data in of_type(session, "assistant/message")] == [7, 9]


def test_a_count_behind_the_outputs_belongs_to_the_response_before_them(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(), log.call("c1"), log.output("c1"), log.count(7, 1), log.said("assistant", "x")
    ).session
    first, second = of_type(session, "assistant/message")
    assert first["usage"]["inputTokens"] == 7
    assert "usage" not in second


def test_counts_of_the_recorded_rollouts_are_each_taken_once() -> None:
    for name, repeated in (("compacted-remote.jsonl", 284), ("plain-019c8a4d.jsonl", 27)):
        imported = IMPORTER.read(LOGS / "codex" / name)
        assert all("usage" in data for data in of_type(imported.session, "assistant/message"))
        assert imported.side_table["key"].tolist().count("token_count.repeated") == repeated


def test_a_request_that_is_larger_than_the_window_is_said_once(read_rollout: Any) -> None:
    """Resuming reported an impossible size (openai/codex#24089)."""
    log = Rollout()
    huge = {"model_context_window": 1000}
    imported = read_rollout(
        log.meta(), log.said("assistant", "x"), log.count(5000, 1, **huge), log.count(5000, 1, **huge)
    )
    assert codes(imported) == ["IMPOSSIBLE_CONTEXT"]
    assert "5,001 tokens" in imported.findings[0].message


def test_a_count_of_zeros_is_no_usage(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), log.said("assistant", "x"), log.count(0, 0, total=940499)).session
    assert "usage" not in of_type(session, "assistant/message")[0]


def test_what_a_person_says_while_a_task_runs_is_steering(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(),
        log.event("task_started"),
        *log.prompt("Begin."),
        log.call("c1"),
        *log.prompt("Faster."),
        log.output("c1"),
        log.said("assistant", "Done."),
        log.event("task_complete"),
        *log.prompt("More."),
    ).session
    assert [kind for kind in types(session) if kind.endswith("/message")] == [
        *("user/message", "assistant/message", "steering/message", "assistant/message", "user/message"),
    ]
    assert of_type(session, "tool/result")[0]["isError"] is False


def test_turns_end_as_the_log_says(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(),
        log.event("task_started"),
        *log.prompt("one"),
        log.event("turn_aborted", reason="interrupted"),
        log.event("task_started"),
        *log.prompt("two"),
        log.said("assistant", "x"),
        log.event("error", message="quota"),
        log.event("task_complete"),
        log.event("task_started"),
        *log.prompt("three"),
        log.event("stream_error", message="reconnecting"),
        log.said("assistant", "after all"),
        log.event("task_complete"),
    ).session
    assert ends(session) == [
        {"kind": "aborted", "reason": "interrupted"},
        {"kind": "error", "step": 1, "message": "quota"},
        {"kind": "completed"},
    ]


def test_context_in_the_middle_of_a_response_does_not_split_it(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(),
        *log.prompt("Go."),
        log.said("assistant", "a"),
        log.said("developer", "note"),
        log.call("c1"),
        log.output("c1"),
    ).session
    assert len(of_type(session, "assistant/message")) == 1
    assert of_type(session, "context/message")[0]["source"]["plugin"] == "codex-developer"


def test_an_output_behind_the_next_response_is_brought_to_its_step(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(
        log.meta(),
        *log.prompt("Go."),
        log.call("c1"),
        log.count(1, 1),
        log.said("assistant", "x"),
        log.count(2, 2),
        log.output("c1"),
    )
    assert of_type(imported.session, "tool/result")[0]["step"] == 1
    assert imported.side_table["key"].tolist().count("moved") == 1
    assert codes(imported) == []


def test_calls_and_outputs_of_all_kinds(read_rollout: Any) -> None:
    log = Rollout()
    shell = {"type": "exec", "command": ["ls"]}
    session = read_rollout(
        log.meta(),
        log.item("local_shell_call", call_id="a", action=shell, status="completed"),
        log.output("a", {"content": "listing", "success": False}),
        log.item("custom_tool_call", call_id="b", name="apply_patch", input="*** Begin Patch"),
        log.item("custom_tool_call_output", call_id="b", output={"output": "ok", "metadata": {"exit_code": 0}}),
        log.item("tool_search_call", call_id="c", execution="client", arguments={"query": "x"}),
        log.item("tool_search_output", call_id="c", status="completed", execution="client", tools=[{"name": "t"}]),
        log.item("function_call", call_id="d", name="run", namespace="mcp__docs", arguments="{}"),
        log.output(
            "d",
            [
                {"type": "input_text", "text": "part"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
            ],
        ),
        log.item("web_search_call", status="completed", action={"type": "search", "query": "rust"}),
        log.item("image_generation_call", id="ig", status="completed", result="aGk="),
    ).session
    calls = [(data["name"], data["arguments"]) for data in of_type(session, "tool/call")]
    assert calls == [
        ("local_shell", '{"type":"exec","command":["ls"]}'),
        ("apply_patch", "*** Begin Patch"),
        ("tool_search", '{"query":"x"}'),
        ("mcp__docs.run", "{}"),
        ("web_search", '{"type":"search","query":"rust"}'),
        ("image_generation", "{}"),
    ]
    results = of_type(session, "tool/result")
    assert [data["isError"] for data in results] == [True, False, False, False, False, False]
    assert results[1]["meta"] == {"exit_code": 0}
    assert results[3]["content"][1]["text"].startswith("[image: image/png, 2 bytes")
    assert results[4]["content"] == []
    assert results[5]["content"][0]["text"].startswith("[image: image/png, 2 bytes")


def test_a_plan_is_a_todo_list(read_rollout: Any) -> None:
    log = Rollout()
    plan = '{"plan":[{"step":"look","status":"completed"},{"step":"mend","status":"in_progress"}]}'
    session = read_rollout(log.meta(), log.call("c1", "update_plan", plan), log.output("c1")).session
    assert fold_todos(session.events) == [
        {"content": "look", "status": "completed"},
        {"content": "mend", "status": "in_progress"},
    ]


@pytest.mark.parametrize("arguments", ["{", "[]", '{"plan":5}', "", '{"plan":[5,{"a":1}]}'])
def test_a_plan_that_is_none_stops_nothing(read_rollout: Any, arguments: str) -> None:
    log = Rollout()
    session = read_rollout(log.meta(), log.call("c1", "update_plan", arguments), log.output("c1")).session
    assert len(of_type(session, "tool/result")) == 1


def test_policies_are_written_when_they_change(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(),
        log.settings(approval_policy="never", sandbox_policy={"mode": "read-only"}),
        *log.prompt("a"),
        log.settings(approval_policy="never", sandbox_policy={"danger-full-access": {}}),
        log.said("assistant", "x"),
    ).session
    assert of_type(session, "approval/policy") == [{"policy": "never"}]
    assert of_type(session, "bash/sandbox-mode") == [{"mode": "read-only"}, {"mode": "danger-full-access"}]


def test_lines_of_other_kinds_are_kept_aside(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(
        log.meta(git={"branch": "main"}),
        log.line("world_state", {"full": True}),
        log.item("ghost_snapshot", ghost_commit={"id": "x"}),
        log.item("something_new", value=1),
        log.line("brand_new_line", {"value": 2}),
        log.event("context_compacted"),
    )
    assert codes(imported) == ["UNKNOWN_ITEM"]
    assert set(imported.side_table["key"]) == {
        *("session_meta", "world_state", "ghost_snapshot", "something_new", "brand_new_line", "context_compacted"),
    }
    assert imported.session.seq == 0


def test_times_are_those_of_the_lines() -> None:
    session = IMPORTER.read(LOGS / "codex" / "standard_session.jsonl").session
    assert [event.time - 1704103200000 for event in session.events if event.surface_op] == [1000, 5000]


def test_two_prompts_before_the_first_response_of_a_task_are_one_turn(read_rollout: Any) -> None:
    log = Rollout()
    session = read_rollout(
        log.meta(), log.event("task_started"), *log.prompt("a"), *log.prompt("b"), log.said("assistant", "x")
    ).session
    assert types(session)[:4] == ["turn/start", "user/message", "user/message", "step/start"]


def test_what_one_agent_tells_another_is_context_once(read_rollout: Any) -> None:
    log = Rollout()
    told = {"author": "lead", "recipient": "lead/a", "trigger_turn": True}
    imported = read_rollout(
        log.meta(),
        log.line("inter_agent_communication", {**told, "content": "Look there."}),
        log.line("inter_agent_communication", {**told, "id": "m1", "content": "Then here."}),
        log.item("agent_message", id="m1", author="lead", content=[{"type": "input_text", "text": "Then here."}]),
        log.said("assistant", "Done."),
    )
    said = [data["content"][0]["text"] for data in of_type(imported.session, "context/message")]
    assert said == ["Look there.", "Then here."]
    assert imported.side_table["key"].tolist().count("inter_agent_communication") == 1
