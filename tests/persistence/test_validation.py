"""Everything that is wrong with a log, each thing once, with its place."""

# ruff: noqa: E501 (a line of a log is as long as it is)

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session, SessionError, loads
from dsh_session.persistence.validation import UNREADABLE, LogFinding, validate_log, validate_pieces

from .talk import bare, call, say

LOGS = Path(__file__).parent.parent / "data" / "logs"
HEADER = '{"type":"session","version":0,"id":"s","createdAt":5}'
EVENTS = bare("s", 2).to_jsonl().decode().splitlines()[1:]


def _text(*lines: str | bytes) -> bytes:
    return b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)


def _findings(text: bytes, size: int = 1 << 20) -> list[LogFinding]:
    return list(validate_pieces([text[at : at + size] for at in range(0, len(text), size)], "log"))


def _told(text: bytes) -> list[tuple[int, int | None, str, str]]:
    return [(finding.line, finding.seq, finding.rule, finding.code) for finding in _findings(text)]


def test_a_log_of_our_own_is_clean() -> None:
    session = bare("s", 3, cwd="/x")
    call(session, 4)
    assert _findings(session.to_jsonl()) == []
    assert _findings(bare("s", 0).to_jsonl()) == []


def test_the_recorded_logs_hold_what_is_known_of_them() -> None:
    codes: dict[str, int] = {}
    for path in sorted(LOGS.glob("*v0*/*.jsonl")):
        for finding in validate_log(path):
            codes[finding.code] = codes.get(finding.code, 0) + 1
            assert finding.file == str(path)
            line = path.read_bytes()[finding.offset :].split(b"\n")[0]
            assert path.read_bytes().split(b"\n")[finding.line - 1] == line
            assert finding.seq is None or json.loads(line)["seq"] == finding.seq
    # Placeholders that the recording put in: "{{cwd}}" and "tools": "{{tools}}".
    assert codes == {"HEADER_CWD_RELATIVE": 4, "PAYLOAD_INVALID": 18}


SINGLE: dict[str, tuple[str | bytes, str, str]] = {
    "no JSON": ("garbage", "json", "JSONL_CORRUPT"),
    "an empty line": ("", "json", "JSONL_CORRUPT"),
    "NaN": ('{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":NaN}}', "json", "NOT_JSON"),
    "minus zero": ('{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":-0}}', "json", "NOT_JSON"),
    "a stray byte": (b'{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":"\xff"}}', "json", "NOT_JSON"),
    "null": ("null", "envelope", "SEED_ENVELOPE"),
    "a number": ("5", "contiguity", "JSONL_GAP"),
    "no seq": ('{"type":"todo/write","time":1,"data":{"todos":[]}}', "contiguity", "JSONL_GAP"),
    "no time": ('{"type":"todo/write","seq":1,"data":{"todos":[]}}', "envelope", "SEED_ENVELOPE"),
    "a further key": ('{"type":"todo/write","seq":1,"time":1,"data":{"todos":[]},"x":1}', "envelope", "SEED_ENVELOPE"),
    "a legacy type": ('{"type":"request/header-delta","seq":1,"time":1,"data":{}}', "legacy", "LEGACY_HEADER"),
    "a legacy reason": (
        '{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":{"provider":"p","model":"m"}},"reason":"fallback"}}',
        "legacy",
        "LEGACY_HEADER",
    ),
    "a misplaced marker": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[]},"surfaceOp":"append"}',
        "surface",
        "SURFACE_NOT_ELIGIBLE",
    ),
    "no marker": (
        '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}}}',
        "surface",
        "SURFACE_MARKER_REQUIRED",
    ),
    "a range that is not there": (
        '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":{"op":"replace","start":0,"end":0}}',
        "surface",
        "RANGE_NOT_FOUND",
    ),
    "a later source": (
        '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"append","sourceEventSeqs":[1]}',
        "provenance",
        "PROVENANCE_NOT_EARLIER",
    ),
    "a payload of another shape": ('{"type":"todo/write","seq":1,"time":1,"data":{}}', "payload", "PAYLOAD_INVALID"),
    "a plugin's payload": ('{"type":"compact/start","seq":1,"time":1,"data":{}}', "payload", "PAYLOAD_INVALID"),
    "a step that is not open": (
        '{"type":"step/end","seq":1,"time":1,"data":{"turn":1,"step":1}}',
        "step-end",
        "INVARIANT",
    ),
    "a key that stands twice": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"a":{"x":1,"x":1}}}',
        "text",
        "DUPLICATE_KEY",
    ),
    "a large integer": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":[1.5,-9007199254740993]}}',
        "text",
        "INTEGER_TOO_LARGE",
    ),
    "an integer beyond 64 bits": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":123456789012345678901234567890}}',
        "text",
        "INTEGER_TOO_LARGE",
    ),
    "half a surrogate pair": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"x":"\\ud83d"}}',
        "text",
        "LONE_SURROGATE",
    ),
    "half a pair in a key": (
        '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[],"\\uDEAD":1}}',
        "text",
        "LONE_SURROGATE",
    ),
}


