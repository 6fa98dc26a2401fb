"""The sections of a flow file that say from when on a frame is useless, one a defect."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from driveflow.flow.fields import STRICT, Share

_FromZero = Annotated[float, Field(ge=0)]
_AboveZero = Annotated[float, Field(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlurSection:
    """Edges at a long side of 120 px; the relative limit only in populations of 50 frames or more."""

    __pydantic_config__ = STRICT
    enabled: bool = True
    dead_sharpness: _FromZero = 4.0  # variance of the Laplacian
    dead_edge_ratio: _FromZero = 0.45  # energy of second over first differences
    max_robust_z: _AboveZero = 4.0  # below the population of the same camera and time of day


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureSection:
    """Dead limits are absolute (levels 0..255); the rest is relative to camera and time of day."""

    __pydantic_config__ = STRICT
    enabled: bool = True
    dead_contrast: _FromZero = 2.0  # a black, white or single-colour frame
    dead_dark_share: Share = 0.995
    dead_bright_share: Share = 0.98
    dead_green_cast: _FromZero = 60.0  # levels of green over the mean of red and blue
    max_robust_z: _AboveZero = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LowContrastSection:
    """Off unless asked for: dense fog looks the same."""

    __pydantic_config__ = STRICT
    enabled: bool = False
    max_robust_z: _AboveZero = 5.0  # below the population of the same camera and time of day


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedTailSection:
    """The lower part of the picture is of one colour: what a decoder leaves where data is missing."""

    __pydantic_config__ = STRICT
    enabled: bool = True
    dead_share: Share = 0.2  # of the rows
    max_robust_z: _AboveZero = 5.0  # above the population, in which 0.01 counts at least as a deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCameraSection:
    """The same picture again and again while time or position moves on."""

    __pydantic_config__ = STRICT
    enabled: bool = True
    min_frames: Annotated[int, Field(ge=2)] = 3  # fewer equal pictures in a row are no frozen camera


@dataclass(frozen=True, slots=True, kw_only=True)
class SwappedChannelsSection:
    """Red and blue changed places."""

    __pydantic_config__ = STRICT
    enabled: bool = True
    max_levels: _AboveZero = 8.0  # how much nearer the population the frame would be with red and blue swapped


@dataclass(frozen=True, slots=True, kw_only=True)
class SoiledLensSection:
    """Some regions lost their edges for a while, others did not; off unless asked for: cameras must be told apart."""

    __pydantic_config__ = STRICT
    enabled: bool = False
    max_share: Share = 0.12  # of the regions
    window_frames: Annotated[int, Field(ge=3)] = 31  # over so many frames of a drive a median is taken
