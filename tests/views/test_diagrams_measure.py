from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsh_session.views.diagrams.measure import fit, width, wrap

LINES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=80)
SPACED = st.lists(st.text("abW你ש", min_size=1, max_size=30), max_size=12).map(" ".join)


def test_a_full_width_character_counts_an_em_a_mark_nothing_and_an_emoji_more() -> None:
    assert width("你好") == 2
    assert width("e\u0301") == width("e")
    assert width("😀") > 1
    assert width("i") < width("n") < width("W")
    assert width("") == 0


@given(LINES, LINES)
def test_widths_add_up(first: str, second: str) -> None:
    assert width(first + second) == pytest.approx(width(first) + width(second))


@given(LINES | SPACED, st.floats(2, 30))
def test_what_fits_is_no_wider_than_its_room_and_begins_like_the_whole(line: str, room: float) -> None:
    short = fit(line, room)
    assert width(short) <= room + 1e-9
    assert short == line or (short.endswith("…") and line.startswith(short[:-1]))
    if width(line) <= room:
        assert short == line


@given(LINES | SPACED, st.floats(3, 20), st.integers(1, 4))
def test_a_wrapped_text_keeps_to_its_room_and_loses_nothing_but_its_end(text: str, room: float, lines: int) -> None:
    wrapped = wrap(text, room, lines)
    assert len(wrapped) <= lines
    assert all(width(line) <= room + 1e-9 for line in wrapped)
    joined = "".join(wrapped).replace(" ", "")
    whole = text.replace(" ", "")
    assert joined == whole or whole.startswith(joined.removesuffix("…"))
    if not joined.endswith("…"):
        assert joined == whole


def test_lines_break_between_words_where_they_can_and_in_a_word_where_they_must() -> None:
    assert wrap("one two three", 5, 3) == ["one two", "three"]
    assert wrap("你" * 10, 4, 2) == ["你你你你", "你你你…"]
    assert wrap("", 5, 2) == []


def test_a_megabyte_is_measured_no_further_than_it_fits() -> None:
    assert fit("x" * 1_000_000, 10) == "x" * 15 + "…"
    assert len(wrap("x" * 1_000_000, 10, 2)) == 2
