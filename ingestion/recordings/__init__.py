"""Recordings as containers of frames: message logs, videos, animations."""