@pytest.mark.parametrize("name", SINGLE)
def test_one_fault_is_one_finding(name: str) -> None:
    """In the place of a user's message, whose turn goes on after it."""
    line, rule, code = SINGLE[name]
    text = _text(HEADER, EVENTS[0], line, *EVENTS[2:])
    (finding,) = _findings(text)
    assert (finding.file, finding.line, finding.seq, finding.rule, finding.code) == ("log", 3, 1, rule, code)
    assert finding.offset == len(_text(HEADER, EVENTS[0]))
    assert finding.message
    assert len(finding.message) < 500


@pytest.mark.parametrize(
    "text",
    [
        '"16 digits in a string: 9007199254740993"',
        "[9007199254740991,-9007199254740991,0.12345678901234567890,1e20]",
        '"\\ud83d\\ude42"',
        '" spelt in another way \\u00e9" ',
        "[1.0, 2]",
    ],
)
def test_what_only_looks_like_a_fault_is_none(text: str) -> None:
    line = f'{{"type":"todo/write","seq":1,"time":1,"data":{{"todos":[],"x":{text}}}}}'
    assert _findings(_text(HEADER, EVENTS[0], line, *EVENTS[2:])) == []


def test_several_faults_of_a_line_are_all_told() -> None:
    line = '{"type":"tool/call","seq":7,"time":1,"data":{"turn":9,"step":1,"x":9007199254740993,"x":"\\ud83d"}}'
    told = _told(_text(HEADER, *EVENTS[:3], line))
    assert told == [
        (5, 7, "tail", "TORN_TAIL"),  # its seq is not the one that comes next, and no turn/end follows
        (5, 7, "payload", "PAYLOAD_INVALID"),
        (5, 7, "turn", "INVARIANT"),
        (5, 7, "text", "DUPLICATE_KEY"),
        (5, 7, "text", "INTEGER_TOO_LARGE"),
        (5, 7, "text", "LONE_SURROGATE"),
    ]


def test_a_missing_line_is_told_once_and_not_with_every_line_after_it() -> None:
    assert _told(_text(HEADER, EVENTS[0], *EVENTS[2:])) == [(3, 2, "contiguity", "JSONL_GAP")]


def test_a_doubled_line_is_told_once() -> None:
    told = _told(_text(HEADER, *EVENTS[:2], EVENTS[1], *EVENTS[2:]))
    assert told == [(4, 1, "contiguity", "JSONL_GAP")]


def test_a_line_that_was_put_between_two_events_is_told_once() -> None:
    assert _told(_text(HEADER, *EVENTS[:2], "xx", *EVENTS[2:])) == [(4, 2, "json", "JSONL_CORRUPT")]


def test_faults_far_apart_are_all_told() -> None:
    lines = [*EVENTS]
    lines[1] = "xx"
    lines[7] = lines[7].replace('"text":"hello"', '"text":1')
    lines[9] = lines[9].replace('"provider":"p"', '"provider":""')
    assert _told(_text(HEADER, *lines)) == [
        (3, 1, "json", "JSONL_CORRUPT"),
        (9, 7, "payload", "PAYLOAD_INVALID"),
        (11, 9, "route", "MISSING_ROUTE"),
    ]


def test_a_seq_far_ahead_costs_nothing() -> None:
    line = '{"type":"user/message","seq":9007199254740991,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"append"}'
    told = _told(_text(HEADER, EVENTS[0], line, *EVENTS[2:]))
    assert told == [(3, 1, "contiguity", "JSONL_GAP")]


def test_what_a_load_would_leave_out_begins_with_a_torn_tail() -> None:
    whole = _text(HEADER, *EVENTS)
    assert _told(whole + b'{"type":"turn/st') == [(14, 12, "tail", "TORN_TAIL")]
    assert _told(whole + b"\0\0\0\n") == [(14, 12, "tail", "TORN_TAIL")]
    assert _told(whole + b"xx\nyy\n") == [(14, 12, "tail", "TORN_TAIL"), (15, 13, "json", "JSONL_CORRUPT")]
    # With a turn/end behind it, it is damage.
    assert _told(_text(HEADER, *EVENTS[:7], "xx", *EVENTS[8:])) == [(9, 7, "json", "JSONL_CORRUPT")]
    for text in (whole + b"xx\n", whole + b"half"):
        session = loads(text)
        finding = _findings(text)[0]
        assert (finding.line, finding.offset) == (session.findings[0].line, session.findings[0].offset)


