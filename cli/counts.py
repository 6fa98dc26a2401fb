"""Which of a step's counts a person wants to see first."""

from collections.abc import Mapping

_MOST_COUNTS = 5
_TELLING = ("files_in", "frames_in", "frames", "kept", "dropped", "quarantined", "selected", "boxes")


def headline(counts: Mapping[str, int]) -> str:
    """Return the counts that say something, the most telling first."""
    telling = sorted((name for name in counts if counts[name]), key=lambda name: (_rank(name), name))
    return ", ".join(f"{name} {counts[name]}" for name in telling[:_MOST_COUNTS])


def _rank(name: str) -> int:
    return next((rank for rank, start in enumerate(_TELLING) if name.startswith(start)), len(_TELLING))
