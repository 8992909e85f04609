"""The stepper: a log as a strip, and beneath it the surface at any moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import anywidget
import traitlets
from traitlets import Bool, Float, Int, List, TraitError, Unicode

from dsh_session.core.errors import SessionError
from dsh_session.views.diagrams import surface
from dsh_session.views.escape import cut, one_line
from dsh_session.views.palette import DARK, LIGHT, Theme, css_variables
from dsh_session.widgets.moments import Moments, Source, plural
from dsh_session.widgets.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsh_session.core.session import Session
    from dsh_session.views.diagram import Diagram

__all__ = ["Feed", "Stepper"]

Feed = Callable[[Callable[[], object]], Callable[[], object]]
"""Takes a function to call when there may be something new, and gives one that ends that."""

_STATIC: Final = resources.files(__package__).joinpath("static")
_NAME: Final = 200


def _chosen(name: str, theme: Theme) -> str:
    """The colours of a stepper that is light or dark in any case."""
    colours = " ".join(f"--dsh-{colour}: {value};" for colour, value in theme.variables().items())
    return f".dsh-is-{name} .dsh-stepper {{ {colours} --dsh-page-ink: {theme.ink}; color-scheme: {name}; }}\n"


def _style() -> str:
    """The one style sheet, colours included."""
    own = _STATIC.joinpath("stepper.css").read_text(encoding="utf-8")
    return css_variables(".dsh") + _chosen("light", LIGHT) + _chosen("dark", DARK) + own


def _shown_name(name: str, _widget: object) -> str:
    """A session's id as it goes to the page: a lone surrogate in it could not be sent."""
    return cut(one_line(name[: 4 * _NAME]), _NAME)


