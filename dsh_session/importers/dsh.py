"""Logs of format version 0, which need no conversion."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dsh_session.core.errors import SessionError
from dsh_session.core.invariants import check_invariants
from dsh_session.core.jsonl import load
from dsh_session.core.revision import is_version_0
from dsh_session.core.session import Finding
from dsh_session.core.source import DamagedSourceError, TornSourceError, read_pieces
from dsh_session.importers.book import Book
from dsh_session.importers.detection import Sample
from dsh_session.importers.dsh_later.importer import read_tolerantly
from dsh_session.importers.found import Descent, Imported

_TOLD: Final = 20  # of the rules that one log breaks


class Dsh:
    """Reads version-0 logs: verbatim where they are sound, as much as there is where they are not.

    Example:
        >>> from dsh_session import samples
        >>> Dsh().read(samples.path("pi-compacted-twice")).findings
        ()
    """

    name = "dsh"
    agent = "dsh"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by its header line: ``{"type": "session", "version": 0, …}``."""
        return is_version_0(sample.head)

    def read(self, path: Path, **_options: Any) -> Imported:
        """Read a log."""
        book = Book(path.name)
        try:
            session = load(path)
        except SessionError as error:
            told = f"the log breaks a rule of its format ({error.code}: {error.message}); it was read as far as it goes"
            book.finding("NOT_STRICT", told, error.line, offset=error.offset)
            return read_tolerantly(path, book, agent=self.agent, keeps_unknown=True)
        if any(finding.code == "TORN_TAIL" and _has_more(path, finding) for finding in session.findings):
            return read_tolerantly(path, book, agent=self.agent, keeps_unknown=True)
        violations = check_invariants(session.events, allow_result_rewrite=True)
        if violations:
            for violation in violations[:_TOLD]:
                told = f"seq {violation.seq} breaks the rule {violation.rule!r}: {violation.message}; it was put right"
                book.finding("NOT_STRICT", told, violation.seq + 2)
            return read_tolerantly(path, book, agent=self.agent, keeps_unknown=True)
        book.findings += session.findings
        book.side("header", session.header.to_dict(), line=1, session=session.id)
        # One event a line, below the header's.
        for event in session.events:
            book.source(session.id, event.seq, event.seq + 2)
        parent, lineage = session.header.parent_session, []
        if parent is not None:
            length = session.header.seed_length
            lineage = [Descent(session.id, parent, length or 0, "subagent" if length is None else "fork")]
        return Imported(session, book, agent=self.agent, lineage=lineage)


def _has_more(path: Path, torn: Finding) -> bool:
    """Tell whether lines follow the one where a strict reader stopped."""
    seen = 0
    with suppress(TornSourceError, DamagedSourceError):
        for piece in read_pieces(path):
            if piece.find(b"\n", max((torn.offset or 0) - seen, 0)) >= 0:
                return True
            seen += len(piece)
    return False


IMPORTER = Dsh()
