"""Describe a training job, run it on many workers, read its result."""
