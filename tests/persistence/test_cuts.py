"""A real log, cut at every byte and damaged at every byte."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dsh_session import Context, Session, SessionError, interrupted_turn_closers, load, loads
from dsh_session.core.lossless import encode
from dsh_session.persistence import JsonlPersistence, resume
from dsh_session.persistence.naming import log_path

from .talk import QuickDisk

LOGS = Path(__file__).parent.parent / "data" / "logs" / "dsh-v0"
SMALL, LARGE = LOGS / "cancel.jsonl", LOGS / "multi-turn.jsonl"


class Place:
    """A root with one log in it, which may be anything."""

    def __init__(self, root: Path, real: Path) -> None:
        header = load(real).header
        self.id = header.id
        self.path = log_path(root, header.id, header.cwd)
        self.path.parent.mkdir(parents=True)
        self.store = JsonlPersistence(root, disk=QuickDisk())

    def resumed(self) -> Session:
        """Resume the session and close the context again."""
        with Context() as ctx:
            ctx.plugin(self.store)
            return resume(ctx, self.id)


def _with_closers(prefix: bytes) -> bytes:
    """What a repaired log holds, made without the code that repairs."""
    closers = interrupted_turn_closers(loads(prefix).events)
    return prefix + b"".join(encode(closer) + b"\n" for closer in closers)


def test_a_log_cut_at_any_byte_gives_its_whole_lines(tmp_path: Path, count: Callable[[str], None]) -> None:
    whole = LARGE.read_bytes()
    path = tmp_path / "cut.jsonl"
    refused = 0
    for cut in range(len(whole) + 1):
        text = whole[:cut]
        kept = text[: text.rfind(b"\n") + 1]
        if not kept:
            with pytest.raises(SessionError) as caught:
                loads(text)
            assert (caught.value.code, caught.value.line) == ("JSONL_NO_HEADER", 1)
            refused += 1
            continue
        session = loads(text)
        assert session.to_jsonl() == kept
        torn = [finding for finding in session.findings if finding.code == "TORN_TAIL"]
        expected = [] if kept == text else [(kept.count(b"\n") + 1, len(kept))]
        assert [(finding.line, finding.offset) for finding in torn] == expected
        if cut % 16 == 0:
            path.write_bytes(text)
            assert load(path).to_jsonl() == kept
            assert path.read_bytes() == text
    count(
        f"{LARGE.name}: {len(whole) + 1:,} cuts loaded, {refused} of them within the header and refused, 0 events lost"
    )


@pytest.mark.parametrize(("real", "stride"), [(SMALL, 1), (LARGE, 37)], ids=["small", "large"])
def test_a_log_cut_at_any_byte_is_resumed_and_goes_on(
    tmp_path: Path, real: Path, stride: int, count: Callable[[str], None]
) -> None:
    whole = real.read_bytes()
    place = Place(tmp_path / "root", real)
    header = whole.index(b"\n") + 1
    cuts = range(header, len(whole) + 1, stride)
    for cut in cuts:
        text = whole[:cut]
        place.path.write_bytes(text)
        session = place.resumed()
        repaired = _with_closers(text[: text.rfind(b"\n") + 1])
        assert place.path.read_bytes() == repaired == session.to_jsonl()
        assert [name.name for name in place.path.parent.iterdir()] == [place.path.name]
        assert interrupted_turn_closers(load(place.path).events) == []
    count(f"{real.name}: {len(cuts):,} cuts resumed, each repaired durably and loadable again")


def test_a_log_damaged_at_any_byte_is_refused_and_never_changed_where_a_turn_ended_later(
    tmp_path: Path, count: Callable[[str], None]
) -> None:
    whole = LARGE.read_bytes()
    lines = whole.split(b"\n")[:-1]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    last_end = max(at for at, line in enumerate(lines) if line.startswith(b'{"type":"turn/end"'))
    place = Place(tmp_path / "root", LARGE)
    refused = cut = resumed = 0
    for number, line in enumerate(lines):
        for at in range(len(line) + 1):  # its line break too
            position = starts[number] + at
            text = whole[:position] + b"\0" + whole[position + 1 :]
            # A line break that is gone takes the next line with it.
            if number and last_end <= number + (at == len(line)):
                session = loads(text)
                assert session.to_jsonl() == whole[: starts[number]]
                assert [(f.line, f.offset) for f in session.findings] == [(number + 1, starts[number])]
                cut += 1
                continue
            with pytest.raises(SessionError) as caught:
                loads(text)
            code = "JSONL_CORRUPT" if number else "JSONL_BAD_HEADER"
            assert (caught.value.code, caught.value.line, caught.value.offset) == (code, number + 1, starts[number])
            refused += 1
            if at % 29 == 0:
                place.path.write_bytes(text)
                with pytest.raises(SessionError) as caught:
                    place.resumed()
                assert caught.value.code == code
                assert place.path.read_bytes() == text
                resumed += 1
    assert (refused > 1_000, cut > 50) == (True, True)
    count(
        f"{LARGE.name}: damaged at {len(whole):,} bytes: {refused:,} refused with line and offset, {cut:,} left out as"
        f" a torn tail; {resumed:,} resumes refused; no file changed"
    )


def test_a_file_that_is_damaged_before_its_last_turn_end_stays_as_it_is_for_every_way_of_writing(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path / "root", LARGE)
    lines = LARGE.read_bytes().split(b"\n")
    damaged = b"\n".join([*lines[:3], b'{"torn', *lines[3:]])
    place.path.write_bytes(damaged)
    whole = load(LARGE)
    for attempt in (
        place.resumed,
        lambda: place.store.append(place.id, whole.events),
        lambda: place.store.claim(place.id),
        lambda: place.store.save(whole),
        lambda: place.store.create(whole.header, whole.events),
    ):
        with pytest.raises(SessionError) as caught:
            attempt()
        assert caught.value.code in {"JSONL_CORRUPT", "SESSION_STORED"}
        assert place.path.read_bytes() == damaged
    assert [name.name for name in place.path.parent.iterdir()] == [place.path.name]
    shutil.copy(LARGE, place.path)  # repaired by hand
    assert place.resumed().to_jsonl() == LARGE.read_bytes()


@pytest.mark.parametrize(
    "spelt",
    ['{"type":"turn\\/end","seq":99}', '{"seq":1,"x":"\\ud83d","type":"turn\\u002fend"}', '{"type":"turn/end","x":-0}'],
)
def test_a_turn_end_counts_however_it_is_spelt(spelt: str) -> None:
    text = LARGE.read_bytes() + b"garbage\n" + spelt.encode() + b"\n"
    with pytest.raises(SessionError, match="a turn/end follows") as caught:
        loads(text)
    assert caught.value.code == "JSONL_CORRUPT"
