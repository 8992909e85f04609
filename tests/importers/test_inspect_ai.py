import json
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dsh_session import check_invariants, fold_surface
from dsh_session.importers import Book, Imported, ImportLogError, import_log, recognise
from dsh_session.importers.inspect_ai import IMPORTER
from dsh_session.importers.inspect_ai import archive as archives
from dsh_session.importers.inspect_ai.archive import Archive
from tests.importers.accounting import assert_accounted
from tests.importers.corpora import LOGS
from tests.importers.fuzzing import assert_sound

FOLDER = LOGS / "inspect_ai"
HEADER = {"version": 2, "status": "success", "eval": {"eval_id": "E", "model": "maker/model", "created": "2026-01-01"}}


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def texts(imported: Imported) -> list[str]:
    messages = imported.session.derive_messages()
    return [block.get("text", block["type"]) for message in messages for block in message["content"]]


class Sample:
    """Makes a sample's events and messages."""

    def __init__(self, identity: str = "1") -> None:
        self.facts: dict[str, Any] = {"id": identity, "epoch": 1, "input": "Go."}
        self.events: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []

    def message(self, role: str, content: Any, **fields: Any) -> dict[str, Any]:
        made = {"id": f"m{len(self.messages)}", "role": role, "content": content, **fields}
        self.messages.append(made)
        return made

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        time = f"2026-01-01T00:00:{len(self.events):02d}+00:00"
        self.events.append({"event": kind, "timestamp": time, **fields})
        return self.events[-1]

    def call(self, content: Any, *, given: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
        """A model call with all messages so far, or with some, and its answer."""
        given = list(self.messages) if given is None else given
        answer = self.message("assistant", content, **fields)
        output = {
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "usage": {"input_tokens": 5, "output_tokens": 1},
        }
        self.event("model", model="maker/model", input=given, tools=[], config={}, output=output)
        return answer

    def tool(self, call: str, result: Any, **fields: Any) -> None:
        message = self.message("tool", result, tool_call_id=call)
        self.event("tool", id=call, function="bash", arguments={}, result=result, message_id=message["id"], **fields)

    def value(self) -> dict[str, Any]:
        return {**self.facts, "events": self.events, "messages": self.messages}


def calling(call: str) -> dict[str, Any]:
    return {"tool_calls": [{"id": call, "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}]}


def conversation(identity: str = "1") -> Sample:
    sample = Sample(identity)
    sample.message("system", "Be brief.")
    sample.message("user", "Go.")
    sample.call("I look.", **calling("c1"))
    sample.tool("c1", "README")
    sample.call("There is a README.")
    return sample


def packed(folder: Path, *samples: Sample, method: int = zipfile.ZIP_DEFLATED, **more: Any) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps(HEADER))
        for sample in samples:
            archive.writestr(f"samples/{sample.facts['id']}_epoch_1.json", json.dumps(sample.value()))
        for name, value in more.items():
            archive.writestr(name, json.dumps(value))
        archive.writestr("header.json", json.dumps(HEADER))
    return path


def read(path: Path, **options: Any) -> Imported:
    assert recognise(path) is IMPORTER
    imported = IMPORTER.read(path, **options)
    assert_sound(imported)
    assert_accounted(path, imported)
    return imported


# ------------------------------------------------------------------------------------------------------- samples


def test_recorded_samples_are_sessions_with_header_steps_and_results() -> None:
    imported = import_log(FOLDER / "deduplicated.eval")
    session = imported.session
    assert session.id == "5XJAqKPKGtzrXUZ3UhthJM"
    assert [event.type for event in session.events].count("tool/result") == 5
    assert len(session.surface) == 12
    header = session.request_header()
    assert header is not None
    assert header["tools"][1]["description"].startswith("Use the python function")  # an attachment, put in its place
    simple = import_log(FOLDER / "read_sample.eval").session
    answer = next(event for event in simple.events if event.type == "assistant/message")
    assert answer.data["usage"] == {"inputTokens": 66, "outputTokens": 3}
    assert answer.time == 1751723989353


def test_each_sample_is_a_session_and_one_may_be_asked_for(tmp_path: Path) -> None:
    path = packed(tmp_path, conversation("1"), conversation("2"), conversation("3"))
    imported = read(path)
    assert [session.id for session in imported.sessions] == ["E-1-1", "E-2-1", "E-3-1"]
    assert len(imported.others) == 2
    assert read(path, sample="2").session.id == "E-2-1"
    with pytest.raises(ImportLogError, match="holds no sample '9'"):
        IMPORTER.read(path, sample="9")


def test_one_json_document_is_read_like_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": [conversation("1").value(), conversation("2").value(), 5]}))
    assert recognise(path) is IMPORTER
    imported = IMPORTER.read(path)
    assert_sound(imported)
    assert [session.id for session in imported.sessions] == ["E-1-1", "E-2-1"]
    again = read(packed(tmp_path, conversation("1")))
    assert imported.session.to_jsonl() == again.session.to_jsonl()


def test_a_sample_in_chunks_is_read_like_a_whole_one(tmp_path: Path) -> None:
    sample = conversation()
    sample.messages[3]["content"] = "attachment://0"
    pool = sample.messages
    events = [dict(event) for event in sample.events]
    for event in events:
        if event["event"] == "model":
            refs = [[0, len(event.pop("input"))]]
            event.update(input=[], input_refs=refs)
    shell = {**sample.facts, "message_refs": [[0, len(pool)]]}
    prefix = "samples/1_epoch_1"
    parts = {
        f"{prefix}/sample.json": shell,
        f"{prefix}/messages/0.json": pool[:2],
        f"{prefix}/messages/2.json": pool[2:],
        f"{prefix}/events/0.json": events,
        f"{prefix}/events/stats.json": {"any": 1},
        f"{prefix}/attachments/0.json": ["README"],
    }
    imported = read(packed(tmp_path, **parts))
    assert texts(imported) == ["Go.", "I look.", "tool-call", "tool-result", "There is a README."]
    whole = read(packed(tmp_path, conversation()))
    assert imported.session.to_jsonl() == whole.session.to_jsonl()


def test_members_compressed_with_zstd_are_read(tmp_path: Path) -> None:
    plain = packed(tmp_path, conversation(), method=zipfile.ZIP_STORED)
    names = {}
    with zipfile.ZipFile(plain) as archive:
        for info in archive.infolist():
            names[info.filename] = archive.read(info)
    path = tmp_path / "zstd.eval"
    path.write_bytes(archive_of(names, method=93, compress=zstandard.ZstdCompressor().compress))
    assert read(path).session.to_jsonl() == read(plain).session.to_jsonl()


def test_calls_that_share_no_message_with_the_sample_are_subagents(tmp_path: Path) -> None:
    sample = conversation()
    grade = {"id": "g", "role": "assistant", "content": "GRADE: C"}
    question = {"id": "q", "role": "user", "content": "Was that right?"}
    sample.event(
        "model", model="maker/grader", role="grader", input=[question], output={"choices": [{"message": grade}]}
    )
    imported = read(packed(tmp_path, sample))
    (child,) = imported.subagents
    assert child.id == "E-1-1-grader"
    assert child.header.parent_session == "E-1-1"
    assert [message["content"][0]["text"] for message in child.derive_messages()] == ["Was that right?", "GRADE: C"]
    assert texts(imported)[-1] == "There is a README."


def test_an_agent_that_a_tool_call_started_is_linked_to_the_call(tmp_path: Path) -> None:
    sample = Sample()
    sample.message("user", "Go.")
    sample.call("I delegate.", **calling("c1"))
    sample.event("span_begin", id="agent", parent_id="main", type="agent")
    sample.event("span_begin", id="inner", parent_id="agent", type="solver")
    answer = {"id": "x2", "role": "assistant", "content": "Found."}
    asked = [{"id": "x1", "role": "user", "content": "Find it."}]
    sample.event("model", span_id="inner", model="maker/model", input=asked, output={"choices": [{"message": answer}]})
    sample.tool("c1", "Found.", agent_span_id="agent")
    imported = read(packed(tmp_path, sample))
    assert [(row.kind, row.call) for row in imported.lineage] == [("subagent", "c1")]


def test_a_compaction_is_marked_and_nothing_is_replaced(tmp_path: Path) -> None:
    sample = conversation()
    sample.event("compaction", type="summary", tokens_before=900, tokens_after=200, source="inspect")
    summary = sample.message("user", "What happened so far.", metadata={"summary": True})
    sample.call("Going on.", given=[*sample.messages[:2], summary])
    imported = read(packed(tmp_path, sample))
    session = imported.session
    assert fold_surface(session.events).replacements == []
    kinds = [event.type for event in session.events]
    at = kinds.index("compact/start")
    assert kinds[at : at + 3] == ["compact/start", "compact/end", "context/message"]
    assert session.events[at].data["tokensBefore"] == 900
    assert "does not record" in session.events[at + 1].data["error"]
    assert codes(imported) == ["COMPACTION_WITHOUT_RANGE", "REQUEST_LEAVES_OUT"]
    assert kinds.count("user/message") == 1


def test_a_tool_that_fails_is_a_failed_result_and_a_provider_that_fails_is_told_of(tmp_path: Path) -> None:
    sample = Sample()
    sample.message("user", "Go.")
    sample.call("I look.", **calling("c1"))
    sample.tool("c1", "", error={"type": "timeout", "message": "Too slow."})
    sample.event("model", model="maker/model", input=list(sample.messages), output={"choices": []}, error="overloaded")
    sample.facts["error"] = {"message": "It broke."}
    imported = read(packed(tmp_path, sample))
    result = next(event.data for event in imported.session.events if event.type == "tool/result")
    assert result["isError"] is True
    assert result["error"]["code"] == "timeout"
    assert result["content"] == [{"type": "text", "text": "Too slow."}]
    assert codes(imported) == ["NO_ANSWER"]
    assert imported.session.events[-1].data["reason"]["message"] == "It broke."


def test_a_limit_ends_the_turn_and_messages_of_no_request_come_last(tmp_path: Path) -> None:
    sample = conversation()
    sample.event("sample_limit", type="message", message="Too many.")
    sample.event("telepathy")
    sample.message("user", "Nobody asked the model this.")
    imported = read(packed(tmp_path, sample))
    ends = [event.data["reason"] for event in imported.session.events if event.type == "turn/end"]
    assert ends[0] == {"kind": "aborted", "reason": "limit: message"}
    assert texts(imported)[-1] == "Nobody asked the model this."
    assert codes(imported) == ["UNKNOWN_TYPE", "IN_NO_REQUEST"]


def test_a_sample_without_events_is_read_from_its_messages(tmp_path: Path) -> None:
    sample = conversation()
    sample.events.clear()
    imported = read(packed(tmp_path, sample))
    assert texts(imported) == ["Go.", "I look.", "tool-call", "tool-result", "There is a README."]
    assert [event.type for event in imported.session.events].count("step/start") == 2


def test_messages_without_ids_are_told_apart_by_what_they_say(tmp_path: Path) -> None:
    sample = conversation()
    for message in sample.messages:
        del message["id"]
    imported = read(packed(tmp_path, sample))
    assert texts(imported) == ["Go.", "I look.", "tool-call", "tool-result", "There is a README."]


# ------------------------------------------------------------------------------------------------ hostile archives


def archive_of(
    members: dict[str, bytes], *, method: int, compress: Any = None, flags: int = 0, crc: int | None = None
) -> bytes:
    """Write an archive by hand, as the standard library would not."""
    body, directory = BytesIO(), BytesIO()
    for name, content in members.items():
        packed_content = compress(content) if compress else content
        total = zlib.crc32(content) if crc is None else crc
        encoded = name.encode()
        fields = (20, flags, method, 0, 0, total, len(packed_content), len(content), len(encoded), 0)
        offset = body.tell()
        body.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + encoded + packed_content)
        head = (20, *fields[:9], 0, 0, 0, 0, 0, offset)
        directory.write(struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *head) + encoded)
    start, listed = body.tell(), directory.getvalue()
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), len(listed), start, 0)
    return body.getvalue() + listed + end


