"""Decide which frames are worth keeping, and find the corner cases."""
