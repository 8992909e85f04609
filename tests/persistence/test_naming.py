"""File names: any id has one, no two ids share one, and none leaves its folder."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session import SessionError
from dsh_session.persistence.naming import encode_segment, file_stem, folder_name, log_path

IDS = st.text(st.characters(), min_size=1, max_size=400) | st.text("aA./~:\\\0 é🙂\ud83d", min_size=1, max_size=80)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("session-1", "session-1"),
        ("A.b_C-9", "A.b_C-9"),
        ("../../etc/passwd", "..~002F..~002Fetc~002Fpasswd"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        ("~002E", "~007E002E"),
        ("é", "~00E9"),
        ("🙂", "~D83D~DE42"),
        ("\ud83d", "~D83D"),
        ("a\0b", "a~0000b"),
        ("C:\\x", "C~003A~005Cx"),
    ],
)
def test_what_is_no_plain_character_is_escaped_by_utf_16_units(identity: str, expected: str) -> None:
    assert encode_segment(identity) == expected


def test_an_empty_id_has_no_name() -> None:
    for named in (encode_segment, file_stem, lambda identity: log_path(Path("root"), identity)):
        with pytest.raises(SessionError) as caught:
            named("")
        assert caught.value.code == "EMPTY_SEGMENT"


@given(st.sets(IDS, min_size=2, max_size=20))
def test_different_ids_have_different_names_that_stay_in_their_folder(ids: set[str]) -> None:
    # Two escaped halves of a pair are one character wherever text is exchanged.
    ids = {each.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for each in ids}
    for windows in (False, True):
        stems = {file_stem(identity, windows=windows) for identity in ids}
        assert len(stems) == len(ids)
        for stem in stems:
            assert Path(stem).name == stem
            assert stem not in {".", ".."}
            assert stem.isascii()
            assert 0 < len(f"{stem}.jsonl.zstd") <= 255


def test_a_long_id_keeps_its_beginning_and_differs_from_any_other() -> None:
    stem = file_stem("x" * 300)
    assert stem.startswith("x" * 190)
    assert stem != file_stem("x" * 301)
    assert file_stem("x" * 240) == "x" * 240
    # What a shortened name looks like cannot be asked for: a tilde is escaped.
    assert file_stem(stem) != stem
    assert len(file_stem("é" * 100)) <= 240


@pytest.mark.parametrize("identity", ["CON", "con", "nul.txt", "COM1", "lpt9", "AUX."])
def test_names_that_windows_keeps_for_devices_are_escaped_there(identity: str) -> None:
    assert file_stem(identity, windows=False) == identity
    assert file_stem(identity, windows=True) == f"~00{ord(identity[0]):02X}{identity[1:]}"


@pytest.mark.parametrize("identity", ["CONSOLE", "com", "COM10", "nulx", "a.con"])
def test_names_that_only_look_like_devices_stay(identity: str) -> None:
    assert file_stem(identity, windows=True) == identity


def test_a_folder_is_named_by_the_hash_of_its_working_directory() -> None:
    assert folder_name(None) == "_no-cwd"
    for cwd in ("/home/user/project", "/é", "", "{{cwd}}", "/x/"):
        assert folder_name(cwd) == f"cwd-{hashlib.sha256(cwd.encode()).hexdigest()[:12]}"
    assert folder_name("/\ud83d") == folder_name("/\ufffd")
    assert folder_name("/\ud83d\ude42") == folder_name("/🙂")


def test_a_log_has_the_originals_path() -> None:
    assert log_path(Path("root"), "a/b", "/x").as_posix() == f"root/{folder_name('/x')}/a~002Fb.jsonl"
