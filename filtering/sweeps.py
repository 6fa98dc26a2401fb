"""What other limits would keep: the filters asked again with one setting changed at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.flow.sections import NearDuplicateSection
from filtering.filter_frames import FilterRequest, filter_frames

_BITS: Final = tuple(range(17))
_DISTANCES: Final = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_GAPS: Final = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SWEPT: Final[dict[str, tuple[str, Sequence[float]]]] = {
    "same_drive_max_bits": ("bits", _BITS),
    "across_drives_max_bits": ("bits", _BITS),
    "same_drive_max_distance": ("cosine distance", _DISTANCES),
    "across_drives_max_distance": ("cosine distance", _DISTANCES),
    "min_gap_s": ("s", _GAPS),
    "min_gap_m": ("m", _GAPS),
}
"""Settings of near_duplicates that are tried, the unit, and the values."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One value of a setting, and how many of the training frames it would keep."""

    limit: float
    kept: int
    kept_share: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """What each value of `setting` would keep with all else as it is; `now` is the value that the flow has."""

    setting: str
    unit: str
    now: float
    points: tuple[SweepPoint, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the sweep as JSON."""
        points: list[Json] = [
            {"limit": point.limit, "kept": point.kept, "kept_share": point.kept_share} for point in self.points
        ]
        return {"setting": f"near_duplicates.{self.setting}", "unit": self.unit, "now": self.now, "points": points}


def sweeps(request: FilterRequest) -> tuple[Sweep, ...]:
    """Return what other limits of near-duplicates would keep of the training frames of `request`.

    A setting that cannot matter is left out: across drives where there is one, gaps where no time or place is known,
    distances where frames have no vectors.
    Frames with equal pixels are not decoded for it: their hashes are equal, so that any limit drops them.
    """
    section = request.filters.near_duplicates
    if not section.enabled:
        return ()
    asked = replace(request, pixels=None)
    return tuple(_sweep(asked, section, setting) for setting in SWEPT if _matters(asked, setting))


def _matters(request: FilterRequest, setting: str) -> bool:
    sources = request.tables.sources
    if setting.endswith("_distance") and request.vectors is None:
        return False
    if setting.startswith("across_drives"):
        return len(sources["drive"].unique()) > 1
    column = {"min_gap_s": "captured_ns", "min_gap_m": "lat"}.get(setting)
    return column is None or bool(sources[column].null_count < sources.num_rows)


def _sweep(request: FilterRequest, section: NearDuplicateSection, setting: str) -> Sweep:
    unit, values = SWEPT[setting]
    now = float(getattr(section, setting))
    limits = sorted({*map(float, values), now})
    return Sweep(setting, unit, now, tuple(_point(request, section, setting, limit) for limit in limits))


def _point(request: FilterRequest, section: NearDuplicateSection, setting: str, limit: float) -> SweepPoint:
    changed: Any = {setting: int(limit) if setting.endswith("_bits") else limit}
    tried = replace(section, **changed)
    frames = request.tables.frames
    train = frames["frame_id"].filter(pc.equal(frames["split"], "train")).combine_chunks()
    decisions = filter_frames(replace(request, filters=replace(request.filters, near_duplicates=tried))).decisions
    mine = decisions.filter(pc.is_in(decisions["frame_id"], value_set=train))
    kept = pc.sum(pc.equal(mine["verdict"], "kept")).as_py() or 0
    return SweepPoint(limit, kept, round(kept / mine.num_rows, 4) if mine.num_rows else 0.0)
