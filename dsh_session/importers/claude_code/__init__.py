"""Claude Code's logs: one JSON object per line, a tree of messages in which each names the one before it."""

from dsh_session.importers.claude_code.importer import IMPORTER

__all__ = ["IMPORTER"]
