"""Every filter that judges a frame by itself, in the order in which they are asked."""

from collections.abc import Callable
from typing import Protocol

from driveflow.flow.sections import FilterSection
from filtering.blur import DeadBlur, RelativeBlur, Smeared
from filtering.dead_frame import Black, GreenCast, NoContrast, White
from filtering.frozen_camera import FrozenCamera
from filtering.low_contrast import LowContrast
from filtering.measured import Column, Mask, MeasuredFrames
from filtering.over_exposed import OverExposed
from filtering.soiled_lens import SoiledLens
from filtering.swapped_channels import SwappedChannels
from filtering.truncated_tail import DeadTail, RelativeTail
from filtering.under_exposed import UnderExposed


class FrameFilter(Protocol):
    """One reason to drop a frame: a score for every frame, and which scores may stay.

    `rule` names the filter, `reason` the defect, `unit` what a score is; `spares_rare` says whether frames of a corner
    case are exempt.
    """

    @property
    def rule(self) -> str:
        """The name of this filter."""

    @property
    def reason(self) -> str:
        """The defect, as decisions and counts name it."""

    @property
    def unit(self) -> str:
        """What a score is."""

    @property
    def spares_rare(self) -> bool:
        """Whether frames of a corner case are exempt."""

    @property
    def limit(self) -> float:
        """What a score is compared with."""

    def score(self, frames: MeasuredFrames) -> Column:
        """Return the score of each frame."""

    def keep(self, scores: Column) -> Mask:
        """Return which scores may stay."""


FILTERS: dict[str, Callable[[FilterSection], FrameFilter | None]] = {
    "exposure.black": lambda on: Black(on.exposure.dead_dark_share) if on.exposure.enabled else None,
    "exposure.white": lambda on: White(on.exposure.dead_bright_share) if on.exposure.enabled else None,
    "exposure.no_contrast": lambda on: NoContrast(on.exposure.dead_contrast) if on.exposure.enabled else None,
    "exposure.green_cast": lambda on: GreenCast(on.exposure.dead_green_cast) if on.exposure.enabled else None,
    "truncated_tail.dead": lambda on: DeadTail(on.truncated_tail.dead_share) if on.truncated_tail.enabled else None,
    "frozen_camera": lambda on: FrozenCamera(on.frozen_camera.min_frames) if on.frozen_camera.enabled else None,
    "blur.dead": lambda on: DeadBlur(on.blur.dead_sharpness) if on.blur.enabled else None,
    "blur.smeared": lambda on: Smeared(on.blur.dead_edge_ratio) if on.blur.enabled else None,
    "exposure.dark_for_population": lambda on: UnderExposed(on.exposure.max_robust_z) if on.exposure.enabled else None,
    "exposure.bright_for_population": lambda on: OverExposed(on.exposure.max_robust_z) if on.exposure.enabled else None,
    "truncated_tail.relative": lambda on: (
        RelativeTail(on.truncated_tail.max_robust_z) if on.truncated_tail.enabled else None
    ),
    "blur.relative": lambda on: RelativeBlur(on.blur.max_robust_z) if on.blur.enabled else None,
    "low_contrast.relative": lambda on: LowContrast(on.low_contrast.max_robust_z) if on.low_contrast.enabled else None,
    "swapped_channels": lambda on: (
        SwappedChannels(on.swapped_channels.max_levels) if on.swapped_channels.enabled else None
    ),
    "soiled_lens": lambda on: (
        SoiledLens(on.soiled_lens.max_share, on.soiled_lens.window_frames) if on.soiled_lens.enabled else None
    ),
}


SETTINGS: dict[str, str] = {
    "exposure.black": "exposure.dead_dark_share",
    "exposure.white": "exposure.dead_bright_share",
    "exposure.no_contrast": "exposure.dead_contrast",
    "exposure.green_cast": "exposure.dead_green_cast",
    "truncated_tail.dead": "truncated_tail.dead_share",
    "frozen_camera": "frozen_camera.min_frames",
    "blur.dead": "blur.dead_sharpness",
    "blur.smeared": "blur.dead_edge_ratio",
    "exposure.dark_for_population": "exposure.max_robust_z",
    "exposure.bright_for_population": "exposure.max_robust_z",
    "truncated_tail.relative": "truncated_tail.max_robust_z",
    "blur.relative": "blur.max_robust_z",
    "low_contrast.relative": "low_contrast.max_robust_z",
    "swapped_channels": "swapped_channels.max_levels",
    "soiled_lens": "soiled_lens.max_share",
}
"""The setting under `filters` of a flow file from which each filter has its limit."""


def setting_of(rule: str, section: FilterSection) -> str:
    """Return the setting of a filter and its value, as the flow file has them.

    >>> setting_of("blur.relative", FilterSection())
    'blur.max_robust_z: 4'
    """
    part, field = SETTINGS[rule].split(".")
    return f"{SETTINGS[rule]}: {getattr(getattr(section, part), field):g}"


def frame_filters(section: FilterSection) -> tuple[FrameFilter, ...]:
    """Return the filters that `section` asks for, dead limits first."""
    made = (build(section) for build in FILTERS.values())
    return tuple(item for item in made if item is not None)
