"""The compactions of a Codex rollout.

A ``compacted`` line holds the whole new context: messages that were kept, some of them cut, and a
summary, which the provider may have encrypted. What was kept is not one stretch of the old context, since
the tool calls between the messages are gone. So there are two ways to say it:

``collapse``
    One message takes the place of everything, and holds the new context as text.
``exact``
    The first kept item takes the place of everything, and the others come again after it, each citing
    the event that it repeats.
"""

from typing import TYPE_CHECKING, Any, Final

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.items import blocks_of, plain_text
from dsh_session.importers.codex.records import Record

if TYPE_CHECKING:
    from dsh_session.importers.codex.writer import RolloutWriter

KEPT_CHARACTERS: Final = 80_000
"""How much of the user's messages is kept where a log does not say: 20,000 tokens of four characters."""

_OPAQUE: Final = ("compaction", "compaction_summary", "context_compaction")


def compact(writer: "RolloutWriter", record: Record) -> None:
    """Write a compaction where the path has come to it."""
    make = writer.make
    history = _history(writer, record)
    summary = record.data.get("message") or record.data.get("summary")
    for key, value in record.data.items():
        if key not in ("message", "replacement_history", "replacement_history_entries") and value not in (None, "", []):
            make.side(f"compacted.{key}", value)
    if history is None:
        history = _by_budget(writer, text_from(summary))
        make.finding(
            "KEPT_BY_BUDGET", "a compaction does not say what it kept: recent user messages were taken as kept"
        )
    surface = list(make.surface)
    start, end = (surface[0], surface[-1]) if surface else (None, None)
    provider, model = writer.settings.config.get("provider"), writer.settings.config.get("model")
    if writer.compaction == "exact" and history and start is not None:
        first, *others = history
        made = make.compaction(start=start, end=end, summary=_blocks(first), provider=provider, model=model)
    else:
        others = []
        made = make.compaction(start=start, end=end, summary=rendered(history) or None, provider=provider, model=model)
    make.side("replacement_history", history, seq=made)
    matches = writer.originals.matches(history, set(surface))
    for number, (item, match) in enumerate(zip(history, matches, strict=True)):
        make.side("kept", {"item": number, "role": _role(item), "seq": match}, seq=made)
    if writer.compaction == "exact":
        found = sum(match is not None for match in matches)
        make.finding(
            "KEPT_ITEMS", f"{found} of the {len(history)} items that a compaction keeps match events before it"
        )
        for item, match in zip(others, matches[1:], strict=True):
            _again(writer, item, match)


def _history(writer: "RolloutWriter", record: Record) -> list[Any] | None:
    """Give the items of the new context; None where the line has none."""
    history = record.data.get("replacement_history")
    if isinstance(history, list):
        return [item.get("item", item) if isinstance(item, dict) and "type" not in item else item for item in history]
    entries = record.data.get("replacement_history_entries")
    if not isinstance(entries, list):
        return None
    return [_entry(writer, entry) for entry in entries]


def _entry(writer: "RolloutWriter", entry: Any) -> Any:
    """Resolve an entry that holds its item, or names it by its id."""
    if not isinstance(entry, dict):
        return entry
    if isinstance(entry.get("item"), dict):
        return entry["item"]
    wanted = entry.get("item_id")
    if isinstance(wanted, str):
        found = writer.item_by_id(wanted)
        if found is not None:
            return found
        writer.make.finding("KEPT_NOT_FOUND", "a compaction keeps an item by an id that no line before it has")
    return entry


def _by_budget(writer: "RolloutWriter", summary: str) -> list[Any]:
    """Give the recent user messages, the newest of them whole, the last that fits cut, and the summary."""
    kept: list[Any] = []
    left = KEPT_CHARACTERS
    for text in reversed(writer.originals.prompts()):
        if left <= 0:
            break
        kept.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text[:left]}]})
        left -= len(text)
    kept.reverse()
    if summary:
        kept.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": summary}]})
    return kept


def rendered(history: list[Any]) -> list[Any]:
    r"""Give the items of a new context as one text.

    Example:
        >>> rendered([{"role": "user", "content": "Hi."}, {"type": "compaction", "encrypted_content": "abcd"}])
        [{'type': 'text', 'text': '[user]\nHi.\n\n[compaction]\n(encrypted, 4 characters)'}]
    """
    paragraphs = [f"[{_role(item)}]\n{_text(item)}".rstrip() for item in history]
    return [{"type": "text", "text": "\n\n".join(paragraphs)}] if paragraphs else []


def _role(item: Any) -> str:
    if not isinstance(item, dict):
        return "item"
    return text_from(item.get("role")) or text_from(item.get("type")) or "item"


def _text(item: Any) -> str:
    if not isinstance(item, dict):
        return text_from(item)
    if item.get("type") in _OPAQUE:
        return f"(encrypted, {len(text_from(item.get('encrypted_content')))} characters)"
    content = item.get("content", item.get("output", item.get("text")))
    text = plain_text(content)
    images = sum(1 for block in blocks_of(content) if not isinstance(block, dict) or block.get("type") != "text")
    if images:
        text += f"\n({images} parts that are no text)"
    if text:
        return text
    return text_from({key: value for key, value in item.items() if key not in ("role", "type")})


def _blocks(item: Any) -> list[Any]:
    content = blocks_of(item.get("content")) if isinstance(item, dict) else []
    return content or [{"type": "text", "text": _text(item)}]


def _again(writer: "RolloutWriter", item: Any, match: int | None) -> None:
    """Write a kept item again."""
    make = writer.make
    sources = () if match is None else (match,)
    role = _role(item)
    text = plain_text(item.get("content")) if isinstance(item, dict) else ""
    if role == "user":
        seq = make.user(_blocks(item), sources=sources)
    elif role == "assistant":
        seq = make.response(_blocks(item), provenance=writer.settings.config, sources=sources)
        make.end_step()
    else:
        seq = make.context(_blocks(item), kind=role if role.isidentifier() else "item", sources=sources)
    if isinstance(item, dict) and item.get("role") is not None:
        writer.originals.note(role, text, seq)