def deflated(content: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(content) + squeeze.flush()


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_bomb_is_left_out_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_FREE", 1 << 20)
    members = members_of(packed(tmp_path, conversation()))
    members["samples/9_epoch_1.json"] = b" " * (40 << 20)
    path = tmp_path / "bomb.eval"
    path.write_bytes(archive_of(members, method=8, compress=deflated))
    assert path.stat().st_size < 60_000
    imported = read(path)
    assert codes(imported) == ["OVERSIZED_MEMBER"]
    assert len(imported.sessions) == 1


def test_many_small_bombs_have_one_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_FREE", 1 << 20)
    monkeypatch.setattr(archives, "_RATIO", 60)
    members = members_of(packed(tmp_path, conversation()))
    members |= {f"samples/x{number}_epoch_1.json": b" " * 600_000 for number in range(12)}
    path = tmp_path / "bombs.eval"
    path.write_bytes(archive_of(members, method=8, compress=deflated))
    found = codes(read(path))
    assert 3 < found.count("OVERSIZED_MEMBER") < 12


def test_names_that_lead_elsewhere_are_only_names(tmp_path: Path) -> None:
    members = members_of(packed(tmp_path, conversation()))
    members["../../outside.json"] = b"{}"
    members["/etc/passwd"] = b"{}"
    path = tmp_path / "names.eval"
    path.write_bytes(archive_of(members, method=0))
    before = sorted(tmp_path.rglob("*"))
    imported = read(path)
    assert codes(imported) == ["MEMBER_NAME", "MEMBER_NAME"]
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "outside.json").exists()


