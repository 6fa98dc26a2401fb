"""Bytes at file:// and s3:// addresses."""
