"""Where and when frames were taken, as their sources say."""

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

_DIGITS = re.compile(r"(\d+)")

Place = tuple[str, str]  # drive, camera


@dataclass(frozen=True, slots=True)
class Sighting:
    """All places of one frame.

    `first` is the place of its first source by batch and path; `taken_ns` maps each place to the earliest time the
    frame was taken there, None where no source says; `order` sorts frames of one drive and camera by time, or by path
    with numbers as numbers.
    """

    first: Place
    taken_ns: dict[Place, int | None] = field(default_factory=dict)
    order: tuple[object, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """The drives and cameras that took the frame."""
        return tuple(self.taken_ns)

    @property
    def cameras(self) -> frozenset[str]:
        """The cameras that took the frame."""
        return frozenset(camera for _, camera in self.taken_ns)


def sightings(sources: pa.Table) -> dict[str, Sighting]:
    """Return the places of every frame in `sources`."""
    ordered, starts = _by_frame(sources)
    ids = ordered["frame_id"].to_pylist()
    ends = [*starts[1:], len(ids)][: len(starts)]
    columns = [ordered[name].to_pylist() for name in ("path", "drive", "camera", "captured_ns")]
    return {
        ids[start]: _sighting(*(column[start:end] for column in columns))
        for start, end in zip(starts, ends, strict=True)
    }


def first_places(frames: pa.Table, sources: pa.Table) -> list[Place]:
    """Return the first place of each row of `frames`; ("", "") where no source is known."""
    ordered, starts = _by_frame(sources)
    first = ordered.take(pa.array(starts, pa.int64()))
    names = zip(*(first[name].to_pylist() for name in ("frame_id", "drive", "camera")), strict=True)
    known = {frame_id: (drive, camera) for frame_id, drive, camera in names}
    return [known.get(frame_id, ("", "")) for frame_id in frames["frame_id"].to_pylist()]


def _by_frame(sources: pa.Table) -> tuple[pa.Table, list[int]]:
    """Return the sources by frame, batch and path, and where each frame begins."""
    names = ["frame_id", "batch", "path", "drive", "camera", "captured_ns"]
    ordered = sources.select(names).sort_by([(name, "ascending") for name in names[:3]])
    ids = ordered["frame_id"].to_numpy()
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1])) if len(ids) else np.array([], np.int64)
    return ordered, starts.tolist()


def natural(path: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts numbers in `path` as numbers.

    >>> sorted(["f10.jpg", "f9.jpg"], key=natural)
    ['f9.jpg', 'f10.jpg']
    """
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(path) if part)


def _sighting(paths: list[str], drives: list[str], cameras: list[str], times: list[int | None]) -> Sighting:
    taken: dict[Place, int | None] = {}
    for drive, camera, time in zip(drives, cameras, times, strict=True):
        known = taken.get((drive, camera))
        taken[drive, camera] = time if known is None else known if time is None else min(known, time)
    first = (drives[0], cameras[0])
    at = taken[first]
    by_path = natural(paths[0]) if at is None else ()
    return Sighting(first, taken, (*first, at is None, at or 0, by_path))
