"""Reading logs: what loads stays as it was written, what does not names its line and column."""

# ruff: noqa: E501 (a line of a log is as long as it is)

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Session, SessionError, load, loads, thaw

from .payloads import ROUTE, conversation, payload, wire_event
from .refusals import assert_agrees

LOGS = Path(__file__).parent.parent / "data" / "logs"
RECORDED = sorted(LOGS.glob("*v0*/*.jsonl"))

HEADER = '{"type":"session","version":0,"id":"s","createdAt":5}'
EVENTS = [
    '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}',
    '{"type":"user/message","seq":1,"time":2,"data":{"content":[{"type":"text","text":"é"}],"source":{"kind":"user"}},"surfaceOp":"append"}',
    '{"type":"todo/write","seq":2,"time":3,"data":{"todos":[]}}',
    '{"type":"turn/end","seq":3,"time":4,"data":{"turn":1,"reason":{"kind":"completed"}}}',
]


def _text(*lines: str | bytes) -> bytes:
    return b"".join(
        (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line) + b"\n" for line in lines
    )


def _with(line: str | bytes, *, at: int = 1) -> bytes:
    """The log with one event line in another's place; a turn/end follows it."""
    lines: list[str | bytes] = [*EVENTS]
    lines[at] = line
    return _text(HEADER, *lines)


def _value(text: str, *, seq: int = 1) -> str:
    """An event line of a plugin that holds a value as it is spelt."""
    return f'{{"type":"plugin/value","seq":{seq},"time":1,"data":{text}}}'


def _refusal(text: bytes) -> SessionError:
    with pytest.raises(SessionError) as caught:
        loads(text)
    return caught.value


# -------------------------------------------------------------------------------------------------- recorded logs


