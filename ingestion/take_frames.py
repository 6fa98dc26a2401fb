"""Make frames and sources of the pictures of a batch."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from driveflow import tables as columns
from driveflow.canonical import canonical_json
from driveflow.flow.sections import ONE_CAMERA, BatchSection
from driveflow.formats.label_set import LabelProblem, LabelSet
from driveflow.formats.recording_text import MEMBER as RECORDING
from driveflow.formats.source_split import split_of_folders
from driveflow.images.exif import Exif
from ingestion.drives import Hints, across_splits, assign_drives
from ingestion.look import Looked
from ingestion.merge_frames import United, unite_attributes
from ingestion.metadata import Metadata, PictureData
from ingestion.name_times import NamedTime, times_in_names
from ingestion.series import cameras
from ingestion.source_time import SourceTime, own_time, source_time, time_notes
from ingestion.time_of_day import Sighting
from ingestion.time_order import Shot, TimeOrder, follow_times

_NOTHING, _NO_EXIF = PictureData(), Exif()
_PLACE = ("lat", "lon", "speed_mps", "heading_deg")
_HINTS = ("drive", "sequence", "camera", "captured_ns", "clock", *_PLACE, "source_split")
_SHOWN = 3  # drives that a note names
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TakenFrames:
    """Frames (columns of FRAMES but annotated_classes; split and group are provisional), sources, and conflicts.

    `jumps` has a row for each place where the times of a drive jump.
    """

    frames: list[Row]
    sources: list[Row]
    conflicts: list[dict[str, str]]
    jumps: list[LabelProblem] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def take_frames(kept: Sequence[Looked], labels: LabelSet, metadata: Metadata, section: BatchSection) -> TakenFrames:
    """Return every distinct picture of `kept` once, and a source for every file.

    What the metadata says beats what the labels say, which beats what the pictures say of themselves (time and place),
    which beats what the section says of the whole batch.
    """
    hints = _hints(labels)
    named = times_in_names(looked.file.place for looked in kept)
    drives = assign_drives(section, [_drive_hints(looked, hints, metadata, named) for looked in kept])
    beside = cameras(looked.file.place for looked in kept)
    sources: list[Row] = []
    times: list[SourceTime] = []
    nowhere = 0
    for looked in kept:
        place = looked.file.place
        data = metadata.rows.get(place, _NOTHING)
        said = _with_place(hints.get(place, {}), data, looked.exif)
        time = source_time(data, said, own_time(looked.exif, named.get(place)), section)
        times.append(time)
        guessed = beside.get(place, ONE_CAMERA) if section.camera == ONE_CAMERA else section.camera
        camera = data.camera or said.get("camera") or guessed
        source = {**_source(looked, said, data, time, section), "camera": camera, "drive": drives[place]}
        if source["lat"] == 0 == source["lon"]:  # off Africa, where no road is: what a receiver without a fix says
            source |= {"lat": None, "lon": None}
            nowhere += 1
        sources.append(source)
    dealt = _dealt_out(drives, metadata, section)
    order = _cut_drives(kept, sources, labels, metadata, section)
    attributes = _attributes(kept, labels, metadata)
    frames = list(_frames(kept, sources, attributes, section))
    unfixed = f"{nowhere} places of latitude 0, longitude 0 are of a receiver without a fix: no places."
    notes = (*dealt, *order.notes, *time_notes(times, section), *([unfixed] if nowhere else []))
    return TakenFrames(frames, sources, attributes.conflicts, order.jumps, notes)


def _dealt_out(drives: Mapping[str, str], metadata: Metadata, section: BatchSection) -> list[str]:
    """Note which drives lie in folders of several splits, where that was not stated."""
    if section.drives != "auto" or section.drive:
        return []
    guessed = {place: drive for place, drive in drives.items() if not metadata.rows.get(place, _NOTHING).drive}
    dealt = across_splits(guessed)
    if not dealt:
        return []
    few = ", ".join(dealt[:_SHOWN]) + (", ..." if len(dealt) > _SHOWN else "")
    return [
        f"Drives that lie in folders of several splits: {len(dealt)} ({few}). Pictures of one recording, or made of one"
        " photo, look alike, so that each such drive goes into one split; `drives: folder` goes by folder instead."
    ]


def _cut_drives(
    kept: Sequence[Looked], sources: Sequence[Row], labels: LabelSet, metadata: Metadata, section: BatchSection
) -> TimeOrder:
    """Cut the drives of `sources` in place where their times jump, and return what was found."""
    recorded = _recorded_order(labels)
    shots = []
    for looked, source in zip(kept, sources, strict=True):
        place = looked.file.place
        stated = bool(section.drive or metadata.rows.get(place, _NOTHING).drive)
        seen = (source["drive"], source["camera"], source["captured_ns"], source["clock"])
        shots.append(Shot(place, *seen, stated, recorded.get(place)))
    order = follow_times(shots, section.max_gap_s)
    for shot, source in zip(shots, sources, strict=True):
        source["drive"] = order.drives[shot.place]
    return order


def sightings(frames: TakenFrames, kept: Sequence[Looked], batch: str) -> Iterator[Sighting]:
    """Yield each source of a frame with what is said of its time of day, and what speaks for it or against it."""
    attributes = {frame["frame_id"]: frame["attributes"] for frame in frames.frames}
    for looked, source in zip(kept, frames.sources, strict=True):
        told = {name: source[name] for name in ("path", "lat", "lon", "captured_ns", "clock")}
        yield Sighting(
            looked.frame_id, batch, attributes=attributes[looked.frame_id], brightness=looked.brightness, **told
        )


def _recorded_order(labels: LabelSet) -> dict[str, tuple[str, int]]:
    """Return the recording of each picture that is of one, and its number in the order in which it was written down."""
    listed = zip(labels.images["path"].to_pylist(), labels.images["label_file"].to_pylist(), strict=True)
    ending = f"!/{RECORDING}"
    return {path: (told_by, number) for number, (path, told_by) in enumerate(listed) if told_by.endswith(ending)}


def _hints(labels: LabelSet) -> dict[str, Row]:
    """Return what the label files say of each picture beside its boxes; the first that says something is heard."""
    found: dict[str, Row] = {}
    columns_ = [labels.images[name].to_pylist() for name in ("path", *_HINTS)]
    for path, *values in zip(*columns_, strict=True):
        said = found.setdefault(path, {})
        for name, value in zip(_HINTS, values, strict=True):
            said[name] = value if said.get(name) in {None, ""} else said[name]
    return found


def _with_place(said: Row, data: PictureData, exif: Exif) -> Row:
    """Return `said` with the place that the picture has of itself where nobody else says any."""
    if exif == _NO_EXIF or any(told is not None for name in _PLACE for told in (getattr(data, name), said.get(name))):
        return said
    return {**said, **{name: getattr(exif, name) for name in _PLACE}}


def _drive_hints(looked: Looked, hints: Mapping[str, Row], metadata: Metadata, named: Mapping[str, NamedTime]) -> Hints:
    place = looked.file.place
    said = hints.get(place, {})
    return Hints(
        place=place,
        size=(looked.probe.width, looked.probe.height),
        metadata=metadata.rows.get(place, _NOTHING).drive,
        label=said.get("drive", ""),
        sequence=said.get("sequence", ""),
        timed=named[place].sequence if place in named else "",
    )


def _source(looked: Looked, said: Row, data: PictureData, time: SourceTime, section: BatchSection) -> Row:
    where = {name: said.get(name) if (own := getattr(data, name)) is None else own for name in _PLACE}
    return {
        "frame_id": looked.frame_id,
        "batch": section.name,
        "path": looked.file.name,
        "captured_ns": time.captured_ns,
        "clock": time.clock,
        **where,
        "source_split": said.get("source_split") or split_of_folders(looked.file.place),
    }


def _attributes(kept: Sequence[Looked], labels: LabelSet, metadata: Metadata) -> United:
    """Return the attributes of each frame; what says otherwise than something before it is a conflict."""
    by_path: dict[str, list[str]] = {}
    for path, text in zip(labels.images["path"].to_pylist(), labels.images["attributes"].to_pylist(), strict=True):
        by_path.setdefault(path, []).append(text)
    said = []
    for looked in kept:
        place = looked.file.place
        texts = [canonical_json(metadata.rows.get(place, _NOTHING).attributes), *by_path.get(place, [])]
        said += [(looked.frame_id, looked.file.name, text) for text in texts if text != "{}"]
    schema = {"frame_id": pl.String, "by": pl.String, "attributes": pl.String}
    table = pl.DataFrame(said, schema=schema, orient="row").with_row_index("turn")
    return unite_attributes(table)


def _frames(kept: Sequence[Looked], sources: Iterable[Row], attributes: United, section: BatchSection) -> Iterator[Row]:
    groups: dict[str, str] = {}
    for source in sources:
        drive = source["drive"]
        groups[source["frame_id"]] = min(drive, groups.get(source["frame_id"], drive))
    given = dict(attributes.table.iter_rows())
    for frame_id, looked in {looked.frame_id: looked for looked in reversed(kept)}.items():
        yield {
            "frame_id": frame_id,
            "width": looked.probe.width,
            "height": looked.probe.height,
            "media_type": looked.probe.media_type,
            "byte_count": looked.file.byte_count,
            "split": columns.SPLITS[0],
            "drive_group": groups[frame_id],
            "attributes": _with_defaults(given.get(frame_id, "{}"), section.attributes),
        }


def _with_defaults(text: str, defaults: Mapping[str, str]) -> str:
    return canonical_json({**defaults, **json.loads(text)}) if defaults else text
