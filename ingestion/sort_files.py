"""Sort the files of a batch: pictures to look at, labels and metadata, and what is no data."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from driveflow.formats.export_added import MARKER
from driveflow.formats.file_kinds import kind_of
from driveflow.formats.picture_finder import bare_stem
from ingestion.batch_files import BatchFile, BatchFiles

_SHOWN = 5
_LABEL_LIKE = (".json", ".jsonl", ".xml", ".csv", ".tsv", ".txt", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class SortedFiles:
    """Pictures, and how many files were left aside as label, metadata, text or side file."""

    pictures: tuple[BatchFile, ...]
    skipped: Mapping[str, int]
    notes: tuple[str, ...]


def sort_files(files: BatchFiles, labels: Collection[str], metadata: Collection[str]) -> SortedFiles:
    """Sort `files`; `labels` are the places of those read as labels, `metadata` those of the metadata.

    Whatever is not known to be something else is a picture until its content says otherwise.
    """
    pictures: list[BatchFile] = []
    skipped: Counter[str] = Counter()
    unread: list[str] = []
    for file in files.files:
        kind = kind_of(file.place)
        if file.place in metadata:
            skipped["metadata"] += 1
        elif file.place in labels:
            skipped["label"] += 1
        elif kind in {"picture", "unknown"}:
            pictures.append(file)
        else:
            skipped[kind] += 1
            if kind == "text" and file.place.lower().endswith(_LABEL_LIKE) and not _is_marker(files, file.place):
                unread.append(file.name)
    stems = set() if labels else {bare_stem(file.name) for file in pictures}
    named = [name for name in unread if name.lower().endswith(".txt") and bare_stem(name) in stems]
    return SortedFiles(tuple(pictures), skipped, (_note(unread, named),) if unread else ())


def _is_marker(files: BatchFiles, place: str) -> bool:
    """Tell whether a file is what an export of ours leaves beside its labels."""
    return place.rpartition("/")[2] == MARKER and b'"snapshot_id"' in files.texts.get(place, b"")


def _note(unread: list[str], named: list[str]) -> str:
    listed = ", ".join(unread[:_SHOWN])
    more = f" and {len(unread) - _SHOWN} more" if len(unread) > _SHOWN else ""
    files, were = ("file", "was") if len(unread) == 1 else ("files", "were")
    said = f"{len(unread)} {files} that may hold labels or metadata {were} not read: {listed}{more}."
    if not named:
        return said
    return f"{said} Named as pictures are: {len(named)}; format yolo reads them, classes by their numbers."
