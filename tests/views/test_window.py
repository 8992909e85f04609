from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsh_session.views.window import Gap, choose

SIZES = st.integers(0, 12)


def positions(parts: list[int | Gap]) -> list[int]:
    return [at for part in parts for at in (range(*part) if isinstance(part, Gap) else [part])]


@given(st.integers(0, 40), SIZES, SIZES, st.none() | st.integers(0, 39), SIZES)
def test_what_is_shown_and_what_is_left_out_is_everything_once(
    count: int, first: int, last: int, around: int | None, span: int
) -> None:
    around = None if around is None or around >= count else around
    parts = choose(count, first=first, last=last, around=around, span=span)
    assert positions(parts) == list(range(count))
    gaps = [part for part in parts if isinstance(part, Gap)]
    assert all(gap.stop - gap.start >= 2 for gap in gaps)
    shown = set(parts) - set(gaps)
    assert set(range(min(first, count))) <= shown
    assert set(range(max(count - last, 0), count)) <= shown
    if around is not None:
        assert set(range(max(around - span, 0), min(around + span + 1, count))) <= shown


def test_a_gap_of_one_is_shown_instead() -> None:
    assert choose(4, first=1, last=2) == [0, 1, 2, 3]
    assert choose(5, first=1, last=2) == [0, Gap(1, 3), 3, 4]
    assert choose(1, first=0, last=0) == [0]
    assert choose(2, first=0, last=0) == [Gap(0, 2)]


def test_windows_that_overlap_or_touch_leave_no_gap() -> None:
    assert choose(6, first=4, last=4) == [0, 1, 2, 3, 4, 5]
    assert choose(9, first=2, last=2, around=4, span=2) == list(range(9))


def test_a_window_of_a_very_long_list_costs_what_it_shows() -> None:
    assert choose(10**12, first=1, last=1) == [0, Gap(1, 10**12 - 1), 10**12 - 1]


@given(st.integers(0, 40), SIZES, SIZES, st.sets(st.integers(0, 39), max_size=6))
def test_further_positions_are_shown_wherever_they_are(count: int, first: int, last: int, also: set[int]) -> None:
    there = {at for at in also if at < count}
    parts = choose(count, first=first, last=last, also=there)
    assert positions(parts) == list(range(count))
    assert there <= set(parts)
