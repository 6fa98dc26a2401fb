"""Frames that show another scene than all others of their population: what is usual there says nothing of them."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from driveflow.neighbours.hamming import Codes
from driveflow.neighbours.nearest_codes import kth_nearest_bits
from filtering.catalog import FrameFilter
from filtering.measured import Column, Groups, Mask, MeasuredFrames, members

Scored = tuple[FrameFilter, Column]

_HIDES_THE_SCENE: Final = frozenset(["truncated_tail", "soiled_lens"])
_LONELY_SHARE: Final = 0.1  # of a population: where more frames are far from all others, to be so tells nothing
_ASKED: Final = 200  # frames of a population, to know that


def other_scenes(frames: MeasuredFrames, scored: Sequence[Scored], min_bits: int) -> Mask:
    """Tell which frames no limit that is relative to their population can judge, of those that one would drop.

    Such a frame is at least `min_bits` of 64 from every frame of its population that no filter drops. A defect that
    leaves the scene to be seen (exposure, blur, contrast, colours) leaves its hash near those of the frames around it:
    measured were up to 14 bits.
    """
    dropped = np.zeros(len(frames.populations), np.bool_)
    suspects = dropped.copy()
    for item, scores in scored:
        beyond = ~item.keep(scores)
        dropped |= beyond
        if item.spares_rare and item.reason not in _HIDES_THE_SCENE:
            suspects |= beyond
    found = np.zeros(len(suspects), np.bool_)
    if not suspects.any():
        return found
    codes = frames.signals["phash64"].to_numpy()
    for rows in members(frames.populations):
        asked, others = rows[suspects[rows]], codes[rows[~dropped[rows]]]
        if len(asked) and _are_alike(others, min_bits):
            found[asked] = _nearest(codes[asked], np.full(len(asked), -1), others) >= min_bits
    return found


def _are_alike(codes: Codes, min_bits: int) -> bool:
    """Tell whether nearly all frames of a population have another one near."""
    if len(codes) < 2:
        return False
    some = np.unique(np.linspace(0, len(codes) - 1, _ASKED).astype(np.int64))
    return bool((_nearest(codes[some], some, codes) >= min_bits).mean() <= _LONELY_SHARE)


def _nearest(asked: Codes, rows: Groups, codes: Codes) -> Groups:
    """Return how many bits each code `asked` is from the nearest of `codes` but the one at its row."""
    return kth_nearest_bits((asked, rows), (codes, np.arange(len(codes), dtype=np.int64)), 1)
