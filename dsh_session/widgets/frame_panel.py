"""One of the frames as a small table around a moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from dsh_session.views.escape import html_text
from dsh_session.views.payload import counted, words
from dsh_session.views.window import Gap, choose

if TYPE_CHECKING:
    import pandas as pd

    from dsh_session.core.session import Session

FRAMES = ("events", "surface", "messages", "turns", "steps", "tools", "usage", "replacements", "compactions", "todos")
"""The frames that can be looked at."""

_COLUMNS = 9
_SLOW = 0.2
"""A frame that took longer to make, in seconds, is made again when it is asked for and not with every append."""


class _Made(NamedTuple):
    """A frame, of which log it is, and what it cost."""

    name: str
    session: Session
    length: int
    seconds: float
    frame: pd.DataFrame


class FramePanel:
    """Makes frames as seldom as it can.

    Example:
        >>> from dsh_session import Recorder, Session
        >>> session = Session("s", clock=lambda: 0)
        >>> with Recorder(session).turn("Hello."):
        ...     pass
        >>> "1 row" in FramePanel().html(session, "messages", 2)
        True
    """

    def __init__(self) -> None:
        """Start without a frame."""
        self._made: _Made | None = None

    def forget(self) -> None:
        """Make the next frame anew, however long that takes."""
        self._made = None

    def html(self, session: Session, name: str, seq: int) -> str:
        """Draw the rows around an event.

        Args:
            session: The session.
            name: One of `FRAMES`.
            seq: The event; the row of the last one at or before it is pointed out.
        """
        made = self._frame(session, name)
        frame = made.frame
        near = _near(frame, seq)
        shown = list(frame.columns[:_COLUMNS])
        rows = []
        for part in choose(len(frame), first=2, last=2, around=near, span=4):
            if isinstance(part, Gap):
                more = f"… {part.stop - part.start:,} more"
                rows.append(f'<tr><td class="dsh-more" colspan="{len(shown)}">{more}</td></tr>')
            else:
                values = frame.iloc[part]
                cells = "".join(f"<td><bdi>{html_text(_cell(values[key]))}</bdi></td>" for key in shown)
                mark = ' aria-current="true" style="font-weight: 600"' if part == near else ""
                rows.append(f"<tr{mark}>{cells}</tr>")
        hidden = len(frame.columns) - len(shown)
        note = counted(len(frame), "row")
        if hidden > 0:
            note += f"; {counted(hidden, 'column')} more in <code>frames.{name}(session)</code>"
        if made.length != session.seq:
            note += f"; as of event {made.length - 1}, choose the frame again for the latest"
        head = "".join(f'<th scope="col">{html_text(key)}</th>' for key in shown)
        return (
            f'<header>{html_text(name)} <span class="dsh-muted">{note}</span></header>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )

    def _frame(self, session: Session, name: str) -> _Made:
        made, length = self._made, session.seq
        is_it = made is not None and made.session is session and made.name == name
        if made is not None and is_it and (made.length == length or made.seconds > _SLOW):
            return made
        from dsh_session.views import frames

        began = time.perf_counter()
        frame = getattr(frames, name)(session)
        self._made = made = _Made(name, session, length, time.perf_counter() - began, frame)
        return made


def _near(frame: pd.DataFrame, seq: int) -> int | None:
    """Find the last row at or before an event, where rows belong to events."""
    keys = [key for key in frame.columns if key == "seq" or key.endswith("_seq")]
    if not keys or frame.empty:
        return None
    behind = (frame[keys[0]] <= seq).to_numpy(dtype=bool, na_value=False).nonzero()[0]
    return int(behind[-1]) if len(behind) else 0


def _cell(value: Any) -> str:
    """A frame's value in a few words; what is missing is empty."""
    if value is None:
        return ""
    try:
        if value != value:  # noqa: PLR0124 (NaN and NaT differ from themselves)
            return ""
        return words(value if isinstance(value, str) else str(value), 60)
    except (TypeError, ValueError):  # pandas' NA, which is not even that
        return ""
