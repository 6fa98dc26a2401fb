"""Assign splits by drive group, batch after batch, so that a new batch never moves an old frame."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import HoldoutSection
from driveflow.formats.source_split import spell_split
from driveflow.tables import SPLITS
from ingestion.balance import Unit, balance
from ingestion.split_board import Placement, Sighting, SplitBoard, SplitConflict, SplitRules, find_root, is_tie
from ingestion.stand import Standing, moved, stand

Contents: TypeAlias = Mapping[str, Mapping[str, int]]  # frame -> class -> boxes
_SHOWN = 5


def place_frames(
    batches: Sequence[tuple[str, Sequence[Sighting]]],
    rules: SplitRules,
    contents: Sequence[Contents] = (),
    placed: Sequence[tuple[str, Standing]] = (),
) -> Placement:
    """Place the frames of `batches` (name, sightings) in the order of their arrival.

    Frames of drives that share a frame or a tie, or of one drive name, form a group, and a new group gets one split:
    hold-out where that is stated for any of its frames, else what the batch states, else by seeded hash (the very first
    of those trains), or so that the splits are balanced in what the frames hold: `contents` says that of each of
    `placed`, then of each of `batches`, and what comes later is not looked at. A later batch's frames join the group
    they belong to. Where they would link groups of different splits, or are stated to be in another split than their
    group, they are left out; the old frames stay. One thing beats that: frames stated to be hold-out make their group
    hold-out, and the frames that were in it before are left out. What was left out stays so. What is `placed` (with
    the name of its batch) stands before anything arrives.

    Raises:
        InvalidInputError: the hold-out names a drive or a source split that no batch has.
    """
    everything = [*(sightings for _, sightings in batches), *(one.sightings for _, one in placed)]
    drives = {sighting.drive for sightings in everything for sighting in sightings}
    splits = {sighting.source_split for sightings in everything for sighting in sightings}
    check_names(drives, splits, rules.holdout)
    return place_sightings(batches, rules, contents, placed)


def place_sightings(
    batches: Sequence[tuple[str, Sequence[Sighting]]],
    rules: SplitRules,
    contents: Sequence[Contents] = (),
    placed: Sequence[tuple[str, Standing]] = (),
) -> Placement:
    """Place frames as `place_frames` does, where drives and source splits that nobody has were refused before."""
    board = SplitBoard(rules)
    known: set[tuple[str, Sighting]] = set()
    late = [(name, stand(board, standing)) for name, standing in placed]
    held = _add({}, contents[: len(placed)])
    for number, (name, sightings) in enumerate([*late, *batches]):
        _add(held, contents[number : number + 1])
        arrival = _Arrival(board, number, name)
        for sighting in sightings:
            if (name, sighting) not in known:  # a source that is known brings nothing new
                arrival.see(sighting)
        known.update((name, sighting) for sighting in sightings)
        arrival.place_all(held)
    for name, standing in placed:
        board.conflicts += moved(board, name, standing)
    return board.placement()


@dataclass(slots=True)
class _Component:
    """Frames of a batch that hang together, with the groups and the new drives they hang on."""

    roots: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    frames: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Arrival:
    """One batch on its way to the board."""

    board: SplitBoard
    number: int
    name: str
    drives: dict[str, set[str]] = field(default_factory=dict)  # frame -> its drives in this batch
    stated: dict[str, str] = field(default_factory=dict)  # frame -> split, where one is stated

    def see(self, sighting: Sighting) -> None:
        """Take note of one source."""
        self.drives.setdefault(sighting.frame_id, set()).update((sighting.drive, *sighting.ties))
        self.board.drives.setdefault(sighting.frame_id, set()).update((sighting.drive, *sighting.ties))
        split = self.board.rules.stated(self.name, sighting)
        if split and self.stated.get(sighting.frame_id) != "holdout":
            self.stated[sighting.frame_id] = split

    def components(self) -> list[_Component]:
        """Return what hangs together; frames that are seen on bridges only are left out at once."""
        links: dict[str, str] = {}
        first: dict[str, str] = {}
        for frame_id in self.drives:
            nodes = self._nodes(frame_id)
            for node in nodes:
                links.setdefault(node, node)
                links[find_root(links, node)] = find_root(links, nodes[0])
            if nodes:
                first[frame_id] = nodes[0]
            elif frame_id not in self.board.frames:
                self.board.drop(frame_id, f"{self._seen(frame_id)} links groups of different splits")
        components: dict[str, _Component] = {}
        for node in links:
            component = components.setdefault(find_root(links, node), _Component())
            (component.roots if node in self.board.parents else component.fresh).add(node)
        for frame_id, node in first.items():
            components[find_root(links, node)].frames.append(frame_id)
        return sorted(components.values(), key=lambda component: min(component.roots | component.fresh))

    def place_all(self, contents: Contents) -> None:
        """Put what hangs together into groups; what is free to go anywhere comes last where it is to be balanced."""
        free = []
        for component in self.components():
            if self.board.rules.splits.balance and self._is_free(component):
                free.append(component)
            else:
                self.place(component)
        if free:
            self._balance(free, contents)

    def place(self, component: _Component) -> None:
        """Put the frames of a component into groups, or leave them out."""
        board = self.board
        splits = {board.splits[root] for root in component.roots}
        held = any(self._is_newly_held(frame_id) for frame_id in component.frames)
        self._note_conflicts(component)
        if not component.roots:
            stated = "holdout" if held else self.stated.get(component.frames[0], "")
            split = stated or board.draw(min(component.fresh))
            self._put(component.frames, board.found(sorted(component.fresh), self.number, split))
        elif splits == {"holdout"} or (len(splits) == 1 and not held):
            self._put(component.frames, board.join(component.roots, component.fresh))
        elif held:
            self._hold(component)
        else:
            self._keep_apart(component)

    def _is_free(self, component: _Component) -> bool:
        return not component.roots and not any(frame_id in self.stated for frame_id in component.frames)

    def _balance(self, free: Sequence[_Component], contents: Contents) -> None:
        board = self.board
        units = {min(component.fresh): component for component in free}
        held = {split: Counter[str]() for split in SPLITS}
        for frame_id in board.frames:
            held[board.split_of(frame_id)].update(contents.get(frame_id, {}))
        splits = balance(
            [Unit(name, _sum(unit.frames, contents)) for name, unit in units.items()], held, board.rules.shares()
        )
        for name in sorted(units):
            self._put(units[name].frames, board.found(sorted(units[name].fresh), self.number, splits[name]))

    def _is_newly_held(self, frame_id: str) -> bool:
        return self.stated.get(frame_id) == "holdout" and self.board.split_of(frame_id) != "holdout"

    def _nodes(self, frame_id: str) -> list[str]:
        """Return the groups, new drives and ties that a frame hangs on, in this batch or any before."""
        board = self.board
        is_held = self.stated.get(frame_id) == "holdout"
        nodes: set[str] = set()
        for drive in board.drives[frame_id]:
            if drive not in board.bridges:
                nodes.add(board.find(drive) if drive in board.parents else drive)
            elif is_held:
                nodes |= {board.find(root) for root in board.bridges[drive]}
            elif is_tie(drive):  # at a place, or on a day, of several splits: in none of them is it safe
                return []
        return [] if all(is_tie(node) for node in nodes) else sorted(nodes)

    def _put(self, frames: Iterable[str], root: str) -> None:
        """Put new frames into a group, but for those stated to be elsewhere and those once left out."""
        split = self.board.splits[root]
        for frame_id in frames:
            stated = self.stated.get(frame_id, split)
            if frame_id in self.board.frames or (
                frame_id in self.board.leaks and self.stated.get(frame_id) != "holdout"
            ):
                continue
            if stated == split:
                self.board.put(frame_id, root)
            else:
                why = f"{self._seen(frame_id)} is stated to be {stated}, but its drive group is in {split}"
                self.board.drop(frame_id, why)

    def _hold(self, component: _Component) -> None:
        """Make the groups of a component hold-out, since some of its frames are stated to be."""
        board = self.board
        for root in component.roots:
            if board.splits[root] != "holdout":
                for frame_id in list(board.members[root]):
                    if frame_id in board.frames and self.stated.get(frame_id) != "holdout":
                        board.drop(
                            frame_id, f"its drive group is touched by the hold-out that batch {self.name!r} states"
                        )
        root = board.join(component.roots, component.fresh)
        board.splits[root] = "holdout"
        self._put(component.frames, root)

    def _keep_apart(self, component: _Component) -> None:
        """Leave out what would link groups of different splits."""
        board = self.board
        board.bridges |= dict.fromkeys(component.fresh, frozenset(component.roots))
        for frame_id in component.frames:
            nodes = self._nodes(frame_id)
            if len({board.splits[node] for node in nodes}) == 1 and not self.drives[frame_id] & board.bridges.keys():
                self._put([frame_id], board.join(nodes, ()))
            elif frame_id not in board.frames:
                board.drop(frame_id, f"{self._seen(frame_id)} links groups of different splits")

    def _note_conflicts(self, component: _Component) -> None:
        for frame_id in component.frames:
            split, stated = self.board.split_of(frame_id), self.stated.get(frame_id, "")
            if split and stated and split != stated:
                self.board.conflicts.append(SplitConflict(frame_id, split, self.name, stated, stated == "holdout"))

    def _seen(self, frame_id: str) -> str:
        drives = sorted(self.drives[frame_id])
        return f"batch {self.name!r}, drive {drives[0]!r}"


def _add(held: dict[str, dict[str, int]], contents: Sequence[Contents]) -> dict[str, dict[str, int]]:
    """Add what frames hold to `held` and return it; of two who drew one frame, the one with more of a class counts."""
    for some in contents:
        for frame_id, counts in some.items():
            known = held.setdefault(frame_id, {})
            for name, count in counts.items():
                known[name] = max(count, known.get(name, 0))
    return held


def _sum(frames: Iterable[str], contents: Contents) -> Counter[str]:
    total: Counter[str] = Counter()
    for frame_id in frames:
        total.update(contents.get(frame_id, {}))
    return total


def check_names(drives: Collection[str], splits: Collection[str], holdout: HoldoutSection) -> None:
    """Refuse a hold-out that names a drive or a source split that no batch has."""
    _refuse_missing("drives", [name for name in holdout.drives if name not in drives], drives)
    known = {name for name in splits if name}
    _refuse_missing("source_splits", [name for name in holdout.source_splits if spell_split(name) not in known], known)


def _refuse_missing(key: str, missing: Sequence[str], known: Collection[str]) -> None:
    if missing:
        more = f" ({len(known)} in all)" if len(known) > _SHOWN else ""
        listed = ", ".join(sorted(known)[:_SHOWN]) or "none"
        raise InvalidInputError(f"holdout.{key} names {missing[0]!r}, which no batch has; known: {listed}{more}.")
