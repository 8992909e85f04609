"""Policies: which range of a measured surface to replace, or none, and why.

Each is a small frozen value with one method, `plan`; `dsh_session.compaction.Policy` says what it
takes and gives, so that one of your own is as good as these.
"""

from dsh_session.compaction.policies.basic import Basic
from dsh_session.compaction.policies.hierarchical import Hierarchical
from dsh_session.compaction.policies.keep_head_and_tail import KeepHeadAndTail
from dsh_session.compaction.policies.never import Never
from dsh_session.compaction.policies.prune_tool_results import PruneToolResults
from dsh_session.compaction.policies.sliding_window import SlidingWindow

__all__ = ["Basic", "Hierarchical", "KeepHeadAndTail", "Never", "PruneToolResults", "SlidingWindow"]
