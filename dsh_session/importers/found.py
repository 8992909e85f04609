"""What an import gives."""

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from dsh_session.core.session import Finding, Session
from dsh_session.importers.book import Book
from dsh_session.importers.tolerant import whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from pandas.api.extensions import ExtensionArray


class Descent(NamedTuple):
    """Where a further session of an import comes from.

    Attributes:
        session: Its id.
        parent: The id of the session it was forked from, or that started it.
        seed_length: How many leading events it shares with its parent; 0 for a sub-agent.
        kind: ``"fork"`` or ``"subagent"``.
        call: The id of the tool call that started a sub-agent, where it is known.
    """

    session: str
    parent: str
    seed_length: int
    kind: Literal["fork", "subagent"]
    call: str | None = None


class Imported:
    """One imported log: its sessions, and everything of it that is no event.

    Nothing of a source is lost without a word: each of its lines stands in `sources`, in
    `side_table` or in `findings`.

    Attributes:
        session: The session: the active path of the log.
        forks: What was left behind by going back, and other branches; each shares leading events with
            its parent.
        subagents: Sessions that a tool call of another one started.
        others: Further sessions of the same file that have nothing to do with the first one: an evaluation's
            samples, a list of conversations.
        findings: What was repaired, left out or ambiguous.
        agent: The agent's name for people, such as ``"Claude Code"``.
        lineage: One `Descent` for each fork and sub-agent.

    Example:
        >>> from dsh_session import samples
        >>> from dsh_session.importers import import_log
        >>> imported = import_log(samples.path("pi-compacted-twice"))
        >>> imported
        <Imported dsh 'pi-compacted-twice': 2540 events, 0 forks, 0 sub-agents, 0 findings>
        >>> list(imported.sources.columns)
        ['session', 'seq', 'file', 'line']
    """

    def __init__(
        self,
        session: Session,
        book: Book,
        *,
        agent: str,
        forks: tuple[Session, ...] | list[Session] = (),
        subagents: tuple[Session, ...] | list[Session] = (),
        lineage: tuple[Descent, ...] | list[Descent] = (),
        others: tuple[Session, ...] | list[Session] = (),
    ) -> None:
        """Take what an importer made.

        Args:
            session: The main session.
            book: What was collected while it was made.
            agent: The agent's name for people.
            forks: Further branches.
            subagents: Sessions of sub-agents.
            lineage: Where the further sessions come from.
            others: Sessions that have nothing to do with the first one.
        """
        self.session = session
        self.forks = tuple(forks)
        self.subagents = tuple(subagents)
        self.others = tuple(others)
        self.agent = agent
        self.lineage = tuple(lineage)
        self.book = book
        self.findings: tuple[Finding, ...] = tuple(book.findings)
        # A session says itself what its load had to say.
        session.findings = list(book.findings)

    def add_finding(self, code: str, message: str) -> None:
        """Note something about the whole log, once it was read."""
        self.book.finding(code, message)
        self.findings = tuple(self.book.findings)
        self.session.findings = list(self.book.findings)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """All sessions: the main one, the forks, the sub-agents, the others."""
        return (self.session, *self.forks, *self.subagents, *self.others)

    @cached_property
    def side_table(self) -> "pd.DataFrame":
        """What has no place in an event: session, seq (or NA), file, line, key, and value as JSON text."""
        import pandas as pd

        rows = self.book.side_rows
        return pd.DataFrame(
            {
                "session": _texts(row[0] for row in rows),
                "seq": pd.array([row[1] for row in rows], dtype="Int64"),
                "file": _texts(row[2] for row in rows),
                "line": pd.array([row[3] for row in rows], dtype="Int64"),
                "key": _texts(row[4] for row in rows),
                "value": _texts(row[5].decode("utf-8", "replace") for row in rows),
            }
        )

    @cached_property
    def sources(self) -> "pd.DataFrame":
        """The lines that each event was made of: session, seq, file, line; many to many."""
        import pandas as pd

        rows = self.book.source_rows
        return pd.DataFrame(
            {
                "session": _texts(row[0] for row in rows),
                "seq": pd.array([row[1] for row in rows], dtype="Int64"),
                "file": _texts(row[2] for row in rows),
                "line": pd.array([row[3] for row in rows], dtype="Int64"),
            }
        )

    def __repr__(self) -> str:
        """Name the agent and the session, and count."""
        counts = (
            f"{self.session.seq} events, {len(self.forks)} forks, {len(self.subagents)} sub-agents, "
            f"{len(self.findings)} findings"
        )
        if self.others:
            counts += f", {len(self.others)} more sessions"
        return f"<Imported {self.agent} {self.session.id!r}: {counts}>"


def _texts(values: "Iterable[str | None]") -> "ExtensionArray":
    """Make a column of texts, which takes no half of a character."""
    import pandas as pd

    texts = list(values)
    try:
        return pd.array(texts, dtype="str")
    except UnicodeEncodeError:
        return pd.array([None if text is None else whole(text) for text in texts], dtype="str")
