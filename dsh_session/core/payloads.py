"""The shapes of the core event types' payloads, as a type checker and the runtime read them.

One `TypedDict` per payload, after the seeds' ``SessionEventMap``. Keys are the wire names. An
open sum is ``Annotated[..., Open(name)]``: the runtime looks its members up in the vocabulary,
where plugins add theirs; a type checker sees the known members and any other ``dict``.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

OpenMember = dict[str, Any]
"""A member of an open sum that a plugin brought: any JSON object with a tag."""


class Open:
    """Marks a field as a sum whose members stand in the vocabulary under a name.

    Attributes:
        name: The sum's name in the vocabulary, such as ``"block"``.
    """

    def __init__(self, name: str) -> None:
        """Take the sum's name."""
        self.name = name


# What started a message.


class UserSource(TypedDict):
    """The person at the keyboard."""

    kind: Literal["user"]


class PluginSource(TypedDict):
    """A plugin, by name."""

    kind: Literal["plugin"]
    plugin: str


MessageSource = Annotated[UserSource | PluginSource | OpenMember, Open("source")]

# Content blocks.


class TextBlock(TypedDict):
    """Text."""

    type: Literal["text"]
    text: str


class ReasoningBlock(TypedDict):
    """What the model thought before it spoke."""

    type: Literal["reasoning"]
    text: str


class ToolCallBlock(TypedDict):
    """A tool call; `arguments` is the raw JSON string as the model wrote it."""

    type: Literal["tool-call"]
    id: str
    name: str
    arguments: str


class ToolResultBlock(TypedDict):
    """A tool's answer inside a message."""

    type: Literal["tool-result"]
    toolCallId: str
    content: "list[ContentBlock]"
    isError: NotRequired[bool]


ContentBlock = Annotated[
    TextBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock | OpenMember,
    Open("block"),
]

# Messages and the request header.


class AssistantProvenance(TypedDict):
    """Which model spoke, and what its adapter needs to replay the message."""

    provider: str
    model: str
    replayState: NotRequired[Any]


class Message(TypedDict):
    """One message as the model sees it."""

    role: Literal["system", "user", "assistant"]
    content: list[ContentBlock]
    provenance: NotRequired[AssistantProvenance]


class TokenUsage(TypedDict):
    """Disjoint token counts of one model call."""

    inputTokens: int
    outputTokens: int
    cacheReadTokens: NotRequired[int]
    cacheWriteTokens: NotRequired[int]
    reasoningTokens: NotRequired[int]


class LlmCallConfig(TypedDict):
    """The route and the sampling settings of a request."""

    provider: str
    model: str
    temperature: NotRequired[float]
    maxTokens: NotRequired[int]
    stop: NotRequired[list[str]]


class ToolSchema(TypedDict):
    """A tool as the model is told of it; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class EpochHeader(TypedDict):
    """The part of a request that is not derived history."""

    config: LlmCallConfig
    system: NotRequired[str]
    tools: NotRequired[list[ToolSchema]]
    messagePrefix: NotRequired[list[Message]]


# Stream chunks: a closed sum.


class BlockStart(TypedDict):
    """A content block begins."""

    type: Literal["block-start"]
    index: int
    blockType: str


class TextDelta(TypedDict):
    """More text of a block."""

    type: Literal["text-delta"]
    index: int
    text: str


class ReasoningDelta(TypedDict):
    """More reasoning of a block."""

    type: Literal["reasoning-delta"]
    index: int
    text: str


class ToolCallDelta(TypedDict):
    """More of a tool call's arguments."""

    type: Literal["tool-call-delta"]
    index: int
    id: str
    name: NotRequired[str]
    argumentsDelta: str


class BlockEnd(TypedDict):
    """A content block is complete."""

    type: Literal["block-end"]
    index: int
    block: ContentBlock


class UsageChunk(TypedDict):
    """The model call's token counts."""

    type: Literal["usage"]
    usage: TokenUsage


class FinishStop(TypedDict):
    """The model had said what it wanted."""

    kind: Literal["stop"]


class FinishToolCalls(TypedDict):
    """The model waits for tool results."""

    kind: Literal["tool-calls"]


class FinishMaxTokens(TypedDict):
    """The output was cut at its token limit."""

    kind: Literal["max-tokens"]


class FinishAborted(TypedDict):
    """Somebody stopped the model."""

    kind: Literal["aborted"]


