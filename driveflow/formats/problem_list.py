"""List what is wrong with label files and metadata: of very many wrong lines some, and how many more there are."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from driveflow.formats.label_set import LabelProblem

_LISTED: Final = 10_000  # problems of one file and reason


@dataclass(slots=True)
class ProblemList:
    """Problems in their order; of one file and reason no more are kept than a person will ever read."""

    _kept: list[LabelProblem] = field(default_factory=list)
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    _more: dict[tuple[str, str], LabelProblem] = field(default_factory=dict)

    def add(self, problem: LabelProblem) -> None:
        """Add one problem."""
        spot = (problem.path, problem.reason)
        self._seen[spot] += 1
        if self._seen[spot] <= _LISTED:
            self._kept.append(problem)
        else:
            lost = self._more.get(spot)
            boxes = problem.boxes + (lost.boxes if lost else 0)
            self._more[spot] = replace(problem, detail=f"{self._seen[spot] - _LISTED} more", line=None, boxes=boxes)

    def __len__(self) -> int:
        """Return how many problems there are, listed or not."""
        return self._seen.total()

    def __iter__(self) -> Iterator[LabelProblem]:
        """Yield the problems, and of each file and reason with more of them how many, and their boxes."""
        yield from self._kept
        yield from self._more.values()
