"""Compaction: a summary takes the place of a range of the surface, and nothing is deleted.

`compact_region` replaces a range that you name, `compact_if_needed` as much as a policy asks for, and
`AutoCompact` does so before each step of every session in a context. All of them write the same
bracket of events, `begin_compaction`.
"""

from dsh_session.compaction.auto import AutoCompact
from dsh_session.compaction.bracket import CompactionBracket, CompactionResult, begin_compaction
from dsh_session.compaction.counters import Counter, deepseek_counter, heuristic, tokenizers_counter
from dsh_session.compaction.decision import Compact, Decision, Leave, Policy, Shorten
from dsh_session.compaction.framing import frame_summary, is_summary
from dsh_session.compaction.lock import compactions_left_open
from dsh_session.compaction.measured import MeasuredSurface
from dsh_session.compaction.meter import RequestError, TokenMeter
from dsh_session.compaction.needed import CompactionOutcome, acompact_if_needed, compact_if_needed
from dsh_session.compaction.pairing import tool_pairing_balanced_after, tool_pairing_balanced_before
from dsh_session.compaction.policies import (
    Basic,
    Hierarchical,
    KeepHeadAndTail,
    Never,
    PruneToolResults,
    SlidingWindow,
)
from dsh_session.compaction.region import acompact_region, compact_region
from dsh_session.compaction.summarisers import ChatSummariser, extractive, template
from dsh_session.compaction.summary import Summarise, SummariseAsync, Summary
from dsh_session.compaction.transcript import Transcript, render_blocks, render_transcript
from dsh_session.compaction.uncompacted import without_compactions

__all__ = [
    "AutoCompact",
    "Basic",
    "ChatSummariser",
    "Compact",
    "CompactionBracket",
    "CompactionOutcome",
    "CompactionResult",
    "Counter",
    "Decision",
    "Hierarchical",
    "KeepHeadAndTail",
    "Leave",
    "MeasuredSurface",
    "Never",
    "Policy",
    "PruneToolResults",
    "RequestError",
    "Shorten",
    "SlidingWindow",
    "Summarise",
    "SummariseAsync",
    "Summary",
    "TokenMeter",
    "Transcript",
    "acompact_if_needed",
    "acompact_region",
    "begin_compaction",
    "compact_if_needed",
    "compact_region",
    "compactions_left_open",
    "deepseek_counter",
    "extractive",
    "frame_summary",
    "heuristic",
    "is_summary",
    "render_blocks",
    "render_transcript",
    "template",
    "tokenizers_counter",
    "tool_pairing_balanced_after",
    "tool_pairing_balanced_before",
    "without_compactions",
]
