"""What an importer gets to see of a file: its beginning, as far as it makes sense."""

import json
import os
from pathlib import Path

import pytest
import zstandard

from dsh_session.importers import import_log
from dsh_session.importers.detection import HEAD, Sample


def sample(folder: Path, data: bytes) -> Sample:
    path = folder / "x"
    path.write_bytes(data)
    return Sample.of(path)


def test_lines_are_decoded_up_to_twenty_and_broken_ones_passed_over(tmp_path: Path) -> None:
    found = sample(tmp_path, b"".join(b'{"n":%d}\nnonsense\n' % number for number in range(30)))
    assert [value["n"] for value in found.objects] == list(range(10))
    assert found.document is None


def test_one_document_is_told_from_lines(tmp_path: Path) -> None:
    for text in (json.dumps({"a": [1]}), json.dumps({"a": [1]}, indent=2)):
        found = sample(tmp_path, text.encode())
        assert (found.document, found.values) == ({"a": [1]}, ({"a": [1]},))
    found = sample(tmp_path, json.dumps([{"a": 1}] * 30, indent=2).encode())
    assert len(found.document) == 30
    assert found.values == ({"a": 1},) * 20


@pytest.mark.parametrize("indent", [None, 2])
def test_of_a_value_that_is_longer_than_the_head_there_is_the_beginning(tmp_path: Path, indent: int | None) -> None:
    value = {"type": "user", "inner": {"a": 1}, "data": "x" * HEAD}
    text = json.dumps(value, indent=indent).encode()
    for data in (text, text + b"\n" + text):
        found = sample(tmp_path, data)
        assert not found.is_whole
        assert found.objects[0] | {"data": ""} == {"type": "user", "inner": {"a": 1}, "data": ""}
        assert set(found.objects[0]["data"]) == {"x"}


@pytest.mark.parametrize("tail", ["\\n", "\\\\", '\\"', "\\u00e9", "\\ud83d\\ude00", "é"])
def test_wherever_a_text_is_cut_its_beginning_is_there(tmp_path: Path, tail: str) -> None:
    for shift in range(12):
        found = sample(tmp_path, ('{"role": "user", "content": "' + "x" * shift + tail * HEAD + '"}').encode())
        assert found.objects[0]["role"] == "user"
        assert len(found.objects[0]["content"]) > HEAD // 16


def test_further_than_the_head_is_looked_only_where_it_is_not_one_line_of_json(tmp_path: Path) -> None:
    long = b'{"content": "' + b"x" * HEAD + b'", "role": "user"}'
    found = sample(tmp_path, long)
    assert "role" not in found.objects[0]
    longer = found.longer()
    assert longer is not None
    assert (longer.is_whole, longer.objects[0]["role"]) == (True, "user")
    for other in (b"{}\n" * HEAD, b"x" * 2 * HEAD, b"{}", b""):
        assert sample(tmp_path, other).longer() is None


def test_values_that_are_spread_over_lines_are_values(tmp_path: Path) -> None:
    found = sample(tmp_path, "\n".join(json.dumps({"a": n}, indent=1) for n in range(3)).encode())
    assert [value["a"] for value in found.objects] == [0, 1, 2]
    assert found.document is None


def test_marks_and_compression_are_taken_off(tmp_path: Path) -> None:
    line = b'{"a":1}\n'
    for data in (b"\xef\xbb\xbf" + line, zstandard.compress(line), b"\xff\xfe" + line.decode().encode("utf-16-le")):
        found = sample(tmp_path, data)
        assert found.head == line
        assert found.values == ({"a": 1},)


def test_a_folder_tells_its_names_and_holds_no_values(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    found = Sample.of(tmp_path)
    assert (found.is_dir, found.names, found.values, found.head) == (True, ("a", "b"), (), b"")


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", bytes(range(256)) * 500, b"[" * HEAD, b'"', b'{"a":"', zstandard.compress(b"x")[:-2]]
)
def test_anything_is_looked_at_without_a_complaint(tmp_path: Path, data: bytes) -> None:
    found = sample(tmp_path, data)
    assert isinstance(found.values, tuple)
    assert found.objects in ((), ({},), ({"a": ""},))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # nobody writes to it: whoever opened it would wait
    with pytest.raises(OSError, match="only once"):
        Sample.of(pipe)
    with pytest.raises(OSError, match="only once"):
        import_log(pipe)
