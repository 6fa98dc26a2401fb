"""Refuse numbers that are none; count and name what is not counted as given."""

from collections.abc import Iterable

import numpy as np

from driveflow.errors import InvalidInputError
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import Bools, Correction, Floats, Ints

_EXAMPLES = 5
_ODD = np.array([(2 * number + 1) * 0x9E3779B97F4A7C15 % 2**64 | 1 for number in range(6)], np.uint64)  # mixes bits


def refuse_broken(raw: RawScene) -> None:
    """Refuse what no evaluator may count: evaluators take a score that is no number for any number.

    Raises:
        InvalidInputError: a corner or a score that is missing or no finite number, or a box that ends before it begins.
    """
    for boxes, what in ((raw.truth, "truth box"), (raw.found, "prediction")):
        _refuse(raw, boxes, ~np.isfinite(boxes.corners), f"A {what} has a corner that is no number")
        _refuse(raw, boxes, boxes.sizes() < 0, f"A {what} ends before it begins (x2 < x1 or y2 < y1)")
    if raw.found.score is not None:
        broken = ~np.isfinite(raw.found.score[:, None])
        _refuse(raw, raw.found, broken, "A prediction has a score that is no number")


def correction(kind: str, raw: RawScene, boxes: RawBoxes, rows: Ints, done: str) -> list[Correction]:
    """Return what there is to say about `rows` of `boxes`, which were treated as `done` says; nothing without rows."""
    if not len(rows):
        return []
    strangers = len(raw.classes) + len(raw.strange_classes)
    places = np.unique(boxes.frame[rows] * strangers + boxes.label[rows])[:_EXAMPLES]
    said = [f"{raw.class_name(int(at % strangers))} in frame {raw.frame_name(int(at // strangers))}" for at in places]
    return [Correction(kind, len(rows), tuple(said), done)]


def twice(frame: Ints, label: Ints, corners: Floats) -> Ints:
    """Return the boxes (n frames and classes, n x 4 corners) that are equal in all to another, all but one of each."""
    parts = [frame, label, *(np.ascontiguousarray(corners[:, side] + 0.0).view(np.int64) for side in range(4))]
    key = np.zeros(len(frame), np.uint64)
    for part, odd in zip(parts, _ODD, strict=True):
        key = (key ^ part.view(np.uint64)) * odd
        key ^= key >> np.uint64(32)
    order = np.argsort(key)
    near = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    one, other = order[near], order[near + 1]
    found: Ints = np.sort(other[np.all([part[one] == part[other] for part in parts], axis=0)])
    return found


def odd_areas(area: Floats, size: Floats) -> Bools:
    """Tell which stated areas are nothing, or more than boxes of that width and height hold with two pixels more."""
    return np.asarray((area <= 0) | (area > (size[:, 0] + 2) * (size[:, 1] + 2)))


def sample(values: Iterable[object]) -> tuple[str, ...]:
    """Return the first few values as text."""
    return tuple(str(value) for value, _ in zip(values, range(_EXAMPLES), strict=False))


def _refuse(raw: RawScene, boxes: RawBoxes, broken: Bools, complaint: str) -> None:
    """Refuse the boxes of which any number is `broken`: rows x numbers."""
    if broken.any():
        rows = np.flatnonzero(broken.any(axis=1))
        row = int(rows[np.argmin(boxes.frame[rows])])
        corners = ", ".join(f"{value:g}" for value in boxes.corners[row])
        score = f", score {boxes.score[row]:g}" if boxes.score is not None else ""
        place = f"class {raw.class_name(int(boxes.label[row]))!r} in frame {raw.frame_name(int(boxes.frame[row]))}"
        where = f"{boxes.where(row)}: {place}, x1 y1 x2 y2 {corners}{score}"
        raise InvalidInputError(f"{complaint}: {where} ({len(rows)} such in all).")
