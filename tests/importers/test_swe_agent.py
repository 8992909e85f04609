import json
from pathlib import Path
from typing import Any

import pytest

from dsh_session.importers import Imported, ImportLogError, import_log, recognise
from dsh_session.importers.swe_agent import IMPORTER
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS
from tests.importers.fuzzing import assert_sound, run

FOLDER = LOGS / "swe-agent"


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def of_type(imported: Imported, kind: str) -> list[Any]:
    return [event.data for event in imported.session.events if event.type == kind]


def read(value: Any, folder: Path) -> Imported:
    path = folder / "run.traj"
    path.write_text(json.dumps(value, indent=2))
    assert recognise(path) is IMPORTER
    imported = IMPORTER.read(path)
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


def test_a_demonstration_with_tool_calls_is_one_turn_of_steps() -> None:
    imported = import_log(FOLDER / "function_calling_simple.traj")
    assert len(of_type(imported, "turn/start")) == 1
    assert [call["name"] for call in of_type(imported, "tool/call")] == ["find_file", "open", "edit", "bash", "submit"]
    assert not any(result["isError"] for result in of_type(imported, "tool/result"))
    assert codes(imported) == ["NO_TIMES"]


def test_commands_in_the_text_have_their_output_as_context_just_as_the_model_saw_it() -> None:
    imported = import_log(FOLDER / "pydicom-1458.traj")
    history = json.loads((FOLDER / "pydicom-1458.traj").read_text())["history"]
    derived = [message["content"][0]["text"] for message in imported.session.derive_messages()]
    assert derived == [message["content"] for message in history[1:]]
    assert len(of_type(imported, "user/message")) == 1
    kinds = [context["source"]["plugin"] for context in of_type(imported, "context/message")]
    assert kinds == ["swe-agent-demonstration", *["swe-agent-observation"] * 11]
    steps = imported.side_table.query("key == 'step'")
    assert len(steps) == 12
    answers = [event.seq for event in imported.session.events if event.type == "assistant/message"]
    assert steps["seq"].tolist() == answers


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("submitted", "completed"),
        ("submitted (exit_cost)", "completed"),
        ("Submitted", "completed"),
        (None, "completed"),
        ("exit_context", "error"),
        ("LimitsExceeded", "error"),
    ],
)
def test_the_exit_status_is_the_turns_end(status: str | None, kind: str, tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Go.", "agent": "main"},
        {"role": "assistant", "content": "Gone.", "agent": "main"},
    ]
    imported = read({"history": history, "trajectory": [], "info": {"exit_status": status}}, tmp_path)
    (end,) = of_type(imported, "turn/end")
    assert end["reason"]["kind"] == kind
    if kind == "error":
        assert end["reason"]["code"] == status


def test_a_trajectory_without_a_history_is_read_from_its_steps(tmp_path: Path) -> None:
    query = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}]
    steps = [
        {"action": "ls", "observation": "README", "response": "I look.", "query": query, "state": {}},
        {
            "action": "exit",
            "observation": None,
            "thought": "Done.",
            "query": [*query, {"role": "user", "content": "?"}],
        },
        "no step",
    ]
    imported = read({"trajectory": steps, "info": {}}, tmp_path)
    texts = [message["content"][0]["text"] for message in imported.session.derive_messages()]
    assert texts == ["Go.", "I look.", "README", "Done."]


def test_a_run_of_mini_swe_agent_has_times_usage_and_model(tmp_path: Path) -> None:
    response = {"model": "m-1", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go.", "extra": {"timestamp": 1767225600.0}},
        {"role": "assistant", "content": "ls", "extra": {"timestamp": 1767225601.0, "response": response}},
        {"role": "user", "content": "README", "extra": {"timestamp": 1767225602.0, "returncode": 0}},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ]
    info = {"exit_status": "Submitted", "config": {"model": {"model_name": "maker/m"}}}
    imported = read({"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}, tmp_path)
    (answer,) = of_type(imported, "assistant/message")
    assert answer["provenance"] == {"provider": "maker", "model": "m-1"}
    assert answer["usage"] == {"inputTokens": 10, "outputTokens": 2}
    assert imported.session.header.created_at == 1767225600000
    assert codes(imported) == []


def test_further_attempts_are_sessions_and_further_agents_subagents(tmp_path: Path) -> None:
    def history(word: str) -> list[dict[str, Any]]:
        return [
            {"role": "user", "content": word, "agent": "main"},
            {"role": "assistant", "content": word, "agent": "main"},
            {"role": "assistant", "content": f"Review of {word}", "agent": "reviewer"},
        ]

    last = history("two")
    attempts = [{"history": history("one"), "trajectory": []}, {"history": last, "trajectory": []}, "no attempt"]
    imported = read({"history": last, "trajectory": [], "info": {}, "attempts": attempts}, tmp_path)
    assert len(imported.others) == 1
    assert len(imported.subagents) == 2
    assert {row.parent for row in imported.lineage} == {imported.session.id, imported.others[0].id}
    texts = [session.derive_messages()[0]["content"][0]["text"] for session in imported.sessions]
    assert texts == ["two", "Review of two", "Review of one", "one"]


def test_the_replayed_configuration_names_the_model(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "Go.", "agent": "main"},
        {"role": "assistant", "content": "Gone.", "agent": "main"},
    ]
    config = json.dumps({"agent": {"model": {"name": "maker/m"}}})
    imported = read({"history": history, "replay_config": config}, tmp_path)
    assert of_type(imported, "assistant/message")[0]["provenance"] == {"provider": "maker", "model": "m"}
    assert codes(read({"history": history, "replay_config": "{"}, tmp_path)) == ["NO_TIMES"]


def test_trajectories_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("a/one.traj", "b/two.traj.json", "c/other.json"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("{}")
    assert [path.name for path in IMPORTER.find(tmp_path)] == ["one.traj", "two.traj.json"]


@pytest.mark.parametrize("text", ["{}", "[]", "", '{"history": [], "info": {"exit_status": "x"}}', '{"history"'])
def test_nothing_to_read_is_an_error_that_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.traj"
    path.write_text(text)
    with pytest.raises(ImportLogError) as caught:
        IMPORTER.read(path)
    assert caught.value.code == "IMPORT_EMPTY"


def test_a_recorded_run_is_read_whatever_was_done_to_it() -> None:
    assert run(IMPORTER, [FOLDER / "pydicom-1458.traj"], cases=15, seed=5) > 0


def test_the_end_of_a_run_and_answers_of_no_use_are_no_prompts(tmp_path: Path) -> None:
    failed = {"interrupt_type": "FormatError", "model_response": "hm"}
    imported = read(
        {
            "info": {"exit_status": "Submitted", "model_stats": {}},
            "messages": [
                {"role": "user", "content": "The task."},
                {"role": "user", "content": "No action was found.", "extra": failed},
                {"role": "assistant", "content": "Done."},
                {"role": "exit", "content": "Submitted", "extra": {"exit_status": "Submitted"}},
            ],
            "trajectory_format": "mini-swe-agent-1.1",
        },
        tmp_path,
    )
    kinds = [event.type for event in imported.session.events if event.surface_op]
    assert kinds == ["user/message", "context/message", "assistant/message"]
    assert codes(imported) == ["NO_TIMES"]
    assert imported.side_table["key"].tolist().count("exit") == 1
