"""Writing a well-formed session from what another agent logged, whatever that is.

An importer says what happened, in the order of its log; an `Assembler` keeps turns, steps, calls and
surface in order, so that what comes out passes the invariants.
"""

from typing import Any

from dsh_session.core.event import peek
from dsh_session.core.header import SessionHeader
from dsh_session.core.lossless import encode
from dsh_session.core.session import Session
from dsh_session.importers.pen import header_from, short
from dsh_session.importers.ranges import FORGOTTEN, Ranges, price_of
from dsh_session.importers.turns import USER, Reason

__all__ = ["FORGOTTEN", "USER", "Assembler", "Reason", "header_from", "price_of"]


class Assembler(Ranges):
    """Writes one session; see the module.

    Args:
        header: The session's header in wire form; what it lacks is filled in.
        book: Takes findings, the side table, and the lines that each event is made of.
        file: The file that the lines are of; the book's by default.
        plugin: The name of the agent, for the source of what nobody said.

    Attributes:
        id: The session's id.
        book: The book.
        closed_at: Seqs of the ``turn/end`` events so far.

    Example:
        >>> from dsh_session.importers.book import Book
        >>> book = Book("log.jsonl")
        >>> make = Assembler({"id": "s", "createdAt": 1000}, book, plugin="example")
        >>> make.at(1, 1000).prompt("What does README.md say?")
        1
        >>> make.at(2, 2000).response(
        ...     [{"type": "tool-call", "id": "c1", "name": "read", "arguments": '{"path": "README.md"}'}],
        ...     provenance={"provider": "p", "model": "m"},
        ... )
        3
        >>> make.at(3, 3000).result("c1", "# Hello")
        5
        >>> session = make.finish()
        >>> [event.type for event in session.events][-4:], session.surface.nodes
        (['tool/call', 'tool/result', 'step/end', 'turn/end'], (1, 3, 5))
    """

    def inherit(self, seed_length: int) -> None:
        """Say that leading events were copied from the session that the header names as the parent.

        Args:
            seed_length: How many; it goes into the header.
        """
        self._wire["seedLength"] = seed_length

    def branch(self, session_id: str, seed_length: int, **header: Any) -> "Assembler":
        """Begin a fork that shares leading events.

        Args:
            session_id: The fork's id.
            seed_length: How many events it shares. They end with a ``turn/end``; where they do not, the
                fork begins at the last one before, and a finding says so.
            header: Further fields of its header, in wire form.

        Returns:
            What writes the fork.
        """
        ends = [seq for seq in self.closed_at if seq < seed_length]
        length = ends[-1] + 1 if ends else 0
        if length != seed_length:
            told = f"the fork {short(session_id)} leaves in the middle of a turn; it begins at the last turn's end"
            self.finding("BRANCH_MID_TURN", told)
        wire: dict[str, Any] = {key: self._wire[key] for key in ("createdAt", "cwd") if key in self._wire}
        wire |= {**header, "id": session_id, "parentSession": self.id, "seedLength": length}
        child = Assembler(wire, self.book, file=self._file, plugin=self.plugin)
        if length:
            self._session._forked(child._session, length - 1)
            child._links = child._session._links
        child._traced = length
        child._turn = len(ends)
        child.closed_at = ends
        child._has_times, child._now = self._has_times, self._now
        child._balance = {seq: count for seq, count in self._balance.items() if seq < length}
        child._parent = (self.id, length)
        for event in reversed(child._log) if self._header is not None else ():
            if event.type == "request/header":
                child._header = peek(event)["header"]
                break
        return child

    def finish(self, reason: Reason = None) -> Session:
        """Close what is open and give the session.

        Args:
            reason: Why the last turn ended; ``completed`` by default.
        """
        session = self._session
        if self._is_over:
            return session
        self._is_over = True
        self._close_turn(reason)
        self._trace()
        own = len(self._log) - (self._parent[1] if self._parent else 0)
        if own and not self._has_times:
            told = "the log has no times; they are those of its header, rising by one millisecond per event"
            self.book.finding_once("NO_TIMES", told)
        header = SessionHeader(self._wire, recorded=True)
        session._adopt(header, encode({"type": "session", **self._wire}), [])
        return session
