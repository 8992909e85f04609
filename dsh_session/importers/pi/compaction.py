"""The compactions of a pi session as replacements of ranges.

A compaction keeps a tail of the path and puts a summary in the place of what comes before it. It
names the first entry that it keeps; newer ones hold a copy of the messages that they keep.
"""

from typing import TYPE_CHECKING, Any

from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import text_of
from dsh_session.importers.pi.content import plain_blocks, spoken
from dsh_session.importers.pi.entries import Entry

if TYPE_CHECKING:
    from dsh_session.importers.pi.writer import EntryWriter

_ASIDE = ("type", "id", "parentId", "timestamp", "summary", "tokensBefore")


def compact(writer: "EntryWriter", entry: Entry) -> None:
    """Write a compaction where the path has come to it."""
    make = writer.make
    if not _is_on_its_branch(writer, entry):
        message = "a compaction names a first kept entry that is not on this path: it was made on another branch"
        make.finding("COMPACTION_ON_OTHER_BRANCH", message)
    kept, again = _kept(writer, entry)
    start, end = _range_before(writer, kept)
    summary = plain_blocks(entry.data.get("summary"))
    provider, model = writer.route
    made = make.compaction(
        start=start,
        end=end,
        summary=summary or None,
        provider=provider,
        model=model,
        tokens_before=entry.data.get("tokensBefore"),
    )
    for key, value in entry.data.items():
        if key not in _ASIDE and value not in (None, "", [], {}):
            make.side(f"compaction.{key}", value, seq=made)
    for message in again:
        _append_again(writer, message)


def reset(writer: "EntryWriter", entry: Entry) -> None:
    """Write what clears the context: the whole surface makes room for a line that says so."""
    make = writer.make
    surface = make.surface
    make.side("reset_boundary", entry.data)
    if not len(surface):
        return
    provider, model = writer.route
    make.compaction(start=surface[0], end=surface[-1], summary=None, provider=provider, model=model)


def edit(writer: "EntryWriter", entry: Entry) -> None:
    """Write what changes, or leaves out, the part that one earlier entry has in the context."""
    make = writer.make
    target = entry.data.get("targetId")
    place = writer.position_of(writer.log.numbers.get(target)) if isinstance(target, str) else None
    node = None if place is None else writer.nodes.get(place)
    if node is None or not make.is_live(node):
        make.finding("EDIT_NOT_FOUND", "a change of an entry that is not in the context here; it is in the side table")
        make.side("context_edit", entry.data)
        return
    given = entry.data.get("replacement")
    blocks = None
    if isinstance(given, dict):
        blocks = [_shown(block) for block in spoken(given.get("content")).blocks]
    provider, model = writer.route
    made = make.shorten(node, blocks, provider=provider, model=model)
    if made is not None and place is not None:
        writer.note_node(made, place)
    make.side("context_edit", entry.data, seq=made)


def _is_on_its_branch(writer: "EntryWriter", entry: Entry) -> bool:
    """Tell whether the entries that a summary stands for are ancestors of it."""
    first = entry.data.get("firstKeptEntryId")
    if not isinstance(first, str) or first not in writer.log.numbers:
        return True
    place = writer.position_of(writer.log.numbers[first])
    return place is not None and place <= writer.at


def _kept(writer: "EntryWriter", entry: Entry) -> tuple[int | None, list[Any]]:
    """Find what a compaction keeps.

    Returns:
        The position from which on everything is kept, None where nothing is; and messages that are kept
        though they are not there, and come again after the summary.
    """
    tail = entry.data.get("retainedTail")
    if isinstance(tail, list):
        return _retained(writer, tail)
    first = entry.data.get("firstKeptEntryId")
    if isinstance(first, str):
        place = writer.position_of(writer.log.numbers.get(first))
        if place is None and first not in writer.log.numbers:
            writer.make.finding(
                "KEPT_NOT_FOUND", "a compaction keeps from an entry on that does not exist: nothing is kept"
            )
        return (place if place is None or place <= writer.at else None), []
    if first is None and "firstKeptEntryId" in entry.data:
        return None, []  # it says that it keeps nothing
    index = entry.data.get("firstKeptEntryIndex")
    array = writer.log.array
    if type(index) is int and 0 <= index < len(array) and array[index] is not None:
        return writer.position_of(array[index]), []
    if index != 0:
        writer.make.finding("KEPT_NOT_FOUND", "a compaction does not say what it keeps: nothing is kept")
    return None, []


def _range_before(writer: "EntryWriter", kept: int | None) -> tuple[int | None, int | None]:
    """Give the range that ends before the first surface node at or after a position."""
    surface = list(writer.make.surface)
    if not surface:
        return None, None
    if kept is None:
        return surface[0], surface[-1]
    # An earlier summary is never kept: the new one stands for it as well.
    places = (writer.place_of(seq) for seq in surface)
    cut = next((at for at, place in enumerate(places) if place is not None and place >= kept), len(surface))
    first = writer.first_node(kept)
    if first is not None and (cut == len(surface) or first != surface[cut]):
        message = "a compaction keeps messages that an earlier one has replaced; they cannot be brought back"
        writer.make.finding("KEPT_IS_GONE", message)
    return (surface[0], surface[cut - 1]) if cut else (None, None)


# ------------------------------------------------------------------------------------------------------ retained tails


def _retained(writer: "EntryWriter", tail: list[Any]) -> tuple[int | None, list[Any]]:
    """Match copies of messages to the end of the path; responses that failed may be missing among them."""
    if not tail:
        return None, []
    copies = [_key(copy) for copy in tail]
    places = [at for at in sorted(writer.nodes) if at < writer.at and writer.path[at].message]
    for kept in (places, [at for at in places if not _has_failed(writer.path[at].message)]):
        last = kept[-len(tail) :]
        if [_key(writer.path[at].message) for at in last] == copies:
            return last[0], []
    message = (
        f"a compaction keeps {len(tail)} messages that are not the last ones of the path; they come again after it"
    )
    writer.make.finding("RETAINED_TAIL", message)
    return None, tail


def _has_failed(message: Any) -> bool:
    return isinstance(message, dict) and message.get("stopReason") in ("error", "aborted")


def _key(message: Any) -> bytes:
    if not isinstance(message, dict):
        return text_of(message)
    return text_of([message.get("role"), message.get("content", message.get("summary")), message.get("toolCallId")])


def _append_again(writer: "EntryWriter", message: Any) -> None:
    """Write a message that is kept by a copy: as context, since no step of ours made it."""
    if not isinstance(message, dict):
        writer.make.context([{"type": "text", "text": text_from(message)}], kind="retained")
        return
    role = text_from(message.get("role"))
    blocks = [_shown(block) for block in spoken(message.get("content", message.get("summary"))).blocks]
    writer.make.context(blocks, kind="retained", meta={"role": role})


def _shown(block: Any) -> Any:
    """Make a call a line of text: outside its step it would want a result."""
    if isinstance(block, dict) and block.get("type") == "tool-call":
        return {
            "type": "text",
            "text": f"[tool call: {text_from(block.get('name'))}({text_from(block.get('arguments'))})]",
        }
    return block
