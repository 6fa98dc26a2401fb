"""Read one batch: find its labels, look at every picture, and account for every file."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import digest_bytes
from driveflow.errors import BrokenDataError, EmptyBatchError
from driveflow.flow.sections import BatchSection, TaxonomySection
from driveflow.formats.label_set import LabelSet
from driveflow.progress import Progress, silent
from driveflow.snapshots import Beside, SnapshotTables
from driveflow.storage.objects import ObjectInfo
from driveflow.storage.shards import Blob, pack_shards
from driveflow.withdrawn import REASON as WITHDRAWN
from driveflow.withdrawn import Trace, withdrawn_ids
from ingestion.account import describe_empty, file_counts, frame_counts, quarantine_rows
from ingestion.batch_files import BatchFiles, Refusal, open_files
from ingestion.box_doubts import box_doubts
from ingestion.find_metadata import find_metadata
from ingestion.look import Looked, look_at_members, look_at_objects
from ingestion.metadata import Metadata
from ingestion.open_container import rules_of
from ingestion.purge import check_zeros, purge_shards
from ingestion.read_labels import read_batch_labels
from ingestion.sort_files import SortedFiles, sort_files
from ingestion.take_boxes import TakenBoxes, take_boxes
from ingestion.take_frames import TakenFrames, sightings, take_frames
from ingestion.taxonomy import ClassMap, box_counts, check_annotated, classes_as_found, map_classes
from ingestion.time_of_day import check_times_of_day, tagged_places

_REPORT_EVERY = 50


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What to import: the batch's section of the flow, where it lies, what was listed there, and where shards go.

    Without a taxonomy every class is taken as it is found.
    """

    section: BatchSection
    uri: str
    taxonomy: TaxonomySection | None
    store: str
    objects: tuple[ObjectInfo, ...]


@dataclass(frozen=True, slots=True)
class ImportedBatch:
    """A batch as tables, with split "train" and one group a drive until it is merged.

    files_in = files_kept + files_quarantined + files_skipped, where members of archives count as files and an archive
    that could be opened does not. For the boxes see `TakenBoxes`. `notes` are sentences for a person, `label_format` is
    what the labels were read as.
    """

    tables: SnapshotTables
    beside: Beside
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    label_format: str = ""


@dataclass(slots=True)
class _Gallery:
    """The pictures looked at so far."""

    progress: Progress
    total: int
    withdrawn: frozenset[str]
    kept: list[Looked] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    def add(self, seen: Looked | Refusal) -> None:
        if self.is_withdrawn(seen):
            detail = "these bytes were withdrawn; `driveflow data withdraw --list` tells why"
            self.refused.append(Refusal(seen.file.name, WITHDRAWN, detail, seen.file.byte_count))
        elif isinstance(seen, Looked):
            self.kept.append(seen)
        else:
            self.refused.append(seen)
        done = len(self.kept) + len(self.refused)
        if done % _REPORT_EVERY == 0 or done == self.total:
            self.progress(done, self.total, "pictures")

    def is_withdrawn(self, seen: Looked | Refusal) -> TypeGuard[Looked]:
        return isinstance(seen, Looked) and seen.frame_id in self.withdrawn


@dataclass(frozen=True, slots=True)
class _Read:
    """What the files of a batch say, before any picture is looked at."""

    files: BatchFiles
    labels: LabelSet
    metadata: Metadata
    classes: ClassMap
    ordered: SortedFiles
    label_format: str
    note: str

    def notes(self) -> tuple[str, ...]:
        """Return all that a person should know."""
        notes = (self.note, *self.labels.notes, self.metadata.note, *self.ordered.notes)
        return tuple(note for note in notes if note)


def import_batch(request: BatchRequest, progress: Progress = silent) -> ImportedBatch:
    """Read the batch of `request`; what cannot be used is quarantined, and nothing is left uncounted.

    Members of archives are packed into shards of the store; nothing else is written.

    Raises:
        EmptyBatchError: not one picture is usable.
        UnmappedClassError: the taxonomy does not know classes that have boxes.
        BrokenDataError: every labeled picture has a class that the labels do not list, or no label file can be read.
        NotFoundError: the section names annotations, metadata or a format of which there is nothing.
    """
    read = _read(request)
    broken = _broken_pictures(read, request.section.name)
    gallery = _Gallery(progress, len(read.ordered.pictures), withdrawn_ids(request.store))
    bright = tagged_places(read.labels, read.metadata, request.section.attributes)
    packed = _look(read.ordered, gallery, request.store, bright)
    packed = _let_go(gallery, packed, request.store)
    _refuse_broken(broken, gallery)
    refused = [*read.files.refused, *gallery.refused]
    if not gallery.kept:
        where = f"Batch {request.section.name!r} at {request.uri}"
        raise EmptyBatchError(describe_empty(where, read.files, refused, read.labels))
    return _assemble(request, read, gallery.kept, refused, packed)


def _read(request: BatchRequest) -> _Read:
    if request.taxonomy is not None:
        check_annotated(request.section, request.taxonomy)
    files = open_files(request.objects, rules_of(request.section))
    read = read_batch_labels(files, request.section)
    metadata = find_metadata(files, request.section)
    counts = box_counts(read.labels)
    known = request.taxonomy
    classes = classes_as_found(counts) if known is None else map_classes(known, counts, request.section.name)
    ordered = sort_files(files, read.labels.files, metadata.files)
    return _Read(files, read.labels, metadata, classes, ordered, read.label_format, read.note)


