"""The log-only events of a compaction's bracket: ``compact/start``, ``compact/summary``, ``compact/end``.

They are a plugin's events: this module registers them, the core does not know them. Another
plugin adds its own in the same way, a `TypedDict` and one call each.
"""

from typing import Any, NotRequired, TypedDict

from dsh_session.core.payloads import ContentBlock
from dsh_session.core.vocabulary import VOCABULARY


class CompactStart(TypedDict):
    """Payload of ``compact/start``: the bracket opens. What asked for it is noted where it is known."""

    turn: int
    trigger: NotRequired[str]


class ShadowedRange(TypedDict):
    """A range of surface positions; `start` may be the larger number after an earlier compaction."""

    start: int
    end: int


class CompactSummary(TypedDict):
    """Payload of ``compact/summary``: what was said, and what it stands for."""

    summary: list[ContentBlock]
    shadowedRange: ShadowedRange
    shadowedSeqs: list[int]
    shadowedTokenCount: int
    provider: str
    model: str
    maxTokens: NotRequired[int]


class CompactEnd(TypedDict):
    """Payload of ``compact/end``: the bracket closes, with the error if it failed."""

    turn: int
    error: NotRequired[Any]


COMPACT_START = VOCABULARY.register_event("compact/start", CompactStart)
COMPACT_SUMMARY = VOCABULARY.register_event("compact/summary", CompactSummary)
COMPACT_END = VOCABULARY.register_event("compact/end", CompactEnd)
