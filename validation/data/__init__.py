"""Measure a dataset before anything is trained on it, and say whether it is good enough."""
