"""Lineage: the tree of live sessions, whatever their headers claim."""

import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsh_session import Context
from dsh_session.core.lineage import LineageNode, lineage

from .stores import context, no_collector, turn


def outline(nodes: list[LineageNode]) -> Any:
    """A tree as nested lists of `(id, boundary, children)`."""
    return [(node.session.id, node.boundary, outline(node.children)) for node in nodes]


def claim(ctx: Context, name: str, parent: Any = None, length: Any = None) -> None:
    """Create a session whose header says that it descends from another."""
    meta = {"parentSession": parent, "seedLength": length}
    ctx.sessions.create(name, meta={key: value for key, value in meta.items() if value is not None})


def test_an_empty_store_has_no_roots() -> None:
    with context() as ctx:
        assert lineage(ctx.sessions) == []


def test_forks_stand_below_their_parents_in_store_order_with_their_boundaries() -> None:
    with context() as ctx:
        source = ctx.sessions.create("s")
        turn(source)
        turn(source, number=2)
        ctx.sessions.create("alone")
        late = ctx.sessions.fork(source, child_session_id="late")
        ctx.sessions.fork(source, 2, "early")
        turn(late, number=3)
        ctx.sessions.fork(late, child_session_id="later")
        tree = lineage(ctx.sessions)
    assert outline(tree) == [
        ("s", None, [("late", 5, [("later", 8, [])]), ("early", 2, [])]),
        ("alone", None, []),
    ]
    assert tree[0].session is source
    assert [node.parent_id for node in tree[0].children] == ["s", "s"]


def test_the_fork_of_an_empty_session_has_the_boundary_before_the_first_event() -> None:
    with context() as ctx:
        ctx.sessions.fork(ctx.sessions.create("s"), child_session_id="c")
        assert outline(lineage(ctx.sessions)) == [("s", None, [("c", -1, [])])]


def test_the_same_tree_is_seen_through_every_context_of_a_family() -> None:
    with context() as ctx:
        turn(ctx.sessions.create("s"))
        scope = ctx.scope()
        scope.sessions.fork("s", child_session_id="c")
        assert outline(lineage(scope.sessions)) == outline(lineage(ctx.sessions)) == [("s", None, [("c", 2, [])])]


def test_a_child_of_a_session_that_is_not_live_is_a_root_that_names_its_parent() -> None:
    with context() as ctx:
        owner = ctx.child()
        turn(owner.sessions.create("s"))
        ctx.sessions.fork("s", child_session_id="c")
        owner.close()
        [root] = lineage(ctx.sessions)
        assert (root.session.id, root.parent_id, root.boundary) == ("c", "s", 2)


def test_a_parent_that_entered_after_its_child_still_stands_above_it() -> None:
    with context() as ctx:
        claim(ctx, "child", "parent", 0)
        claim(ctx, "parent")
        assert outline(lineage(ctx.sessions)) == [("parent", None, [("child", -1, [])])]


def test_a_child_that_shares_nothing_has_no_boundary() -> None:
    with context() as ctx:
        claim(ctx, "parent")
        claim(ctx, "delegate", "parent")
        claim(ctx, "odd", None, 3)
        assert outline(lineage(ctx.sessions)) == [("parent", None, [("delegate", None, [])]), ("odd", None, [])]


def test_sessions_that_claim_to_descend_from_themselves_are_roots_and_their_children_stay_below_them() -> None:
    with context() as ctx:
        claim(ctx, "self", "self")
        claim(ctx, "a", "b")
        claim(ctx, "b", "a")
        claim(ctx, "below", "b")
        assert outline(lineage(ctx.sessions)) == [
            ("self", None, []),
            ("a", None, []),
            ("b", None, [("below", None, [])]),
        ]


names = st.sampled_from("abcdefgh")


@given(st.dictionaries(names, st.tuples(st.none() | names, st.none() | st.integers(0, 9))))
def test_whatever_headers_claim_every_live_session_stands_in_the_tree_once(
    claims: dict[str, tuple[str | None, int | None]],
) -> None:
    with context() as ctx:
        for name, (parent, length) in claims.items():
            claim(ctx, name, parent, length)
        pending, seen = list(lineage(ctx.sessions)), []
        roots = [node.session.id for node in pending]
        while pending:
            node = pending.pop()
            seen.append(node.session.id)
            parent, length = claims[node.session.id]
            assert node.parent_id == parent
            assert node.boundary == (None if parent is None or length is None else length - 1)
            assert all(child.parent_id == node.session.id for child in node.children)
            pending += node.children
        assert sorted(seen) == sorted(claims)
        order = list(claims)
        assert roots == sorted(roots, key=order.index)


def _chain(ctx: Context, length: int) -> None:
    claim(ctx, "0")
    for number in range(1, length):
        claim(ctx, str(number), str(number - 1), 0)


def _seconds_for_a_chain(length: int) -> float:
    with context() as ctx:
        _chain(ctx, length)
        started = time.perf_counter()
        tree = lineage(ctx.sessions)
        taken = time.perf_counter() - started
        depth = 0
        while tree:
            [node] = tree
            tree = node.children
            depth += 1
        assert depth == length
    return taken


def test_a_chain_of_thousands_of_forks_takes_time_linear_in_its_length() -> None:
    _seconds_for_a_chain(100)
    with no_collector():
        # What grows with the square of the length gives sixteen.
        assert min(_seconds_for_a_chain(4_000) / _seconds_for_a_chain(1_000) for _ in range(3)) < 8


def test_a_node_of_a_long_chain_can_be_shown_and_compared() -> None:
    with context() as ctx:
        _chain(ctx, 5_000)
        [root] = lineage(ctx.sessions)
        assert "0" in repr(root)
        assert len(repr(root)) < 10_000
        assert root == root  # noqa: PLR0124 - comparing must not follow the chain for ever
