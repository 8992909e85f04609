"""The sessions of a store as the tree of their forks, one of them chosen."""

from collections.abc import Iterator
from typing import Any

import ipywidgets
import traitlets

from dsh_session.core.errors import ContextError, SessionError
from dsh_session.core.lineage import LineageNode
from dsh_session.core.lineage import lineage as lineage_of
from dsh_session.core.session import Session
from dsh_session.views import diagrams
from dsh_session.views.diagram import Diagram
from dsh_session.views.escape import cut, one_line
from dsh_session.widgets import parts
from dsh_session.widgets.compare import compare_html
from dsh_session.widgets.live import Batch, Watch
from dsh_session.widgets.subject import Subject, take

_NONE = "nothing"
_REDRAWN = 1.0
"""The least time between two drawings of a tree whose sessions grow, in seconds."""


class Lineage(parts.Part):
    """The tree of forks: choose a session, see it in the picture, compare it with another side by side.

    It follows the store: a fork made anywhere appears at once.

    Attributes:
        store: The store; None for a session that is not live, which is a tree of its own.
        session_id: The id of the chosen session.
        compared_id: The id of the session beside it; empty for none.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context(clock=lambda: 0) as ctx:
        ...     with Recorder(ctx.sessions.create("tour")).turn("Hello."):
        ...         pass
        ...     lineage = Lineage(ctx)
        ...     child = ctx.sessions.fork("tour", child_session_id="what if")
        ...     lineage.session_id = "what if"
        ...     lineage, lineage.compared_id
        ...     lineage.close()
        (<Lineage of 2 sessions: what if>, 'tour')
    """

    session_id = traitlets.Unicode("")
    compared_id = traitlets.Unicode("")

    def __init__(self, subject: Subject) -> None:
        """Show the sessions of a store.

        Args:
            subject: The store, a context, or a session that is live in one.
        """
        given = take(subject)
        self.store = given.store
        self._alone = given.session
        self._is_filling = False
        self._is_shown = True
        self._choice = parts.choice("Session", [("none", "")], "")
        self._other = parts.choice("Compare with", [(_NONE, "")], "")
        self._picture = ipywidgets.HTML()
        self._table = ipywidgets.HTML()
        super().__init__((parts.row(self._choice, self._other), self._picture, self._table))
        self._choice.observe(self._on_choice, "value")
        self._other.observe(self._on_other, "value")
        if self.store is not None:
            tree, growth = Batch(self.refresh), Batch(self.refresh, pause=_REDRAWN)
            try:
                watch = Watch(self.store, sessions=tree.note, event=lambda *_: growth.note())
            except ContextError:  # its context is closing
                pass
            else:
                self._at_close(watch.close)
            self._batched(tree, tree.close)
            self._batched(growth, growth.close)
        self.session_id = "" if given.session is None else given.session.id
        self.refresh()

    def sessions(self) -> list[Session]:
        """Give the sessions there are, parents before their children."""
        return [node.session for node, _ in self._tree()]

    def session(self, identity: str) -> Session | None:
        """Give a session by its id."""
        return next((session for session in self.sessions() if session.id == identity), None)

    def _tree(self) -> Iterator[tuple[LineageNode, int]]:
        if self.store is None:
            if self._alone is not None:
                yield LineageNode(self._alone, None, None, []), 0
            return
        waiting = [(node, 0) for node in reversed(lineage_of(self.store))]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            waiting += [(child, depth + 1) for child in reversed(node.children)]

    @traitlets.validate("session_id", "compared_id")
    def _check_id(self, proposal: Any) -> str:
        identity: str = proposal["value"]
        if identity and self.session(identity) is None:
            known = ", ".join(repr(cut(session.id, 40)) for session in self.sessions()[:10])
            raise traitlets.TraitError(f"no session {identity[:80]!r} is here; there are {known or 'none'}")
        return identity

    @traitlets.observe("session_id")
    def _chosen(self, _change: Any) -> None:
        chosen = self.session(self.session_id)
        parent = None if chosen is None else chosen.header.parent_session
        # What a fork is first compared with is what it was forked from.
        self.compared_id = parent if parent is not None and self.session(parent) is not None else ""
        self.refresh()

    @traitlets.observe("compared_id")
    def _compared(self, _change: Any) -> None:
        self.refresh()

    def _on_choice(self, change: dict[str, Any]) -> None:
        if not self._is_filling:
            self.session_id = change["new"]

    def _on_other(self, change: dict[str, Any]) -> None:
        if not self._is_filling:
            self.compared_id = change["new"]

    def set_shown(self, is_shown: bool) -> None:  # noqa: FBT001 (the value is what it is about)
        """Say whether anybody looks at it; the picture of a tree that nobody sees is not drawn."""
        self._is_shown = is_shown
        self.refresh()

    def refresh(self) -> None:
        """Take in which sessions have come, gone or grown."""
        if not self._is_shown or self._is_closed:
            return
        tree = list(self._tree())
        here = {node.session.id: node.session for node, _ in tree}
        if self.session_id not in here and (here or self.session_id):
            self.session_id = next(iter(here), "")
            return
        if self.compared_id and self.compared_id not in here:
            self.compared_id = ""
            return
        options = [(_label(node, depth), node.session.id) for node, depth in tree]
        others = [(_NONE, ""), *(option for option in options if option[1] != self.session_id)]
        self._is_filling = True
        parts.offer(self._choice, options or [("none", "")], self.session_id)
        parts.offer(self._other, others, self.compared_id if self.compared_id != self.session_id else "")
        self._is_filling = False
        self._picture.value = "" if self.store is None or not here else _shown(self.picture())
        left, right = here.get(self.compared_id), here.get(self.session_id)
        if left is None or right is None or left is right:
            self._table.value = ""
        else:
            self._table.value = compare_html(left, right)

    def picture(self) -> Diagram:
        """Give the tree as a picture, the chosen session with a thick frame.

        Raises:
            SessionError: ``VIEW_SESSION`` when no store is there to draw.
        """
        if self.store is None:
            raise SessionError("VIEW_SESSION", "a session that is in no store has no lineage to draw")
        return diagrams.lineage(self.store, selected=self.session_id or None)

    def snapshot(self) -> Diagram:
        """Give the tree as a picture that needs no kernel; see `picture`."""
        self.take_in()
        return self.picture()

    def _says(self) -> str:
        count = len(self.sessions())
        return f"of {count} {'session' if count == 1 else 'sessions'}: {self.session_id}"


def _label(node: LineageNode, depth: int) -> str:
    """A session's name with its place in the tree, in words that a list can show."""
    name = cut(one_line(node.session.id[:400]), 60) or "(a session without a name)"
    if node.parent_id is None:
        return name
    parent = cut(one_line(node.parent_id[:400]), 40)
    at = "" if node.boundary is None else f" at {node.boundary}"
    indent = "\u2003" * min(depth, 8)
    return f"{indent}↳ {name} (from {parent}{at})"


def _shown(picture: Diagram) -> str:
    """A picture as HTML; what to install where nothing can draw it."""
    html: str = picture._repr_mimebundle_()["text/html"]
    return html
