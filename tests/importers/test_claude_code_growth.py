"""Work in proportion to a log, whatever its lines have in common; counted, since a clock tells little of small logs."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dsh_session.importers import import_log
from dsh_session.importers.claude_code import importer, nodes, sameness, sessions, taking
from dsh_session.importers.claude_code.entries import Entry
from dsh_session.importers.pen import Pen
from tests.importers.claude_lines import assistant, call, line, result, turn, user
from tests.importers.lines import write_lines

NOW = "2026-03-01T00:00:00.000Z"


def lines_of_one_response_and_copies_of_them(size: int) -> list[dict[str, Any]]:
    made = [assistant(f"a{at}", f"a{at - 1}" if at else "p", f"Part {at}.", of="m") for at in range(size)]
    copies = [assistant(f"b{at}", "p", f"Part {at}.", of="m") for at in range(size)]
    return [user("p", None), *made, *copies]


def responses_of_one_id_that_hang_apart(size: int) -> list[dict[str, Any]]:
    return [user("p", None), *(assistant(f"a{at}", "p", f"Part {at}.", of="m") for at in range(size))]


def messages_of_one_moment(size: int) -> list[dict[str, Any]]:
    return [user("p", None), *(assistant(f"a{at}", "p", f"Answer {at}.", timestamp=NOW) for at in range(size))]


def copies_of_one_line(size: int) -> list[dict[str, Any]]:
    return [*turn("p", None), *(assistant("pa", "p", f"Answer {at}.") for at in range(size))]


def types_that_nobody_knows(size: int) -> list[dict[str, Any]]:
    return [*turn("p", None), *({"type": f"type-{at}"} for at in range(size))]


def branches_out_of_one_long_turn(size: int) -> list[dict[str, Any]]:
    made = [user("p", None), assistant("a0", "p")]
    for at in range(1, size):
        made += [assistant(f"b{at}", f"a{at - 1}"), assistant(f"a{at}", f"a{at - 1}")]
    return made


def calls_of_one_id(size: int) -> list[dict[str, Any]]:
    return [user("p", None), assistant("a", "p", *(call("c") for _ in range(size)))]


def results_without_an_id(size: int) -> list[dict[str, Any]]:
    calls = assistant("a", "p", *(call(f"c{at}") for at in range(size)))
    results = [result(f"r{at}", "a", "") for at in range(size)]
    for one in results:
        del one["message"]["content"][0]["tool_use_id"]
    return [user("p", None), calls, *results]


SHAPES = [
    lines_of_one_response_and_copies_of_them,
    responses_of_one_id_that_hang_apart,
    messages_of_one_moment,
    copies_of_one_line,
    types_that_nobody_knows,
    branches_out_of_one_long_turn,
    calls_of_one_id,
    results_without_an_id,
]


@contextmanager
def counted_steps() -> Iterator[list[int]]:
    """Count the lines of the importers' code that are run."""
    count = [0]

    def step(_: FrameType, what: str, __: Any) -> Any:
        count[0] += what == "line"
        return step

    def enter(frame: FrameType, _: str, __: Any) -> Any:
        return step if "importers" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield count
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_four_times_the_lines_are_four_times_the_work(
    tmp_path: Path, shape: Callable[[int], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "MOST_BRANCHES", 5)  # what is beyond is to be left out quickly
    taken = []
    for size in (100, 400):
        path = write_lines(tmp_path / "log.jsonl", *shape(size))
        with counted_steps() as steps:
            imported = import_log(path)
            assert imported.book.side_rows
        taken.append(steps[0])
    assert taken[0] > 100
    assert taken[1] < 4.3 * taken[0]


@pytest.mark.parametrize("shape", SHAPES[:4], ids=lambda shape: shape.__name__)
def test_a_line_is_read_at_most_twice_to_be_compared(
    tmp_path: Path, shape: Callable[[int], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Entry] = []
    of_line = sameness._content

    def noted(entry: Entry) -> list[Any]:
        read.append(entry)
        return of_line(entry)

    monkeypatch.setattr(sameness, "_content", noted)
    lines = shape(100)
    import_log(write_lines(tmp_path / "log.jsonl", *lines))
    assert len(read) <= 2 * len(lines)


def test_the_calls_that_wait_are_not_listed_for_every_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Pen] = []

    def noted(pen: Pen) -> tuple[str, ...]:
        listed.append(pen)
        return tuple(pen._calls)

    monkeypatch.setattr(Pen, "pending", property(noted))
    imported = import_log(write_lines(tmp_path / "log.jsonl", *results_without_an_id(100)))
    assert [finding.code for finding in imported.findings] == ["RESULT_WITHOUT_ID"] * 100
    answered = [event.data["callId"] for event in imported.session.events if event.type == "tool/result"]
    assert answered == [f"c{at}" for at in range(100)]
    assert len(listed) < 10


def test_a_line_of_many_long_texts_is_not_gone_through_for_each() -> None:
    class Text(bytes):
        looked_for = 0

        def count(self, *args: Any) -> int:
            Text.looked_for += 1
            return super().count(*args)

        def replace(self, *args: Any) -> "Text":
            return Text(super().replace(*args))

    parts = [b'"%d %s"' % (at, b"x" * (1000 + at)) for at in range(1000)]
    raw = Text(b"[" + b",".join(parts) + b"]")
    left = taking.without(raw, parts)
    assert 0 < Text.looked_for <= 20
    assert len(left) < len(raw) - 20_000


def test_a_response_longer_than_any_real_one_is_compared_to_its_end(tmp_path: Path) -> None:
    imported = import_log(write_lines(tmp_path / "log.jsonl", *lines_of_one_response_and_copies_of_them(300)))
    assert imported.forks == ()
    assert len(imported.book.side_rows) > 300
    told = [finding.message for finding in imported.findings]
    assert told == ["300 lines repeat another one, the first at line 302; they were left out"]


def test_lines_of_a_type_are_counted_by_it(tmp_path: Path) -> None:
    lines = [*turn("p", None), line("odd", "o", "pa"), {"type": "even"}, {"type": "even"}]
    told = [finding.message for finding in import_log(write_lines(tmp_path / "log.jsonl", *lines)).findings]
    assert told == [
        "lines of type 'even' are not known (2 of them, the first at line 4); they are in the side table",
        "lines of type 'odd' are not known (1 of them, the first at line 3); they are in the side table",
    ]


def test_lines_of_other_conversations_are_let_go_of_when_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown: list[nodes.Node] = []
    write_tree = sessions.write_tree

    def noted(tree: nodes.Tree, *args: Any, **options: Any) -> Any:
        grown.extend(tree.nodes)
        return write_tree(tree, *args, **options)

    monkeypatch.setattr(importer, "write_tree", noted)
    roots = [one for at in range(10) for one in turn(f"p{at}", None)]
    imported = import_log(write_lines(tmp_path / "log.jsonl", *roots, assistant("x", "p9", "Another way.")))
    assert len(imported.forks) == 10
    # What stays is the turn that a fork left in its middle.
    assert [node.place for node in grown if node.entries] == [18]


def test_what_a_program_froze_stays_frozen(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", *turn("p", None))
    assert gc.isenabled()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        import_log(path)
        assert gc.get_freeze_count() >= frozen - 100  # some of it is freed, one by one
    finally:
        gc.unfreeze()
    import_log(path)
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()
