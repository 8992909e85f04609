"""Panels beside the stepper: what is to be known about the moment and the selection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import traitlets

from dsh_session.compaction.meter import DEFAULT_METER, TokenMeter
from dsh_session.core.event import SessionEvent
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.messages import derive_event_message
from dsh_session.core.session import Session
from dsh_session.views import describe
from dsh_session.views.escape import cut, html_attribute, html_text, one_line
from dsh_session.views.html import repr_css
from dsh_session.views.palette import fill_of
from dsh_session.views.payload import field, words
from dsh_session.views.window import Gap, choose
from dsh_session.widgets import parts
from dsh_session.widgets.frame_panel import FRAMES, FramePanel
from dsh_session.widgets.moments import Moments, Source
from dsh_session.widgets.snapshot import Snapshot
from dsh_session.widgets.tabs import Tabs

NAMES = ("Event", "Messages", "Stands for", "Turn", "Tokens", "Frames")

_JSON = 20_000  # characters of a payload
_TEXT = 600  # characters of a message
_SCANNED = 50_000  # events that are looked back through for a turn's beginning


class Panels(parts.Part):
    """What is to be known about a moment: its event, what the model saw, what a node stands for, turn, tokens, frames.

    Only the panel that is looked at is written.

    Attributes:
        moment: The seq after which the surface is looked at; -1 for the beginning.
        selection: The first and the last seq of the selected nodes; empty for none.
        panel: The chosen panel, one of `NAMES`.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello."):
        ...     pass
        >>> panels = Panels(session)
        >>> panels.panel = "Messages"
        >>> panels
        <Panels of s: Messages at 2>
        >>> "Hello." in panels.html
        True
        >>> panels.close()
    """

    moment = traitlets.Int(-1)
    selection = traitlets.List(traitlets.Int())
    panel = traitlets.Enum(NAMES, default_value=NAMES[0])

    def __init__(self, source: Source | Moments, *, meter: TokenMeter | None = None) -> None:
        """Show panels of a log.

        Args:
            source: A session, a `SurfaceHistory`, or events from seq 0 on.
            meter: What counts tokens; its estimates are shown, which are there for every moment.
        """
        self._meter = meter or DEFAULT_METER
        self._prices: dict[int, int] = {}
        self._frame_panel = FramePanel()
        self._tabs = Tabs(names=list(NAMES), label="What is to be known")
        self._frames = parts.choice("Frame", list(FRAMES), "events")
        parts.show(self._frames, is_shown=False)
        super().__init__((self._tabs, self._frames))
        self.take(source)
        self._tabs.observe(self._on_tab, "selected")
        self._frames.observe(lambda _: self._look_anew(), "value")

    def take(self, source: Source | Moments) -> None:
        """Show another log, at its end."""
        self._moments = source if isinstance(source, Moments) else Moments(source)
        self._prices = {}
        with self.hold_trait_notifications():
            self.selection = []
            self.moment = len(self.history) - 1
        self.refresh()

    @property
    def session(self) -> Session | None:
        """The session that is shown; None for a history of bare events."""
        return self._moments.session

    @property
    def history(self) -> SurfaceHistory:
        """The surface at every moment of what is shown."""
        return self._moments.history

    @traitlets.observe("moment", "selection")
    def _moved(self, _change: Any) -> None:
        self.refresh()

    @traitlets.observe("panel")
    def _chosen(self, change: Any) -> None:
        self._tabs.selected = NAMES.index(change["new"])
        parts.show(self._frames, change["new"] == "Frames" and self.session is not None)
        self._look_anew()

    def _look_anew(self) -> None:
        self._frame_panel.forget()
        self.refresh()

    def _on_tab(self, change: dict[str, int]) -> None:
        self.panel = NAMES[change["new"]]

    @property
    def html(self) -> str:
        """What the chosen panel shows, as static HTML in which every text of the log is escaped."""
        return str(self._tabs.html)

    def refresh(self) -> None:
        """Write the chosen panel anew."""
        self._moments.take_in()
        if not self._is_closed:
            self._tabs.html = f'<style>{repr_css()}</style><div class="dsh dsh-repr">{self._body()}</div>'

    def snapshot(self) -> Snapshot:
        """Give what is shown as static HTML."""
        return Snapshot(self.html, f"{self.panel} at {self.moment}")

    def _body(self) -> str:
        length = len(self.history)
        if not length:
            return "<p>The log is empty.</p>"
        if not -1 <= self.moment < length:
            return "<p>There is no such moment.</p>"
        write: dict[str, Callable[[], str]] = {
            "Event": self._event,
            "Messages": self._messages,
            "Stands for": self._stands_for,
            "Turn": self._turn,
            "Tokens": self._tokens,
            "Frames": self._frames_table,
        }
        try:
            return write[self.panel]()
        except Exception as error:  # noqa: BLE001 (a log may hold anything, and no panel stops the others)
            return f"<p>This panel cannot be written: {html_text(cut(f'{type(error).__name__}: {error}', 300))}</p>"

    def _at(self, seq: int) -> SessionEvent:
        return self._moments.event(seq)

    @property
    def _looked_at(self) -> int:
        """The event that the panels are about: the selected node, else the one that entered."""
        return self.selection[0] if self.selection else self.moment

    # One panel each.

    def _event(self) -> str:
        seq = self._looked_at
        if seq < 0:
            return "<p>Nothing has happened yet.</p>"
        event = self._at(seq)
        text = event.to_json()
        if len(text) <= _JSON:
            # Nested deeper than the encoder goes, or with a very long number, it stays as it is in the log.
            with suppress(RecursionError, ValueError):
                text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        what = "selected" if self.selection else "enters"
        head = f'<header>Event {seq} {_tag(event)} <span class="dsh-muted">{what}</span></header>'
        return f"{head}<pre>{html_text(cut(text, _JSON))}</pre>"

    def _messages(self) -> str:
        nodes = self.history.at(self.moment)
        rows = []
        for part in choose(len(nodes), first=3, last=12, around=self._place(nodes), span=4):
            if isinstance(part, Gap):
                rows.append(_more(4, f"… {part.stop - part.start:,} more"))
                continue
            event = self._at(nodes[part])
            message = derive_event_message(event)
            role = "nothing: it derives no message" if message is None else html_text(words(message.get("role"), 20))
            rows.append(_row(str(nodes[part]), role, _tag(event), _pre(describe.text(event, _TEXT))))
        said = f'<header>{_count(len(nodes), "node")} <span class="dsh-muted">after event {self.moment}</span></header>'
        return said + _table(("seq", "role", "kind", "what the model sees"), rows)

    def _stands_for(self) -> str:
        nodes = self.history.at(self.moment)
        chosen = self._chosen_nodes(nodes)
        parts_ = [self._one_node(seq) for seq in chosen[:12]]
        if len(chosen) > 12:
            parts_.append(f"<p>… and {len(chosen) - 12:,} more nodes.</p>")
        return "".join(parts_) or "<p>Select a node, or step to an event that enters the surface.</p>"

    def _one_node(self, seq: int) -> str:
        children, originals = self.history.children(seq), self.history.originals(seq)
        left = self.history.lifetime(seq).left
        end = "and is on it now" if left is None else f"until event {left} took its place"
        depth = self.history.depth(seq)
        levels = f", {_count(depth, 'level')} deep" if depth else ""
        said = (
            f'<header>Node {seq} {_tag(self._at(seq))} <span class="dsh-muted">on the surface from event {seq} {end}; '
            f"stands for {'itself' if not depth else _count(len(originals), 'message')}{levels}</span></header>"
        )
        rows = []
        for part in choose(len(children), first=6, last=6):
            if isinstance(part, Gap):
                rows.append(_more(3, f"… {part.stop - part.start:,} more"))
            else:
                event = self._at(children[part])
                rows.append(_row(str(event.seq), _tag(event), _line(describe.headline(event, 110))))
        return said + (_table(("seq", "kind", "in its place before"), rows) if rows else "")

    def _turn(self) -> str:
        seq = self._looked_at
        turn, step = self._enclosing(seq)
        rows = []
        for name, opened in (("turn", turn), ("step", step)):
            if opened is None:
                rows.append(_row(name, "none is open", ""))
                continue
            event = self._at(opened)
            number = words(field(event.data, name), 40)
            rows.append(_row(name, html_text(f"{number}, from event {opened}"), _line(describe.headline(event, 110))))
        within = self._within(seq, step if step is not None else turn)
        return (
            f"<header>Event {seq}</header>"
            + _table(("", "number", "how it began"), rows)
            + _table(("seq", "kind", "what happened"), within)
        )

    def _enclosing(self, seq: int) -> tuple[int | None, int | None]:
        step: int | None = None
        step_over = False
        for at in range(seq, max(-1, seq - _SCANNED), -1):
            kind = self._at(at).type
            if kind == "step/end" and at != seq:
                step_over = True
            elif kind == "step/start" and not step_over and step is None:
                step = at
            elif kind == "turn/start":
                return at, step
            elif kind == "turn/end" and at != seq:
                return None, None
        return None, step

    def _within(self, seq: int, start: int | None) -> list[str]:
        if start is None:
            return []
        rows = []
        for part in choose(seq - start + 1, first=2, last=12):
            if isinstance(part, Gap):
                rows.append(_more(3, f"… {part.stop - part.start:,} more"))
            else:
                event = self._at(start + part)
                rows.append(_row(str(event.seq), _tag(event), _line(describe.headline(event, 110))))
        return rows

    def _price(self, seq: int) -> int:
        price = self._prices.get(seq)
        if price is None:
            price = self._prices[seq] = self._meter.estimate_event(self._at(seq))
        return price

    def _tokens(self) -> str:
        nodes = self.history.at(self.moment)
        prices = [self._price(seq) for seq in nodes]
        total = sum(prices)
        before = sum(map(self._price, self.history.at(self.moment - 1))) if self.moment >= 0 else 0
        change = total - before
        chosen = self._chosen_nodes(nodes) if self.selection else ()
        picked = f"; {sum(map(self._price, chosen)):,} in the selection" if chosen else ""
        note = f"on {_count(len(nodes), 'node')}; this event changed it by {change:+,}{picked}"
        said = f'<header>About {_count(total, "token")} <span class="dsh-muted">{note}</span></header>'
        largest = sorted(range(len(nodes)), key=lambda at: (-prices[at], at))[:12]
        rows = []
        for at in largest:
            event, price = self._at(nodes[at]), prices[at]
            share = price / total if total else 0
            bar = (
                f'<meter min="0" max="1" value="{share:.3f}" aria-label="share of node {nodes[at]}">{share:.0%}</meter>'
            )
            rows.append(
                f'<tr><td class="dsh-number">{nodes[at]}</td><td class="dsh-kind">{_tag(event)}</td>'
                f'<td class="dsh-number">{price:,}</td><td>{bar} {share:.0%}</td></tr>'
            )
        return said + _table(("seq", "kind", "tokens", "share"), rows)

    def _frames_table(self) -> str:
        if self.session is None:
            return "<p>Frames are made of a session, and this is a history of bare events.</p>"
        return self._frame_panel.html(self.session, self._frames.value, self._looked_at)

    def _place(self, nodes: Sequence[int]) -> int | None:
        return nodes.index(self._looked_at) if self._looked_at in nodes else None

    def _chosen_nodes(self, nodes: Sequence[int]) -> Sequence[int]:
        if self.selection and all(seq in nodes for seq in self.selection):
            first, last = sorted(map(nodes.index, self.selection))
            return nodes[first : last + 1]
        return [self.moment] if self.moment in nodes else []

    def _says(self) -> str:
        name = "a history" if self.session is None else self.session.id
        return f"of {name}: {self.panel} at {self.moment}"


def _tag(event: SessionEvent) -> str:
    kind, error = describe.kind(event), describe.is_error(event)
    said = f"{kind}, error" if error else kind
    title = html_attribute(cut(one_line(event.type[:400]), 80))
    return f'<span class="dsh-tag k-{fill_of(kind, error=error)}" title="{title}">{html_text(said)}</span>'


def _line(text: str) -> str:
    return f"<bdi>{html_text(text)}</bdi>"


def _pre(text: str) -> str:
    return f'<bdi style="white-space: pre-wrap">{html_text(text)}</bdi>'


def _row(first: str, *cells: str) -> str:
    """A row: a number or a name as plain text, then markup."""
    return f'<tr><td class="dsh-number">{html_text(first)}</td>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _more(columns: int, said: str) -> str:
    return f'<tr><td class="dsh-more" colspan="{columns}">{html_text(said)}</td></tr>'


def _table(names: Iterable[str], rows: Sequence[str]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{html_text(name)}</th>' if name else "<td></td>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
