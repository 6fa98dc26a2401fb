"""The groups within which frames are compared, and what each allows."""

from dataclasses import dataclass
from math import ceil
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from driveflow.flow.sections import NearDuplicateSection
from driveflow.neighbours.cosine import quantised
from driveflow.neighbours.leader_scan import NO_TIME, GroupRules, Memberships
from filtering.places import Floats, Ints, Sightings

EQUAL_PIXELS, SAME_DRIVE, ACROSS_DRIVES, ACROSS_CAMERAS = range(4)  # kinds of groups, the narrowest first
KINDS: Final = 4
NS_PER_S: Final = 1_000_000_000

Kinds: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TwinGroups:
    """Memberships of frames in groups, in the order in which they are asked, and the kind of each group."""

    members: Memberships
    rules: GroupRules
    kind: Kinds

    def gap_m(self, left: Ints, right: Ints, group: Ints) -> Floats:
        """Return the metres between pairs of frames where both are in `group`; NaN where a place is not known."""
        return np.asarray(np.linalg.norm(self._positions(left, group) - self._positions(right, group), axis=1))

    def _positions(self, frames: Ints, group: Ints) -> Floats:
        members, width = self.members, len(self.kind)
        owner = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
        rows = np.searchsorted(owner * width + members.group, frames * width + group)
        return np.stack([members.x_m[rows], members.y_m[rows], members.z_m[rows]], axis=1)


def twin_groups(seen: Sightings, asking: Ints, pixels: Ints, section: NearDuplicateSection) -> TwinGroups:
    """Return the groups of the frames `asking`, in that order.

    A frame is in a group for each drive and camera that took it, for each camera, where cameras are compared in one of
    all, and where its pixels are known (`pixels`, a number a frame; -1: they are not) in one of those with equal ones.
    """
    rank = np.empty(len(asking), np.int64)
    rank[asking] = np.arange(len(asking))
    frame = rank[seen.frame]
    everyone = _different(frame) if section.across_cameras else np.zeros(0, np.int64)
    known = np.flatnonzero(pixels >= 0)
    width = int(seen.camera.max(initial=0)) + 1
    cameras = _different(frame * width + seen.camera)
    parts = [
        _Part(EQUAL_PIXELS, rank[known], pixels[known]),
        _Part(SAME_DRIVE, frame, seen.place, seen.time_ns, seen.position_m),
        _Part(ACROSS_DRIVES, cameras // width, cameras % width),
        _Part(ACROSS_CAMERAS, everyone, np.zeros_like(everyone)),
    ]
    return _joined([part.crowded() for part in parts], len(asking), section)


def group_limits_bits(section: NearDuplicateSection) -> Ints:
    """Return the limit of each kind of group; within a drive it is never stricter than across drives."""
    across = section.across_drives_max_bits
    return np.array([0, max(section.same_drive_max_bits, across), across, across])


def group_limits_cosine(section: NearDuplicateSection) -> Floats:
    """Return the limit of each kind of group in cosine distance, under 0 where vectors are not asked."""
    within, across = (
        quantised(limit) if limit else -1.0
        for limit in (section.same_drive_max_distance, section.across_drives_max_distance)
    )
    return np.array([-1.0, max(within, across), across, across])


@dataclass(frozen=True, slots=True)
class _Part:
    """Memberships in groups of one kind."""

    kind: int
    frame: Ints
    group: Ints
    time_ns: Ints | None = None
    position_m: Floats | None = None

    def crowded(self) -> "_Part":
        """Return the memberships in groups of several frames, groups numbered from 0: one alone needs no index."""
        _, group, counts = np.unique(self.group, return_inverse=True, return_counts=True)
        several = counts[group] > 1
        time_ns = np.full(len(group), NO_TIME) if self.time_ns is None else self.time_ns
        position_m = np.full((len(group), 3), np.nan) if self.position_m is None else self.position_m
        numbers = np.cumsum(counts > 1) - 1
        return _Part(self.kind, self.frame[several], numbers[group][several], time_ns[several], position_m[several])

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=-1)) + 1


def _joined(parts: list[_Part], frames: int, section: NearDuplicateSection) -> TwinGroups:
    """Join `parts`: of a frame its narrower groups come first, so that of equally near leaders these are named."""
    counts = [part.groups for part in parts]
    starts = np.concatenate([[0], np.cumsum(counts)])
    frame = np.concatenate([part.frame for part in parts])
    group = np.concatenate([part.group + start for part, start in zip(parts, starts[:-1], strict=True)])
    order = np.lexsort((group, frame))
    ends = np.searchsorted(frame[order], np.arange(frames + 1))
    time_ns = np.concatenate([part.time_ns for part in parts if part.time_ns is not None])[order]
    position_m = np.concatenate([part.position_m for part in parts if part.position_m is not None])[order]
    axes = [np.ascontiguousarray(position_m[:, axis]) for axis in range(3)]
    kind = np.repeat(np.arange(KINDS), counts)
    members = Memberships(ends, group[order], time_ns, *axes)
    return TwinGroups(members, _rules(kind, section), kind)


def _different(numbers: Ints) -> Ints:
    """Return `numbers` sorted and each once; numpy's own way hashes them, which takes a hundred times as long."""
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def _rules(kind: Kinds, section: NearDuplicateSection) -> GroupRules:
    timed = kind == SAME_DRIVE
    nobody = np.zeros(len(kind), np.bool_)
    return GroupRules(
        limit_bits=group_limits_bits(section)[kind],
        windowed=timed if section.window_s > 0 else nobody,
        floored=timed if section.min_gap_s > 0 or section.min_gap_m > 0 else nobody,
        window_ns=int(section.window_s * NS_PER_S),
        floor_ns=ceil(section.min_gap_s * NS_PER_S),
        standstill_ns=ceil(section.standstill_s * NS_PER_S),
        floor_m=section.min_gap_m,
    )
