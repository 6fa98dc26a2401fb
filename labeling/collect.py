"""Put the labels that came back onto their frames: a pure function of tables, manifests and return files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns
from driveflow.canonical import Json, canonical_json
from driveflow.progress import Progress, silent
from driveflow.snapshots import SnapshotTables
from driveflow.truth import predictions_of, truth_of
from labeling.campaigns import RawReturn, list_returns, open_those_there, read_return
from labeling.entries import Entry, Refusal
from labeling.manifest import CampaignManifest, Purpose
from labeling.merge_answers import FrameMerge, Row, merge_frame
from labeling.returns import Readings, answered_pairs, entries_by_frame, read_returns, refusal_rows

__all__ = [
    "CollectRequest",
    "Collected",
    "answered_classes",
    "collect",
    "list_returns",
    "load_request",
]

COUNT_NAMES = (
    *("returns_in", "returns_read", "returns_repeated", "returns_quarantined"),
    *("answers_in", "answers_taken", "answers_repeated", "answers_superseded", "answers_quarantined", "answers_empty"),
    *("boxes_in", "boxes_taken", "boxes_repeated", "boxes_superseded", "boxes_quarantined"),
    *("frames_out", "frames_answered", "frames_not_returned", "frames_newly_labeled"),
    *("prelabels_answered", "prelabels_confirmed", "prelabels_moved", "prelabels_reclassified", "prelabels_rejected"),
)


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """What to put onto what: `returns` are files of any of `campaigns`, in any order; `notes` go to the account."""

    tables: SnapshotTables
    campaigns: tuple[CampaignManifest, ...]
    returns: tuple[RawReturn, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collected:
    """Tables with the labels in them, and an account of everything that came back.

    `counts` add up: returns_in = read + quarantined; answers_in = taken + repeated + superseded + quarantined + empty;
    boxes_in = taken + repeated + superseded + quarantined; frames_out = answered + not_returned; prelabels_answered =
    confirmed + moved + reclassified + rejected. Files of equal bytes count once (returns_repeated of those read).
    `notes` are sentences about campaigns that are lost and fields that nobody knows.
    """

    tables: SnapshotTables
    quarantine: pa.Table
    conflicts: pa.Table
    counts: Mapping[str, int]
    notes: tuple[str, ...]


def load_request(
    store: str, campaign_ids: Iterable[str], tables: SnapshotTables, wanted: Iterable[str] | None = None
) -> CollectRequest:
    """Read the manifests and return files of campaigns; of `wanted` paths alone (as `list_returns` gives) if stated.

    A campaign that is gone or broken is left out and told.
    """
    manifests, broken = open_those_there(store, campaign_ids)
    paths = None if wanted is None else set(wanted)
    found = list_returns(store, [manifest.campaign_id for manifest in manifests])
    returns = tuple(read_return(item) for item in found if paths is None or item.path in paths)
    return CollectRequest(tables, manifests, returns, tuple(map(str, broken)))


def collect(request: CollectRequest, progress: Progress = silent) -> Collected:
    """Return the tables with every sound label that came back; the same for any order, and when done twice.

    A frame takes labels only of its own purpose: train and val frames those of a train campaign, hold-out frames those
    of a hold-out campaign. Boxes of classes that no answer names stay. Of several answers about a class of a frame the
    one with the later `returned_at` counts, in one file the later one, else the one whose file has the greater digest;
    the others are in `conflicts`.
    """
    readings = read_returns(request.campaigns, request.returns)
    counts = readings.counts
    fitting = _fitting(request, readings)
    merges = _merge_all(request.tables, entries_by_frame(fitting), progress)
    for merge in merges:
        counts.update(merge.counts)
        counts["frames_newly_labeled"] += bool(merge.new)
    counts.update(_frame_counts(request.campaigns, fitting))
    return Collected(
        tables=_apply(request.tables, merges),
        quarantine=pa.Table.from_pylist(refusal_rows(readings.refusals), columns.QUARANTINE),
        conflicts=pa.Table.from_pylist(_sorted_rows(merges), columns.CONFLICTS),
        counts={name: counts[name] for name in COUNT_NAMES},
        notes=(*request.notes, *readings.notes()),
    )


def answered_classes(store: str, campaign_ids: Iterable[str], purpose: Purpose) -> dict[str, list[str]]:
    """Return for each frame of the campaigns of `purpose` the classes, sorted, that a sound answer names."""
    found: dict[str, list[str]] = {}
    for frame_id, name in sorted(_answered(store, campaign_ids, purpose)):
        found.setdefault(frame_id, []).append(name)
    return found


def _answered(store: str, campaign_ids: Iterable[str], purpose: Purpose) -> set[tuple[str, str]]:
    manifests = [item for item in open_those_there(store, campaign_ids)[0] if item.purpose == purpose]
    ids = [manifest.campaign_id for manifest in manifests]
    return answered_pairs(read_returns(manifests, map(read_return, list_returns(store, ids))).entries)


def _fitting(request: CollectRequest, readings: Readings) -> list[Entry]:
    """Return the entries that these tables may take, and refuse the others in `readings`."""
    purposes = {manifest.campaign_id: manifest.purpose for manifest in request.campaigns}
    splits = dict(zip(*(request.tables.frames[name].to_pylist() for name in ("frame_id", "split")), strict=True))
    fitting: list[Entry] = []
    for entry in readings.entries:
        whole = entry.box_count()
        refusals, kept = _fit(entry, purposes[entry.campaign_id], splits.get(entry.frame_id), request.tables.classes)
        readings.refusals += refusals
        readings.counts["boxes_quarantined"] += whole - (kept.box_count() if kept else 0)
        if kept is None:
            readings.counts["answers_quarantined"] += 1
        else:
            fitting.append(kept)
    return fitting


def _fit(entry: Entry, purpose: str, split: str | None, classes: Sequence[str]) -> tuple[list[Refusal], Entry | None]:
    if split is None:
        return [_refusal(entry, "frame_not_in_snapshot", "it is not among the frames that are labeled here")], None
    if (split == "holdout") != (purpose == "holdout"):
        return [_refusal(entry, "wrong_purpose", f"it is a {split} frame, the labels are for {purpose}")], None
    strange = sorted(set(entry.boxes) - set(classes))
    refusals = [_refusal(entry, "unknown_class", f"the taxonomy has no class {name!r} any more") for name in strange]
    boxes = {name: found for name, found in entry.boxes.items() if name in classes}
    return refusals, replace(entry, boxes=boxes) if boxes else None


def _refusal(entry: Entry, reason: str, why: str) -> Refusal:
    return Refusal(entry.campaign_id, entry.path, reason, f"frame {entry.frame_id}: {why}", None)


def _merge_all(tables: SnapshotTables, entries: Mapping[str, Sequence[Entry]], progress: Progress) -> list[FrameMerge]:
    touched = pa.array(sorted(entries), pa.string())
    frames = tables.frames.filter(pc.is_in(tables.frames["frame_id"], touched))
    local: dict[str, list[Row]] = {}
    truth = truth_of(tables.boxes)
    for row in truth.filter(pc.is_in(truth["frame_id"], touched)).to_pylist():
        local.setdefault(row["frame_id"], []).append(row)
    merges = []
    for frame_id, annotated in zip(
        *(frames[name].to_pylist() for name in ("frame_id", "annotated_classes")), strict=True
    ):
        merges.append(merge_frame(frame_id, local.get(frame_id, []), annotated, entries[frame_id]))
        progress(len(merges), frames.num_rows, "frames with labels")
    return merges


def _apply(tables: SnapshotTables, merges: Sequence[FrameMerge]) -> SnapshotTables:
    touched = pa.array([merge.frame_id for merge in merges], pa.string())
    boxes = pa.Table.from_pylist([row for merge in merges for row in merge.boxes], columns.BOXES)
    labels = {merge.frame_id: sorted(merge.annotated) for merge in merges}
    is_touched = pc.is_in(tables.frames["frame_id"], touched)
    frames = tables.frames.filter(is_touched)
    annotated = pa.array([labels[frame_id] for frame_id in frames["frame_id"].to_pylist()], pa.list_(pa.string()))
    position = columns.FRAMES.get_field_index("annotated_classes")
    changed = frames.set_column(position, columns.FRAMES.field(position), annotated)
    return SnapshotTables(
        frames=pa.concat_tables([tables.frames.filter(pc.invert(is_touched)), changed]),
        sources=tables.sources,
        boxes=pa.concat_tables([_untouched(tables.boxes, touched, boxes), boxes]),
        classes=tables.classes,
    )


def _untouched(boxes: pa.Table, touched: pa.Array, fresh: pa.Table) -> pa.Table:
    """Return the boxes of other frames, and the predictions of these whose id no answer bears now."""
    elsewhere = boxes.filter(pc.invert(pc.is_in(boxes["frame_id"], touched)))
    here = predictions_of(boxes.filter(pc.is_in(boxes["frame_id"], touched)))
    taken = set(zip(fresh["frame_id"].to_pylist(), fresh["box_id"].to_pylist(), strict=True))
    keys = zip(here["frame_id"].to_pylist(), here["box_id"].to_pylist(), strict=True)
    return pa.concat_tables([elsewhere, here.filter(pa.array([key not in taken for key in keys], pa.bool_()))])


def _frame_counts(manifests: Iterable[CampaignManifest], entries: Iterable[Entry]) -> Counter[str]:
    sent = {(manifest.campaign_id, frame.frame_id) for manifest in manifests for frame in manifest.frames}
    answered = {(entry.campaign_id, entry.frame_id) for entry in entries}
    return Counter(frames_out=len(sent), frames_answered=len(answered), frames_not_returned=len(sent - answered))


def _sorted_rows(merges: Iterable[FrameMerge]) -> list[dict[str, Json]]:
    rows = {canonical_json(row): row for merge in merges for row in merge.conflicts}
    return [rows[key] for key in sorted(rows)]