def test_the_recorded_logs_are_here() -> None:
    assert len(RECORDED) >= 20
    assert {path.parent.name for path in RECORDED} == {"dsh-v0", "v0-compacted"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_log_loads_and_gives_its_bytes_back(path: Path) -> None:
    log = load(path)
    written = path.read_bytes()
    assert log.to_jsonl() == written
    lines = [json.loads(line) for line in written.splitlines()]
    header = {key: value for key, value in lines[0].items() if key != "type"}
    assert log.header.to_dict() == header
    assert log.id == header["id"]
    assert [event.to_dict() for event in log.events] == lines[1:]
    assert [event.data for event in log.events] == [line["data"] for line in lines[1:]]
    assert [event.surface_op for event in log.events] == [line.get("surfaceOp") for line in lines[1:]]
    assert [event.source_event_seqs for event in log.events] == [line.get("sourceEventSeqs") for line in lines[1:]]
    assert len(log.derive_messages()) <= len(log.surface) <= log.seq
    codes = {finding.code for finding in log.findings}
    assert codes == (set() if header.get("cwd", "/").startswith("/") else {"HEADER_CWD_RELATIVE"})
    again = Session("again", seed=log.events)
    assert again.derive_messages() == log.derive_messages()
    assert again.request_header() == log.request_header()
    wire = Session("wire", seed=lines[1:])
    assert [event.to_dict() for event in wire.events] == lines[1:]
    assert wire.derive_messages() == log.derive_messages()


def test_the_chained_compactions_fold_to_what_they_say() -> None:
    log = load(LOGS / "v0-compacted" / "pi-compacted-twice.jsonl")
    assert log.surface.replace_generation == 2
    summaries = [event for event in log.events if event.type == "compact/summary"]
    for event in (event for event in log.events if isinstance(event.surface_op, dict)):
        summary = max((s for s in summaries if s.seq < event.seq), key=lambda s: s.seq)
        assert set(summary.data["shadowedSeqs"]) <= set(event.source_event_seqs or ())
    assert_agrees(Session(log.id, seed=log.events))


# ------------------------------------------------------------------------------------------- what loads, verbatim

VERBATIM: dict[str, tuple[str | bytes, Any]] = {
    "an integer beyond 2**53": ("12345678901234567890", 12345678901234567890),
    "a negative integer beyond 2**53": ("-98765432109876543210", -98765432109876543210),
    "2**53": ("9007199254740993", 9007199254740993),
    "an integer beyond 64 bits": ("1" + "0" * 40, 10**40),
    "an integral float": ("1.0", 1.0),
    "an exponent": ("1e3", 1000.0),
    "a capital exponent": ("1E+3", 1000.0),
    "a number that underflows": ("1e-400", 0.0),
    "an integer of 309 digits": ("1" + "0" * 308, 10**308),
    "many digits": ("0.1000000000000000055511151231257827", 0.1),
    "the largest double": ("1.7976931348623157e308", 1.7976931348623157e308),
    "a duplicate key": ('{"a":1,"a":2}', {"a": 2}),
    "a duplicate key deep inside": ('{"x":[{"k":{"a":1},"k":3}]}', {"x": [{"k": 3}]}),
    "a lone high surrogate": ('"cut \\ud83d"', "cut \ud83d"),
    "a lone low surrogate": ('"\\uDE42 cut"', "\ude42 cut"),
    "a lone surrogate as a key": ('{"\\ud83d":1}', {"\ud83d": 1}),
    "a pair of surrogates": ('"\\ud83d\\ude42"', "🙂"),
    "surrogates in the wrong order": ('"\\ude42\\ud83d"', "\ude42\ud83d"),
    "needless escapes": ('"\\u0041\\/\\u00e9"', "A/é"),
    "a byte order mark in a string": ('"\ufeffx\ufeff"', "\ufeffx\ufeff"),
    "an escaped byte order mark": ('"\\ufeff"', "\ufeff"),
    "minus zero in a string": ('"-0 and -0.0 and \\"-0\\""', '-0 and -0.0 and "-0"'),
    "minus zero in a key": ('{"-0":1,"a":"\\\\","-0.0":[]}', {"-0": 1, "a": "\\", "-0.0": []}),
    "numbers that only look like minus zero": ("[-0.5,-0.05e1,-10,1e-0,10e-05]", [-0.5, -0.5, -10, 1.0, 0.0001]),
    "NaN in a string": ('"NaN Infinity -Infinity 1e400"', "NaN Infinity -Infinity 1e400"),
    "NUL": ('"\\u0000"', "\0"),
    "line separators": ('"\u2028\u2029\u0085"', "\u2028\u2029\u0085"),
    "a delete character": ('"\x7f"', "\x7f"),
    "white space": (" [ 1 ,\t2 ] ", [1, 2]),
    "a carriage return between tokens": ("[1,\r2]", [1, 2]),
    "five hundred levels": ("[" * 500 + "]" * 500, ...),
    "markup": ('"<script>alert(1)</script>]]>&\\u202e"', "<script>alert(1)</script>]]>&\u202e"),
    "null": ("null", None),
    "an empty object": ("{}", {}),
}


@pytest.mark.parametrize("name", VERBATIM)
def test_an_unusual_value_loads_and_stays_as_it_was_written(name: str) -> None:
    spelt, value = VERBATIM[name]
    assert isinstance(spelt, str)
    text = _with(_value(spelt))
    log = loads(text)
    assert log.to_jsonl() == text
    assert list(log.findings) == []
    event = log.events[1]
    assert event.to_json() == _value(spelt)
    if value is not ...:
        assert event.data == value
        assert type(thaw(event.data)) is type(value)
        assert event.to_dict()["data"] == value
    again = Session("again", seed=log.events)
    assert again.events[1].to_json() == _value(spelt)
    assert again.to_jsonl().split(b"\n")[1:] == text.split(b"\n")[1:]


@pytest.mark.parametrize(
    "name", ["an integer beyond 2**53", "a lone high surrogate", "a duplicate key", "a byte order mark in a string"]
)
@pytest.mark.parametrize("type_", ["user/message", "assistant/message", "tool/result"])
def test_an_unusual_value_in_a_message_loads_and_shows(name: str, type_: str) -> None:
    spelt, value = VERBATIM[name]
    data = {**payload(type_), "content": [{"type": "text", "text": "x", "extra": "HERE"}]}
    line = json.dumps({"type": type_, "seq": 1, "time": 1, "data": data, "surfaceOp": "append"})
    text = _with(line.replace('"HERE"', str(spelt)))
    log = loads(text)
    assert log.to_jsonl() == text
    assert log.events[1].data["content"][0]["extra"] == value
    assert '"extra"' in json.dumps(log.derive_messages())
    assert loads(Session("x", seed=log.events).to_jsonl()).derive_messages() == log.derive_messages()


def test_unusual_values_of_a_loaded_log_survive_as_wire_events_of_a_seed() -> None:
    log = loads(_with(_value('{"big":12345678901234567890,"cut":"\\ud83d"}')))
    again = Session("again", seed=[event.to_dict() for event in log.events])
    assert [event.data for event in again.events] == [event.data for event in log.events]
    assert loads(again.to_jsonl()).events[1].data == {"big": 12345678901234567890, "cut": "\ud83d"}


def test_lines_may_be_spelt_in_any_way_that_json_allows() -> None:
    text = _text(
        '  {"createdAt" : 5, "id":"s" ,"version":0, "type":"session" } ',
        '{ "data": {"turn": 1, "trigger": {"source": {"kind": "user"}, "kind": "message"}}, "time": 1, "seq": 0, "type": "turn\\/start" }',
        '{"surfaceOp":"append","type":"user/message","data":{"source":{"kind":"user"},"content":[]},"seq":1.0,"time":2e0}',
        '\t{"type":"user/message","seq":2,"time":3,"data":{"content":[],"source":{}},"sourceEventSeqs":[1.0,0],"surfaceOp":{"end":1.0,"op":"replace","start":1}}',
    )
    log = loads(text)
    assert log.to_jsonl() == text
    assert [(e.type, e.seq, e.time) for e in log.events] == [
        ("turn/start", 0, 1),
        ("user/message", 1, 2),
        ("user/message", 2, 3),
    ]
    assert all(type(e.seq) is type(e.time) is int for e in log.events)
    assert list(log.surface.nodes) == [2]
    assert log.events[2].source_event_seqs == [1, 0]
    assert log.events[2].surface_op == {"op": "replace", "start": 1, "end": 1}


def test_lines_that_end_in_a_carriage_return_load() -> None:
    text = _text(HEADER, *EVENTS).replace(b"\n", b"\r\n")
    log = loads(text)
    assert log.seq == 4
    assert log.to_jsonl() == text
    assert json.loads(log.events[1].to_json()) == log.events[1].to_dict()
    assert list(log.findings) == []
    appended = log.append("turn/start", {"turn": 2, "trigger": {"kind": "message", "source": {"kind": "user"}}})
    assert loads(log.to_jsonl()).events[4].to_dict() == appended.to_dict()


@pytest.mark.parametrize("size", [1_000_000, 3_000_000])
def test_a_line_of_a_megabyte_loads(size: int) -> None:
    for body in ("x" * size, "é" * (size // 2), "\\u0000" * (size // 6), "<" * size):
        text = _with(EVENTS[1].replace("é", body))
        log = loads(text)
        assert log.to_jsonl() == text
        assert len(log.derive_messages()[0]["content"][0]["text"]) >= size // 6


def test_a_byte_order_mark_at_the_start_of_the_file_is_let_through_and_reported() -> None:
    text = b"\xef\xbb\xbf" + _text(HEADER, *EVENTS)
    log = loads(text)
    assert log.seq == 4
    assert log.id == "s"
    assert text.endswith(log.to_jsonl())
    assert len(log.findings) == 1
    assert log.findings[0].line == 1


DUPLICATES = [
    '{"type":"turn/start","type":"plugin/x","seq":1,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}',
    '{"type":"plugin/x","type":"todo/write","seq":1,"time":1,"data":{"todos":[]}}',
    '{"type":"turn/start","type":"todo/write","seq":1,"time":1,"data":{"todos":[]}}',
    '{"type":"todo/write","seq":7,"seq":1,"time":1,"data":{"todos":[]}}',
    '{"type":"todo/write","seq":1,"time":-1,"time":9,"data":{"todos":[]}}',
    '{"type":"todo/write","seq":1,"time":1,"data":{"todos":[]},"data":{"todos":[{"content":"a","status":"pending"}]}}',
    '{"type":"todo/write","type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"append"}',
    '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"x","surfaceOp":"append"}',
    '{"type":"user/message","seq":1,"time":1,"data":{"content":1,"content":[],"source":{"kind":"user"}},"surfaceOp":"append"}',
    '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"sourceEventSeqs":[9],"sourceEventSeqs":[0],"surfaceOp":"append"}',
    '{"type":"assistant/message","seq":1,"time":1,"data":{"turn":1,"step":1,"content":[],"provenance":{"provider":"","provider":"p","model":"m"}},"surfaceOp":"append"}',
    '{"type":"user/message","seq":1,"time":1,"data":{"content":[{"type":"text","type":"image","text":"x"}],"source":{"kind":"plugin","kind":"user"}},"surfaceOp":"append"}',
]


@pytest.mark.parametrize("line", DUPLICATES)
def test_of_duplicate_keys_the_last_one_counts_everywhere(line: str) -> None:
    text = _with(line)
    log = loads(text)
    wire = json.loads(line)
    event = log.events[1]
    assert log.to_jsonl() == text
    assert event.to_dict() == wire
    assert (event.type, event.seq, event.time, event.data) == (wire["type"], wire["seq"], wire["time"], wire["data"])
    assert event.surface_op == wire.get("surfaceOp")
    assert event.source_event_seqs == wire.get("sourceEventSeqs")
    seeded = Session("s", seed=[e.to_dict() for e in log.events])
    assert seeded.derive_messages() == log.derive_messages()
    assert list(seeded.surface.nodes) == list(log.surface.nodes)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"type":"todo/write","seq":1,"time":9,"time":-1,"data":{"todos":[]}}', "SEED_ENVELOPE"),
        ('{"type":"todo/write","seq":1,"seq":5,"time":9,"data":{"todos":[]}}', "JSONL_GAP"),
        ('{"type":"todo/write","type":7,"seq":1,"time":1,"data":{"todos":[]}}', "SEED_ENVELOPE"),
        (
            '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"source":{"kind":"user"}},"surfaceOp":"append","surfaceOp":"x"}',
            "BAD_SURFACE_OP",
        ),
        (
            '{"type":"user/message","seq":1,"time":1,"data":{"content":[],"content":1,"source":{"kind":"user"}},"surfaceOp":"append"}',
            "PAYLOAD_INVALID",
        ),
        (
            '{"type":"assistant/message","seq":1,"time":1,"data":{"turn":1,"step":1,"content":[],"provenance":{"provider":"p","provider":"","model":"m"}},"surfaceOp":"append"}',
            "MISSING_ROUTE",
        ),
        (
            '{"type":"turn/start","type":"user/message","seq":1,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}',
            "SURFACE_MARKER_REQUIRED",
        ),
    ],
)
def test_of_duplicate_keys_the_last_one_is_checked(line: str, code: str) -> None:
    error = _refusal(_with(line))
    assert (error.code, error.line) == (code, 3)


