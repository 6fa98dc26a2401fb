"""Change a picture and its boxes at random, the same way whenever the same (seed, epoch, place) comes again."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from driveflow.images.decode import Pixels
from training.builtin.examples import IGNORED

_FILL: Final = 114
_LEAST_VISIBLE: Final = 0.3  # of a box's area; what shows less of itself is neither object nor background
_LEAST_SIDE_PX: Final = 3.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture of the model's input size with its boxes (n, 4) in pixels of it, and their class numbers (n,)."""

    image: Pixels
    boxes: npt.NDArray[np.float32]
    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How strongly pictures are changed; shares are probabilities, the rest are ranges around 1 or 0."""

    flip_share: float = 0.5
    move_share: float = 0.5
    least_scale: float = 0.6
    most_scale: float = 1.5
    stretch: float = 0.15  # of one side against the other
    gain: float = 0.3
    offset: float = 24.0  # grey levels
    tint: float = 0.15

    def apply(self, scene: Scene, random: np.random.Generator) -> Scene:
        """Return `scene` flipped, moved, scaled and coloured as `random` says."""
        if random.random() < self.flip_share:
            scene = flip(scene)
        if random.random() < self.move_share:
            scene = move(scene, self._movement(scene.image.shape[:2], random))
        return Scene(self._colour(scene.image, random), scene.boxes, scene.numbers)

    def _movement(self, size: tuple[int, ...], random: np.random.Generator) -> npt.NDArray[np.float32]:
        """Return a 2 x 3 matrix that scales the picture and keeps as much of it in view as fits."""
        scale = math.exp(random.uniform(math.log(self.least_scale), math.log(self.most_scale)))
        stretch = math.exp(random.uniform(-self.stretch, self.stretch))
        rows = []
        for place, (side, factor) in enumerate(((size[1], scale * stretch), (size[0], scale / stretch))):
            room = side - side * factor
            shift = random.uniform(min(0.0, room), max(0.0, room))
            rows.append([factor, 0.0, shift] if place == 0 else [0.0, factor, shift])
        return np.array(rows, dtype=np.float32)

    def _colour(self, image: Pixels, random: np.random.Generator) -> Pixels:
        import cv2

        gain = random.uniform(1 - self.gain, 1 + self.gain) * random.uniform(1 - self.tint, 1 + self.tint, 3)
        offset = random.uniform(-self.offset, self.offset)
        levels = (np.arange(256)[:, None] - 128.0) * gain + 128.0 + offset
        return np.asarray(cv2.LUT(image, np.clip(levels, 0, 255).astype(np.uint8)[None]), dtype=np.uint8)


def flip(scene: Scene) -> Scene:
    """Return `scene` as a mirror shows it, left for right."""
    boxes = scene.boxes.copy()
    boxes[:, [0, 2]] = scene.image.shape[1] - scene.boxes[:, [2, 0]]
    return Scene(np.ascontiguousarray(scene.image[:, ::-1]), boxes, scene.numbers)


def move(scene: Scene, matrix: npt.NDArray[np.float32]) -> Scene:
    """Return `scene` moved by `matrix`; boxes are cut at the edge, and ignored where too little of them is left."""
    import cv2

    height, width = scene.image.shape[:2]
    image = cv2.warpAffine(scene.image, matrix, (width, height), borderValue=(_FILL, _FILL, _FILL))
    factors, shifts = np.diag(matrix[:, :2]), matrix[:, 2]
    moved = scene.boxes * np.tile(factors, 2) + np.tile(shifts, 2)
    cut = np.clip(moved, 0.0, np.array([width, height, width, height], dtype=np.float32))
    shown = _areas(cut) >= _LEAST_VISIBLE * _areas(moved) - 1e-3  # rounding must not decide
    large = (cut[:, 2:] - cut[:, :2]).min(axis=1, initial=math.inf) >= _LEAST_SIDE_PX
    numbers = np.where(shown & large, scene.numbers, IGNORED)
    in_view = _areas(cut) > 0
    return Scene(np.asarray(image, dtype=np.uint8), cut[in_view].astype(np.float32), numbers[in_view])


def _areas(boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), dtype=np.float32)
