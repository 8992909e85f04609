"""Compressed logs: several frames, the last one torn, and worse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dsh_session import SessionError, load
from dsh_session.core.source import DamagedSourceError, TornSourceError
from dsh_session.persistence.zstd import decompress

from .talk import bare

WHOLE = bare("s", 30).to_jsonl()
LINES = WHOLE.splitlines(keepends=True)


def _frames(*texts: bytes, checksum: bool = True) -> list[bytes]:
    compressor = zstandard.ZstdCompressor(write_checksum=checksum)
    return [compressor.compress(text) for text in texts]


def _decoded(data: bytes, size: int) -> tuple[bytes, str]:
    """The text, and how it ended."""
    parts: list[bytes] = []
    try:
        parts.extend(decompress(data[at : at + size] for at in range(0, len(data), size)))
    except TornSourceError:
        return b"".join(parts), "torn"
    except DamagedSourceError:
        return b"".join(parts), "damaged"
    return b"".join(parts), "whole"


@pytest.mark.parametrize("size", [1, 3, 1_024, 1_000_000])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_any_number_of_frames_is_one_text(count: int, size: int) -> None:
    frames = _frames(*(b"frame %d\n" % number * 100 for number in range(count)))
    assert _decoded(b"".join(frames), size) == (
        b"".join(b"frame %d\n" % number * 100 for number in range(count)),
        "whole",
    )


def test_an_empty_frame_and_a_skippable_one_are_no_end() -> None:
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"skip"
    first, empty, last = _frames(b"a\n", b"", b"b\n")
    text, end = _decoded(first + empty + skippable + last, 7)
    assert (text, end) == (b"a\nb\n", "whole")


@pytest.mark.parametrize("name", ["s.jsonl.zstd", "any name"])
def test_a_compressed_log_loads_like_the_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"".join(_frames(LINES[0], *(b"".join(LINES[at : at + 13]) for at in range(1, len(LINES), 13)))))
    session = load(path)
    assert session.to_jsonl() == WHOLE
    assert session.findings == []


def test_a_torn_last_frame_gives_the_whole_lines_before_it(tmp_path: Path, count: Callable[[str], None]) -> None:
    frames = _frames(LINES[0], b"".join(LINES[1:90]), b"".join(LINES[90:]))
    data = b"".join(frames)
    safe = b"".join(LINES[:90])
    path = tmp_path / "s.jsonl.zstd"
    start = len(data) - len(frames[-1])
    for cut in range(start + 1, len(data)):
        path.write_bytes(data[:cut])
        session = load(path)
        kept = session.to_jsonl()
        assert kept.startswith(safe)
        assert WHOLE.startswith(kept)
        assert kept.endswith(b"\n")
        (finding,) = session.findings
        assert finding.code == "TORN_TAIL"
        assert "frame 3" in finding.message
    path.write_bytes(data[:start])
    assert load(path).to_jsonl() == safe
    count(f"a compressed log: {len(data) - start - 1} cuts within its last frame, every whole line before it kept")


def test_a_frame_that_is_cut_in_the_header_leaves_no_header(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(_frames(WHOLE)[0][:12])
    with pytest.raises(SessionError) as caught:
        load(path)
    assert caught.value.code == "JSONL_NO_HEADER"


@pytest.mark.parametrize("tail", [b"\0" * 100, b"garbage", b"\x28\xb5", b"\xff" * 5_000])
def test_what_follows_the_last_frame_and_is_none_is_a_torn_tail(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(b"".join(_frames(*LINES[:1], b"".join(LINES[1:]))) + tail)
    session = load(path)
    assert session.to_jsonl() == WHOLE
    assert [finding.code for finding in session.findings] == ["TORN_TAIL"]


def test_damage_that_more_frames_follow_is_an_error_with_its_line(tmp_path: Path) -> None:
    frames = _frames(LINES[0], b"".join(LINES[1:50]), b"".join(LINES[50:100]), b"".join(LINES[100:]))
    damaged = bytearray(frames[2])
    damaged[len(damaged) // 2] ^= 0xFF
    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(frames[0] + frames[1] + damaged + frames[3])
    with pytest.raises(SessionError, match="compressed frame 3 is damaged") as caught:
        load(path)
    error = caught.value
    assert error.code == "JSONL_CORRUPT"
    assert error.line is not None
    assert 51 <= error.line <= 101
    path.write_bytes(bytes(frames[0]) + frames[1] + damaged)
    session = load(path)
    assert session.seq >= 49
    assert [finding.code for finding in session.findings] == ["TORN_TAIL"]


def test_damage_in_the_first_frame_is_an_error(tmp_path: Path) -> None:
    first, second = _frames(LINES[0], b"".join(LINES[1:]))
    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(first[:9] + b"\xff\xff\xff" + first[12:] + second)
    with pytest.raises(SessionError) as caught:
        load(path)
    assert caught.value.code in {"JSONL_CORRUPT", "JSONL_NO_HEADER"}


def test_lines_that_are_damaged_within_frames_are_judged_like_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(b"".join(_frames(b"".join(LINES[:4]), b"garbage\n", b"".join(LINES[4:]))))
    with pytest.raises(SessionError) as caught:
        load(path)
    assert (caught.value.code, caught.value.line, caught.value.offset) == (
        "JSONL_CORRUPT",
        5,
        len(b"".join(LINES[:4])),
    )


def test_a_hostile_frame_is_decoded_a_bite_at_a_time() -> None:
    data = zstandard.ZstdCompressor(level=19).compress(bytes(200_000_000))
    assert len(data) < 20_000
    largest = total = 0
    for part in decompress([data]):
        largest, total = max(largest, len(part)), total + len(part)
    assert total == 200_000_000
    assert largest <= 40_000_000


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    path = tmp_path / "s.jsonl.zstd"
    path.write_bytes(_frames(WHOLE)[0])
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(SessionError, match="pip install zstandard") as caught:
        load(path)
    assert caught.value.code == "COMPRESSED_LOG"


def test_logs_of_a_megabyte_a_frame_load(tmp_path: Path) -> None:
    whole = bare("s", 400)
    path = tmp_path / "s.jsonl.zstd"
    text = whole.to_jsonl()
    frames: list[Any] = _frames(text[:100_000], text[100_000:])
    path.write_bytes(b"".join(frames))
    assert load(path).to_jsonl() == text
