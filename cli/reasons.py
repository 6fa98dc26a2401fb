"""How much of a reason a table shows."""

import sys

from driveflow.pages.clip import clipped


def shown_reason(reason: str, longest: int) -> str:
    """Return a reason for the last column of a table: cut for a terminal, whole where a file or a program gets it."""
    return clipped(reason, longest) if sys.stdout.isatty() else reason
