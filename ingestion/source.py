"""Find out what a person means who says where a batch lies: a folder, one file, or what begins with an S3 address."""

from dataclasses import dataclass, replace

from driveflow.errors import NotFoundError
from driveflow.formats.file_kinds import kind_of
from driveflow.storage.objects import ObjectInfo, local_path, stat
from ingestion.listing import list_batch, writable


@dataclass(frozen=True, slots=True)
class Source:
    """What was listed, and the one label file to read, where that is what was named."""

    objects: tuple[ObjectInfo, ...]
    annotations: str = ""


def list_source(uri: str, store: str = "") -> Source:
    """Return what lies at `uri`; a label file stands for the folder it is in, any other file for itself.

    What `store` holds is no data, where it lies in the batch: a workspace in the folder that is imported, say.

    Raises:
        NotFoundError: nothing is there.
        EmptyBatchError: an empty folder is.
    """
    path = local_path(uri)
    if path is not None and path.is_dir():
        return Source(_outside(list_batch(uri), store))
    single = stat(uri)
    if single is None and path is not None:
        raise NotFoundError(f"There is no file or folder {path}.")
    if single is None:
        return Source(_outside(list_batch(uri), store))
    if kind_of(single.path) == "text":
        return Source(_outside(list_batch(uri.rpartition("/")[0]), store), writable(single.path))
    return Source((replace(single, path=writable(single.path)),))


def _outside(objects: tuple[ObjectInfo, ...], store: str) -> tuple[ObjectInfo, ...]:
    return tuple(entry for entry in objects if not store or not entry.uri.startswith(f"{store}/"))
