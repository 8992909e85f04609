"""Delegates of the first generation: agents whose events stand between the call and its observation."""

from typing import NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.openhands.records import Record, object_of


class Delegate(NamedTuple):
    """What one delegate did.

    Attributes:
        name: The agent's name.
        call: The id of the tool call that started it; "" where it has none.
        records: Its events.
        parent: The delegate that started it; None where the main agent did.
    """

    name: str
    call: str
    records: list[Record]
    parent: "Delegate | None"


def without_delegates(records: list[Record]) -> tuple[list[Record], list[Delegate]]:
    """Take the events of delegates out of a conversation.

    Args:
        records: The events, in order.

    Returns:
        What the main agent saw, and the delegates; those of a delegate's own come after it. One that
        never reported back has the rest of the events.
    """
    main: list[Record] = []
    delegates: list[Delegate] = []
    open_now: list[Delegate] = []
    for record in records:
        event = record.event
        if event.get("observation") == "delegate" and open_now:
            open_now.pop()
        (open_now[-1].records if open_now else main).append(record)
        if event.get("action") == "delegate" and len(open_now) < 50:
            name = text_from(object_of(event, "args").get("agent")) or "delegate"
            call = text_from(object_of(event, "tool_call_metadata").get("tool_call_id")) or f"action-{record.key}"
            open_now.append(Delegate(name, call, [], open_now[-1] if open_now else None))
            delegates.append(open_now[-1])
    return main, [delegate for delegate in delegates if delegate.records]
