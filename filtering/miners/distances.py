"""How far rows lie from the nearest rows of a reference, exactly, by hash or by vector."""

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.neighbours.k_center import nearest_kept
from filtering.miners.material import Ints, Mask, Scores, Vectors

Codes: TypeAlias = npt.NDArray[np.uint64]
_PAIRS_AT_ONCE: Final = 4_000_000  # what bounds memory
_NO_BITS: Final = 255


def kth_bits(codes: Codes, asked: Ints, kept: Mask, group: Ints, nearest: int) -> Scores:
    """Return for each `asked` row in how many bits it differs from its `nearest`-th nearest kept row.

    Rows of its own group are not compared. NaN where fewer than `nearest` rows are left.

    >>> kth_bits(np.array([0, 1, 7], np.uint64), np.array([0]), np.ones(3, bool), np.arange(3), 1).tolist()
    [1.0]
    """
    rows = np.flatnonzero(kept)
    scores = np.full(len(asked), np.nan)
    for part in _parts(len(asked), len(rows)):
        apart = np.bitwise_count(codes[asked[part], None] ^ codes[None, rows])
        scores[part] = _kth(apart, group[asked[part]], group[rows], nearest, _NO_BITS)
    return scores


def kth_cosine(vectors: Vectors, asked: Ints, kept: Mask, group: Ints, nearest: int) -> Scores:
    """Return for each `asked` row the cosine distance (0 to 2) to its `nearest`-th nearest kept row.

    Rows of its own group are not compared, rows of zeros neither: they are no vectors. NaN where too few are left.
    """
    rows = np.flatnonzero(kept)
    scores = nearest_kept(vectors[asked], vectors[rows], nearest, (group[asked], group[rows]))
    return np.where(np.isinf(scores), np.nan, scores)


def _kth(apart: npt.NDArray[Any], own: Ints, others: Ints, nearest: int, none: float) -> Scores:
    """Return the `nearest`-th smallest of each row, NaN where there are not so many; rows of one group are `none`."""
    if apart.shape[1] < nearest:
        return np.full(len(apart), np.nan)
    apart[np.asarray(own[:, None] == others[None, :])] = none
    found = apart.min(axis=1) if nearest == 1 else np.partition(apart, nearest - 1, axis=1)[:, nearest - 1]
    return np.where(found == none, np.nan, found.astype(np.float64))


def _parts(asked: int, kept: int) -> list[slice]:
    size = max(1, _PAIRS_AT_ONCE // max(kept, 1))
    return [slice(start, min(start + size, asked)) for start in range(0, asked, size)]
