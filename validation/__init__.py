"""Measure a dataset or a model, and say whether it passes."""