def _assemble(
    request: BatchRequest, read: _Read, kept: Sequence[Looked], refused: Sequence[Refusal], packed: pa.Table
) -> ImportedBatch:
    frames = take_frames(kept, read.labels, read.metadata, request.section)
    boxes = take_boxes(read.labels, _pictures(kept), read.classes, request.section)
    tables = _tables(frames, boxes, read.classes.classes)
    problems = [*read.labels.problems, *read.metadata.problems, *boxes.problems]
    listed = [*problems, *frames.jumps]
    doubtful = check_times_of_day(sightings(frames, kept, request.section.name))
    conflicts = pa.Table.from_pylist([*frames.conflicts, *doubtful, *boxes.conflicts], schema=columns.CONFLICTS)
    beside = Beside(
        locations=pa.concat_tables([_locations(kept), packed]),
        quarantine=quarantine_rows(request.section.name, read.files, refused, listed),
        conflicts=conflicts,
    )
    counts = file_counts(read.files, read.ordered.skipped, len(kept), refused)
    counts |= frame_counts(tables) | boxes.counts
    counts |= {"label_problems": len(problems), "conflicts": conflicts.num_rows, "time_jumps": len(frames.jumps)}
    notes = (*read.notes(), *frames.notes, *box_doubts(tables, read.label_format))
    return ImportedBatch(tables, beside, counts, notes, read.label_format)


def _look(ordered: SortedFiles, gallery: _Gallery, store: str, bright: Container[str]) -> pa.Table:
    """Look at all pictures and return where the members of archives were packed (LOCATIONS)."""
    for seen in look_at_objects((file for file in ordered.pictures if file.member is None), bright):
        gallery.add(seen)
    members = [file for file in ordered.pictures if file.member is not None]
    if not members:
        return columns.LOCATIONS.empty_table()
    known = {looked.frame_id for looked in gallery.kept}

    def blobs() -> Iterator[Blob]:
        for seen, data in look_at_members(members, bright):
            gallery.add(seen)
            if isinstance(seen, Looked) and seen.frame_id not in known and not gallery.is_withdrawn(seen):
                known.add(seen.frame_id)
                yield Blob(seen.frame_id, data, digest_bytes(data) if seen.file.frame_id else None)

    return pack_shards(store, blobs())


def _let_go(gallery: _Gallery, packed: pa.Table, store: str) -> pa.Table:
    """Refuse what was withdrawn since the first picture was looked at, purge it from the shards, return the rest."""
    late = withdrawn_ids(store) - gallery.withdrawn
    if not late:
        return packed
    gone = pc.is_in(packed["frame_id"], value_set=pa.array(sorted(late), pa.string()))
    slices = [Trace("shard", row["uri"], row["offset"], row["length"]) for row in packed.filter(gone).to_pylist()]
    purge_shards(slices)
    check_zeros(slices)
    gallery.withdrawn |= late
    seen, gallery.kept = gallery.kept, []
    for looked in seen:
        gallery.add(looked)
    return packed.filter(pc.invert(gone))


def _broken_pictures(read: _Read, batch: str) -> dict[str, str]:
    """Return why the labels of some pictures must not be trusted; fail where that is all, or nothing could be read."""
    labels = read.labels
    images = zip(labels.images["path"].to_pylist(), labels.images["broken"].to_pylist(), strict=True)
    broken = {path: why for path, why in images if why}
    if broken and not any(path not in broken for path in set(labels.boxes["path"].to_pylist())):
        detail = (
            f"all {len(broken)} pictures with boxes in batch {batch!r} are labeled so: {next(iter(broken.values()))}"
        )
        raise BrokenDataError("class_out_of_range", detail)
    if not labels.images.num_rows and labels.problems and {item.reason for item in labels.problems} == {"label_syntax"}:
        first = labels.problems[0]
        where = read.files.name_of(first.path) + (f":{first.line}" if first.line else "")
        detail = f"no label file of batch {batch!r} can be read: {where}: {first.detail}"
        raise BrokenDataError(
            "label_syntax", f"{detail}; mend it, or format folder imports the pictures without labels"
        )
    return broken


def _refuse_broken(broken: Mapping[str, str], gallery: _Gallery) -> None:
    """Take out pictures whose labels must not be trusted."""
    for looked in gallery.kept:
        if looked.file.place in broken:
            detail = broken[looked.file.place]
            gallery.refused.append(Refusal(looked.file.name, "class_out_of_range", detail, looked.file.byte_count))
    gallery.kept = [looked for looked in gallery.kept if looked.file.place not in broken]


def _pictures(kept: Sequence[Looked]) -> pl.DataFrame:
    schema = {"path": pl.String, "name": pl.String, "frame_id": pl.String, "width": pl.Int32, "height": pl.Int32,
              "turned": pl.Int32}  # fmt: skip
    rows = [
        (looked.file.place, looked.file.name, looked.frame_id, looked.probe.width, looked.probe.height, looked.turned)
        for looked in kept
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _tables(frames: TakenFrames, boxes: TakenBoxes, classes: tuple[str, ...]) -> SnapshotTables:
    looked = dict(boxes.annotated.select("frame_id", "annotated_classes").iter_rows())
    rows = [{**row, "annotated_classes": looked.get(row["frame_id"], [])} for row in frames.frames]
    return SnapshotTables(
        pa.Table.from_pylist(rows, schema=columns.FRAMES),
        pa.Table.from_pylist(frames.sources, schema=columns.SOURCES),
        boxes.boxes.to_arrow(),
        classes,
    )


def _locations(kept: Iterable[Looked]) -> pa.Table:
    """Return where the pictures lie that are objects of their own."""
    rows = [
        {"frame_id": looked.frame_id, "uri": looked.file.entry.uri, "offset": 0, "length": looked.file.byte_count}
        for looked in kept
        if looked.file.member is None
    ]
    return pa.Table.from_pylist(rows, schema=columns.LOCATIONS)
