"""Find the tables of metadata in a batch and read them."""

from typing import Final

from driveflow.errors import BrokenDataError, NotFoundError
from driveflow.flow.sections import BatchSection
from ingestion.batch_files import BatchFiles
from ingestion.metadata import Metadata, is_metadata, read_metadata

_NEEDS: Final = "it needs a CSV or Parquet table whose column 'path' holds the pictures' paths inside the batch"


def find_metadata(files: BatchFiles, section: BatchSection) -> Metadata:
    """Return what the metadata of a batch says.

    That is the file that `section` names, else all of the usual names, also in folders and archives, the topmost first.

    Raises:
        NotFoundError: `section` names a file that is not there.
        BrokenDataError: `section` names a file that is no table with a column `path`.
    """
    if section.metadata:
        found = [files.place_of(section.metadata)]
        if found[0] not in files.by_place:
            raise NotFoundError(f"Batch {section.name!r}: metadata {section.metadata!r} is no file of the batch.")
    else:
        found = sorted(filter(is_metadata, files.paths), key=lambda path: (path.count("/"), path))
    places = {file.name: file.place for file in files.files}
    tolerance_ns = round(section.join_tolerance_ms * 1_000_000)
    metadata = read_metadata(files, found, places, tolerance_ns, beside=not section.metadata)
    if section.metadata and metadata.unread:
        detail = f"metadata {section.metadata!r} of batch {section.name!r} {metadata.unread[0]}; {_NEEDS}"
        raise BrokenDataError("metadata_syntax", detail)
    return metadata
