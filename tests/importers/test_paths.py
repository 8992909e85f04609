from hypothesis import given
from hypothesis import strategies as st

from dsh_session.importers.ahead import Ahead
from dsh_session.importers.paths import MOST_BRANCHES, ROOT, Boundaries, Boundary, find_paths


def test_every_leaf_that_matters_is_the_end_of_one_path() -> None:
    #      0 - 1 - 2
    #          |\- 3 - 4
    #          \-- 5
    found = find_paths([ROOT, 0, 1, 1, 3, 1], 2, lambda entry: entry != 5)
    assert [path.entries for path in found.paths] == [[0, 1, 2], [0, 1, 3, 4]]
    assert [(path.parent, path.shared) for path in found.paths] == [(None, 0), (0, 2)]
    assert found.aside == [5]


def test_a_branch_of_a_branch_names_the_branch_it_left() -> None:
    found = find_paths([ROOT, 0, 0, 2, 2], 1, lambda _: True)
    assert [(path.parent, path.shared, path.entries) for path in found.paths] == [
        (None, 0, [0, 1]),
        (0, 1, [0, 2, 3]),
        (1, 2, [0, 2, 4]),
    ]


def test_a_second_root_is_a_branch_that_shares_nothing() -> None:
    found = find_paths([ROOT, ROOT, 1], 0, lambda _: True)
    assert found.paths[1] == (0, 0, [1, 2])


def test_a_loose_end_does_not_hide_what_hangs_on_its_beginning() -> None:
    # 1 and 2 do not matter, 3 does: its path goes through 1.
    found = find_paths([ROOT, 0, 1, 1, 0], 4, lambda entry: entry in (0, 3, 4))
    assert [path.entries for path in found.paths] == [[0, 4], [0, 1, 3]]
    assert found.aside == [2]


def test_branches_without_end_are_left_out() -> None:
    found = find_paths([ROOT] * (MOST_BRANCHES + 10), 0, lambda _: True)
    assert len(found.paths) == MOST_BRANCHES + 1
    assert len(found.left_out) == 9


@given(st.data())
def test_every_entry_is_on_a_path_or_said_to_be_aside(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    parents = [data.draw(st.integers(ROOT, number - 1)) for number in range(size)]
    important = data.draw(st.sets(st.integers(0, size - 1)))
    leaf = data.draw(st.integers(ROOT, size - 1))
    found = find_paths(parents, leaf, important.__contains__)
    on_paths = {entry for path in found.paths for entry in path.entries}
    assert on_paths.isdisjoint(found.aside)
    assert on_paths | set(found.aside) == set(range(size))
    assert important <= on_paths
    for path in found.paths:
        for before, entry in zip([ROOT, *path.entries], path.entries, strict=False):
            assert parents[entry] == before
        if path.parent is not None:
            parent = found.paths[path.parent]
            assert path.entries[: path.shared] == parent.entries[: path.shared]
            assert path.entries[path.shared : path.shared + 1] != parent.entries[path.shared : path.shared + 1]


def test_a_fork_begins_at_the_last_boundary_that_it_shares() -> None:
    boundaries = Boundaries(Boundary(0, 0, "first"))
    boundaries.note(Boundary(4, 9, "second"))
    boundaries.note(Boundary(8, 20, "third"))
    assert [boundaries.before(shared).length for shared in (0, 3, 4, 7, 8, 99)] == [0, 0, 9, 9, 20, 20]
    assert boundaries.before(7).state == "second"


def test_an_answer_is_taken_once_and_not_past_a_new_call_of_the_same_name() -> None:
    ahead = Ahead()
    for at in (0, 4):
        ahead.note_call("c", at)
    for at in (2, 6):
        ahead.note_answer("c", at)
    assert ahead.take("c", 1) == 2
    assert ahead.take("c", 1) is None
    assert ahead.take("c", 5) == 6
    assert ahead.take("d", 0) is None
