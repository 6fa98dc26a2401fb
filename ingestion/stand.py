"""Put frames whose splits and drive groups are decided on the board as they stand."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from driveflow.snapshots import SnapshotTables
from ingestion.split_board import Sighting, SplitBoard, SplitConflict

_BORN = -1  # before any batch that arrives


@dataclass(frozen=True, slots=True)
class Standing:
    """Frames with a place already: their sightings, and the drive group and split of each."""

    sightings: Sequence[Sighting]
    places: dict[str, tuple[str, str]]


def standing(tables: SnapshotTables, sightings: Sequence[Sighting]) -> Standing:
    """Return what the frames of `tables` say of their places."""
    names = ("frame_id", "drive_group", "split")
    rows = zip(*(tables.frames[name].to_pylist() for name in names), strict=True)
    return Standing(sightings, {frame_id: (group, split) for frame_id, group, split in rows})


def stand(board: SplitBoard, placed: Standing) -> list[Sighting]:
    """Put what is placed on the board, and return the sightings that must arrive like others.

    Those are the ones stated to be hold-out and not in it, which beats everything, and those of groups that touch what
    stands on the board before, but for what is known of a frame that stands.
    """
    nodes = {sighting: (sighting.drive, *sighting.ties) for sighting in placed.sightings}
    known = _touched(board, placed)
    groups: dict[str, set[str]] = defaultdict(set)  # drive or tie -> groups
    for sighting in placed.sightings:
        group, split = placed.places[sighting.frame_id]
        if group in known:
            continue
        if group not in board.splits:
            board.names[group], board.splits[group], board.members[group] = (_BORN, group), split, []
            board.parents[group] = group
        if sighting.frame_id not in board.frames:
            board.put(sighting.frame_id, group)
        board.drives.setdefault(sighting.frame_id, set()).update(nodes[sighting])
        for node in nodes[sighting]:
            groups[node].add(group)
    _link(board, groups)
    board.drew = board.drew or bool(board.splits)
    return [sighting for sighting in placed.sightings if _arrives(board, placed, known, sighting)]


def moved(board: SplitBoard, name: str, placed: Standing) -> list[SplitConflict]:
    """Return a conflict for each frame of `placed`, the batch `name`, that has another split now and is not told of."""
    told = {conflict.frame_id for conflict in board.conflicts}
    found = ((frame_id, board.split_of(frame_id), split) for frame_id, (_, split) in sorted(placed.places.items()))
    return [
        SplitConflict(frame_id, now, name, split)
        for frame_id, now, split in found
        if now not in {"", split} and frame_id not in told
    ]


def _touched(board: SplitBoard, placed: Standing) -> set[str]:
    """Return the groups of which a frame, a drive or the name is on the board already."""
    touched = set()
    for sighting in placed.sightings:
        group = placed.places[sighting.frame_id][0]
        names = (group, sighting.drive, *sighting.ties)
        if sighting.frame_id in board.drives or any(name in board.parents or name in board.bridges for name in names):
            touched.add(group)
    return touched


def _link(board: SplitBoard, groups: dict[str, set[str]]) -> None:
    """Tie drives to their group; one that lies in groups of different splits is a bridge, as when it came."""
    for node, those in groups.items():
        if node in board.splits:
            continue
        if len({board.splits[group] for group in those}) == 1:
            board.parents[node] = min(those)
        else:
            board.bridges[node] = frozenset(those)


def _arrives(board: SplitBoard, placed: Standing, known: Iterable[str], sighting: Sighting) -> bool:
    group, split = placed.places[sighting.frame_id]
    nodes = {sighting.drive, *sighting.ties}
    stands = sighting.frame_id in board.frames and nodes <= board.drives[sighting.frame_id]
    return (group in known and not stands) or (split != "holdout" and board.rules.stated("", sighting) == "holdout")
