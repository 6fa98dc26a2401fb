"""Tell all that was ever decided about one frame."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.snapshots import Snapshot, list_records, list_snapshots

_FACTS = ("width", "height", "split", "drive_group", "annotated_classes", "attributes")
_SOURCE = ("batch", "path", "drive", "camera", "captured_ns", "clock", "lat", "lon")
_DECISION = ("verdict", "rule", "reason", "score", "limit", "twin", "detail")
_Row = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Twin:
    """Another frame that a decision names: the path of its file, batch first, and a snapshot that holds it."""

    path: str
    held_by: Snapshot


@dataclass(slots=True)
class Story:
    """A frame over all snapshots: what it is by the newest that holds it, then step after step, oldest first."""

    frame_id: str
    facts: _Row = field(default_factory=dict)
    labels: _Row = field(default_factory=dict)
    sources: list[Json] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    conflicts: list[Json] = field(default_factory=list)
    quarantine: list[Json] = field(default_factory=list)
    held_by: list[Snapshot] = field(default_factory=list)
    boxes: list[_Row] = field(default_factory=list)
    twins: dict[str, Twin] = field(default_factory=dict)  # by frame id
    splits: dict[str, str] = field(default_factory=dict)  # snapshot id -> the frame's split there

    def to_json(self) -> dict[str, Json]:
        """Return the story as JSON."""
        told: dict[str, Json] = {
            "frame_id": self.frame_id,
            "sources": self.sources,
            "labels": self.labels,
            **self.facts,
        }
        return {**told, "steps": self.steps, "conflicts": self.conflicts, "quarantine": self.quarantine}


def records_of_store(store: str) -> list[Snapshot]:
    """Return every snapshot of `store` once for each record of how it was made, in the order they were written."""
    found = [record for snapshot in list_snapshots(store) for record in list_records(snapshot) or [snapshot]]
    return sorted(found, key=lambda record: (_written_at(record), record.uri))


def tell_story(frame_id: str, records: Sequence[Snapshot], *, all_records: bool = False) -> Story:
    """Return the story of a frame from `records`, oldest first; with `all_records` also those that do not know it."""
    story = Story(frame_id)
    for record in records:
        holds_it = _take_facts(story, record)
        step = str(record.made_by().get("step", "")) if record.record_id else ""
        made: _Row = {"snapshot": record.snapshot_id[:16], "step": step, "holds_it": holds_it}
        decided = [{**made, **_picked(row, _DECISION)} for row in _rows(record.decisions(), frame_id)]
        story.steps += decided
        if not decided and (holds_it or all_records):
            _add_once(story.steps, made)
        for row in _rows(record.conflicts(), frame_id):
            _add_once(story.conflicts, {**row, "snapshot": record.snapshot_id[:16]}, "snapshot")
    _name_twins(story, records)
    names = {(str(row["batch"]), str(row["path"])) for row in _mappings(story.sources)}
    for record in records:
        for row in _of_files(record.quarantine(), names):
            _add_once(story.quarantine, {**row, "snapshot": record.snapshot_id[:16]}, "snapshot")
    return story


def _take_facts(story: Story, record: Snapshot) -> bool:
    """Take what `record` says the frame is, which is newer than all before; return whether it holds the frame."""
    rows = _rows(record.frames(), story.frame_id)
    for row in rows:
        story.facts = _picked(row, _FACTS)
        story.held_by.append(record)
        story.splits[record.snapshot_id] = str(row["split"])
        story.boxes = _rows(record.boxes(), story.frame_id)
        story.labels = dict(sorted(Counter(str(box["class_name"]) for box in story.boxes).items()))
        for source in _rows(record.sources(), story.frame_id):
            _add_once(story.sources, _picked(source, _SOURCE))
    return bool(rows)


def _name_twins(story: Story, records: Sequence[Snapshot]) -> None:
    """Find the files of the twins that decisions name, and write their paths into the steps."""
    ids = sorted({str(step["twin"]) for step in _mappings(story.steps) if step.get("twin")})
    for record in records:
        if len(story.twins) == len(ids):
            break
        sources = record.sources()
        for row in sources.filter(pc.is_in(sources["frame_id"], value_set=pa.array(ids, pa.string()))).to_pylist():
            story.twins.setdefault(row["frame_id"], Twin(f"{row['batch']}/{row['path']}", record))
    paths = {frame_id: twin.path for frame_id, twin in story.twins.items()}
    story.steps = [
        {**step, "twin_path": paths[str(step["twin"])]} if step.get("twin") in paths else step
        for step in _mappings(story.steps)
    ]


def _rows(table: pa.Table, frame_id: str) -> list[_Row]:
    rows: list[_Row] = table.filter(pc.equal(table["frame_id"], frame_id)).to_pylist()
    return rows


def _of_files(quarantine: pa.Table, names: Iterable[tuple[str, str]]) -> Iterator[_Row]:
    """Yield what was put aside of the files of the frame, lines of their labels included."""
    for batch, path in sorted(names):
        of_file = pc.and_(pc.equal(quarantine["batch"], batch), pc.equal(quarantine["path"], path))
        yield from quarantine.filter(of_file).to_pylist()


def _picked(row: _Row, names: Iterable[str]) -> _Row:
    return {name: row[name] for name in names}


def _add_once(rows: list[Json], row: _Row, *but: str) -> None:
    """Add a row unless one that says the same is there; `but` names what may differ."""
    said = {name: value for name, value in row.items() if name not in but}
    if not any(said.items() <= dict(known).items() for known in _mappings(rows)):
        rows.append(row)


def _mappings(rows: Iterable[Json]) -> list[_Row]:
    return [dict(row) for row in rows if isinstance(row, dict)]


def _written_at(record: Snapshot) -> str:
    return str(record.made_by().get("written_at", "")) if record.record_id else ""
