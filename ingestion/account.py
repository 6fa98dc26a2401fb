"""Account for every file of a batch: rows of quarantine, counts that add up, and what to say of an empty one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from driveflow import tables as columns
from driveflow.formats.label_set import LabelProblem, LabelSet
from driveflow.snapshots import SnapshotTables
from ingestion.batch_files import BatchFiles, Refusal

_SHOWN = 5
_MISSING = frozenset(["label_missing_picture", "label_ambiguous_picture", "label_unknown_picture"])


def quarantine_rows(
    batch: str, files: BatchFiles, refused: Iterable[Refusal], problems: Iterable[LabelProblem]
) -> pa.Table:
    """Return a row for every file and for every line or annotation that was put aside."""
    rows = [(batch, item.name, item.reason, item.detail, item.byte_count, None) for item in refused]
    lines = [(batch, files.name_of(item.path), item.reason, item.detail, None, item.line) for item in problems]
    ordered = sorted([*rows, *lines], key=lambda row: (row[1], row[5] or 0, row[2], row[3]))
    records = [dict(zip(columns.QUARANTINE.names, row, strict=True)) for row in ordered]
    return pa.Table.from_pylist(records, schema=columns.QUARANTINE)


def file_counts(files: BatchFiles, skipped: Mapping[str, int], kept: int, refused: Sequence[Refusal]) -> dict[str, int]:
    """Return counts of files; files_in is the sum of kept, quarantined and skipped."""
    reasons = Counter(item.reason for item in refused)
    return {
        "files_in": len(files.files) + len(files.refused),
        "files_kept": kept,
        "files_quarantined": len(refused),
        "files_skipped": sum(skipped.values()),
        **{f"skipped_{kind}": count for kind, count in sorted(skipped.items())},
        **{f"quarantined_{reason}": count for reason, count in sorted(reasons.items())},
        "archives": files.archives,
    }


def frame_counts(tables: SnapshotTables) -> dict[str, int]:
    """Return counts of frames, sources and drives."""
    labeled = [bool(names) for names in tables.frames["annotated_classes"].to_pylist()]
    return {
        "frames": tables.frames.num_rows,
        "frames_repeated": tables.sources.num_rows - tables.frames.num_rows,
        "frames_labeled": sum(labeled),
        "drives": len(set(tables.sources["drive"].to_pylist())),
    }


def describe_empty(where: str, files: BatchFiles, refused: Sequence[Refusal], labels: LabelSet) -> str:
    """Return what is to say of a batch that has nothing to offer, and of the labels it came with."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(item.reason for item in refused).most_common())
    examples = "; ".join(f"{item.name}: {item.detail}" for item in refused[:_SHOWN])
    found = f"{len(files.files) + len(files.refused)} files, {len(refused)} of them quarantined"
    why = f"{where} has no usable picture: {found}{f' ({reasons}; {examples})' if refused else ''}."
    return f"{why} {_without_pictures(labels)}" if labels.files else why


def _without_pictures(labels: LabelSet) -> str:
    missing = [item for item in labels.problems if item.reason in _MISSING]
    listed = len(set(labels.images["path"].to_pylist())) + len(missing)
    example = f" (first of all, {missing[0].path}: {missing[0].detail})" if missing else ""
    return (
        f"Its labels were read: {len(labels.files):,} label files, {labels.boxes_read:,} boxes and "
        f"{listed:,} listed pictures; the pictures are missing{example}. "
        "Name a folder that holds both the pictures and their labels."
    )
