"""Read what the files of a batch say of its pictures: labels of one format."""

from dataclasses import dataclass, replace

import pyarrow as pa

from driveflow.errors import NotFoundError
from driveflow.flow.sections import BatchSection
from driveflow.formats.catalog import FORMATS
from driveflow.formats.detect import detect_formats
from driveflow.formats.export_added import without_added
from driveflow.formats.label_set import LabelProblem, LabelSet
from driveflow.formats.near_time import TimedPaths
from ingestion.batch_files import BatchFiles

_RECORDING = "recording"


@dataclass(frozen=True, slots=True)
class BatchLabels:
    """The labels of a batch, the format they were read as, and formats that were found and not read."""

    labels: LabelSet
    label_format: str
    others: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What a person should know of how they were read."""
        *first, last = self.others or ("",)
        named = f"{', '.join(first)} and {last}" if first else last
        others = f" There are labels of {named} too, which were not read." if self.others else ""
        return f"Read as {self.label_format}.{others}"


def read_batch_labels(files: BatchFiles, section: BatchSection) -> BatchLabels:
    """Return the labels of a batch: of the format that `section` states, else of the surest that content shows.

    Raises:
        NotFoundError: the annotations that are named are not there, or nothing of the stated format is.
    """
    annotations = files.place_of(section.annotations) if section.annotations else ""
    if annotations and not any(path == annotations or path.startswith(f"{annotations}/") for path in files.paths):
        raise NotFoundError(f"annotations: {section.annotations!r} is no file of the batch.")
    found = detect_formats(files, annotations) if section.format == "auto" else [section.format]
    kind = found[0]
    if annotations and kind == "folder" and section.format == "auto":
        known = ", ".join(name for name in sorted(FORMATS) if name not in {"folder", "bare_yolo"})
        raise NotFoundError(f"{section.annotations!r} holds no labels of a format that is read; these are: {known}.")
    if section.join_tolerance_ms > 0:
        labels = _read_with_tolerance(kind, files, annotations, section.join_tolerance_ms)
    else:
        labels = FORMATS[kind].read(files, annotations)
    if section.format not in {"auto", "folder"} and not labels.files:
        raise NotFoundError(
            f"Batch {section.name!r} states format {kind}, but holds no {kind} labels; "
            "format: folder would import it without labels."
        )
    labels = without_added(labels, kind, files)
    others = tuple(name for name in found[1:] if name != _RECORDING)
    return BatchLabels(labels if kind == _RECORDING else _with_times(labels, files), kind, others)


def _with_times(labels: LabelSet, files: BatchFiles) -> LabelSet:
    """Return `labels` with what recordings among `files` say of time, place and drive; boxes are of one format only."""
    recorded = FORMATS[_RECORDING].read(files, "")
    if not recorded.files:
        return labels
    silent = pa.nulls(recorded.images.num_rows, recorded.images.schema.field("class_list").type)
    column = recorded.images.column_names.index("class_list")
    unread = (f"{recorded.boxes.num_rows} boxes in recordings were not read.",) if recorded.boxes.num_rows else ()
    return replace(
        labels,
        images=pa.concat_tables([labels.images, recorded.images.set_column(column, "class_list", silent)]),
        problems=(*labels.problems, *(replace(problem, boxes=0) for problem in recorded.problems)),
        files=labels.files | recorded.files,
        notes=(*labels.notes, *recorded.notes, *unread),
    )


@dataclass(frozen=True, slots=True)
class _Tolerant:
    """A batch in which a name with a time that is a little off finds its file."""

    files: BatchFiles
    paths: TimedPaths

    def read(self, path: str) -> bytes:
        return self.files.read(path)

    def tell(self, labels: LabelSet) -> LabelSet:
        """Return `labels` with a row for every name that was taken for another."""
        joined = [
            LabelProblem(item.wanted, "label_nearest_picture", item.detail) for item in self.paths.joined.values()
        ]
        return replace(labels, problems=(*labels.problems, *joined))


def _read_with_tolerance(kind: str, files: BatchFiles, annotations: str, tolerance_ms: float) -> LabelSet:
    tolerant = _Tolerant(files, TimedPaths.of(files.paths, round(tolerance_ms * 1_000_000)))
    return tolerant.tell(FORMATS[kind].read(tolerant, annotations))
