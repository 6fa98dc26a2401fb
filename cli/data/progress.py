"""Show how far work is: a bar on stderr, where that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from driveflow.progress import Progress, silent


@contextmanager
def shown_progress(title: str) -> Iterator[Progress]:
    """Yield what work calls to say how far it is."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), TextColumn(title), BarColumn(bar_width=24), MofNCompleteColumn(),
               TextColumn("{task.description}"), TimeElapsedColumn())  # fmt: skip
    with Bars(*columns, console=Console(stderr=True, highlight=False), transient=True) as bars:
        task = bars.add_task("", total=None)

        def hear(done: int, total: int, what: str) -> None:
            bars.update(task, completed=done, total=total or None, description=what)

        yield hear
