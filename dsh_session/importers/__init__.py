"""Other agents' logs, read as sessions.

Every format has a module with one importer. An importer is recognised by what a file holds, never by
its name, and gives an `Imported`: the session, its forks and sub-agents, what had no place in an event,
and what had to be repaired. Third parties add theirs through the entry point group
``dsh_session.importers``.
"""

from dsh_session.importers.book import Book
from dsh_session.importers.found import Descent, Imported
from dsh_session.importers.registry import Importer, ImportLogError, import_log, importers, recognise

__all__ = ["Book", "Descent", "ImportLogError", "Imported", "Importer", "import_log", "importers", "recognise"]