# ---------------------------------------------------------------------------------------------------- what does not


def _column(line: str, needle: str) -> int:
    return line.index(needle) + 1


# text that is no JSON
NOT_TEXT: dict[str, tuple[str | bytes, int | None]] = {
    "a cut line": (EVENTS[1][:50], None),
    "a missing value": ('{"type":}', 9),
    "a trailing comma": (_value("[1,]"), None),
    "single quotes": ("{'type':'x'}", 2),
    "text after the value": (f"{EVENTS[1]} x", len(EVENTS[1]) + 2),
    "two values": (f"{EVENTS[1]}{EVENTS[1]}", len(EVENTS[1]) + 1),
    "a bare word": ("garbage", 1),
    "an empty line": ("", 1),
    "a line of spaces": ("   ", None),
    "a leading zero": (_value("01"), None),
    "a leading plus": (_value("+1"), _column(_value("+1"), "+1")),
    "a bare fraction": (_value(".5"), _column(_value(".5"), ".5")),
    "a hexadecimal": (_value("0x10"), None),
    "a raw control character": (_value('"\x01"'), _column(_value('"\x01"'), "\x01")),
    "a raw tab in a string": (_value('"\t"'), _column(_value('"\t"'), "\t")),
    "a bad escape": (_value('"\\x41"'), None),
    "a cut escape": (_value('"\\u12"'), None),
    "a comment": (f"{EVENTS[1]} // x", len(EVENTS[1]) + 2),
    "NUL bytes": (b"\0" * 40, 1),
}

