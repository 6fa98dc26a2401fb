"""How far codes are from the nearest of many others, exactly, without looking at every pair."""

from typing import Final

import numpy as np

from driveflow.neighbours.hamming import BITS, Codes
from driveflow.neighbours.leader_rows import CHUNK_BITS, CHUNKS, Ints
from driveflow.neighbours.leader_scan import spread_out
from driveflow.neighbours.nearest_codes_kernel import Others, fill

_MOST_FLIPS: Final = 3  # bits of a chunk; what is farther than 15 bits is found by a look at every code
_COST_OF_A_BUCKET: Final = 4  # in looks at a code
_NONE: Final = BITS + 1


def kth_nearest_bits(asked: tuple[Codes, Ints], others: tuple[Codes, Ints], nearest: int) -> Ints:
    """Return in how many bits each code `asked` differs from its `nearest`-th nearest of `others`; -1 for none.

    Beside each code stands its group: what is of its own group is not compared.

    >>> codes, groups = np.array([0, 1, 7], np.uint64), np.arange(3)
    >>> kth_nearest_bits((codes, groups), (codes, groups), 1).tolist()
    [1, 1, 2]
    """
    best = np.full((len(asked[0]), nearest), _NONE, np.int64)
    fill(spread_out(asked[0]), np.asarray(asked[1], np.int64), _others(*others), best)
    return np.where(best[:, -1] == _NONE, -1, best[:, -1])


def _others(codes: Codes, groups: Ints) -> Others:
    moved = spread_out(codes)
    width = 1 << CHUNK_BITS
    values = [
        ((moved >> np.uint64(CHUNK_BITS * chunk)) & np.uint64(width - 1)).astype(np.int64) for chunk in range(CHUNKS)
    ]
    order = [np.argsort(value, kind="stable") for value in values]
    starts = [np.append(0, np.cumsum(np.bincount(value, minlength=width))) for value in values]
    flips = np.bitwise_count(np.arange(width))
    masks = np.argsort(flips, kind="stable")
    counts = np.append(0, np.cumsum(np.bincount(flips)))
    stages = sum(
        _COST_OF_A_BUCKET * CHUNKS * int(counts[n + 1] - counts[n]) < len(codes) for n in range(_MOST_FLIPS + 1)
    )
    by_chunk = [moved[rows] for rows in order], [np.asarray(groups, np.int64)[rows] for rows in order]
    return Others(
        moved,
        np.asarray(groups, np.int64),
        np.stack(by_chunk[0]),
        np.stack(by_chunk[1]),
        np.stack(starts),
        masks,
        counts,
        stages,
    )
