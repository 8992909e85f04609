"""One widget for a session: step through it, look at it, append to it, compact it, fork it."""

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
import traitlets

from dsh_session.compaction.meter import TokenMeter
from dsh_session.core.errors import ContextError
from dsh_session.core.event import SessionEvent
from dsh_session.core.session import Session
from dsh_session.core.shapes import name_of
from dsh_session.views.diagram import diagram_css
from dsh_session.views.escape import cut, html_text, one_line
from dsh_session.views.html import repr_css
from dsh_session.views.render import RenderError
from dsh_session.widgets import parts
from dsh_session.widgets.actions import ACTIONS, Actions
from dsh_session.widgets.append_form import AppendForm
from dsh_session.widgets.compact_form import CompactForm
from dsh_session.widgets.fork_form import ForkForm
from dsh_session.widgets.lineage import Lineage
from dsh_session.widgets.live import Batch, Watch
from dsh_session.widgets.panels import Panels
from dsh_session.widgets.snapshot import Snapshot
from dsh_session.widgets.stepper import Stepper
from dsh_session.widgets.subject import Subject, take


class Explorer(parts.Part):
    """A session to touch; `explore` makes one.

    Attributes:
        moment: The seq after which everything is shown; -1 for the beginning.
        selection: The first and the last seq of the selected nodes; empty for none.
        session_id: The id of the session that is shown; setting it shows another session of the store.
        policy: The policy that the form for compactions has chosen, or None.
        stepper: The `Stepper`.
        panels: The `Panels` beside it.
        action: Which form is open: `Append`, `Compact`, `Fork`, `Sessions`, or empty for none.

    All four traits take part in `traitlets.link`, and so does `panel` of `panels`.

    Example:
        >>> from dsh_session import Context, Recorder
        >>> with Context(clock=lambda: 0) as ctx:
        ...     session = ctx.sessions.create("tour")
        ...     explorer = Explorer(session)
        ...     with Recorder(session).turn("Hello."):
        ...         pass
        ...     explorer, explorer.moment
        ...     explorer.close()
        (<Explorer of tour: event 2 of 2, 1 node, panel Event>, 2)
    """

    moment = traitlets.Int(-1)
    selection = traitlets.List(traitlets.Int())
    session_id = traitlets.Unicode("")
    policy = traitlets.Any(None, allow_none=True)
    action = traitlets.Enum(("", *ACTIONS), default_value="")

    def __init__(
        self,
        subject: Subject,
        *,
        moment: int | None = None,
        policy: Any = None,
        summarisers: Mapping[str, Any] | None = None,
        meter: TokenMeter | None = None,
    ) -> None:
        """Show what was given; see `explore`."""
        given = take(subject)
        self._store = given.store
        self._is_switching = self._is_growing = False
        self.stepper = Stepper(given.shown, moment=moment)
        self.panels = Panels(self.stepper._moments, meter=meter)
        self._sessions = parts.choice("Session", [("none", "")], "")
        self._actions = Actions(given.store, summarisers=summarisers, meter=meter)
        self.panels.layout.flex = "1 1 22rem"
        self.panels.layout.min_width = "0"
        self.stepper.layout.flex = "3 1 34rem"
        self.stepper.layout.min_width = "0"
        both = ipywidgets.Box(
            (self.stepper, self.panels), layout={"display": "flex", "flex_flow": "row wrap", "align_items": "stretch"}
        )
        super().__init__((self._sessions, both, self._actions))
        self.add_class("dsh-explorer")
        self._sessions.observe(self._on_sessions, "value")
        self.stepper.observe(self._stepped, ["moment", "selection"])
        self._listen()
        with self._switched():
            self.session_id = "" if self.session is None else self.session.id
            self.moment = self.stepper.moment
        self._actions.observe(self._mark, "snapped")
        self._actions.observe(self._chosen_in_lineage, "chosen_id")
        self._actions.on_compact(self._clear_selection)
        for name in ("policy", "action"):
            linked = traitlets.link((self._actions, name), (self, name))
            self._at_close(linked.unlink)
        self.policy = policy
        self._tell_actions()
        self._settle()

    # What is shown.

    @property
    def session(self) -> Session | None:
        """The session that is shown; None for a history of bare events, or an empty store."""
        return self.stepper.source

    def _switched(self) -> Any:
        return _Flag(self)

    @traitlets.validate("moment")
    def _check_moment(self, proposal: Any) -> int:
        self.take_in()
        moment: int = int(proposal["value"])  # True is 1 in Python, and nothing else for those it is linked to
        if not -1 <= moment < self.stepper.length:
            raise traitlets.TraitError(
                f"moment={moment}: the log has {self.stepper.length} events; -1 is its beginning"
            )
        return moment

    @traitlets.validate("action")
    def _check_action(self, proposal: Any) -> str:
        action: str = proposal["value"]
        self._actions.check(action)
        return action

    @traitlets.validate("session_id")
    def _check_session(self, proposal: Any) -> str:
        identity: str = proposal["value"]
        if not self._is_switching and (self._store is None or self._store.get(identity) is None):
            raise traitlets.TraitError(f"session_id={name_of(identity)}: there is no such live session here")
        return identity

    @traitlets.observe("moment")
    def _moment_set(self, change: Any) -> None:
        self.stepper.moment = change["new"]
        self.panels.moment = change["new"]
        if not self._is_switching:
            self._tell_actions()

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        self.take_in()
        if not self._is_switching:
            # The stepper knows what is on the surface, and in which order.
            self.stepper.selection = proposal["value"]
        return list(self.stepper.selection)

    @traitlets.observe("selection")
    def _selection_set(self, _change: Any) -> None:
        self.panels.selection = list(self.stepper.selection)
        if not self._is_switching:
            self._tell_actions()

    def _stepped(self, change: Any) -> None:
        if self._is_switching:
            return
        if change["name"] == "moment":
            self.moment = change["new"]
        else:
            self.selection = list(change["new"])

    @traitlets.observe("session_id")
    def _session_set(self, change: Any) -> None:
        if self._is_switching or self._store is None:
            return
        session = self._store.get(change["new"])
        if session is not None and session is not self.session:
            self._show(session)

    def _show(self, session: Session) -> None:
        with self._switched():
            self.stepper.show(session)
            self.panels.take(self.stepper._moments)
            self.selection = []
            self.moment = self.stepper.moment
            self.session_id = session.id
        self._tell_actions()
        self._settle()

    def _on_sessions(self, change: dict[str, Any]) -> None:
        if not self._is_switching and change["new"]:
            self.session_id = change["new"]

    # The store.

    def _listen(self) -> None:
        growth, tree = Batch(self.refresh), Batch(self._settle)
        self._batched(growth, growth.close)
        self._batched(tree, tree.close)
        if self._store is None:
            return

        def heard(session: Session, _event: SessionEvent) -> None:
            if session is self.session:
                growth.note()

        try:
            watch = Watch(self._store, event=heard, sessions=tree.note)
        except ContextError:  # its context is closing
            return
        self._at_close(watch.close)

    def refresh(self) -> None:
        """Take in what was appended since; a live session needs no such call."""
        if self._is_closed:
            return
        was = self.moment
        self._is_growing = True
        try:
            self.stepper.refresh()
        finally:
            self._is_growing = False
        if self.moment == was:
            self.panels.refresh()
        self._actions.refresh()

    def _settle(self) -> None:
        """Show which sessions there are, and what may be done."""
        if self._is_closed:
            return
        is_open = self._store is not None and not self._store.context.closed
        live = self._store.list() if self._store is not None and is_open else []
        if self.session is None and live and self._store is not None:
            self._show(live[0])
            return
        options = [(cut(one_line(session.id[:400]), 80) or "(no name)", session.id) for session in live]
        here = self.session_id if any(identity == self.session_id for _, identity in options) else ""
        with self._switched():
            parts.offer(self._sessions, options if here else [("not live any more", ""), *options], here)
        parts.show(self._sessions, is_shown=self._store is not None)
        self._actions.settle()

    # The forms.

    @property
    def append_form(self) -> AppendForm:
        """The form for appending to the session that is shown; made when it is first asked for."""
        form: AppendForm = self._actions.form("Append")
        return form

    @property
    def compact_form(self) -> CompactForm:
        """The form for compacting the session that is shown; made when it is first asked for."""
        form: CompactForm = self._actions.form("Compact")
        return form

    @property
    def fork_form(self) -> ForkForm:
        """The form for forking the session that is shown; made when it is first asked for."""
        form: ForkForm = self._actions.form("Fork")
        return form

    @property
    def lineage(self) -> Lineage:
        """The tree of forks; made when it is first asked for."""
        return self._actions.lineage

    def _chosen_in_lineage(self, change: Any) -> None:
        if change["new"] and change["new"] != self.session_id and self._store is not None:
            self.session_id = change["new"]

    def _tell_actions(self) -> None:
        chosen = (self.selection[0], self.selection[1]) if self.selection else None
        count, is_picked = len(self.stepper.selected), not self._is_growing
        self._actions.at(self.session, self.moment, chosen, selected=count, is_picked=is_picked)

    def _mark(self, change: Any) -> None:
        """Point out on the surface what a range takes in beside the nodes that were selected."""
        snapped = change["new"]
        selected = set(self.stepper.selected)
        added = [] if snapped is None or not snapped.reasons else [seq for seq in snapped.nodes if seq not in selected]
        self.stepper.marked = [(seq, "goes with the range") for seq in added]
        self.stepper.notice = "" if snapped is None else " ".join(snapped.reasons)

    def _clear_selection(self) -> None:
        self.selection = []

    # What needs no kernel.

    def snapshot(self) -> Snapshot:
        """Give what is shown as static HTML: the surface at the moment, and the panel beside it."""
        self.take_in()
        diagram = self.stepper.snapshot()
        try:
            picture = f"<style>{diagram_css()}</style>{diagram.inline}"
        except RenderError:
            picture = str(diagram._repr_mimebundle_()["text/html"])
        name = html_text(cut(one_line(self.stepper.session_id[:400]), 80))
        chosen = f", selected {self.selection[0]} … {self.selection[1]}" if self.selection else ""
        head = (
            f'<style>{repr_css()}</style><div class="dsh dsh-repr"><header><bdi><b>{name}</b></bdi> '
            f'<span class="dsh-muted">after event {self.moment} of {self.stepper.length - 1}{chosen}</span></header>'
            f"<p>{html_text(self.stepper.said)}</p></div>"
        )
        return Snapshot(f"<div>{head}{picture}{self.panels.html}</div>", self._says())

    def _says(self) -> str:
        if self._is_closed:
            return ""
        at = f"event {self.moment} of {self.stepper.length - 1}" if self.moment >= 0 else "before the first event"
        count = len(self.stepper.surface)
        chosen = f", selected {self.selection[0]} … {self.selection[1]}" if self.selection else ""
        name = self.stepper.session_id
        return f"of {name}: {at}, {count} {'node' if count == 1 else 'nodes'}{chosen}, panel {self.panels.panel}"


