"""Every miner by its name."""

from collections.abc import Callable
from typing import Final

from driveflow.flow.miner_section import MinerName
from driveflow.flow.sections import CornerCaseSection
from filtering.miners.errors import Errors
from filtering.miners.failed_slices import FailedSlices
from filtering.miners.flicker import Flicker
from filtering.miners.like_labels import LikeLabels
from filtering.miners.like_these import LikeThese
from filtering.miners.miner import Miner
from filtering.miners.rare_frames import RareFrames
from filtering.miners.rare_objects import RareObjects
from filtering.miners.rule import Rule
from filtering.miners.uncertainty import Uncertainty

MINERS: Final[dict[MinerName, Callable[[CornerCaseSection], Miner]]] = {
    "rule": Rule,
    "rare_frames": lambda case: RareFrames(case.settings),
    "rare_objects": lambda case: RareObjects(case.settings),
    "uncertainty": lambda case: Uncertainty(case.settings),
    "errors": lambda case: Errors(case.settings),
    "flicker": lambda case: Flicker(case.settings),
    "like_these": lambda case: LikeThese(case.settings),
    "like_labels": lambda case: LikeLabels(case.settings),
    "failed_slices": FailedSlices,
}


def miner_of(case: CornerCaseSection) -> Miner:
    """Return the miner that `case` asks for."""
    return MINERS[case.miner](case)
