"""Lines and documents of any file: what can be read is read, the rest is a finding."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dsh_session.importers.book import Book
from dsh_session.importers.reading import Line, decode, document, lines
from dsh_session.importers.salvage import salvage
from dsh_session.importers.tolerant import loads_each, loads_tolerantly

A, B = b'{"a":1}', b'{"b":2}'


def read(data: bytes) -> tuple[list[tuple[int, bytes]], Book]:
    book = Book("log")
    return [(line.number, line.raw) for line in lines(data, book)], book


def codes(book: Book) -> list[str]:
    return [finding.code for finding in book.findings]


# ------------------------------------------------------------------------------------------------------------- lines


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_are_numbered_as_an_editor_would_and_blank_ones_left_out(end: bytes) -> None:
    found, book = read(end.join([A, b"", b"  ", B, b""]))
    assert found == [(1, A), (4, B)]
    assert codes(book) == []


def test_offsets_are_where_a_line_begins() -> None:
    data = A + b"\n\n" + B + b"\n"
    assert [data[line.offset :][:7] for line in lines(data, Book())] == [A, B]


def test_the_last_line_needs_no_line_break() -> None:
    assert read(A + b"\n" + B)[0] == [(1, A), (2, B)]


def test_a_byte_order_mark_is_left_out_and_told() -> None:
    found, book = read(b"\xef\xbb\xbf" + A + b"\n")
    assert found == [(1, A)]
    assert codes(book) == ["BYTE_ORDER_MARK"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_as_such(encoding: str) -> None:
    mark = b"\xff\xfe" if encoding.endswith("le") else b"\xfe\xff"
    found, book = read(mark + '{"a":"ä"}\n{"b":2}\n'.encode(encoding))
    assert found == [(1, '{"a":"ä"}'.encode()), (2, B)]
    assert codes(book) == ["UTF_16"]


def test_compressed_lines_are_decompressed_and_a_torn_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    frames = zstandard.compress(A + b"\n") + zstandard.compress(B * 1000 + b"\n")
    path.write_bytes(frames)
    assert [line.raw for line in lines(path, Book())] == [A, B * 1000]
    path.write_bytes(frames[:-3])
    book = Book()
    assert next(iter(list(lines(path, book)))).raw == A
    assert codes(book) == ["TORN_TAIL"]


def test_damage_before_another_frame_ends_the_reading_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    frame = zstandard.compress(B + b"\n")
    path.write_bytes(zstandard.compress(A + b"\n") + frame[:6] + b"\xff" * 20 + zstandard.compress(A + b"\n"))
    book = Book()
    assert [line.raw for line in lines(path, book)] == [A]
    assert codes(book) == ["DAMAGED_SOURCE"]


def test_an_array_in_one_line_is_its_elements() -> None:
    found, book = read(b'[{"a": 1}, {"b": 2}]')
    assert found == [(1, A), (1, B)]
    assert codes(book) == []
    assert read(b"[1, 2]")[0] == [(1, b"[1, 2]")]
    assert read(b"[1]\n[2]\n")[0] == [(1, b"[1]"), (2, b"[2]")]


def test_a_pretty_printed_array_is_its_elements() -> None:
    found, book = read(json.dumps([{"a": 1}, {"b": 2}], indent=2).encode())
    assert found == [(1, A), (1, B)]
    assert codes(book) == ["PRETTY_PRINTED"]
    assert book.spans == {"log": [(1, 8)]}


def test_pretty_printed_values_one_after_the_other_are_one_each() -> None:
    text = b"\n" + b"\n\n".join(json.dumps(value, indent=1).encode() for value in ({"a": 1}, {"b": [1, 2]})) + b"\n"
    found, book = read(text)
    assert found == [(2, A), (6, b'{"b":[1,2]}')]
    assert book.spans == {"log": [(2, 4), (6, 11)]}


def test_of_a_pretty_printed_value_that_is_cut_off_the_beginning_is_read() -> None:
    found, book = read(json.dumps({"a": 1, "b": [1, 2, 3]}, indent=1).encode()[:-9])
    assert found == [(1, b'{"a":1,"b":[1,2]}')]
    assert codes(book) == ["PRETTY_PRINTED", "CUT_DOCUMENT"]


def test_a_broken_first_line_is_no_pretty_printing() -> None:
    found, book = read(b'{"a": \n' + A + b"\n" + B)
    assert [number for number, _ in found] == [1, 2, 3]
    assert codes(book) == []


@given(st.binary(max_size=400))
def test_any_bytes_give_lines_that_were_there(data: bytes) -> None:
    book = Book("log")
    for line in lines(data, book):
        decode(line, book)
    for line in lines(b"{\n" + data, book):
        decode(line, book)
    document(data, book)


# ------------------------------------------------------------------------------------------------------------ decode


@pytest.mark.parametrize(
    ("raw", "value", "code"),
    [
        (b'{"a":1}', {"a": 1}, None),
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}, None),
        (b'{"a":1,"a":2}', {"a": 2}, None),
        (b'{"a":123456789012345678901}', {"a": 123456789012345678901}, None),
        (b'{"a":NaN,"b":-Infinity}', {"a": "NaN", "b": "-Infinity"}, "REPAIRED"),
        (b'{"a":1e999}', {"a": "1e999"}, "REPAIRED"),
        (b'{"a":' + b"9" * 400 + b"}", {"a": "9" * 400}, None),
        (b'{"a":"x\x01y"}', {"a": "x\x01y"}, "REPAIRED"),
        (b'{"a":"\xff"}', {"a": "\ufffd"}, "REPAIRED"),
        (b"nonsense", None, "BAD_LINE"),
        (b'{"a":', None, "BAD_LINE"),
        (b"[" * 5000, None, "BAD_LINE"),
        (b"null", None, "BAD_LINE"),
    ],
)
def test_a_line_is_decoded_whatever_it_holds(raw: bytes, value: Any, code: str | None) -> None:
    book = Book("log")
    got = decode(Line(7, 70, raw), book)
    if raw.count(b"9") == 400:
        assert isinstance(got["a"], (int, str))
    else:
        assert got == value
    if code is not None:
        assert [(finding.code, finding.line, finding.offset) for finding in book.findings] == [(code, 7, 70)]
        assert len(book.findings[0].message) < 400


# ---------------------------------------------------------------------------------------------------------- document


def test_a_document_is_read_whole_and_of_a_cut_one_the_beginning() -> None:
    whole = {"trajectory": [{"action": "ls"}, {"action": "cat"}], "info": {}}
    text = json.dumps(whole, indent=1).encode()
    book = Book()
    assert document(text, book) == whole
    assert codes(book) == []
    assert document(text[:40], book) == {"trajectory": [{"action": "ls"}]}
    assert document(b"nothing", book) is None
    assert document(b" ", book) is None
    assert codes(book) == ["CUT_DOCUMENT", "BAD_DOCUMENT", "BAD_DOCUMENT"]


@given(st.data())
def test_whatever_is_cut_off_a_document_the_rest_is_a_beginning_of_it(data: st.DataObject) -> None:
    value = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=12,
        ).filter(lambda value: isinstance(value, (list, dict)))
    )
    text = json.dumps(value)
    saved = salvage(text[: data.draw(st.integers(1, len(text)))])
    assert saved is not None
    assert begins(saved[0], value)
    whole = salvage(text)
    assert whole == (value, len(text))


def begins(part: Any, whole: Any) -> bool:
    if isinstance(part, list) and isinstance(whole, list):
        pairs = zip(part, whole, strict=False)
        return len(part) <= len(whole) and all(
            mine == theirs or (at == len(part) - 1 and begins(mine, theirs)) for at, (mine, theirs) in enumerate(pairs)
        )
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and (part[key] == whole[key] or begins(part[key], whole[key])) for key in part)
    return bool(part == whole)


def test_values_one_after_the_other_are_told_with_their_places() -> None:
    text = ' {"a": 1}\n[2] , 3 nonsense'
    values, end = loads_each(text)
    assert [value for value, _, _ in values] == [{"a": 1}, [2], 3]
    assert [text[start:stop] for _, start, stop in values] == ['{"a": 1}', "[2]", "3"]
    assert text[end:] == "nonsense"


def test_what_was_repaired_is_told() -> None:
    assert loads_tolerantly('[Infinity, "a\tb"]') == (
        ["Infinity", "a\tb"],
        ["the number Infinity is kept as text", "control characters in a string are kept"],
    )
