"""What a miner is."""

from typing import Protocol

from filtering.miners.material import Material, Scores


class Miner(Protocol):
    """One way to find frames: an absolute score for each, the higher the more it is wanted; NaN is not found.

    A score depends on the frame and on what it is compared with, never on how the other frames of this run score, so
    new data elsewhere changes no old score. `formula`, `unit` and `reference` say how it is computed, for people.
    """

    @property
    def formula(self) -> str:
        """How a score is computed."""

    @property
    def unit(self) -> str:
        """What a score counts."""

    @property
    def reference(self) -> str:
        """What a frame is compared with."""

    def score(self, material: Material) -> Scores:
        """Return the score of each kept frame."""
