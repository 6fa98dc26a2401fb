"""Find the tables of metadata in a batch and read them."""

from typing import Final

from driveflow.errors import NotFoundError
from driveflow.flow.sections import BatchSection
from ingestion.batch_files import BatchFiles
from ingestion.metadata import Metadata, read_metadata

_NAMES: Final = ("metadata.csv", "metadata.parquet")


def find_metadata(files: BatchFiles, section: BatchSection) -> Metadata:
    """Return what the metadata of a batch says: the file that `section` names, else those of the usual names.

    Raises:
        NotFoundError: `section` names a file that is not there.
    """
    if section.metadata:
        found = [files.place_of(section.metadata)]
        if found[0] not in files.by_place:
            raise NotFoundError(f"Batch {section.name!r}: metadata {section.metadata!r} is no file of the batch.")
    else:
        found = [name for name in _NAMES if name in files.by_place]
    places = {file.name: file.place for file in files.files}
    return read_metadata(files, found, places, round(section.join_tolerance_ms * 1_000_000))
