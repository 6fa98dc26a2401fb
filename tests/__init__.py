"""Tests of driveflow."""
