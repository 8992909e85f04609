"""Writing one path of a pi session as a session."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dsh_session.importers.assembler import Assembler
from dsh_session.importers.blocks import text_from
from dsh_session.importers.chat.content import tool_schemas
from dsh_session.importers.chat.moments import moment
from dsh_session.importers.path_writer import PathWriter
from dsh_session.importers.paths import Boundary
from dsh_session.importers.pi.compaction import compact, edit, reset
from dsh_session.importers.pi.content import mentioned_blocks, plain_blocks, shell_text, spoken, usage_counts
from dsh_session.importers.pi.entries import KNOWN, Entry, PiLog, call_ids

CONTEXT_ROLES: Final = frozenset({"custom", "hookMessage", "branchSummary", "compactionSummary", "developer"})
_OUTPUT: Final = ("role", "output", "timestamp")
_MESSAGE: Final = frozenset(
    {
        "role",
        "content",
        "provider",
        "model",
        "usage",
        "stopReason",
        "errorMessage",
        "timestamp",
        "toolCallId",
        "toolName",
        "isError",
        "details",
    }
)


class State(NamedTuple):
    """What a writer knows at a boundary, apart from the log.

    Attributes:
        config: What requests are made with: provider, model, thinking level.
        system: The system prompt, where it is known.
    """

    config: dict[str, str]
    system: str | None


START: Final = Boundary(0, 0, State({}, None))
"""Where every log begins."""


class EntryWriter(PathWriter[Entry]):
    """Writes the entries of a path, from a boundary on.

    Args:
        log: The session file.
        entries: The numbers of all entries of the path.
        make: What writes the session; it holds the events before the boundary already.
        begin: The boundary.
        nodes: The nodes of the path that is left there, by their positions.

    Attributes:
        log: The session file.
        nodes: By position on the path: the seq of the first surface node that came of it.
    """

    def __init__(
        self,
        log: PiLog,
        entries: list[int],
        make: Assembler,
        begin: Boundary = START,
        nodes: Mapping[int, int] | None = None,
    ) -> None:
        """Take the path, and go to the boundary."""
        super().__init__([log.entries[number] for number in entries], make, begin)
        self.log = log
        self.nodes = {at: seq for at, seq in (nodes or {}).items() if at < begin.position}
        self._places_of_nodes = {seq: at for at, seq in self.nodes.items()}
        state: State = begin.state
        self._config = dict(state.config)
        self._system = state.system
        self._places = {number: at for at, number in enumerate(entries)}
        self._ending: dict[str, Any] | None = None  # how the turn ends, if nothing else comes
        self._stop = ""
        self._max_tokens = False
        self._result_time: int | None = None
        for at, entry in enumerate(self.path):
            if entry.message.get("role") == "toolResult":
                self.ahead.note_answer(text_from(entry.message.get("toolCallId")), at)
            else:
                for call in set(call_ids(entry)):
                    self.ahead.note_call(call, at)

    def take(self, row: Entry) -> None:
        """Write what an entry becomes."""
        _WRITERS.get(row.kind, EntryWriter._aside)(self, row)

    def take_answer(self, row: Entry, at: int) -> None:
        """Write a result that stands further on."""
        self._write_result(row, row.message, at)

    # -------------------------------------------------------------------------------------------------------- turns

    def end_turn(self) -> None:
        """End the open turn the way its last response says, and note the boundary."""
        make = self.make
        if make.turn is None:
            return
        reason = self._ending or ({"kind": "max-tokens"} if self._max_tokens else None)
        make.end_turn(reason)
        self._ending = None
        self._max_tokens = False
        self._stop = ""
        self._result_time = None
        self.note_boundary(State(dict(self._config), self._system))

    def _settle(self) -> None:
        """End the open turn if the model has stopped: what comes is no part of it, but for a retry."""
        if self.make.turn is not None and self._stop not in ("", "toolUse"):
            self.end_turn_before()

    def note_node(self, seq: int, at: int | None = None) -> None:
        """Note the surface node that came of an entry."""
        place = self.at if at is None else at
        self.nodes[place] = seq
        self._places_of_nodes[seq] = place

    def place_of(self, seq: int) -> int | None:
        """Give the position of the entry that a surface node came of; None for a summary."""
        return self._places_of_nodes.get(seq)

    def first_node(self, place: int) -> int | None:
        """Give the first node that came of an entry from a position on; None when there is none."""
        while place < self.at and place not in self.nodes:
            place += 1
        return self.nodes.get(place)

    # ----------------------------------------------------------------------------------------------------- messages

    def _message(self, entry: Entry) -> None:
        message = entry.message
        role = message.get("role")
        write = _ROLES.get(role) if isinstance(role, str) else None
        if write is not None:
            write(self, entry)
        elif message.get("content") not in (None, "", []):
            self.make.finding("UNKNOWN_ROLE", f"a message of the unknown role {_cut(role)}; it was kept as context")
            kind = role if isinstance(role, str) and role.isidentifier() else "message"
            self.note_node(self.make.context(plain_blocks(message["content"]), kind=kind))
        else:
            self.make.finding("UNKNOWN_ROLE", f"a message of the unknown role {_cut(role)}, without content")
            self.make.side("message", message)

    def _user(self, entry: Entry) -> None:
        message = entry.message
        make = self.make
        blocks = plain_blocks(message.get("content"))
        if self._is_steering(message):
            self.note_node(make.steering(blocks))
        else:
            self.bring_answers()
            self.end_turn_before()
            self.note_node(make.prompt(blocks))
        self._note_rest(message)

    def _is_steering(self, message: dict[str, Any]) -> bool:
        """Tell whether a person spoke while the model was at work.

        It was, when it asked for tools and has not been asked again since; and it still was, when the
        message was typed before the last tool was done.
        """
        make = self.make
        if make.turn is None or self._stop != "toolUse":
            return False
        if make.first_pending is not None:
            return True
        typed = moment(message.get("timestamp"))
        return typed is not None and self._result_time is not None and typed <= self._result_time

    def _assistant(self, entry: Entry) -> None:
        message = entry.message
        make = self.make
        self.bring_answers()
        make.at(entry.line, entry.time)
        said = spoken(message.get("content"))
        provider, model = _name(message, "provider"), _name(message, "model")
        if provider is not None:
            self._config["provider"] = provider
        if model is not None:
            self._config["model"] = model
        make.header(self._config, system=self._system)
        seq = make.response(said.blocks, provenance=self._config, usage=usage_counts(message.get("usage")))
        self.note_node(seq)
        for key, value in said.aside:
            make.side(key, value, seq=seq)
        self._note_rest(message, seq)
        stop = message.get("stopReason")
        self._stop = stop if isinstance(stop, str) and stop else ("toolUse" if said.calls else "stop")
        failure = message.get("errorMessage")
        self._ending = None
        if stop == "aborted":
            self._ending = {"kind": "aborted", **({"reason": text_from(failure)} if failure else {})}
        elif stop == "error":
            self._ending = {"kind": "error", "step": make.last_step, "message": text_from(failure)}
        elif stop == "length":
            self._max_tokens = True

    def _tool_result(self, entry: Entry) -> None:
        self._write_result(entry, entry.message, self.at)

    def _write_result(self, entry: Entry, message: dict[str, Any], at: int) -> None:
        make = self.make
        seq = make.result(
            message.get("toolCallId"),
            plain_blocks(message.get("content")),
            is_error=message.get("isError") is True,
            meta=message.get("details"),
        )
        self.note_node(seq, at)
        self._note_rest(message, seq)
        if entry.time is not None:
            self._result_time = max(self._result_time or 0, entry.time)

    def _system_message(self, entry: Entry) -> None:
        """Take a system prompt, and the tools that it declares: they are part of the next request's header."""
        message = entry.message
        parts = message.get("content", message.get("sections"))
        texts = [
            text_from(part.get("text", part.get("content"))) for part in plain_blocks(parts) if isinstance(part, dict)
        ]
        text = "\n\n".join(text for text in texts if text)
        if text:
            self._system = text
        tools = tool_schemas(message.get("tools"))
        if tools:
            self.make.header(tools=tools)
        self.make.side("system", message)

    def _shell(self, entry: Entry) -> None:
        message = entry.message
        kind = text_from(message.get("role"))
        meta = {key: value for key, value in message.items() if key not in _OUTPUT}
        if message.get("excludeFromContext") is True:
            self.make.side(kind, message)
            return
        self._settle()
        self.note_node(self.make.context(shell_text(message), kind=kind, meta=meta))

    def _mentioned(self, entry: Entry) -> None:
        """Take the files that a person pointed at; the model gets them with the next request."""
        message = entry.message
        self._settle()
        self.note_node(self.make.context(mentioned_blocks(message.get("files")), kind="fileMention"))
        self.make.side("fileMention", message)

    def _injected(self, entry: Entry) -> None:
        message = entry.message
        kind = "custom" if message.get("role") == "hookMessage" else text_from(message.get("role"))
        content = message.get("content")
        content = message.get("summary") if content is None else content
        self._settle()
        self.note_node(self.make.context(plain_blocks(content), kind=kind, meta=_meta(message)))

    def _custom_message(self, entry: Entry) -> None:
        self._settle()
        self.note_node(
            self.make.context(plain_blocks(entry.data.get("content")), kind="custom", meta=_meta(entry.data))
        )

    def _branch_summary(self, entry: Entry) -> None:
        summary = entry.data.get("summary")
        if summary in (None, ""):
            self.make.side("branch_summary", entry.data)
            return
        self._settle()
        self.note_node(self.make.context(plain_blocks(summary), kind="branch_summary", meta=_meta(entry.data)))

    def _note_rest(self, message: dict[str, Any], seq: int | None = None) -> None:
        for key, value in message.items():
            if key not in _MESSAGE and value not in (None, "", []):
                self.make.side(key, value, seq=seq)
        cost = message["usage"].get("cost") if isinstance(message.get("usage"), dict) else None
        if cost:
            self.make.side("cost", cost, seq=seq)

    # ----------------------------------------------------------------------------------------------- other entries

    def _model_change(self, entry: Entry) -> None:
        provider, model = _name(entry.data, "provider"), _name(entry.data, "modelId")
        both = entry.data.get("model")
        if isinstance(both, str) and both and entry.data.get("role") in (None, "default"):
            provider, _, model = both.partition("/") if "/" in both else (provider, "", both)
        if provider:
            self._config["provider"] = provider
        if model:
            self._config["model"] = model
        self.make.side("model_change", entry.data)

    def _thinking_level(self, entry: Entry) -> None:
        level = entry.data.get("thinkingLevel")
        self._config["thinkingLevel"] = level if isinstance(level, str) else "off"
        self.make.side("thinking_level_change", entry.data)

    def _session_init(self, entry: Entry) -> None:
        system = entry.data.get("systemPrompt")
        if isinstance(system, list):
            system = "\n\n".join(map(text_from, system))
        if isinstance(system, str) and system:
            self._system = system
        self.make.side("session_init", entry.data)

    def _compaction(self, entry: Entry) -> None:
        self.bring_answers()
        self._settle()
        compact(self, entry)

    def _edit(self, entry: Entry) -> None:
        self.bring_answers()
        self._settle()
        edit(self, entry)

    def _reset(self, entry: Entry) -> None:
        self.bring_answers()
        self._settle()
        reset(self, entry)

    def _aside(self, entry: Entry) -> None:
        if entry.kind not in KNOWN:
            self.make.finding(
                "UNKNOWN_TYPE", f"an entry of the unknown type {_cut(entry.kind)} is kept in the side table"
            )
        self.make.side(entry.kind or "entry", entry.data)

    def position_of(self, number: int | None) -> int | None:
        """Give where on the path an entry stands; None when it does not."""
        return None if number is None else self._places.get(number)

    @property
    def route(self) -> tuple[str | None, str | None]:
        """Provider and model of the requests now."""
        return self._config.get("provider"), self._config.get("model")


