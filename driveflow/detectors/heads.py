"""Turn what comes out of a model into boxes in pixels of its input."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driveflow.detectors.declaration import BoxesHead, HeatmapHead
from driveflow.errors import IntegrityError

Tensor = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Boxes (n, 4) in pixels of the input, scores (n,) and class numbers (n,), best first, equal scores by place."""

    boxes: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]

    def take(self, rows: npt.NDArray[np.int64]) -> "Candidates":
        """Return the given rows in the given order."""
        return Candidates(self.boxes[rows], self.scores[rows], self.numbers[rows])


def decode(
    head: HeatmapHead | BoxesHead, outputs: Mapping[str, Tensor], classes: int, size: tuple[int, int], min_score: float
) -> Candidates:
    """Return the boxes that `outputs` of one picture tell of, at most `head.max_boxes`, none scored under `min_score`.

    `size` is width and height of the input.

    Raises:
        IntegrityError: an output has another shape than the head declares, or holds what is no number.
    """
    for name, values in outputs.items():
        if not np.isfinite(values).all():
            raise IntegrityError(f"The model's output {name!r} holds values that are no numbers.")
    found = (
        _decode_heatmap(head, outputs, classes, size, min_score)
        if isinstance(head, HeatmapHead)
        else _decode_boxes(head, outputs, classes, min_score)
    )
    return _suppress(found, head.nms_iou, head.max_boxes)


def _decode_heatmap(
    head: HeatmapHead, outputs: Mapping[str, Tensor], classes: int, size: tuple[int, int], min_score: float
) -> Candidates:
    columns, rows = (-(-side // head.stride) for side in size)
    scores = _shaped(outputs, head.scores, (1, classes, rows, columns))[0]
    sides = _shaped(outputs, head.sides, (1, 4, rows, columns))[0].astype(np.float64)
    numbers, y, x = np.nonzero((scores >= min_score) & (scores >= _highest_neighbour(scores)))
    centre_x, centre_y = (x + 0.5) * head.stride, (y + 0.5) * head.stride
    left, top, right, bottom = sides[:, y, x]
    boxes = np.stack([centre_x - left, centre_y - top, centre_x + right, centre_y + bottom], axis=1)
    return _ordered(boxes, scores[numbers, y, x], numbers)


def _highest_neighbour(scores: Tensor) -> Tensor:
    """Return the highest of the 3 x 3 cells around each, itself included."""
    padded = np.pad(scores, ((0, 0), (1, 1), (1, 1)), constant_values=-1.0)
    across = np.maximum(np.maximum(padded[:, :, :-2], padded[:, :, 1:-1]), padded[:, :, 2:])
    return np.asarray(np.maximum(np.maximum(across[:, :-2], across[:, 1:-1]), across[:, 2:]), dtype=np.float32)


def _decode_boxes(head: BoxesHead, outputs: Mapping[str, Tensor], classes: int, min_score: float) -> Candidates:
    count = outputs[head.boxes].shape[1] if outputs[head.boxes].ndim == 3 else 0
    boxes = _shaped(outputs, head.boxes, (1, count, 4))[0].astype(np.float64)
    scores = _shaped(outputs, head.scores, (1, count, classes))[0]
    rows, numbers = np.nonzero(scores >= min_score)
    return _ordered(boxes[rows], scores[rows, numbers], numbers)


def _shaped(outputs: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    if outputs[name].shape != shape:
        raise IntegrityError(f"The model's output {name!r} has the shape {outputs[name].shape}, its head says {shape}.")
    return outputs[name]


def _ordered(boxes: npt.NDArray[np.float64], scores: Tensor, numbers: npt.NDArray[np.int64]) -> Candidates:
    """Order by score, the highest first; scores are rounded before they decide, so that two processors agree."""
    rounded = np.asarray(np.clip(np.round(scores.astype(np.float64), 4), 0.0, 1.0), dtype=np.float64)
    whole = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    order = np.argsort(-rounded, kind="stable")
    return Candidates(boxes, rounded, numbers).take(order[whole[order]])


def _suppress(found: Candidates, most_iou: float, most: int) -> Candidates:
    """Keep the best of boxes of one class that overlap by more than `most_iou`."""
    kept: list[int] = []
    left = np.arange(len(found.scores))
    x1, y1, x2, y2 = np.ascontiguousarray(found.boxes.T)
    areas = (x2 - x1) * (y2 - y1)
    while len(left) and len(kept) < most:
        first, left = int(left[0]), left[1:]
        kept.append(first)
        across = np.minimum(x2[left], x2[first]) - np.maximum(x1[left], x1[first])
        down = np.minimum(y2[left], y2[first]) - np.maximum(y1[left], y1[first])
        shared = np.maximum(across, 0.0) * np.maximum(down, 0.0)
        alike = shared / (areas[left] + areas[first] - shared) > most_iou
        left = left[~(alike & (found.numbers[left] == found.numbers[first]))]
    return found.take(np.asarray(kept, dtype=np.int64))
