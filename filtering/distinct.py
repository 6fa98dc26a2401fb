"""Pairs of frames that are no twins, whatever they look like."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.neighbours.leader_scan import NamedPairs
from filtering.places import Ints


def pairs_of(left: Ints, right: Ints, count: int) -> NamedPairs:
    """Return pairs of `count` frames, each named to both; pairs told twice count once.

    >>> pairs_of(np.array([0]), np.array([2]), 3).starts.tolist()
    [0, 1, 1, 2]
    """
    both = np.unique(np.concatenate([left, right]).astype(np.int64) * count + np.concatenate([right, left]))
    owner, other = both // max(count, 1), both % max(count, 1)
    return NamedPairs(np.searchsorted(owner, np.arange(count + 1)), other, np.zeros(len(other)))


def joined(one: NamedPairs, other: NamedPairs) -> NamedPairs:
    """Return the pairs of both."""
    owners = [np.repeat(np.arange(len(pairs.starts) - 1), np.diff(pairs.starts)) for pairs in (one, other)]
    return pairs_of(np.concatenate(owners), np.concatenate([one.items, other.items]), len(one.starts) - 1)


def pairs_among(frame_ids: pa.Array, pairs: pa.Table) -> NamedPairs | None:
    """Return those of `pairs` (columns frame_a and frame_b) whose frames are both among `frame_ids`; None for none."""
    if not pairs.num_rows:
        return None
    left, right = (pc.index_in(pairs[name], value_set=frame_ids) for name in ("frame_a", "frame_b"))
    both = pc.and_(pc.is_valid(left), pc.is_valid(right))
    rows = [side.filter(both).to_numpy().astype(np.int64) for side in (left, right)]
    return pairs_of(rows[0], rows[1], len(frame_ids)) if len(rows[0]) else None