def _meta(data: dict[str, Any]) -> dict[str, Any] | None:
    meta = {
        key: value
        for key, value in data.items()
        if key not in ("type", "id", "parentId", "timestamp", "role", "content", "summary")
    }
    return meta or None


def _name(data: dict[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) and value else None


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


_ROLES: Final[dict[str, Callable[[EntryWriter, Entry], None]]] = {
    "user": EntryWriter._user,
    "assistant": EntryWriter._assistant,
    "toolResult": EntryWriter._tool_result,
    "bashExecution": EntryWriter._shell,
    "pythonExecution": EntryWriter._shell,
    "fileMention": EntryWriter._mentioned,
    "system": EntryWriter._system_message,
    **dict.fromkeys(CONTEXT_ROLES, EntryWriter._injected),
}
_WRITERS: Final[dict[str, Callable[[EntryWriter, Entry], None]]] = {
    "message": EntryWriter._message,
    "custom_message": EntryWriter._custom_message,
    "branch_summary": EntryWriter._branch_summary,
    "model_change": EntryWriter._model_change,
    "thinking_level_change": EntryWriter._thinking_level,
    "session_init": EntryWriter._session_init,
    "compaction": EntryWriter._compaction,
    "context_edit": EntryWriter._edit,
    "reset_boundary": EntryWriter._reset,
}
