"""Bring a picture into the size a model takes, and boxes back from there."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from driveflow.detectors.declaration import InputDeclaration
from driveflow.images.decode import Pixels


@dataclass(frozen=True, slots=True)
class Fit:
    """How a picture of `width` x `height` pixels lies in a model's input: scaled, with its top left corner at 0, 0."""

    width: int
    height: int
    scale_x: float
    scale_y: float

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the scaled picture."""
        return max(1, round(self.width * self.scale_x)), max(1, round(self.height * self.scale_y))

    def shows_centre(self, boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which boxes of the input have their centre in the picture; the others lie in what was filled up."""
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2 / np.array([self.scale_x, self.scale_y])
        return np.asarray(((centres >= 0) & (centres <= [self.width, self.height])).all(axis=1), dtype=np.bool_)

    def back(self, boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return boxes of the input as boxes of the picture, cut at its edges and rounded to 1/100 pixel."""
        limits = np.array([self.width, self.height, self.width, self.height], dtype=np.float64)
        scales = np.array([self.scale_x, self.scale_y, self.scale_x, self.scale_y], dtype=np.float64)
        return np.asarray(np.round(np.clip(boxes / scales, 0.0, limits), 2), dtype=np.float64)


def fit_size(width: int, height: int, into: tuple[int, int], *, keep_shape: bool = True) -> Fit:
    """Return the fit of a picture into `into` (width, height).

    >>> fit_size(200, 100, (50, 50)).size
    (50, 25)
    """
    scale_x, scale_y = into[0] / width, into[1] / height
    if keep_shape:
        scale_x = scale_y = min(scale_x, scale_y)
    return Fit(width, height, scale_x, scale_y)


def fit_picture(
    image: Pixels, into: tuple[int, int], *, keep_shape: bool = True, fill: int = 114
) -> tuple[Pixels, Fit]:
    """Return `image` fitted into `into` (width, height), the rest `fill`, and the fit."""
    import cv2

    fit = fit_size(image.shape[1], image.shape[0], into, keep_shape=keep_shape)
    width, height = (min(side, most) for side, most in zip(fit.size, into, strict=True))
    shrinks = fit.scale_x < 1 or fit.scale_y < 1
    resized = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    canvas = np.full((into[1], into[0], 3), fill, dtype=np.uint8)
    canvas[:height, :width] = resized
    return canvas, fit


def model_input(image: Pixels, declared: InputDeclaration) -> tuple[npt.NDArray[np.uint8 | np.float32], Fit]:
    """Return the tensor that a model with the input `declared` takes for `image`, and the fit."""
    fitted, fit = fit_picture(
        image, (declared.width, declared.height), keep_shape=declared.resize == "letterbox", fill=declared.fill
    )
    tensor = fitted[None] if declared.layout == "NHWC" else fitted.transpose(2, 0, 1)[None]
    if declared.dtype == "float32":
        return np.ascontiguousarray(tensor, dtype=np.float32) * np.float32(declared.scale), fit
    return np.ascontiguousarray(tensor), fit
