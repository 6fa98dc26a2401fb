"""Show how a run goes: one line for each step, a bar while one works."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_LABEL = "{task.fields[step]}"


class RunProgress:
    """Turn the runner's events into lines on stderr; a bar where stderr is a terminal."""

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

    def __enter__(self) -> "RunProgress":
        self._bars.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._bars.stop()

    def hear(self, event: Mapping[str, Any]) -> None:
        """Show `event`."""
        handler = {"step_started": self._started, "progress": self._progress, "step_finished": self._finished}
        if event["event"] in handler:
            handler[event["event"]](event)

    def _started(self, event: Mapping[str, Any]) -> None:
        self._drop()
        self._task = self._bars.add_task("", total=None, step=event["step"])

    def _progress(self, event: Mapping[str, Any]) -> None:
        if self._task is not None:
            total = event["total"] or None
            self._bars.update(self._task, completed=event["done"], total=total, description=event["what"])

    def _finished(self, event: Mapping[str, Any]) -> None:
        self._drop()
        mark = "done  " if event["code"] == 0 else "failed"
        self._console.print(f"  {mark}  {event['step']:<20} {event['seconds']:6.1f} s")

    def _drop(self) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None
