"""Which split every drive group has so far, and which frames are in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.canonical import draw_share
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.formats.source_split import spell_split

TIE_MARK = "\U0010ffff"  # begins what ties frames beside their drives, and sorts behind every drive


@dataclass(frozen=True, slots=True)
class Sighting:
    """A frame as one source shows it; `ties` are places and days, which hold drives together as shared frames do."""

    frame_id: str
    drive: str
    source_split: str
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitRules:
    """Who gets which split; `fixed` gives the split that a batch states for all its frames."""

    holdout: HoldoutSection
    splits: SplitSection
    fixed: Mapping[str, str] = field(default_factory=dict)
    held: frozenset[str] = field(init=False)  # source splits that are hold-out, in our spelling

    def __post_init__(self) -> None:
        object.__setattr__(self, "held", frozenset(spell_split(name) for name in self.holdout.source_splits))

    def stated(self, batch: str, sighting: Sighting) -> str:
        """Return the split that the batch states for this source, or the hold-out by drive or source split."""
        if batch in self.fixed:
            return self.fixed[batch]
        held = sighting.drive in self.holdout.drives or spell_split(sighting.source_split) in self.held
        return "holdout" if held else ""

    def shares(self) -> dict[str, float]:
        """Return which part of everything each split should have."""
        held, val = self.holdout.fraction, self.splits.val_fraction
        return {"train": (1 - held) * (1 - val), "val": (1 - held) * val, "holdout": held}

    def drawn(self, group: str, *, first: bool) -> str:
        """Return the split of a new group for which nothing is stated, by the hash of its name.

        The `first` such group trains, unless a fraction asks for everything: one lonely drive must not leave nothing to
        train on.
        """
        fractions = (self.holdout.fraction, self.splits.val_fraction)
        if first and max(fractions) < 1:
            return "train"
        if draw_share("holdout", self.holdout.seed, group) < fractions[0]:
            return "holdout"
        return "val" if draw_share("val", self.splits.seed, group) < fractions[1] else "train"


@dataclass(frozen=True, slots=True)
class SplitConflict:
    """A batch states another split for a frame than the one it has; it `beats` as hold-out, else the first stays."""

    frame_id: str
    split: str
    batch: str
    stated: str
    beats: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """Split and drive group of every frame that stays, and why each of the others is left out."""

    splits: Mapping[str, str]
    groups: Mapping[str, str]
    leaks: Mapping[str, str]  # frame id -> one sentence
    conflicts: Sequence[SplitConflict]


@dataclass(slots=True)
class SplitBoard:
    """What is placed so far; a group is known by its root drive."""

    rules: SplitRules
    parents: dict[str, str] = field(default_factory=dict)  # drive -> drive, up to the root
    names: dict[str, tuple[int, str]] = field(default_factory=dict)  # root -> (batch it was born with, name)
    splits: dict[str, str] = field(default_factory=dict)  # root -> split
    members: dict[str, list[str]] = field(default_factory=dict)  # root -> frames, some of them left out since
    frames: dict[str, str] = field(default_factory=dict)  # frame -> a drive of its group
    drives: dict[str, set[str]] = field(default_factory=dict)  # frame, left out or not -> every drive it was seen in
    bridges: dict[str, frozenset[str]] = field(default_factory=dict)  # drive -> groups of different splits it links
    leaks: dict[str, str] = field(default_factory=dict)
    conflicts: list[SplitConflict] = field(default_factory=list)
    drew: bool = False  # a split was drawn for some group

    def draw(self, group: str) -> str:
        """Return the split of a new group for which nothing is stated."""
        first, self.drew = not self.drew, True
        return self.rules.drawn(group, first=first)

    def find(self, drive: str) -> str:
        """Return the root of the group of `drive`."""
        return find_root(self.parents, drive)

    def join(self, roots: Iterable[str], fresh: Iterable[str]) -> str:
        """Make one group of several and of new drives, and return its root: the one born first, then by name."""
        first, *others = sorted(roots, key=lambda root: self.names[root])
        for root in others:
            self.parents[root] = first
            self.members[first] += self.members.pop(root)
        self.parents |= dict.fromkeys(fresh, first)
        return first

    def found(self, drives: Sequence[str], number: int, split: str) -> str:
        """Make a group of new drives and return its root."""
        root = min(drives)
        self.parents |= dict.fromkeys(drives, root)
        self.names[root], self.splits[root], self.members[root] = (number, root), split, []
        return root

    def put(self, frame_id: str, root: str) -> None:
        """Put a frame into a group."""
        self.frames[frame_id] = root
        self.members[root].append(frame_id)
        self.leaks.pop(frame_id, None)

    def drop(self, frame_id: str, why: str) -> None:
        """Leave a frame out."""
        self.frames.pop(frame_id, None)
        self.leaks[frame_id] = why

    def split_of(self, frame_id: str) -> str:
        """Return the split of a placed frame, nothing for another."""
        return self.splits[self.find(self.frames[frame_id])] if frame_id in self.frames else ""

    def placement(self) -> Placement:
        """Return where every frame is."""
        roots = {frame_id: self.find(drive) for frame_id, drive in self.frames.items()}
        splits = {frame_id: self.splits[root] for frame_id, root in roots.items()}
        groups = {frame_id: self.names[root][1] for frame_id, root in roots.items()}
        return Placement(splits, groups, self.leaks, self.conflicts)


def is_tie(node: str) -> bool:
    """Return whether a node is a place or a day, no drive."""
    return node.startswith(TIE_MARK)


def find_root(parents: dict[str, str], node: str) -> str:
    """Return the root above `node`, shortening the way there."""
    while (parent := parents[node]) != node:
        parents[node] = node = parents[parent]
    return node
