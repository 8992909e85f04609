"""How fast the log is, in one table: ``python -m benchmarks``."""
