"""How far the nearest codes are, in compiled code; `nearest_codes` is its face."""

from typing import Any, Final, NamedTuple

import numba
import numpy as np

from driveflow.neighbours.hamming import Codes
from driveflow.neighbours.leader_rows import CHUNK_BITS, CHUNKS, Ints
from driveflow.neighbours.popcount import popcount

_VALUES: Final = np.uint64((1 << CHUNK_BITS) - 1)

compiled: Any = numba.njit(cache=True, nogil=True)


class Others(NamedTuple):
    """Codes and groups, once as they are and once for each chunk sorted by its value, which begins at `starts`.

    The first flips[n] of `masks` have less than n bits; of more than `stages` - 1 bits none are tried.
    """

    codes: Codes
    groups: Ints
    sorted_codes: Codes  # chunk, place
    sorted_groups: Ints
    starts: Ints  # chunk, value
    masks: Ints
    flips: Ints
    stages: int


@compiled
def fill(codes: Codes, own: Ints, others: Others, best: Ints) -> None:
    """Lower each row of `best`, sorted, to the distances of the others nearest to a code, but those of its own group.

    What is as near as 4 n + 3 bits differs in at most n bits of one of four chunks: it lies in the buckets of n flips.
    """
    for item in range(len(codes)):
        mine = best[item]
        farthest = mine[-1]
        for stage in range(others.stages):
            for chunk in range(CHUNKS):
                _by_chunk(codes[item], own[item], chunk, stage, others, mine)
            if mine[-1] < CHUNKS * (stage + 1):
                break
        else:
            mine[:] = farthest
            for other in range(len(others.codes)):
                if others.groups[other] != own[item]:
                    _insert(np.int64(popcount(codes[item] ^ others.codes[other])), mine)


@compiled
def _by_chunk(code: Any, own: int, chunk: int, stage: int, others: Others, mine: Ints) -> None:  # noqa: ANN401
    value = np.int64((code >> np.uint64(CHUNK_BITS * chunk)) & _VALUES)
    for flip in range(others.flips[stage], others.flips[stage + 1]):
        bucket = value ^ others.masks[flip]
        for at in range(others.starts[chunk, bucket], others.starts[chunk, bucket + 1]):
            differs = code ^ others.sorted_codes[chunk, at]
            apart = np.int64(popcount(differs))
            if apart < mine[-1] and others.sorted_groups[chunk, at] != own and _is_first(differs, chunk, stage):
                _insert(apart, mine)


@compiled
def _is_first(differs: Any, chunk: int, stage: int) -> bool:  # noqa: ANN401 uint64
    """Return whether no chunk that is looked at before leads to the same code."""
    for other in range(CHUNKS):
        flips = np.int64(popcount((differs >> np.uint64(CHUNK_BITS * other)) & _VALUES))
        if flips < stage or (flips == stage and other < chunk):
            return False
    return True


@compiled
def _insert(apart: int, mine: Ints) -> None:
    at = len(mine) - 1
    if apart >= mine[at]:
        return
    while at > 0 and mine[at - 1] > apart:
        mine[at] = mine[at - 1]
        at -= 1
    mine[at] = apart
