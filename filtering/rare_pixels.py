"""Frames that are rare by their pixels alone: far from everything but their own moment."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.miner_section import ShieldSection
from driveflow.neighbours.hamming import BITS, Codes, leaders
from driveflow.neighbours.isolation import Isolation, isolated
from filtering.rarity import shuffled

_MOMENT_FRAMES: Final = 8  # what has more frames than that is a scene, and no rarity


def rare_by_pixels(
    frame_ids: pa.Array, codes: Codes, section: ShieldSection, before: Codes | None = None, used: int = 0
) -> dict[str, int]:
    """Return the frames to shield because nothing resembles them, each with its bits to the nearest other moment.

    A frame is rare where at most seven others are less than `min_bits` away, and none that was kept `before`; of rare
    frames less than `min_bits` from each other one is shielded. Of more such frames than the quota, of which a part may
    be `used`, the farthest are, then by a hash of the frame. The answer depends on no order, and new frames elsewhere
    change no distance.
    """
    quota = max(section.quota_frames - used, 0)
    if not len(frame_ids) or not quota:
        return {}
    kept = np.zeros(0, np.uint64) if before is None else before
    rule = Isolation(section.min_bits, _MOMENT_FRAMES - 1, quota * _MOMENT_FRAMES)
    apart = isolated(codes, kept, rule)
    far = np.where(apart > BITS, section.min_bits, apart)  # with nothing outside its moment a frame is just rare
    order = pc.sort_indices(frame_ids).to_numpy().astype(np.int64)
    rare = order[np.argsort(-far[order], kind="stable")][: int((far >= 0).sum())]
    first = np.flatnonzero(leaders(codes[rare], section.min_bits - 1).leader == np.arange(len(rare)))
    bits = dict(zip(frame_ids.take(pa.array(rare[first])).to_pylist(), far[rare[first]].tolist(), strict=True))
    ranked = sorted(shuffled(bits, "rare by pixels"), key=lambda name: -bits[name])
    return {name: bits[name] for name in ranked[:quota]}
