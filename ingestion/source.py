"""Find out what a person means who says where a batch lies: a folder, one file, or what begins with an S3 address."""

from dataclasses import dataclass, replace

from driveflow.errors import NotFoundError
from driveflow.formats.file_kinds import kind_of
from driveflow.storage.objects import ObjectInfo, local_path, stat
from driveflow.storage.uris import writable
from ingestion.listing import list_batch

_LABEL_FOLDERS = frozenset(["annotations", "annotation", "labels", "label", "anns", "ann"])


@dataclass(frozen=True, slots=True)
class Source:
    """What was listed, and the one label file to read, where that is what was named."""

    objects: tuple[ObjectInfo, ...]
    annotations: str = ""


def list_source(uri: str, store: str = "", workspace: str = "") -> Source:
    """Return what lies at `uri`; a label file stands for the folder it is in, any other file for itself.

    A label file in a folder of labels alone (annotations/instances.json) stands for what lies beside that folder too.

    What `store` holds is no data, where it lies in the batch, nor is what a `workspace` in it holds, such as pages and
    exports of training jobs.

    Raises:
        NotFoundError: nothing is there.
        EmptyBatchError: an empty folder is.
    """
    path = local_path(uri)
    if path is not None and path.is_dir():
        return Source(_outside(list_batch(uri), uri, store, workspace))
    single = stat(uri)
    if single is None and path is not None:
        raise NotFoundError(f"There is no file or folder {path}.")
    if single is None:
        return Source(_outside(list_batch(uri), uri, store, workspace))
    if kind_of(single.path) == "text":
        return _around(uri, writable(single.path), store, workspace)
    return Source((replace(single, path=writable(single.path)),))


def _around(uri: str, name: str, store: str, workspace: str) -> Source:
    """Return what lies around a label file: in its folder, or beside that where it is one for labels alone."""
    folder, annotations = uri.rpartition("/")[0], name
    above, _, called = folder.rpartition("/")
    found = list_batch(folder)
    if called.lower() in _LABEL_FOLDERS and not any(kind_of(entry.path) in {"picture", "archive"} for entry in found):
        folder, found, annotations = above, list_batch(above), f"{called}/{name}"
    return Source(_outside(found, folder, store, workspace), annotations)


def _outside(objects: tuple[ObjectInfo, ...], folder: str, store: str, workspace: str) -> tuple[ObjectInfo, ...]:
    above = f"{folder.rstrip('/')}/"
    ours = tuple(f"{home}/" for home in (store, workspace) if home.startswith(above))
    return tuple(entry for entry in objects if not entry.uri.startswith(ours)) if ours else objects
