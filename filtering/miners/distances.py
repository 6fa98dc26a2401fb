"""How far rows lie from the nearest rows of a reference, exactly, by hash or by vector."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.neighbours.k_center import nearest_kept
from driveflow.neighbours.nearest_codes import kth_nearest_bits
from filtering.miners.material import Ints, Mask, Scores, Vectors

Codes: TypeAlias = npt.NDArray[np.uint64]


def kth_bits(codes: Codes, asked: Ints, kept: Mask, group: Ints, nearest: int) -> Scores:
    """Return for each `asked` row in how many bits it differs from its `nearest`-th nearest kept row.

    Rows of its own group are not compared. NaN where fewer than `nearest` rows are left.

    >>> kth_bits(np.array([0, 1, 7], np.uint64), np.array([0]), np.ones(3, bool), np.arange(3), 1).tolist()
    [1.0]
    """
    rows = np.flatnonzero(kept)
    bits = kth_nearest_bits((codes[asked], group[asked]), (codes[rows], group[rows]), nearest)
    return np.where(bits < 0, np.nan, bits.astype(np.float64))


def kth_cosine(vectors: Vectors, asked: Ints, kept: Mask, group: Ints, nearest: int) -> Scores:
    """Return for each `asked` row the cosine distance (0 to 2) to its `nearest`-th nearest kept row.

    Rows of its own group are not compared, rows of zeros neither: they are no vectors. NaN where too few are left.
    """
    rows = np.flatnonzero(kept)
    scores = nearest_kept(vectors[asked], vectors[rows], nearest, (group[asked], group[rows]))
    return np.where(np.isinf(scores), np.nan, scores)