class _Flag:
    """While it is entered, changes come from the explorer itself."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer
        self._before = False

    def __enter__(self) -> None:
        self._before, self._explorer._is_switching = self._explorer._is_switching, True

    def __exit__(self, *_: object) -> None:
        self._explorer._is_switching = self._before


def explore(
    subject: Subject,
    *,
    moment: int | None = None,
    policy: Any = None,
    summarisers: Mapping[str, Callable[..., Any]] | None = None,
    meter: TokenMeter | None = None,
) -> Explorer:
    """Show a session as a widget: step through it, append to it, compact it, fork it.

    A cell that ends in the widget shows it. What it appends goes through the public API, and what other code appends
    to a live session appears by itself. Without a store there are no forks; a loaded log that is in no store and a
    `SurfaceHistory` are read-only, and the widget says so.

    Args:
        subject: A session; a store or a context, whose sessions one may switch between; or a `SurfaceHistory`.
        moment: The seq after which to show the surface first; the end by default, -1 for the beginning.
        policy: The policy that the form for compactions begins with.
        summarisers: Further summarisers for that form, by the names they are offered under.
        meter: What counts tokens.

    Returns:
        The widget. Its traits `moment`, `selection`, `session_id` and `policy` can be linked with others; `snapshot()`
        gives a static view of what it shows; `close()` leaves no listener and no comm behind.

    Raises:
        TypeError: For anything else than what is named above.

    Example:
        >>> from dsh_session import Session
        >>> explorer = explore(Session("tour", clock=lambda: 0))
        >>> explorer
        <Explorer of tour: before the first event, 0 nodes, panel Event>
        >>> explorer.close()
    """
    return Explorer(subject, moment=moment, policy=policy, summarisers=summarisers, meter=meter)
