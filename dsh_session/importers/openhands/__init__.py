"""OpenHands: the events of its first and of its second generation, in folders, lists or lines."""

from dsh_session.importers.openhands.importer import IMPORTER

__all__ = ["IMPORTER"]
