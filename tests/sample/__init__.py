"""Tests of the sample drives."""