# text that would be lost, or means nothing: an error wherever it stands
NOT_LOSSLESS: dict[str, tuple[str | bytes, int | None]] = {
    "NaN": (_value("NaN"), _column(_value("NaN"), "NaN")),
    "Infinity": (_value("Infinity"), _column(_value("Infinity"), "Infinity")),
    "minus Infinity": (_value("[1,-Infinity]"), _column(_value("[1,-Infinity]"), "-Infinity")),
    "an overflow": (_value("1e400"), _column(_value("1e400"), "1e400")),
    "a negative overflow": (_value('{"a":-1E999}'), _column(_value('{"a":-1E999}'), "-1E999")),
    "an overflow without an exponent": (_value("1" + "0" * 400), _column(_value("1" + "0" * 400), "10000")),
    "an overflow of five thousand digits": (_value("9" * 5_000), _column(_value("9" * 5_000), "99999")),
    "an overflow that runs into the next number": (_value("1e400-0"), _column(_value("1e400"), "1e400")),
    "minus zero": (_value("-0"), _column(_value("-0"), "-0")),
    "minus zero as a fraction": (_value("[0,-0.000]"), _column(_value("[0,-0.000]"), "-0.000")),
    "minus zero with an exponent": (_value("[-0e5]"), _column(_value("[-0e5]"), "-0e5")),
    "minus zero after a string that holds it": (_value('["é -0",-0.0]'), _column(_value('["é -0",-0.0]'), "-0.0]")),
    "minus zero by underflow": (_value("[-1e-400]"), _column(_value("[-1e-400]"), "-1e-400")),
    "minus zero as a time": (EVENTS[1].replace('"time":2', '"time":-0'), _column(EVENTS[1], "2,")),
    "minus zero as a seq": (EVENTS[1].replace('"seq":1', '"seq":-0'), _column(EVENTS[1], "1,")),
    "a byte order mark": (b"\xef\xbb\xbf" + EVENTS[1].encode(), 1),
    "a stray byte": (_value('"é HERE"').encode().replace(b"HERE", b"\xff"), _column(_value('"é HERE"'), "HERE")),
    "a cut character": (_value('"HERE"').encode().replace(b"HERE", b"\xc3"), _column(_value('"HERE"'), "HERE")),
    "an overlong character": (
        _value('"HERE"').encode().replace(b"HERE", b"\xc0\xaf"),
        _column(_value('"HERE"'), "HERE"),
    ),
    "an encoded surrogate": (
        _value('"HERE"').encode().replace(b"HERE", b"\xed\xa0\xbd"),
        _column(_value('"HERE"'), "HERE"),
    ),
    "a character beyond Unicode": (
        _value('"HERE"').encode().replace(b"HERE", b"\xf4\x90\x80\x80"),
        _column(_value('"HERE"'), "HERE"),
    ),
    "a stray byte outside a string": (EVENTS[1].encode() + b"\xff", len(EVENTS[1]) + 1),
    "a stray byte in a key": (
        _value('{"HERE":1}').encode().replace(b"HERE", b"\x80"),
        _column(_value('{"HERE":1}'), "HERE"),
    ),
    "UTF-16": (EVENTS[1].encode("utf-16"), None),
}


