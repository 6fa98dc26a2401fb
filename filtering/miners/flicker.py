"""Frames in which something vanishes that the champion sees right before and right after."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import pyarrow.compute as pc

from driveflow.flow.miner_section import MinerSection
from filtering.miners.matching import NO_BOXES, Boxes, boxes_by_frame, pairs
from filtering.miners.material import Material, Scores

NS_PER_S: Final = 1_000_000_000
_DECIMALS: Final = 6


@dataclass(slots=True)
class _Tracks:
    """The objects that one camera followed in a drive, and where each was seen last."""

    last: Boxes
    frame: list[int]  # number of the frame in the drive
    time_ns: list[int]


@dataclass(frozen=True, slots=True)
class Flicker:
    """Finds the frames of train and val in which tracks of the champion's detections have a hole."""

    settings: MinerSection
    formula: str = "sum over objects seen before and after, not in the frame, of the lower of the two scores"
    unit: str = "objects"
    reference: str = "the frames before and after of the same drive and camera"

    def score(self, material: Material) -> Scores:
        """Return how much is missing from each frame; NaN where nothing is, and where no time is known."""
        table = material.champion()
        seen = boxes_by_frame(table.filter(pc.greater_equal(table["score"], self.settings.min_score)))
        missing = np.zeros(material.count)
        for frames in _runs(material).partition_by("drive", "camera", maintain_order=True):
            rows = frames["row"].to_list()
            boxes = [seen.get(name, NO_BOXES) for name in frames["frame_id"].to_list()]
            holes = track_holes(boxes, frames["captured_ns"].to_list(), self.settings)
            np.add.at(missing, rows, holes)
        missing = np.round(missing, _DECIMALS)
        return np.asarray(np.where(missing > 0, missing, np.nan))


def track_holes(boxes: list[Boxes], times_ns: list[int], settings: MinerSection) -> Scores:
    """Return for each frame of a drive the sum of the scores of what is missing there."""
    holes = np.zeros(len(boxes))
    tracks = _Tracks(NO_BOXES, [], [])
    for number, (found, time_ns) in enumerate(zip(boxes, times_ns, strict=True)):
        alive = [at for at, last in enumerate(tracks.time_ns) if time_ns - last <= settings.max_gap_s * NS_PER_S]
        tracks = _Tracks(
            tracks.last.only(np.array(alive, np.int64)),
            [tracks.frame[at] for at in alive],
            [tracks.time_ns[at] for at in alive],
        )
        followed = dict(pairs(found, tracks.last, settings.min_iou))
        for here, track in followed.items():
            lower = min(float(found.scores[here]), float(tracks.last.scores[track]))
            holes[tracks.frame[track] + 1 : number] += lower
        tracks = _with(tracks, found, set(followed.values()), number, time_ns)
    return holes


def _with(tracks: _Tracks, found: Boxes, followed: set[int], number: int, time_ns: int) -> _Tracks:
    """Return the tracks that were not seen here, and those that were, as they are here."""
    stay = np.array([at for at in range(len(tracks.frame)) if at not in followed], np.int64)
    old = tracks.last.only(stay)
    return _Tracks(
        Boxes(
            np.concatenate([old.corners, found.corners]),
            np.concatenate([old.names, found.names]),
            np.concatenate([old.scores, found.scores]),
            np.concatenate([old.ignore, found.ignore]),
        ),
        [tracks.frame[at] for at in stay.tolist()] + [number] * len(found),
        [tracks.time_ns[at] for at in stay.tolist()] + [time_ns] * len(found),
    )


def _runs(material: Material) -> pl.DataFrame:
    """Return the frames that the champion looked at, by drive, camera and time; those without a time have no place."""
    asked = material.in_splits("train", "val")
    asked &= np.ones(material.count, np.bool_) if material.looked is None else material.looked
    ids = pl.Series("frame_id", material.tables.frames["frame_id"].to_pylist(), pl.String)
    frames = pl.DataFrame([ids, pl.Series("row", np.arange(material.count))]).filter(pl.Series(asked))
    table = pl.DataFrame(pl.from_arrow(material.tables.sources.select(["frame_id", "drive", "camera", "captured_ns"])))
    found = table.filter(pl.col("captured_ns").is_not_null()).join(frames, on="frame_id")
    return found.unique().sort("drive", "camera", "captured_ns", "frame_id")