class Stepper(anywidget.AnyWidget):
    """Steps through a log: the log as a strip, the surface as a linked list beneath it, at any moment.

    At each step it shows the event that enters, what that shadows, and the surface before and after. Arrow keys, Home,
    End, PageUp and PageDown step; Enter or a click selects a node, with Shift a range, Escape nothing. It never
    appends. A page gets windows of the log when it asks for them, so a log may be as long as it likes.

    Attributes:
        moment: The seq after which the surface is shown; -1 for the beginning. Synced.
        selection: The first and the last selected seq, in surface order; empty for none. A selection whose nodes are
            not on the surface at the moment is dropped. Synced.
        focused: The seq of the node that a reader looks at; -1 for none. Synced.
        marked: Pairs of a seq and a reason: nodes that are pointed out. Bare seqs may be given. Synced.
        notice: A line of plain text above the status; empty for none. Synced.
        playing: Whether it steps on by itself. Synced.
        pace: How many steps it plays per second. Synced.
        session_id: The id of the session, `session` for bare events. Synced.
        length: The number of events. Synced.
        theme: `auto` follows the page; `light`; `dark`. Synced.

    Example:
        >>> from dsh_session import Session
        >>> session = Session("tour")
        >>> said = {"content": [{"type": "text", "text": "hello"}], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", said, surface_op="append")
        >>> stepper = Stepper(session)
        >>> stepper.moment = 1
        >>> stepper.selection = [0, 1]
        >>> stepper
        <Stepper of tour: event 1 of 0 to 2, 2 nodes, selected 0 … 1>
        >>> stepper.close()
    """

    _unfeed: Callable[[], object] | None = None

    _esm: Any = _STATIC.joinpath("stepper.js").read_text(encoding="utf-8")
    _css: Any = _style()

    moment = Int(-1).tag(sync=True)
    selection = List(Int()).tag(sync=True)
    focused = Int(-1).tag(sync=True)
    marked: List[Any] = List().tag(sync=True)
    notice = Unicode("").tag(sync=True)
    playing = Bool(False).tag(sync=True)
    pace = Float(2.0, min=0.1, max=30.0).tag(sync=True)
    session_id = Unicode("", read_only=True).tag(sync=True, to_json=_shown_name)
    length = Int(0, read_only=True).tag(sync=True)
    theme = Unicode("auto").tag(sync=True)

    def __init__(
        self,
        source: Source,
        *,
        moment: int | None = None,
        theme: Literal["auto", "light", "dark"] = "auto",
        feed: Feed | None = None,
    ) -> None:
        """Show a log.

        Args:
            source: A session, live or loaded; a `SurfaceHistory`; or events or wire dicts from seq 0 on.
            moment: The seq to begin at; -1 for the beginning, None for the end.
            theme: Whether to follow the page, or to be light or dark in any case.
            feed: Where to hear of appended events; without one, call `refresh`. It is ended by `close`.

        Raises:
            SurfaceError: For events that break a surface rule.
            TypeError: For what is no log at all.
            TraitError: For a moment that is not in the log.
        """
        self._moments = Moments(source)
        self._windows = Windows(self._moments)
        super().__init__(theme=theme)
        with self.hold_sync():
            self.set_trait("session_id", self._moments.name)
            self.set_trait("length", self._moments.length)
            self.moment = self._moments.length - 1 if moment is None else moment
        self.on_msg(self._on_page)
        if feed is not None:
            self._unfeed = feed(self.refresh)

    # ---------------------------------------------------------------------------------------------- what it is of

    @property
    def source(self) -> Session | None:
        """The session that is shown; None where it was made of a history of bare events."""
        return self._moments.session

    @property
    def surface(self) -> Sequence[int]:
        """The seqs on the surface at the moment, in model-visible order."""
        return self._moments.step(self.moment).nodes

    @property
    def selected(self) -> Sequence[int]:
        """The selected seqs, in surface order."""
        if not self.selection:
            return ()
        step = self._moments.step(self.moment)
        found = step.positions(self.selection[0], self.selection[1], self._moments.rank)
        return () if found is None else step.nodes[found[0] : found[1] + 1]

    @property
    def said(self) -> str:
        """What the moment's event did, in a line; nothing of the log's texts is in it."""
        return self._moments.sentence(self.moment)

    def show(self, source: Source, *, moment: int | None = None) -> Self:
        """Show another log in the place of this one.

        Args:
            source: As for the class.
            moment: The seq to begin at; None for the end.

        Returns:
            This stepper. A feed goes on: it is whoever gave it who knows what it feeds.
        """
        self._moments = Moments(source)
        self._windows = Windows(self._moments)
        with self.hold_sync():
            self.playing = False
            self.selection, self.marked, self.notice, self.focused = [], [], "", -1
            self.moment = -1
            self.set_trait("session_id", self._moments.name)
            self.set_trait("length", self._moments.length)
            self.moment = self._moments.length - 1 if moment is None else moment
        self.send({"type": "renewed"})
        return self

    def refresh(self) -> None:
        """Take in the events that were appended since; a stepper that stands at the end goes along."""
        self._moments.take_in()
        if self._moments.length == self.length:
            return
        self._windows.take_in()
        at_end = self.moment == self.length - 1
        with self.hold_sync():
            self.set_trait("length", self._moments.length)
            if at_end:
                self.moment = self.length - 1

    def snapshot(self) -> Diagram:
        """Give what is shown as a picture that needs no kernel: the surface at the moment.

        Returns:
            A diagram with the event that entered, or the selection, in it.
        """
        around = self.selection[0] if self.selection else self.moment if self._is_node(self.moment) else None
        at = self.moment if self.moment >= 0 else None
        history = self._moments.history
        return surface(history if at is not None else Moments([]).history, at=at, around=around)

    def close(self) -> None:
        """End the feed, and close the widget with everything that belongs to it."""
        unfeed, self._unfeed = self._unfeed, None
        if unfeed is not None:
            unfeed()
        if self.comm is None:  # closed before, or never opened: a log was refused
            return
        self.on_msg(self._on_page, remove=True)
        layout = self.layout
        super().close()
        if layout is not None:
            layout.close()

    def __repr__(self) -> str:
        """Say what it shows, without an address."""
        name = _shown_name(self.session_id, self)
        at = f"event {self.moment} of 0 to {self.length - 1}" if self.moment >= 0 else "before the first event"
        chosen = f", selected {self.selection[0]} … {self.selection[1]}" if self.selection else ""
        return f"<Stepper of {name}: {at}, {plural(len(self.surface), 'node')}{chosen}>"

    # ----------------------------------------------------------------------------------------------------- checks

    @traitlets.validate("moment")
    def _check_moment(self, proposal: Any) -> int:
        moment: int = int(proposal["value"])  # True is 1 in Python, and nothing else on the page
        if not -1 <= moment < self._moments.length:
            there = f"seqs 0 to {self._moments.length - 1}" if self._moments.length else "no events yet"
            raise TraitError(f"moment={moment}: the log has {there}; -1 is its beginning")
        return moment

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        chosen: list[int] = proposal["value"]
        if not chosen:
            return chosen
        if len(chosen) != 2:
            raise TraitError(f"selection={chosen!r}: give the first and the last seq of a range, or nothing")
        step = self._moments.step(self.moment)
        for seq in chosen:
            if not self._is_node(seq) or step.positions(seq, seq, self._moments.rank) is None:
                raise TraitError(f"selection={chosen!r}: {seq} is not on the surface after event {self.moment}")
        return sorted(chosen, key=self._moments.rank)

    @traitlets.validate("marked")
    def _check_marked(self, proposal: Any) -> list[list[Any]]:
        return [_mark(item) for item in proposal["value"]]

    @traitlets.validate("theme")
    def _check_theme(self, proposal: Any) -> str:
        theme: str = proposal["value"]
        if theme not in {"auto", "light", "dark"}:
            raise TraitError(f"theme={theme!r}: give 'auto', 'light' or 'dark'")
        return theme

    @traitlets.observe("moment")
    def _drop_selection(self, _change: Any) -> None:
        if self.selection and not self.selected:
            self.selection = []

    def _is_node(self, seq: int) -> bool:
        return 0 <= seq < self._moments.length and self._moments.is_node(seq)

    # --------------------------------------------------------------------------------------------------- the page

    def set_state(self, sync_data: Any) -> None:
        """Take what a page says; what it could not know to be wrong is put right there."""
        try:
            super().set_state(sync_data)
        except TraitError:
            self.send_state([name for name in sync_data if self.has_trait(name)])

    def _on_page(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, Mapping) or content.get("type") != "window":
            return
        head = {"type": "window", "what": content.get("what"), "view": content.get("view"), "id": content.get("id")}
        try:
            answer = self._answer(content)
        except (SessionError, TypeError, ValueError, KeyError, OverflowError) as error:
            answer = {"error": cut(one_line(str(error)), 300)}
        self.send({**answer, **head})

    def _answer(self, content: Mapping[str, Any]) -> dict[str, Any]:
        what = content["what"]
        if what == "overview":
            return self._windows.overview()
        if what == "change":
            return {"moment": self._windows.change(int(content["moment"]), int(content["by"]))}
        start, stop = int(content["from"]), int(content["to"])
        if what == "log":
            return self._windows.log(start, stop)
        if what == "surface":
            moment = int(content["moment"])
            answer = self._windows.surface(moment, start, stop, around=content.get("around") is True)
            return {**answer, "selected": self._ends_of_selection(moment)}
        raise ValueError(f"nothing is known about {what!r}")

    def _ends_of_selection(self, moment: int) -> list[dict[str, int]] | None:
        """Where the selection begins and ends, for a page that has not seen these nodes."""
        rank = self._moments.rank
        found = None
        if self.selection and moment == self.moment:
            found = self._moments.step(moment).positions(self.selection[0], self.selection[1], rank)
        if found is None:
            return None
        return [{"seq": seq, "rank": rank(seq), "at": at} for seq, at in zip(self.selection, found, strict=True)]


def _mark(item: Any) -> list[Any]:
    """One mark as a seq and a reason."""
    match item:
        case bool():
            pass
        case int():
            return [item, ""]
        case [int(seq), str(reason)] if type(seq) is int:
            return [seq, cut(one_line(reason[:1200]), 300)]
    raise TraitError(f"marked: {cut(repr(item), 100)} is neither a seq nor a pair of a seq and a reason")
