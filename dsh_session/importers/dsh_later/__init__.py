"""Logs of the later revisions of the same harness: folded messages, packed chunks, renamed compactions, zstd.

Their header says version 0 as well; they are told by what their events look like. Every event is
mapped to its version-0 form, and seqs, turns and steps are counted anew.
"""

from dsh_session.importers.dsh_later.importer import IMPORTER

__all__ = ["IMPORTER"]
