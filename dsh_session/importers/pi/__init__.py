"""Sessions of pi and oh-my-pi: trees of entries, format versions 1 to 3."""

from dsh_session.importers.pi.importer import IMPORTER

__all__ = ["IMPORTER"]
