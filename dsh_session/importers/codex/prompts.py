"""Which user messages of a Codex rollout a person wrote.

The log holds what the model saw: an item of the role ``user`` may be a prompt, or the working
directory, instructions and notices that the program put there. An event beside it tells that a person
said it; rollouts that have no such events are judged by how the text begins.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.codex.items import blocks_of, plain_text
from dsh_session.importers.codex.records import Record

INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md",
    "<turn_aborted>",
    "<skill",
    "<INSTRUCTIONS>",
    "<user_shell_command>",
    "<permissions",
    "<collaboration_mode>",
    "<subagent_notification>",
    "<hook_prompt",
    "<goal_context>",
    "<codex_internal_context",
    "<model_switch>",
    "<personality_spec>",
    "<recommended_plugins>",
    "<agent_message_board_notification>",
    "Another language model started to solve this problem",
)
"""How texts begin that the program wrote in the user's name."""

_FAR: Final = 12


class Prompts(NamedTuple):
    """What the user messages are; all by the numbers of their records.

    Attributes:
        prompts: Items and events that are prompts.
        echoes: Events that say again what an item, or an earlier event, says: from the event to that.
        unconfirmed: Items that no event confirms, in a rollout that has such events.
    """

    prompts: set[int]
    echoes: dict[int, int]
    unconfirmed: set[int]


def find_prompts(records: Sequence[Record]) -> Prompts:
    """Tell which records are prompts."""
    found = Prompts(set(), {}, set())
    items = {at for at, record in enumerate(records) if _is_user_item(record)}
    events = [at for at, record in enumerate(records) if said_in_event(record) is not None]
    taken: set[int] = set()
    last: int | None = None
    for at in events:
        said = said_in_event(records[at])
        assert said is not None
        item = _item_of(records, at, said, items, taken)
        if item is not None:
            taken.add(item)
            found.prompts.add(item)
            found.echoes[at] = item
            last = item
        elif last is not None and _says_again(records, last, at, said):
            found.echoes[at] = last
        else:
            found.prompts.add(at)
            last = at
    for at in items - taken:
        by_kind = _is_prompt_by_kind(records[at])
        if by_kind is False or (by_kind is None and starts_injected(records[at])):
            continue
        if events and by_kind is None:
            found.unconfirmed.add(at)
        else:
            found.prompts.add(at)
    return found


def said_in_event(record: Record) -> str | None:
    """Give what a person said, as an event has it; None for other records."""
    if record.kind != "event":
        return None
    if record.type == "user_message":
        return text_from(record.data.get("message"))
    item = record.data.get("item")
    if record.type != "item_completed" or not isinstance(item, dict):
        return None
    is_users = text_from(item.get("type")) in ("UserMessage", "user_message")
    return plain_text(item.get("content", item.get("text"))) if is_users else None


def blocks_in_event(record: Record) -> list[object]:
    """Give what a person said and showed, as an event has it."""
    item = record.data.get("item")
    if isinstance(item, dict):
        return blocks_of(item.get("content", item.get("text")))
    shown = record.data.get("images")
    images = [image for image in shown if isinstance(image, str)] if isinstance(shown, list) else []
    return [
        *blocks_of(record.data.get("message")),
        *({"type": "input_image", "image_url": image} for image in images),
    ]


def starts_injected(record: Record) -> bool:
    """Tell whether an item's text begins as the program's own do."""
    return plain_text(record.data.get("content")).lstrip().startswith(INJECTED)


def _is_prompt_by_kind(record: Record) -> bool | None:
    """Tell whether a person wrote an item, as newer versions say of each of its parts; None where they do not."""
    told = record.data.get("internal_chat_message_metadata_passthrough")
    kinds = told.get("content_item_kinds") if isinstance(told, dict) else None
    if not isinstance(kinds, list) or not kinds or not all(isinstance(kind, str) and kind for kind in kinds):
        return None
    return any(kind.partition(".")[0] == "user" for kind in kinds)


def _is_user_item(record: Record) -> bool:
    return record.kind == "item" and record.type == "message" and record.data.get("role") == "user"


def _item_of(records: Sequence[Record], at: int, said: str, items: set[int], taken: set[int]) -> int | None:
    """Find the item that an event is about: near it, with the same text, or else right beside it."""
    near: list[int] = [*range(at - 1, max(at - _FAR, -1), -1), *range(at + 1, min(at + _FAR, len(records)))]
    candidates = [number for number in near if number in items and number not in taken]
    for number in candidates:
        if _says(records[number], said):
            return number
    for number in (at - 1, at + 1):
        if number in candidates and not starts_injected(records[number]):
            # Texts may differ: a publisher has replaced them, or images stand between them.
            return number
    return None


def _says(record: Record, said: str) -> bool:
    wanted = said.strip()
    content = record.data.get("content")
    if plain_text(content).strip() == wanted:
        return True
    texts = (text_from(block.get("text")) for block in blocks_of(content) if isinstance(block, dict))
    return bool(wanted) and any(text.strip() == wanted for text in texts)


def _says_again(records: Sequence[Record], last: int, at: int, said: str) -> bool:
    """Tell whether an event repeats the prompt before it: two forms of event are written for one message."""
    first = said_in_event(records[last])
    text = plain_text(records[last].data.get("content")) if first is None else first
    if text.strip() != said.strip() or records[last].type == records[at].type == "user_message":
        return False
    return all(record.kind in ("event", "settings", "other") for record in records[last + 1 : at])
