"""Summarisers: callables from a transcript to text, content blocks or a `Summary`."""

from dsh_session.compaction.summarisers.chat import ChatSummariser
from dsh_session.compaction.summarisers.extractive import extractive
from dsh_session.compaction.summarisers.template import template

__all__ = ["ChatSummariser", "extractive", "template"]