def test_encrypted_members_and_unknown_methods_are_left_out(tmp_path: Path) -> None:
    members = members_of(packed(tmp_path, conversation()))
    for flags, method, code in ((1, 0, "ENCRYPTED_MEMBER"), (0, 98, "UNKNOWN_COMPRESSION")):
        path = tmp_path / f"{code}.eval"
        path.write_bytes(archive_of(members, method=method, flags=flags))
        with pytest.raises(ImportLogError) as caught:
            IMPORTER.read(path)
        assert caught.value.code == "IMPORT_EMPTY"
        assert "member" in str(caught.value)


def test_a_wrong_sum_is_told_of_and_the_content_read(tmp_path: Path) -> None:
    members = members_of(packed(tmp_path, conversation()))
    path = tmp_path / "sum.eval"
    path.write_bytes(archive_of(members, method=8, compress=deflated, crc=12345))
    imported = read(path)
    assert set(codes(imported)) == {"BAD_CHECKSUM"}
    assert texts(imported)[-1] == "There is a README."


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9, 0.99])
def test_an_archive_that_was_cut_is_read_up_to_there(tmp_path: Path, kept: float) -> None:
    whole = packed(tmp_path, *(conversation(str(number)) for number in range(8))).read_bytes()
    path = tmp_path / "cut.eval"
    path.write_bytes(whole[: int(len(whole) * kept)])
    imported = read(path)
    assert "CUT_ARCHIVE" in codes(imported)
    assert len(imported.sessions) == min(8, int(kept * 9) + 1)  # of the last one there is a part
    assert not check_invariants(imported.session.events)


