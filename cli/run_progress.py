"""Show how a run goes: one line for each step with its notes, a bar while one works."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_LABEL = "{task.fields[step]}"
_TOLD_EVERY_S = 20.0  # where there is no bar


class RunProgress:
    """Turn the runner's events into lines on stderr; a bar where it is a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn(_LABEL),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: Any = None
        self._notes: list[str] = []
        self._seen: set[str] = set()
        self._told_s = 0.0

    def __enter__(self) -> "RunProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._bars.stop()

    @property
    def seen(self) -> frozenset[str]:
        """Return the notes that stand under their steps already."""
        return frozenset(self._seen)

    def hear(self, event: Mapping[str, Any]) -> None:
        """Show `event`."""
        handler = {
            "step_started": self._started,
            "progress": self._progress,
            "note": self._noted,
            "step_finished": self._finished,
        }
        if event["event"] in handler:
            handler[event["event"]](event)

    def _started(self, event: Mapping[str, Any]) -> None:
        self._drop()
        self._task = self._bars.add_task("", total=None, step=event["step"])
        self._told_s = time.monotonic()

    def _progress(self, event: Mapping[str, Any]) -> None:
        if not self._console.is_terminal and time.monotonic() - self._told_s >= _TOLD_EVERY_S:
            self._told_s = time.monotonic()
            far = f"{event['done']} of {event['total']}" if event["total"] else f"{event['done']}"
            self._console.print(f"  ...     {event['step']:<20} {far} {event['what']}", markup=False, soft_wrap=True)
        if self._task is not None:
            total = event["total"] or None
            self._bars.update(self._task, completed=event["done"], total=total, description=event["what"])

    def _noted(self, event: Mapping[str, Any]) -> None:
        self._notes.append(str(event["note"]))

    def _finished(self, event: Mapping[str, Any]) -> None:
        self._drop()
        mark = "done  " if event["code"] == 0 else "failed"
        self._console.print(f"  {mark}  {event['step']:<20} {event['seconds']:6.1f} s")
        for note in self._notes:
            self._console.print(f"          {note}", markup=False, soft_wrap=True)
        self._seen.update(self._notes)
        self._notes = []

    def _drop(self) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None
