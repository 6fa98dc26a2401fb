"""What a selection adds to what is labeled, and what the next frames would add."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from filtering.diversity import Space, nearest_chosen
from filtering.groups import Groups
from filtering.miners.material import Ints, Mask, Scores

NEXT_FRAMES: Final = 1_000
MOST_MEASURED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the frames without labels lie from the nearest that is labeled or chosen, and which groups have one.

    `radius` is the largest of these distances, `mean` their mean; None where there is nothing to measure.
    """

    frames: int  # labeled or chosen
    radius: float | None
    mean: float | None
    groups: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """Coverage before the selection, with it, and with the next frames chosen for coverage; distances are in `unit`."""

    unit: str
    before: Coverage
    after: Coverage
    beyond: Coverage
    next_frames: int
    new_groups: tuple[str, ...]  # that the selection is the first to reach
    next_groups: tuple[str, ...]  # that the next frames would be the first to reach


def outlook(space: Space, groups: Groups, labeled: Mask, chosen: Ints, candidates: Ints) -> Outlook:
    """Return what `chosen` adds to `labeled`, measured over `candidates`, and what the next 1,000 of them would.

    The next frames are those that leave the smallest distance: each is the farthest from all before it. Of equally far
    ones the first of `candidates` is taken; of many candidates the first 20,000 are looked at, so mix them first.
    """
    rows = candidates[space.known[candidates]][:MOST_MEASURED]
    before, after = np.flatnonzero(labeled), np.union1d(np.flatnonzero(labeled), chosen)
    far = nearest_chosen(space, before, rows)
    nearer = np.minimum(far, nearest_chosen(space, chosen, rows))
    further, nearest = _farthest_first(space, rows, nearer, NEXT_FRAMES)
    beyond = np.union1d(after, further)
    reached = [groups.reached(part, len(labeled)) for part in (before, after, beyond)]
    return Outlook(
        unit=space.unit,
        before=_coverage(before, far, reached[0]),
        after=_coverage(after, nearer, reached[1]),
        beyond=_coverage(beyond, nearest, reached[2]),
        next_frames=len(further),
        new_groups=tuple(sorted(reached[1] - reached[0])),
        next_groups=tuple(sorted(reached[2] - reached[1])),
    )


def _farthest_first(space: Space, rows: Ints, nearest: Scores, count: int) -> tuple[Ints, Scores]:
    """Return up to `count` of `rows`, each the farthest from all before it, and what distances are left then."""
    taken: list[int] = []
    nearest = nearest.copy()
    while len(taken) < count and len(rows) and nearest.max() > 0:
        row = int(rows[nearest.argmax()])
        taken.append(row)
        np.minimum(nearest, nearest_chosen(space, np.array([row]), rows), out=nearest)
    return np.array(taken, np.int64), nearest


def _coverage(chosen: Ints, nearest: Scores, reached: set[str]) -> Coverage:
    if not len(nearest) or np.isinf(nearest).any():
        return Coverage(len(chosen), None, None, len(reached))
    return Coverage(len(chosen), float(nearest.max()), round(float(nearest.mean()), 6), len(reached))
