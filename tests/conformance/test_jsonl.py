"""The recorded reads of log files: what counts as a header, where the valid prefix ends, what a file is called.

The original's reader looks at JSON and seqs only, which `scan` does. Where `loads`, which checks every event, accepts
a text as well, it has to find the same.
"""

from pathlib import Path
from typing import Any

import pytest

from dsh_session import SessionError
from dsh_session.core.jsonl import header_fields, read_session, scan
from dsh_session.persistence import JsonlPersistence
from dsh_session.persistence.naming import encode_segment, file_stem, log_path

from .vectors import Record, assert_equal, code_of, records

PIECES = (1, 7, 64, 1 << 20)
HOST_ERROR = "HOST_TYPE_ERROR"  # the original tripping over its input; we refuse with a code of our own


def _pieces(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _outcome(text: bytes, size: int) -> dict[str, Any]:
    try:
        meta, prefix = scan(_pieces(text, size))
    except SessionError as error:
        return {"ok": False, "error": {"code": code_of(error)}}
    return {"ok": True, "meta": meta, "events": prefix.events, "committedBytes": prefix.committed}


def _assert_read(text: bytes, recorded: dict[str, Any]) -> None:
    expected = {key: recorded[key] for key in ("ok", "meta", "events", "committedBytes", "error") if key in recorded}
    for size in PIECES:
        ours = _outcome(text, size)
        if not expected["ok"] and expected["error"]["code"] == HOST_ERROR:
            assert not ours["ok"]
        else:
            assert_equal(ours, expected, ordered=False)
    try:
        session, prefix = read_session([text])
    except SessionError as error:
        # What is refused here and accepted there is an event or a header that replay could not use.
        damage = {"JSONL_NO_HEADER", "JSONL_CORRUPT", "JSONL_GAP"}
        assert error.code not in damage or (not expected["ok"] and expected["error"]["code"] == error.code)
        return
    assert expected["ok"]
    assert (session.seq, prefix) == (expected["events"], (expected["events"], expected["committedBytes"]))
    assert session.id == expected["meta"]["id"]
    assert bool(session.findings) >= (prefix.committed < len(text))


@pytest.mark.parametrize("record", records("jsonl"))
def test_reading_gives_what_was_recorded(record: Record) -> None:
    tried = 0
    for cut in record.get("cuts", []):
        _assert_read(record["text"].encode()[: cut["bytes"]], cut)
        tried += 1
    for variant in record.get("variants", []):
        text = variant["text"].encode("utf-8", "surrogatepass")
        _assert_read(text, variant)
        if "headerMeta" in variant:
            assert_equal(header_fields(text.partition(b"\n")[0]), variant["headerMeta"], ordered=False)
        tried += 1
    for segment in record.get("segments", []):
        _assert_segment(segment)
        tried += 1
    for path in record.get("paths", []):
        ours = log_path(Path(path.get("root", "")), path["id"], path.get("cwd"))
        assert path["path"].endswith(ours.as_posix())
        tried += 1
    assert tried, "a kind of record that nothing here reads"


def _assert_segment(segment: dict[str, Any]) -> None:
    units = b"".join(unit.to_bytes(2, "big") for unit in segment["utf16"])
    identity = units.decode("utf-16-be", "surrogatepass")
    if "error" in segment:
        with pytest.raises(SessionError) as caught:
            encode_segment(identity)
        assert caught.value.code == segment["error"]["code"]
        return
    assert encode_segment(identity) == segment["encoded"]
    assert file_stem(identity, windows=False) == segment["encoded"]
    path = log_path(Path("root"), identity, None)
    assert path.parts == ("root", "_no-cwd", f"{segment['encoded']}.jsonl")
    assert JsonlPersistence("root").locate(identity) == path.absolute()
