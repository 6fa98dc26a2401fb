"""How long work says how far it is."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (done, total, what); `total` is 0 where it is not known."""


def silent(done: int, total: int, what: str) -> None:
    """Say nothing."""
