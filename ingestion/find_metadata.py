"""Find the tables of metadata in a batch and read them."""

from typing import Final

from driveflow.errors import BrokenDataError, NotFoundError
from driveflow.flow.sections import BatchSection
from ingestion.batch_files import BatchFiles
from ingestion.metadata import Metadata, read_metadata

_NAMES: Final = ("metadata.csv", "metadata.parquet")
_NEEDS: Final = "it needs a CSV or Parquet table whose column 'path' holds the pictures' paths inside the batch"


def find_metadata(files: BatchFiles, section: BatchSection) -> Metadata:
    """Return what the metadata of a batch says: the file that `section` names, else those of the usual names.

    Raises:
        NotFoundError: `section` names a file that is not there.
        BrokenDataError: `section` names a file that is no table with a column `path`.
    """
    if section.metadata:
        found = [files.place_of(section.metadata)]
        if found[0] not in files.by_place:
            raise NotFoundError(f"Batch {section.name!r}: metadata {section.metadata!r} is no file of the batch.")
    else:
        found = [name for name in _NAMES if name in files.by_place]
    places = {file.name: file.place for file in files.files}
    metadata = read_metadata(files, found, places, round(section.join_tolerance_ms * 1_000_000))
    if section.metadata and metadata.unread:
        detail = f"metadata {section.metadata!r} of batch {section.name!r} {metadata.unread[0]}; {_NEEDS}"
        raise BrokenDataError("metadata_syntax", detail)
    return metadata