class FinishError(TypedDict):
    """The model reported a failure."""

    kind: Literal["error"]
    message: str
    code: NotRequired[str]


FinishReason = Annotated[
    FinishStop | FinishToolCalls | FinishMaxTokens | FinishAborted | FinishError | OpenMember,
    Open("finish"),
]


class FinishChunk(TypedDict):
    """The stream ends."""

    type: Literal["finish"]
    reason: FinishReason
    replayState: NotRequired[Any]


StreamChunk = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | FinishChunk

# Turns.


class MessageTrigger(TypedDict):
    """Queued messages started the turn."""

    kind: Literal["message"]
    source: MessageSource


class InjectionTrigger(TypedDict):
    """A context injection while the agent was idle started the turn."""

    kind: Literal["injection"]
    source: MessageSource


TurnTrigger = Annotated[MessageTrigger | InjectionTrigger | OpenMember, Open("trigger")]


class Completed(TypedDict):
    """The turn came to its own end."""

    kind: Literal["completed"]


class Aborted(TypedDict):
    """Somebody stopped the turn."""

    kind: Literal["aborted"]
    reason: NotRequired[str]


class Failed(TypedDict):
    """A step raised, or the model reported a failure."""

    kind: Literal["error"]
    step: int
    message: str
    code: NotRequired[str]


class Disposed(TypedDict):
    """The agent was shut down in mid-turn."""

    kind: Literal["disposed"]


class MaxTokens(TypedDict):
    """At least one step was cut at its token limit."""

    kind: Literal["max-tokens"]


class Rejected(TypedDict):
    """Policy blocked every prompt before the first step."""

    kind: Literal["rejected"]
    reason: str


class Interrupted(TypedDict):
    """A crash left the turn open; it was closed on reload."""

    kind: Literal["interrupted"]


TurnEndReason = Annotated[
    Completed | Aborted | Failed | Disposed | MaxTokens | Rejected | Interrupted | OpenMember,
    Open("end-reason"),
]

# The payloads themselves.


class TurnStart(TypedDict):
    """Payload of ``turn/start``."""

    turn: int
    trigger: TurnTrigger


class TurnEnd(TypedDict):
    """Payload of ``turn/end``."""

    turn: int
    reason: TurnEndReason


class StepBoundary(TypedDict):
    """Payload of ``step/start`` and ``step/end``."""

    turn: int
    step: int


class UserMessage(TypedDict):
    """Payload of ``user/message``."""

    content: list[ContentBlock]
    source: MessageSource


class PromptBlocked(TypedDict):
    """Payload of ``prompt/blocked``: a prompt that policy kept from the model."""

    content: list[ContentBlock]
    source: MessageSource
    reason: str


class ContextMessage(TypedDict):
    """Payload of ``context/message``; `meta` never reaches the model."""

    content: list[ContentBlock]
    source: MessageSource
    envelope: NotRequired[Literal["context", "raw"]]
    meta: NotRequired[Any]


class AssistantChunk(TypedDict):
    """Payload of ``assistant/chunk``."""

    turn: int
    step: int
    chunk: StreamChunk


class AssistantMessage(TypedDict):
    """Payload of ``assistant/message``."""

    turn: int
    step: int
    content: list[ContentBlock]
    provenance: AssistantProvenance
    usage: NotRequired[TokenUsage]


class ToolCall(TypedDict):
    """Payload of ``tool/call``."""

    turn: int
    step: int
    callId: str
    name: str
    arguments: str


class ToolError(TypedDict):
    """What kind of failure a tool had."""

    name: str
    code: str


class ToolResult(TypedDict):
    """Payload of ``tool/result``; `meta` belongs to the tool and never reaches the model."""

    turn: int
    step: int
    callId: str
    content: list[ContentBlock]
    isError: bool
    error: NotRequired[ToolError]
    meta: NotRequired[Any]


class SteeringMessage(TypedDict):
    """Payload of ``steering/message``."""

    turn: int
    content: list[ContentBlock]
    source: MessageSource


class TodoItem(TypedDict):
    """One line of a todo list."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoWrite(TypedDict):
    """Payload of ``todo/write``: the whole list, the latest write wins."""

    todos: list[TodoItem]


class RequestHeader(TypedDict):
    """Payload of ``request/header``."""

    header: EpochHeader
    reason: Literal["initial", "resume", "change"]