def test_a_file_without_a_header_says_nothing_else() -> None:
    for text, code in (
        (b"", "JSONL_NO_HEADER"),
        (b"no line break", "JSONL_NO_HEADER"),
        (b"{}\nxx\n", "JSONL_BAD_HEADER"),
        (b'{"type":"session","version":1,"id":"s","createdAt":5}\n', "JSONL_BAD_HEADER"),
    ):
        assert _told(text) == [(1, None, "header", code)]
        assert code in UNREADABLE


def test_a_header_that_loads_with_a_remark_is_told() -> None:
    header = '{"type":"session","version":0,"id":"\\ud83d","createdAt":5,"cwd":"rel","a":1,"a":9007199254740993}'
    assert _told(b"\xef\xbb\xbf" + _text(header)) == [
        (1, None, "text", "BYTE_ORDER_MARK"),
        (1, None, "header", "HEADER_CWD_RELATIVE"),
        (1, None, "text", "DUPLICATE_KEY"),
        (1, None, "text", "INTEGER_TOO_LARGE"),
        (1, None, "text", "LONE_SURROGATE"),
    ]


def test_a_rewrite_of_a_tool_result_between_steps_is_allowed() -> None:
    session = Session("s", clock=lambda: 1)
    say(session, 1, calls=("c",), end=False)
    step = {"turn": 1, "step": 1}
    session.append("tool/call", {**step, "callId": "c", "name": "bash", "arguments": "{}"})
    result: dict[str, Any] = {**step, "callId": "c", "content": [], "isError": False, "meta": {"a": 1}}
    first = session.append("tool/result", result, surface_op="append")
    session.append("step/end", {**step})
    short = {**result, "content": [{"type": "text", "text": "…"}]}
    place = {"op": "replace", "start": first.seq, "end": first.seq}
    session.append("tool/result", short, surface_op=place, source_event_seqs=[first.seq])
    assert _findings(session.to_jsonl()) == []
    other = {**place, "start": first.seq + 2, "end": first.seq + 2}
    session.append("tool/result", {**short, "isError": True}, surface_op=other, source_event_seqs=[first.seq + 2])
    assert _told(session.to_jsonl()) == [(10, 8, "step", "INVARIANT")]


def test_compressed_logs_are_judged_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zstd"
    frames = [zstandard.compress(_text(HEADER, *EVENTS[:3])), zstandard.compress(_text("xx", *EVENTS[4:]))]
    path.write_bytes(b"".join(frames))
    assert [(f.line, f.offset, f.code) for f in validate_log(path)] == [
        (5, len(_text(HEADER, *EVENTS[:3])), "JSONL_CORRUPT")
    ]
    path.write_bytes(frames[0] + frames[1][:-3])
    assert [(f.code, f.line) for f in validate_log(path)][-1][0] == "TORN_TAIL"
    path.write_bytes(frames[0][:10] + b"\xff\xff" + frames[0][12:] + frames[1])
    assert [f.code for f in validate_log(path)] in (["JSONL_CORRUPT"], ["JSONL_NO_HEADER"])
    middle = frames[0] + frames[1][:12] + b"\xff\xff\xff" + frames[1][15:] + frames[0]
    path.write_bytes(middle)
    assert [f.code for f in validate_log(path)][-1] == "JSONL_CORRUPT"


@given(st.data())
def test_whatever_is_wrong_a_clean_verdict_means_that_it_loads(data: st.DataObject) -> None:
    lines: list[bytes] = [line.encode() for line in EVENTS]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        edit = data.draw(st.sampled_from(["drop", "double", "swap", "splice", "key"]))
        if edit == "drop" and len(lines) > 1:
            del lines[at]
        elif edit == "double":
            lines.insert(at, lines[at])
        elif edit == "swap":
            lines[at], lines[0] = lines[0], lines[at]
        elif edit == "key":
            lines[at] = lines[at][:-1] + data.draw(st.sampled_from([b',"x":1}', b',"seq":3}', b',"type":null}']))
        else:
            position = data.draw(st.integers(0, len(lines[at])))
            piece = data.draw(st.sampled_from([b"", b"\n", b"-0", b"\xff", b'"', b"}", b"9" * 20, b"\\ud83d", b"null"]))
            cut = data.draw(st.integers(0, 5))
            lines[at] = lines[at][:position] + piece + lines[at][position + cut :]
    text = _text(HEADER, *lines)
    size = data.draw(st.sampled_from([1, 100, 1 << 20]))
    findings = _findings(text, size)
    try:
        session = loads(text)
    except SessionError as error:
        first = min(finding.line for finding in findings)
        assert error.line is not None
        assert first <= error.line
        same = [finding for finding in findings if finding.line == error.line]
        assert error.code in {finding.code for finding in same}
    else:
        torn = {finding.line for finding in session.findings if finding.code == "TORN_TAIL"}
        assert torn == {finding.line for finding in findings if finding.code == "TORN_TAIL"}
        if not findings:
            assert session.to_jsonl() == text
