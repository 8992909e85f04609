"""Finding logs: in a folder of any layout, in a database, or one file that was named."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dsh_session.persistence.jsonl import EXTENSIONS, stored_at
from dsh_session.persistence.protocol import StoredSession
from dsh_session.persistence.rows import text_out
from dsh_session.persistence.sqlite import MAGIC, SqlitePersistence, open_for_reading, stored_pieces, told
from dsh_session.persistence.validation import LogFinding, validate_log, validate_pieces


def find_logs(path: Path) -> Iterator[Path]:
    """Find the log files below a folder, by their names, in order; links to folders are not followed.

    Raises:
        OSError: When a folder cannot be read.
    """
    entries = sorted(path.iterdir(), key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            if not entry.is_symlink():
                yield from find_logs(entry)
        elif entry.name.endswith(EXTENSIONS):
            yield entry


def list_sessions(root: str | Path) -> list[StoredSession]:
    """List the sessions in a folder or a database; what cannot be read is listed with its error.

    Args:
        root: A folder, whatever the layout below it, a database of sessions, or one log file.

    Raises:
        OSError: When it cannot be read.
        PersistenceError: When it is a database of something else, or of a later version.
    """
    root = Path(root)
    if root.is_dir():
        return [stored_at(path) for path in find_logs(root)]
    if is_database(root):
        return SqlitePersistence(root).list()
    root.stat()
    return [stored_at(root)]


def validate(path: str | Path) -> Iterator[LogFinding]:
    """List everything that is wrong with a log file, or with each session of a database; see `validate_log`."""
    path = Path(path)
    if not is_database(path):
        yield from validate_log(path)
        return
    with told(path), closing(open_for_reading(path)) as connection:
        for key, header in connection.execute("SELECT session_id, header FROM sessions ORDER BY session_id").fetchall():
            identity = text_out(key)
            pieces = stored_pieces(connection, text_out(header).encode(), identity)
            yield from validate_pieces(pieces, f"{path}, session {identity!r}")


def is_database(path: Path) -> bool:
    """Tell whether a file is an SQLite database.

    Raises:
        OSError: When it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
