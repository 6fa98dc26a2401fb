"""Fewer numbers that bound a cosine from above: the first axes of the data, and the length of what they leave out."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from driveflow.neighbours.cosine import Floats, Vectors, slack

_SAMPLE: Final = 512
_AXES: Final = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_COST_OF_MEASURING: Final = 8.0  # of one pair, in the numbers a product takes that is one of many
_FEW: Final = 16  # as many rows of the sample stand for one centre
_ERROR_OF_SQUARES: Final = np.float32(2e-6)  # of the difference of two in single precision
_SMALL: Final = 24  # dimensions that are few already


@dataclass(frozen=True, slots=True)
class Projection:
    """Axes at right angles; without any, the bound is the cosine itself."""

    axes: Vectors | None  # dimensions x axes

    def coordinates(self, vectors: Vectors) -> Vectors:
        """Return rows whose products are no less than the cosines of `vectors`, but for `slack`.

        By Cauchy and Schwarz the parts that are left out have a product of at most that of their lengths.
        """
        if self.axes is None:
            return vectors
        inside = vectors @ self.axes
        squares = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", inside, inside)
        left_out = np.sqrt(np.maximum(squares, 0) + _ERROR_OF_SQUARES)
        return np.concatenate([inside, left_out[:, None]], axis=1)


def fit(vectors: Vectors, limit: float | None = None) -> Projection:
    """Return the projection that should cost least when pairs within `limit` are searched among `vectors`.

    Without a limit it is the distance that rows have from the nearest of a few. What is returned decides how long a
    search takes, never what it finds.
    """
    sample = _sample(vectors)
    dimensions = vectors.shape[1]
    if dimensions <= _SMALL or len(sample) < _SMALL:
        return Projection(None)
    axes = _axes(sample)
    least = (float((sample[::_FEW] @ sample.T).max(axis=0).mean()) if limit is None else 1.0 - limit) - slack(
        dimensions
    )
    costs = {dimensions: float(dimensions)}
    for count in _AXES:
        if count < min(dimensions, axes.shape[1]):
            inside = sample @ axes[:, :count]
            left_out = np.sqrt(np.maximum(1.0 - np.einsum("ij,ij->i", inside, inside), 0.0))
            measured = float((inside @ inside.T + np.outer(left_out, left_out) >= least).mean())
            costs[count] = count + 1 + measured * dimensions * _COST_OF_MEASURING
    best = min(costs, key=lambda count: (costs[count], count))
    return Projection(None if best == dimensions else np.ascontiguousarray(axes[:, :best], dtype=np.float32))


def _sample(vectors: Vectors) -> Floats:
    return vectors[:: max(1, len(vectors) // _SAMPLE)].astype(np.float64)


def _axes(sample: Floats) -> Floats:
    """Return axes at right angles, those that hold most of the sample first."""
    lengths, axes = np.linalg.eigh(sample.T @ sample)
    return np.asarray(axes[:, np.argsort(-lengths, kind="stable")])