@pytest.mark.parametrize("name", NOT_TEXT)
def test_a_line_that_is_no_json_names_line_column_and_offset(name: str) -> None:
    line, column = NOT_TEXT[name]
    error = _refusal(_with(line))
    assert error.code == "JSONL_CORRUPT"
    _assert_placed(error, 3, column, len(_text(HEADER, EVENTS[0])))


@pytest.mark.parametrize("name", NOT_TEXT)
def test_the_same_line_after_the_last_turn_end_is_a_torn_tail(name: str) -> None:
    line, _ = NOT_TEXT[name]
    whole = _text(HEADER, *EVENTS)
    log = loads(whole + _text(line, _value("1", seq=5)))
    assert log.seq == 4
    assert log.to_jsonl() == whole
    (finding,) = log.findings
    assert (finding.line, finding.offset) == (6, len(whole))
    assert "line 6" in finding.message
    assert_agrees(Session(log.id, seed=log.events))


@pytest.mark.parametrize("name", NOT_LOSSLESS)
def test_a_line_that_would_be_lost_is_an_error_before_and_after_the_last_turn_end(name: str) -> None:
    line, column = NOT_LOSSLESS[name]
    error = _refusal(_with(line))
    assert error.code in {"NOT_JSON", "JSONL_CORRUPT"}
    _assert_placed(error, 3, column, len(_text(HEADER, EVENTS[0])))
    whole = _text(HEADER, *EVENTS)
    _assert_placed(_refusal(whole + _text(line)), 6, column, len(whole))
    _assert_placed(_refusal(_text(HEADER, line)), 2, column, len(_text(HEADER)))


def _assert_placed(error: SessionError, line: int, column: int | None, offset: int) -> None:
    assert (error.line, error.offset) == (line, offset)
    assert f"line {line}" in str(error)
    assert isinstance(error.column, int)
    if column is not None:
        assert error.column == column, str(error)
    assert f"column {error.column}" in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize("where", ["data", "message", "header"])
@pytest.mark.parametrize("spelt", ["NaN", "1e400", "-0", "-0.0", "-1e-400", "Infinity", "1" + "0" * 400])
def test_a_number_that_is_no_json_is_found_wherever_it_stands(where: str, spelt: str) -> None:
    lines = {
        "data": '{"type":"tool/result","seq":1,"time":1,"data":{"turn":1,"step":1,"callId":"c","content":[],"isError":false,"meta":{"x":[HERE]}},"surfaceOp":"append"}',
        "message": '{"type":"user/message","seq":1,"time":1,"data":{"content":[{"type":"image","size":HERE}],"source":{"kind":"user"}},"surfaceOp":"append"}',
        "header": '{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":{"provider":"p","model":"m","temperature":HERE}},"reason":"initial"}}',
    }
    assert _refusal(_with(lines[where].replace("HERE", spelt))).line == 3
    good = loads(_with(lines[where].replace("HERE", "1")))
    assert good.seq == 4


