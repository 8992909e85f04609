"""Compaction: a summary takes the place of a range of the surface, and nothing is deleted."""
