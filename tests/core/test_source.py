"""Reading files piece by piece, and what the public page adds to it."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dsh_session import SessionError, load, loads
from dsh_session.core import source
from dsh_session.core.jsonl import Lines, first_line
from dsh_session.core.source import CHUNK, is_compressed, read_pieces

HEADER = b'{"type":"session","version":0,"id":"s","createdAt":5}\n'


def _log(size: int) -> bytes:
    """A log of about so many bytes in lines of very different lengths."""
    lines, total, seq = [HEADER], len(HEADER), 0
    while total < size:
        words = "é" * (1 if seq % 3 else 70_000)
        line = f'{{"type":"plugin/x","seq":{seq},"time":1,"data":"{words}"}}\n'.encode()
        lines.append(line)
        total, seq = total + len(line), seq + 1
    return b"".join(lines)


def test_a_large_file_is_the_same_as_its_bytes(tmp_path: Path) -> None:
    text = _log(3 * CHUNK)
    path = tmp_path / "log.jsonl"
    path.write_bytes(text)
    assert b"".join(read_pieces(path)) == text
    assert load(path).to_jsonl() == loads(text).to_jsonl() == text


@pytest.mark.parametrize("size", [1, 2, 3, 50, 1_000, CHUNK])
def test_lines_are_the_same_however_the_text_is_cut(size: int) -> None:
    text = _log(400)[:1_500] + b"\n\n\xff\n" + b"tail"
    lines = Lines(text[at : at + size] for at in range(0, len(text), size))
    found: list[tuple[int, bytes]] = []
    for batch in lines.batches():
        offset = lines.offset
        for line in batch:
            found.append((offset, line))
            offset += len(line) + 1
    assert [line for _, line in found] == text.split(b"\n")[:-1]
    assert all(text[offset : offset + len(line)] == line for offset, line in found)
    assert (lines.tail, lines.offset, lines.torn) == (b"tail", len(text) - 4, None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = _log(200_000)
    writer = threading.Thread(target=path.write_bytes, args=(text,))
    writer.start()
    assert load(path).to_jsonl() == text
    writer.join()


def test_the_first_line_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for content, line in (
        (HEADER + b"rest", HEADER[:-1]),
        (b"", b""),
        (b"no end", b"no end"),
        (b"\xef\xbb\xbfx\n", b"x"),
    ):
        path.write_bytes(content)
        assert first_line(path) == line
    path.write_bytes(b"x" * (30 * CHUNK))
    assert len(first_line(path)) <= 17 * CHUNK


def test_a_compressed_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for content, answer in ((b"\x28\xb5\x2f\xfd...", True), (b"\x28\xb5", False), (b"", False), (HEADER, False)):
        path.write_bytes(content)
        assert is_compressed(path) is answer


def test_without_a_library_the_core_says_that_a_file_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\x28\xb5\x2f\xfd...")
    monkeypatch.setattr(source, "_slots", {})
    with pytest.raises(SessionError) as caught:
        load(path)
    assert caught.value.code == "COMPRESSED_LOG"


def test_a_large_file_tells_how_far_it_is_and_a_small_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    @contextmanager
    def meter(what: str, size: int) -> Iterator[Any]:
        told.append((what, size))
        yield told.append
        told.append("done")

    monkeypatch.setitem(source._slots, "meter", meter)
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    small.write_bytes(_log(1_000))
    large.write_bytes(_log(17 * CHUNK))
    load(small)
    assert told == []
    load(large)
    size = large.stat().st_size
    assert (told[0], told[-1]) == (("reading large.jsonl", size), "done")
    assert sum(told[1:-1]) == size
    assert len(told) > 17
