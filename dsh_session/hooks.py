"""The log-only events of hook bridges: ``hook/invoked`` and ``hook/result``.

A hook is a program of the user's that an agent calls at fixed points. An invocation and its
result share a `handlerId`. See the seeds' "Plugin-contributed log-only events".
"""

from typing import Literal, NotRequired, TypedDict

from dsh_session.core.vocabulary import VOCABULARY


class HookInvoked(TypedDict):
    """Payload of ``hook/invoked``."""

    turn: int
    point: str
    dialect: Literal["claude", "codex"]
    matcher: NotRequired[str]
    handlerId: str


class HookResult(TypedDict):
    """Payload of ``hook/result``; `durationMs` is in milliseconds."""

    turn: int
    point: str
    handlerId: str
    decision: str
    exitCode: NotRequired[int]
    stderrSummary: NotRequired[str]
    durationMs: float


HOOK_INVOKED = VOCABULARY.register_event("hook/invoked", HookInvoked)
HOOK_RESULT = VOCABULARY.register_event("hook/result", HookResult)
