"""Run a detector on frames."""
