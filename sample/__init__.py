"""Render synthetic drives with exact truth, and play the annotators who label them."""
