"""Typed pandas frames of a session.

Every frame has the same columns and dtypes for every log, a log without events included; `columns` documents
them. Frames hold the log's text as it is, but for lone surrogates, which become U+FFFD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsh_session.views.frames.column import Column, describe_columns
from dsh_session.views.frames.compactions import COMPACTIONS, compactions
from dsh_session.views.frames.context import CONTEXT, context
from dsh_session.views.frames.events import EVENTS, events
from dsh_session.views.frames.headers import HEADERS, headers
from dsh_session.views.frames.hooks import HOOKS, hooks
from dsh_session.views.frames.messages import MESSAGES, messages
from dsh_session.views.frames.replacements import REPLACEMENTS, replacements
from dsh_session.views.frames.sessions import SESSIONS, sessions
from dsh_session.views.frames.steps import STEPS, steps
from dsh_session.views.frames.surface import SURFACE, surface
from dsh_session.views.frames.todos import TODOS, todos
from dsh_session.views.frames.tools import TOOLS, tools
from dsh_session.views.frames.trace import TRACE, trace
from dsh_session.views.frames.turns import TURNS, turns
from dsh_session.views.frames.usage import USAGE, usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = [
    "COLUMNS",
    "Column",
    "columns",
    "compactions",
    "context",
    "events",
    "headers",
    "hooks",
    "messages",
    "replacements",
    "sessions",
    "steps",
    "surface",
    "todos",
    "tools",
    "trace",
    "turns",
    "usage",
]

COLUMNS: Mapping[str, tuple[Column[Any], ...]] = {
    "compactions": COMPACTIONS,
    "context": CONTEXT,
    "events": EVENTS,
    "headers": HEADERS,
    "hooks": HOOKS,
    "messages": MESSAGES,
    "replacements": REPLACEMENTS,
    "sessions": SESSIONS,
    "steps": STEPS,
    "surface": SURFACE,
    "todos": TODOS,
    "tools": TOOLS,
    "trace": TRACE,
    "turns": TURNS,
    "usage": USAGE,
}
"""The declared columns of each frame."""


def columns(name: str) -> pd.DataFrame:
    """What the columns of a frame hold.

    Args:
        name: The frame's name, such as `events`.

    Returns:
        One row per column: `column`, `dtype`, `doc`.

    Raises:
        KeyError: There is no such frame; the message names those there are.

    Example:
        >>> columns("surface")["column"].head(4).to_list()
        ['position', 'seq', 'prev', 'next']
    """
    if name not in COLUMNS:
        raise KeyError(f"no frame is called {name!r}; there are {', '.join(sorted(COLUMNS))}")
    return describe_columns(COLUMNS[name])
