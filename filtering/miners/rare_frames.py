"""Frames that resemble nothing that was kept."""

from dataclasses import dataclass

import numpy as np

from driveflow.flow.miner_section import MinerSection
from filtering.miners.distances import kth_bits, kth_cosine
from filtering.miners.material import Ints, Mask, Material, Scores
from filtering.miners.reference import REFERENCES, reference_frames


@dataclass(frozen=True, slots=True)
class RareFrames:
    """Finds the frames farthest from their nearest kept frames, by vector where frames have them, else by hash."""

    settings: MinerSection

    @property
    def formula(self) -> str:
        """How a score is computed."""
        return f"distance to the {_nth(self.settings.nearest)} frame of the reference"

    @property
    def unit(self) -> str:
        """What a score counts."""
        return "cosine distance, 0 to 2, where there are vectors; else bits of 64"

    @property
    def reference(self) -> str:
        """What a frame is compared with."""
        return REFERENCES[self.settings.reference]

    def score(self, material: Material) -> Scores:
        """Return the distance of each frame of train and val; NaN where there is nothing to compare it with."""
        kept, group = reference_frames(material, self.settings)
        scores = np.full(material.count, np.nan)
        known = known_frames(material)
        asked = np.flatnonzero(material.in_splits("train", "val") & known)
        scores[asked] = frame_distances(material, asked, kept & known, group, self.settings.nearest)
        return scores


def known_frames(material: Material) -> Mask:
    """Return which frames have a vector, or where there are none, a hash."""
    known = np.zeros(material.count, np.bool_)
    named = material.signals["frame_id"] if material.vectors is None else material.vectors.frame_ids
    rows = material.rows_of(named)
    if material.vectors is None:
        rows = rows[material.signals["phash64"].is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)]
    known[rows[rows >= 0]] = True
    return known


def frame_distances(material: Material, asked: Ints, kept: Mask, group: Ints, nearest: int) -> Scores:
    """Return the distance of each `asked` row to its `nearest`-th nearest kept row, whose frames are known."""
    if material.vectors is not None:
        rows = material.rows_of(material.vectors.frame_ids)
        vectors = np.zeros((material.count, material.vectors.vectors.shape[1]), np.float32)
        vectors[rows[rows >= 0]] = material.vectors.vectors[rows >= 0]
        return kth_cosine(vectors, asked, kept, group, nearest)
    rows = material.rows_of(material.signals["frame_id"])
    codes = np.zeros(material.count, np.uint64)
    measured = material.signals["phash64"].fill_null(0).to_numpy().astype(np.uint64)
    codes[rows[rows >= 0]] = measured[rows >= 0]
    return kth_bits(codes, asked, kept, group, nearest)


def _nth(number: int) -> str:
    return "nearest" if number == 1 else f"{number}th nearest"
