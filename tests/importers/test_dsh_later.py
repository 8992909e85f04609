"""Logs of the later revisions of the harness, mapped to version 0."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dsh_session import SessionEvent, fold_surface, import_log, load, loads
from dsh_session.importers import Imported
from dsh_session.importers.dsh_later.packed import expand
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS
from tests.importers.fuzzing import assert_sound

FOLDER = LOGS / "dsh-2026-08"
HEADER = {"type": "session", "version": 0, "id": "s", "createdAt": 500, "delegationDepth": 0}
ROUTE = {"kind": "model", "provider": "p", "model": "m"}
USER = {"kind": "user"}


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


def event(kind: str, data: dict[str, Any], **envelope: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, **envelope}


def user(said: str, identity: str = "u1", source: Any = None, **envelope: Any) -> dict[str, Any]:
    data = {"content": text(said), "source": source or USER, "role": "user", "id": identity}
    return event("user/message", data, **{"surfaceOp": "append", **envelope})


def answer(*blocks: Any, **envelope: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": list(blocks), "source": ROUTE, "id": "a1"}
    data = {"turn": 1, "step": 1, "message": message, "interrupted": True}
    return event("assistant/message", data, **{"surfaceOp": "append", **envelope})


def call(identity: str) -> dict[str, Any]:
    return {"type": "tool-call", "id": identity, "name": "read", "arguments": "{}"}


def called(identity: str) -> dict[str, Any]:
    return event("tool/call", {"turn": 1, "step": 1, "callId": identity, "name": "read", "arguments": "{}"})


def result(identity: str, said: str, is_error: bool = False, error: Any = None, **envelope: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": identity, "content": text(said), "isError": is_error}
    message = {"source": {"kind": "tool", "callId": identity}, "content": [block], "role": "user", "id": "r1"}
    data = {"turn": 1, "step": 1, "message": message, **({} if error is None else {"error": error})}
    return event("tool/result", data, **{"surfaceOp": "append", **envelope})


START = event("turn/start", {"turn": 1})
STEP = event("step/start", {"turn": 1, "step": 1})
STEP_END = event("step/end", {"turn": 1, "step": 1})
END = event("turn/end", {"turn": 1, "reason": {"kind": "completed"}})


def write(folder: Path, *events: Any, header: dict[str, Any] | None = HEADER) -> Path:
    """Write a log whose events have times and seqs, as the harness writes them."""
    path = folder / "session.jsonl"
    lines = [] if header is None else [json.dumps(header)]
    seq = 0
    for each in events:
        if isinstance(each, bytes):
            lines.append(each.decode())
        elif each["type"].endswith("-chunks"):
            lines.append(json.dumps({**each, "seq0": seq, "time0": 1000 + seq}))
            seq += len(each["data"].get("texts") or each["data"].get("args") or [0])
        else:
            lines.append(json.dumps({"seq": seq, "time": 1000 + seq, **each}))
            seq = int(json.loads(lines[-1])["seq"]) + 1
    path.write_text("\n".join(lines) + "\n")
    return path


def read(folder: Path, *events: Any, header: dict[str, Any] | None = HEADER) -> Imported:
    path = write(folder, *events, header=header)
    imported = import_log(path)
    assert imported.agent == "dsh (later)"
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


def kinds(imported: Imported) -> list[str]:
    return [each.type for each in imported.session.events]


def only(imported: Imported, kind: str) -> SessionEvent:
    (found,) = (each for each in imported.session.events if each.type == kind)
    return found


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def side(imported: Imported, key: str) -> list[Any]:
    return [json.loads(row[5]) for row in imported.book.side_rows if row[4] == key]


# ----------------------------------------------------------------------------------------------------- recorded logs


def test_a_recovery_in_an_open_step_replaces_a_single_node() -> None:
    imported = import_log(FOLDER / "compaction-recovery.jsonl")
    (replacement,) = fold_surface(imported.session.events).replacements
    assert replacement.start == replacement.end
    assert len(replacement.shadowed_seqs) == 1
    before = [each.type for each in imported.session.events[: replacement.seq]]
    assert before.count("step/start") == before.count("step/end") + 1
    assert only(imported, "compact/summary").data["shadowedSeqs"] == replacement.shadowed_seqs
    assert side(imported, "compact/summary")[0].keys() == {"compactionId", "rawOutput", "llmStreamCall", "usage"}


def test_packed_rows_become_the_chunks_that_they_were() -> None:
    imported = import_log(FOLDER / "packed-chunks.jsonl")
    chunks = [each.data["chunk"] for each in imported.session.events if each.type == "assistant/chunk"]
    deltas = [chunk["text"] for chunk in chunks if chunk["type"] == "reasoning-delta"]
    assert "".join(deltas).startswith("The user wants me to run a simple bash command and report")
    assert "".join(chunk["argumentsDelta"] for chunk in chunks if chunk["type"] == "tool-call-delta") == (
        '{"command": "echo HELLO", "description": "Run echo HELLO"}'
    )
    invoked = only(imported, "hook/invoked")
    assert invoked.data["dialect"] == "claude"


def test_a_child_says_where_it_comes_from_by_the_seqs_of_here() -> None:
    imported = import_log(FOLDER / "subagent-fork.1.jsonl")
    (descent,) = imported.lineage
    assert (descent.parent, descent.kind) == ("96cf59c9-b347-48b9-b234-a5200913ad05", "subagent")
    assert descent.seed_length == imported.session.header.seed_length == 38
    parent = import_log(FOLDER / "subagent-fork.jsonl").session
    shared = imported.session.events[:38]
    assert [each.data for each in shared] == [each.data for each in parent.events[:38]]
    assert shared[-1].type == "turn/end"


def test_an_image_becomes_a_line_of_text_with_its_reference_beside_it() -> None:
    imported = import_log(FOLDER / "inline-image-prompt.jsonl")
    content = only(imported, "user/message").data["content"]
    assert [block["type"] for block in content] == ["text", "text", "text"]
    assert content[1]["text"].startswith("[image")
    (kept,) = side(imported, "image")
    assert kept["attachment"]["mediaType"] == "image/png"


def test_frames_of_zstd_are_read_and_a_torn_one_is_told(tmp_path: Path) -> None:
    data = (FOLDER / "todo-write.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    batches = [b"".join(lines[:1]), b"".join(lines[1:20]), b"".join(lines[20:])]
    frames = [zstandard.ZstdCompressor(write_checksum=True).compress(batch) for batch in batches]
    path = tmp_path / "session.jsonl.zstd"
    path.write_bytes(b"".join(frames))
    assert load(path).to_jsonl() == load(FOLDER / "todo-write.jsonl").to_jsonl()
    path.write_bytes(b"".join(frames)[:-10])
    torn = import_log(path)
    assert "TORN_TAIL" in codes(torn)
    assert torn.session.seq > 90
    assert_sound(torn)


# ------------------------------------------------------------------------------------------------------- the mapping


def test_what_started_a_turn_is_told_by_its_first_prompt(tmp_path: Path) -> None:
    goal = {"kind": "goal", "goalId": "g", "round": 1}
    imported = read(
        tmp_path, START, STEP, user("go"), STEP_END, END, START, STEP, user("on", "u2", goal), STEP_END, END
    )
    triggers = [each.data["trigger"] for each in imported.session.events if each.type == "turn/start"]
    assert triggers == [
        {"kind": "message", "source": USER},
        {"kind": "message", "source": {"kind": "plugin", "plugin": "goal"}},
    ]
    folded = only(imported, "context/message").data
    assert folded["source"] == {"kind": "plugin", "plugin": "goal"}
    assert (folded["envelope"], folded["meta"]) == ("raw", {"goalId": "g", "round": 1})
    assert [turn["turn"] for turn in (each.data for each in imported.session.events) if "trigger" in turn] == [1, 2]


def test_a_turn_without_a_prompt_was_started_by_nobody_known(tmp_path: Path) -> None:
    imported = read(tmp_path, START, END)
    assert imported.session.events[0].data["trigger"] == {
        "kind": "injection",
        "source": {"kind": "plugin", "plugin": "unknown"},
    }


def test_an_event_between_turns_gets_a_turn_and_turns_are_counted_anew(tmp_path: Path) -> None:
    imported = read(
        tmp_path,
        event("permission/preset", {"preset": "workspace-write"}),
        event("sandbox/mode", {"mode": "workspace-write"}),
        START,
        STEP,
        user("go"),
        STEP_END,
        END,
        event("approval/policy", {"policy": "ask", "source": "user"}),
    )
    assert kinds(imported) == [
        "turn/start", "permission/preset", "bash/sandbox-mode", "turn/end",
        "turn/start", "step/start", "user/message", "step/end", "turn/end",
        "turn/start", "approval/policy", "turn/end",
    ]  # fmt: skip
    assert [each.data["turn"] for each in imported.session.events if each.type == "turn/start"] == [1, 2, 3]
    assert side(imported, "approval/policy") == [{"source": "user"}]
    # A turn that is added ends when its last event happened.
    assert [each.time for each in imported.session.events[:5]] == [1000, 1000, 1001, 1001, 1002]


def test_a_message_after_an_answer_or_queued_for_the_next_step_is_steering(tmp_path: Path) -> None:
    queued = {"target": "next-step", "start": 0, "inserted": [{"id": "u2", "content": []}]}
    imported = read(
        tmp_path, START, event("agent/inbox/spliced", queued), STEP, user("go"), user("first", "u2"),
        answer({"type": "text", "text": "x"}), STEP_END, STEP, user("second", "u3"), STEP_END, END,
    )  # fmt: skip
    said = [(each.type, each.data["content"][0]["text"]) for each in imported.session.events if each.surface_op]
    assert said == [
        ("user/message", "go"),
        ("steering/message", "first"),
        ("assistant/message", "x"),
        ("steering/message", "second"),
    ]


@pytest.mark.parametrize(
    ("reason", "mapped"),
    [
        ({"kind": "completed"}, {"kind": "completed"}),
        ({"kind": "aborted", "reason": {"kind": "disposed"}}, {"kind": "disposed"}),
        ({"kind": "aborted", "reason": {"kind": "cancel", "reason": "esc"}}, {"kind": "aborted", "reason": "esc"}),
        ({"kind": "aborted", "reason": {"kind": "cancel"}}, {"kind": "aborted", "reason": "cancel"}),
        ({"kind": "blocked"}, {"kind": "rejected", "reason": ""}),
        (
            {"kind": "error", "error": {"message": "no", "code": "X", "status": 500}},
            {"kind": "error", "step": 1, "message": "no", "code": "X"},
        ),
        ({"kind": "max-tokens"}, {"kind": "max-tokens"}),
        ("odd", {"kind": "odd"}),
        (None, {"kind": "completed"}),
    ],
)
def test_reasons_are_translated(tmp_path: Path, reason: Any, mapped: dict[str, Any]) -> None:
    imported = read(tmp_path, START, STEP, STEP_END, event("turn/end", {"turn": 1, "reason": reason}))
    assert only(imported, "turn/end").data["reason"] == mapped


def test_answers_and_results_are_unfolded_and_their_ids_kept_beside_them(tmp_path: Path) -> None:
    imported = read(
        tmp_path, START, STEP, user("go"), answer(call("c1"), call("c2"), sourceEventSeqs=[0, 2, 99]),
        called("c1"), result("c1", "one"), called("c2"),
        result("c2", "?", is_error=True, error={"name": "X", "code": "TOOL_OUTCOME_UNKNOWN"}), STEP_END, END,
    )  # fmt: skip
    said = only(imported, "assistant/message")
    assert said.data["provenance"] == {"provider": "p", "model": "m"}
    assert list(said.source_event_seqs or []) == [0, 2]
    assert side(imported, "assistant/message") == [{"interrupted": True, "message": {"id": "a1"}}]
    results = [each.data for each in imported.session.events if each.type == "tool/result"]
    assert [(each["callId"], each["isError"]) for each in results] == [("c1", False), ("c2", True)]
    assert results[1]["error"] == {"name": "InterruptedError", "code": "interrupted"}
    assert side(imported, "tool/result")[1]["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"


def test_a_result_of_a_call_that_never_began_may_stand_without_one(tmp_path: Path) -> None:
    failed = {"name": "X", "code": "TOOL_NOT_STARTED"}
    imported = read(tmp_path, START, STEP, answer(call("c1")), result("c1", "?", True, failed), STEP_END, END)
    assert only(imported, "tool/result").data["callId"] == "c1"
    assert codes(imported) == []


def test_a_result_that_nothing_asked_for_is_context(tmp_path: Path) -> None:
    imported = read(tmp_path, START, STEP, result("c9", "?"), STEP_END, END, result("c8", "!"))
    assert codes(imported) == ["RESULT_WITHOUT_CALL", "RESULT_WITHOUT_CALL"]
    assert kinds(imported).count("context/message") == 2


def test_a_pruned_result_takes_the_place_of_the_whole_one(tmp_path: Path) -> None:
    pruned = result("c1", "o…", surfaceOp={"op": "replace", "start": 4, "end": 4}, sourceEventSeqs=[4])
    imported = read(
        tmp_path, START, STEP, answer(call("c1")), called("c1"), result("c1", "one" * 100), STEP_END,
        event("compaction/prune", {"callId": "c1"}), pruned, END,
    )  # fmt: skip
    (replacement,) = fold_surface(imported.session.events).replacements
    rewritten = imported.session.events[replacement.seq]
    assert rewritten.type == "tool/result"
    assert rewritten.data["content"] == text("o…")
    assert side(imported, "compaction/prune") == [{"callId": "c1"}]
    assert codes(imported) == []


def compaction(turn: int | None, start: int, end: int, seqs: list[int], first: int) -> list[dict[str, Any]]:
    summary = {
        "compactionId": "c", "summary": text("what was"), "rawOutput": [],
        "shadowedRange": {"start": start, "end": end}, "shadowedSeqs": seqs, "shadowedTokenCount": 5,
        "provider": "p", "model": "m",
    }  # fmt: skip
    replacing = {
        "surfaceOp": {"op": "replace", "start": start, "end": end},
        "sourceEventSeqs": [first, first + 1, *seqs],
    }
    source = {"kind": "plugin", "plugin": "compact", "compactionId": "c"}
    return [
        event("compaction/start", {"compactionId": "c", "turn": turn, "sourceCommandId": "x"}),
        event("compaction/summary", summary),
        user("framed", "u9", source, **replacing),
        event("compaction/end", {"compactionId": "c", "turn": turn}),
    ]


def test_a_compaction_between_turns_lies_in_a_turn_of_its_own(tmp_path: Path) -> None:
    imported = read(
        tmp_path, START, STEP, user("go"), answer({"type": "text", "text": "x"}), STEP_END, END,
        *compaction(None, 2, 3, [2, 3], 6), START, STEP, user("on", "u2"), STEP_END, END,
    )  # fmt: skip
    (replacement,) = fold_surface(imported.session.events).replacements
    assert replacement.shadowed_seqs == [2, 3]
    assert kinds(imported)[6:12] == [
        "turn/start", "compact/start", "compact/summary", "user/message", "compact/end", "turn/end",
    ]  # fmt: skip
    summary = only(imported, "compact/summary").data
    assert (summary["shadowedRange"], summary["shadowedSeqs"]) == ({"start": 2, "end": 3}, [2, 3])
    assert only(imported, "compact/start").data == {"turn": 2}
    assert imported.session.events[replacement.seq].data["source"] == {"kind": "plugin", "plugin": "compact"}
    assert codes(imported) == []


def test_a_compaction_that_splits_a_call_from_its_result_is_told_and_kept(tmp_path: Path) -> None:
    imported = read(
        tmp_path, START, STEP, user("go"), answer(call("c1")), called("c1"), *compaction(1, 2, 3, [2, 3], 5),
        result("c1", "one"), STEP_END, END,
    )  # fmt: skip
    assert codes(imported) == ["UNBALANCED_EDGE"]
    assert imported.session.surface.replace_generation == 1


def test_a_range_that_is_not_there_leaves_the_message_at_the_end(tmp_path: Path) -> None:
    imported = read(tmp_path, START, STEP, user("go"), *compaction(1, 77, 78, [77, 78], 3), STEP_END, END)
    assert "RANGE_NOT_FOUND" in codes(imported)
    assert imported.session.surface.replace_generation == 0
    assert imported.session.derive_messages()[-1]["content"] == text("framed")


def test_a_header_loses_what_the_adapter_filled_in(tmp_path: Path) -> None:
    header = {
        "config": {"provider": "p", "model": "m", "effort": "high"},
        "adapterDefaults": {"x": 1},
        "tools": "{{tools}}",
    }
    imported = read(
        tmp_path, START, STEP, event("request/header", {"header": header, "reason": "fallback"}), STEP_END, END
    )
    assert only(imported, "request/header").data == {
        "header": {"config": header["config"], "tools": "{{tools}}"},
        "reason": "change",
    }
    assert side(imported, "request/header") == [{"adapterDefaults": {"x": 1}, "reason": "fallback"}]


def test_a_nested_call_keeps_the_beginning_of_its_result(tmp_path: Path) -> None:
    data = {
        "parentCallId": "c", "subCallId": "d", "name": "ls", "arguments": {}, "isError": False,
        "content": text("x" * 500),
    }  # fmt: skip
    imported = read(tmp_path, START, event("tool/code-dispatch", data), event("tool/code-dispatch-start", {}), END)
    assert only(imported, "tool/code-dispatch").data["resultSummary"] == "x" * 200
    assert side(imported, "tool/code-dispatch") == [{"content": text("x" * 500)}]


def test_known_types_without_a_place_go_to_the_side_table_and_unknown_ones_are_told(tmp_path: Path) -> None:
    imported = read(
        tmp_path, START, event("goal/change", {"a": 1}), event("web/deepseek-search-llm-request", {}),
        event("shiny/new", {"b": 2}), event("shiny/ignored", {"c": 3}, ignorable=True), END,
    )  # fmt: skip
    assert kinds(imported) == ["turn/start", "turn/end"]
    assert (side(imported, "goal/change"), side(imported, "shiny/new"), side(imported, "shiny/ignored")) == (
        [{"a": 1}], [{"b": 2}], [{"c": 3}],
    )  # fmt: skip
    assert codes(imported) == ["UNKNOWN_TYPE"]


def test_a_failed_stream_says_so_in_the_words_of_version_0(tmp_path: Path) -> None:
    failed = {"type": "finish", "reason": {"kind": "error", "failure": {"message": "no", "code": "X"}}}
    odd = {"type": "shine", "index": 0}
    imported = read(
        tmp_path, START, STEP, event("assistant/chunk", {"turn": 1, "step": 1, "chunk": failed}),
        event("assistant/chunk", {"turn": 1, "step": 1, "chunk": odd}), STEP_END, END,
    )  # fmt: skip
    chunk = only(imported, "assistant/chunk").data["chunk"]
    assert chunk == {"type": "finish", "reason": {"kind": "error", "message": "no", "code": "X"}}
    assert codes(imported) == ["BAD_EVENT"]


# ---------------------------------------------------------------------------------------------------------- disorder


def test_a_log_that_ends_in_an_open_turn_is_closed_as_the_harness_would(tmp_path: Path) -> None:
    imported = read(tmp_path, START, STEP, user("go"), answer(call("c1")), called("c1"))
    assert codes(imported) == ["OPEN_TURN"]
    assert kinds(imported)[-3:] == ["tool/result", "step/end", "turn/end"]
    assert imported.session.events[-1].data["reason"] == {"kind": "interrupted"}


def test_a_turn_and_a_step_without_an_end_are_closed_before_the_next(tmp_path: Path) -> None:
    imported = read(tmp_path, START, STEP, STEP, START, END, END, STEP_END)
    assert codes(imported) == ["OPEN_STEP", "OPEN_TURN", "STRAY_EVENT", "STRAY_EVENT"]


def test_an_event_of_a_step_outside_any_opens_one(tmp_path: Path) -> None:
    imported = read(tmp_path, START, answer({"type": "text", "text": "x"}), END)
    assert codes(imported) == ["MISSING_STEP"]


def test_a_seq_that_comes_again_is_left_out(tmp_path: Path) -> None:
    imported = read(tmp_path, START, {**user("go"), "seq": 1}, {**user("go"), "seq": 1}, END)
    assert codes(imported) == ["DUPLICATE_SEQ"]
    assert kinds(imported).count("user/message") == 1


def test_a_log_without_a_header_gets_an_id_from_its_first_line(tmp_path: Path) -> None:
    first = read(tmp_path, event("agent/inbox/spliced", {}), START, END, header=None)
    assert codes(first) == ["NO_HEADER"]
    assert first.session.id.startswith("dsh-")


def test_a_newer_version_is_read_as_far_as_it_is_alike(tmp_path: Path) -> None:
    imported = read(tmp_path, START, STEP, user("go"), STEP_END, END, header={**HEADER, "version": 7})
    assert codes(imported) == ["NEWER_VERSION"]
    assert imported.session.header.version == 0


@pytest.mark.parametrize(
    "data",
    [
        None, {}, {"index": 0, "dt": [], "texts": [1]}, {"index": 0, "dt": [1], "texts": ["a"]},
        {"index": 0, "texts": ["a"]}, {"dt": [], "texts": ["a"]}, {"index": 0, "dt": ["x"], "texts": ["a", "b"]},
    ],
)  # fmt: skip
def test_a_packed_row_that_is_damaged_is_kept_beside_the_log(tmp_path: Path, data: Any) -> None:
    assert isinstance(expand({"type": "text-chunks", "data": data}), str)
    row = json.dumps({"type": "text-chunks", "seq0": 2, "time0": 5, "data": data}).encode()
    imported = read(tmp_path, START, STEP, row, STEP_END, END)
    assert codes(imported) == ["BAD_EVENT"]


# ---------------------------------------------------------------------------------------- version 0 that is not sound


def test_a_damaged_version_0_log_is_read_as_far_as_it_goes_and_loaded_not_at_all(tmp_path: Path) -> None:
    data = (LOGS / "dsh-v0" / "multi-turn.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join([*data[:10], b"garbage\n", *data[10:]]))
    imported = import_log(path)
    assert imported.agent == "dsh"
    assert {"NOT_STRICT", "BAD_LINE"} <= set(codes(imported))
    assert_sound(imported)
    assert_accounted(path, imported)
    sound = loads(b"".join(data))
    assert imported.session.derive_messages() == sound.derive_messages()


def test_a_version_0_log_that_breaks_a_rule_is_put_right(tmp_path: Path) -> None:
    header = {key: value for key, value in HEADER.items() if key != "delegationDepth"}
    lines = [
        header,
        {"type": "todo/write", "seq": 0, "time": 1, "data": {"todos": []}},
        {"type": "x/y", "seq": 1, "time": 1, "data": {}},
    ]
    path = tmp_path / "bare.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    imported = import_log(path)
    assert codes(imported)[:1] == ["NOT_STRICT"]
    assert kinds(imported) == ["turn/start", "todo/write", "x/y", "turn/end"]
    assert_sound(imported)
    assert load(path).seq == 2
