"""The log and what follows from it. Needs msgspec, nothing else."""
