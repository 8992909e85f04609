"""Inspect AI's evaluation logs: ``.eval`` archives and the JSON files of the same content."""

from dsh_session.importers.inspect_ai.importer import IMPORTER

__all__ = ["IMPORTER"]
