"""Fixtures that every test may ask for."""

from tests.servers import postgres_server, postgres_url, s3_server, s3_store

__all__ = ["postgres_server", "postgres_url", "s3_server", "s3_store"]