# events that are JSON and that no log may hold; the code may be the rule's own or the file's
REFUSED_EVENTS: dict[str, tuple[str, set[str]]] = {
    "null": ("null", {"JSONL_GAP", "SEED_ENVELOPE", "JSONL_CORRUPT"}),
    "a number": ("7", {"JSONL_GAP", "SEED_ENVELOPE"}),
    "a string": ('"x"', {"JSONL_GAP", "SEED_ENVELOPE"}),
    "a list": ("[]", {"JSONL_GAP", "SEED_ENVELOPE"}),
    "an empty object": ("{}", {"JSONL_GAP", "SEED_ENVELOPE"}),
    "a gap": (_value("1", seq=2), {"JSONL_GAP"}),
    "a step back": (_value("1", seq=0), {"JSONL_GAP"}),
    "a seq that is true": (_value("1").replace('"seq":1', '"seq":true'), {"JSONL_GAP", "SEED_ENVELOPE"}),
    "a seq in quotes": (_value("1").replace('"seq":1', '"seq":"1"'), {"JSONL_GAP", "SEED_ENVELOPE"}),
    "no time": ('{"type":"todo/write","seq":1,"data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "a negative time": ('{"type":"todo/write","seq":1,"time":-1,"data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "a fractional time": ('{"type":"todo/write","seq":1,"time":1.5,"data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "a time of 2**53": ('{"type":"todo/write","seq":1,"time":9007199254740992,"data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "a time of 2**63": (
        '{"type":"todo/write","seq":1,"time":9223372036854775808,"data":{"todos":[]}}',
        {"SEED_ENVELOPE"},
    ),
    "a time in quotes": ('{"type":"todo/write","seq":1,"time":"1","data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "a time that is true": ('{"type":"todo/write","seq":1,"time":true,"data":{"todos":[]}}', {"SEED_ENVELOPE"}),
    "no data": ('{"type":"todo/write","seq":1,"time":1}', {"SEED_ENVELOPE"}),
    "no type": ('{"seq":1,"time":1,"data":1}', {"SEED_ENVELOPE"}),
    "a type that is a number": ('{"type":7,"seq":1,"time":1,"data":1}', {"SEED_ENVELOPE"}),
    "a further key": ('{"type":"todo/write","seq":1,"time":1,"data":{"todos":[]},"ignorable":true}', {"SEED_ENVELOPE"}),
    "a further key of a message": (EVENTS[1][:-1] + ',"x":1}', {"SEED_ENVELOPE"}),
    "a header delta": ('{"type":"request/header-delta","seq":1,"time":1,"data":{}}', {"LEGACY_HEADER"}),
    "a fallback": (
        json.dumps(wire_event("request/header", 1, data={"header": {"config": ROUTE}, "reason": "fallback"})),
        {"LEGACY_HEADER"},
    ),
    "an answer without provenance": (
        '{"type":"assistant/message","seq":1,"time":1,"data":{"turn":1,"step":1,"content":[]},"surfaceOp":"append"}',
        {"MISSING_ROUTE"},
    ),
    "an answer with an empty model": (
        '{"type":"assistant/message","seq":1,"time":1,"data":{"turn":1,"step":1,"content":[],"provenance":{"provider":"p","model":""}},"surfaceOp":"append"}',
        {"MISSING_ROUTE"},
    ),
    "a request header without a route": (
        '{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":{}},"reason":"initial"}}',
        {"MISSING_ROUTE"},
    ),
    "a message without a marker": (EVENTS[1].replace(',"surfaceOp":"append"', ""), {"SURFACE_MARKER_REQUIRED"}),
    "a null marker": (EVENTS[1].replace('"append"', "null"), {"BAD_SURFACE_OP"}),
    "a marker that is no marker": (EVENTS[1].replace('"append"', '"x"'), {"BAD_SURFACE_OP"}),
    "a replacement of nothing": (
        EVENTS[1].replace('"append"', '{"op":"replace","start":0,"end":0}'),
        {"RANGE_NOT_FOUND"},
    ),
    "a later source": (EVENTS[1][:-1] + ',"sourceEventSeqs":[1]}', {"PROVENANCE_NOT_EARLIER"}),
    "a source that is true": (EVENTS[1][:-1] + ',"sourceEventSeqs":[false]}', {"PROVENANCE_NOT_SEQ"}),
    "null sources": (EVENTS[1][:-1] + ',"sourceEventSeqs":null}', {"PROVENANCE_NOT_ARRAY"}),
    "a marker on a boundary": (EVENTS[2][:-1] + ',"surfaceOp":"append"}', {"JSONL_GAP", "SURFACE_NOT_ELIGIBLE"}),
    "a null marker on a boundary": (
        EVENTS[2].replace('"seq":2', '"seq":1')[:-1] + ',"surfaceOp":null}',
        {"SURFACE_NOT_ELIGIBLE"},
    ),
    "content that is no list": (EVENTS[1].replace('[{"type":"text","text":"é"}]', '"é"'), {"PAYLOAD_INVALID"}),
    "a block that is no object": (EVENTS[1].replace('{"type":"text","text":"é"}', '"é"'), {"PAYLOAD_INVALID"}),
}


@pytest.mark.parametrize("name", REFUSED_EVENTS)
def test_an_event_that_no_log_may_hold_names_its_line(name: str) -> None:
    line, codes = REFUSED_EVENTS[name]
    error = _refusal(_with(line))
    assert error.code in codes
    assert error.line == 3
    assert "line 3" in str(error)
    assert error.offset == len(_text(HEADER, EVENTS[0]))


def test_a_missing_line_and_a_doubled_line_are_gaps() -> None:
    for lines in ([EVENTS[0], *EVENTS[2:]], [EVENTS[0], EVENTS[0], *EVENTS[1:]]):
        error = _refusal(_text(HEADER, *lines))
        assert (error.code, error.line) == ("JSONL_GAP", 3)


def test_a_gap_after_the_last_turn_end_is_a_torn_tail() -> None:
    whole = _text(HEADER, *EVENTS)
    log = loads(whole + _text(_value("1", seq=7), _value("1", seq=4)))
    assert log.to_jsonl() == whole
    assert [finding.line for finding in log.findings] == [6]


def test_the_longest_valid_prefix_after_the_last_turn_end_is_kept() -> None:
    whole = _text(HEADER, *EVENTS, _value("1", seq=4), _value("2", seq=5))
    log = loads(whole + b'{"type":"plug')
    assert log.seq == 6
    assert log.to_jsonl() == whole
    (finding,) = log.findings
    assert (finding.line, finding.offset) == (8, len(whole))


def test_a_line_that_only_mentions_a_turn_end_is_none() -> None:
    whole = _text(HEADER, *EVENTS)
    text = whole + _text("garbage", _value('"turn/end"', seq=4), '{"type":"x","of":"turn/end"}')
    assert loads(text).to_jsonl() == whole
    error = _refusal(whole + _text("garbage", '{"type":"turn/end","seq":9}'))
    assert (error.code, error.line) == ("JSONL_CORRUPT", 6)


def test_an_event_that_no_log_may_hold_is_no_torn_tail() -> None:
    line = json.dumps({**wire_event("assistant/message", 4, data={"turn": 1, "step": 1, "content": []})})
    error = _refusal(_text(HEADER, *EVENTS, line))
    assert (error.code, error.line) == ("MISSING_ROUTE", 6)


@pytest.mark.parametrize("cut", range(len(_text(HEADER, *EVENTS)) + 1))
def test_a_log_that_is_cut_anywhere_gives_its_whole_lines(cut: int) -> None:
    whole = _text(HEADER, *EVENTS)
    text = whole[:cut]
    lines = text.count(b"\n")
    if not lines:
        error = _refusal(text)
        assert (error.code, error.line) == ("JSONL_NO_HEADER", 1)
        return
    log = loads(text)
    kept = b"".join(line for line in text.splitlines(keepends=True) if line.endswith(b"\n"))
    assert log.seq == lines - 1
    assert log.to_jsonl() == kept
    assert len(log.findings) == (0 if text == kept else 1)
    assert all((finding.line, finding.offset) == (lines + 1, len(kept)) for finding in log.findings)


# ------------------------------------------------------------------------------------------------------ the header

BAD_HEADERS: dict[str, tuple[str | bytes, str]] = {
    "an empty line": ("", ""),
    "no version": ('{"type":"session","id":"a","createdAt":1}', "version"),
    "another version": ('{"type":"session","version":1,"id":"a","createdAt":1}', "version"),
    "a version in quotes": ('{"type":"session","version":"0","id":"a","createdAt":1}', "version"),
    "a version that is false": ('{"type":"session","version":false,"id":"a","createdAt":1}', "version"),
    "no id": ('{"type":"session","version":0,"createdAt":1}', "id"),
    "an id that is a number": ('{"type":"session","version":0,"id":1,"createdAt":1}', "id"),
    "no creation time": ('{"type":"session","version":0,"id":"a"}', "createdAt"),
    "a creation time in quotes": ('{"type":"session","version":0,"id":"a","createdAt":"1"}', "createdAt"),
    "a cwd that is a number": ('{"type":"session","version":0,"id":"a","createdAt":1,"cwd":7}', "cwd"),
    "a null cwd": ('{"type":"session","version":0,"id":"a","createdAt":1,"cwd":null}', "cwd"),
    "a parent that is a number": (
        '{"type":"session","version":0,"id":"a","createdAt":1,"parentSession":7}',
        "parentSession",
    ),
    "a negative seed length": ('{"type":"session","version":0,"id":"a","createdAt":1,"seedLength":-1}', "seedLength"),
    "another type": ('{"type":"Session","version":0,"id":"a","createdAt":1}', "session"),
    "no type": ('{"version":0,"id":"a","createdAt":1}', "session"),
    "null": ("null", ""),
    "a list": ("[]", ""),
    "an event": (EVENTS[0], "session"),
    "garbage": ("garbage", "column 1"),
    "minus zero": ('{"type":"session","version":-0,"id":"a","createdAt":1}', "column 29"),
    "an overflow": ('{"type":"session","version":0,"id":"a","createdAt":1e400}', ""),
    "NaN": ('{"type":"session","version":0,"id":"a","createdAt":NaN}', ""),
    "a stray byte": (b'{"type":"session","version":0,"id":"\xff","createdAt":1}', "column 37"),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_first_line_that_is_no_header_is_refused(name: str) -> None:
    line, named = BAD_HEADERS[name]
    error = _refusal(_text(line, *EVENTS))
    assert (error.code, error.line) == ("JSONL_BAD_HEADER", 1)
    assert "line 1" in str(error)
    assert named in str(error)


def test_an_empty_file_has_no_header() -> None:
    assert (_refusal(b"").code, _refusal(b"\xef\xbb\xbf").code) == ("JSONL_NO_HEADER", "JSONL_NO_HEADER")
    assert _refusal(HEADER.encode()).code == "JSONL_NO_HEADER"


@pytest.mark.parametrize(
    "extra",
    [
        '"x":{"deep":[1,2]}',
        '"delegationDepth":0',
        '"cut":"\\ud83d"',
        '"seedLength":2.0',
        '"parentSession":""',
        '"cwd":"/é"',
        '"big":12345678901234567890',
        '"a":1,"a":2',
    ],
)
def test_a_header_with_more_in_it_loads_and_stays_as_it_was_written(extra: str) -> None:
    text = _text(HEADER[:-1] + "," + extra + "}", *EVENTS)
    log = loads(text)
    assert log.to_jsonl() == text
    assert list(log.findings) == []
    wire = json.loads(text.split(b"\n")[0])
    del wire["type"]
    assert log.header.to_dict() == wire


@pytest.mark.parametrize("cwd", ["{{cwd}}", "", "rel/ative", "C:\\\\x"])
def test_a_relative_cwd_is_kept_and_reported(cwd: str) -> None:
    text = _text(f'{HEADER[:-1]},"cwd":"{cwd}"}}', *EVENTS)
    log = loads(text)
    assert log.header.cwd == json.loads(f'"{cwd}"')
    assert log.to_jsonl() == text
    (finding,) = log.findings
    assert (finding.code, finding.line) == ("HEADER_CWD_RELATIVE", 1)


def test_findings_stand_in_the_order_of_their_lines() -> None:
    text = b"\xef\xbb\xbf" + _text(HEADER[:-1] + ',"cwd":"rel"}', *EVENTS) + b"torn"
    lines = [finding.line for finding in loads(text).findings]
    assert lines == [1, 1, 6]


# ----------------------------------------------------------------------------------------------------------- files


def test_a_file_is_named_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "odd name é.jsonl"
    path.write_bytes(_with("garbage"))
    for given_path in (path, str(path)):
        with pytest.raises(SessionError) as caught:
            load(given_path)
        error = caught.value
        assert (error.code, error.line, error.column) == ("JSONL_CORRUPT", 3, 1)
        for part in (str(path), "line 3", "column 1"):
            assert part in str(error)


def test_loading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    text = _text(HEADER, *EVENTS) + b'{"type":"turn/st'
    path.write_bytes(text)
    log = load(path)
    log.append("turn/start", payload("turn/start"))
    assert path.read_bytes() == text
    assert [entry.name for entry in tmp_path.iterdir()] == ["torn.jsonl"]


def test_a_file_that_is_not_there_is_an_os_error_and_a_folder_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.jsonl")
    with pytest.raises(SessionError, match=tmp_path.name) as refusal:
        load(tmp_path)
    assert refusal.value.code == "IMPORT_FOLDER"


def test_a_loaded_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(conversation().to_jsonl())
    log = load(path)
    event = log.append("user/message", payload("user/message", "more"), surface_op="append", source_event_seqs=[0])
    assert event.seq == 7
    assert log.to_jsonl() == path.read_bytes() + event.to_json().encode() + b"\n"
    assert_agrees(log)


# ---------------------------------------------------------------------------------------------------- hostile bytes

_REPLACED = _text(
    HEADER,
    *EVENTS[:3],
    '{"type":"user/message","seq":3,"time":4,"data":{"content":[{"type":"text","text":"\\ud83d 🙂"}],"source":{"kind":"plugin","plugin":"compact"}},"sourceEventSeqs":[1,2],"surfaceOp":{"op":"replace","start":1,"end":1}}',
    EVENTS[3].replace('"seq":3', '"seq":4'),
    _value('{"n":[1,-2.5e3,true,null]}', seq=5),
)

_EDITS = st.lists(
    st.tuples(
        st.integers(0, len(_REPLACED)),
        st.integers(0, 6),
        st.sampled_from(
            [
                b"",
                b"\n",
                b"\r",
                b"\0",
                b"-0",
                b"NaN",
                b"1e400",
                b"\xff",
                b"\xef\xbb\xbf",
                b"\\ud83d",
                b'"',
                b"{",
                b"}",
                b"[",
                b",",
                b"null",
                b"true",
                b"9",
                b".",
            ]
        )
        | st.binary(max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@given(_EDITS)
def test_a_damaged_log_is_refused_by_an_error_of_ours_or_loads_as_it_is(edits: list[tuple[int, int, bytes]]) -> None:
    text = _REPLACED
    for at, length, insert in edits:
        text = text[:at] + insert + text[at + length :]
    try:
        log = loads(text)
    except SessionError as error:
        assert isinstance(error.line, int)
        assert 1 <= error.line <= text.count(b"\n") + 1
        assert f"line {error.line}" in str(error)
        return
    body = text.removeprefix(b"\xef\xbb\xbf")
    written = log.to_jsonl()
    assert body.startswith(written)
    assert (len(written) < len(body)) == any(finding.line != 1 for finding in log.findings)
    for event in log.events:
        assert event.to_dict()["seq"] == event.seq
        assert not (isinstance(event.data, float) and (math.isnan(event.data) or math.isinf(event.data)))
    assert_agrees(Session(log.id, seed=log.events))
