"""Frames that show what a kept frame shows: near by perceptual hash, or taken right beside it in time."""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.hamming import HammingIndex
from filtering.places import Place, Sighting

SAME_DRIVE: Final = "near_duplicates.same_drive"
ACROSS_DRIVES: Final = "near_duplicates.across_drives"
MIN_GAP: Final = "near_duplicates.min_gap"
REASONS: Final = {SAME_DRIVE: "near_duplicate", ACROSS_DRIVES: "near_duplicate", MIN_GAP: "min_gap"}
_NS_PER_S = 1_000_000_000

Timed: TypeAlias = tuple[int, int]  # captured_ns, position


@dataclass(frozen=True, slots=True)
class Candidate:
    """A frame to thin: frames of a lower `rank` are asked first, and `shielded` ones stay whatever they resemble."""

    frame_id: str
    phash64: int
    sighting: Sighting
    rank: int = 0
    shielded: bool = False


@dataclass(frozen=True, slots=True)
class Twin:
    """The kept frame that a dropped one resembles: `score` is bits, or seconds under the rule `MIN_GAP`."""

    rule: str
    frame_id: str
    score: float
    limit: float


def thin(candidates: list[Candidate], section: NearDuplicateSection) -> dict[str, Twin]:
    """Return for every frame to drop the kept frame it resembles.

    The leader rule: frames are asked by rank, then drive by drive in time order, and compared with kept frames only, so
    every dropped frame has a kept twin within its limit. Frames of different cameras never resemble each other.
    """
    ordered = sorted(candidates, key=lambda item: (item.rank, item.sighting.order, item.frame_id))
    kept = _Kept(section, ordered)
    dropped: dict[str, Twin] = {}
    for position, candidate in enumerate(ordered):
        twin = None if candidate.shielded else kept.twin(candidate)
        if twin is None:
            kept.add(position)
        else:
            dropped[candidate.frame_id] = twin
    return dropped


def relation(left: Sighting, right: Sighting, section: NearDuplicateSection) -> tuple[str, int] | None:
    """Return the rule that holds between two frames and its limit in bits; None where they share no camera.

    A shared drive and camera allow the wider limit, within `window_s` where that is set; frames without a time are
    then taken as far apart.
    """
    if any(_within(left, right, place, section.window_s) for place in left.taken_ns if place in right.taken_ns):
        return SAME_DRIVE, same_drive_limit_bits(section)
    if left.cameras & right.cameras:
        return ACROSS_DRIVES, section.across_drives_max_bits
    return None


def same_drive_limit_bits(section: NearDuplicateSection) -> int:
    """Return the limit within a drive, which is never stricter than the one across drives."""
    return max(section.same_drive_max_bits, section.across_drives_max_bits)


def gap_s(left: Sighting, right: Sighting) -> float | None:
    """Return how many seconds lie between two frames where one camera of one drive took both; None where none did."""
    gaps = [
        abs(taken - other)
        for place, taken in left.taken_ns.items()
        if taken is not None and (other := right.taken_ns.get(place)) is not None
    ]
    return round(min(gaps) / _NS_PER_S, 6) if gaps else None


def _within(left: Sighting, right: Sighting, place: Place, window_s: float) -> bool:
    if window_s == 0:
        return True
    taken, other = left.taken_ns[place], right.taken_ns[place]
    return taken is not None and other is not None and abs(taken - other) <= window_s * _NS_PER_S


@dataclass(slots=True)
class _Kept:
    """The frames kept so far, indexed by hash for each place and camera, and by time for each place."""

    section: NearDuplicateSection
    ordered: list[Candidate]
    places: dict[Place, HammingIndex] = field(default_factory=dict)
    cameras: dict[str, HammingIndex] = field(default_factory=dict)
    times: defaultdict[Place, list[Timed]] = field(default_factory=lambda: defaultdict(list))
    crowded: frozenset[Place] = frozenset()

    def __post_init__(self) -> None:
        counts = Counter(place for item in self.ordered for place in item.sighting.places)
        self.crowded = frozenset(place for place, count in counts.items() if count > 1)  # a still needs no index

    def add(self, position: int) -> None:
        item = self.ordered[position]
        timed = self.section.window_s > 0 or self.section.min_gap_s > 0
        for place, taken in item.sighting.taken_ns.items():
            if timed and taken is not None:
                insort(self.times[place], (taken, position))
            if self.section.window_s == 0 and place in self.crowded:
                index = self.places.setdefault(place, HammingIndex(same_drive_limit_bits(self.section)))
                index.add(item.phash64, position)
        for camera in item.sighting.cameras:
            index = self.cameras.setdefault(camera, HammingIndex(self.section.across_drives_max_bits))
            index.add(item.phash64, position)

    def twin(self, item: Candidate) -> Twin | None:
        """Return the nearest kept frame within its limit, else one too close in time, else None."""
        found = [*self._by_place(item), *self._by_camera(item)]
        if found:
            distance, position = min(found)
            other = self.ordered[position]
            rule, limit = relation(item.sighting, other.sighting, self.section) or (ACROSS_DRIVES, 0)
            return Twin(rule, other.frame_id, distance, limit)
        return self._by_gap(item)

    def _by_place(self, item: Candidate) -> list[tuple[int, int]]:
        if self.section.window_s > 0:
            return self._by_window(item)
        nears = [self.places[place].nearest(item.phash64) for place in item.sighting.places if place in self.places]
        return [(near.distance_bits, near.label) for near in nears if near is not None]

    def _by_camera(self, item: Candidate) -> list[tuple[int, int]]:
        nears = [self.cameras[name].nearest(item.phash64) for name in item.sighting.cameras if name in self.cameras]
        return [(near.distance_bits, near.label) for near in nears if near is not None]

    def _by_window(self, item: Candidate) -> list[tuple[int, int]]:
        window_ns = int(self.section.window_s * _NS_PER_S)
        limit = same_drive_limit_bits(self.section)
        found = []
        for place, taken in item.sighting.taken_ns.items():
            times = self.times.get(place, []) if taken is not None else []
            start = bisect_left(times, ((taken or 0) - window_ns, -1))
            stop = bisect_left(times, ((taken or 0) + window_ns + 1, -1))
            for _, position in times[start:stop]:
                distance = (self.ordered[position].phash64 ^ item.phash64).bit_count()
                if distance <= limit:
                    found.append((distance, position))
        return found

    def _by_gap(self, item: Candidate) -> Twin | None:
        """Return the kept frame nearest in time where it lies within the temporal floor."""
        if self.section.min_gap_s == 0:
            return None
        beside = []
        for place, taken in item.sighting.taken_ns.items():
            times = self.times.get(place, []) if taken is not None else []
            at = bisect_left(times, (taken or 0, -1))
            beside += [(abs(time - (taken or 0)), position) for time, position in times[max(at - 1, 0) : at + 1]]
        if not beside or min(beside)[0] >= self.section.min_gap_s * _NS_PER_S:
            return None
        gap_ns, position = min(beside)
        return Twin(MIN_GAP, self.ordered[position].frame_id, round(gap_ns / _NS_PER_S, 6), self.section.min_gap_s)
