"""The event types, and where plugins add theirs.

The core knows the fourteen types of the seeds' ``SessionEventMap``. A plugin adds log-only event
types, content blocks, message sources, turn triggers, turn-end reasons and finish reasons, each
with a `TypedDict` to check payloads against or without one. What nobody registered is accepted
as well, unchecked: a log from elsewhere may hold anything.

Only the five surface types produce messages. That list is closed.
"""

from typing import Any, Final, NewType

from dsh_session.core import payloads
from dsh_session.core.compiled import Copier, copier, give_up
from dsh_session.core.errors import VocabularyError
from dsh_session.core.shapes import Object, Shape, Sum, shape_of

EventType = NewType("EventType", str)
"""The name of a log-only event type that a plugin registered; `Session.append` takes it."""

SURFACE_TYPES: Final = frozenset(
    {"user/message", "assistant/message", "tool/result", "context/message", "steering/message"}
)
"""The five event types that produce messages."""

LEGACY_TYPE: Final = "request/header-delta"
"""An event type of older logs, refused everywhere."""

_CORE: dict[str, Any] = {
    "turn/start": payloads.TurnStart,
    "turn/end": payloads.TurnEnd,
    "step/start": payloads.StepBoundary,
    "step/end": payloads.StepBoundary,
    "user/message": payloads.UserMessage,
    "prompt/blocked": payloads.PromptBlocked,
    "context/message": payloads.ContextMessage,
    "assistant/chunk": payloads.AssistantChunk,
    "assistant/message": payloads.AssistantMessage,
    "tool/call": payloads.ToolCall,
    "tool/result": payloads.ToolResult,
    "steering/message": payloads.SteeringMessage,
    "todo/write": payloads.TodoWrite,
    "request/header": payloads.RequestHeader,
}

CORE_TYPES: Final = tuple(_CORE)
"""The fourteen core event types, in the seeds' order."""


class _Copiers(dict[str, Copier]):
    """The copiers of a vocabulary's event types, each made when it is first wanted."""

    def __init__(self, vocabulary: "Vocabulary") -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, event_type: str) -> Copier:
        shape = self._vocabulary.shape(event_type)
        if shape is None:
            return give_up  # not kept: any text may be asked for, and it may be registered later
        self[event_type] = copier(shape)
        return self[event_type]


