from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dsh_session.views.diagrams.tree import Branch, Window, place, prune, size_of, walk

Tree = Branch[int]


@st.composite
def forests(draw: st.DrawFn) -> list[Tree]:
    """Each thing hangs from an earlier one or is a root; the things are numbered in that order."""
    roots: list[Tree] = []
    everything: list[Tree] = []
    for number in range(draw(st.integers(0, 60))):
        branch: Tree = Branch(number)
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        (roots if parent is None else everything[parent].children).append(branch)
        everything.append(branch)
    return roots


windows = st.builds(Window, rows=st.integers(4, 30), levels=st.integers(1, 5))


def outline(branches: list[Tree]) -> Any:
    return [
        (branch.item if branch.item is not None else -branch.left_out, outline(branch.children)) for branch in branches
    ]


def chain(length: int) -> Tree:
    root: Tree = Branch(0)
    at = root
    for number in range(1, length):
        at.children.append(Branch(number))
        at = at.children[0]
    return root


@settings(max_examples=40)
@given(forests())
def test_a_branch_is_as_large_as_all_that_hangs_from_it(roots: list[Tree]) -> None:
    sizes = size_of(roots)
    for branch in walk(roots):
        assert sizes[id(branch)] == len(list(walk([branch])))


@settings(max_examples=40)
@given(forests(), windows)
def test_what_is_shown_and_what_is_counted_are_everything(roots: list[Tree], window: Window) -> None:
    shown = list(walk(prune(roots, window)))
    total = sum(branch.left_out for branch in shown) + sum(branch.item is not None for branch in shown)
    assert total == len(list(walk(roots)))
    assert all((branch.item is None) == (branch.left_out > 0) for branch in shown)


@settings(max_examples=40)
@given(forests(), windows)
def test_a_window_is_kept(roots: list[Tree], window: Window) -> None:
    spots = place(prune(roots, window))
    leaves = [spot for spot in spots if not spot.branch.children]
    assert len(leaves) <= window.rows
    assert all(spot.level < window.levels for spot in spots if spot.branch.item is not None)
    assert all(spot.level <= window.levels for spot in spots)


@settings(max_examples=40)
@given(forests(), windows, st.data())
def test_what_must_be_seen_is_seen(roots: list[Tree], window: Window, data: st.DataObject) -> None:
    above: dict[int, Tree] = {id(child): branch for branch in walk(roots) for child in branch.children}
    everything = list(walk(roots))
    if not everything:
        return
    path = [data.draw(st.sampled_from(everything))]
    while id(path[-1]) in above:
        path.append(above[id(path[-1])])
    path.reverse()
    if len(path) > window.levels:
        return
    spots = place(prune(roots, window, path))
    assert path[-1].item in [spot.branch.item for spot in spots]
    # The way may take a row for itself and two for the words on either side of it, at each level.
    assert sum(not spot.branch.children for spot in spots) <= window.rows + 4 * len(path)


@settings(max_examples=40)
@given(forests(), windows)
def test_what_is_shown_hangs_where_it_hung(roots: list[Tree], window: Window) -> None:
    parents = {child.item: branch.item for branch in walk(roots) for child in branch.children}
    order = [branch.item for branch in walk(roots)]
    shown = prune(roots, window)
    for branch in walk(shown):
        for child in branch.children:
            assert child.item is None or parents[child.item] == branch.item
    seen = [branch.item for branch in walk(shown) if branch.item is not None]
    assert seen == sorted(seen, key=order.index)


@settings(max_examples=40)
@given(forests())
def test_a_window_that_is_large_enough_leaves_everything_as_it_is(roots: list[Tree]) -> None:
    assert outline(prune(roots, Window(rows=200, levels=61))) == outline(roots)


@settings(max_examples=40)
@given(forests())
def test_rows_are_taken_by_leaves_and_parents_stand_amid_their_children(roots: list[Tree]) -> None:
    spots = place(roots)
    assert [spot.branch.item for spot in spots] == [branch.item for branch in walk(roots)]
    leaves = [spot.row for spot in spots if not spot.branch.children]
    assert leaves == list(range(len(leaves)))
    for at, spot in enumerate(spots):
        below = [child.row for child in spots if child.parent == at]
        if below:
            assert spot.row == (below[0] + below[-1]) / 2
        if spot.parent is not None:
            assert spot.level == spots[spot.parent].level + 1
    for level in {spot.level for spot in spots}:
        rows = [spot.row for spot in spots if spot.level == level]
        assert all(second - first >= 1 for first, second in pairwise(rows)), "nothing overlaps"


def test_siblings_that_do_not_fit_are_counted_between_the_first_and_the_last() -> None:
    many: list[Tree] = [Branch(number) for number in range(100)]
    assert outline(prune(many, Window(rows=5, levels=3))) == [(0, []), (1, []), (2, []), (-96, []), (99, [])]
    below: Tree = Branch(0, many)
    assert outline(prune([below], Window(rows=4, levels=3))) == [(0, [(0, []), (1, []), (-97, []), (99, [])])]


def test_what_lies_below_the_last_level_is_counted_beside_it() -> None:
    assert outline(prune([chain(9)], Window(rows=4, levels=3))) == [(0, [(1, [(2, [(-6, [])])])])]


def test_a_chain_of_a_hundred_thousand_is_no_matter() -> None:
    root = chain(100_000)
    assert size_of([root])[id(root)] == 100_000
    assert outline(prune([root], Window(rows=4, levels=2))) == [(0, [(1, [(-99_998, [])])])]
    assert place([root])[-1].level == 99_999
