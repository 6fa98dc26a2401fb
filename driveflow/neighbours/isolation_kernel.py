"""How far codes are from others, in compiled code; `isolation` is its face."""

from typing import Any, Final

import numba
import numpy as np

from driveflow.neighbours.hamming import BITS, Codes
from driveflow.neighbours.leader_rows import Ints
from driveflow.neighbours.popcount import popcount

NOT: Final = -1
ALONE: Final = BITS + 1  # how far the next one is where there is none

compiled: Any = numba.njit(cache=True, nogil=True)


@compiled
def bound(codes: Codes, sample: Ints, min_bits: int, bounds: Ints) -> None:
    """Lower each bound to the distance of the nearest code of the sample that is far."""
    for item in range(len(codes)):
        for at in range(len(sample)):
            apart = np.int64(popcount(codes[item] ^ codes[sample[at]]))
            if min_bits <= apart < bounds[item]:
                bounds[item] = apart


@compiled
def measure(codes: Codes, weights: Ints, order: Any, rule: Any, found: Ints) -> int:  # noqa: ANN401 tuples
    """Measure the codes that may be among the farthest, those first that may be farthest; return how far is enough."""
    asked, bounds = order
    min_bits, company, enough = rule
    tally = np.zeros(ALONE + 1, np.int64)
    least = 0
    for place in range(len(asked)):
        item = asked[place]
        if bounds[item] < least:
            break
        found[item] = _distance(codes, weights, item, (bounds[item], least, min_bits, company))
        if found[item] >= 0:
            tally[found[item]] += weights[item]
            seen, least = 0, 0
            for bits in range(ALONE, -1, -1):
                seen += tally[bits]
                if seen >= enough:
                    least = bits
                    break
    return least


@compiled
def _distance(codes: Codes, weights: Ints, item: int, limits: Any) -> int:  # noqa: ANN401 a tuple
    """Return how far the nearest far code is; -1 once it is under `least`, or once too many are near."""
    far, least, min_bits, company = limits
    near = weights[item] - 1
    for step in range(1, max(item, len(codes) - 1 - item) + 1):
        for other in (item - step, item + step):
            if not 0 <= other < len(codes):
                continue
            apart = np.int64(popcount(codes[item] ^ codes[other]))
            if apart >= min_bits:
                far = min(far, apart)
            else:
                near += weights[other]
        if near > company or far < least:
            return NOT
    return far
