"""A Codex rollout taken apart: its records, what they are, and which of them are still in force."""

from pathlib import Path
from typing import Any, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.codex.items import PARTS
from dsh_session.importers.codex.prompts import Prompts, find_prompts
from dsh_session.importers.codex.records import STARTS, Record, read_records
from dsh_session.importers.paths import ROOT

SPOKEN_EVENTS = frozenset({"agent_message", "agent_reasoning"})
"""Events that say again what items say; in rollouts without items they are all there is."""

TOOL_ENDS = frozenset({"exec_command_end", "mcp_tool_call_end", "patch_apply_end", "web_search_end"})
"""Events that tell of a tool's call and result at once."""


class Rollout(NamedTuple):
    """One rollout.

    Attributes:
        records: Its records, in file order.
        prompts: Which of them are prompts.
        parents: For each record the one before it that was in force when it was written, or `ROOT`.
        leaf: The last record that is in force.
        source: Where responses are: ``"items"``, ``"events"``, or ``"counts"`` when there are none.
        meta: The session's own meta data; empty where it has none.
        meta_line: The line of it.
    """

    records: list[Record]
    prompts: Prompts
    parents: list[int]
    leaf: int
    source: str
    meta: dict[str, Any]
    meta_line: int | None


def read_rollout(source: Path | bytes, book: Book) -> Rollout:
    """Read a rollout.

    Args:
        source: The file, or its bytes.
        book: Takes the findings.
    """
    records = read_records(source, book)
    prompts = find_prompts(records)
    parents, leaf = _tree(records, prompts, book)
    metas = [record for record in records if record.kind == "meta"]
    first = metas[0] if metas else None
    return Rollout(
        records,
        prompts,
        parents,
        leaf,
        _source_of(records),
        first.data if first else {},
        first.line if first else None,
    )


def is_response_part(record: Record) -> bool:
    """Tell whether an item is part of what a model said."""
    if record.kind != "item":
        return False
    return record.type in PARTS or (record.type == "message" and record.data.get("role") == "assistant")


def is_told_part(record: Record) -> bool:
    """Tell whether an event says what a model said or had done, for rollouts that have no items."""
    return record.kind == "event" and (_is_spoken(record) or record.type in TOOL_ENDS)


def _source_of(records: list[Record]) -> str:
    if any(map(is_response_part, records)):
        return "items"
    if any(record.kind == "event" and _is_spoken(record) for record in records):
        return "events"
    return "counts"


def _is_spoken(record: Record) -> bool:
    if record.type in SPOKEN_EVENTS:
        return True
    item = record.data.get("item")
    return (
        record.type == "item_completed"
        and isinstance(item, dict)
        and text_from(item.get("type")) not in ("UserMessage", "user_message")
    )


def _tree(records: list[Record], prompts: Prompts, book: Book) -> tuple[list[int], int]:
    """Find what each record follows: going back by some turns leaves what came after them."""
    parents: list[int] = []
    begins: list[int] = []  # of the turns in force: the first record
    opened: int | None = None  # a mark that the next turn begins here
    at = ROOT
    for number, record in enumerate(records):
        if record.kind == "event" and record.type == "thread_rolled_back":
            at = _rolled_back(record, records, begins, parents, at, book)
            opened = None
        elif record.kind == "event" and record.type in STARTS:
            opened = number
        elif number in prompts.prompts:
            begins.append(number if opened is None else opened)
            opened = None
        elif is_response_part(record):
            opened = None
        parents.append(at)
        at = number
    return parents, at


def _rolled_back(
    record: Record, records: list[Record], begins: list[int], parents: list[int], at: int, book: Book
) -> int:
    count = record.data.get("num_turns")
    if type(count) is not int or count < 1:
        told = f"going back by {text_from(count) or 'no number of'} turns; nothing was taken back"
        book.finding("ROLLBACK_UNCLEAR", told, record.line)
        return at
    if count > len(begins):
        told = f"going back by {count} turns where there are {len(begins)}; all of them were taken back"
        book.finding("ROLLBACK_UNCLEAR", told, record.line)
    if not begins:
        return at
    first = begins[-min(count, len(begins))]
    del begins[-min(count, len(begins)) :]
    told = f"the log goes back by {count} turns, to line {records[first].line}; what was taken back is a fork"
    book.finding("ROLLED_BACK", told, record.line)
    return parents[first]
