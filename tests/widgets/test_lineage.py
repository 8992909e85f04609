from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import traitlets

from dsh_session import Context, Recorder, Session, SessionError, loads
from dsh_session.widgets import Lineage
from dsh_session.widgets.compare import compare_html, shared_prefix
from tests.compaction.sessions import close_turn, say, talked
from tests.core.stores import context
from tests.views.hostile import HOSTILE, hostile_session
from tests.widgets.ears import listeners
from tests.widgets.test_fields import controls

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def ctx() -> Iterator[Context]:
    with context() as ctx:
        talked(2, into=ctx.sessions.create("parent"))
        yield ctx


@pytest.fixture
def tree(ctx: Context) -> Iterator[Lineage]:
    tree = Lineage(ctx)
    yield tree
    tree.close()


def offered(tree: Lineage, label: str = "Session") -> list[str]:
    return [value for _, value in controls(tree)[label].options]


def test_a_fork_made_anywhere_appears_at_once(ctx: Context, tree: Lineage) -> None:
    assert offered(tree) == ["parent"]
    ctx.sessions.fork("parent", 10, "child")
    assert offered(tree) == ["parent", "child"]
    assert controls(tree)["Session"].options[1][0].strip() == "↳ child (from parent at 10)"
    assert "child" in tree._picture.value


def test_a_fork_that_is_chosen_is_compared_with_its_parent(ctx: Context, tree: Lineage) -> None:
    child = ctx.sessions.fork("parent", 10, "child")
    with Recorder(child).turn("Something else."):
        pass
    tree.session_id = "child"
    assert tree.compared_id == "parent"
    assert "The first 11 events are shared." in tree._table.value
    assert "Something else." in tree._table.value
    tree.compared_id = ""
    assert tree._table.value == ""


def test_choosing_by_hand_is_choosing(ctx: Context, tree: Lineage) -> None:
    ctx.sessions.fork("parent", 10, "child")
    controls(tree)["Session"].value = "child"
    assert tree.session_id == "child"
    controls(tree)["Compare with"].value = ""
    assert tree.compared_id == ""


def test_a_session_that_left_is_no_longer_offered(ctx: Context, tree: Lineage) -> None:
    with ctx.child() as inner:
        inner.sessions.create("guest")
        tree.session_id = "guest"
        tree.compared_id = "parent"
    assert offered(tree) == ["parent"]
    assert tree.session_id == "parent"


def test_an_id_that_is_not_there_is_refused(tree: Lineage) -> None:
    with pytest.raises(traitlets.TraitError, match="no session 'nobody' is here; there are 'parent'"):
        tree.session_id = "nobody"


def test_the_picture_shows_the_chosen_one_and_stays_without_a_kernel(ctx: Context, tree: Lineage) -> None:
    ctx.sessions.fork("parent", 10, "child")
    tree.session_id = "child"
    assert repr(tree.snapshot()) == "<Diagram: lineage of 2 sessions: 1 fork>"
    assert repr(tree) == "<Lineage of 2 sessions: child>"


def test_a_tree_that_nobody_sees_is_not_drawn(ctx: Context, tree: Lineage) -> None:
    tree.set_shown(False)
    before = tree._picture.value
    ctx.sessions.fork("parent", 10, "child")
    assert tree._picture.value == before
    tree.set_shown(True)
    assert tree._picture.value != before


def test_a_session_in_no_store_is_a_tree_of_its_own() -> None:
    tree = Lineage(talked())
    assert offered(tree) == ["s"]
    with pytest.raises(SessionError, match="VIEW_SESSION"):
        tree.picture()
    tree.close()


def test_an_empty_store_has_nothing_to_choose() -> None:
    with Context() as ctx:
        tree = Lineage(ctx)
        assert tree.session_id == ""
        ctx.sessions.create("first")
        assert tree.session_id == "first"
        tree.close()


def test_closing_leaves_no_listener(ctx: Context) -> None:
    before = listeners(ctx), repr(ctx)
    tree = Lineage(ctx)
    assert listeners(ctx) > before[0]
    tree.close()
    assert (listeners(ctx), repr(ctx)) == before


def test_hostile_ids_are_text() -> None:
    with Context(check_payloads=False) as ctx:
        for text in HOSTILE[:12]:
            ctx.sessions.create(text)
        tree = Lineage(ctx)
        assert "<script" not in tree._picture.value
        assert controls(tree)["Session"].options[0][0] == "<script>alert(1)</script>"
        tree.close()


# ------------------------------------------------------------------------------------------------------- side by side


def test_what_two_sessions_share_is_counted() -> None:
    left = talked(2)
    right = Session("t", seed=left.events[:11], clock=lambda: 0)
    assert shared_prefix(left, right) == 11
    say(left, "one")
    right.append("turn/start", left.events[11].data)
    assert shared_prefix(left, right) == 11, "an event of one's own may be written like another"
    assert shared_prefix(left, loads(right.to_jsonl())) == 12


def test_each_node_says_whose_it_is() -> None:
    left = talked(1)
    right = Session("t", seed=left.events, clock=lambda: 0)
    say(left, "only here")
    html = compare_html(left, right)
    assert html.count(">shared<") == 8
    assert html.count("<b>own</b>") == 1
    close_turn(right)
    assert "13 events, 1 of its own, 4 nodes" in compare_html(left, right)


def test_a_comparison_of_hostile_sessions_holds_text_only() -> None:
    html = compare_html(*(hostile_session(lambda at: HOSTILE[at % 22], name=name) for name in ("a", "<script>")))
    assert "<script" not in html
    assert "<img" not in html
