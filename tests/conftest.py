"""Fixtures that every test may ask for, and what holds for all of them."""

from hypothesis import settings

from tests.servers import postgres_server, postgres_url, s3_server, s3_store

__all__ = ["postgres_server", "postgres_url", "s3_server", "s3_store"]

settings.register_profile("any clock", settings(), deadline=None)
settings.load_profile("any clock")  # a busy machine fails no property
