"""Frames that show an object such as no kept frame shows."""

from dataclasses import dataclass

import numpy as np

from driveflow.flow.miner_section import MinerSection
from filtering.miners.distances import kth_cosine
from filtering.miners.material import Material, Scores
from filtering.miners.reference import REFERENCES, reference_frames


@dataclass(frozen=True, slots=True)
class RareObjects:
    """Finds the frames with the object farthest from its nearest kept objects, by the vector of its crop."""

    settings: MinerSection
    unit: str = "cosine distance, 0 to 2"

    @property
    def formula(self) -> str:
        """How a score is computed."""
        return f"largest distance of a box of the frame to its {self.settings.nearest}. nearest box of the reference"

    @property
    def reference(self) -> str:
        """What a frame is compared with."""
        return f"boxes, of any class, in {REFERENCES[self.settings.reference]}"

    def score(self, material: Material) -> Scores:
        """Return the largest distance in each frame; NaN without an object, or without any to compare it with."""
        scores = np.full(material.count, np.nan)
        if material.objects is None:
            return scores
        kept, group = reference_frames(material, self.settings)
        rows = material.rows_of(material.objects.frame_ids)
        inside = np.flatnonzero(rows >= 0)
        rows, vectors = rows[inside], material.objects.vectors[inside]
        asked = np.flatnonzero(material.in_splits("train", "val")[rows])
        apart = kth_cosine(vectors, asked, kept[rows], group[rows], self.settings.nearest)
        np.fmax.at(scores, rows[asked], apart)
        return scores
