from typing import Any, NamedTuple

import pytest

from dsh_session import check_invariants
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.book import Book
from dsh_session.importers.path_writer import PathWriter
from dsh_session.importers.paths import Boundary

BEGIN = Boundary(0, 0, None)


class Row(NamedTuple):
    line: int
    time: int | None
    kind: str
    call: str = ""


class Writer(PathWriter[Row]):
    """A format of prompts, calls and answers."""

    def __init__(self, *kinds: str) -> None:
        make = Assembler({"id": "s", "createdAt": 0}, Book("log"), plugin="example")
        rows = [Row(number, number * 1000, *kind.split()) for number, kind in enumerate(kinds, 1)]
        super().__init__(rows, make, BEGIN)
        for at, row in enumerate(rows):
            if row.kind == "call":
                self.ahead.note_call(row.call, at)
            elif row.kind == "answer":
                self.ahead.note_answer(row.call, at)

    def take(self, row: Row) -> None:
        if row.kind == "answer":
            self.take_answer(row, self.at)
            return
        self.bring_answers()
        if row.kind == "prompt":
            self.end_turn_before()
            self.make.prompt("Go on.")
        else:
            call: dict[str, Any] = {"type": "tool-call", "id": row.call, "name": "read", "arguments": "{}"}
            self.make.response([call])

    def take_answer(self, row: Row, at: int) -> None:
        self.make.result(row.call, f"answer at {at}")

    def end_turn(self) -> None:
        if self.make.end_turn() is not None:
            self.note_boundary(self.at)


def test_an_answer_further_on_is_brought_to_its_call_and_not_written_twice() -> None:
    writer = Writer("prompt", "call c1", "prompt", "answer c1", "call c2")
    writer.write()
    session = writer.make.finish()
    results = [event for event in session.events if event.type == "tool/result"]
    assert results[0].data["content"][0]["text"] == "answer at 3"
    assert results[0].time == 4000
    assert check_invariants(session.events) == []
    assert [finding.code for finding in writer.make.book.findings] == ["CALL_WITHOUT_RESULT"]


def test_a_fork_begins_behind_what_was_brought() -> None:
    """The turn that ended at the second prompt holds an answer from behind it."""
    writer = Writer("prompt", "call c1", "prompt", "answer c1", "call c2")
    writer.write()
    assert writer.boundaries.before(3) == BEGIN
    assert writer.boundaries.before(4).state == 2


def test_a_turn_ends_when_its_last_row_was_written() -> None:
    writer = Writer("prompt", "prompt")
    writer.write()
    assert [event.time for event in writer.make.finish().events] == [1000, 1000, 1000, 2000, 2000, 2000]


def test_a_format_says_what_a_row_becomes() -> None:
    make = Assembler({"id": "s", "createdAt": 0}, Book("log"), plugin="example")
    abstract: Any = PathWriter
    with pytest.raises(TypeError, match=r"end_turn.*take.*take_answer"):
        abstract([Row(1, 0, "prompt")], make, BEGIN)
