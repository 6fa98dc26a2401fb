"""Measure a detector against the truth of a hold-out."""
