"""Appending one event by hand: a form for its payload, or its JSON."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dsh_session.core.admission import check_route
from dsh_session.core.context import Context
from dsh_session.core.errors import SessionError
from dsh_session.core.event import Replace, SessionEvent
from dsh_session.core.lossless import snapshot_json_value
from dsh_session.core.session import Session
from dsh_session.core.store import SessionStore
from dsh_session.core.surface import UNSET
from dsh_session.core.tracker import TurnTracker
from dsh_session.core.turns import place_for
from dsh_session.core.vocabulary import SURFACE_TYPES, VOCABULARY
from dsh_session.widgets import parts
from dsh_session.widgets.defaults import default_payload, likely_type
from dsh_session.widgets.form import Form
from dsh_session.widgets.leaves import FieldError
from dsh_session.widgets.notice import Notice
from dsh_session.widgets.subject import session_of, why_read_only

_APPEND, _REPLACE = "append at the tail", "take the place of a range"
_FORM, _JSON = "form", "JSON"


@dataclass
class _Draft:
    """What was typed for one event type.

    Attributes:
        form: The payload.
        default: What it began with.
        how: How the event enters the surface.
        start: The first node that it takes the place of.
        end: The last one.
        sources: The seqs that it comes from, as they were typed.
    """

    form: Form
    default: Any
    how: str = _APPEND
    start: int = 0
    end: int = 0
    sources: str = ""

    def is_untouched(self) -> bool:
        """Tell whether nothing was typed."""
        try:
            return bool(self.form.read() == self.default and self.how == _APPEND and not self.sources)
        except FieldError:
            return False


class AppendForm(parts.Part):
    """Append an event: choose its type, fill in its payload, see at once what would be refused.

    The payload begins with what fits the open turn and step. It is a form or a JSON text, as one likes. Each event type
    keeps what was typed for it, through every change of type or mode and after every refusal. What is appended goes
    through `Session.append`.

    Attributes:
        session: The session.
        appended: The latest event that this form appended, or None.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("s", clock=lambda: 0)
        >>> form = AppendForm(session)
        >>> form
        <AppendForm of s: turn/start as seq 0>
        >>> form.append()
        <SessionEvent 0 turn/start>
        >>> form
        <AppendForm of s: user/message as seq 1>
        >>> form.close()
    """

    def __init__(self, subject: Session | SessionStore | Context, *, event_type: str | None = None) -> None:
        """Make a form for a session.

        Args:
            subject: The session, or a store whose first session it is.
            event_type: The type to begin with; by default the one that most likely comes next.
        """
        self.session = session_of(subject)
        self.appended: SessionEvent | None = None
        self._tracker = TurnTracker()
        self._drafts: dict[str, _Draft] = {}
        self._told: list[Callable[[SessionEvent], Any]] = []
        self._is_busy = False
        self._selection: tuple[int, int] | None = None
        first = event_type or likely_type(self.session, self._state())
        self._type = parts.choice("Event type", self._types(first), first)
        self._mode = parts.choice("Write it as", [_FORM, _JSON], _FORM)
        self._how = parts.choice("Enters the surface", [_APPEND, _REPLACE], _APPEND)
        self._start = parts.whole_number("First node")
        self._end = parts.whole_number("Last node")
        self._sources = parts.text("Comes from seqs", placeholder="such as 1, 2; empty for none")
        self._range = parts.row(self._start, self._end)
        self._surface = parts.column(self._how, self._range, self._sources)
        self._payload = parts.column()
        self._check_notice = Notice()
        self._notice = Notice()
        self._button = parts.button("Append", self._press, is_main=True)
        self._reset = parts.button("Start over", self.reset, tooltip="Fill in the defaults again")
        super().__init__(
            (
                parts.row(self._type, self._mode),
                self._payload,
                self._surface,
                self._check_notice,
                parts.row(self._button, self._reset),
                self._notice,
            )
        )
        self._type.observe(self._on_type, "value")
        self._mode.observe(self._on_mode, "value")
        for control in (self._how, self._start, self._end, self._sources):
            control.observe(self._on_surface, "value")
        self._open(first)
        self._at_close(self._close_drafts)
        self._follow(self.session, self.refresh)
        self._allow()

    # What is shown.

    def _state(self) -> Any:
        return self._tracker.catch_up(self.session.events)

    @staticmethod
    def _types(chosen: str) -> list[str]:
        known = list(VOCABULARY.event_types)
        return known if chosen in known else [*known, chosen]

    @property
    def event_type(self) -> str:
        """The chosen event type."""
        chosen: str = self._type.value
        return chosen

    @event_type.setter
    def event_type(self, value: str) -> None:
        given: object = value
        if not isinstance(given, str) or not given:
            raise TypeError(f"event_type={given!r}: give the name of an event type, such as 'user/message'")
        if value not in self._type.options:
            before, self._is_busy = self._type.value, True
            parts.offer(self._type, self._types(value), before)
            self._is_busy = False
        self._type.value = value

    @property
    def is_json(self) -> bool:
        """Whether the payload is written as JSON."""
        return bool(self._mode.value == _JSON)

    @is_json.setter
    def is_json(self, value: bool) -> None:
        self._mode.value = _JSON if value else _FORM

    @property
    def payload(self) -> Any:
        """The payload as it stands in the form.

        Setting it fills in the form; the previous payload is given up.

        Raises:
            FieldError: When a JSON text in it does not parse.
            JsonValueError: When it is set to what is no JSON value; the form stays as it is.
        """
        return self._draft.form.read()

    @payload.setter
    def payload(self, value: Any) -> None:
        self._renew(self.event_type, snapshot_json_value(value))

    @property
    def refusal(self) -> tuple[str, str, str] | None:
        """What is wrong with the payload first: JSON path, code, text; None where it could be appended."""
        return self._draft.form.refusal

    @property
    def selection(self) -> tuple[int, int] | None:
        """The range that a replacement would begin with; the explorer sets it."""
        return self._selection

    @selection.setter
    def selection(self, value: tuple[int, int] | None) -> None:
        self._selection = value
        if value is not None and self._draft.how == _APPEND:
            self._start.value, self._end.value = value

    @property
    def _draft(self) -> _Draft:
        return self._drafts[self.event_type]

    def on_append(self, act: Callable[[SessionEvent], Any]) -> None:
        """Call a function with each event that this form has appended."""
        self._told.append(act)

    def _open(self, event_type: str) -> None:
        if event_type not in self._drafts:
            default = default_payload(self.session, event_type, self._state())
            self._drafts[event_type] = self._made(event_type, default)
        self._show()

    def _made(self, event_type: str, value: Any, *, is_json: bool = False) -> _Draft:
        form = Form(VOCABULARY.shape(event_type), value, self._changed, is_json=is_json)
        with suppress(FieldError):
            value = form.read()  # as the form gives it back: 1.0 is 1
        return _Draft(form, value)

    def _renew(self, event_type: str, value: Any | None = None) -> None:
        before = self._drafts[event_type]
        if value is None:
            value = default_payload(self.session, event_type, self._state())
        self._drafts[event_type] = self._made(event_type, value, is_json=before.form.is_json)
        if event_type == self.event_type:
            self._show()
        before.form.close()

    def _show(self) -> None:
        draft = self._draft
        self._payload.children = (draft.form.widget,)
        self._is_busy = True
        self._mode.value = _JSON if draft.form.is_json else _FORM
        self._how.value, self._sources.value = draft.how, draft.sources
        self._start.value, self._end.value = draft.start, draft.end
        self._is_busy = False
        parts.show(self._surface, self.event_type in SURFACE_TYPES)
        parts.show(self._range, draft.how == _REPLACE)
        draft.form.check()
        self._changed()

    # What a person does.

    def _on_type(self, change: dict[str, Any]) -> None:
        if self._is_busy:
            return
        self._notice.clear()
        self._open(change["new"])

    def _on_mode(self, change: dict[str, Any]) -> None:
        if self._is_busy:
            return
        if not self._draft.form.switch(is_json=change["new"] == _JSON):
            self._mode.value = change["old"]
            self._notice.say(
                "The text is no JSON yet; it is kept as it is. Mend it, then change to the form.", "warning"
            )

    def _on_surface(self, _change: dict[str, Any]) -> None:
        if self._is_busy:
            return
        draft = self._draft
        draft.how, draft.sources = self._how.value, self._sources.value
        draft.start, draft.end = self._start.value, self._end.value
        parts.show(self._range, draft.how == _REPLACE)
        self._changed()

    def _changed(self) -> None:
        """Say what would be refused, or would break a rule between events."""
        if not self._drafts or self.event_type not in self._drafts:
            return
        draft = self._draft
        if draft.form.refusal is None:
            try:
                check_route(self.event_type, draft.form.read())
            except SessionError as error:
                path = _path_in(error.message) or ""
                draft.form.refuse(path, error.code, error.message.removeprefix(f"${path} "))
        if draft.form.refusal is not None:
            path, code, _ = draft.form.refusal
            self._check_notice.say(f"{code} at ${path}: see above", "error")
            return
        try:
            op, sources = self._surface_of(draft)
        except SessionError as error:
            self._check_notice.say(str(error), "error")
            return
        seq, kind = self.session.seq, self.event_type
        try:
            if kind in SURFACE_TYPES:
                with self.session._state_lock:
                    plain = op if isinstance(op, str) else dict(op)
                    self.session._up_to_date_links().plan(seq, kind, plain, UNSET if sources is None else sources)
        except SessionError as error:
            self._check_notice.say(str(error), "error")
            return
        self._state()
        wire = {"type": kind, "seq": seq, "data": draft.form.read()}
        broken = self._tracker.faults(kind, place_for(kind, wire))
        if broken:
            self._check_notice.say(f"It would break a rule between events: {broken[0].message}", "warning")
        else:
            self._check_notice.say(f"Would be seq {seq}.")

    def _surface_of(self, draft: _Draft) -> tuple[Any, list[int] | None]:
        if self.event_type not in SURFACE_TYPES:
            return None, None
        op = "append" if draft.how == _APPEND else Replace(draft.start, draft.end)
        words = draft.sources.replace(",", " ").split()
        if draft.sources.strip() == "[]":
            return op, []
        try:
            return op, [int(word) for word in words] or None
        except ValueError:
            raise SessionError(
                "NOT_JSON_METADATA", "the seqs that it comes from are whole numbers with commas"
            ) from None

    def _press(self) -> None:
        self.append()

    def append(self) -> SessionEvent | None:
        """Append what stands in the form, as the button does.

        Returns:
            The event; None when it was refused, and the form says why.
        """
        draft, kind = self._draft, self.event_type
        if self._button.disabled or draft.form.check() is not None:
            self._changed()
            return None
        try:
            op, sources = self._surface_of(draft)
            append: Any = self.session.append
            event: SessionEvent = append(kind, draft.form.read(), surface_op=op, source_event_seqs=sources)
        except SessionError as error:
            path = _path_in(error.message)
            if path is not None:
                draft.form.refuse(path, error.code, error.message.removeprefix(f"${path} "))
            self._notice.say(str(error), "error")
            return None
        except Exception as error:  # noqa: BLE001 (a check of somebody's may raise anything, and is shown as it is)
            self._notice.say(f"{type(error).__name__}: {error}", "error")
            return None
        self.appended = event
        self._renew(kind)
        self.refresh()
        self._notice.say(f"Appended {kind} as seq {event.seq}.", "done")
        following = likely_type(self.session, self._state())
        if following != kind:
            self._open_quietly(following)
        for act in self._told:
            act(event)
        return event

    def _open_quietly(self, event_type: str) -> None:
        said, kind = self._notice.text, self._notice.kind
        self.event_type = event_type
        self._notice.say(said, kind)  # type: ignore[arg-type]

    def reset(self) -> None:
        """Give up what was typed for this event type, and begin again with the defaults."""
        self._renew(self.event_type)

    def refresh(self) -> None:
        """Take in what the log has grown by: what nobody has touched gets the defaults of now."""
        state = self._state()
        for event_type, draft in list(self._drafts.items()):
            if draft.is_untouched():
                now = default_payload(self.session, event_type, state)
                if now == draft.default:
                    continue
                if draft.form.fill(now):  # in the controls that are there: somebody may stand on one of them
                    draft.default = draft.form.read()
                else:
                    self._renew(event_type, now)
        self._allow()
        self._changed()

    def _close_drafts(self) -> None:
        for draft in self._drafts.values():
            draft.form.close()

    def _allow(self) -> None:
        why = why_read_only(self.session)
        self._button.disabled = why is not None
        if why is not None:
            self._notice.say(why, "warning")

    def _says(self) -> str:
        return f"of {self.session.id}: {self.event_type} as seq {self.session.seq}"


def _path_in(message: str) -> str | None:
    """Find the JSON path that a refusal names."""
    at = message.find("$")
    return None if at < 0 else message[at + 1 :].split(" ", 1)[0].rstrip(":,;")
