"""Plain lists of chat messages, as OpenAI's and Anthropic's APIs take them.

A JSON list, one message a line, an object with ``messages``, or one such object a line: a set of
conversations. What stands beside the messages (model, system prompt, tools, settings) is the
request header.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.book import Book
from dsh_session.importers.chat import chat_message, moment, said, tool_schemas
from dsh_session.importers.chat.digest import digest_of, free_id, is_handy
from dsh_session.importers.chat.entries import entries
from dsh_session.importers.chat.messages import ITEMS, is_chat_message
from dsh_session.importers.chat.writer import ChatWriter, Placed
from dsh_session.importers.detection import Sample
from dsh_session.importers.found import Imported
from dsh_session.importers.registry import ImportLogError

_LISTS: Final = ("messages", "conversations", "conversation", "input")
_IDS: Final = ("id", "conversation_id", "session_id", "thread_id", "uuid")
_TIMES: Final = ("created_at", "createdAt", "created", "timestamp")


class Conversation(NamedTuple):
    """Messages that belong together.

    Attributes:
        messages: Their lines and themselves.
        envelope: What stands beside them.
        line: The envelope's line; None where there is none.
    """

    messages: list[tuple[int, dict[str, Any]]]
    envelope: dict[str, Any]
    line: int | None


class Messages:
    """Reads plain chat messages.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "chat.json")
        ...     _ = path.write_text('[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]')
        ...     [event.type for event in Messages().read(path).session.events]
        ['turn/start', 'user/message', 'step/start', 'assistant/message', 'step/end', 'turn/end']
    """

    name = "messages"
    agent = "Chat messages"

    def recognises(self, sample: Sample) -> bool:
        """Tell it by roles and content; other agents' lines have these deeper down, or other fields around them."""
        values = sample.values[:6]
        found = [is_chat_message(value) or _messages_of(value) is not None for value in values]
        return bool(found) and sum(found) * 2 > len(found)

    def read(self, path: Path, **_options: Any) -> Imported:
        """Read a log.

        Raises:
            ImportLogError: ``IMPORT_EMPTY`` when it holds no message.
            OSError: When it cannot be opened.
        """
        book = Book(path.name)
        found = [one for one in _conversations(path, book) if one.messages]
        if not found:
            raise ImportLogError("IMPORT_EMPTY", f"{path}: there is no chat message in it")
        taken: set[str] = set()
        sessions = [write_conversation(one, book, taken) for one in found]
        return Imported(sessions[0], book, agent=self.agent, others=sessions[1:])


def write_conversation(one: Conversation, book: Book, taken: set[str], *, plugin: str = "messages") -> Session:
    """Write one conversation as a session.

    Args:
        one: The messages and what stands beside them.
        book: Takes what has no place in an event.
        taken: Ids that are taken already; the session's is added.
        plugin: The agent's name, for the source of what nobody said.
    """
    envelope = one.envelope
    placed = [Placed(line, chat_message(message)) for line, message in one.messages]
    created = next((when for key in _TIMES if (when := moment(envelope.get(key))) is not None), None)
    first = next((item.message.time for item in placed if item.message.time is not None), None)
    header = {"id": _identity(one, taken), "createdAt": (created if first is None else first) or 0}
    directory = envelope.get("cwd")
    if isinstance(directory, str) and directory.startswith("/"):
        header["cwd"] = directory
    make = Assembler(header, book, plugin=plugin)
    model = next((item.message.model for item in placed if item.message.model), text_from(envelope.get("model")))
    route = {
        key: value for key, value in {"provider": text_from(envelope.get("provider")), "model": model}.items() if value
    }
    make.at(one.line, created)
    rest = {key: value for key, value in envelope.items() if key not in _LISTS}
    if rest:
        make.side("request", rest)
    writer = ChatWriter(make, route)
    writer.write(placed, system=_system(envelope), header=_settings(envelope, route))
    return make.finish()


def _conversations(path: Path, book: Book) -> list[Conversation]:
    loose = Conversation([], {}, None)
    found = [loose]
    values = list(entries(path, book))
    for number, value in values:
        messages = _messages_of(value)
        if messages is not None:
            alone = len(values) == 1 and isinstance(value, dict)
            if alone:
                book.entries[book.file] = max(1, len(messages))
            envelope = value if isinstance(value, dict) else {}
            lines = range(1, len(messages) + 1) if alone else [number] * len(messages)
            found.append(_kept(Conversation(list(zip(lines, messages, strict=True)), envelope, number), book))
        elif isinstance(value, dict) and (is_chat_message(value) or "role" in value or value.get("type") in ITEMS):
            loose.messages.append((number, value))
        else:
            book.side("entry", value, line=number)
            book.finding("NOT_A_MESSAGE", "an entry that is no message; it went to the side table", number)
    return found


def _kept(one: Conversation, book: Book) -> Conversation:
    """Leave out what is no object among a conversation's messages."""
    messages = []
    given: list[tuple[int, Any]] = list(one.messages)
    for line, message in given:
        if isinstance(message, dict):
            messages.append((line, message))
        else:
            book.side("entry", message, line=line)
            book.finding("NOT_A_MESSAGE", "a message that is no object; it went to the side table", line)
    if not messages and one.line is not None:
        book.side("entry", one.envelope, line=one.line)
    return one._replace(messages=messages)


def _messages_of(value: Any) -> list[Any] | None:
    """Give the messages of a conversation; None for what is none."""
    if isinstance(value, list):
        return value if any(map(is_chat_message, value[:6])) else None
    if not isinstance(value, dict) or is_chat_message(value):
        return None
    for key in _LISTS:
        messages = value.get(key)
        if isinstance(messages, list) and any(map(is_chat_message, messages[:6])):
            return messages
    return None


def _system(envelope: Mapping[str, Any]) -> str:
    system = envelope.get("system", envelope.get("instructions"))
    return "\n\n".join(text for block in said(system).blocks if isinstance(text := block.get("text"), str))


def _settings(envelope: Mapping[str, Any], route: Mapping[str, str]) -> dict[str, Any]:
    most = next(
        (envelope[key] for key in ("max_tokens", "max_completion_tokens", "max_output_tokens") if key in envelope), None
    )
    stop = envelope.get("stop", envelope.get("stop_sequences"))
    config = {
        **route,
        "temperature": envelope.get("temperature"),
        "maxTokens": most,
        "stop": [stop] if isinstance(stop, str) else stop,
    }
    settings: dict[str, Any] = {}
    if (
        any(value is not None for key, value in config.items() if key not in ("provider", "model"))
        or "model" in envelope
    ):
        settings["config"] = config
    tools = tool_schemas(envelope.get("tools", envelope.get("functions")))
    if tools:
        settings["tools"] = tools
    return settings


def _identity(one: Conversation, taken: set[str]) -> str:
    own = next((one.envelope[key] for key in _IDS if isinstance(one.envelope.get(key), str) and one.envelope[key]), "")
    if not is_handy(own):
        own = f"messages-{digest_of([message for _, message in one.messages])}"
    return free_id(own, taken)


IMPORTER = Messages()