class Vocabulary:
    """Event types and open sums, with the shapes of their payloads.

    Attributes:
        revision: Rises with every addition.
        copiers: By event type, the fast check of a live payload; see `dsh_session.core.compiled`.
    """

    def __init__(self) -> None:
        """Start with the core's vocabulary."""
        self.revision = 0
        self._payloads: dict[str, Any] = dict(_CORE)
        self._shapes: dict[str, Shape] = {}
        self.copiers = _Copiers(self)
        self._members: dict[str, dict[str, Any]] = {
            "block": {
                "text": payloads.TextBlock,
                "reasoning": payloads.ReasoningBlock,
                "tool-call": payloads.ToolCallBlock,
                "tool-result": payloads.ToolResultBlock,
            },
            "source": {"user": payloads.UserSource, "plugin": payloads.PluginSource},
            "trigger": {"message": payloads.MessageTrigger, "injection": payloads.InjectionTrigger},
            "end-reason": {
                "completed": payloads.Completed,
                "aborted": payloads.Aborted,
                "error": payloads.Failed,
                "disposed": payloads.Disposed,
                "max-tokens": payloads.MaxTokens,
                "rejected": payloads.Rejected,
                "interrupted": payloads.Interrupted,
            },
            "finish": {
                "stop": payloads.FinishStop,
                "tool-calls": payloads.FinishToolCalls,
                "max-tokens": payloads.FinishMaxTokens,
                "aborted": payloads.FinishAborted,
                "error": payloads.FinishError,
            },
        }
        self._sums: dict[str, Sum] = {}

    @property
    def event_types(self) -> tuple[str, ...]:
        """The known event types: the core's, then the plugins' in order of registration."""
        return tuple(self._payloads)

    def register_event(self, name: str, payload: type | None = None) -> EventType:
        """Add a log-only event type.

        Args:
            name: The wire name, such as ``"hook/invoked"``.
            payload: A `TypedDict` that live payloads are checked against; None checks nothing.

        Returns:
            The name, typed, for `Session.append`.

        Raises:
            VocabularyError: ``VOCABULARY_CONFLICT`` when the name is taken with another payload.

        Example:
            >>> from typing import TypedDict
            >>> class Note(TypedDict):
            ...     text: str
            >>> Vocabulary().register_event("note/taken", Note)
            'note/taken'
        """
        if name == LEGACY_TYPE:
            raise VocabularyError("VOCABULARY_CONFLICT", f"{name!r} is a legacy type that logs must not hold")
        self._add(self._payloads, name, payload, "event type")
        return EventType(name)

    def register_block(self, tag: str, shape: type | None = None) -> None:
        """Add a content block type; see `register_event` for arguments and errors."""
        self._add_member("block", tag, shape)

    def register_source(self, kind: str, shape: type | None = None) -> None:
        """Add a message source; see `register_event` for arguments and errors."""
        self._add_member("source", kind, shape)

    def register_trigger(self, kind: str, shape: type | None = None) -> None:
        """Add a turn trigger; see `register_event` for arguments and errors."""
        self._add_member("trigger", kind, shape)

    def register_end_reason(self, kind: str, shape: type | None = None) -> None:
        """Add a turn-end reason; see `register_event` for arguments and errors."""
        self._add_member("end-reason", kind, shape)

    def register_finish_reason(self, kind: str, shape: type | None = None) -> None:
        """Add a finish reason of a model call; see `register_event` for arguments and errors."""
        self._add_member("finish", kind, shape)

    def shape(self, event_type: str) -> Shape | None:
        """Give the shape of an event type's payload, or None when nothing is declared."""
        found = self._shapes.get(event_type)
        if found is None and self._payloads.get(event_type) is not None:
            found = self._shapes[event_type] = shape_of(self._payloads[event_type], self.open_sum)
        return found

    def open_sum(self, name: str) -> Sum:
        """Give an open sum by name: block, source, trigger, end-reason or finish."""
        found = self._sums.get(name)
        if found is None:
            # Known before its members are read: a tool result's content is made of blocks again.
            found = self._sums[name] = Sum("type" if name == "block" else "kind", {}, closed=False)
            for tag, kind in self._members[name].items():
                found.members[tag] = self._member(kind)
        return found

    def _member(self, kind: Any) -> Shape:
        return Object() if kind is None else shape_of(kind, self.open_sum)

    def _add_member(self, name: str, tag: str, shape: type | None) -> None:
        if self._add(self._members[name], tag, shape, name.replace("-", " ")) and name in self._sums:
            self._sums[name].members[tag] = self._member(shape)

    def _add(self, known: dict[str, Any], name: str, shape: type | None, what: str) -> bool:
        if type(name) is not str or not name:
            raise VocabularyError("VOCABULARY_CONFLICT", f"the name of a {what} must be a non-empty string")
        if name in known:
            if known[name] is shape:
                return False
            raise VocabularyError(
                "VOCABULARY_CONFLICT",
                f"the {what} {name!r} is registered already with another shape; choose another name",
            )
        known[name] = shape
        self.revision += 1
        return True


VOCABULARY: Final = Vocabulary()
"""The vocabulary that every session of this process uses."""


def is_surface_eligible_type(event_type: Any) -> bool:
    """Tell whether an event type is one of the five that produce messages.

    Example:
        >>> is_surface_eligible_type("tool/result"), is_surface_eligible_type("tool/call")
        (True, False)
    """
    return isinstance(event_type, str) and event_type in SURFACE_TYPES
