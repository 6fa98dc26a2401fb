"""The leader rule as a person would write it: frame by frame, against every kept frame."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.cosine_kernel import distance
from filtering.places import positions_m

Place = tuple[str, str]


@dataclass(frozen=True)
class Seen:
    """All places of one frame, each with its earliest time and its first position."""

    order: tuple[object, ...]
    taken_ns: dict[Place, int | None]
    where_m: dict[Place, np.ndarray | None]

    @property
    def cameras(self) -> set[str]:
        return {camera for _, camera in self.taken_ns}


@dataclass(frozen=True)
class PlainTwin:
    """Why a frame goes, and for whom."""

    rule: str
    frame_id: str
    score: float
    limit: float


@dataclass(frozen=True)
class PlainFrame:
    """A frame to thin."""

    frame_id: str
    code: int
    rank: int
    shielded: bool
    pixels: int = -1
    vector: tuple[float, ...] = ()


def plain_thin(
    frames: Sequence[PlainFrame],
    sources: pa.Table,
    section: NearDuplicateSection,
    distinct: frozenset[frozenset[str]] = frozenset(),
) -> dict[str, PlainTwin]:
    """What `thin` should say."""
    seen = _seen(sources)
    nothing = Seen((), {}, {})
    ordered = sorted(frames, key=lambda item: (item.rank, seen.get(item.frame_id, nothing).order, item.frame_id))
    kept: list[PlainFrame] = []
    dropped: dict[str, PlainTwin] = {}
    for item in ordered:
        twin = None
        if not item.shielded:
            others = [other for other in kept if frozenset((item.frame_id, other.frame_id)) not in distinct]
            twin = (
                _near(item, others, seen, section)
                or _alike(item, others, seen, section)
                or _beside(item, others, seen, section)
            )
        if twin is None:
            kept.append(item)
        else:
            dropped[item.frame_id] = twin
    return dropped


def _near(
    item: PlainFrame, kept: Sequence[PlainFrame], seen: Mapping[str, Seen], section: NearDuplicateSection
) -> PlainTwin | None:
    best = None
    for other in kept:
        found = _relation(item, other, seen, section)
        distance = (item.code ^ other.code).bit_count()
        if found and distance <= found[1] and (best is None or distance < best.score):
            best = PlainTwin(found[0], other.frame_id, distance, found[1])
    return best


def _alike(
    item: PlainFrame, kept: Sequence[PlainFrame], seen: Mapping[str, Seen], section: NearDuplicateSection
) -> PlainTwin | None:
    """The kept frame nearest by vector; vectors here lie on a circle of whole degrees."""
    within, across = section.same_drive_max_distance or -1, section.across_drives_max_distance or -1
    limits = {"same_drive": max(within, across), "across_drives": across, "across_cameras": across}
    best = None
    for other in kept:
        found = _relation(replace(item, pixels=-1), other, seen, section)
        if not found or not item.vector or not other.vector:
            continue
        name = found[0].rpartition(".")[2]
        apart = distance(np.array(item.vector, np.float32), np.array(other.vector, np.float32))
        if apart <= limits[name] and (best is None or apart < best.score):
            best = PlainTwin(f"embedding.{name}", other.frame_id, apart, limits[name])
    return best


def _relation(
    left: PlainFrame, right: PlainFrame, seen: Mapping[str, Seen], section: NearDuplicateSection
) -> tuple[str, int] | None:
    if left.pixels >= 0 and left.pixels == right.pixels:
        return "equal_pixels", 0
    nothing = Seen((), {}, {})
    one, other = seen.get(left.frame_id, nothing), seen.get(right.frame_id, nothing)
    if any(_within(one, other, place, section) for place in one.taken_ns if place in other.taken_ns):
        return "near_duplicates.same_drive", max(section.same_drive_max_bits, section.across_drives_max_bits)
    if one.cameras & other.cameras:
        return "near_duplicates.across_drives", section.across_drives_max_bits
    if section.across_cameras and one.cameras and other.cameras:
        return "near_duplicates.across_cameras", section.across_drives_max_bits
    return None


def _within(left: Seen, right: Seen, place: Place, section: NearDuplicateSection) -> bool:
    taken, other = left.taken_ns[place], right.taken_ns[place]
    if section.window_s == 0:
        return True
    return taken is not None and other is not None and abs(taken - other) <= section.window_s * 1e9


def _beside(
    item: PlainFrame, kept: Sequence[PlainFrame], seen: Mapping[str, Seen], section: NearDuplicateSection
) -> PlainTwin | None:
    """The kept frame nearest in time, of several the one asked first, among those too close."""
    found = []
    for number, other in enumerate(kept):
        for place, taken in seen[item.frame_id].taken_ns.items() if item.frame_id in seen else ():
            there = seen[other.frame_id].taken_ns.get(place) if other.frame_id in seen else None
            if taken is None or there is None:
                continue
            moved = _moved(seen[item.frame_id].where_m[place], seen[other.frame_id].where_m[place])
            gap = abs(taken - there)
            if gap < section.min_gap_s * 1e9:
                found.append((gap, number, "near_duplicates.min_gap", round(gap / 1e9, 6), section.min_gap_s))
            elif gap < section.standstill_s * 1e9 and moved < section.min_gap_m:
                found.append((gap, number, "near_duplicates.min_gap_m", round(moved, 3), section.min_gap_m))
    if not found:
        return None
    _, number, rule, score, limit = min(found, key=lambda found: found[:2])
    return PlainTwin(rule, kept[number].frame_id, score, limit)


def _moved(left: np.ndarray | None, right: np.ndarray | None) -> float:
    return np.inf if left is None or right is None else float(np.linalg.norm(left - right))


def _seen(sources: pa.Table) -> dict[str, Seen]:
    rows = sorted(sources.to_pylist(), key=lambda row: (row["frame_id"], row["batch"], row["path"]))
    found: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        found.setdefault(row["frame_id"], []).append(row)
    return {name: _sighting(several) for name, several in found.items()}


def _sighting(rows: Sequence[dict[str, object]]) -> Seen:
    taken: dict[Place, int | None] = {}
    where: dict[Place, np.ndarray | None] = {}
    for row in rows:
        place = (row["drive"], row["camera"])
        times = [time for time in (taken.get(place), row["captured_ns"]) if time is not None]
        taken[place] = min(times, default=None)
        if where.setdefault(place, None) is None and row["lat"] is not None and row["lon"] is not None:
            where[place] = positions_m(np.array([row["lat"]]), np.array([row["lon"]]))[0]
    first = (rows[0]["drive"], rows[0]["camera"])
    at = taken[first]
    by_path = natural(rows[0]["path"]) if at is None else ()
    return Seen((*first, at is None, at or 0, by_path), taken, where)


def natural(path: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts numbers in `path` as numbers."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", path) if part)
