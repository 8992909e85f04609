"""The compactions of a rollout, in both ways of writing them."""

from typing import Any

import pytest

from dsh_session import Session, fold_surface
from dsh_session.compaction import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.importers import import_log
from dsh_session.importers.codex.importer import IMPORTER
from dsh_session.importers.found import Imported
from tests.importers.corpora import LOGS
from tests.importers.rollouts import Rollout

RECORDED = LOGS / "codex" / "compacted-remote.jsonl"


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def shown(session: Session) -> list[str]:
    return [message["content"][0].get("text", "") for message in session.derive_messages() if message["content"]]


def conversation(log: Rollout) -> list[Any]:
    return [
        log.meta(),
        *log.prompt("first question"),
        log.call("c1"),
        log.output("c1"),
        log.said("assistant", "first answer"),
        *log.prompt("second question"),
        log.said("assistant", "second answer"),
    ]


def message(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def test_the_recorded_compaction_shadows_509_nodes() -> None:
    session = import_log(RECORDED).session
    (replacement,) = fold_surface(session.events).replacements
    assert len(replacement.shadowed_seqs) == 509
    before = Session("before", seed=[event.to_dict() for event in session.events[: replacement.seq]])
    assert list(before.surface.nodes) == list(replacement.shadowed_seqs)
    assert tool_pairing_balanced_before(before, replacement.start)
    assert tool_pairing_balanced_after(before, replacement.end)


def test_38_of_the_40_kept_items_of_the_recorded_compaction_match() -> None:
    imported = import_log(RECORDED, compaction="exact")
    session = imported.session
    (replacement,) = fold_surface(session.events).replacements
    assert len(replacement.shadowed_seqs) == 509
    assert "38 of the 40 items that a compaction keeps match" in imported.findings[-1].message
    again = [event for event in session.events if event.seq > replacement.seq and event.source_event_seqs]
    again = [event for event in again if event.type != "tool/result"]
    assert len(again) == 37  # and the first item is the replacement itself
    for event in again:
        assert event.source_event_seqs is not None
        (original,) = event.source_event_seqs
        assert session.events[original].type in (event.type, "steering/message", "context/message")
        assert replacement.shadowed_seqs.count(original) == 1


def test_collapse_puts_the_new_context_as_text_in_the_place_of_everything(read_rollout: Any) -> None:
    log = Rollout()
    kept = [message("user", "second question"), {"type": "compaction", "encrypted_content": "abcdef"}]
    imported = read_rollout(*conversation(log), log.line("compacted", {"message": "", "replacement_history": kept}))
    assert shown(imported.session) == ["[user]\nsecond question\n\n[compaction]\n(encrypted, 6 characters)"]
    assert imported.side_table["key"].tolist().count("replacement_history") == 1
    assert codes(imported) == []


def test_exact_writes_what_was_kept_again_and_cites_it(read_rollout: Any) -> None:
    log = Rollout()
    kept = [
        message("user", "first question"),
        message("assistant", "second answer"),
        message("developer", "never said before"),
        {"type": "compaction_summary", "encrypted_content": "abcdef"},
    ]
    lines = [
        *conversation(log),
        log.line("compacted", {"message": "", "replacement_history": kept}),
        *log.prompt("third"),
    ]
    imported = read_rollout(*lines, compaction="exact")
    session = imported.session
    assert shown(session) == [
        *("first question", "second answer", "never said before", "(encrypted, 6 characters)", "third"),
    ]
    answer = next(event for event in session.events if event.type == "assistant/message" and event.source_event_seqs)
    assert session.events[answer.source_event_seqs[0]].data["content"][0]["text"] == "second answer"
    assert imported.findings[-1].message.startswith("2 of the 4 items")


def test_a_text_that_was_said_twice_matches_two_events(read_rollout: Any) -> None:
    log = Rollout()
    kept = [message("user", "go"), message("user", "go"), message("user", "go")]
    lines = [
        log.meta(),
        *log.prompt("go"),
        *log.prompt("go"),
        log.line("compacted", {"message": "", "replacement_history": kept}),
    ]
    assert "2 of the 3 items" in read_rollout(*lines, compaction="exact").findings[-1].message


def test_an_old_compaction_keeps_recent_prompts_by_budget(read_rollout: Any) -> None:
    log = Rollout()
    lines = [log.meta(), *log.prompt("a" * 50_000), log.said("assistant", "x"), *log.prompt("b" * 50_000)]
    imported = read_rollout(*lines, log.line("compacted", {"message": "The summary."}))
    assert codes(imported) == ["KEPT_BY_BUDGET"]
    (text,) = shown(imported.session)
    assert text.count("a") == 30_000 + 1  # and one in "summary"
    assert text.count("b") == 50_000
    assert text.endswith("[user]\nThe summary.")


def test_kept_items_may_be_named_by_their_ids(read_rollout: Any) -> None:
    log = Rollout()
    first = log.said("user", "by reference", id="msg_1")
    entries = [
        {"type": "reference", "item_id": "msg_1"},
        {"type": "inline", "item": message("user", "inline")},
        {"type": "reference_v2", "item_id": "msg_9", "source_digest": "x"},
    ]
    imported = read_rollout(
        log.meta(), first, log.line("compacted", {"message": "", "replacement_history_entries": entries})
    )
    assert shown(imported.session)[0].startswith("[user]\nby reference\n\n[user]\ninline")
    assert codes(imported) == ["KEPT_NOT_FOUND"]


def test_a_compaction_of_nothing_is_said(read_rollout: Any) -> None:
    log = Rollout()
    imported = read_rollout(log.meta(), log.line("compacted", {"message": "S.", "replacement_history": []}))
    assert codes(imported) == ["EMPTY_RANGE"]


def test_items_that_are_none_are_shown_as_they_are() -> None:
    imported = IMPORTER.read(LOGS / "codex" / "interleaved_stream.jsonl")
    assert shown(imported.session) == ['[item]\n{"id":"summary-1"}']


@pytest.mark.parametrize(
    "history", [[None], [5, "x", []], [{"role": 5}], [{"role": "user", "content": {"a": 1}}], [{}]]
)
@pytest.mark.parametrize("compaction", ["collapse", "exact"])
def test_a_strange_history_stops_nothing(read_rollout: Any, history: Any, compaction: str) -> None:
    log = Rollout()
    lines = [*conversation(log), log.line("compacted", {"message": None, "replacement_history": history})]
    imported = read_rollout(*lines, compaction=compaction)
    assert len(fold_surface(imported.session.events).replacements) == 1


def test_a_third_way_of_writing_compactions_does_not_exist() -> None:
    with pytest.raises(ValueError, match="collapse, exact"):
        IMPORTER.read(RECORDED, compaction="guess")


def test_a_second_compaction_cites_what_the_first_one_wrote_again(read_rollout: Any) -> None:
    log = Rollout()
    kept = {
        "message": "",
        "replacement_history": [message("user", "first question"), message("user", "second question")],
    }
    lines = [
        *conversation(log),
        log.line("compacted", kept),
        log.said("assistant", "third answer"),
        log.line("compacted", kept),
    ]
    session = read_rollout(*lines, compaction="exact").session
    first, second = fold_surface(session.events).replacements
    again = [event for event in session.events if event.type == "user/message" and event.seq > first.seq + 1]
    cited = [list(event.source_event_seqs or ()) for event in again if event.surface_op == "append"]
    assert cited[0][0] < first.seq < cited[1][0] < second.seq
    assert shown(session) == ["first question", "second question"]
