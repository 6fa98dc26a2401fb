"""Read what the files of a batch say of its pictures: labels of one format, and metadata."""

from dataclasses import dataclass, replace

import pyarrow as pa

from driveflow.errors import NotFoundError
from driveflow.flow.sections import BatchSection
from driveflow.formats.catalog import FORMATS
from driveflow.formats.detect import detect_formats
from driveflow.formats.label_set import LabelSet
from ingestion.batch_files import BatchFiles
from ingestion.metadata import Metadata, read_metadata

_METADATA = "metadata.csv"
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
        others = f" There are labels of {' and '.join(self.others)} too, which were not read." if self.others else ""
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
    labels = FORMATS[kind].read(files, annotations)
    if section.format not in {"auto", "folder"} and not labels.files:
        raise NotFoundError(
            f"Batch {section.name!r} states format {kind}, but holds no {kind} labels; "
            "format: folder would import it without labels."
        )
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


def read_batch_metadata(files: BatchFiles, section: BatchSection) -> tuple[Metadata, str]:
    """Return the metadata and the place of its file; nothing where there is none.

    Raises:
        NotFoundError: `section` names a file that is not there.
    """
    place = files.place_of(section.metadata or _METADATA)
    if place not in files.by_place:
        if section.metadata:
            raise NotFoundError(f"Batch {section.name!r}: metadata {section.metadata!r} is no file of the batch.")
        return Metadata({}, ()), ""
    places = {file.name: file.place for file in files.files}
    return read_metadata(files, place, places), place
