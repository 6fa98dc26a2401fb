"""Frames that are rare by their pixels alone: far from everything but their own moment."""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driveflow.flow.miner_section import ShieldSection
from driveflow.neighbours.hamming import leaders
from filtering.miners.distances import kth_bits
from filtering.rarity import shuffled

Codes: TypeAlias = npt.NDArray[np.uint64]
_MOMENT_FRAMES: Final = 8  # what has more frames than that is a scene, and no rarity


def rare_by_pixels(frame_ids: pa.Array, codes: Codes, section: ShieldSection) -> dict[str, int]:
    """Return the frames to shield because nothing resembles them, each with its bits to the nearest other frame.

    Frames within `min_bits` of each other are a group; of a group of at most eight one frame is shielded where every
    frame outside is `min_bits` away or more. Of more such frames than the quota the farthest are, then by a hash of the
    frame. The answer depends on no order, and new frames elsewhere change no distance.
    """
    if not len(frame_ids):
        return {}
    order = np.asarray(pa.compute.sort_indices(frame_ids.cast(pa.large_string())).to_numpy(), np.int64)
    names, ordered = frame_ids.take(pa.array(order)), codes[order]
    group = leaders(ordered, section.min_bits - 1).leader
    sizes = np.bincount(group, minlength=len(group))
    few = np.flatnonzero((group == np.arange(len(group))) & (sizes <= _MOMENT_FRAMES))
    apart = kth_bits(ordered, few, np.ones(len(group), np.bool_), group, 1)
    alone = ~(apart < section.min_bits)  # with nothing else to compare, a frame is alone
    found = dict(zip(names.take(pa.array(few[alone])).to_pylist(), apart[alone].tolist(), strict=True))
    bits = {name: int(far) if far == far else section.min_bits for name, far in found.items()}  # noqa: PLR0124 NaN
    ranked = sorted(shuffled(bits, "rare by pixels"), key=lambda name: -bits[name])
    return {name: bits[name] for name in ranked[: section.quota_frames]}
