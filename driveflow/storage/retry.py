"""Try a call on a store again where a retry may help: our own policy, since those of the clients give up too early."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class TransientError(Exception):
    """Raised by a call that may do better next time; its text says what happened."""


class RetriesSpentError(Exception):
    """Raised where every attempt failed; carries how many there were and what the last one said."""

    def __init__(self, attempts: int, last: str) -> None:
        super().__init__(f"{last} ({attempts} attempts)")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long apart; the pauses grow twofold, each drawn at random from half of it to all of it."""

    attempts: int = 10
    first_pause_s: float = 0.1
    longest_pause_s: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random

    def pause_s(self, attempt: int) -> float:
        """Return the pause after the failed `attempt`, counted from 0."""
        whole = min(self.longest_pause_s, self.first_pause_s * 2.0**attempt)
        return whole * (0.5 + 0.5 * self.draw())

    def call(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, trying again on TransientError.

        Raises:
            RetriesSpentError: all attempts failed.
        """
        last = ""
        for attempt in range(self.attempts):
            try:
                return work()
            except TransientError as error:
                last = str(error)
            if attempt + 1 < self.attempts:
                self.sleep(self.pause_s(attempt))
        raise RetriesSpentError(self.attempts, last)
