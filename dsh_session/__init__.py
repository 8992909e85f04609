"""Make visible what compaction does to an agent's history.

A `Session` is an append-only log of typed events and the only truth. Its surface, a linked list
of the message-producing events, follows from the log, and so does the history that a model sees.
A compaction is an event that replaces a range of the surface and deletes nothing.

This page loads the core alone; tables, diagrams and pages are in `dsh_session.views`.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from dsh_session.core import display, source
from dsh_session.core.context import Context
from dsh_session.core.errors import InvariantError, SessionError, SessionForkError
from dsh_session.core.event import Replace, SessionEvent, is_surface_event
from dsh_session.core.frozen import thaw
from dsh_session.core.header import SESSION_FORMAT_VERSION, SessionHeader
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.invariants import Violation, check_invariants, invariants
from dsh_session.core.jsonl import load, loads
from dsh_session.core.lineage import LineageNode, lineage
from dsh_session.core.lossless import is_json_value, snapshot_json_value
from dsh_session.core.messages import derive_event_message, fold_todos, render_context_content
from dsh_session.core.record import Recorder
from dsh_session.core.repair import interrupted_turn_closers
from dsh_session.core.request import canonical_header, fold_request_header, header_equals
from dsh_session.core.session import Finding, Session
from dsh_session.core.store import SessionStore, completed_prefix
from dsh_session.core.surface import SessionSurface, SurfaceNode, fold_surface
from dsh_session.core.vocabulary import VOCABULARY, EventType, is_surface_eligible_type

__version__ = "0.1.0"

__all__ = [
    "SESSION_FORMAT_VERSION",
    "VOCABULARY",
    "Context",
    "EventType",
    "Finding",
    "InvariantError",
    "LineageNode",
    "Recorder",
    "Replace",
    "Session",
    "SessionError",
    "SessionEvent",
    "SessionForkError",
    "SessionHeader",
    "SessionStore",
    "SessionSurface",
    "SurfaceHistory",
    "SurfaceNode",
    "Violation",
    "canonical_header",
    "check_invariants",
    "completed_prefix",
    "derive_event_message",
    "fold_request_header",
    "fold_surface",
    "fold_todos",
    "header_equals",
    "interrupted_turn_closers",
    "invariants",
    "is_json_value",
    "is_surface_eligible_type",
    "is_surface_event",
    "lineage",
    "load",
    "loads",
    "render_context_content",
    "snapshot_json_value",
    "thaw",
]


def _render(shown: Any) -> str:
    # Loaded when a notebook first shows something, so that the core does without it.
    from dsh_session.views.html import render

    return render(shown)


display.fill(_render)


def _decompress(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # Loaded with the first log that is compressed.
    from dsh_session.persistence.zstd import decompress

    return decompress(pieces)


def _meter(what: str, size: int) -> AbstractContextManager[Any]:
    # Loaded with the first log that is large.
    from dsh_session.persistence.progress import meter

    return meter(what, size)


source.fill(decompress=_decompress, meter=_meter)
