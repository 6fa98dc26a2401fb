"""List what a batch holds, once, so that everything after works on the same files."""

from dataclasses import replace

from driveflow.errors import EmptyBatchError
from driveflow.storage.objects import ObjectInfo, join, list_objects, list_skipped
from driveflow.storage.uris import writable

NOT_FOLLOWED = frozenset(["link", "special_file"])
"""What stands in `ObjectInfo.version` of an entry that is no object; it will be quarantined under this name."""


def list_batch(uri: str) -> tuple[ObjectInfo, ...]:
    r"""Return every object of the batch at `uri`, sorted by path; links are listed too, but marked, and never followed.

    Paths are text that UTF-8 can hold: bytes of a file name that are no UTF-8 are spelled \xNN.

    Raises:
        NotFoundError: there is no such folder.
        EmptyBatchError: nothing is in it.
    """
    found = list(list_objects(uri))
    found += [ObjectInfo(join(uri, path), path, 0, why) for path, why in list_skipped(uri)]
    if not found:
        raise EmptyBatchError(f"The batch at {uri} is empty: there is not one file in it.")
    return tuple(sorted((replace(entry, path=writable(entry.path)) for entry in found), key=lambda entry: entry.path))
