"""Follow the tracks of a CVAT video through its frames, between key frames as CVAT does."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from driveflow.canonical import Json
from driveflow.formats.cvat_shapes import CvatShape


@dataclass(frozen=True, slots=True)
class TrackShape:
    """One track in one frame; outside: the object is not in the picture from here on."""

    frame: int
    line: int
    outside: bool
    shape: CvatShape
    attributes: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Track:
    """One object through the frames; shapes in order of their frames."""

    label: str
    shapes: tuple[TrackShape, ...]


def shapes_in(track: Track, frames: Sequence[int]) -> Iterator[TrackShape]:
    """Yield the track in each of the sorted `frames` in which it is seen.

    Between two shapes everything moves linearly (of polygons the box around them), and a turn takes the short way. A
    track lasts until it is outside.
    """
    for before, after in pairwise(track.shapes):
        if not before.outside:
            for frame in frames[bisect_left(frames, before.frame) : bisect_left(frames, after.frame)]:
                share = (frame - before.frame) / (after.frame - before.frame)
                yield _between(before, after, frame, share)
    last = track.shapes[-1]
    if not last.outside:
        for frame in frames[bisect_left(frames, last.frame) :]:
            yield last if frame == last.frame else _filled(last, frame, last.shape)


def lost_in(track: Track, frames: Sequence[int]) -> int:
    """Return how many shapes that the file gives are in none of the sorted `frames`."""
    seen = [shape.frame for shape in track.shapes if not shape.outside]
    return sum(bisect_left(frames, frame) == bisect_right(frames, frame) for frame in seen)


def _between(before: TrackShape, after: TrackShape, frame: int, share: float) -> TrackShape:
    if share == 0:
        return before
    one, other = before.shape, after.shape
    x1, y1, x2, y2 = (a + (b - a) * share for a, b in zip(one.corners, other.corners, strict=True))
    turn = (other.rotation_deg - one.rotation_deg + 180) % 360 - 180
    return _filled(before, frame, CvatShape(one.kind, (x1, y1, x2, y2), (one.rotation_deg + turn * share) % 360))


def _filled(key: TrackShape, frame: int, shape: CvatShape) -> TrackShape:
    """Return `key` in a frame for which the file gives no shape."""
    said = {**key.attributes, "keyframe": False}
    if shape.rotation_deg % 360:
        said["rotation_deg"] = shape.rotation_deg
    else:
        said.pop("rotation_deg", None)
    return TrackShape(frame, key.line, False, shape, said)
