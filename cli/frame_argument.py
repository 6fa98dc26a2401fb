"""What a person may write for a frame: the beginning of its id, the end of a file's path, or TAG:PATH."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cli.snapshot_argument import find_snapshot, lineage
from driveflow.errors import NotFoundError, UsageError
from driveflow.snapshots import Snapshot, list_records, list_snapshots
from driveflow.storage.uris import writable

_SHOWN = 5
_ID_CHARS = 64


def find_frame(text: str, snapshots: Sequence[Snapshot]) -> str:
    """Return the id of the one frame that `text` names in any of `snapshots`.

    Raises:
        NotFoundError: none is called so.
        UsageError: several are.
    """
    text = writable(text)  # as the tables spell a file's name
    found = sorted({frame_id for snapshot in snapshots for frame_id in _matching(text, snapshot)})
    if not found:
        aside = next((said for snapshot in reversed(snapshots) if text and (said := _put_aside(text, snapshot))), "")
        raise NotFoundError(f"No frame of {_spoken(snapshots)} has an id or a path like {text!r}.{aside}")
    if len(found) > 1:
        shown = ", ".join(item[:16] for item in found[:_SHOWN])
        raise UsageError(f"{len(found)} frames are like {text!r}: {shown}; write more of it.")
    return found[0]


def frame_of_store(text: str, store: str, workspace: Path, profile: str) -> str:
    """Return the id of the one frame that `text` names in any snapshot of `store`; "TAG:PATH" looks in one only.

    A whole id is taken as it is, so that a frame can be named before anything holds it.
    """
    if len(text) == _ID_CHARS and set(text) <= set("0123456789abcdef"):
        return text
    snapshots = list_snapshots(store)
    try:
        return find_frame(text, snapshots)
    except NotFoundError:
        tag, colon, path = text.partition(":")
        if not colon or not path:
            raise
        return find_frame(path, list(lineage(find_snapshot(tag, workspace, profile))))


def find_frames(
    texts: Iterable[str], chosen: Sequence[Snapshot], store: str, where: tuple[Path, str]
) -> tuple[str, ...]:
    """Return the frames that `texts` name, each once: of the `chosen` snapshots, without these of all of `store`.

    `where` is the workspace and the profile.
    """
    ids = [find_frame(text, chosen) if chosen else frame_of_store(text, store, *where) for text in texts]
    return tuple(dict.fromkeys(ids))


def _matching(text: str, snapshot: Snapshot) -> list[str]:
    sources = snapshot.sources().select(["frame_id", "batch", "path"])
    named = pc.or_(pc.starts_with(sources["frame_id"], text), _of_path(text, sources))
    found: pa.ChunkedArray = sources["frame_id"].filter(named)
    ids: list[str] = found.unique().to_pylist()
    return ids


def _of_path(text: str, table: pa.Table) -> pa.ChunkedArray:
    paths = pc.binary_join_element_wise(table["batch"], table["path"], "/")
    ends = pc.or_(pc.ends_with(paths, f"/{text}"), pc.ends_with(paths, f"!{text}"))  # "!" goes into an archive
    return pc.or_(pc.equal(paths, text), ends)


def _put_aside(text: str, snapshot: Snapshot) -> str:
    """Say why a file called so is no frame, where it is in the quarantine of the snapshot."""
    for record in list_records(snapshot) or [snapshot]:
        held = record.quarantine()
        for row in held.filter(_of_path(text, held)).slice(0, 1).to_pylist():
            return f" The file {row['batch']}/{row['path']} was quarantined: {row['reason']} ({row['detail']})."
    return ""


def _spoken(snapshots: Sequence[Snapshot]) -> str:
    return "this snapshot" if len(snapshots) == 1 else f"these {len(snapshots)} snapshots"
