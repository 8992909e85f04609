"""What can be done with a session: a bar of buttons, and under it the form that is open."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import traitlets

from dsh_session.compaction.meter import TokenMeter
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore, store_of
from dsh_session.widgets import parts
from dsh_session.widgets.append_form import AppendForm
from dsh_session.widgets.compact_form import CompactForm
from dsh_session.widgets.fork_form import ForkForm
from dsh_session.widgets.lineage import Lineage
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.subject import NO_STORE, why_read_only

ACTIONS = ("Append", "Compact", "Fork", "Sessions")
FORMS = ("Append", "Compact", "Fork")


class Actions(parts.Part):
    """The forms of a session, one of them open. Each session keeps its own, with what was typed in them.

    Attributes:
        action: Which one is open, one of `ACTIONS`; empty for none.
        policy: The policy of the compaction form, or None.
        snapped: The range of the open compaction form, or None.
        chosen_id: The id of the session that was last chosen in the lineage.
        session: The session that the forms are for; None for a history of bare events.

    Example:
        >>> from dsh_session import Session
        >>> actions = Actions(None)
        >>> actions.at(Session("s"), -1, None)
        >>> actions.action = "Append"
        >>> actions.form("Append")
        <AppendForm of s: turn/start as seq 0>
        >>> actions.close()
    """

    action = traitlets.Enum(("", *ACTIONS), default_value="")
    policy = traitlets.Any(None, allow_none=True)
    snapped = traitlets.Any(None, allow_none=True)
    chosen_id = traitlets.Unicode("")

    def __init__(
        self,
        store: SessionStore | None,
        *,
        summarisers: Mapping[str, Any] | None = None,
        meter: TokenMeter | None = None,
    ) -> None:
        """Take the store, and what the compaction form is made with."""
        self.session: Session | None = None
        self._store = store
        self._summarisers = summarisers
        self._meter = meter
        self._moment = -1
        self._selected = 0
        self._selection: tuple[int, int] | None = None
        self._told: list[Callable[[], Any]] = []
        self._forms: dict[tuple[int, str], Any] = {}
        self._lineage: Lineage | None = None
        self.buttons = {name: parts.button(name, partial(self._press, name)) for name in ACTIONS}
        self._read_only = Notice()
        self._bar = parts.row(*self.buttons.values())
        self._box = parts.column()
        super().__init__((self._read_only, self._bar, self._box))
        self._at_close(self._close_forms)

    # What the forms are for.

    def at(
        self,
        session: Session | None,
        moment: int,
        selection: tuple[int, int] | None,
        *,
        selected: int = 0,
        is_picked: bool = True,
    ) -> None:
        """Say which session is shown, after which event, and what is selected.

        Args:
            session: The session; None for a history of bare events, or an empty store.
            moment: The seq of the event.
            selection: The first and the last seq of the selected nodes.
            selected: How many they are.
            is_picked: Whether somebody went to the event, and was not taken along by a log that grows: who goes to the
                end of a turn while the form for forks is open picks it.
        """
        self._selected = selected
        was, self.session, self._moment = self.session, session, moment
        is_new, self._selection = selection != self._selection, selection
        append, compact = self.made("Append"), self.made("Compact")
        if append is not None:
            append.selection = selection
        if compact is not None and selection is not None and is_new:
            # Who selects nodes wants these compacted.
            compact.policy = None
            compact.selection = list(selection)
        if session is not was:
            self.settle()
            self._open()
        elif self.action == "Fork" and is_picked:
            self.form("Fork").choose_at(moment)
        self._name_buttons()

    @property
    def read_only(self) -> str | None:
        """Why nothing may be appended; None where it may."""
        if self.session is None and self._store is not None:
            return "There is no session here yet."
        return why_read_only(self.session)

    def settle(self) -> None:
        """Show what may be done."""
        why = self.read_only
        self._read_only.say(why or "", "warning")
        for name in FORMS:
            parts.show(self.buttons[name], is_shown=why is None)
        parts.show(self.buttons["Sessions"], is_shown=self._store is not None)
        parts.show(self._bar, is_shown=why is None or self._store is not None)
        fork = self.buttons["Fork"]
        fork.disabled = self.session is None or store_of(self.session) is None
        fork.tooltip = NO_STORE if fork.disabled else ""
        if why is not None and self.action in FORMS:
            self.action = ""
        self._name_buttons()

    def refresh(self) -> None:
        """Take in what a session that is not live has grown by; the forms of a live one hear of it themselves."""
        if self.session is not None and store_of(self.session) is None:
            for form in filter(None, map(self.made, FORMS)):
                form.refresh()

    def on_compact(self, act: Callable[[], Any]) -> None:
        """Call a function after each compaction."""
        self._told.append(act)

    # The forms.

    def made(self, name: str) -> Any:
        """Give the session's form if it was made already."""
        return self._forms.get((id(self.session), name))

    def form(self, name: str) -> Any:
        """Give the session's form of a name, one of `FORMS`; made when it is first asked for.

        Raises:
            RuntimeError: For a history of bare events, or a store without a session.
        """
        if self.session is None and self._store is not None:
            raise RuntimeError("a form is for a session, and there is none in this store yet")
        if self.session is None:
            raise RuntimeError("a history of bare events has no forms: nothing can be appended to it")
        form = self.made(name)
        if form is None:
            make = {"Append": self._make_append, "Compact": self._make_compact, "Fork": self._make_fork}[name]
            form = self._forms[id(self.session), name] = make(self.session)
        return form

    def _make_append(self, session: Session) -> AppendForm:
        form = AppendForm(session)
        form.selection = self._selection
        return form

    def _make_fork(self, session: Session) -> ForkForm:
        form = ForkForm(session)
        form.choose_near(self._moment)
        return form

    def _make_compact(self, session: Session) -> CompactForm:
        form = CompactForm(
            session, selection=self._selection, policy=self.policy, summarisers=self._summarisers, meter=self._meter
        )
        form.observe(self._form_snapped, "snapped")
        form.observe(self._form_policy, "policy")
        form.on_compact(self._compacted)
        return form

    @property
    def lineage(self) -> Lineage:
        """The tree of forks; made when it is first asked for.

        Raises:
            RuntimeError: Without a store.
        """
        if self._lineage is None:
            if self._store is None:
                raise RuntimeError("the lineage is that of a store, and this session is in none")
            self._lineage = lineage = Lineage(self._store)
            self._follow_session()
            lineage.observe(lambda change: self.set_trait("chosen_id", change["new"]), "session_id")
        return self._lineage

    def _follow_session(self) -> None:
        lineage = self._lineage
        if lineage is not None and self.session is not None and lineage.session(self.session.id) is self.session:
            lineage.session_id = self.session.id

    # Which one is open.

    def _press(self, name: str) -> None:
        self.action = "" if self.action == name else name

    @traitlets.validate("action")
    def _check_action(self, proposal: Any) -> str:
        action: str = proposal["value"]
        self.check(action)
        return action

    def check(self, action: str) -> None:
        """Refuse what cannot be opened here.

        Raises:
            TraitError: With the reason.
        """
        if action == "Sessions" and self._store is None:
            raise traitlets.TraitError("action='Sessions': this session is in no store, and there are no others here")
        if action in FORMS and self.session is None:
            raise traitlets.TraitError(f"action={action!r}: {self.read_only}")

    @traitlets.observe("action")
    def _acted(self, _change: Any) -> None:
        self._open()
        self._name_buttons()

    def _open(self) -> None:
        form: Any = None
        if self.action == "Sessions":
            form = self.lineage
        elif self.action:
            form = self.form(self.action)
        self._follow_session()
        if self.action == "Fork":
            form.choose_near(self._moment)
        if self.action == "Compact" and self._selection is not None:
            form.selection = list(self._selection)
        for each in [*self._forms.values(), self._lineage]:
            if isinstance(each, (CompactForm, Lineage)):
                each.set_shown(each is form)
        self._box.children = () if form is None else (form,)
        self.snapped = form.snapped if self.action == "Compact" else None

    def _name_buttons(self) -> None:
        nodes = self._selected
        named = {"Compact": f"Compact {nodes} {'node' if nodes == 1 else 'nodes'}"} if nodes else {}
        for name, button in self.buttons.items():
            is_open = self.action == name
            button.description = f"{'▾' if is_open else '▸'} {named.get(name, name)}"
            button.expanded = is_open

    # What the forms say.

    def _form_snapped(self, change: Any) -> None:
        if self.action == "Compact" and change["owner"] is self.made("Compact"):
            self.snapped = change["new"]

    def _form_policy(self, change: Any) -> None:
        if change["owner"] is self.made("Compact"):
            self.policy = change["new"]

    @traitlets.observe("policy")
    def _policy_set(self, change: Any) -> None:
        form = self.made("Compact")
        if form is not None and form.policy != change["new"]:
            form.policy = change["new"]

    def _compacted(self, _result: Any) -> None:
        for act in self._told:
            act()

    def _close_forms(self) -> None:
        for form in self._forms.values():
            form.close()
        if self._lineage is not None:
            self._lineage.close()

    def _says(self) -> str:
        return self.action or "none open"
