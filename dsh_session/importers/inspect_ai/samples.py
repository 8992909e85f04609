"""One sample of an evaluation: its events and messages, with what they refer to looked up."""

from typing import Any, Final, NamedTuple

from dsh_session.importers.blocks import text_from
from dsh_session.importers.chat.digest import digest_of
from dsh_session.importers.inspect_ai.shapes import ranges_of

_ATTACHMENT: Final = "attachment://"
_DEEPEST: Final = 60


class SampleLog(NamedTuple):
    """One sample.

    Attributes:
        facts: Everything beside events, messages, pools and attachments.
        events: Its events.
        messages: Its messages, as they were at the end.
        pool: The messages that requests refer to by place.
        pool_keys: What tells them apart; "" for system prompts.
        attachments: Long texts, by name.
        file: The member or file it is from.
        first: How many entries of that file come before it.
        evaluation: What the log says of the evaluation.
    """

    facts: dict[str, Any]
    events: list[Any]
    messages: list[Any]
    pool: list[Any]
    pool_keys: list[str]
    attachments: dict[str, Any]
    file: str
    first: int
    evaluation: dict[str, Any]

    @property
    def length(self) -> int:
        """How many entries it has: events, then messages."""
        return len(self.events) + len(self.messages)

    def request_of(self, event: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
        """Give the messages of a model call's request, and what tells each from others; "" for a system prompt.

        A long sample has as many requests as messages, and each holds nearly all of them: what is known of
        a pool's messages is looked up, not found out again.
        """
        given = event.get("input")
        if not given and self.pool:
            found: list[dict[str, Any]] = []
            keys: list[str] = []
            for start, stop in ranges_of(event.get("input_refs"), len(self.pool)):
                found += self.pool[start:stop]
                keys += self.pool_keys[start:stop]
            return found, keys
        messages = [message for message in _list(given) if isinstance(message, dict)]
        return messages, [request_key(message) for message in messages]

    def resolved(self, value: Any, depth: int = 0) -> Any:
        """Put attachments where they are referred to."""
        if isinstance(value, str):
            if value.startswith(_ATTACHMENT):
                found = self.attachments.get(value[len(_ATTACHMENT) :])
                return found if isinstance(found, str) else value
            return value
        if depth < _DEEPEST:
            if isinstance(value, list):
                return [self.resolved(item, depth + 1) for item in value]
            if isinstance(value, dict):
                return {key: self.resolved(item, depth + 1) for key, item in value.items()}
        return value


def sample_log(value: dict[str, Any], file: str, first: int, evaluation: dict[str, Any]) -> SampleLog:
    """Take a sample apart.

    Args:
        value: The sample's object.
        file: The member or file it is from.
        first: How many entries of that file come before it.
        evaluation: What the log says of the evaluation.
    """
    facts = dict(value)
    transcript = facts.get("transcript") if isinstance(facts.get("transcript"), dict) else {}
    data = facts.get("events_data") if isinstance(facts.get("events_data"), dict) else {}
    assert isinstance(transcript, dict)
    assert isinstance(data, dict)
    attachments = facts.pop("attachments", None)
    if not isinstance(attachments, dict):
        attachments = transcript.get("content")
    events = facts.pop("events", None)
    pool = _list(facts.pop("message_pool", None)) or _list(data.get("messages"))
    pool = [message if isinstance(message, dict) else {"role": "unknown", "content": message} for message in pool]
    messages = facts.pop("messages", None)
    return SampleLog(
        facts,
        _list(events) or _list(transcript.get("events")),
        _list(messages),
        pool,
        [request_key(message) for message in pool],
        attachments if isinstance(attachments, dict) else {},
        file,
        first,
        known if isinstance(known := evaluation.get("eval"), dict) else {},
    )


def has_sample_shape(value: dict[str, Any]) -> bool:
    """Tell whether an object is a sample.

    Example:
        >>> has_sample_shape({"id": 1, "epoch": 1, "messages": []}), has_sample_shape({"eval": {}})
        (True, False)
    """
    return any(key in value for key in ("messages", "events", "transcript", "input", "epoch"))


def key_of(message: dict[str, Any]) -> str:
    """Give what tells messages apart: their id, or what they say where they have none."""
    own = message.get("id")
    if isinstance(own, str) and own:
        return own
    return digest_of(
        [message.get("role"), message.get("content"), message.get("tool_calls"), message.get("tool_call_id")]
    )


def request_key(message: dict[str, Any]) -> str:
    """Give what tells a message from others, and "" for a system prompt: many requests may have the same one."""
    return "" if message.get("role") == "system" else key_of(message)


def event_kind(event: Any) -> str:
    """Give an event's type; "" for what is none."""
    return text_from(event.get("event")) if isinstance(event, dict) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