def test_of_members_with_one_name_the_last_counts(tmp_path: Path) -> None:
    path = packed(tmp_path, conversation())
    later = conversation()
    later.messages[1]["content"] = "Go, once more."
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("samples/1_epoch_1.json", json.dumps(later.value()))
    imported = read(path)
    assert codes(imported) == ["DUPLICATE_MEMBER"]
    assert texts(imported)[0] == "Go, once more."


def test_an_archive_of_something_else_is_not_recognised(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    assert recognise(path) is None
    with pytest.raises(ImportLogError):
        IMPORTER.read(path)


def test_an_archive_that_is_nothing_but_headers_takes_no_time(tmp_path: Path) -> None:
    path = tmp_path / "headers.eval"
    path.write_bytes(struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 8, 8, 0, 0, 0, 0, 0, 0, 0) * 5_000)
    with Archive(path, Book("log")) as archive:
        assert len(archive.members) == 1


def test_a_long_conversation_of_which_requests_show_the_end_alone_is_one_session(tmp_path: Path) -> None:
    sample = Sample()
    sample.message("user", "Go.")
    for number in range(300):
        sample.call(f"Step {number}.", given=sample.messages[-1:], **calling(f"c{number}"))
        sample.tool(f"c{number}", "x" * 200)
    imported = read(packed(tmp_path, sample))
    assert [event.type for event in imported.session.events].count("step/start") == 300
    assert codes(imported) == ["REQUEST_LEAVES_OUT"]
