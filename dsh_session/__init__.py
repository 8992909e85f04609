"""Make visible what compaction does to an agent's history.

A `Session` is an append-only log of typed events and the only truth. Its surface, a linked list
of the message-producing events, follows from the log, and so does the history that a model sees.
A compaction is an event that replaces a range of the surface and deletes nothing.

This page loads the core alone; tables, diagrams and pages are in `dsh_session.views`.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsh_session.core import display, source
from dsh_session.core.context import Context
from dsh_session.core.errors import InvariantError, SessionError, SessionForkError
from dsh_session.core.event import Replace, SessionEvent, is_surface_event
from dsh_session.core.frozen import thaw
from dsh_session.core.header import SESSION_FORMAT_VERSION, SessionHeader
from dsh_session.core.history import SurfaceHistory
from dsh_session.core.invariants import Violation, check_invariants, invariants
from dsh_session.core.jsonl import load as _load_strictly
from dsh_session.core.jsonl import loads
from dsh_session.core.lineage import LineageNode, lineage
from dsh_session.core.lossless import is_json_value, snapshot_json_value
from dsh_session.core.messages import derive_event_message, fold_todos, render_context_content
from dsh_session.core.record import Recorder
from dsh_session.core.repair import interrupted_turn_closers
from dsh_session.core.request import canonical_header, fold_request_header, header_equals
from dsh_session.core.revision import is_version_0
from dsh_session.core.session import Finding, Session
from dsh_session.core.store import SessionStore, completed_prefix
from dsh_session.core.surface import SessionSurface, SurfaceNode, fold_surface
from dsh_session.core.vocabulary import VOCABULARY, EventType, is_surface_eligible_type

if TYPE_CHECKING:
    from dsh_session.importers.found import Imported

if TYPE_CHECKING:
    from dsh_session.widgets.explorer import Explorer
    from dsh_session.widgets.subject import Subject

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
    "explore",
    "fold_request_header",
    "fold_surface",
    "fold_todos",
    "header_equals",
    "import_log",
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


def load(path: str | Path) -> Session:
    """Read a log of any agent as a session; `import_log` gives its forks, its sub-agents and the rest.

    Args:
        path: A file, or a folder that is one log. The format is recognised by what is in it; text may be
            compressed with zstd.

    Returns:
        The session; `Session.findings` says what was left out or repaired. Of a version-0 log it is the longest
        valid prefix, and it takes the memory of its text once.

    Raises:
        LogFileError: ``JSONL_NO_HEADER``, ``JSONL_BAD_HEADER``, ``JSONL_CORRUPT`` or ``JSONL_GAP``, for a version-0
            log that is damaged before its last ``turn/end``, and for a file that nobody knows.
        SessionError: For an event that no log may hold, by its own code. Every error carries `line` (1-based) and
            `offset` (bytes of text). ``IMPORT_FOLDER`` for a folder that is no log.
        OSError: When it cannot be opened.

    Example:
        >>> from dsh_session import samples
        >>> load(samples.path("pi-compacted-twice")).seq
        2540
    """
    path = Path(path)
    # Version-0 logs, by far the most, do without the importers; a pipe, which can be read only once, must be one.
    if not path.is_dir() and (not path.is_file() or is_version_0(_head_of(path))):
        return _load_strictly(path)
    from dsh_session.importers.registry import load_otherwise

    return load_otherwise(path)


def import_log(path: str | Path, *, format: str | None = None, **options: Any) -> "Imported":  # noqa: A002 (what it is)
    """Read a log of any agent: its session, forks and sub-agents, and all that is no event.

    Args:
        path: A file, or a folder that is one log.
        format: The name of its format, for one that is not recognised.
        options: What the format's importer takes, such as ``compaction="exact"`` for Codex.

    Returns:
        An `Imported`, with `session`, `forks`, `subagents`, `side_table` and `findings`.

    Raises:
        ImportLogError: ``IMPORT_UNKNOWN``, ``IMPORT_EMPTY``, ``IMPORT_FOLDER`` or ``IMPORT_NO_SUCH_FORMAT``.
        OSError: When it cannot be opened.

    Example:
        >>> from dsh_session import samples
        >>> import_log(samples.path("pi-compacted-twice")).agent
        'dsh'
    """
    from dsh_session.importers.registry import import_log as read_any

    return read_any(path, format=format, **options)


def _head_of(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        head = file.read(1 << 16)
    if not head.startswith(source.ZSTD_MAGIC):
        return head
    pieces: list[bytes] = []
    try:
        for piece in source.read_pieces(path):
            pieces.append(piece)
            if sum(map(len, pieces)) > 1 << 16:
                break
    except (source.TornSourceError, source.DamagedSourceError, SessionError):
        pass  # whoever reads it says so
    return b"".join(pieces)


def explore(subject: "Subject", **options: Any) -> "Explorer":
    """Show a session as a widget: step through it, append to it, compact it, fork it.

    The widgets are loaded by the first call; they come with ``pip install "dsh-session[lab]"``.

    Args:
        subject: A session, a store or a context, or a `SurfaceHistory`.
        options: `moment`, `policy`, `summarisers` and `meter`; see `dsh_session.widgets.explore`.

    Returns:
        The widget; a cell that ends in it shows it.

    Raises:
        ImportError: When ipywidgets or anywidget is missing.
        TypeError: For anything else than what is named above.

    Example:
        >>> explorer = explore(Session("tour", clock=lambda: 0))
        >>> explorer
        <Explorer of tour: before the first event, 0 nodes, panel Event>
        >>> explorer.close()
    """
    from dsh_session.widgets.explorer import explore as shown

    return shown(subject, **options)


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
