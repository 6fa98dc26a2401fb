"""Look rows up by their frame, and choose the frames that are worth looking at: over all, and class by class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from validation.model.scene import Ints


class FrameRows:
    """The rows of a table by their frame; rows of a frame come in the table's order."""

    def __init__(self, frame: Ints, frames: int) -> None:
        """Sort once; `frame` holds numbers under `frames`."""
        self._order = np.argsort(frame, kind="stable")
        self._start = np.searchsorted(frame[self._order], np.arange(frames + 1))

    def of(self, row: int) -> Ints:
        """Return the rows of one frame."""
        return self._order[self._start[row] : self._start[row + 1]]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a frame stands among those to look at: over all, and for each class that it is chosen for; 0 is first."""

    overall: int | None = None
    by_class: Mapping[str, int] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the classes that the frame is chosen for."""
        return tuple(self.by_class)

    @property
    def is_chosen(self) -> bool:
        """Return whether the frame is to be looked at."""
        return self.overall is not None or bool(self.by_class)


def first_of_classes(frame: Ints, label: Ints, ties: Ints, most: int) -> dict[int, list[int]]:
    """Return, by class, the up to `most` frames with the most rows of that class, most first.

    `frame` and `label` say of each row where it is and of which class. Of equal frames the one with the lower number in
    `ties` (one a frame) comes first, then the first.
    """
    keys, counts = np.unique(label * len(ties) + frame, return_counts=True)
    labels, frames = np.divmod(keys, max(len(ties), 1))
    order = np.lexsort((frames, ties[frames], -counts, labels))
    found: dict[int, list[int]] = {}
    for class_, row in zip(labels[order].tolist(), frames[order].tolist(), strict=True):
        rows = found.setdefault(class_, [])
        if len(rows) < most:
            rows.append(row)
    return found


def ranked(overall: Sequence[int], by_class: Mapping[int, Sequence[int]], names: Sequence[str]) -> dict[int, Ranks]:
    """Return the frames to look at with their ranks: those over all, then the first of each class, and so on."""
    places: dict[int, dict[str, int]] = {row: {} for row in overall}
    for rows in zip_longest(*by_class.values()):
        for row in rows:
            if row is not None:
                places.setdefault(row, {})
    for label, chosen in by_class.items():
        for place, row in enumerate(chosen):
            places[row][names[label]] = place
    first = {row: place for place, row in enumerate(overall)}
    return {row: Ranks(first.get(row), found) for row, found in places.items()}
