"""Rollouts of Codex: what it writes below ``~/.codex/sessions``, in all its versions."""

from dsh_session.importers.codex.importer import IMPORTER

__all__ = ["IMPORTER"]
